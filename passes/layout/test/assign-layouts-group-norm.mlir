// RUN: tenon-opt %s --split-input-file --tenon-assign-layouts | FileCheck %s

// Channels last rows of two channels are less than a vector: statistics of 64
// channels and parts of 196 positions, of all parts, and of groups. So the norm
// may follow the convolutions' order.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK-NOT:     graph.StaticTranspose
// CHECK:         %[[X:.*]] = graph.StaticReshape %[[C]] {{.*}} -> tensor<2x4x196x64xf32>
// CHECK:         graph.ReduceMean %[[X]] {axes = [2]
// CHECK:         graph.ReduceMean %{{.*}} {axes = [1]{{.*}} -> tensor<2x1x1x64xf32>
// CHECK:         graph.ReduceMean %{{.*}} {axes = [2]{{.*}} -> tensor<2x32x1xf32>
// CHECK:         %[[D:.*]] = graph.Subtract %[[C]]
// CHECK:         %[[Y:.*]] = graph.Multiply %[[D]]
// CHECK-NOT:     graph.StaticTranspose
// CHECK:         graph.Convolution %[[Y]]
func.func @main(%x: tensor<2x28x28x64xf32>, %w: tensor<1x1x64x64xf32>, %v: tensor<1x1x64x64xf32>) -> tensor<2x28x28x64xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x28x28x64xf32>, tensor<1x1x64x64xf32>) -> tensor<2x28x28x64xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x28x28x64xf32>) -> tensor<2x64x28x28xf32>
  %2 = graph.GroupNorm %1 {groups = 32, keep_stats = false, use_affine = false, data_format = "NCX"} : (tensor<2x64x28x28xf32>) -> tensor<2x64x28x28xf32>
  %3 = graph.StaticTranspose %2 {order = [0, 2, 3, 1]} : (tensor<2x64x28x28xf32>) -> tensor<2x28x28x64xf32>
  %4 = graph.Convolution %3, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x28x28x64xf32>, tensor<1x1x64x64xf32>) -> tensor<2x28x28x64xf32>
  return %4 : tensor<2x28x28x64xf32>
}

// -----

// Declines: so few elements are not worth more sections, and 961 = 31 x 31
// positions of 64 channels are, but not where rows fill vectors.
// CHECK-LABEL: func.func @main
// CHECK:         graph.GroupNorm %arg0
// CHECK:         graph.GroupNorm %arg1
// CHECK-NOT:     graph.ReduceMean
func.func @main(%x: tensor<2x7x7x64xf32>, %y: tensor<2x31x31x64xf32>) -> (tensor<2x7x7x64xf32>, tensor<2x31x31x64xf32>) {
  %0 = graph.GroupNorm %x {groups = 32, keep_stats = false, use_affine = false} : (tensor<2x7x7x64xf32>) -> tensor<2x7x7x64xf32>
  %1 = graph.GroupNorm %y {groups = 4, keep_stats = false, use_affine = false} : (tensor<2x31x31x64xf32>) -> tensor<2x31x31x64xf32>
  return %0, %1 : tensor<2x7x7x64xf32>, tensor<2x31x31x64xf32>
}
