// RUN: tenon-opt %s --tenon-check-supported --verify-diagnostics

// With transpose_b the columns of the product are rows of the weights.
func.func @main(%x: tensor<4x8xf32>, %w: tensor<?x8xf32>, %y: tensor<4x?xf32>,
                %v: tensor<16x?xf32>) -> (tensor<4x?xf32>, tensor<4x16xf32>) {
  // expected-error @+1 {{MatMul: the number of columns of weights is not known}}
  %0 = graph.MatMul %x, %w {transpose_b = true} : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<4x?xf32>
  // An unknown K is no problem.
  %1 = graph.MatMul %y, %v {transpose_b = true} : (tensor<4x?xf32>, tensor<16x?xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<4x?xf32>, tensor<4x16xf32>
}
