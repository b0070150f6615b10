// RUN: tenon-opt %s --split-input-file --tenon-form-quantized-matmuls 2>/dev/null | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512 --tenon-form-quantized-matmuls 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,int8_dot_width=4 --tenon-form-quantized-matmuls 2>/dev/null | FileCheck %s --check-prefix=DIGITS

// A scale for each column is behind the sum; a panel is four vectors wide.
// CHECK-LABEL: func @main
// CHECK-NOT:     graph.Dequantize
// CHECK:         %[[P:.*]] = tile.pack_quantized %arg1 panel 32 quantized <bits = 8, is_signed = true, group = 0, zero_points = false> : tensor<256x512xsi8> -> tensor<16x256x32xui8>
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] quantized {{.*}} -> tensor<4x512xf32>
// CHECK:         %[[S:.*]] = arith.constant dense<2.500000e-01> : tensor<f32>
// CHECK:         graph.Multiply %[[D]], %[[S]]
// WIDE:        weights stay quantized to 8 bits: 131072 bytes of memory, as f32 524288
// WIDE:          tile.pack_quantized %arg1 panel 64
func.func @main(%x: tensor<4x256xf32>, %w: tensor<256x512xsi8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<256x512xsi8>) -> tensor<256x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}

// -----

// Groups of K keep their scales among the quantized weights, whatever the number of rows;
// all three tensors are transposed. For many rows weights are made in f32, which
// src then is; the result is an edge of its type.
// CHECK-LABEL: func @main
// CHECK-DAG:     %[[X:.*]] = graph.TypeCast %arg0 : {{.*}} -> tensor<?x256xf32>
// CHECK-DAG:     %[[S:.*]] = graph.StaticTranspose %arg2 {{.*}} -> tensor<8x512xf32>
// CHECK-DAG:     %[[Z:.*]] = graph.StaticTranspose %arg3 {{.*}} -> tensor<8x512xui8>
// CHECK-DAG:     %[[W:.*]] = graph.StaticTranspose %{{.*}} -> tensor<256x512xui8>
// CHECK:         %[[P:.*]] = tile.pack_quantized %[[W]] scales %[[S]] zero_points %[[Z]] panel 32 quantized <bits = 4, is_signed = false, group = 32, zero_points = true> : {{.*}} -> tensor<16x168x32xui8>
// CHECK:         %[[D:.*]] = tile.matmul %[[X]], %[[P]]
// CHECK-NOT:     graph.Multiply
// CHECK:         graph.TypeCast %[[D]] {tile.implicit_cast = unit} : {{.*}} -> tensor<?x512xbf16>
func.func @main(%x: tensor<?x256xbf16>, %w: tensor<512x256xui8> {graph.property = "constant"}, %s: tensor<512x8xf32> {graph.property = "constant"}, %z: tensor<512x8xui8> {graph.property = "constant"}) -> tensor<?x512xbf16> {
  %r = graph.StaticReshape %w {graph.bits = 4 : i64, shape = [512, 256], special_zero = false} : (tensor<512x256xui8>) -> tensor<512x256xui8>
  %0 = graph.DynamicDequantize %r, %s, %z {qtype = "per_group", group_shape = [1, 32]} : (tensor<512x256xui8>, tensor<512x8xf32>, tensor<512x8xui8>) -> tensor<512x256xf32>
  %1 = graph.TypeCast %0 : (tensor<512x256xf32>) -> tensor<512x256xbf16>
  %2 = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<512x256xbf16>) -> tensor<256x512xbf16>
  %3 = graph.MatMul %x, %2 : (tensor<?x256xbf16>, tensor<256x512xbf16>) -> tensor<?x512xbf16>
  return %3 : tensor<?x512xbf16>
}

// -----

// Where int8 operands are multiplied in fours src becomes bytes, the scale of all columns
// that of groups; with groups of two there is no time for it.
// DIGITS-LABEL: func @main
// DIGITS:         %[[S:.*]] = graph.StaticReshape %{{.*}} -> tensor<2x512xf32>
// DIGITS:         %[[D:.*]] = tile.to_int8_slices %arg0 quantized <bits = 8, is_signed = true, group = 256, zero_points = false, slices = 3> : tensor<4x512xf32> -> tensor<4x1568xui8>
// DIGITS:         %[[P:.*]] = tile.pack_quantized %arg1 scales %[[S]] panel 32 quantized
// DIGITS:         tile.matmul %[[D]], %[[P]] quantized
// DIGITS-NOT:     tile.to_int8_slices
// DIGITS:         tile.matmul %arg0, %{{.*}} quantized {{.*}}group = 2, zero_points = false>
func.func @main(%x: tensor<4x512xf32>, %w: tensor<512x512xsi8> {graph.property = "constant"}, %s: tensor<256x512xf32> {graph.property = "constant"}) -> (tensor<4x512xf32>, tensor<4x512xf32>) {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<512x512xsi8>) -> tensor<512x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  %2 = graph.DynamicDequantize %w, %s {qtype = "per_group", group_shape = [2, 1]} : (tensor<512x512xsi8>, tensor<256x512xf32>) -> tensor<512x512xf32>
  %3 = graph.MatMul %x, %2 : (tensor<4x512xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  return %1, %3 : tensor<4x512xf32>, tensor<4x512xf32>
}

// -----

// Of a row of unknown length nobody knows the groups.
// CHECK-LABEL: func @unknown
// CHECK-NOT:     tile.pack_quantized
// CHECK:         graph.MatMul
func.func @unknown(%x: tensor<4x?xf32>, %w: tensor<512x512xsi8> {graph.property = "constant"}) -> tensor<4x512xf32> {
  %0 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<512x512xsi8>) -> tensor<512x512xf32>
  %1 = graph.MatMul %x, %0 : (tensor<4x?xf32>, tensor<512x512xf32>) -> tensor<4x512xf32>
  return %1 : tensor<4x512xf32>
}
