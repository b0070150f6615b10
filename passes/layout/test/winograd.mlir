// RUN: tenon-opt %s --split-input-file --tenon-pack-weights | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-pack-weights | FileCheck %s --check-prefix=AVX512
// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='winograd=never' | FileCheck %s --check-prefix=NEVER
// RUN: not tenon-opt %s --split-input-file --tenon-pack-weights='winograd=maybe' 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: winograd must be auto, always or never, is maybe

// CHECK-LABEL: func @same
// CHECK-NEXT:    %[[U:.*]] = tile.winograd_weights %arg1 outputs 2 : tensor<3x3x64x64xf32> -> tensor<4x4x64x64xf32>
// CHECK-NEXT:    %[[P:.*]] = tile.pack %[[U]] panel 24 groups 1 : {{.*}} -> tensor<1x3x4x4x64x24xf32>
// CHECK-NEXT:    tile.winograd %arg0, %[[P]] outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>}
// AVX512:        tile.winograd %arg0, %{{.*}} outputs 2 {{.*}} tensor<1x1x4x4x64x64xf32>
// NEVER-NOT:     tile.winograd
func.func @same(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}

// -----

// Weights under views are constants, too; an unknown batch counts as one.
// CHECK-LABEL: func @views
// CHECK:         tile.winograd %arg0
// NEVER-NOT:     tile.winograd
func.func @views(%x: tensor<?x28x28x128xf32>, %w: tensor<128x128x3x3xf32> {graph.property = "constant"}) -> tensor<?x28x28x128xf32> {
  %0 = graph.StaticTranspose %w {order = [2, 3, 1, 0]} : (tensor<128x128x3x3xf32>) -> tensor<3x3x128x128xf32>
  %1 = graph.Convolution %x, %0 {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<?x28x28x128xf32>, tensor<3x3x128x128xf32>) -> tensor<?x28x28x128xf32>
  return %1 : tensor<?x28x28x128xf32>
}

// -----

// A height and width that are not known count as 28.
// CHECK-LABEL: func @unknown_sizes
// CHECK:         tile.winograd %arg0, %{{.*}} outputs 2
// NEVER-NOT:     tile.winograd
func.func @unknown_sizes(%x: tensor<?x?x?x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<?x?x?x64xf32> {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<?x?x?x64xf32>, tensor<3x3x64x64xf32>) -> tensor<?x?x?x64xf32>
  return %0 : tensor<?x?x?x64xf32>
}

// -----

// Channels that are apart are brought together: they are lanes.
// CHECK-LABEL: func @channels_first
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg0
// CHECK:         %[[R:.*]] = graph.Reorder %[[T]]
// CHECK:         tile.winograd %[[R]]
func.func @channels_first(%x: tensor<1x64x56x56xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  %0 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<1x64x56x56xf32>) -> tensor<1x56x56x64xf32>
  %1 = graph.Convolution %0, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %1 : tensor<1x56x56x64xf32>
}

// -----

// In the caller's buffer they are together already.
// CHECK-LABEL: func @main
// CHECK-NOT:     graph.Reorder
// CHECK:         tile.winograd
func.func @main(%x: tensor<1x64x56x56xf32> {tile.strides = array<i64: 200704, 1, 3584, 64>}, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  %0 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<1x64x56x56xf32>) -> tensor<1x56x56x64xf32>
  %1 = graph.Convolution %0, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %1 : tensor<1x56x56x64xf32>
}
