// RUN: tenon-opt %s --tenon-decompose-graph | FileCheck %s

// A column vector leaves a result with two unknown dimensions: those of src.
// CHECK: graph.MatMul {{.*}} -> tensor<?x?x1xf32>
func.func @main(%x: tensor<?x?x8xf32>, %w: tensor<8xf32>) -> tensor<?x?xf32> {
  %0 = graph.MatMul %x, %w : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
