// RUN: tenon-opt %s --split-input-file --tenon-expand-quantize | FileCheck %s

// CHECK-LABEL: func @per_tensor
// CHECK-DAG:     %[[S:.*]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[Z:.*]] = arith.constant dense<1.280000e+02> : tensor<f32>
// CHECK:         %[[D:.*]] = graph.Multiply %arg0, %[[S]]
// CHECK:         %[[A:.*]] = graph.Add %[[D]], %[[Z]]
// CHECK:         %[[R:.*]] = graph.Round %[[A]]
// CHECK:         graph.TypeCast %[[R]] : (tensor<5x7xf32>) -> tensor<5x7xui8>
// CHECK-NOT:     Quantize
func.func @per_tensor(%x: tensor<5x7xf32>) -> tensor<5x7xui8> {
  %0 = graph.Quantize %x {scales = [0.5], zps = [128]} : (tensor<5x7xf32>) -> tensor<5x7xui8>
  return %0 : tensor<5x7xui8>
}

// -----

// Zero points of 0 are nothing; equal scales are one.
// CHECK-LABEL: func @no_zero_point
// CHECK:         %[[S:.*]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[T:.*]] = graph.TypeCast %arg0 : (tensor<2x3x?xsi8>) -> tensor<2x3x?xf32>
// CHECK-NEXT:    %[[M:.*]] = graph.Multiply %[[T]], %[[S]]
// CHECK-NEXT:    return %[[M]]
func.func @no_zero_point(%x: tensor<2x3x?xsi8>) -> tensor<2x3x?xf32> {
  %0 = graph.Dequantize %x {qtype = "per_channel", axis = -2, scales = [2.0, 2.0, 2.0], zps = [0, 0, 0]} : (tensor<2x3x?xsi8>) -> tensor<2x3x?xf32>
  return %0 : tensor<2x3x?xf32>
}

// -----

// Literals that broadcast along the channel dim.
// CHECK-LABEL: func @per_channel
// CHECK-DAG:     %[[S:.*]] = arith.constant dense<{{\[\[\[}}1.000000e+00]], {{.*}}> : tensor<3x1x1xf32>
// CHECK-DAG:     %[[Z:.*]] = arith.constant dense<{{.*}}> : tensor<3x1x1xf32>
// CHECK:         %[[T:.*]] = graph.TypeCast %arg0
// CHECK:         %[[D:.*]] = graph.Subtract %[[T]], %[[Z]]
// CHECK:         graph.Multiply %[[D]], %[[S]] : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>)
func.func @per_channel(%x: tensor<2x3x4x5xui8>) -> tensor<2x3x4x5xf32> {
  %0 = graph.Dequantize %x {qtype = "per_channel", scales = [1.0, 2.0, 4.0], zps = [1, 2, 3]} : (tensor<2x3x4x5xui8>) -> tensor<2x3x4x5xf32>
  return %0 : tensor<2x3x4x5xf32>
}

// -----

// Tensors become views; zero points f32.
// CHECK-LABEL: func @dynamic
// CHECK:         %[[S:.*]] = graph.StaticReshape %arg1 {{.*}} -> tensor<3x1xf32>
// CHECK:         %[[ZV:.*]] = graph.StaticReshape %arg2 {{.*}} -> tensor<si32>
// CHECK:         %[[Z:.*]] = graph.TypeCast %[[ZV]] : (tensor<si32>) -> tensor<f32>
// CHECK:         %[[D:.*]] = graph.Divide %arg0, %[[S]]
// CHECK:         graph.Add %[[D]], %[[Z]]
// CHECK-NOT:     DynamicQuantize
func.func @dynamic(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %z: tensor<1xsi32>) -> tensor<2x3x4xsi8> {
  %0 = graph.DynamicQuantize %x, %s, %z {qtype = "per_channel"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<1xsi32>) -> tensor<2x3x4xsi8>
  return %0 : tensor<2x3x4xsi8>
}

// -----

// Groups are dims of their own.
// CHECK-LABEL: func @per_group
// CHECK:         %[[S:.*]] = graph.StaticReshape %arg1 {{.*}} : (tensor<4x2x1xf32>) -> tensor<4x2x1x1xf32>
// CHECK:         %[[Q:.*]] = graph.StaticReshape %arg0 {{.*}} : (tensor<4x64x8xsi8>) -> tensor<4x2x32x8xsi8>
// CHECK:         %[[T:.*]] = graph.TypeCast %[[Q]]
// CHECK:         %[[M:.*]] = graph.Multiply %[[T]], %[[S]]
// CHECK:         graph.StaticReshape %[[M]] {{.*}} -> tensor<4x64x8xf32>
func.func @per_group(%x: tensor<4x64x8xsi8>, %s: tensor<4x2x1xf32>) -> tensor<4x64x8xf32> {
  %0 = graph.DynamicDequantize %x, %s {qtype = "per_group", group_shape = [1, 32, 8]} : (tensor<4x64x8xsi8>, tensor<4x2x1xf32>) -> tensor<4x64x8xf32>
  return %0 : tensor<4x64x8xf32>
}

// -----

// Whole dims need no reshape; other operations stay.
// CHECK-LABEL: func @whole_dims
// CHECK-NEXT:    graph.ReLU
// CHECK-NEXT:    graph.TypeCast
// CHECK-NEXT:    graph.Multiply
// CHECK-NEXT:    return
func.func @whole_dims(%x: tensor<4x64xsi8>, %s: tensor<4x1xf32>) -> tensor<4x64xf32> {
  %0 = graph.ReLU %s : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %1 = graph.DynamicDequantize %x, %0 {qtype = "per_group", group_shape = [1, 64]} : (tensor<4x64xsi8>, tensor<4x1xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}

// -----

// A scale whose reciprocal has no full precision divides.
// CHECK-LABEL: func @tiny
// CHECK:         graph.Divide
func.func @tiny(%x: tensor<4xf32>) -> tensor<4xsi8> {
  %0 = graph.Quantize %x {scales = [1.0e-40], zps = [0]} : (tensor<4xf32>) -> tensor<4xsi8>
  return %0 : tensor<4xsi8>
}

// -----

// Quantized weights are pooled, and what is pooled is scaled.
// CHECK-LABEL: func @pool_quantized
// CHECK-NEXT:    %[[S:.*]] = arith.constant dense<5.000000e-01>
// CHECK-NEXT:    %[[Z:.*]] = arith.constant dense<3.000000e+00>
// CHECK-NEXT:    %[[L:.*]] = graph.TypeCast %{{.*}} : (tensor<1x4x4x8xui8>) -> tensor<1x4x4x8xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.AvgPool %[[L]]
// CHECK-NEXT:    %[[Q:.*]] = graph.Subtract %[[P]], %[[Z]]
// CHECK-NEXT:    %[[R:.*]] = graph.Multiply %[[Q]], %[[S]]
// CHECK-NEXT:    %[[A:.*]] = graph.Abs %[[R]]
// CHECK-NEXT:    %[[B:.*]] = graph.Add %[[A]], %[[R]]
// CHECK-NEXT:    return %[[B]]
func.func @pool_quantized(%q: tensor<1x4x4x8xui8>) -> tensor<1x2x2x8xf32> {
  %0 = graph.Dequantize %q {scales = [0.5], zps = [3]} : (tensor<1x4x4x8xui8>) -> tensor<1x4x4x8xf32>
  %1 = graph.AvgPool %0 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], exclude_pad = false} : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  %2 = graph.Abs %1 : (tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  %3 = graph.Add %2, %1 : (tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  return %3 : tensor<1x2x2x8xf32>
}

// -----

// Of one scale before and after, a maximum is the greatest level.
// CHECK-LABEL: func @greatest_level
// CHECK-NEXT:    graph.TypeCast
// CHECK-NEXT:    graph.MaxPool
// CHECK-NEXT:    graph.TypeCast %{{.*}} -> tensor<1x4x4x8xsi8>
// CHECK-NEXT:    return
func.func @greatest_level(%q: tensor<1x8x8x8xsi8>) -> tensor<1x4x4x8xsi8> {
  %0 = graph.Dequantize %q {scales = [0.5], zps = [3]} : (tensor<1x8x8x8xsi8>) -> tensor<1x8x8x8xf32>
  %1 = graph.MaxPool %0 {kernel = [3, 3], strides = [2, 2], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<1x8x8x8xf32>) -> tensor<1x4x4x8xf32>
  %2 = graph.Quantize %1 {scales = [0.5], zps = [3]} : (tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xsi8>
  return %2 : tensor<1x4x4x8xsi8>
}

// -----

// An average that counts padding, which has no level; channels that windows
// pass; quantized weights that fall; a window of padding alone, whose maximum is none;
// another reader of the numbers.
// CHECK-LABEL: func @not_quantized
// CHECK:         %[[X:.*]] = graph.Multiply
// CHECK:         graph.Multiply
// CHECK-NEXT:    %[[A:.*]] = graph.AvgPool
// CHECK:         graph.Multiply
// CHECK-NEXT:    graph.MaxPool
// CHECK:         graph.Multiply
// CHECK-NEXT:    graph.MaxPool
// CHECK:         graph.Multiply
// CHECK-NEXT:    graph.MaxPool
// CHECK-NEXT:    graph.MaxPool %[[X]]
// CHECK-NEXT:    return %[[A]]
func.func @not_quantized(%q: tensor<1x4x4x2xui8>) -> (tensor<1x3x3x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x2xf32>) {
  %0 = graph.Dequantize %q {scales = [0.5], zps = [3]} : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xf32>
  %1 = graph.Dequantize %q {scales = [0.5], zps = [3]} : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xf32>
  %2 = graph.AvgPool %1 {kernel = [2, 2], strides = [2, 2], pads_begin = [1, 1], pads_end = [1, 1], exclude_pad = false} : (tensor<1x4x4x2xf32>) -> tensor<1x3x3x2xf32>
  %3 = graph.Dequantize %q {qtype = "per_channel", axis = 1, scales = [0.5, 1.0, 2.0, 1.0], zps = [0, 0, 0, 0]} : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xf32>
  %4 = graph.MaxPool %3 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  %5 = graph.Dequantize %q {scales = [-0.5], zps = [0]} : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xf32>
  %6 = graph.MaxPool %5 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  %7 = graph.Dequantize %q {scales = [0.5], zps = [0]} : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xf32>
  %8 = graph.MaxPool %7 {kernel = [2, 2], strides = [2, 2], pads_begin = [2, 2], pads_end = [2, 2]} : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %9 = graph.MaxPool %0 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  return %2, %4, %6, %8, %9, %0 : tensor<1x3x3x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x2xf32>
}

// -----

// Quantized weights saturate where Clamp and ReLU do: 6 is beyond level 255, 0 is the
// least; 0 of -128.
// CHECK-LABEL: func @saturates
// CHECK-NOT:     graph.Clamp
// CHECK-NOT:     graph.ReLU
// CHECK:         return
func.func @saturates(%x: tensor<4xf32>) -> (tensor<4xui8>, tensor<4xsi8>) {
  %0 = graph.Clamp %x {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.Quantize %0 {scales = [0.0235], zps = [0]} : (tensor<4xf32>) -> tensor<4xui8>
  %2 = graph.ReLU %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.Quantize %2 {scales = [0.5], zps = [-128]} : (tensor<4xf32>) -> tensor<4xsi8>
  return %1, %3 : tensor<4xui8>, tensor<4xsi8>
}

// -----

// 6 is a level; 0 is above the least one, in all channels or in one; somebody
// else reads.
// CHECK-LABEL: func @bounds_quantized
// CHECK:         graph.Clamp
// CHECK:         graph.ReLU
// CHECK:         graph.ReLU
// CHECK:         graph.ReLU
func.func @bounds_quantized(%x: tensor<2x2xf32>) -> (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>) {
  %0 = graph.Clamp %x {min = 0.0, max = 6.0} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.Quantize %0 {scales = [0.0236], zps = [0]} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  %2 = graph.ReLU %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = graph.Quantize %2 {scales = [0.5], zps = [3]} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  %4 = graph.ReLU %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = graph.Quantize %4 {qtype = "per_channel", axis = 1, scales = [0.5, 0.5], zps = [0, 1]} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  %6 = graph.ReLU %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %7 = graph.Quantize %6 {scales = [0.5], zps = [0]} : (tensor<2x2xf32>) -> tensor<2x2xui8>
  return %1, %3, %5, %7, %6 : tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>
}

// -----

// Steps of 8-bit floats are as small as the number: nothing is rounded before
// the cast, and the quotient is exact.
// CHECK-LABEL: func @to_byte_float
// CHECK:         %[[S:.*]] = arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         %[[D:.*]] = graph.Divide %arg0, %[[S]]
// CHECK-NEXT:    %[[C:.*]] = graph.TypeCast %[[D]] : (tensor<5x7xf32>) -> tensor<5x7xf8E4M3FN>
// CHECK-NEXT:    return %[[C]]
func.func @to_byte_float(%x: tensor<5x7xf32>) -> tensor<5x7xf8E4M3FN> {
  %0 = graph.Quantize %x {scales = [0.5]} : (tensor<5x7xf32>) -> tensor<5x7xf8E4M3FN>
  return %0 : tensor<5x7xf8E4M3FN>
}
