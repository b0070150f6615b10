// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// Slices are boxes; of no steps nothing is left.
// CHECK-LABEL: func @slices
// CHECK:         %[[S:.*]] = tile.slice %arg0 at [2, 15] by [1, -3] : tensor<13x17xf32> -> tensor<9x5xf32>
// CHECK:         return %[[S]], %arg0
func.func @slices(%x: tensor<13x17xf32>) -> (tensor<9x5xf32>, tensor<13x17xf32>) {
  %0 = graph.Slice %x {begins = array<i64: 2, -2>, ends = array<i64: 11, 1>, steps = array<i64: 1, -3>} : (tensor<13x17xf32>) -> tensor<9x5xf32>
  %1 = graph.Slice %x {begins = array<i64: 0>, ends = array<i64: 99>} : (tensor<13x17xf32>) -> tensor<13x17xf32>
  return %0, %1 : tensor<9x5xf32>, tensor<13x17xf32>
}

// -----

// A part of a dim whose size is not known is as long as its bounds say.
// CHECK-LABEL: func @parts
// CHECK-DAG:     tile.slice %arg0 at [1, 0] by [1, 1] to [{{[0-9]+}}, {{[0-9]+}}] : tensor<?x8xf32> -> tensor<?x8xf32>
// CHECK-DAG:     tile.slice %arg0 at [-1, 2] by [1, 3] to [{{[0-9]+}}, {{[0-9]+}}] : tensor<?x8xf32> -> tensor<?x2xf32>
func.func @parts(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>) {
  %0 = graph.Slice %x {begins = array<i64: 1>, ends = array<i64: 9223372036854775807>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = graph.Slice %x {begins = array<i64: -1, 2>, ends = array<i64: 9223372036854775807, 8>, steps = array<i64: 1, 3>} : (tensor<?x8xf32>) -> tensor<?x2xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x2xf32>
}

// -----

// As many elements as a named size says, from the first or before the last one.
// CHECK-LABEL: func @named
// CHECK-DAG:     tile.slice %arg0 at [0, 0] by [1, 1] to [{{[0-9]+}}, {{[0-9]+}}] sizes ["past + n", ""] : tensor<64x8xf32> -> tensor<?x8xf32>
// CHECK-DAG:     tile.slice %arg1 at [-9223372036854775808, 0] by [1, 1] to [{{[0-9]+}}, {{[0-9]+}}] sizes ["n", ""] : tensor<?x8xf32> -> tensor<?x8xf32>
func.func @named(%x: tensor<64x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = graph.Slice %x {begins = array<i64: 0>, ends = array<i64: -9223372036854775808>, graph.result_sizes = [["past + n", ""]]} : (tensor<64x8xf32>) -> tensor<?x8xf32>
  %1 = graph.Slice %y {begins = array<i64: -9223372036854775808>, ends = array<i64: 9223372036854775807>, graph.result_sizes = [["n", ""]]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Several sizes that are not known are computed from named ones.
// CHECK-LABEL: func @reshaped
// CHECK:         tile.reshape %arg0 sizes ["batch", "n // batch", ""] : tensor<?x8xf32> -> tensor<?x?x8xf32>
// CHECK:         graph.StaticReshape %arg0
// CHECK:         tile.expand %arg1 sizes ["batch", ""] : tensor<1x8xf32> -> tensor<?x8xf32>
func.func @reshaped(%x: tensor<?x8xf32>, %y: tensor<1x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x2x4xf32>, tensor<?x8xf32>) {
  %0 = graph.StaticReshape %x {shape = [-9223372036854775808, -9223372036854775808, 8], special_zero = false, graph.result_sizes = [["batch", "n // batch", "8"]]} : (tensor<?x8xf32>) -> tensor<?x?x8xf32>
  %1 = graph.StaticReshape %x {shape = [-1, 2, 4], special_zero = false} : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  %2 = graph.Expand %y {shape = array<i64: -9223372036854775808, 8>, graph.result_sizes = [["batch", ""]]} : (tensor<1x8xf32>) -> tensor<?x8xf32>
  return %0, %1, %2 : tensor<?x?x8xf32>, tensor<?x2x4xf32>, tensor<?x8xf32>
}

// -----

// What broadcasts anyway reads the tensor itself.
// CHECK-LABEL: func @expanded
// CHECK-DAG:     graph.Add %arg0, %arg1
// CHECK-DAG:     %[[E:.*]] = tile.expand %arg0 : tensor<3x1xf32> -> tensor<3x5xf32>
// CHECK:         graph.ReLU %[[E]]
func.func @expanded(%x: tensor<3x1xf32>, %y: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
  %0 = graph.Expand %x {shape = array<i64: 3, 5>} : (tensor<3x1xf32>) -> tensor<3x5xf32>
  %1 = graph.Add %0, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = graph.ReLU %0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %1, %2 : tensor<3x5xf32>, tensor<3x5xf32>
}

// -----

// A rotary embedding: nothing is joined before it is computed.
// CHECK-LABEL: func @rotary
// CHECK-NOT:     graph.Concat
// CHECK:         %[[A:.*]] = graph.Add %{{.*}} -> tensor<16x4xf32>
// CHECK:         %[[B:.*]] = graph.Add %{{.*}} -> tensor<16x4xf32>
// CHECK:         %[[J:.*]] = graph.Concat %[[A]], %[[B]]
// CHECK:         return %[[J]]
func.func @rotary(%x: tensor<16x8xf32>, %cos: tensor<16x8xf32>, %sin: tensor<16x8xf32>, %m: tensor<1xf32>) -> tensor<16x8xf32> {
  %l = graph.Slice %x {begins = array<i64: 0>, ends = array<i64: 4>, axes = array<i64: 1>} : (tensor<16x8xf32>) -> tensor<16x4xf32>
  %h = graph.Slice %x {begins = array<i64: 4>, ends = array<i64: 8>, axes = array<i64: 1>} : (tensor<16x8xf32>) -> tensor<16x4xf32>
  %n = graph.Multiply %h, %m : (tensor<16x4xf32>, tensor<1xf32>) -> tensor<16x4xf32>
  %r = graph.Concat %n, %l {axis = 1 : si64} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
  %s = graph.Multiply %r, %sin : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %c = graph.Multiply %x, %cos : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %y = graph.Add %c, %s : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

// -----

// Parts of other tensors are joined first: each would be a group of its own.
// CHECK-LABEL: func @joined
// CHECK:         %[[J:.*]] = graph.Concat %arg0, %arg1
// CHECK:         graph.Multiply %[[J]], %arg2
func.func @joined(%a: tensor<16x4xf32>, %b: tensor<16x4xf32>, %x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = graph.Concat %a, %b {axis = 1 : si64} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
  %s = graph.Multiply %r, %x : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}

// -----

// CHECK-LABEL: func @shape
// CHECK:         arith.constant dense<[3, 5]> : tensor<2xsi64>
func.func @shape(%x: tensor<2x3x5xf32>) -> tensor<2xsi64> {
  %0 = graph.Shape %x {start = 1 : si64} : (tensor<2x3x5xf32>) -> tensor<2xsi64>
  return %0 : tensor<2xsi64>
}
