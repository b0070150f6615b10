// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,int8_dot_width=4 --tenon-form-integer-products 2>/dev/null | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=int8_dot_width=2 --tenon-form-integer-products 2>/dev/null | FileCheck %s --check-prefix=WORDS

// The zero point of src is taken from the sum, the scales multiply it.
// CHECK-LABEL: func @matmul
// CHECK-NOT:     graph.Dequantize
// CHECK:         %[[P:.*]] = tile.pack %arg1 panel 32 interleave 4 : tensor<64x32xsi8>
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] interleave 4 : tensor<4x64xui8>, {{.*}} -> tensor<4x32xsi32>
// CHECK:         %[[W:.*]] = graph.TypeCast %arg1
// CHECK:         %[[S:.*]] = graph.ReduceSum %[[W]] {{.*}} -> tensor<1x32xf32>
// CHECK:         %[[S32:.*]] = graph.TypeCast %[[S]]
// CHECK:         %[[Z32:.*]] = arith.constant dense<3> : tensor<si32>
// CHECK:         %[[C:.*]] = graph.Multiply %[[S32]], %[[Z32]]
// CHECK:         %[[X:.*]] = graph.Subtract %[[D]], %[[C]] {{.*}} -> tensor<4x32xsi32>
// CHECK:         %[[F:.*]] = graph.TypeCast %[[X]] {{.*}} -> tensor<4x32xf32>
// CHECK:         %[[A:.*]] = arith.constant dense<1.250000e-01>
// CHECK:         graph.Multiply %[[F]], %[[A]]
func.func @matmul(%x: tensor<4x64xui8>, %w: tensor<64x32xsi8>) -> tensor<4x32xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<64x32xsi8>) -> tensor<64x32xf32>
  %2 = graph.MatMul %0, %1 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

// Weights of u8 less 128 are s8, and so is their zero point, which meets the sums
// of src. Words, of large products with constants, hold them as they are.
// CHECK-LABEL: func @unsigned
// CHECK:         %[[W:.*]] = graph.TypeCast %arg1
// CHECK:         %[[HALF:.*]] = arith.constant dense<1.280000e+02>
// CHECK:         %[[L:.*]] = graph.Subtract %[[W]], %[[HALF]]
// CHECK:         %[[S8:.*]] = graph.TypeCast %[[L]] {{.*}} -> tensor<64x32xsi8>
// CHECK:         %[[P:.*]] = tile.pack %[[S8]] panel 32 interleave 4
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] interleave 4 {{.*}} -> tensor<20x32xsi32>
// CHECK:         %[[A:.*]] = graph.TypeCast %arg0
// CHECK:         %[[ROWS:.*]] = graph.ReduceSum %[[A]] {{.*}} -> tensor<20x1xf32>
// CHECK:         %[[R32:.*]] = graph.TypeCast %[[ROWS]]
// CHECK:         %[[K:.*]] = arith.constant dense<192> : tensor<si32>
// CHECK:         %[[R:.*]] = graph.Subtract %[[R32]], %[[K]]
// CHECK:         %[[TWO:.*]] = arith.constant dense<2> : tensor<si32>
// CHECK:         %[[C:.*]] = graph.Multiply %[[R]], %[[TWO]]
// CHECK:         %[[X:.*]] = graph.Subtract %[[D]], %[[C]] {{.*}} -> tensor<20x32xsi32>
// CHECK:         %[[U:.*]] = graph.TypeCast %arg1
// CHECK:         %[[SUMS:.*]] = graph.ReduceSum %[[U]] {{.*}} -> tensor<1x32xf32>
// CHECK:         %[[HALVES:.*]] = arith.constant dense<8.192000e+03>
// CHECK:         graph.Subtract %[[SUMS]], %[[HALVES]]
// CHECK:         graph.Subtract %[[X]], {{.*}} -> tensor<20x32xsi32>
func.func @unsigned(%x: tensor<20x64xui8>, %w: tensor<64x32xui8>) -> tensor<20x32xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<20x64xui8>) -> tensor<20x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [130]} : (tensor<64x32xui8>) -> tensor<64x32xf32>
  %2 = graph.MatMul %0, %1 : (tensor<20x64xf32>, tensor<64x32xf32>) -> tensor<20x32xf32>
  return %2 : tensor<20x32xf32>
}

// -----

// WORDS-LABEL: func @unsigned_int16
// WORDS-NOT:     dense<1.280000e+02>
// WORDS:         tile.matmul {{.*}} tensor<256x768xsi16>
// WORDS:         arith.constant dense<130> : tensor<si32>
func.func @unsigned_int16(%x: tensor<256x768xui8>, %w: tensor<768x768xui8> {graph.property = "constant"}) -> tensor<256x768xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<256x768xui8>) -> tensor<256x768xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [130]} : (tensor<768x768xui8>) -> tensor<768x768xf32>
  %2 = graph.MatMul %0, %1 : (tensor<256x768xf32>, tensor<768x768xf32>) -> tensor<256x768xf32>
  return %2 : tensor<256x768xf32>
}

// -----

// A zero point of 128 vanishes with it.
// CHECK-LABEL: func @half
// CHECK:         tile.matmul {{.*}} -> tensor<20x32xf32>
// CHECK-NOT:     graph.ReduceSum
// CHECK:         return
func.func @half(%x: tensor<20x64xui8>, %w: tensor<64x32xui8>) -> tensor<20x32xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [0]} : (tensor<20x64xui8>) -> tensor<20x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [128]} : (tensor<64x32xui8>) -> tensor<64x32xf32>
  %2 = graph.MatMul %0, %1 : (tensor<20x64xf32>, tensor<64x32xf32>) -> tensor<20x32xf32>
  return %2 : tensor<20x32xf32>
}

// -----

// Through casts and transposes; scales of columns follow their dimension. What
// comes out is an edge of the user's type.
// CHECK-LABEL: func @behind_views
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg1 {{.*}} : (tensor<4x64xsi8>) -> tensor<64x4xsi8>
// CHECK:         %[[P:.*]] = tile.pack %[[T]]
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] interleave 4
// CHECK-NOT:     Subtract
// CHECK:         %[[S:.*]] = arith.constant dense<[5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00]> : tensor<4xf32>
// CHECK:         %[[M:.*]] = graph.Multiply %[[D]], %[[S]]
// CHECK:         graph.TypeCast %[[M]] {tile.implicit_cast = unit} : (tensor<8x4xf32>) -> tensor<8x4xbf16>
func.func @behind_views(%x: tensor<8x64xsi8>, %w: tensor<4x64xsi8>) -> tensor<8x4xbf16> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [0]} : (tensor<8x64xsi8>) -> tensor<8x64xf32>
  %1 = graph.TypeCast %0 : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %2 = graph.Dequantize %w {qtype = "per_channel", axis = 0 : i64, scales = [1.0, 2.0, 3.0, 4.0], zps = [0, 0, 0, 0]} : (tensor<4x64xsi8>) -> tensor<4x64xf32>
  %3 = graph.TypeCast %2 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  %4 = graph.StaticTranspose %3 {order = [1, 0]} : (tensor<4x64xbf16>) -> tensor<64x4xbf16>
  %5 = graph.MatMul %1, %4 : (tensor<8x64xbf16>, tensor<64x4xbf16>) -> tensor<8x4xbf16>
  return %5 : tensor<8x4xbf16>
}

// -----

// What padding leaves out: the sums of weights are a convolution of ones.
// CHECK-LABEL: func @padded
// CHECK:         tile.conv %arg0
// CHECK:         %[[O:.*]] = arith.constant dense<1.000000e+00> : tensor<1x5x5x1xf32>
// CHECK:         %[[S:.*]] = graph.Convolution %[[O]], {{.*}} -> tensor<1x5x5x8xf32>
// CHECK:         %[[S32:.*]] = graph.TypeCast %[[S]]
// CHECK:         graph.Multiply %[[S32]]
// CHECK:         graph.Subtract {{.*}} -> tensor<2x5x5x8xsi32>
func.func @padded(%x: tensor<2x5x5x32xui8>, %w: tensor<3x3x32x8xsi8>) -> tensor<2x5x5x8xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<2x5x5x32xui8>) -> tensor<2x5x5x32xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<3x3x32x8xsi8>) -> tensor<3x3x32x8xf32>
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<2x5x5x32xf32>, tensor<3x3x32x8xf32>) -> tensor<2x5x5x8xf32>
  return %2 : tensor<2x5x5x8xf32>
}

// -----

// A zero point of s32 may be any number: what no byte has is taken off in f32.
// One of a byte is taken off as it is.
// CHECK-LABEL: func @dynamic_zero_points
// CHECK:         tile.matmul {{.*}} -> tensor<4x32xsi32>
// CHECK:         %[[Z:.*]] = graph.Clamp {{.*}} {max = 2.550000e+02, min = -2.550000e+02}
// CHECK:         graph.Subtract {{.*}} -> tensor<4x32xsi32>
// CHECK:         graph.Subtract %{{.*}}, %[[Z]]
// CHECK:         graph.Subtract {{.*}} -> tensor<4x32xf32>
// CHECK:         tile.matmul {{.*}} -> tensor<4x32xsi32>
// CHECK-NOT:     graph.Clamp
func.func @dynamic_zero_points(%x: tensor<4x64xui8>, %w: tensor<64x32xsi8>, %s: tensor<1xf32>, %z: tensor<1xsi32>, %zb: tensor<1xui8>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %0 = graph.DynamicDequantize %x, %s, %z : (tensor<4x64xui8>, tensor<1xf32>, tensor<1xsi32>) -> tensor<4x64xf32>
  %1 = graph.DynamicDequantize %x, %s, %zb : (tensor<4x64xui8>, tensor<1xf32>, tensor<1xui8>) -> tensor<4x64xf32>
  %2 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<64x32xsi8>) -> tensor<64x32xf32>
  %3 = graph.MatMul %0, %2 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %4 = graph.MatMul %1, %2 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %3, %4 : tensor<4x32xf32>, tensor<4x32xf32>
}

// -----

// Few of K: bytes one by one.
// CHECK-LABEL: func @few
// CHECK:         tile.pack %arg1 panel {{[0-9]+}} :
// CHECK:         tile.matmul %arg0, %{{[0-9]+}} :
func.func @few(%x: tensor<4x9xsi8>, %w: tensor<9x32xsi8>) -> tensor<4x32xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [0]} : (tensor<4x9xsi8>) -> tensor<4x9xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<9x32xsi8>) -> tensor<9x32xf32>
  %2 = graph.MatMul %0, %1 : (tensor<4x9xf32>, tensor<9x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

// Where int8 operands are multiplied as int16, and each meets many, they become words
// in memory. The sums of the weights are those of bytes.
// WORDS-LABEL: func @words
// WORDS-DAG:     %[[X:.*]] = graph.TypeCast %arg0 : (tensor<128x512xui8>) -> tensor<128x512xsi16>
// WORDS-DAG:     %[[W:.*]] = graph.TypeCast %arg1 : (tensor<512x64xsi8>) -> tensor<512x64xsi16>
// WORDS:         %[[P:.*]] = tile.pack %[[W]] panel 16 interleave 2
// WORDS:         tile.matmul %[[X]], %[[P]] interleave 2
// WORDS:         graph.TypeCast %arg1 : (tensor<512x64xsi8>) -> tensor<512x64xf32>
// CHECK-LABEL: func @words
// CHECK-NOT:     si16
func.func @words(%x: tensor<128x512xui8>, %w: tensor<512x64xsi8> {graph.property = "constant"}) -> tensor<128x64xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<128x512xui8>) -> tensor<128x512xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<512x64xsi8>) -> tensor<512x64xf32>
  %2 = graph.MatMul %0, %1 : (tensor<128x512xf32>, tensor<512x64xf32>) -> tensor<128x64xf32>
  return %2 : tensor<128x64xf32>
}

// -----

// Declines: few rows, and weights that are not constant.
// WORDS-LABEL: func @bytes
// WORDS-NOT:     si16
func.func @bytes(%x: tensor<31x4096xui8>, %w: tensor<4096x64xsi8> {graph.property = "constant"}, %y: tensor<128x512xui8>, %v: tensor<512x64xsi8>) -> (tensor<31x64xf32>, tensor<128x64xf32>) {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<31x4096xui8>) -> tensor<31x4096xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<4096x64xsi8>) -> tensor<4096x64xf32>
  %2 = graph.MatMul %0, %1 : (tensor<31x4096xf32>, tensor<4096x64xf32>) -> tensor<31x64xf32>
  %3 = graph.Dequantize %y {scales = [0.5], zps = [3]} : (tensor<128x512xui8>) -> tensor<128x512xf32>
  %4 = graph.Dequantize %v {scales = [0.25], zps = [0]} : (tensor<512x64xsi8>) -> tensor<512x64xf32>
  %5 = graph.MatMul %3, %4 : (tensor<128x512xf32>, tensor<512x64xf32>) -> tensor<128x64xf32>
  return %2, %5 : tensor<31x64xf32>, tensor<128x64xf32>
}

// -----

// Words: 3x3 taps of enough constant weights are filtered minimally in f32,
// bytes of src widened on the way. Declined where int8 operands are multiplied, and
// where weights are not known once.
// CHECK-LABEL: func @filtered
// CHECK-NOT:     tile.winograd
// CHECK:         tile.conv %arg0, {{.*}} interleave = 4
// WORDS-LABEL: func @filtered
// WORDS:         %[[W:.*]] = graph.TypeCast %arg1 {{.*}}-> tensor<3x3x64x64xf32>
// WORDS:         %[[U:.*]] = tile.winograd_weights %[[W]] outputs 2
// WORDS:         %[[P:.*]] = tile.pack %[[U]]
// WORDS:         tile.winograd %arg0, %[[P]] outputs 2 {{.*}}: tensor<1x56x56x64xui8>, {{.*}} -> tensor<1x56x56x64xf32>
// WORDS:         graph.Subtract {{.*}} -> tensor<1x56x56x64xf32>
// WORDS:         tile.conv
func.func @filtered(%x: tensor<1x56x56x64xui8>, %w: tensor<3x3x64x64xsi8> {graph.property = "constant"}, %v: tensor<3x3x64x64xsi8>) -> (tensor<1x56x56x64xf32>, tensor<1x56x56x64xf32>) {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<1x56x56x64xui8>) -> tensor<1x56x56x64xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<3x3x64x64xsi8>) -> tensor<3x3x64x64xf32>
  %2 = graph.Dequantize %v {scales = [0.25], zps = [0]} : (tensor<3x3x64x64xsi8>) -> tensor<3x3x64x64xf32>
  %3 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  %4 = graph.Convolution %0, %2 {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x56x64xf32>
  return %3, %4 : tensor<1x56x56x64xf32>, tensor<1x56x56x64xf32>
}

// -----

// Groups of 8 are lanes of f32 where a vector has two of them.
// CHECK-LABEL: func @groups_of_8
// CHECK:         graph.Convolution
// CHECK-NOT:     tile.conv
// WORDS-LABEL: func @groups_of_8
// WORDS:         tile.conv
func.func @groups_of_8(%x: tensor<1x4x4x16xui8>, %w: tensor<3x3x8x16xsi8>) -> tensor<1x4x4x16xf32> {
  %0 = graph.Dequantize %x {scales = [0.5], zps = [3]} : (tensor<1x4x4x16xui8>) -> tensor<1x4x4x16xf32>
  %1 = graph.Dequantize %w {scales = [0.25], zps = [0]} : (tensor<3x3x8x16xsi8>) -> tensor<3x3x8x16xf32>
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 2 : i64} : (tensor<1x4x4x16xf32>, tensor<3x3x8x16xf32>) -> tensor<1x4x4x16xf32>
  return %2 : tensor<1x4x4x16xf32>
}
