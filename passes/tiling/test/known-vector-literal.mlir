// XFAIL: *
// RUN: tenon-opt %s --tenon-form-groups --tenon-tile-groups | FileCheck %s

// A literal that is no splat is taken for its first element: 1.0 for all. The
// importers build no such literals; MLIR text can.
// CHECK-LABEL: func.func @main
// CHECK:         linalg.generic
// CHECK-NOT:     arith.constant 1.0
// CHECK:         linalg.yield
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.Add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
