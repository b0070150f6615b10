// RUN: tenon-opt %s --split-input-file --tenon-sink-transposes | FileCheck %s

// Two convolutions of NCX tensors, with a bias, ReLU and a residual: no
// transpose is left between them.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[S:.*]] = graph.StaticReshape %arg3 {{.*}} -> tensor<1x1x1x8xf32>
// CHECK:         %[[A:.*]] = graph.Add %[[C]], %[[S]] {{.*}}: (tensor<2x5x5x8xf32>, tensor<1x1x1x8xf32>) -> tensor<2x5x5x8xf32>
// CHECK:         %[[R:.*]] = graph.ReLU %[[A]]
// CHECK:         %[[D:.*]] = graph.Convolution %[[R]], %arg2
// CHECK:         %[[E:.*]] = graph.Add %[[D]], %[[R]]
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[E]] {order = [0, 3, 1, 2]}
// CHECK:         return %[[T]] : tensor<2x8x5x5xf32>
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %v: tensor<1x1x8x8xf32>, %b: tensor<8x1x1xf32>) -> tensor<2x8x5x5xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2 = graph.Add %1, %b : (tensor<2x8x5x5xf32>, tensor<8x1x1xf32>) -> tensor<2x8x5x5xf32>
  %3 = graph.ReLU %2 : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %4 = graph.StaticTranspose %3 {order = [0, 2, 3, 1]} : (tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32>
  %5 = graph.Convolution %4, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %6 = graph.StaticTranspose %5 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %7 = graph.Add %6, %3 : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  return %7 : tensor<2x8x5x5xf32>
}

// -----

// A pool of channels first becomes one of channels last.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[P:.*]] = graph.MaxPool %[[C]] {{.*}} -> tensor<2x2x2x8xf32>
// CHECK:         graph.StaticTranspose %[[P]]
func.func @main(%x: tensor<2x4x4x8xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<2x8x2x2xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x4x4x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x4x4x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x4x4x8xf32>) -> tensor<2x8x4x4xf32>
  %2 = graph.MaxPool %1 {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], data_format = "NCX"} : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32>
  return %2 : tensor<2x8x2x2xf32>
}

// -----

// Declines: an operand in the user's order would be read across memory; and a
// transpose that no convolution stands behind is as well read by a loop.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[C]]
// CHECK:         graph.Add %[[T]], %arg2
// CHECK:         %[[U:.*]] = graph.StaticTranspose %arg3
// CHECK:         graph.ReLU %[[U]]
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %r: tensor<2x8x5x5xf32>, %y: tensor<4x6xf32>) -> (tensor<2x8x5x5xf32>, tensor<6x4xf32>) {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2 = graph.Add %1, %r : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %3 = graph.StaticTranspose %y {order = [1, 0]} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %4 = graph.ReLU %3 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return %2, %4 : tensor<2x8x5x5xf32>, tensor<6x4xf32>
}

// -----

// What is read without its transpose is marked with the order of the graph's
// tensor.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution %arg0, %arg1 {{.*}}graph.order = array<i64: 0, 3, 1, 2>
// CHECK:         graph.Convolution %[[C]], %arg1
// CHECK-NOT:     graph.order
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2 = graph.StaticTranspose %1 {order = [0, 2, 3, 1]} : (tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32>
  %3 = graph.Convolution %2, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  return %3 : tensor<2x5x5x8xf32>
}

// -----

// Scales of bytes stand between the convolution and its transpose.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[M:.*]] = graph.Multiply %[[C]]
// CHECK:         %[[R:.*]] = graph.ReLU %[[M]] {{.*}} : (tensor<2x5x5x8xf32>)
// CHECK:         %[[Q:.*]] = graph.TypeCast %[[R]] : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xui8>
// CHECK:         graph.StaticTranspose %[[Q]] {order = [0, 3, 1, 2]}
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %s: tensor<8xf32>) -> tensor<2x8x5x5xui8> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.Multiply %0, %s : (tensor<2x5x5x8xf32>, tensor<8xf32>) -> tensor<2x5x5x8xf32>
  %2 = graph.StaticTranspose %1 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %3 = graph.ReLU %2 : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %4 = graph.TypeCast %3 : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xui8>
  return %4 : tensor<2x8x5x5xui8>
}
