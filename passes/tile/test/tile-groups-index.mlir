// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// An index runs along its dimension only, which therefore stays apart: only the
// two dimensions after it merge. The operand is not read.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x40x8x16xf32>, %[[Y:[a-z0-9]+]]: memref<4x40x8x16xi32>)
// CHECK-NOT:     reinterpret_cast %[[X]]
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel"]} outs({{.*}} : memref<?x40x128xi32
// CHECK:           %[[I:.*]] = linalg.index 1
// CHECK:           %[[C:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK:           %[[S:.*]] = arith.addi %{{.*}}, %[[C]] : i32
// CHECK:           linalg.yield %[[S]] : i32
func.func @main(%x: tensor<4x40x8x16xf32>) -> tensor<4x40x8x16xsi32> {
  %0 = call @g(%x) {tile.label = "index"} : (tensor<4x40x8x16xf32>) -> tensor<4x40x8x16xsi32>
  return %0 : tensor<4x40x8x16xsi32>
}
func.func private @g(%x: tensor<4x40x8x16xf32>) -> tensor<4x40x8x16xsi32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.GenIndex %x {axis = 1} : (tensor<4x40x8x16xf32>) -> tensor<4x40x8x16xsi32>
  return %0 : tensor<4x40x8x16xsi32>
}

// -----

// The number of an element of a dense tensor is one index, as its memory is.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel"]} ins(
// CHECK:           linalg.index 0
// CHECK-NOT:       linalg.index
// CHECK:           arith.muli
// CHECK:           arith.divf
// CHECK:           linalg.yield %{{.*}}, %{{.*}} : i8, f32
func.func @main(%x: tensor<4x40xf32>, %s: tensor<1xsi64>, %p: tensor<f32>) -> (tensor<4x40xf32>, tensor<4x40xui8>) {
  %0:2 = call @g(%x, %s, %p) {tile.label = "dropout"} : (tensor<4x40xf32>, tensor<1xsi64>, tensor<f32>) -> (tensor<4x40xf32>, tensor<4x40xui8>)
  return %0#0, %0#1 : tensor<4x40xf32>, tensor<4x40xui8>
}
func.func private @g(%x: tensor<4x40xf32>, %s: tensor<1xsi64>, %p: tensor<f32>) -> (tensor<4x40xf32>, tensor<4x40xui8>) attributes {tile.group = #tile.group<elementwise>} {
  %0:2 = graph.Dropout %x, %s, %s, %p : (tensor<4x40xf32>, tensor<1xsi64>, tensor<1xsi64>, tensor<f32>) -> (tensor<4x40xf32>, tensor<4x40xui8>)
  return %0#0, %0#1 : tensor<4x40xf32>, tensor<4x40xui8>
}

// -----

// Literals of several values are constant memory, equal ones once.
// CHECK:         memref.global "private" constant @literal.0 : memref<3x1xf32> = dense<{{.*}}> {alignment = 64 : i64}
// CHECK-NOT:     memref.global
// CHECK-LABEL: func.func private @g.l(
// CHECK:         memref.get_global @literal.0 : memref<3x1xf32>
func.func @main(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = call @g(%x) {tile.label = "scales"} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
func.func private @g(%x: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> attributes {tile.group = #tile.group<elementwise>} {
  %c = arith.constant dense<[[1.0], [2.0], [4.0]]> : tensor<3x1xf32>
  %d = arith.constant dense<[[1.0], [2.0], [4.0]]> : tensor<3x1xf32>
  %0 = graph.Multiply %x, %c : (tensor<2x3x5xf32>, tensor<3x1xf32>) -> tensor<2x3x5xf32>
  %1 = graph.Add %0, %d : (tensor<2x3x5xf32>, tensor<3x1xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}
