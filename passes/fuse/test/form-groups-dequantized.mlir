// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=1048576 --tenon-form-groups | FileCheck %s

// Keys that are read in place, under a transpose, and values: both are
// dequantised by the group that reads them, with a scale for each token.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_TypeCast_Multiply_TypeCast_Multiply_attention(
// CHECK-NEXT:    return
// CHECK:       func.func private @g_TypeCast_Multiply_TypeCast_Multiply_attention
// CHECK-SAME:    tile.group = #tile.group<attention>
// CHECK:         graph.StaticTranspose
// CHECK:         tile.attention
func.func @main(%q: tensor<2x1x64xf32>, %k8: tensor<2x384x64xsi8>, %ks: tensor<2x384x1xf32>, %v8: tensor<2x384x64xui8>, %vs: tensor<2x384x1xf32>) -> tensor<2x1x64xf32> {
  %kf = graph.TypeCast %k8 : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %km = graph.Multiply %kf, %ks : (tensor<2x384x64xf32>, tensor<2x384x1xf32>) -> tensor<2x384x64xf32>
  %k = graph.StaticTranspose %km {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %vf = graph.TypeCast %v8 : (tensor<2x384x64xui8>) -> tensor<2x384x64xf32>
  %v = graph.Multiply %vf, %vs : (tensor<2x384x64xf32>, tensor<2x384x1xf32>) -> tensor<2x384x64xf32>
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x64xf32>, tensor<2x64x384xf32>, tensor<2x384x64xf32> -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}

// -----

// Scales of groups along the elements of a key, which is packed; these are cast
// by the same group.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_TypeCast_Multiply_pack_attention(
// CHECK-NEXT:    return
func.func @main(%q: tensor<2x40x64xf32>, %k8: tensor<2x384x64xsi8>, %s: tensor<2x384x4x1xbf16>, %v: tensor<2x384x64xf32>) -> tensor<2x40x64xf32> {
  %g = graph.StaticReshape %k8 {shape = [2, 384, 4, 16], special_zero = false} : (tensor<2x384x64xsi8>) -> tensor<2x384x4x16xsi8>
  %sf = graph.TypeCast %s : (tensor<2x384x4x1xbf16>) -> tensor<2x384x4x1xf32>
  %kf = graph.TypeCast %g : (tensor<2x384x4x16xsi8>) -> tensor<2x384x4x16xf32>
  %km = graph.Multiply %kf, %sf : (tensor<2x384x4x16xf32>, tensor<2x384x4x1xf32>) -> tensor<2x384x4x16xf32>
  %kr = graph.StaticReshape %km {shape = [2, 384, 64], special_zero = false} : (tensor<2x384x4x16xf32>) -> tensor<2x384x64xf32>
  %k = graph.StaticTranspose %kr {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %p = tile.pack %k panel 24 : tensor<2x64x384xf32> -> tensor<2x16x64x24xf32>
  %0 = tile.attention %q, %p, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x40x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32> -> tensor<2x40x64xf32>
  return %0 : tensor<2x40x64xf32>
}

// -----

// Declines: somebody else reads the keys; a reshape moves tokens into another
// dimension; groups of an odd number of elements, of which pairs are packed.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_TypeCast(
// CHECK:         call @g_attention(
func.func @main(%q: tensor<2x1x64xf32>, %k8: tensor<2x64x384xsi8>, %v: tensor<2x384x64xf32>) -> (tensor<2x1x64xf32>, tensor<2x64x384xf32>) {
  %k = graph.TypeCast %k8 : (tensor<2x64x384xsi8>) -> tensor<2x64x384xf32>
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x64xf32>, tensor<2x64x384xf32>, tensor<2x384x64xf32> -> tensor<2x1x64xf32>
  return %0, %k : tensor<2x1x64xf32>, tensor<2x64x384xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_TypeCast_Multiply(
// CHECK-NEXT:    %[[K:.*]] = graph.StaticReshape
// CHECK-NEXT:    call @g_attention(%arg0, %[[K]]
func.func @main(%q: tensor<2x1x64xf32>, %k8: tensor<3x8x2048xsi8>, %s: tensor<8x1xf32>, %v: tensor<2x384x64xf32>) -> tensor<2x1x64xf32> {
  %f = graph.TypeCast %k8 : (tensor<3x8x2048xsi8>) -> tensor<3x8x2048xf32>
  %m = graph.Multiply %f, %s : (tensor<3x8x2048xf32>, tensor<8x1xf32>) -> tensor<3x8x2048xf32>
  %k = graph.StaticReshape %m {shape = [2, 64, 384], special_zero = false} : (tensor<3x8x2048xf32>) -> tensor<2x64x384xf32>
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x64xf32>, tensor<2x64x384xf32>, tensor<2x384x64xf32> -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_TypeCast_Multiply(
// CHECK:         call @g_pack_attention(
func.func @main(%q: tensor<2x40x6xbf16>, %k8: tensor<2x384x2x3xsi8>, %s: tensor<2x384x2x1xbf16>, %v: tensor<2x1x192x32x2xbf16>) -> tensor<2x40x32xbf16> {
  %f = graph.TypeCast %k8 : (tensor<2x384x2x3xsi8>) -> tensor<2x384x2x3xbf16>
  %m = graph.Multiply %f, %s : (tensor<2x384x2x3xbf16>, tensor<2x384x2x1xbf16>) -> tensor<2x384x2x3xbf16>
  %r = graph.StaticReshape %m {shape = [2, 384, 6], special_zero = false} : (tensor<2x384x2x3xbf16>) -> tensor<2x384x6xbf16>
  %k = graph.StaticTranspose %r {order = [0, 2, 1]} : (tensor<2x384x6xbf16>) -> tensor<2x6x384xbf16>
  %p = tile.pack %k panel 32 interleave 2 : tensor<2x6x384xbf16> -> tensor<2x12x3x32x2xbf16>
  %0 = tile.attention %q, %p, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } {interleave = 2 : i64, keys = 384 : i64} : tensor<2x40x6xbf16>, tensor<2x12x3x32x2xbf16>, tensor<2x1x192x32x2xbf16> -> tensor<2x40x32xbf16>
  return %0 : tensor<2x40x32xbf16>
}
