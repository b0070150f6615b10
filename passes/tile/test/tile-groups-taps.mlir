// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Panels of weights whose 9 taps are neighbours: an item has all taps of the
// columns of a panel, so that each line that is read is used at once. Flipped
// taps are written from the last to the first.
// CHECK-LABEL: func.func private @pack.l(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : memref<9x?x48xf32, strided<[1, 576, 9], offset: ?>>) outs(%{{.*}} : memref<9x?x48xf32, strided<[-3072, 48, 1], offset: ?>>)
func.func @main(%w: tensor<64x64x3x3xf32>) -> tensor<1x2x3x3x64x48xf32> {
  %t = graph.StaticTranspose %w {order = [2, 3, 0, 1]} : (tensor<64x64x3x3xf32>) -> tensor<3x3x64x64xf32>
  %0 = call @pack(%t) {tile.label = "w"} : (tensor<3x3x64x64xf32>) -> tensor<1x2x3x3x64x48xf32>
  return %0 : tensor<1x2x3x3x64x48xf32>
}
func.func private @pack(%w: tensor<3x3x64x64xf32>) -> tensor<1x2x3x3x64x48xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.pack %w panel 48 groups 1 flipped : tensor<3x3x64x64xf32> -> tensor<1x2x3x3x64x48xf32>
  return %0 : tensor<1x2x3x3x64x48xf32>
}

// -----

// Declines: 25 taps fill whole lines by themselves.
// CHECK-LABEL: func.func private @many.l(
// CHECK-NOT:     memref<25x?x48xf32
// CHECK:         return
func.func @main(%w: tensor<64x64x5x5xf32>) -> tensor<1x2x5x5x64x48xf32> {
  %t = graph.StaticTranspose %w {order = [2, 3, 0, 1]} : (tensor<64x64x5x5xf32>) -> tensor<5x5x64x64xf32>
  %0 = call @many(%t) {tile.label = "w"} : (tensor<5x5x64x64xf32>) -> tensor<1x2x5x5x64x48xf32>
  return %0 : tensor<1x2x5x5x64x48xf32>
}
func.func private @many(%w: tensor<5x5x64x64xf32>) -> tensor<1x2x5x5x64x48xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.pack %w panel 48 groups 1 : tensor<5x5x64x64xf32> -> tensor<1x2x5x5x64x48xf32>
  return %0 : tensor<1x2x5x5x64x48xf32>
}

// -----

// Parts of the images: an item has one of them and all rows of taps; each block
// of diff passes by them once.
// CHECK-LABEL: func.func private @parts.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 4 : index
// CHECK:         rt.parallel "parts.l" items(%[[ITEMS]])
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               tile.brgemm {{.*}} accumulate
func.func @main(%x: tensor<8x9x9x3xf32>, %d: tensor<1x1x8x9x9x16xf32>) -> tensor<4x3x3x3x16xf32> {
  %0 = call @parts(%x, %d) {tile.label = "dw"} : (tensor<8x9x9x3xf32>, tensor<1x1x8x9x9x16xf32>) -> tensor<4x3x3x3x16xf32>
  return %0 : tensor<4x3x3x3x16xf32>
}
func.func private @parts(%x: tensor<8x9x9x3xf32>, %d: tensor<1x1x8x9x9x16xf32>) -> tensor<4x3x3x3x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 1, 1>, groups = 1 : i64, packed, pads_begin = array<i64: 1, 1>, parts = 4 : i64, strides = array<i64: 1, 1>} : tensor<8x9x9x3xf32>, tensor<1x1x8x9x9x16xf32> -> tensor<4x3x3x3x16xf32>
  return %0 : tensor<4x3x3x3x16xf32>
}
