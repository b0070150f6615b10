// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A range of places is a part of the rows, which indices do not choose: an item
// looks at the indices of its rows alone.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.require
// CHECK:         rt.parallel {{.*}} items(%c16)
// CHECK:           scf.for %[[ROW:.*]] = %{{.*}} to
// CHECK:             scf.for {{.*}} to %c100
// CHECK-NOT:           scf.if
// CHECK:               arith.addf
func.func @main(%x: tensor<1000x90xf32>, %i: tensor<1000x100xsi64>, %u: tensor<1000x100xf32>) -> tensor<1000x90xf32> {
  %0 = call @g(%x, %i, %u) {tile.label = "scatter"} : (tensor<1000x90xf32>, tensor<1000x100xsi64>, tensor<1000x100xf32>) -> tensor<1000x90xf32>
  return %0 : tensor<1000x90xf32>
}
func.func private @g(%x: tensor<1000x90xf32>, %i: tensor<1000x100xsi64>, %u: tensor<1000x100xf32>) -> tensor<1000x90xf32> attributes {tile.group = #tile.group<movement>} {
  %0 = graph.ScatterElements %x, %i, %u {axis = 1 : si64, reduction = "add"} : (tensor<1000x90xf32>, tensor<1000x100xsi64>, tensor<1000x100xf32>) -> tensor<1000x90xf32>
  return %0 : tensor<1000x90xf32>
}

// -----

// Declines: indices choose the rows. An item looks at all of them, one for 8
// elements of a row.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.require
// CHECK:         rt.parallel {{.*}} items(%c8)
// CHECK:           scf.for {{.*}} to %c500
// CHECK:             scf.if
// CHECK:               arith.addf
func.func @main(%x: tensor<1000x64xf32>, %i: tensor<500x1xsi64>, %u: tensor<500x64xf32>) -> tensor<1000x64xf32> {
  %0 = call @g(%x, %i, %u) {tile.label = "scatter"} : (tensor<1000x64xf32>, tensor<500x1xsi64>, tensor<500x64xf32>) -> tensor<1000x64xf32>
  return %0 : tensor<1000x64xf32>
}
func.func private @g(%x: tensor<1000x64xf32>, %i: tensor<500x1xsi64>, %u: tensor<500x64xf32>) -> tensor<1000x64xf32> attributes {tile.group = #tile.group<movement>} {
  %0 = graph.ScatterND %x, %i, %u {reduction = "add"} : (tensor<1000x64xf32>, tensor<500x1xsi64>, tensor<500x64xf32>) -> tensor<1000x64xf32>
  return %0 : tensor<1000x64xf32>
}

// -----

// Declines: rows of one element take less time than looking at their indices
// twice.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.require
// CHECK:         rt.parallel {{.*}} items(%c1_{{[0-9]+}})
// CHECK:           scf.for {{.*}} to %c90000
// CHECK-NOT:         scf.if
// CHECK:             arith.addf
func.func @main(%x: tensor<1000xf32>, %i: tensor<90000xsi64>, %u: tensor<90000xf32>) -> tensor<1000xf32> {
  %0 = call @g(%x, %i, %u) {tile.label = "scatter"} : (tensor<1000xf32>, tensor<90000xsi64>, tensor<90000xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
func.func private @g(%x: tensor<1000xf32>, %i: tensor<90000xsi64>, %u: tensor<90000xf32>) -> tensor<1000xf32> attributes {tile.group = #tile.group<movement>} {
  %0 = graph.ScatterElements %x, %i, %u {reduction = "add"} : (tensor<1000xf32>, tensor<90000xsi64>, tensor<90000xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
