// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A row is an item: the greatest of each group, its power of two and the inverse,
// then one slice after the other with its sum, which is 8 times as much, negative.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c6)
// CHECK:           linalg.generic {{.*}}"reduction"
// CHECK:             arith.maximumf
// CHECK:           linalg.generic
// CHECK:             arith.andi
// CHECK:             arith.select
// CHECK:           linalg.generic
// CHECK:             arith.divf
// CHECK:           linalg.generic
// CHECK:             arith.fptosi
// CHECK-COUNT-2:     arith.shrsi
// CHECK:           linalg.generic {{.*}}"reduction"
// CHECK:             arith.constant -8 : i32
// CHECK:           linalg.generic
// CHECK:             arith.fptosi
// CHECK-COUNT-1:     arith.shrsi
// CHECK:           linalg.generic
// CHECK:             arith.fptosi
// CHECK-NOT:         arith.shrsi
// CHECK:           linalg.generic {{.*}}"reduction"
func.func @main(%x: tensor<6x64xf32>) -> tensor<6x224xui8> {
  %0 = call @g(%x) {tile.label = "fc"} : (tensor<6x64xf32>) -> tensor<6x224xui8>
  return %0 : tensor<6x224xui8>
}
func.func private @g(%x: tensor<6x64xf32>) -> tensor<6x224xui8> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.to_int8_slices %x quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<6x64xf32> -> tensor<6x224xui8>
  return %0 : tensor<6x224xui8>
}

// -----

// Words to a product; quantized weights are read as they are, whatever the number of rows.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel
// CHECK-NOT:       sitofp
// CHECK:           %[[W:.*]] = memref.view %{{.*}} : memref<?xi8, strided<[1]>> to memref<?xf32>
// CHECK:           %[[A:.*]] = memref.reinterpret_cast %[[W]] {{.*}} 56], strides: [56, 1]
// CHECK:           tile.brgemm ins(%[[A]], %{{.*}} : memref<?x56xf32, {{.*}}>, memref<40x32xi8, {{.*}}>) {{.*}}slices = 3>
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<?x224xui8>, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<?x96xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x224xui8>, tensor<3x40x32xui8>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x224xui8>, %p: tensor<3x40x32xui8>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<?x224xui8>, tensor<3x40x32xui8> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

// Four neighbours of K lie together, and the next four in the high halves of
// their bytes; 8 more, they are without sign.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         arith.andi
// CHECK:         arith.shli
// CHECK:         arith.ori
// CHECK:         arith.constant -120 : i8
// CHECK:         arith.xori
func.func @main(%w: tensor<64x32xsi8>, %s: tensor<2x32xf32>) -> tensor<1x40x32xui8> {
  %0 = call @g(%w, %s) {tile.label = "fc"} : (tensor<64x32xsi8>, tensor<2x32xf32>) -> tensor<1x40x32xui8>
  return %0 : tensor<1x40x32xui8>
}
func.func private @g(%w: tensor<64x32xsi8>, %s: tensor<2x32xf32>) -> tensor<1x40x32xui8> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.pack_quantized %w scales %s panel 32 quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<64x32xsi8>, tensor<2x32xf32> -> tensor<1x40x32xui8>
  return %0 : tensor<1x40x32xui8>
}
