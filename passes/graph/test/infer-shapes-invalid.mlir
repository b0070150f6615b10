// RUN: not tenon-opt %s --split-input-file --tenon-infer-shapes 2>&1 | FileCheck %s

// What only shows once shapes are known, with the numbers.
// CHECK: error: E{{[0-9]+}} MatMul: {{.*}}16{{.*}}5
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %v: tensor<5x4xf32>) -> tensor<*xf32> {
  %0 = graph.MatMul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<*xf32>
  %1 = graph.MatMul %0, %v : (tensor<*xf32>, tensor<5x4xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// CHECK: error: E{{[0-9]+}} Add: {{.*}}4{{.*}}3
func.func @main(%x: tensor<4x8xf32>, %y: tensor<3x8xf32>) -> tensor<*xf32> {
  %0 = graph.ReLU %x : (tensor<4x8xf32>) -> tensor<*xf32>
  %1 = graph.Add %0, %y : (tensor<*xf32>, tensor<3x8xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}
