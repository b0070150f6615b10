// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='fast-math=true' --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='winograd=always fast-math=true' | FileCheck %s --check-prefix=ALWAYS
// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='winograd=never fast-math=true' | FileCheck %s --check-prefix=NEVER

// NEVER-NOT: tile.winograd

// Larger tiles, where these cost less.
// CHECK-LABEL: func @same
// CHECK-NEXT:    %[[U:.*]] = tile.winograd_weights %arg1 outputs 4 : tensor<3x3x64x64xf32> -> tensor<6x6x64x64xf32>
// CHECK-NEXT:    %[[P:.*]] = tile.pack %[[U]] panel 24 groups 1 : {{.*}} -> tensor<1x3x6x6x64x24xf32>
// CHECK-NEXT:    tile.winograd %arg0, %[[P]] outputs 4 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>}
func.func @same(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  // expected-remark-re @+1 {{computed by Winograd's F(4x4, 3x3); F(2x2, 3x3): it would cost {{[0-9.]+}} of {{[0-9.]+}} million multiply-adds: products {{.*}}; F(4x4, 3x3): it would cost {{[0-9.]+}} of}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}

// -----

// One image does not pay for 36 matrices of weights; smaller tiles do.
// CHECK-LABEL: func @few_tiles
// CHECK:         tile.winograd %arg0, %{{.*}} outputs 2
// ALWAYS-LABEL: func @few_tiles
// ALWAYS:        tile.winograd %arg0, %{{.*}} outputs 4
func.func @few_tiles(%x: tensor<1x7x7x512xf32>, %w: tensor<3x3x512x512xf32> {graph.property = "constant"}) -> tensor<1x7x7x512xf32> {
  // expected-remark @+1 {{computed by Winograd's F(2x2, 3x3); F(2x2, 3x3): it would cost}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x7x7x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x7x7x512xf32>
  return %0 : tensor<1x7x7x512xf32>
}

// -----

// CHECK-LABEL: func @few_positions
// CHECK-NOT:     tile.winograd
// ALWAYS-LABEL: func @few_positions
// ALWAYS:        tile.winograd %arg0, %{{.*}} outputs 4
func.func @few_positions(%x: tensor<1x3x3x512xf32>, %w: tensor<3x3x512x512xf32> {graph.property = "constant"}) -> tensor<1x3x3x512xf32> {
  // expected-remark-re @+1 {{computed directly, not by Winograd's F(2x2, 3x3): it would cost {{.*}}; F(4x4, 3x3): it would cost}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x3x3x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x3x3x512xf32>
  return %0 : tensor<1x3x3x512xf32>
}

// -----

// One image of an unknown number has too few of the larger tiles.
// CHECK-LABEL: func @unknown_batch
// CHECK:         tile.winograd %arg0, %{{.*}} outputs 2
// ALWAYS-LABEL: func @unknown_batch
func.func @unknown_batch(%x: tensor<?x28x28x128xf32>, %w: tensor<3x3x128x128xf32> {graph.property = "constant"}) -> tensor<?x28x28x128xf32> {
  // expected-remark-re @+1 {{computed by Winograd's F(2x2, 3x3); {{.*}}; F(4x4, 3x3): its batch is unknown, and 49 tiles of one image would be work for few threads}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<?x28x28x128xf32>, tensor<3x3x128x128xf32>) -> tensor<?x28x28x128xf32>
  return %0 : tensor<?x28x28x128xf32>
}

// -----

// What is computed once, as sums of integer weights are, stays as exact as it
// is written.
// CHECK-LABEL: func @once
// ALWAYS-LABEL: func @once
// ALWAYS:        tile.winograd %{{.*}}, %{{.*}} outputs 2
func.func @once(%w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  %x = arith.constant dense<1.0> : tensor<1x56x56x64xf32>
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}
