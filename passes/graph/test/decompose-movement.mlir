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
