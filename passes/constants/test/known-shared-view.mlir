// XFAIL: *
// RUN: tenon-opt %s --tenon-outline-constants | FileCheck %s

// The view of %a is read by what moves and by what stays: it is in both
// functions, and Sqrt should be in @fold only. (A second run moves it too, and
// computes it twice there.)
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.Sqrt
// CHECK:         graph.StaticReshape
// CHECK-LABEL: func.func @fold
// CHECK-COUNT-1: graph.Sqrt
func.func @main(%w: tensor<8xf32> {graph.property = "constant"}, %x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = graph.Sqrt %w : (tensor<8xf32>) -> tensor<8xf32>
  %v = graph.StaticReshape %a {shape = [2, 4], special_zero = false} : (tensor<8xf32>) -> tensor<2x4xf32>
  %m = graph.Exp %v : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = graph.Add %x, %v : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = graph.Add %x, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
}
