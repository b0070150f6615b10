// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// One query: keys with a scale per token are dequantised in registers, on their
// way into the scores, and values with scales of groups on their way into the
// sums. Keys pass together over the query.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x1x64xf32>, %[[K:[a-z0-9]+]]: memref<2x384x64xi8>, %[[S:[a-z0-9]+]]: memref<2x384x1xf32>, %[[V:[a-z0-9]+]]: memref<2x384x4x16xi8>, %[[G:[a-z0-9]+]]: memref<2x384x4x1xf32>
// CHECK:         rt.parallel "g.l"
// CHECK:           memref.reinterpret_cast %[[Q]] {{.*}} sizes: [64], strides: [1]
// CHECK:           memref.reinterpret_cast %[[K]] {{.*}} sizes: [384, 64], strides: [64, 1]
// CHECK:           memref.reinterpret_cast %[[S]] {{.*}} sizes: [384], strides: [1]
// CHECK:           linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} attrs = {codegen.jam = 0 : i64}
// CHECK:             arith.extsi
// CHECK:             arith.mulf
// CHECK:             math.fma
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[V]] {{.*}} sizes: [64, 4, 16], strides: [64, 16, 1]
// CHECK:             memref.reinterpret_cast %[[G]] {{.*}} sizes: [64, 4], strides: [4, 1]
// CHECK:           linalg.generic {{.*}}iterator_types = ["reduction", "parallel", "parallel"]
// CHECK:             math.fma
// CHECK-NOT:       tile.brgemm
func.func @main(%q: tensor<2x1x64xf32>, %k8: tensor<2x384x64xsi8>, %ks: tensor<2x384x1xf32>, %v8: tensor<2x384x4x16xsi8>, %vs: tensor<2x384x4x1xf32>) -> tensor<2x1x64xf32> {
  %0 = call @g(%q, %k8, %ks, %v8, %vs) {tile.label = "attn"} : (tensor<2x1x64xf32>, tensor<2x384x64xsi8>, tensor<2x384x1xf32>, tensor<2x384x4x16xsi8>, tensor<2x384x4x1xf32>) -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}
func.func private @g(%q: tensor<2x1x64xf32>, %k8: tensor<2x384x64xsi8>, %ks: tensor<2x384x1xf32>, %v8: tensor<2x384x4x16xsi8>, %vs: tensor<2x384x4x1xf32>) -> tensor<2x1x64xf32> attributes {tile.group = #tile.group<attention>} {
  %kf = graph.TypeCast %k8 : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %km = graph.Multiply %kf, %ks : (tensor<2x384x64xf32>, tensor<2x384x1xf32>) -> tensor<2x384x64xf32>
  %k = graph.StaticTranspose %km {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %vf = graph.TypeCast %v8 : (tensor<2x384x4x16xsi8>) -> tensor<2x384x4x16xf32>
  %vm = graph.Multiply %vf, %vs : (tensor<2x384x4x16xf32>, tensor<2x384x4x1xf32>) -> tensor<2x384x4x16xf32>
  %v = graph.StaticReshape %vm {shape = [2, 384, 64], special_zero = false} : (tensor<2x384x4x16xf32>) -> tensor<2x384x64xf32>
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x64xf32>, tensor<2x64x384xf32>, tensor<2x384x64xf32> -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}

// -----

// Several queries: boxes of keys and of values that stay in L1 are dequantised
// for all of them.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    memref<2x5x64xf32>, %[[K:[a-z0-9]+]]: memref<2x384x64xi8>, %[[V:[a-z0-9]+]]: memref<2x384x64xi8>
// CHECK:         rt.parallel "g.l"
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[K]] {{.*}} sizes: [64, 64], strides: [64, 1]
// CHECK:             linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK:             linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[V]] {{.*}} sizes: [64, 64], strides: [64, 1]
// CHECK:             linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK:             tile.brgemm {{.*}} accumulate
func.func @main(%q: tensor<2x5x64xf32>, %k8: tensor<2x384x64xsi8>, %v8: tensor<2x384x64xsi8>) -> tensor<2x5x64xf32> {
  %0 = call @g(%q, %k8, %v8) {tile.label = "attn"} : (tensor<2x5x64xf32>, tensor<2x384x64xsi8>, tensor<2x384x64xsi8>) -> tensor<2x5x64xf32>
  return %0 : tensor<2x5x64xf32>
}
func.func private @g(%q: tensor<2x5x64xf32>, %k8: tensor<2x384x64xsi8>, %v8: tensor<2x384x64xsi8>) -> tensor<2x5x64xf32> attributes {tile.group = #tile.group<attention>} {
  %kf = graph.TypeCast %k8 : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %k = graph.StaticTranspose %kf {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %v = graph.TypeCast %v8 : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x5x64xf32>, tensor<2x64x384xf32>, tensor<2x384x64xf32> -> tensor<2x5x64xf32>
  return %0 : tensor<2x5x64xf32>
}

// -----

// Packed keys with scales of groups: the elements of a key are two loops.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    memref<2x40x64xf32>, %[[K:[a-z0-9]+]]: memref<2x384x4x16xi8>, %[[S:[a-z0-9]+]]: memref<2x384x4x1xf32>
// CHECK:         rt.parallel "g.l"
// CHECK:           scf.if
// CHECK:             memref.reinterpret_cast %[[K]] {{.*}} sizes: [4, 16, 24], strides: [16, 1, 64]
// CHECK:             memref.reinterpret_cast %[[S]] {{.*}} sizes: [4, 24], strides: [1, 4]
// CHECK:             linalg.generic
// CHECK:           tile.brgemm
func.func @main(%q: tensor<2x40x64xf32>, %k8: tensor<2x384x4x16xsi8>, %s: tensor<2x384x4x1xf32>, %v: tensor<2x384x64xf32>) -> tensor<2x40x64xf32> {
  %0 = call @g(%q, %k8, %s, %v) {tile.label = "attn"} : (tensor<2x40x64xf32>, tensor<2x384x4x16xsi8>, tensor<2x384x4x1xf32>, tensor<2x384x64xf32>) -> tensor<2x40x64xf32>
  return %0 : tensor<2x40x64xf32>
}
func.func private @g(%q: tensor<2x40x64xf32>, %k8: tensor<2x384x4x16xsi8>, %s: tensor<2x384x4x1xf32>, %v: tensor<2x384x64xf32>) -> tensor<2x40x64xf32> attributes {tile.group = #tile.group<attention>} {
  %kf = graph.TypeCast %k8 : (tensor<2x384x4x16xsi8>) -> tensor<2x384x4x16xf32>
  %km = graph.Multiply %kf, %s : (tensor<2x384x4x16xf32>, tensor<2x384x4x1xf32>) -> tensor<2x384x4x16xf32>
  %kr = graph.StaticReshape %km {shape = [2, 384, 64], special_zero = false} : (tensor<2x384x4x16xf32>) -> tensor<2x384x64xf32>
  %k = graph.StaticTranspose %kr {order = [0, 2, 1]} : (tensor<2x384x64xf32>) -> tensor<2x64x384xf32>
  %p = tile.pack %k panel 24 : tensor<2x64x384xf32> -> tensor<2x16x64x24xf32>
  %0 = tile.attention %q, %p, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x40x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32> -> tensor<2x40x64xf32>
  return %0 : tensor<2x40x64xf32>
}
