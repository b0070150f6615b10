// RUN: tenon-opt %s --split-input-file --tenon-pack-weights --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='winograd=always' | FileCheck %s --check-prefix=ALWAYS

// Transforms of so few channels cost more than is saved.
// CHECK-LABEL: func @few_channels
// CHECK-NOT:     tile.winograd
// CHECK:         tile.conv
// ALWAYS-LABEL: func @few_channels
// ALWAYS:        tile.winograd %
func.func @few_channels(%x: tensor<1x56x56x4xf32>, %w: tensor<3x3x4x4xf32> {graph.property = "constant"}) -> tensor<1x56x56x4xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): it would cost}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x56x56x4xf32>
  return %0 : tensor<1x56x56x4xf32>
}

// -----

// Weights that change are transformed in every execution: 784 positions of 64
// channels pay for it, 196 of 256 do not.
// CHECK-LABEL: func @weights_change
// CHECK:         tile.winograd_weights %arg1
// CHECK:         tile.winograd %
// CHECK:         tile.conv %
func.func @weights_change(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x64x64xf32>, %y: tensor<1x14x14x256xf32>, %v: tensor<3x3x256x256xf32>) -> (tensor<1x28x28x64xf32>, tensor<1x14x14x256xf32>) {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): it would cost}}
  %1 = graph.Convolution %y, %v {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x14x14x256xf32>, tensor<3x3x256x256xf32>) -> tensor<1x14x14x256xf32>
  return %0, %1 : tensor<1x28x28x64xf32>, tensor<1x14x14x256xf32>
}

// -----

// So few positions do not pay for larger weights.
// CHECK-LABEL: func @few_positions
// CHECK-NOT:     tile.winograd
// CHECK:         tile.conv
// ALWAYS-LABEL: func @few_positions
// ALWAYS:        tile.winograd %
func.func @few_positions(%x: tensor<1x3x3x512xf32>, %w: tensor<3x3x512x512xf32> {graph.property = "constant"}) -> tensor<1x3x3x512xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): it would cost}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x3x3x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x3x3x512xf32>
  return %0 : tensor<1x3x3x512xf32>
}
