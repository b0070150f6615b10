// Columns at the ends of the rows of a convolution, whose taps padding cuts.
// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,VECTORS
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=matrix_unit=true --tenon-tile-groups --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,TILES

// An item is the four inner rows of an image, whose columns at either end are
// one product of four rows each, or a row at the top or the bottom, whose ends
// are products of one row.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<8x6x6x3xf32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<8x6x6x8xf32>)
// CHECK:         %[[ITEMS:.*]] = arith.constant 24 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           scf.if
// CHECK:             scf.for
// CHECK:               memref.reinterpret_cast %[[X]] {{.*}} sizes: [3, 3, 4, 3], strides: [18, 3, 3, 1]
// CHECK:               memref.reinterpret_cast %[[Y]] {{.*}} sizes: [4, 8], strides: [8, 1]
// CHECK:             scf.for
// CHECK:               memref.reinterpret_cast %[[X]] {{.*}} sizes: [3, %{{.*}}, 4, 3], strides: [18, 3, 18, 1]
// CHECK:               memref.reinterpret_cast %[[Y]] {{.*}} sizes: [4, 8], strides: [48, 1]
// CHECK:             scf.for
// CHECK:               memref.reinterpret_cast %[[X]] {{.*}} sizes: [3, %{{.*}}, 4, 3], strides: [18, 3, 18, 1]
// CHECK:           } else {
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, 3, 4, 3], strides: [18, 3, 3, 1]
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, %{{.*}}, 1, 3]
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, %{{.*}}, 1, 3]
// CHECK-NOT:         tile.brgemm {{.*}}x4x3xf32
func.func @main(%x: tensor<8x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>) -> tensor<8x6x6x8xf32> {
  %0 = call @g(%x, %w) {tile.label = "conv"} : (tensor<8x6x6x3xf32>, tensor<1x1x3x3x3x24xf32>) -> tensor<8x6x6x8xf32>
  return %0 : tensor<8x6x6x8xf32>
}
func.func private @g(%x: tensor<8x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>) -> tensor<8x6x6x8xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<8x6x6x3xf32>, tensor<1x1x3x3x3x24xf32> -> tensor<8x6x6x8xf32>
  return %0 : tensor<8x6x6x8xf32>
}

// -----

// Nothing is cut: an item is a row.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 32 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           tile.brgemm
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<8x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>) -> tensor<8x4x4x8xf32> {
  %0 = call @g(%x, %w) {tile.label = "conv"} : (tensor<8x6x6x3xf32>, tensor<1x1x3x3x3x24xf32>) -> tensor<8x4x4x8xf32>
  return %0 : tensor<8x4x4x8xf32>
}
func.func private @g(%x: tensor<8x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>) -> tensor<8x4x4x8xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<8x6x6x3xf32>, tensor<1x1x3x3x3x24xf32> -> tensor<8x4x4x8xf32>
  return %0 : tensor<8x4x4x8xf32>
}

// -----

// Tiles of a matrix unit are higher than six rows: src is copied with zeros
// beside its rows.
// CHECK-LABEL: func.func private @g.l(
// VECTORS-COUNT-1: rt.parallel
// TILES-COUNT-4:   rt.parallel
// CHECK-NOT:       rt.parallel
func.func @main(%x: tensor<8x8x8x32xbf16>, %w: tensor<1x1x3x3x16x32x2xbf16>) -> tensor<8x8x8x32xf32> {
  %0 = call @g(%x, %w) {tile.label = "conv"} : (tensor<8x8x8x32xbf16>, tensor<1x1x3x3x16x32x2xbf16>) -> tensor<8x8x8x32xf32>
  return %0 : tensor<8x8x8x32xf32>
}
func.func private @g(%x: tensor<8x8x8x32xbf16>, %w: tensor<1x1x3x3x16x32x2xbf16>) -> tensor<8x8x8x32xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, interleave = 2 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<8x8x8x32xbf16>, tensor<1x1x3x3x16x32x2xbf16> -> tensor<8x8x8x32xf32>
  return %0 : tensor<8x8x8x32xf32>
}

// -----

// With dilation 6 six columns at either end have the same taps: a row is three
// products, also where there are no inner rows. Nothing is copied.
// CHECK-LABEL: func.func private @dilated.l(
// CHECK-NOT:     memref.alloc
// CHECK:         tile.brgemm {{.*}}memref<?x2x6x16xf32, {{.*}}, memref<?x2x16x48xf32,
// CHECK:         tile.brgemm {{.*}}memref<?x3x5x16xf32, {{.*}}, memref<?x3x16x48xf32,
// CHECK:         tile.brgemm {{.*}}memref<?x2x6x16xf32, {{.*}}, memref<?x2x16x48xf32,
// CHECK-NOT:     tile.brgemm
// CHECK-LABEL: func.func private @wide.l(
// CHECK-NOT:     memref.alloc
// Three columns in the middle have one tap alone.
// CHECK:         tile.brgemm {{.*}}memref<?x2x7x16xf32, {{.*}}, memref<?x2x16x48xf32,
// CHECK:         tile.brgemm {{.*}}memref<?x1x3x16xf32, {{.*}}, memref<?x1x16x48xf32,
// CHECK:         tile.brgemm {{.*}}memref<?x2x7x16xf32, {{.*}}, memref<?x2x16x48xf32,
// CHECK-NOT:     tile.brgemm
func.func @main(%x: tensor<1x4x17x16xf32>, %w: tensor<1x1x3x3x16x48xf32>) -> (tensor<1x4x17x48xf32>, tensor<1x4x17x48xf32>) {
  %0 = call @dilated(%x, %w) : (tensor<1x4x17x16xf32>, tensor<1x1x3x3x16x48xf32>) -> tensor<1x4x17x48xf32>
  %1 = call @wide(%x, %w) : (tensor<1x4x17x16xf32>, tensor<1x1x3x3x16x48xf32>) -> tensor<1x4x17x48xf32>
  return %0, %1 : tensor<1x4x17x48xf32>, tensor<1x4x17x48xf32>
}
func.func private @dilated(%x: tensor<1x4x17x16xf32>, %w: tensor<1x1x3x3x16x48xf32>) -> tensor<1x4x17x48xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 6, 6>, groups = 1 : i64, pads_begin = array<i64: 6, 6>, pads_end = array<i64: 6, 6>, strides = array<i64: 1, 1>} : tensor<1x4x17x16xf32>, tensor<1x1x3x3x16x48xf32> -> tensor<1x4x17x48xf32>
  return %0 : tensor<1x4x17x48xf32>
}
func.func private @wide(%x: tensor<1x4x17x16xf32>, %w: tensor<1x1x3x3x16x48xf32>) -> tensor<1x4x17x48xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 6, 10>, groups = 1 : i64, pads_begin = array<i64: 6, 10>, pads_end = array<i64: 6, 10>, strides = array<i64: 1, 1>} : tensor<1x4x17x16xf32>, tensor<1x1x3x3x16x48xf32> -> tensor<1x4x17x48xf32>
  return %0 : tensor<1x4x17x48xf32>
}
