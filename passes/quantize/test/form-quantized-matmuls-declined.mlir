// RUN: tenon-opt %s --split-input-file --tenon-form-quantized-matmuls 2>&1 | FileCheck %s --implicit-check-not=tile.

// Weights that change are none of this pass.
// CHECK-NOT: quantised weights
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xsi8>) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<256x512xsi8>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: there are only 16384 weights, of the 65536 from which fewer bytes pay
func.func @main(%x: tensor<4x32xf32>, %w: tensor<32x512xsi8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<32x512xsi8>) -> tensor<32x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x32xf32>, tensor<32x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: the weights are not one matrix of known size
func.func @main(%x: tensor<2x4x256xf32>, %w: tensor<2x256x512xsi8> {graph.property = "constant"}) -> tensor<2x4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<2x256x512xsi8>) -> tensor<2x256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<2x4x256xf32>, tensor<2x256x512xf32>) -> tensor<2x4x512xf32>
  return %1 : tensor<2x4x512xf32>
}

// -----

// CHECK: quantised weights become f32: several columns of weights share a scale
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xsi8> {graph.property = "constant"}, %s: tensor<8x256xf32> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.DynamicDequantize %w, %s {qtype = "per_group", group_shape = [32, 2]} : (tensor<256x512xsi8>, tensor<8x256xf32>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: there is not one scale per column of the weights
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xsi8> {graph.property = "constant"}, %s: tensor<256xf32> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.DynamicDequantize %w, %s {qtype = "per_channel", axis = 0 : i64} : (tensor<256x512xsi8>, tensor<256xf32>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: a zero point does not fit the 8 bits of the weights
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xui8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [256]} : (tensor<256x512xui8>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: zero points have another type than the weights
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xui8> {graph.property = "constant"}, %s: tensor<512xf32> {graph.property = "constant"}, %z: tensor<512xsi32> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.DynamicDequantize %w, %s, %z {qtype = "per_channel", axis = 1 : i64} : (tensor<256x512xui8>, tensor<512xf32>, tensor<512xsi32>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: one zero point that is computed applies to all columns, where each column needs its own
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xui8> {graph.property = "constant"}, %s: tensor<1xf32> {graph.property = "constant"}, %z: tensor<1xui8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.DynamicDequantize %w, %s, %z {qtype = "per_tensor"} : (tensor<256x512xui8>, tensor<1xf32>, tensor<1xui8>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: K is no multiple of the quantization group, or odd with 4 bits
func.func @main(%x: tensor<4x257xf32>, %w: tensor<257x512xui8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %r = graph.StaticReshape %w {graph.bits = 4 : i64, shape = [257, 512], special_zero = false} : (tensor<257x512xui8>) -> tensor<257x512xui8>
  %0 = graph.Dequantize %r {scales = [0.25], zps = [0]} : (tensor<257x512xui8>) -> tensor<257x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x257xf32>, tensor<257x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// CHECK: quantised weights become f32: the weights are not a matrix of integers, as it is or transposed
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xf8E5M2> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25]} : (tensor<256x512xf8E5M2>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}
