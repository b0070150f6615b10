// RUN: tenon-opt %s --split-input-file --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='vector-bits=512 num-vector-registers=32' | FileCheck %s --check-prefixes=CHECK,AVX512

// A panel is as wide as the register tile: three vectors of 8, four of 16.
// CHECK-LABEL: func @wide
// CHECK-SAME:    %[[X:.*]]: tensor<128x64xf32>, %[[W:.*]]: tensor<64x768xf32>
// AVX2-NEXT:     %[[P:.*]] = tile.pack %[[W]] panel 24 : tensor<64x768xf32> -> tensor<32x64x24xf32>
// AVX512-NEXT:   %[[P:.*]] = tile.pack %[[W]] panel 48 : tensor<64x768xf32> -> tensor<16x64x48xf32>
// CHECK-NEXT:    tile.matmul %[[X]], %[[P]] : {{.*}} -> tensor<128x768xf32>
// CHECK-NOT:     graph.MatMul
func.func @wide(%x: tensor<128x64xf32>, %w: tensor<64x768xf32>) -> tensor<128x768xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x768xf32>) -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}

// -----

// Few columns are one panel.
// CHECK-LABEL: func @narrow
// CHECK-NEXT:    tile.pack %{{.*}} panel [[P:[0-9]+]] : tensor<64x10xf32> -> tensor<1x64x[[P]]xf32>
func.func @narrow(%x: tensor<128x64xf32>, %w: tensor<64x10xf32>) -> tensor<128x10xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
  return %0 : tensor<128x10xf32>
}

// -----

// Rows and K may be unknown, and weights may have batches of their own.
// CHECK-LABEL: func @dynamic
// CHECK-NEXT:    tile.pack %{{.*}} panel [[P:[0-9]+]] : tensor<3x?x96xf32> -> tensor<3x{{[0-9]+}}x?x[[P]]xf32>
// CHECK-NEXT:    tile.matmul {{.*}} -> tensor<3x?x96xf32>
func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<3x?x96xf32>) -> tensor<3x?x96xf32> {
  %0 = graph.MatMul %x, %w : (tensor<?x?xf32>, tensor<3x?x96xf32>) -> tensor<3x?x96xf32>
  return %0 : tensor<3x?x96xf32>
}

// -----

// Attributes of the convolution carry over; the panel is chosen per group.
// CHECK-LABEL: func @conv_groups
// CHECK-NEXT:    %[[W:.*]] = tile.pack %{{.*}} panel [[P:[0-9]+]] groups 2 : tensor<3x3x4x32xf32> -> tensor<2x1x3x3x4x[[P]]xf32>
// CHECK-NEXT:    tile.conv %{{.*}}, %[[W]] {dilations = array<i64: 1, 2>, groups = 2 : i64, pads_begin = array<i64: 0, 1>, pads_end = array<i64: 1, 0>, strides = array<i64: 2, 1>}
func.func @conv_groups(%x: tensor<1x9x9x8xf32>, %w: tensor<3x3x4x32xf32>) -> tensor<1x4x6x32xf32> {
  %0 = graph.Convolution %x, %w {groups = 2, strides = [2, 1], pads_begin = [0, 1], pads_end = [1, 0], dilations = [1, 2]} : (tensor<1x9x9x8xf32>, tensor<3x3x4x32xf32>) -> tensor<1x4x6x32xf32>
  return %0 : tensor<1x4x6x32xf32>
}

// -----

// Declines: a depthwise convolution is no product of matrices, its weights stay.
// CHECK-LABEL: func @depthwise
// CHECK-SAME:    %[[X:.*]]: tensor<1x6x6x8xf32>, %[[W:.*]]: tensor<3x3x1x8xf32>
// CHECK-NOT:     tile.pack
// CHECK:         tile.conv %[[X]], %[[W]] {depthwise, {{.*}}groups = 8
func.func @depthwise(%x: tensor<1x6x6x8xf32>, %w: tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = graph.Convolution %x, %w {groups = 8, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// -----

// Two outputs per channel are groups of two columns: packed.
// CHECK-LABEL: func @multiplier
// CHECK-NEXT:    tile.pack %{{.*}} groups 8 : tensor<3x3x1x16xf32> -> tensor<8x1x3x3x1x
// CHECK-NEXT:    tile.conv
// CHECK-NOT:     depthwise
func.func @multiplier(%x: tensor<1x6x6x8xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x4x4x16xf32> {
  %0 = graph.Convolution %x, %w {groups = 8, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x8xf32>, tensor<3x3x1x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// -----

// Declines: no contraction.
// CHECK-LABEL: func @other
// CHECK-NEXT:    graph.Add
// CHECK-NEXT:    return
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
