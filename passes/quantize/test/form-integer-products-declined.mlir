// RUN: tenon-opt %s --split-input-file --tenon-form-integer-products --verify-diagnostics | FileCheck %s

// CHECK-NOT: tile.matmul
// CHECK-NOT: tile.conv
func.func @zero_points(%x: tensor<4x64xui8>, %w: tensor<64x2xsi8>) -> tensor<4x2xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %1 = graph.Dequantize %w {qtype = "per_channel", axis = 1 : i64, scales = [0.25, 0.5], zps = [1, 2]} : (tensor<64x2xsi8>) -> tensor<64x2xf32>
  // expected-remark @+1 {{dequantised operands are multiplied in f32: the zero points of the weights are a tensor, or differ}}
  %2 = graph.MatMul %0, %1 : (tensor<4x64xf32>, tensor<64x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

func.func @zero_point_of_src(%x: tensor<4x64xui8>, %s: tensor<1xf32>, %z: tensor<1xsi32>, %w: tensor<64x32xsi8>) -> tensor<4x32xf32> {
  %0 = graph.DynamicDequantize %x, %s, %z : (tensor<4x64xui8>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [1]} : (tensor<64x32xsi8>) -> tensor<64x32xf32>
  // expected-remark @+1 {{the weights have a zero point, that of src is not known}}
  %2 = graph.MatMul %0, %1 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

func.func @convolutions(%x: tensor<1x4x4x32xui8>, %u: tensor<1x1x32x32xui8>, %w: tensor<1x1x32x32xsi8>) -> (tensor<1x4x4x32xf32>, tensor<1x4x4x32xf32>) {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<1x4x4x32xui8>) -> tensor<1x4x4x32xf32>
  %1 = graph.Dequantize %u {scales = [0.25], zps = [0]} : (tensor<1x1x32x32xui8>) -> tensor<1x1x32x32xf32>
  // expected-remark @+1 {{a convolution multiplies u8 or s8 by s8 only, and its weights are u8}}
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x4x4x32xf32>, tensor<1x1x32x32xf32>) -> tensor<1x4x4x32xf32>
  %3 = graph.Dequantize %w {scales = [0.25], zps = [1]} : (tensor<1x1x32x32xsi8>) -> tensor<1x1x32x32xf32>
  // expected-remark @+1 {{the weights have a zero point}}
  %4 = graph.Convolution %0, %3 {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x4x4x32xf32>, tensor<1x1x32x32xf32>) -> tensor<1x4x4x32xf32>
  return %2, %4 : tensor<1x4x4x32xf32>, tensor<1x4x4x32xf32>
}

// -----

func.func @unsigned_weights(%x: tensor<4x64xui8>, %w: tensor<64x32xui8>) -> tensor<4x32xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<64x32xui8>) -> tensor<64x32xf32>
  // expected-remark @+1 {{the weights are u8 and change with each execution, and only 4 rows, fewer than 64, are multiplied by them}}
  %2 = graph.MatMul %0, %1 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

func.func @scales_of_rows(%x: tensor<2x64xui8>, %w: tensor<64x32xsi8>, %v: tensor<2x8xsi8>) -> (tensor<2x32xf32>, tensor<64x8xf32>) {
  %0 = graph.Dequantize %x {qtype = "per_channel", axis = 0 : i64, scales = [0.5, 1.0], zps = [0, 0]} : (tensor<2x64xui8>) -> tensor<2x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<64x32xsi8>) -> tensor<64x32xf32>
  // expected-remark @+1 {{src has a scale per channel}}
  %2 = graph.MatMul %0, %1 : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  %3 = graph.StaticTranspose %w {order = [1, 0]} : (tensor<64x32xsi8>) -> tensor<32x64xsi8>
  %4 = graph.Dequantize %x {scales = [0.5], zps = [0]} : (tensor<2x64xui8>) -> tensor<2x64xf32>
  %5 = graph.StaticTranspose %4 {order = [1, 0]} : (tensor<2x64xf32>) -> tensor<64x2xf32>
  %6 = graph.Dequantize %v {qtype = "per_channel", axis = 0 : i64, scales = [0.5, 1.0], zps = [0, 0]} : (tensor<2x8xsi8>) -> tensor<2x8xf32>
  // expected-remark @+1 {{there is not one scale per column of the weights}}
  %7 = graph.MatMul %5, %6 : (tensor<64x2xf32>, tensor<2x8xf32>) -> tensor<64x8xf32>
  return %2, %7 : tensor<2x32xf32>, tensor<64x8xf32>
}

// -----

// Floats are not dequantised bytes: nothing to say.
func.func @floats(%x: tensor<4x64xf32>, %w: tensor<64x32xf32>) -> tensor<4x32xf32> {
  %0 = graph.MatMul %x, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

func.func @narrow_groups(%x: tensor<1x4x4x8xui8>, %w: tensor<3x3x4x8xsi8>) -> tensor<1x4x4x8xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<1x4x4x8xui8>) -> tensor<1x4x4x8xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<3x3x4x8xsi8>) -> tensor<3x3x4x8xf32>
  // expected-remark @+1 {{dequantised operands are multiplied in f32: a convolution of so few channels per group has no int8 kernel}}
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 2 : i64} : (tensor<1x4x4x8xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %2 : tensor<1x4x4x8xf32>
}

// -----

// Sums of 255 * 128 wrap around from 65794 on, and no scale is left of two tiny
// ones.
func.func @main(%x: tensor<4x65794xui8>, %w: tensor<65794x8xsi8>, %y: tensor<4x64xui8>, %v: tensor<64x8xsi8>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.Dequantize %x {scales = array<f32: 0.5>} : (tensor<4x65794xui8>) -> tensor<4x65794xf32>
  %1 = graph.Dequantize %w {scales = array<f32: 0.5>} : (tensor<65794x8xsi8>) -> tensor<65794x8xf32>
  // expected-remark @+1 {{the largest possible sum of products does not fit 32 bits}}
  %2 = graph.MatMul %0, %1 : (tensor<4x65794xf32>, tensor<65794x8xf32>) -> tensor<4x8xf32>
  %3 = graph.Dequantize %y {scales = array<f32: 1.0e-20>} : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %4 = graph.Dequantize %v {scales = array<f32: 1.0e-26>} : (tensor<64x8xsi8>) -> tensor<64x8xf32>
  // expected-remark @+1 {{the product of two scales is 0 or infinite in f32}}
  %5 = graph.MatMul %3, %4 : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  return %2, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}
