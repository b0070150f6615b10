// RUN: tenon-opt %s --split-input-file --tenon-move-before-views | FileCheck %s

// Other operands are viewed backwards: a vector along rows stays, a tensor of
// the same size is transposed.
// CHECK-LABEL: func.func @main
// CHECK:         %[[Y:.*]] = tile.matmul
// CHECK:         %[[A:.*]] = graph.Add %[[Y]], %arg2 : (tensor<6x8xf32>, tensor<8xf32>) -> tensor<6x8xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.StaticTranspose %arg3 {order = [1, 0, 2]}
// CHECK-NEXT:    %[[V:.*]] = graph.StaticReshape %[[S]]
// CHECK-NEXT:    %[[M:.*]] = graph.Multiply %[[A]], %[[V]]
// CHECK-NEXT:    %[[R:.*]] = graph.StaticReshape %[[M]]
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[R]]
// CHECK-NEXT:    return %[[T]]
func.func @main(%x: tensor<6x8xf32>, %p: tensor<1x8x8xf32>, %bias: tensor<8xf32>, %e: tensor<3x2x8xf32>) -> tensor<3x2x8xf32> {
  %0 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %1 = graph.StaticReshape %0 {shape = [2, 3, 8], special_zero = false} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %2 = graph.StaticTranspose %1 {order = [1, 0, 2]} : (tensor<2x3x8xf32>) -> tensor<3x2x8xf32>
  %3 = graph.Add %2, %bias : (tensor<3x2x8xf32>, tensor<8xf32>) -> tensor<3x2x8xf32>
  %4 = graph.Multiply %3, %e : (tensor<3x2x8xf32>, tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
  return %4 : tensor<3x2x8xf32>
}

// -----

// Columns become rows, but only elementwise operations are after: fewer bytes
// are transposed.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = graph.TypeCast {{.*}} -> tensor<6x8xbf16>
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[C]] {{.*}} -> tensor<8x6xbf16>
// CHECK-NEXT:    return %[[T]]
func.func @main(%x: tensor<6x8xf32>, %p: tensor<1x8x8xf32>) -> tensor<8x6xbf16> {
  %0 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %2 = graph.TypeCast %1 : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  return %2 : tensor<8x6xbf16>
}

// -----

// A product that reads rows would have to gather them.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.*]] = graph.StaticTranspose
// CHECK-NEXT:    graph.ReLU %[[T]]
func.func @main(%x: tensor<6x8xf32>, %p: tensor<1x8x8xf32>, %q: tensor<1x6x8xf32>) -> tensor<8x8xf32> {
  %0 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %2 = graph.ReLU %1 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %3 = tile.matmul %2, %q : tensor<8x6xf32>, tensor<1x6x8xf32> -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// Two readers, of which one is a product; an operand that has no view backwards
// (one number per pair of rows); nothing to join.
// CHECK-LABEL: func.func @main
// CHECK:         %[[R:.*]] = graph.StaticReshape
// CHECK-NEXT:    graph.ReLU %[[R]]
// CHECK-NEXT:    tile.matmul %[[R]]
// CHECK:         %[[S:.*]] = graph.StaticReshape
// CHECK-NEXT:    graph.Add %[[S]], %arg2
// CHECK:         %[[U:.*]] = graph.StaticReshape %arg0
// CHECK-NEXT:    graph.Exp %[[U]]
func.func @main(%x: tensor<6x8xf32>, %p: tensor<1x8x8xf32>, %pairs: tensor<3x1x1xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x2x8xf32>, tensor<48xf32>) {
  %0 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %1 = graph.StaticReshape %0 {shape = [2, 3, 8], special_zero = false} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %2 = graph.ReLU %1 : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %3 = tile.matmul %1, %p : tensor<2x3x8xf32>, tensor<1x8x8xf32> -> tensor<2x3x8xf32>
  %4 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %5 = graph.StaticReshape %4 {shape = [3, 2, 8], special_zero = false} : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %6 = graph.Add %5, %pairs : (tensor<3x2x8xf32>, tensor<3x1x1xf32>) -> tensor<3x2x8xf32>
  %7 = graph.StaticReshape %x {shape = [48], special_zero = false} : (tensor<6x8xf32>) -> tensor<48xf32>
  %8 = graph.Exp %7 : (tensor<48xf32>) -> tensor<48xf32>
  return %2, %3, %6, %8 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x2x8xf32>, tensor<48xf32>
}

// -----

// Elementwise readers alone move together. Positions of an image that were one
// dimension: what has none of them, or all, is read beside them; what has a
// column of them is not.
// CHECK-LABEL: func.func @main
// CHECK:         %[[Y:.*]] = tile.matmul
// CHECK:         %[[B:.*]] = graph.StaticReshape %arg2 {shape = [6, 1]
// CHECK-NEXT:    %[[A:.*]] = graph.Add %[[Y]], %[[B]] : (tensor<6x8xf32>, tensor<6x1xf32>)
// CHECK-NEXT:    %[[S:.*]] = graph.Sigmoid %[[A]] : (tensor<6x8xf32>)
// CHECK:         %[[M:.*]] = graph.Multiply %[[A]], %{{.*}} : (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK:         %[[E:.*]] = graph.StaticReshape %arg3 {shape = [6, 8]
// CHECK:         %[[N:.*]] = graph.Add %[[M]], %[[E]]
// CHECK:         %[[R:.*]] = graph.StaticReshape %[[N]] {shape = [6, 2, 4]
// CHECK:         graph.Multiply %[[R]], %arg4
func.func @main(%w: tensor<6x8xf32>, %p: tensor<1x8x8xf32>, %bias: tensor<6x1x1xf32>, %e: tensor<6x2x4xf32>, %columns: tensor<2x1xf32>) -> tensor<6x2x4xf32> {
  %0 = tile.matmul %w, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %1 = graph.StaticReshape %0 {shape = [6, 2, 4], special_zero = false} : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
  %2 = graph.Add %1, %bias : (tensor<6x2x4xf32>, tensor<6x1x1xf32>) -> tensor<6x2x4xf32>
  %3 = graph.Sigmoid %2 : (tensor<6x2x4xf32>) -> tensor<6x2x4xf32>
  %4 = graph.Multiply %2, %3 : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<6x2x4xf32>
  %5 = graph.Add %4, %e : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<6x2x4xf32>
  %6 = graph.Multiply %5, %columns : (tensor<6x2x4xf32>, tensor<2x1xf32>) -> tensor<6x2x4xf32>
  return %6 : tensor<6x2x4xf32>
}

// -----

// What somebody else reads, too, before or under the view, stays where it is.
// CHECK-LABEL: func.func @main
// CHECK:         %[[E:.*]] = graph.Exp %arg0
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[E]]
// CHECK-NEXT:    tile.pack %[[T]]
// CHECK-NEXT:    graph.Abs %[[E]]
// CHECK:         %[[L:.*]] = graph.Log %arg0
// CHECK-NEXT:    %[[U:.*]] = graph.StaticTranspose %[[L]]
// CHECK-NEXT:    tile.pack %[[U]]
// CHECK-NEXT:    graph.Abs %[[U]]
func.func @main(%k: tensor<6x8xf32>) -> (tensor<1x8x8xf32>, tensor<6x8xf32>, tensor<1x8x8xf32>, tensor<8x6xf32>) {
  %0 = graph.Exp %k : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %2 = tile.pack %1 panel 8 : tensor<8x6xf32> -> tensor<1x8x8xf32>
  %3 = graph.Abs %0 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %4 = graph.Log %k : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %5 = graph.StaticTranspose %4 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %6 = tile.pack %5 panel 8 : tensor<8x6xf32> -> tensor<1x8x8xf32>
  %7 = graph.Abs %5 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %2, %3, %6, %7 : tensor<1x8x8xf32>, tensor<6x8xf32>, tensor<1x8x8xf32>, tensor<8x6xf32>
}

// -----

// What is packed is computed where it is packed: views come first.
// CHECK-LABEL: func.func @main
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg0 {{.*}} -> tensor<8x6xsi8>
// CHECK-NEXT:    %[[C:.*]] = graph.TypeCast %[[T]]
// CHECK-NEXT:    %[[M:.*]] = graph.Multiply %[[C]]
// CHECK-NEXT:    tile.pack %[[M]]
func.func @main(%k: tensor<6x8xsi8>) -> tensor<1x8x8xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.TypeCast %k : (tensor<6x8xsi8>) -> tensor<6x8xf32>
  %1 = graph.Multiply %0, %c : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %2 = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %3 = tile.pack %2 panel 8 : tensor<8x6xf32> -> tensor<1x8x8xf32>
  return %3 : tensor<1x8x8xf32>
}

// -----

// f64 has no views: it is cast first, or last.
// CHECK-LABEL: func.func @main
// CHECK:         graph.TypeCast %arg0
// CHECK-NEXT:    graph.StaticTranspose {{.*}} -> tensor<8x6xf32>
// CHECK:         graph.StaticTranspose {{.*}} -> tensor<8x6xf32>
// CHECK-NEXT:    graph.TypeCast {{.*}} -> tensor<8x6xf64>
func.func @main(%k: tensor<6x8xf64>, %x: tensor<6x8xf32>, %p: tensor<1x8x8xf32>) -> (tensor<1x8x8xf32>, tensor<8x6xf64>) {
  %0 = graph.TypeCast %k : (tensor<6x8xf64>) -> tensor<6x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %2 = tile.pack %1 panel 8 : tensor<8x6xf32> -> tensor<1x8x8xf32>
  %3 = tile.matmul %x, %p : tensor<6x8xf32>, tensor<1x8x8xf32> -> tensor<6x8xf32>
  %4 = graph.StaticTranspose %3 {order = [1, 0]} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %5 = graph.TypeCast %4 : (tensor<8x6xf32>) -> tensor<8x6xf64>
  return %2, %5 : tensor<1x8x8xf32>, tensor<8x6xf64>
}
