// RUN: tenon-opt %s --tenon-form-groups --tenon-tile-groups | FileCheck %s

// The pass's own copies never share a symbol with a user's operation.
// CHECK-LABEL: func.func @main
// CHECK:         call @[[RELU:.*]](%{{.*}} {tile.label = "copy1"}
// CHECK-NOT:     call @[[RELU]](
// CHECK:         {tile.label = "copy"}
func.func @main(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<32xf32>) {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = graph.ReLU %t : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("copy1")
  %f = graph.StaticReshape %t {shape = [32], special_zero = false} : (tensor<8x4xf32>) -> tensor<32xf32>
  %e = graph.Exp %f : (tensor<32xf32>) -> tensor<32xf32>
  return %r, %e : tensor<8x4xf32>, tensor<32xf32>
}
