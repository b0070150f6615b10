// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// An inverted residual in bands of 2 of 8 rows. Four rows of the first product
// and two of the window are in scratch memory, rows from -1 on are at its
// beginning; rows beside the image are not computed.
// CHECK-LABEL: func.func private @chain.l(
// CHECK:         rt.parallel "chain.l" items(%c4{{.*}}) scratch(%c3072{{.*}})
// CHECK:         %[[FIRST:.*]] = arith.muli %{{.*}}, %c2
// CHECK:         %[[PAST:.*]] = arith.addi %[[FIRST]], %c2
// CHECK:         %[[FROM:.*]] = arith.maxsi
// CHECK:         %[[TO:.*]] = arith.minsi
// CHECK:         %[[A:.*]] = memref.view {{.*}} : memref<?xi8> to memref<512xf32>
// CHECK:         scf.for %[[ROW:.*]] = %[[FROM]] to %[[TO]]
// CHECK:           memref.reinterpret_cast %arg0
// CHECK:           %[[AT:.*]] = memref.reinterpret_cast %[[A]]
// CHECK:           tile.brgemm ins({{.*}}) outs(%[[AT]]
// CHECK-NOT:       prefetch_out
// CHECK:             arith.select
// CHECK:         %[[B:.*]] = memref.view {{.*}} : memref<?xi8> to memref<256xf32>
// CHECK:         scf.for %{{.*}} = %[[FIRST]] to %[[PAST]]
// CHECK:           memref.reinterpret_cast %[[A]]
// CHECK:           memref.reinterpret_cast %[[B]]
// CHECK:           linalg.generic
// Rows of a product after each other are one; its sum and the residual.
// CHECK:         memref.reinterpret_cast %[[B]] {{.*}} sizes: [16, 16]
// CHECK:         memref.reinterpret_cast %arg5 {{.*}} sizes: [16, 12]
// CHECK:         tile.brgemm {{.*}} prefetch_out
// CHECK:           arith.addf
func.func @main(%x: tensor<1x8x8x8xf32>, %p: tensor<1x1x1x1x8x16xf32>, %w: tensor<3x3x1x16xf32>, %q: tensor<1x1x1x1x16x16xf32>, %r: tensor<1x8x8x12xf32>) -> tensor<1x8x8x12xf32> {
  %0 = call @chain(%x, %p, %w, %q, %r) {tile.label = "chain"} : (tensor<1x8x8x8xf32>, tensor<1x1x1x1x8x16xf32>, tensor<3x3x1x16xf32>, tensor<1x1x1x1x16x16xf32>, tensor<1x8x8x12xf32>) -> tensor<1x8x8x12xf32>
  return %0 : tensor<1x8x8x12xf32>
}
func.func private @chain(%x: tensor<1x8x8x8xf32>, %p: tensor<1x1x1x1x8x16xf32>, %w: tensor<3x3x1x16xf32>, %q: tensor<1x1x1x1x16x16xf32>, %r: tensor<1x8x8x12xf32>) -> tensor<1x8x8x12xf32> attributes {tile.band = 2 : i64, tile.group = #tile.group<chain>} {
  %0 = tile.conv %x, %p {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x8x8x8xf32>, tensor<1x1x1x1x8x16xf32> -> tensor<1x8x8x16xf32>
  %1 = graph.ReLU %0 : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %2 = tile.conv %1, %w {depthwise, dilations = array<i64: 1, 1>, groups = 16 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x8x8x16xf32>, tensor<3x3x1x16xf32> -> tensor<1x8x8x16xf32>
  %3 = tile.conv %2, %q {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x8x8x16xf32>, tensor<1x1x1x1x16x16xf32> -> tensor<1x8x8x12xf32>
  %4 = graph.Add %3, %r : (tensor<1x8x8x12xf32>, tensor<1x8x8x12xf32>) -> tensor<1x8x8x12xf32>
  return %4 : tensor<1x8x8x12xf32>
}

// -----

// Bands of 4 of 10 rows of matrices: the last is lower, and known to be.
// CHECK-LABEL: func.func private @chain.l(
// CHECK:         scf.if
// CHECK:           tile.brgemm {{.*}} memref<4x8xf32
// CHECK:           tile.brgemm {{.*}} memref<4x16xf32
// CHECK:         } else {
// CHECK:           tile.brgemm {{.*}} memref<2x8xf32
// CHECK:           tile.brgemm {{.*}} memref<2x16xf32
func.func @main(%x: tensor<10x8xf32>, %p: tensor<1x8x16xf32>, %q: tensor<1x16x16xf32>) -> tensor<10x12xf32> {
  %0 = call @chain(%x, %p, %q) {tile.label = "chain"} : (tensor<10x8xf32>, tensor<1x8x16xf32>, tensor<1x16x16xf32>) -> tensor<10x12xf32>
  return %0 : tensor<10x12xf32>
}
func.func private @chain(%x: tensor<10x8xf32>, %p: tensor<1x8x16xf32>, %q: tensor<1x16x16xf32>) -> tensor<10x12xf32> attributes {tile.band = 4 : i64, tile.group = #tile.group<chain>} {
  %0 = tile.matmul %x, %p : tensor<10x8xf32>, tensor<1x8x16xf32> -> tensor<10x16xf32>
  %1 = tile.matmul %0, %q : tensor<10x16xf32>, tensor<1x16x16xf32> -> tensor<10x12xf32>
  return %1 : tensor<10x12xf32>
}
