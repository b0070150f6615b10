// RUN: tenon-opt %s --split-input-file --tenon-widen-floats | FileCheck %s

// CHECK-LABEL: func @pool
// CHECK:         %[[X:.*]] = graph.TypeCast %arg0 : (tensor<1x4x4x8xbf16>) -> tensor<1x4x4x8xf32>
// CHECK:         %[[P:.*]] = graph.MaxPool %[[X]] {{.*}} -> tensor<1x2x2x8xf32>
// CHECK:         %[[Y:.*]] = graph.TypeCast %[[P]] {tile.edge = unit} : (tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xbf16>
// CHECK:         return %[[Y]]
func.func @pool(%x: tensor<1x4x4x8xbf16>) -> tensor<1x2x2x8xbf16> {
  %0 = graph.MaxPool %x {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x8xbf16>) -> tensor<1x2x2x8xbf16>
  return %0 : tensor<1x2x2x8xbf16>
}

// -----

// Its lanes are channels, and it is not a product.
// CHECK-LABEL: func @depthwise
// CHECK-COUNT-2: graph.TypeCast
// CHECK:         graph.Convolution {{.*}} -> tensor<1x4x4x8xf32>
// CHECK:         graph.TypeCast
func.func @depthwise(%x: tensor<1x4x4x8xf16>, %w: tensor<1x1x1x8xf16>) -> tensor<1x4x4x8xf16> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], groups = 8 : i64} : (tensor<1x4x4x8xf16>, tensor<1x1x1x8xf16>) -> tensor<1x4x4x8xf16>
  return %0 : tensor<1x4x4x8xf16>
}

// -----

// Declines: these groups load and store narrow floats; and what is f32 stays.
// CHECK-LABEL: func @native
// CHECK-NOT:     TypeCast
func.func @native(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>, %p: tensor<1x4x4x8xf32>)
    -> (tensor<4x8xbf16>, tensor<1x2x2x8xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
  %1 = graph.ReLU %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %2 = graph.SoftMax %1 {axis = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %3 = graph.MaxPool %p {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  return %2, %3 : tensor<4x8xbf16>, tensor<1x2x2x8xf32>
}
