// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,int8_dot_width=4 --tenon-multiply-integers | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=int8_dot_width=2 --tenon-multiply-integers | FileCheck %s --check-prefix=WORDS

// Bytes are multiplied as they are. Nothing is a float.
// CHECK-LABEL: func @bytes
// CHECK-NOT:     f32
// CHECK:         %[[P:.*]] = tile.pack %arg1 panel 32 interleave 4 : tensor<64x32xsi8>
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] interleave 4 : tensor<4x64xui8>, {{.*}} -> tensor<4x32xsi32>
// CHECK-NEXT:    return %[[D]]
func.func @bytes(%x: tensor<4x64xui8>, %w: tensor<64x32xsi8>) -> tensor<4x32xsi32> {
  %0 = graph.MatMul %x, %w : (tensor<4x64xui8>, tensor<64x32xsi8>) -> tensor<4x32xsi32>
  return %0 : tensor<4x32xsi32>
}

// -----

// Both zero points meet sums of the other operand. Where two int16 products are an
// instruction, differences of bytes are multiplied.
// CHECK-LABEL: func @zero_points
// CHECK:         %[[P:.*]] = tile.pack %arg1 panel 32 interleave 4
// CHECK:         %[[D:.*]] = tile.matmul %arg0, %[[P]] interleave 4
// CHECK:         %[[ROWS:.*]] = graph.ReduceSum {{.*}} -> tensor<4x1xsi32>
// CHECK:         %[[K:.*]] = arith.constant dense<64> : tensor<si32>
// CHECK:         graph.Multiply {{.*}}, %[[K]]
// CHECK:         %[[X:.*]] = graph.Subtract %[[D]], {{.*}} -> tensor<4x32xsi32>
// CHECK:         %[[SUMS:.*]] = graph.ReduceSum {{.*}} -> tensor<1x32xsi32>
// CHECK:         %[[C:.*]] = graph.Multiply %[[SUMS]]
// CHECK:         %[[R:.*]] = graph.Subtract %[[X]], %[[C]]
// CHECK:         return %[[R]]
// WORDS-LABEL: func @zero_points
// WORDS:         graph.Subtract
// WORDS:         graph.Subtract
// WORDS:         %[[D:.*]] = tile.matmul {{.*}} interleave 2 : tensor<4x64xsi16>
// WORDS-NEXT:    return %[[D]]
func.func @zero_points(%x: tensor<4x64xui8>, %w: tensor<64x32xsi8>, %zx: tensor<1xui8>, %zw: tensor<1xsi8>) -> tensor<4x32xsi32> {
  %0 = graph.TypeCast %x : (tensor<4x64xui8>) -> tensor<4x64xsi32>
  %1 = graph.TypeCast %zx : (tensor<1xui8>) -> tensor<1xsi32>
  %2 = graph.Subtract %0, %1 : (tensor<4x64xsi32>, tensor<1xsi32>) -> tensor<4x64xsi32>
  %3 = graph.TypeCast %w : (tensor<64x32xsi8>) -> tensor<64x32xsi32>
  %4 = graph.TypeCast %zw : (tensor<1xsi8>) -> tensor<1xsi32>
  %5 = graph.Subtract %3, %4 : (tensor<64x32xsi32>, tensor<1xsi32>) -> tensor<64x32xsi32>
  %6 = graph.MatMul %2, %5 : (tensor<4x64xsi32>, tensor<64x32xsi32>) -> tensor<4x32xsi32>
  return %6 : tensor<4x32xsi32>
}

// -----

// The length of the sum is not known, so two zero points are taken off before.
// CHECK-LABEL: func @unknown_depth
// CHECK:         tile.matmul {{.*}} : tensor<4x?xsi16>
func.func @unknown_depth(%x: tensor<4x?xui8>, %w: tensor<?x32xui8>, %z: tensor<1xui8>) -> tensor<4x32xsi32> {
  %0 = graph.TypeCast %x : (tensor<4x?xui8>) -> tensor<4x?xsi32>
  %1 = graph.TypeCast %z : (tensor<1xui8>) -> tensor<1xsi32>
  %2 = graph.Subtract %0, %1 : (tensor<4x?xsi32>, tensor<1xsi32>) -> tensor<4x?xsi32>
  %3 = graph.MatMul %2, %w : (tensor<4x?xsi32>, tensor<?x32xui8>) -> tensor<4x32xsi32>
  return %3 : tensor<4x32xsi32>
}

// -----

// Weights of u8 have a zero point of -128 at least. A zero point of each row, of any
// size, is nothing that bytes or int16 hold. The padding of a convolution is 0, so
// its zero point is taken off before.
// CHECK-LABEL: func @others
// CHECK:         %[[HALF:.*]] = arith.constant dense<128> : tensor<si32>
// CHECK:         graph.Subtract {{.*}}, %[[HALF]]
// CHECK:         tile.matmul %arg0, {{.*}} : tensor<4x64xsi8>
// CHECK:         tile.matmul {{.*}} : tensor<4x64xsi32>
// CHECK:         tile.conv {{.*}} tensor<1x8x8x32xsi16>
func.func @others(%x: tensor<4x64xsi8>, %w: tensor<64x32xui8>, %z: tensor<4x1xsi32>, %p: tensor<1x8x8x32xui8>, %f: tensor<3x3x32x32xsi8>)
    -> (tensor<4x32xsi32>, tensor<4x32xsi32>, tensor<1x8x8x32xsi32>) {
  %0 = graph.MatMul %x, %w : (tensor<4x64xsi8>, tensor<64x32xui8>) -> tensor<4x32xsi32>
  %1 = graph.TypeCast %x : (tensor<4x64xsi8>) -> tensor<4x64xsi32>
  %2 = graph.Subtract %1, %z : (tensor<4x64xsi32>, tensor<4x1xsi32>) -> tensor<4x64xsi32>
  %3 = graph.MatMul %2, %w : (tensor<4x64xsi32>, tensor<64x32xui8>) -> tensor<4x32xsi32>
  %4 = graph.TypeCast %p : (tensor<1x8x8x32xui8>) -> tensor<1x8x8x32xsi32>
  %5 = arith.constant dense<3> : tensor<si32>
  %6 = graph.Subtract %4, %5 : (tensor<1x8x8x32xsi32>, tensor<si32>) -> tensor<1x8x8x32xsi32>
  %7 = graph.Convolution %6, %f {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x8x8x32xsi32>, tensor<3x3x32x32xsi8>) -> tensor<1x8x8x32xsi32>
  return %0, %3, %7 : tensor<4x32xsi32>, tensor<4x32xsi32>, tensor<1x8x8x32xsi32>
}

// -----

// Products of floats are of no concern here.
// CHECK-LABEL: func @floats
// CHECK:         graph.MatMul
func.func @floats(%x: tensor<4x64xf32>, %w: tensor<64x32xf32>) -> tensor<4x32xf32> {
  %0 = graph.MatMul %x, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
