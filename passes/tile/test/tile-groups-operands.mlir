// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Weights that the product packs: panels are outermost, and the first of their
// items writes one to scratch memory, from columns that lie along K. The last
// panel has 8 columns and zeros.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<32x64xf32>, %[[W:[a-z0-9]+]]: memref<64x104xf32, strided<[1, 64]>>
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(%c4096)
// CHECK:         ^bb0(%[[BEGIN:.*]]: index, %{{.*}}: index, %[[MEM:.*]]: memref<?xi8>):
// CHECK:           scf.for %[[ITEM:.*]] = %[[BEGIN]]
// CHECK:           %[[PANEL:.*]] = memref.view %[[MEM]]{{.*}} to memref<1024xf32>
// CHECK:           arith.cmpi eq, %[[ITEM]], %[[BEGIN]]
// CHECK:           scf.if
// CHECK:             memref.reinterpret_cast %[[W]] {{.*}} sizes: [64, 16], strides: [1, 64]
// CHECK:             linalg.generic
// CHECK:             memref.reinterpret_cast %[[W]] {{.*}} sizes: [64, 8], strides: [1, 64]
// CHECK:             linalg.generic
// CHECK:             memref.reinterpret_cast %[[PANEL]] to offset: [8], sizes: [64, 8], strides: [16, 1]
// CHECK:             linalg.generic
// CHECK:           memref.reinterpret_cast %[[PANEL]] {{.*}} sizes: [64, 16], strides: [16, 1]
// CHECK:           tile.brgemm
func.func @main(%x: tensor<32x64xf32>, %w: tensor<104x64xf32>) -> tensor<32x104xf32> {
  %t = graph.StaticTranspose %w {order = [1, 0]} : (tensor<104x64xf32>) -> tensor<64x104xf32>
  %0 = call @g(%x, %t) {tile.label = "fc"} : (tensor<32x64xf32>, tensor<64x104xf32>) -> tensor<32x104xf32>
  return %0 : tensor<32x104xf32>
}
func.func private @g(%x: tensor<32x64xf32>, %w: tensor<64x104xf32>) -> tensor<32x104xf32> attributes {tile.group = #tile.group<contraction>} {
  %p = tile.pack %w panel 16 : tensor<64x104xf32> -> tensor<7x64x16xf32>
  %0 = tile.matmul %x, %p : tensor<32x64xf32>, tensor<7x64x16xf32> -> tensor<32x104xf32>
  return %0 : tensor<32x104xf32>
}

// -----

// A src that the product computes: a block of rows at its first panel, after
// which the panel lies. A tensor of one column is no dimension of the loops.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<32x64xi8>, %[[S:[a-z0-9]+]]: memref<32x1xf32>
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(%c10240)
// CHECK:           scf.if
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [32, 64], strides: [64, 1]
// CHECK:             memref.reinterpret_cast %[[S]] {{.*}} sizes: [32], strides: [1]
// CHECK:             linalg.generic
// CHECK:               arith.extui
// CHECK:               arith.mulf
// CHECK:           tile.brgemm {{.*}}memref<32x64xf32, strided<[80, 1]
func.func @main(%x: tensor<32x64xui8>, %s: tensor<32x1xf32>, %p: tensor<8x64x16xf32>) -> tensor<32x128xf32> {
  %0 = call @g(%x, %s, %p) {tile.label = "fc"} : (tensor<32x64xui8>, tensor<32x1xf32>, tensor<8x64x16xf32>) -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}
func.func private @g(%x: tensor<32x64xui8>, %s: tensor<32x1xf32>, %p: tensor<8x64x16xf32>) -> tensor<32x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %a = graph.TypeCast %x : (tensor<32x64xui8>) -> tensor<32x64xf32>
  %b = graph.Multiply %a, %s : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  %0 = tile.matmul %b, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}

// -----

// Attention: keys are packed and values computed where the blocks of a head
// begin, queries for each block.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x200x64xi8>, %[[K:[a-z0-9]+]]: memref<2x64x384xf32, strided<[24576, 1, 64]>>, %[[V:[a-z0-9]+]]: memref<2x384x64xi8>
// CHECK:         rt.parallel "g.l"
// CHECK:           scf.if
// CHECK:             scf.for
// CHECK:               memref.reinterpret_cast %[[K]] {{.*}} sizes: [64, 24], strides: [1, 64]
// CHECK:               linalg.generic
// CHECK:             memref.reinterpret_cast %[[V]] {{.*}} sizes: [384, 64], strides: [64, 1]
// CHECK:             linalg.generic
// CHECK:           memref.reinterpret_cast %[[Q]] {{.*}}, 64], strides: [64, 1]
// CHECK:           linalg.generic
// CHECK:           tile.brgemm
// CHECK:           tile.brgemm
func.func @main(%q: tensor<2x200x64xsi8>, %k: tensor<2x384x64xf32>, %v: tensor<2x384x64xsi8>) -> tensor<2x200x64xf32> {
  %t = graph.StaticTranspose %k {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %0 = call @g(%q, %t, %v) {tile.label = "attn"} : (tensor<2x200x64xsi8>, tensor<2x64x384xf32>, tensor<2x384x64xsi8>) -> tensor<2x200x64xf32>
  return %0 : tensor<2x200x64xf32>
}
func.func private @g(%qb: tensor<2x200x64xsi8>, %k: tensor<2x64x384xf32>, %vb: tensor<2x384x64xsi8>) -> tensor<2x200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %q = graph.TypeCast %qb : (tensor<2x200x64xsi8>) -> tensor<2x200x64xf32>
  %v = graph.TypeCast %vb : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %p = tile.pack %k panel 24 : tensor<2x64x384xf32> -> tensor<2x16x64x24xf32>
  %0 = tile.attention %q, %p, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x200x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32> -> tensor<2x200x64xf32>
  return %0 : tensor<2x200x64xf32>
}
