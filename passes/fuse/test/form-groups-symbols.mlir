// RUN: tenon-opt %s --tenon-form-groups | FileCheck %s

// "a/b" and "a_b" both ask for the symbol g_a_b, and "a_b_1" for the one that
// the second gets: each has its own in the end.
// CHECK-COUNT-3: func.func private
func.func @main(%x: tensor<4xf32>, %y: tensor<8xf32>, %z: tensor<16xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<16xf32>) {
  %0 = graph.ReLU %x : (tensor<4xf32>) -> tensor<4xf32> loc("a/b")
  %1 = graph.ReLU %y : (tensor<8xf32>) -> tensor<8xf32> loc("a_b")
  %2 = graph.Abs %z : (tensor<16xf32>) -> tensor<16xf32> loc("a_b_1")
  return %0, %1, %2 : tensor<4xf32>, tensor<8xf32>, tensor<16xf32>
}
