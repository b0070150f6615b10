// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// %a is computed in its part of %j, which is there first, and read there; %x is
// copied after it.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x32xf32> {tile.role = #tile.role<input>}, %[[Y:[a-z0-9]+]]: memref<4x64xf32> {tile.role = #tile.role<output>}
// CHECK:         %[[J:.*]] = memref.alloc() : memref<4x64xf32>
// CHECK-NEXT:    %[[A:.*]] = rt.part %[[J]][32] : memref<4x64xf32> to memref<4x32xf32, strided<[64, 1]>>
// CHECK-NEXT:    call @relu.l(%[[X]], %[[A]])
// CHECK-NEXT:    call @cat.l(%[[X]], %[[A]], %[[J]])
// CHECK-NEXT:    call @abs.l(%[[J]], %[[Y]])
// CHECK-LABEL: func.func private @cat.l(
// CHECK-SAME:    %[[TO:[a-z0-9]+]]: memref<4x64xf32>)
// CHECK-COUNT-1: rt.parallel
// CHECK-NOT:     rt.parallel
// CHECK-LABEL: func.func private @abs.l(
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {
  %a = call @relu(%x) {tile.label = "relu"} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %j = call @cat(%x, %a) {tile.label = "cat", tile.in_place = array<i64: 1>} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  %y = call @abs(%j) {tile.label = "abs"} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
func.func private @relu(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
func.func private @abs(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Abs %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
func.func private @cat(%x: tensor<4x32xf32>, %y: tensor<4x32xf32>) -> tensor<4x64xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 1} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// -----

// Through a transpose, into the caller's buffer: rows of %y are columns of the
// part, which begins after four others.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<32x4xf32> {tile.role = #tile.role<input>}, %[[Y:[a-z0-9]+]]: memref<64x4xf32, strided<[1, 64]>> {tile.role = #tile.role<output>
// CHECK:         %[[P:.*]] = rt.part %[[Y]][32] : memref<64x4xf32, strided<[1, 64]>> to memref<32x4xf32, strided<[1, 64]>>
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %[[P]] to offset: [0], sizes: [4, 32], strides: [64, 1]
// CHECK:         call @relu.l(%{{.*}}, %[[T]])
func.func @main(%x: tensor<32x4xf32>) -> (tensor<64x4xf32> {tile.strides = array<i64: 1, 64>}) {
  %t = graph.StaticTranspose %x {order = array<i64: 1, 0>} : (tensor<32x4xf32>) -> tensor<4x32xf32>
  %a = call @relu(%t) {tile.label = "relu"} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %u = graph.StaticTranspose %a {order = array<i64: 1, 0>} : (tensor<4x32xf32>) -> tensor<32x4xf32>
  %j = call @cat(%x, %u) {tile.label = "cat", tile.in_place = array<i64: 1>} : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<64x4xf32>
  return %j : tensor<64x4xf32>
}
func.func private @relu(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
func.func private @cat(%x: tensor<32x4xf32>, %y: tensor<32x4xf32>) -> tensor<64x4xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 0} : (tensor<32x4xf32>, tensor<32x4xf32>) -> tensor<64x4xf32>
  return %0 : tensor<64x4xf32>
}
