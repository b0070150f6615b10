// RUN: tenon-opt %s --split-input-file --tenon-unpack-int4 | FileCheck %s

// The halves of a byte: high ones are a 16th. Nothing has a sign in u4.
// CHECK-LABEL: func @main
// CHECK-SAME:    (%arg0: tensor<6xui8> {graph.id = 0 : ui64, tile.rank = 2 : index}, %arg1: tensor<1xf32>)
// CHECK:         %[[BYTES:.*]] = graph.StaticReshape %arg0 {{.*}} -> tensor<1x6xui8>
// CHECK:         %[[X:.*]] = graph.TypeCast %[[BYTES]] {{.*}} -> tensor<1x6xsi32>
// CHECK-NOT:     graph.Add
// CHECK:         %[[BITS:.*]] = arith.constant dense<{{\[}}[15], [240]]> : tensor<2x1xsi32>
// CHECK:         %[[N:.*]] = graph.And %[[X]], %[[BITS]] {{.*}} -> tensor<2x6xsi32>
// CHECK:         %[[F:.*]] = graph.TypeCast %[[N]]
// CHECK:         %[[HALVES:.*]] = arith.constant dense<{{\[}}[1.000000e+00], [6.250000e-02]]>
// CHECK:         graph.Multiply %[[F]], %[[HALVES]]
// CHECK-NOT:     graph.Subtract
// CHECK:         %[[C:.*]] = graph.TypeCast {{.*}} -> tensor<2x6xui8>
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[C]]
// CHECK:         %[[R:.*]] = graph.StaticReshape %[[T]] {{.*}} -> tensor<2x6xui8>
// CHECK:         graph.DynamicDequantize %[[R]], %arg1 : (tensor<2x6xui8>, tensor<1xf32>)
func.func @main(%q: tensor<2x6xui4> {graph.id = 0 : ui64}, %s: tensor<1xf32>) -> tensor<2x6xf32> {
  %0 = graph.DynamicDequantize %q, %s : (tensor<2x6xui4>, tensor<1xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

// Signs of s4; memory whose first dimension is inside comes out transposed; both
// readers have the same bytes. Other types stay.
// CHECK-LABEL: func @main
// CHECK-SAME:    (%arg0: tensor<12xui8> {tile.rank = 2 : index}, %arg1: tensor<1xf32>, %arg2: tensor<4x6xsi8>)
// CHECK:         graph.Add {{.*}} -> tensor<2x12xsi32>
// CHECK:         graph.And
// CHECK:         graph.Multiply
// CHECK:         graph.Subtract
// CHECK:         graph.TypeCast {{.*}} -> tensor<2x12xsi8>
// CHECK:         %[[R:.*]] = graph.StaticReshape {{.*}} -> tensor<6x4xsi8>
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[R]] {graph.bits = 4 : i64, order = [1, 0]} {{.*}} -> tensor<4x6xsi8>
// CHECK:         graph.DynamicDequantize %[[T]], %arg1
// CHECK:         graph.DynamicDequantize %[[T]], %arg1
// CHECK:         graph.DynamicDequantize %arg2, %arg1
func.func @main(%q: tensor<4x6xsi4> {tile.strides = array<i64: 1, 4>}, %s: tensor<1xf32>, %b: tensor<4x6xsi8>)
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = graph.DynamicDequantize %q, %s : (tensor<4x6xsi4>, tensor<1xf32>) -> tensor<4x6xf32>
  %1 = graph.DynamicDequantize %q, %s {qtype = "per_tensor"} : (tensor<4x6xsi4>, tensor<1xf32>) -> tensor<4x6xf32>
  %2 = graph.DynamicDequantize %b, %s : (tensor<4x6xsi8>, tensor<1xf32>) -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Of an odd number the last byte is half full: that half is cut off, or 0.
// CHECK-LABEL: func @odd
// CHECK-SAME:    (%arg0: tensor<8xui8> {tile.rank = 2 : index}, %arg1: tensor<3x5xf32>)
// CHECK-SAME:    -> (tensor<3x5xf32>, tensor<8xui8> {tile.rank = 2 : index})
// CHECK:         graph.TypeCast {{.*}} -> tensor<2x8xui8>
// CHECK:         %[[FLAT:.*]] = graph.StaticReshape {{.*}} -> tensor<16xui8>
// CHECK:         graph.Slice %[[FLAT]] {begins = [0], ends = [15]} {{.*}} -> tensor<15xui8>
// CHECK:         graph.Pad {{.*}} -> tensor<16xui8>
// CHECK:         graph.StaticReshape {{.*}} -> tensor<8x2xui8>
func.func @odd(%q: tensor<3x5xui4>, %x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xui4>) {
  %0 = graph.Dequantize %q {scales = [0.5]} : (tensor<3x5xui4>) -> tensor<3x5xf32>
  %1 = graph.Quantize %x {scales = [0.5]} : (tensor<3x5xf32>) -> tensor<3x5xui4>
  return %0, %1 : tensor<3x5xf32>, tensor<3x5xui4>
}

// -----

// A result of 4 bits: two elements are put together. Inside the graph they are bytes.
// CHECK-LABEL: func @result
// CHECK-SAME:    -> (tensor<6xui8> {tile.rank = 2 : index}, tensor<2x6xf32>)
// CHECK:         %[[Q:.*]] = graph.Quantize %arg0 {graph.bits = 4 : i64, {{.*}} -> tensor<2x6xsi8>
// CHECK:         %[[D:.*]] = graph.Dequantize %[[Q]]
// CHECK:         %[[PAIRS:.*]] = graph.StaticReshape %[[Q]] {{.*}} -> tensor<6x2xsi8>
// CHECK:         graph.And
// CHECK:         %[[SUM:.*]] = graph.ReduceSum {{.*}} -> tensor<6xsi32>
// CHECK:         %[[R:.*]] = graph.TypeCast %[[SUM]] {{.*}} -> tensor<6xui8>
// CHECK:         return %[[R]], %[[D]]
func.func @result(%x: tensor<2x6xf32>) -> (tensor<2x6xsi4>, tensor<2x6xf32>) {
  %0 = graph.Quantize %x {scales = [0.5]} : (tensor<2x6xf32>) -> tensor<2x6xsi4>
  %1 = graph.Dequantize %0 {scales = [0.5]} : (tensor<2x6xsi4>) -> tensor<2x6xf32>
  return %0, %1 : tensor<2x6xsi4>, tensor<2x6xf32>
}
