// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// A bias becomes an Add, so that all epilogues look alike.
// CHECK-LABEL: func @matmul_bias
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<16xf32>
// CHECK:         %[[P:.*]] = graph.MatMul %[[X]], %[[W]] :
// CHECK:         %[[S:.*]] = graph.Add %[[P]], %[[B]] {tile.part = unit} :
// CHECK:         return %[[S]]
func.func @matmul_bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>,
                       %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = graph.MatMul %x, %w, %b : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Only the last two dimensions swap.
// CHECK-LABEL: func @matmul_transposed
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x4xf32>, %[[W:.*]]: tensor<16x8xf32>
// CHECK-DAG:     %[[XT:.*]] = graph.StaticTranspose %[[X]] {order = [0, 2, 1]}
// CHECK-DAG:     %[[WT:.*]] = graph.StaticTranspose %[[W]] {order = [1, 0]}
// CHECK:         graph.MatMul %[[XT]], %[[WT]] : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
func.func @matmul_transposed(%x: tensor<2x8x4xf32>, %w: tensor<16x8xf32>) -> tensor<2x4x16xf32> {
  %0 = graph.MatMul %x, %w {transpose_a = true, transpose_b = true} : (tensor<2x8x4xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  return %0 : tensor<2x4x16xf32>
}

// -----

// A vector on the right is a column, its dimension leaves the result again.
// CHECK-LABEL: func @matmul_column
// CHECK:         %[[W:.*]] = graph.StaticReshape {{.*}} {shape = [8, 1]
// CHECK:         %[[P:.*]] = graph.MatMul %{{.*}}, %[[W]] : (tensor<2x?x8xf32>, tensor<8x1xf32>) -> tensor<2x?x1xf32>
// CHECK:         %[[R:.*]] = graph.StaticReshape %[[P]] {shape = [2, -1]
// CHECK:         return %[[R]]
func.func @matmul_column(%x: tensor<2x?x8xf32>, %w: tensor<8xf32>) -> tensor<2x?xf32> {
  %0 = graph.MatMul %x, %w : (tensor<2x?x8xf32>, tensor<8xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

// A vector on the left is a row; transpose_a has no effect on it.
// CHECK-LABEL: func @matmul_row
// CHECK-NOT:     StaticTranspose
// CHECK:         %[[X:.*]] = graph.StaticReshape {{.*}} {shape = [1, 8]
// CHECK:         graph.MatMul %[[X]], %{{.*}} : (tensor<1x8xf32>, tensor<3x8x16xf32>) -> tensor<3x1x16xf32>
// CHECK:         graph.StaticReshape {{.*}} {shape = [3, 16]
func.func @matmul_row(%x: tensor<8xf32>, %w: tensor<3x8x16xf32>) -> tensor<3x16xf32> {
  %0 = graph.MatMul %x, %w {transpose_a = true} : (tensor<8xf32>, tensor<3x8x16xf32>) -> tensor<3x16xf32>
  return %0 : tensor<3x16xf32>
}

// -----

// Two vectors: a scalar; its bias stays after the product.
// CHECK-LABEL: func @matmul_dot
// CHECK:         %[[P:.*]] = graph.MatMul {{.*}} : (tensor<1x8xf32>, tensor<8x1xf32>) -> tensor<1x1xf32>
// CHECK:         %[[S:.*]] = graph.StaticReshape %[[P]] {shape = []
// CHECK:         %[[R:.*]] = graph.Add %[[S]], %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK:         return %[[R]]
func.func @matmul_dot(%x: tensor<8xf32>, %w: tensor<8xf32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = graph.MatMul %x, %w, %b : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Declines: nothing to bring to normal form.
// CHECK-LABEL: func @plain
// CHECK-NEXT:    graph.MatMul %{{.*}}, %{{.*}} : (tensor<4x8xf32>
// CHECK-NEXT:    graph.Convolution
// CHECK-NEXT:    graph.ReLU
// CHECK-NEXT:    return
func.func @plain(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %i: tensor<1x6x6x3xf32>,
                 %f: tensor<3x3x3x8xf32>) -> (tensor<4x16xf32>, tensor<1x4x4x8xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.Convolution %i, %f {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x4x4x8xf32>
  %2 = graph.ReLU %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2, %1 : tensor<4x16xf32>, tensor<1x4x4x8xf32>
}

// -----

// NCX data and OIX weights: transposes around one form of convolution. The
// bias is added in the user's format, where it needs trailing ones.
// CHECK-LABEL: func @conv_ncx
// CHECK-SAME:    %[[X:.*]]: tensor<1x3x6x5xf32>, %[[W:.*]]: tensor<8x3x3x2xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-DAG:     %[[WT:.*]] = graph.StaticTranspose %[[W]] {order = [2, 3, 1, 0]} : (tensor<8x3x3x2xf32>) -> tensor<3x2x3x8xf32>
// CHECK-DAG:     %[[XT:.*]] = graph.StaticTranspose %[[X]] {order = [0, 2, 3, 1]} : (tensor<1x3x6x5xf32>) -> tensor<1x6x5x3xf32>
// CHECK:         %[[C:.*]] = graph.Convolution %[[XT]], %[[WT]] {
// CHECK-NOT:     NCX
// CHECK-NOT:     OIX
// CHECK-SAME:    -> tensor<1x4x4x8xf32>
// CHECK-DAG:     %[[BACK:.*]] = graph.StaticTranspose %[[C]] {order = [0, 3, 1, 2]} : (tensor<1x4x4x8xf32>) -> tensor<1x8x4x4xf32>
// CHECK-DAG:     %[[BR:.*]] = graph.StaticReshape %[[B]] {shape = [8, 1, 1]
// CHECK:         graph.Add %[[BACK]], %[[BR]]
func.func @conv_ncx(%x: tensor<1x3x6x5xf32>, %w: tensor<8x3x3x2xf32>,
                    %b: tensor<8xf32>) -> tensor<1x8x4x4xf32> {
  %0 = graph.Convolution %x, %w, %b {data_format = "NCX", weights_format = "OIX", strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x3x6x5xf32>, tensor<8x3x3x2xf32>, tensor<8xf32>) -> tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// Channels last: the bias needs no reshape, the data no transpose.
// CHECK-LABEL: func @conv_bias
// CHECK-NEXT:    %[[C:.*]] = graph.Convolution %{{[^,]*}}, %{{[^,]*}} {
// CHECK-NEXT:    graph.Add %[[C]], %{{.*}} : (tensor<1x4x4x8xf32>, tensor<8xf32>)
// CHECK-NEXT:    return
func.func @conv_bias(%x: tensor<1x6x6x3xf32>, %w: tensor<3x3x3x8xf32>,
                     %b: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = graph.Convolution %x, %w, %b {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x3xf32>, tensor<3x3x3x8xf32>, tensor<8xf32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// -----

// What an End marks is a result of the function already.
// CHECK-LABEL: func @end
// CHECK:         %[[Y:.*]] = graph.Sqrt
// CHECK-NEXT:    %[[Z:.*]] = graph.Abs %[[Y]]
// CHECK-NEXT:    return %[[Z]], %[[Y]]
func.func @end(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %y = graph.Sqrt %x : (tensor<5xf32>) -> tensor<5xf32>
  graph.End %y : (tensor<5xf32>) -> ()
  %z = graph.Abs %y : (tensor<5xf32>) -> tensor<5xf32>
  return %z, %y : tensor<5xf32>, tensor<5xf32>
}

// -----

// The gradient by data is a transposed convolution; what it must append to
// reach its shape is output_padding. The shape operand is not needed.
// CHECK-LABEL: func @backward_data
// CHECK-SAME:    %[[D:.*]]: tensor<1x8x4xf32>, %[[W:.*]]: tensor<8x3x3xf32>,
// CHECK-DAG:     %[[DT:.*]] = graph.StaticTranspose %[[D]] {order = [0, 2, 1]}
// CHECK-DAG:     %[[WT:.*]] = graph.StaticTranspose %[[W]] {order = [2, 1, 0]}
// CHECK:         %[[C:.*]] = graph.ConvTranspose %[[DT]], %[[WT]] {
// CHECK-NOT:     NCX
// CHECK-SAME:    output_padding = [1]
// CHECK-SAME:    (tensor<1x4x8xf32>, tensor<3x3x8xf32>) -> tensor<1x8x3xf32>
// CHECK:         graph.StaticTranspose %[[C]] {order = [0, 2, 1]}
func.func @backward_data(%d: tensor<1x8x4xf32>, %w: tensor<8x3x3xf32>, %s: tensor<3xsi32>) -> tensor<1x3x8xf32> {
  %0 = graph.ConvolutionBackwardData %d, %w, %s {data_format = "NCX", weights_format = "OIX", strides = [2], pads_begin = [1], pads_end = [1], dilations = [1]} : (tensor<1x8x4xf32>, tensor<8x3x3xf32>, tensor<3xsi32>) -> tensor<1x3x8xf32>
  return %0 : tensor<1x3x8xf32>
}

// -----

// The other way round it is a convolution.
// CHECK-LABEL: func @transpose_backward_data
// CHECK-NEXT:    graph.Convolution %{{.*}}, %{{.*}} {
// CHECK-NEXT:    return
func.func @transpose_backward_data(%d: tensor<1x9x3xf32>, %w: tensor<3x3x8xf32>) -> tensor<1x4x8xf32> {
  %0 = graph.ConvTransposeBackwardData %d, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x9x3xf32>, tensor<3x3x8xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}

// -----

// Gradients of weights: the big tensor first, the result with taps in front.
// CHECK-LABEL: func @transpose_backward_weights
// CHECK-SAME:    %[[X:.*]]: tensor<1x4x8xf32>, %[[D:.*]]: tensor<1x9x3xf32>
// CHECK-NEXT:    %[[G:.*]] = graph.ConvolutionBackwardWeights %[[D]], %[[X]] {
// CHECK-NOT:     IOX
// CHECK-SAME:    -> tensor<3x3x8xf32>
// CHECK-NEXT:    graph.StaticTranspose %[[G]] {order = [2, 1, 0]} : (tensor<3x3x8xf32>) -> tensor<8x3x3xf32>
func.func @transpose_backward_weights(%x: tensor<1x4x8xf32>, %d: tensor<1x9x3xf32>) -> tensor<8x3x3xf32> {
  %0 = graph.ConvTransposeBackwardWeights %x, %d {weights_format = "IOX", strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [8, 3, 3]} : (tensor<1x4x8xf32>, tensor<1x9x3xf32>) -> tensor<8x3x3xf32>
  return %0 : tensor<8x3x3xf32>
}

// -----

// Declines: the normal form stays.
// CHECK-LABEL: func @normal
// CHECK-NEXT:    graph.ConvTranspose
// CHECK-NEXT:    graph.ConvolutionBackwardWeights
// CHECK-NEXT:    return
func.func @normal(%x: tensor<1x4x8xf32>, %w: tensor<3x3x8xf32>) -> (tensor<1x9x3xf32>, tensor<3x3x8xf32>) {
  %0 = graph.ConvTranspose %x, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x4x8xf32>, tensor<3x3x8xf32>) -> tensor<1x9x3xf32>
  %1 = graph.ConvolutionBackwardWeights %0, %x {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [3, 3, 8]} : (tensor<1x9x3xf32>, tensor<1x4x8xf32>) -> tensor<3x3x8xf32>
  return %0, %1 : tensor<1x9x3xf32>, tensor<3x3x8xf32>
}

// -----

// The gradient of an empty tensor, of which padding made a result.
// CHECK-LABEL: func @empty
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<> : tensor<1x0x8xf32>
// CHECK-NEXT:    return %[[C]]
func.func @empty(%d: tensor<1x1x3xf32>, %w: tensor<3x8x3xf32>) -> tensor<1x0x8xf32> {
  %0 = graph.ConvolutionBackwardData %d, %w {strides = [1], pads_begin = [2], pads_end = [1], dilations = [1], dst_shape = [1, 0, 8]} : (tensor<1x1x3xf32>, tensor<3x8x3xf32>) -> tensor<1x0x8xf32>
  return %0 : tensor<1x0x8xf32>
}
