// RUN: tenon-opt %s --split-input-file --tenon-infer-shapes | FileCheck %s

// Shapes follow from the inputs through the whole graph.
// CHECK-LABEL: func @main
// CHECK-SAME:    -> tensor<?x4xf32>
// CHECK:         graph.MatMul {{.*}} -> tensor<?x16xf32>
// CHECK:         graph.ReLU {{.*}} -> tensor<?x16xf32>
// CHECK:         graph.MatMul {{.*}} -> tensor<?x4xf32>
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>, %v: tensor<16x4xf32>) -> tensor<*xf32> {
  %0 = graph.MatMul %x, %w : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<*xf32>
  %1 = graph.ReLU %0 : (tensor<*xf32>) -> tensor<*xf32>
  %2 = graph.MatMul %1, %v : (tensor<*xf32>, tensor<16x4xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

// -----

// auto_pad becomes pads once the spatial sizes are known.
// CHECK-LABEL: func @main
// CHECK:         graph.Convolution {{.*}}pads_begin = [0, 0]{{.*}}pads_end = [1, 1]{{.*}} -> tensor<1x3x3x8xf32>
func.func @main(%x: tensor<1x6x6x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<*xf32> {
  %0 = graph.Convolution %x, %w {auto_pad = "SAME_UPPER", strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x3xf32>, tensor<3x3x3x8xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// A known shape stays as it is.
// CHECK-LABEL: func @main
// CHECK:         graph.Exp %{{.*}} : (tensor<3xf32>) -> tensor<3xf32>
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.Exp %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
