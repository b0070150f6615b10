// RUN: tenon-opt %s --split-input-file --tenon-check-supported | FileCheck %s

// What compiles passes unchanged.
// CHECK-LABEL: func @main
// CHECK:         graph.MatMul
// CHECK:         graph.SoftMax
// CHECK:         graph.TypeCast {{.*}} -> tensor<?x16xbf16>
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>) -> tensor<?x16xbf16> {
  %0 = graph.MatMul %x, %w : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  %1 = graph.SoftMax %0 : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = graph.TypeCast %1 : (tensor<?x16xf32>) -> tensor<?x16xbf16>
  return %2 : tensor<?x16xbf16>
}

// -----

// A dynamic batch of images is fine.
// CHECK-LABEL: func @main
// CHECK:         graph.Convolution
func.func @main(%x: tensor<?x6x6x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<?x4x4x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<?x6x6x3xf32>, tensor<3x3x3x8xf32>) -> tensor<?x4x4x8xf32>
  return %0 : tensor<?x4x4x8xf32>
}

// -----

// Types are those of the table, for each operation its own.
// CHECK-LABEL: func @main
// CHECK:         graph.Quantize
// CHECK:         graph.DynamicDequantize
// CHECK:         graph.TypeCast
func.func @main(%x: tensor<4x8xf32>, %s: tensor<f32>, %z: tensor<1xsi32>) -> tensor<4x8xsi64> {
  %0 = graph.Quantize %x {scales = [0.5]} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  %1 = graph.DynamicDequantize %0, %s, %z : (tensor<4x8xui8>, tensor<f32>, tensor<1xsi32>) -> tensor<4x8xf32>
  %2 = graph.TypeCast %1 : (tensor<4x8xf32>) -> tensor<4x8xsi64>
  return %2 : tensor<4x8xsi64>
}

// -----

// Integers and booleans of masks.
// CHECK-LABEL: func @main
// CHECK:         graph.GreaterEqual
// CHECK:         graph.Select
func.func @main(%i: tensor<4xsi32>, %j: tensor<4xsi32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.GreaterEqual %i, %j : (tensor<4xsi32>, tensor<4xsi32>) -> tensor<4xi1>
  %1 = graph.Select %0, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
