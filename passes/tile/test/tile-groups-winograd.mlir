// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --cse --mlir-print-local-scope | FileCheck %s

// Few tiles, 4 x 3 of a 7 x 6 image: points of src are a temporary, written by
// a first section; items of the second are panels, here one of 24 columns and
// one of 16. A point is an odd number of cache lines: 12 rows of 16, and one.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[V:.*]] = memref.alloc() : memref<3328xf32>
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<1x7x6x8xf32>, %[[P:[a-z0-9]+]]: memref<1x2x4x4x8x24xf32>, %[[B:[a-z0-9]+]]: memref<40xf32>, %[[Y:[a-z0-9]+]]: memref<1x7x6x40xf32>, %[[V:[a-z0-9]+]]: memref<3328xf32>)
// CHECK:         rt.parallel "g.l" items(%{{.*}}) scratch(%c1024)
// At the ends of a row, and in the first and last row, 4 x 4 of src are copied
// between zeros.
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : memref<4x4x8xf32, strided<[64, 16, 1]>>)
// CHECK:             linalg.yield %cst
// CHECK:           linalg.copy ins(%{{.*}} : memref<?x?x8xf32, strided<[48, 8, 1], offset: ?>>)
// CHECK:           linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d0 * 2, d1)>, affine_map<(d0, d1) -> (0, d0 * 2 + 1, d1)>
// CHECK:           memref.reinterpret_cast %[[X]] {{.*}} sizes: [4, %{{.*}}, 8], strides: [48, 8, 1]
// CHECK:           memref.reinterpret_cast %[[V]] {{.*}} sizes: [16, %{{.*}}, 8], strides: [208, 16, 1]
// CHECK:           linalg.generic
// CHECK:         rt.parallel "g.l" items(%c2)
// CHECK:           scf.if
// CHECK:             scf.for %[[POINT:.*]] = %c0{{.*}} to %c16
// CHECK:               memref.reinterpret_cast %[[V]] {{.*}} sizes: [12, 8], strides: [16, 1]
// CHECK:               memref.reinterpret_cast %[[P]] {{.*}} sizes: [8, 24], strides: [24, 1]
// CHECK:               tile.brgemm {{.*}} outs({{.*}} memref<12x24xf32
// Two rows of dst, of the last tiles one; the bias is read once for a tile.
// CHECK:             memref.reinterpret_cast %[[B]]
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [2, %{{.*}}, 24], strides: [240, 40, 1]
// CHECK:             linalg.generic
// CHECK:               %[[SUM:.*]] = arith.addf %{{.*}}, %[[BIAS:in_17]] : f32
// CHECK-COUNT-3:       arith.addf %{{.*}}, %[[BIAS]] : f32
// CHECK:             else
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [1, %{{.*}}, 24], strides: [240, 40, 1]
// CHECK:           tile.brgemm {{.*}} outs({{.*}} memref<12x16xf32
func.func @main(%x: tensor<1x7x6x8xf32>, %p: tensor<1x2x4x4x8x24xf32> {tile.folded}, %b: tensor<40xf32>) -> tensor<1x7x6x40xf32> {
  %0 = call @g(%x, %p, %b) {tile.label = "conv"} : (tensor<1x7x6x8xf32>, tensor<1x2x4x4x8x24xf32>, tensor<40xf32>) -> tensor<1x7x6x40xf32>
  return %0 : tensor<1x7x6x40xf32>
}
func.func private @g(%x: tensor<1x7x6x8xf32>, %p: tensor<1x2x4x4x8x24xf32>, %b: tensor<40xf32>) -> tensor<1x7x6x40xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x7x6x8xf32>, tensor<1x2x4x4x8x24xf32> -> tensor<1x7x6x40xf32>
  %1 = graph.Add %0, %b : (tensor<1x7x6x40xf32>, tensor<40xf32>) -> tensor<1x7x6x40xf32>
  return %1 : tensor<1x7x6x40xf32>
}

// -----

// Many tiles, or an unknown number: a block is an item, with all it needs in
// scratch.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     memref.alloc
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l"
// CHECK:           linalg.copy
// CHECK:           scf.for {{.*}} to %c1{{.*}}
// CHECK:             tile.brgemm
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<?x8x8x8xf32>, %p: tensor<1x1x4x4x8x24xf32> {tile.folded}) -> tensor<?x6x6x24xf32> {
  %0 = call @g(%x, %p) {tile.label = "conv"} : (tensor<?x8x8x8xf32>, tensor<1x1x4x4x8x24xf32>) -> tensor<?x6x6x24xf32>
  return %0 : tensor<?x6x6x24xf32>
}
func.func private @g(%x: tensor<?x8x8x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) -> tensor<?x6x6x24xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : tensor<?x8x8x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<?x6x6x24xf32>
  return %0 : tensor<?x6x6x24xf32>
}

// -----

// Weights: items are input channels; in f64, rounded once.
// CHECK-LABEL: func.func private @u.l(
// CHECK:         rt.parallel "u.l" items(%c8)
// CHECK:           memref<3x3x1x40xf32, strided<[960, 320, 40, 1]
// CHECK:           linalg.generic
// CHECK-COUNT-9:     arith.extf %{{.*}} : f32 to f64
// CHECK-COUNT-16:    arith.truncf %{{.*}} : f64 to f32
func.func @main(%w: tensor<3x3x8x40xf32>) -> tensor<4x4x8x40xf32> {
  %0 = call @u(%w) {tile.label = "conv"} : (tensor<3x3x8x40xf32>) -> tensor<4x4x8x40xf32>
  return %0 : tensor<4x4x8x40xf32>
}
func.func private @u(%w: tensor<3x3x8x40xf32>) -> tensor<4x4x8x40xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x3x8x40xf32> -> tensor<4x4x8x40xf32>
  return %0 : tensor<4x4x8x40xf32>
}

// -----

// Tiles of 4 x 4, here 2 x 2 of a 7 x 6 image: 36 points, whose first products
// may be contracted; the last rows of tiles write three rows of dst, the last
// columns two.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<1x7x6x8xf32>, %[[P:[a-z0-9]+]]: memref<1x2x6x6x8x24xf32>, %[[Y:[a-z0-9]+]]: memref<1x7x6x40xf32>
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : memref<6x6x8xf32, strided<[96, 16, 1]>>)
// CHECK:           linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d0 * 4, d1)>, affine_map<(d0, d1) -> (0, d0 * 4 + 1, d1)>
// CHECK:             arith.mulf %{{.*}} fastmath<contract>
// CHECK:         rt.parallel "g.l" items(%c2)
// CHECK:             scf.for %{{.*}} = %c0{{.*}} to %c36
// CHECK:               memref.reinterpret_cast %[[P]] {{.*}} sizes: [8, 24], strides: [24, 1]
// CHECK:               tile.brgemm {{.*}} outs({{.*}} memref<4x24xf32
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [4, %{{.*}}, 24], strides: [240, 40, 1]
// CHECK:             else
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [3, %{{.*}}, 24], strides: [240, 40, 1]
func.func @main(%x: tensor<1x7x6x8xf32>, %p: tensor<1x2x6x6x8x24xf32> {tile.folded}) -> tensor<1x7x6x40xf32> {
  %0 = call @g(%x, %p) {tile.label = "conv"} : (tensor<1x7x6x8xf32>, tensor<1x2x6x6x8x24xf32>) -> tensor<1x7x6x40xf32>
  return %0 : tensor<1x7x6x40xf32>
}
func.func private @g(%x: tensor<1x7x6x8xf32>, %p: tensor<1x2x6x6x8x24xf32>) -> tensor<1x7x6x40xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.winograd %x, %p outputs 4 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x7x6x8xf32>, tensor<1x2x6x6x8x24xf32> -> tensor<1x7x6x40xf32>
  return %0 : tensor<1x7x6x40xf32>
}

// -----

// Their weights.
// CHECK-LABEL: func.func private @u.l(
// CHECK:         rt.parallel "u.l" items(%c8)
// CHECK-COUNT-9:     arith.extf %{{.*}} : f32 to f64
// CHECK-COUNT-36:    arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT:         arith.truncf
func.func @main(%w: tensor<3x3x8x40xf32>) -> tensor<6x6x8x40xf32> {
  %0 = call @u(%w) {tile.label = "conv"} : (tensor<3x3x8x40xf32>) -> tensor<6x6x8x40xf32>
  return %0 : tensor<6x6x8x40xf32>
}
func.func private @u(%w: tensor<3x3x8x40xf32>) -> tensor<6x6x8x40xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.winograd_weights %w outputs 4 : tensor<3x3x8x40xf32> -> tensor<6x6x8x40xf32>
  return %0 : tensor<6x6x8x40xf32>
}
