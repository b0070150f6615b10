// RUN: tenon-opt %s --split-input-file --tenon-assign-layouts | FileCheck %s

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

// A pool of channels first becomes one of channels last, a Concat of dim 1 one
// of dim 3, means over rows and columns means over dims 1 and 2, and a softmax
// of channels one of the last dim. Their sizes merged, rows and columns still
// are one after the other.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[P:.*]] = graph.MaxPool %[[C]] {{.*}} -> tensor<2x2x2x8xf32>
// CHECK-NOT:     NCX
// CHECK:         %[[J:.*]] = graph.Concat %[[P]], %[[P]] {axis = 3{{.*}} -> tensor<2x2x2x16xf32>
// CHECK:         %[[S:[a-z0-9_]*]]{{.*}} = graph.SoftMax %[[J]] {axis = 3{{.*}} -> tensor<2x2x2x16xf32>
// CHECK:         %[[M:.*]] = graph.ReduceMean %[[S]] {axes = [1, 2], {{.*}}keep_dims = true} {{.*}} -> tensor<2x1x1x16xf32>
// CHECK:         %[[G:.*]] = graph.ReduceMean %[[S]] {axes = [1, 2]} : (tensor<2x2x2x16xf32>) -> tensor<2x16xf32>
// CHECK:         %[[V:.*]] = graph.StaticReshape %[[S]] {{.*}} -> tensor<2x4x16xf32>
// CHECK-NOT:     StaticTranspose
// CHECK:         graph.Convolution %[[M]], %arg2
// CHECK:         graph.Convolution %[[V]], %arg3
func.func @main(%x: tensor<2x4x4x8xf32>, %w: tensor<1x1x8x8xf32>, %v: tensor<1x1x16x4xf32>, %u: tensor<1x16x4xf32>) -> (tensor<2x1x1x4xf32>, tensor<2x16xf32>, tensor<2x4x4xf32>) {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x4x4x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x4x4x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x4x4x8xf32>) -> tensor<2x8x4x4xf32>
  %2 = graph.MaxPool %1 {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], data_format = "NCX"} : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32>
  %3 = graph.Concat %2, %2 {axis = 1 : si64} : (tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32>) -> tensor<2x16x2x2xf32>
  %4 = graph.SoftMax %3 {axis = -3 : si64} : (tensor<2x16x2x2xf32>) -> tensor<2x16x2x2xf32>
  %5 = graph.ReduceMean %4 {axes = [2, -1], keep_dims = true} : (tensor<2x16x2x2xf32>) -> tensor<2x16x1x1xf32>
  %6 = graph.ReduceMean %4 {axes = [2, 3], keep_dims = false} : (tensor<2x16x2x2xf32>) -> tensor<2x16xf32>
  %7 = graph.StaticReshape %4 {shape = [2, 16, 4], special_zero = false} : (tensor<2x16x2x2xf32>) -> tensor<2x16x4xf32>
  %8 = graph.StaticTranspose %5 {order = [0, 2, 3, 1]} : (tensor<2x16x1x1xf32>) -> tensor<2x1x1x16xf32>
  %9 = graph.Convolution %8, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x1x1x16xf32>, tensor<1x1x16x4xf32>) -> tensor<2x1x1x4xf32>
  %10 = graph.StaticTranspose %7 {order = [0, 2, 1]} : (tensor<2x16x4xf32>) -> tensor<2x4x16xf32>
  %11 = graph.Convolution %10, %u {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x4x16xf32>, tensor<1x16x4xf32>) -> tensor<2x4x4xf32>
  return %9, %6, %11 : tensor<2x1x1x4xf32>, tensor<2x16xf32>, tensor<2x4x4xf32>
}

// -----

// Declines: with a residual and a result in the user's order it is cheaper to
// read the convolution's across; and a transpose that no convolution stands
// after is as well read by a loop.
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

// The same residual, but a convolution reads the sum: now the residual alone
// is transposed.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg2 {order = [0, 2, 3, 1]}
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[S:.*]] = graph.Add %[[C]], %[[T]]
// CHECK:         graph.Convolution %[[S]]
// CHECK-NOT:     StaticTranspose
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %r: tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2 = graph.Add %1, %r : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %3 = graph.StaticTranspose %2 {order = [0, 2, 3, 1]} : (tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32>
  %4 = graph.Convolution %3, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  return %4 : tensor<2x5x5x8xf32>
}

// -----

// The caller's buffers have channels last: the sum is moved for them.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         graph.Add %[[C]], %{{.*}} -> tensor<2x5x5x8xf32>
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %r: tensor<2x8x5x5xf32> {tile.strides = array<i64: 200, 1, 40, 8>}) -> (tensor<2x8x5x5xf32> {tile.strides = array<i64: 200, 1, 40, 8>}) {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2 = graph.Add %1, %r : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  return %2 : tensor<2x8x5x5xf32>
}

// -----

// Written for channels last, but all around is channels first: it moves there.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[C]] {order = [0, 3, 1, 2]}
// CHECK:         %[[S:.*]] = graph.StaticReshape %arg3 {{.*}} -> tensor<1x8x1x1xf32>
// CHECK:         %[[M:.*]] = graph.Multiply %arg2, %[[S]] {{.*}} : (tensor<2x8x5x5xf32>, tensor<1x8x1x1xf32>) -> tensor<2x8x5x5xf32>
// CHECK:         graph.Add %[[T]], %[[M]]
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %r: tensor<2x8x5x5xf32>, %b: tensor<8xf32>) -> tensor<2x8x5x5xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %r {order = [0, 2, 3, 1]} : (tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32>
  %2 = graph.Multiply %1, %b : (tensor<2x5x5x8xf32>, tensor<8xf32>) -> tensor<2x5x5x8xf32>
  %3 = graph.Add %0, %2 : (tensor<2x5x5x8xf32>, tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xf32>
  %4 = graph.StaticTranspose %3 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  return %4 : tensor<2x8x5x5xf32>
}

// -----

// Statistics of a batch are of channels, wherever those are.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[Y:[a-z]*]], %[[R:[a-z_]*]], %{{.*}} = graph.BatchNormForwardTraining %[[C]], %arg2, %arg2, %arg2, %arg2
// CHECK-NOT:     NCX
// CHECK-SAME:    -> (tensor<2x5x5x8xf32>, tensor<8xf32>,
// CHECK:         graph.Convolution %[[Y]]
// CHECK:         return %{{.*}}, %[[R]]
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %s: tensor<8xf32>) -> (tensor<2x5x5x8xf32>, tensor<8xf32>) {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %2:5 = "graph.BatchNormForwardTraining"(%1, %s, %s, %s, %s) {data_format = "NCX", epsilon = 0.1 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<2x8x5x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x5x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %3 = graph.StaticTranspose %2#0 {order = [0, 2, 3, 1]} : (tensor<2x8x5x5xf32>) -> tensor<2x5x5x8xf32>
  %4 = graph.Convolution %3, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  return %4, %2#1 : tensor<2x5x5x8xf32>, tensor<8xf32>
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

// Scales of bytes stand between the convolution and its transpose; an operand
// without a batch is transposed beside its tensor, which costs less.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.Convolution
// CHECK:         %[[M:.*]] = graph.Multiply %[[C]]
// CHECK:         %[[R:.*]] = graph.ReLU %[[M]] {{.*}} : (tensor<2x5x5x8xf32>)
// CHECK:         %[[T:.*]] = graph.StaticReshape %arg3 {{.*}} -> tensor<1x8x5x5xf32>
// CHECK:         %[[U:.*]] = graph.StaticTranspose %[[T]] {order = [0, 2, 3, 1]}
// CHECK:         %[[A:.*]] = graph.Add %[[R]], %{{.*}} -> tensor<2x5x5x8xf32>
// CHECK:         %[[Q:.*]] = graph.TypeCast %[[A]] : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xui8>
// CHECK:         graph.StaticTranspose %[[Q]] {order = [0, 3, 1, 2]}
func.func @main(%x: tensor<2x5x5x8xf32>, %w: tensor<1x1x8x8xf32>, %s: tensor<8xf32>, %p: tensor<8x5x5xf32>) -> tensor<2x8x5x5xui8> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x5x5x8xf32>, tensor<1x1x8x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = graph.Multiply %0, %s : (tensor<2x5x5x8xf32>, tensor<8xf32>) -> tensor<2x5x5x8xf32>
  %2 = graph.StaticTranspose %1 {order = [0, 3, 1, 2]} : (tensor<2x5x5x8xf32>) -> tensor<2x8x5x5xf32>
  %3 = graph.ReLU %2 : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %4 = graph.Add %3, %p : (tensor<2x8x5x5xf32>, tensor<8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %5 = graph.TypeCast %4 : (tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xui8>
  return %5 : tensor<2x8x5x5xui8>
}
