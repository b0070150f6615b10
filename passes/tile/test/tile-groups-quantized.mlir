// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Few rows: kernels read quantized weights as they lie, 40 rows of bytes for 64 of K.
// CHECK-LABEL: func.func private @g.l(
// CHECK-NOT:     sitofp
// CHECK:         %[[B:.*]] = memref.reinterpret_cast %arg1 {{.*}} sizes: [40, 32], strides: [32, 1]
// CHECK:         tile.brgemm ins(%{{.*}}, %[[B]] : {{.*}}, memref<40x32xi8{{.*}}>) outs(%{{.*}}) {{.*}}quantized <bits = 4, is_signed = true, group = 32, zero_points = false>
func.func @main(%x: tensor<16x64xf32>, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<16x96xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<16x64xf32>, tensor<3x40x32xui8>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}
func.func private @g(%x: tensor<16x64xf32>, %p: tensor<3x40x32xui8>) -> tensor<16x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<16x64xf32>, tensor<3x40x32xui8> -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}

// -----

// One more: the first item of a panel makes weights of it, both halves of a byte
// one after the other, with the scales of their group.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[W:.*]] = memref.view %{{.*}} to memref<2048xf32>
// CHECK:         scf.if
// CHECK:           memref.view %{{.*}} to memref<960xf32>
// CHECK:           linalg.generic
// CHECK:             arith.shli
// CHECK:             arith.shrsi
// CHECK:             %[[F:.*]] = arith.sitofp
// CHECK:             arith.mulf %[[F]]
// CHECK:           linalg.generic
// CHECK-NOT:         arith.shli
// CHECK:             arith.shrsi
// CHECK:         %[[B:.*]] = memref.reinterpret_cast %[[W]] {{.*}} sizes: [64, 32]
// CHECK:         tile.brgemm ins(%{{.*}}, %[[B]] : {{.*}}, memref<64x32xf32, {{.*}}>)
// CHECK-NOT:     quantized
func.func @main(%x: tensor<17x64xf32>, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<17x96xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<17x64xf32>, tensor<3x40x32xui8>) -> tensor<17x96xf32>
  return %0 : tensor<17x96xf32>
}
func.func private @g(%x: tensor<17x64xf32>, %p: tensor<3x40x32xui8>) -> tensor<17x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<17x64xf32>, tensor<3x40x32xui8> -> tensor<17x96xf32>
  return %0 : tensor<17x96xf32>
}

// -----

// An unknown number: both, one of which has no items.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[MANY:.*]] = arith.divui
// CHECK:         rt.parallel
// CHECK:           arith.sitofp
// CHECK:           tile.brgemm
// CHECK-NOT:       quantized
// CHECK:         %[[FEW:.*]] = arith.subi %{{.*}}, %[[MANY]]
// CHECK:         rt.parallel
// CHECK:           tile.brgemm {{.*}} quantized
func.func @main(%x: tensor<?x64xf32>, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<?x96xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<3x40x32xui8>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<3x40x32xui8>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<?x64xf32>, tensor<3x40x32xui8> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
