// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Squares between zeros in scratch; a window is five loads of neighbours. An
// exponent of 3/4 is two square roots and a division.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%{{.*}}) scratch(%{{.*}}) {
// CHECK:           linalg.generic
// CHECK:             arith.constant 0.0
// CHECK:           arith.mulf
// CHECK:           %[[T0:.*]] = memref.reinterpret_cast %[[S:.*]] to offset: [0], sizes: [{{.*}}, 96], strides: [98, 1]
// CHECK:           memref.reinterpret_cast %[[S]] to offset: [1], sizes: [{{.*}}, 96], strides: [98, 1]
// CHECK:           memref.reinterpret_cast %[[S]] to offset: [2], sizes: [{{.*}}, 96], strides: [98, 1]
// CHECK:           memref.reinterpret_cast %[[S]] to offset: [3], sizes: [{{.*}}, 96], strides: [98, 1]
// CHECK:           memref.reinterpret_cast %[[S]] to offset: [4], sizes: [{{.*}}, 96], strides: [98, 1]
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[T0]],
// CHECK-COUNT-2:     math.sqrt
// CHECK:             arith.divf
// CHECK-NOT:       math.powf
func.func @main(%x: tensor<8x55x55x96xf32>) -> tensor<8x55x55x96xf32> {
  %0 = call @g(%x) {tile.label = "lrn"} : (tensor<8x55x55x96xf32>) -> tensor<8x55x55x96xf32>
  return %0 : tensor<8x55x55x96xf32>
}
func.func private @g(%x: tensor<8x55x55x96xf32>) -> tensor<8x55x55x96xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.LRN %x : (tensor<8x55x55x96xf32>) -> tensor<8x55x55x96xf32>
  return %0 : tensor<8x55x55x96xf32>
}

// -----

// A window too wide to read at once is summed by a loop; another exponent is a
// power.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         math.powf
// CHECK-NOT:     math.sqrt
func.func @main(%x: tensor<8x96xf32>) -> tensor<8x96xf32> {
  %0 = call @g(%x) {tile.label = "lrn"} : (tensor<8x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}
func.func private @g(%x: tensor<8x96xf32>) -> tensor<8x96xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.LRN %x {size = 11 : si64, beta = 0.3 : f32} : (tensor<8x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}
