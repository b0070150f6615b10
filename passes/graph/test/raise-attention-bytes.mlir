// RUN: tenon-opt %s --split-input-file --tenon-raise-attention | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=int8_dot_width=4 --tenon-raise-attention | FileCheck %s --check-prefixes=CHECK,VNNI

// Weights that become bytes: rows are divided first.
// CHECK-LABEL: func.func @main
// CHECK:         tile.attention %{{.*}}, %{{.*}}, %{{.*}} normalized score {
// CHECK:         } weights {
// CHECK-NEXT:    ^bb0(%[[P:.*]]: f32, %{{.*}}: i64):
// CHECK:           math.roundeven
// CHECK:           arith.sitofp
// CHECK:         } : tensor<7x8xf32>, tensor<8x6xf32>, tensor<6x5xf32> -> tensor<7x5xf32>
func.func @main(%q: tensor<7x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x5xf32>) -> tensor<7x5xf32> {
  %s = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x6xf32>) -> tensor<7x6xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<7x6xf32>) -> tensor<7x6xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xf32>) -> tensor<7x6xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xui8>) -> tensor<7x6xf32>
  %o = graph.MatMul %w, %v : (tensor<7x6xf32>, tensor<6x5xf32>) -> tensor<7x5xf32>
  return %o : tensor<7x5xf32>
}

// -----

// Where its products are int8, and these have an instruction, they stay.
// CHECK-LABEL: func.func @main
// VNNI-NOT:      tile.attention
// VNNI:          graph.SoftMax
func.func @main(%q8: tensor<7x8xui8>, %k8: tensor<8x6xsi8>, %v8: tensor<6x5xsi8>) -> tensor<7x5xf32> {
  %q = graph.Dequantize %q8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<7x8xui8>) -> tensor<7x8xf32>
  %k = graph.Dequantize %k8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<8x6xsi8>) -> tensor<8x6xf32>
  %v = graph.Dequantize %v8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<6x5xsi8>) -> tensor<6x5xf32>
  %s = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x6xf32>) -> tensor<7x6xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<7x6xf32>) -> tensor<7x6xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xf32>) -> tensor<7x6xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xui8>) -> tensor<7x6xf32>
  %o = graph.MatMul %w, %v : (tensor<7x6xf32>, tensor<6x5xf32>) -> tensor<7x5xf32>
  return %o : tensor<7x5xf32>
}

// -----

// One product that is not of bytes.
// CHECK-LABEL: func.func @main
// CHECK:         tile.attention {{.*}} normalized
func.func @main(%q8: tensor<7x8xui8>, %k8: tensor<8x6xsi8>, %v8: tensor<6x5xui8>) -> tensor<7x5xf32> {
  %q = graph.Dequantize %q8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<7x8xui8>) -> tensor<7x8xf32>
  %k = graph.Dequantize %k8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<8x6xsi8>) -> tensor<8x6xf32>
  %v = graph.Dequantize %v8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<6x5xui8>) -> tensor<6x5xf32>
  %s = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x6xf32>) -> tensor<7x6xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<7x6xf32>) -> tensor<7x6xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xf32>) -> tensor<7x6xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x6xui8>) -> tensor<7x6xf32>
  %o = graph.MatMul %w, %v : (tensor<7x6xf32>, tensor<6x5xf32>) -> tensor<7x5xf32>
  return %o : tensor<7x5xf32>
}

// -----

// Rows of int8 products that are longer than pays.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     tile.attention
// CHECK:         graph.Quantize
func.func @main(%q8: tensor<7x8xui8>, %k8: tensor<8x513xsi8>, %v8: tensor<513x5xsi8>) -> tensor<7x5xf32> {
  %q = graph.Dequantize %q8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<7x8xui8>) -> tensor<7x8xf32>
  %k = graph.Dequantize %k8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<8x513xsi8>) -> tensor<8x513xf32>
  %v = graph.Dequantize %v8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<513x5xsi8>) -> tensor<513x5xf32>
  %s = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x513xf32>) -> tensor<7x513xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<7x513xf32>) -> tensor<7x513xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x513xf32>) -> tensor<7x513xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x513xui8>) -> tensor<7x513xf32>
  %o = graph.MatMul %w, %v : (tensor<7x513xf32>, tensor<513x5xf32>) -> tensor<7x5xf32>
  return %o : tensor<7x5xf32>
}

// -----

// There are no int8 products.
// CHECK-LABEL: func.func @main
// CHECK:         tile.attention {{.*}} normalized
func.func @main(%q8: tensor<7x8xui8>, %k8: tensor<8x513xsi8>, %v8: tensor<513x5xui8>) -> tensor<7x5xf32> {
  %q = graph.Dequantize %q8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<7x8xui8>) -> tensor<7x8xf32>
  %k = graph.Dequantize %k8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<8x513xsi8>) -> tensor<8x513xf32>
  %v = graph.Dequantize %v8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<513x5xui8>) -> tensor<513x5xf32>
  %s = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x513xf32>) -> tensor<7x513xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<7x513xf32>) -> tensor<7x513xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x513xf32>) -> tensor<7x513xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<7x513xui8>) -> tensor<7x513xf32>
  %o = graph.MatMul %w, %v : (tensor<7x513xf32>, tensor<513x5xf32>) -> tensor<7x5xf32>
  return %o : tensor<7x5xf32>
}

// -----

// With as many rows as pay, u8 is made s8.
// CHECK-LABEL: func.func @main
// VNNI-NOT:      tile.attention
// VNNI:          graph.SoftMax
func.func @main(%q8: tensor<70x8xui8>, %k8: tensor<8x6xsi8>, %v8: tensor<6x5xui8>) -> tensor<70x5xf32> {
  %q = graph.Dequantize %q8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<70x8xui8>) -> tensor<70x8xf32>
  %k = graph.Dequantize %k8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<8x6xsi8>) -> tensor<8x6xf32>
  %v = graph.Dequantize %v8 {scales = array<f32: 0.05>, zps = array<i64: 0>} : (tensor<6x5xui8>) -> tensor<6x5xf32>
  %s = graph.MatMul %q, %k : (tensor<70x8xf32>, tensor<8x6xf32>) -> tensor<70x6xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<70x6xf32>) -> tensor<70x6xf32>
  %b = graph.Quantize %p {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<70x6xf32>) -> tensor<70x6xui8>
  %w = graph.Dequantize %b {scales = array<f32: 0.0039>, zps = array<i64: 0>} : (tensor<70x6xui8>) -> tensor<70x6xf32>
  %o = graph.MatMul %w, %v : (tensor<70x6xf32>, tensor<6x5xf32>) -> tensor<70x5xf32>
  return %o : tensor<70x5xf32>
}
