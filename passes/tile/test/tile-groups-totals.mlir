// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// A gradient by weights of 4096 blocks of positions: products are added to a
// total in scratch memory, which goes to dst after 256 blocks and at the end.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<64x128x128x8xf32>, %{{[a-z0-9]+}}: memref<64x128x128x16xf32>, %[[Y:[a-z0-9]+]]: memref<1x1x8x16xf32>)
// CHECK:         rt.parallel "g.l"
// CHECK:           memref.reinterpret_cast %[[Y]]
// CHECK:           tile.brgemm {{.*}} outs(
// CHECK:           scf.for
// CHECK:             tile.brgemm {{.*}} accumulate
// CHECK:             %[[NOW:.*]] = arith.addi %{{.*}} : i64
// CHECK:             memref.store %[[NOW]]
// CHECK:             %[[FULL:.*]] = arith.cmpi sge, %[[NOW]]
// CHECK:             scf.if %[[FULL]]
// CHECK:               memref.reinterpret_cast %[[Y]]
// CHECK:               arith.addf
// CHECK:           memref.reinterpret_cast %[[Y]]
// CHECK:           arith.addf
func.func @main(%x: tensor<64x128x128x8xf32>, %d: tensor<64x128x128x16xf32>) -> tensor<1x1x8x16xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<64x128x128x8xf32>, tensor<64x128x128x16xf32>) -> tensor<1x1x8x16xf32>
  return %0 : tensor<1x1x8x16xf32>
}
func.func private @g(%x: tensor<64x128x128x8xf32>, %d: tensor<64x128x128x16xf32>) -> tensor<1x1x8x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<64x128x128x8xf32>, tensor<64x128x128x16xf32> -> tensor<1x1x8x16xf32>
  return %0 : tensor<1x1x8x16xf32>
}

// -----

// Declines where blocks are few: they are added to dst.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         tile.brgemm {{.*}} accumulate
// CHECK-NOT:     arith.cmpi sge
// CHECK-NOT:     arith.addf
// CHECK:         return
func.func @main(%x: tensor<1x128x128x8xf32>, %d: tensor<1x128x128x16xf32>) -> tensor<1x1x8x16xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<1x128x128x8xf32>, tensor<1x128x128x16xf32>) -> tensor<1x1x8x16xf32>
  return %0 : tensor<1x1x8x16xf32>
}
func.func private @g(%x: tensor<1x128x128x8xf32>, %d: tensor<1x128x128x16xf32>) -> tensor<1x1x8x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x128x128x8xf32>, tensor<1x128x128x16xf32> -> tensor<1x1x8x16xf32>
  return %0 : tensor<1x1x8x16xf32>
}
