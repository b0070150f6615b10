// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Lines that lie side by side: a row of the best elements so far, and their
// positions.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel
// CHECK:           scf.for
// CHECK:             linalg.generic {{.*}} ins(%{{.*}} : memref<300xf32, {{.*}}) outs(%{{.*}}, %{{.*}} : memref<300xf32>, memref<300xi32>)
// CHECK:               arith.cmpf ugt
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : memref<300xi64
func.func @main(%x: tensor<40x300xf32>) -> tensor<1x300xsi64> {
  %0 = call @g(%x) {tile.label = "argmax"} : (tensor<40x300xf32>) -> tensor<1x300xsi64>
  return %0 : tensor<1x300xsi64>
}
func.func private @g(%x: tensor<40x300xf32>) -> tensor<1x300xsi64> attributes {tile.group = #tile.group<movement>} {
  %0 = graph.ArgMax %x {axis = 0} : (tensor<40x300xf32>) -> tensor<1x300xsi64>
  return %0 : tensor<1x300xsi64>
}

// -----

// Few long lines are cut into blocks: sums of those first.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<6xf64>
// CHECK:         rt.parallel {{.*}} items(%c6)
// CHECK:           memref.store %{{.*}}, %[[S]]
// CHECK:         rt.parallel {{.*}} items(%c6
// CHECK:           memref.load %[[S]]
// CHECK:           arith.truncf %{{.*}} : f64 to f32
func.func @main(%x: tensor<2x20000xf32>) -> tensor<2x20000xf32> {
  %0 = call @g(%x) {tile.label = "sums"} : (tensor<2x20000xf32>) -> tensor<2x20000xf32>
  return %0 : tensor<2x20000xf32>
}
func.func private @g(%x: tensor<2x20000xf32>) -> tensor<2x20000xf32> attributes {tile.group = #tile.group<movement>} {
  %0 = graph.CumSum %x {axis = 1} : (tensor<2x20000xf32>) -> tensor<2x20000xf32>
  return %0 : tensor<2x20000xf32>
}

// -----

// Of 64-bit integers a key has 128 bits; a few keys are kept sorted.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel {{.*}} items(%c
// CHECK:           linalg.generic {{.*}} outs(%{{.*}} : memref<100xi128>)
// CHECK:           scf.for
// CHECK:             scf.if
func.func @main(%x: tensor<7x100xsi64>) -> (tensor<7x3xsi64>, tensor<7x3xsi32>) {
  %0:2 = call @g(%x) {tile.label = "top"} : (tensor<7x100xsi64>) -> (tensor<7x3xsi64>, tensor<7x3xsi32>)
  return %0#0, %0#1 : tensor<7x3xsi64>, tensor<7x3xsi32>
}
func.func private @g(%x: tensor<7x100xsi64>) -> (tensor<7x3xsi64>, tensor<7x3xsi32>) attributes {tile.group = #tile.group<movement>} {
  %0:2 = graph.TopK %x {k = 3} : (tensor<7x100xsi64>) -> (tensor<7x3xsi64>, tensor<7x3xsi32>)
  return %0#0, %0#1 : tensor<7x3xsi64>, tensor<7x3xsi32>
}
