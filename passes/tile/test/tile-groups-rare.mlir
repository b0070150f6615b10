// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// What few rows need: the norm of a row is the root of a sum of squares; only
// where that does not fit the row is passed again, with multiples of its
// elements.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{[a-z0-9]+}}: f32):
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      linalg.yield
// CHECK:         math.sqrt
// CHECK:         %[[MISFIT:.*]] = arith.cmpf une
// CHECK:         scf.if %[[MISFIT]] {
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK-COUNT-2:     arith.addf
// CHECK:             linalg.yield
// CHECK:           math.sqrt
// CHECK-NOT:     linalg.generic
func.func @main(%x: tensor<64x100xf32>) -> tensor<64xf32> {
  %0 = call @g(%x) {tile.label = "norm"} : (tensor<64x100xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @g(%x: tensor<64x100xf32>) -> tensor<64xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceL2 %x {axes = [1]} : (tensor<64x100xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// What follows reads what was chosen.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.if
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK:           arith.divf
func.func @main(%x: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %0 = call @g(%x) {tile.label = "unit"} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  return %0 : tensor<64x100xf32>
}
func.func private @g(%x: tensor<64x100xf32>) -> tensor<64x100xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceL2 %x {axes = [1], keep_dims = true} : (tensor<64x100xf32>) -> tensor<64x1xf32>
  %1 = graph.Divide %x, %0 : (tensor<64x100xf32>, tensor<64x1xf32>) -> tensor<64x100xf32>
  return %1 : tensor<64x100xf32>
}

// -----

// Declines: an item of several columns, and a row that is divided, make all
// sums in one pass. So does RMSNorm, which reads its rows again in any case.
// CHECK-LABEL: func.func private @g.l(
// CHECK-NOT:     scf.if
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK-COUNT-3:   arith.addf
// CHECK-NOT:     scf.if
// CHECK-LABEL: func.func private @h.l(
// CHECK-NOT:     scf.if
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK-COUNT-3:   arith.addf
// CHECK-NOT:     scf.if
// CHECK-LABEL: func.func private @i.l(
// CHECK-NOT:     scf.if
// CHECK:         linalg.generic {{.*}}"reduction"
// CHECK-COUNT-2:   arith.addf
// CHECK-NOT:     scf.if
func.func @main(%x: tensor<100x64xf32>, %y: tensor<2x262144xf32>, %z: tensor<64x100xf32>) -> (tensor<64xf32>, tensor<2xf32>, tensor<64x100xf32>) {
  %0 = call @g(%x) {tile.label = "columns"} : (tensor<100x64xf32>) -> tensor<64xf32>
  %1 = call @h(%y) {tile.label = "long"} : (tensor<2x262144xf32>) -> tensor<2xf32>
  %2 = call @i(%z) {tile.label = "rms"} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  return %0, %1, %2 : tensor<64xf32>, tensor<2xf32>, tensor<64x100xf32>
}
func.func private @g(%x: tensor<100x64xf32>) -> tensor<64xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceL2 %x {axes = [0]} : (tensor<100x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @h(%x: tensor<2x262144xf32>) -> tensor<2xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceL2 %x {axes = [1]} : (tensor<2x262144xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @i(%x: tensor<64x100xf32>) -> tensor<64x100xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.RMSNorm %x {epsilon = 1.0e-5} : (tensor<64x100xf32>) -> tensor<64x100xf32>
  return %0 : tensor<64x100xf32>
}
