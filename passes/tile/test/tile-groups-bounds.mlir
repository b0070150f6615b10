// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A bound is a comparison and a choice, which are one instruction and keep NaN.
// What is quantised is rounded between its bounds and the conversion, loses
// nothing where it is cut, and is not cut for who dequantises it. NaN is not
// above 0.
// CHECK-LABEL: func.func private @levels.l(
// CHECK:         linalg.generic
// CHECK:           %[[LOW:.*]] = arith.cmpf olt, %[[X:.*]], %[[ZERO:.*]] : f32
// CHECK-NEXT:      %[[A:.*]] = arith.select %[[LOW]], %[[ZERO]], %[[X]] : f32
// CHECK:           %[[M:.*]] = arith.mulf %[[A]]
// CHECK-NOT:       arith.cmpf ord
// CHECK:           %[[ABOVE:.*]] = arith.cmpf ogt, %[[M]], %[[Z:.*]] : f32
// CHECK-NEXT:      %[[B:.*]] = arith.select %[[ABOVE]], %[[M]], %[[Z]] : f32
// CHECK-NEXT:      %[[HIGH:.*]] = arith.cmpf ogt, %[[B]], %[[MOST:.*]] : f32
// CHECK-NEXT:      %[[C:.*]] = arith.select %[[HIGH]], %[[MOST]], %[[B]] : f32
// CHECK-NEXT:      %[[R:.*]] = math.roundeven %[[C]]
// CHECK-NEXT:      %[[I:.*]] = arith.fptosi %[[R]] : f32 to i32
// CHECK-NEXT:      arith.trunci %[[I]] overflow<nuw> : i32 to i8
// CHECK-NEXT:      %[[F:.*]] = arith.sitofp %[[I]] : i32 to f32
// CHECK-NEXT:      linalg.yield %[[F]]
func.func @main(%x: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %0 = call @levels(%x) {tile.label = "levels"} : (tensor<2x32xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}
func.func private @levels(%x: tensor<2x32xf32>) -> tensor<2x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %s = arith.constant dense<2.0> : tensor<f32>
  %0 = graph.ReLU %x : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %1 = graph.Multiply %0, %s : (tensor<2x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %2 = graph.Round %1 : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %3 = graph.TypeCast %2 : (tensor<2x32xf32>) -> tensor<2x32xui8>
  %4 = graph.TypeCast %3 : (tensor<2x32xui8>) -> tensor<2x32xf32>
  return %4 : tensor<2x32xf32>
}

// -----

// A product and a zero point that are rounded together are one instruction.
// CHECK-LABEL: func.func private @shifted.l(
// CHECK:           arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK:           arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK:           math.roundeven
func.func @main(%x: tensor<2x32xf32>) -> tensor<2x32xui8> {
  %0 = call @shifted(%x) {tile.label = "shifted"} : (tensor<2x32xf32>) -> tensor<2x32xui8>
  return %0 : tensor<2x32xui8>
}
func.func private @shifted(%x: tensor<2x32xf32>) -> tensor<2x32xui8> attributes {tile.group = #tile.group<elementwise>} {
  %s = arith.constant dense<2.5> : tensor<f32>
  %z = arith.constant dense<128.0> : tensor<f32>
  %0 = graph.Multiply %x, %s : (tensor<2x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %1 = graph.Add %0, %z : (tensor<2x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %2 = graph.Round %1 : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %3 = graph.TypeCast %2 : (tensor<2x32xf32>) -> tensor<2x32xui8>
  return %3 : tensor<2x32xui8>
}

// -----

// Without rounding after them they are two, with their own bits.
// CHECK-LABEL: func.func private @apart.l(
// CHECK-NOT:       contract
// CHECK:           arith.addf
// CHECK-NOT:       contract
// CHECK:           arith.trunci
func.func @main(%x: tensor<2x32xf32>) -> tensor<2x32xui8> {
  %0 = call @apart(%x) {tile.label = "apart"} : (tensor<2x32xf32>) -> tensor<2x32xui8>
  return %0 : tensor<2x32xui8>
}
func.func private @apart(%x: tensor<2x32xf32>) -> tensor<2x32xui8> attributes {tile.group = #tile.group<elementwise>} {
  %s = arith.constant dense<2.5> : tensor<f32>
  %z = arith.constant dense<128.0> : tensor<f32>
  %0 = graph.Multiply %x, %s : (tensor<2x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %1 = graph.Add %0, %z : (tensor<2x32xf32>, tensor<f32>) -> tensor<2x32xf32>
  %2 = graph.TypeCast %1 : (tensor<2x32xf32>) -> tensor<2x32xui8>
  return %2 : tensor<2x32xui8>
}

// -----

// NaN is a level between those of s8; what is not rounded is cut off.
// CHECK-LABEL: func.func private @cut.l(
// CHECK:           arith.cmpf ord
// CHECK-NOT:       math.roundeven
// CHECK:           arith.trunci %{{.*}} overflow<nsw> : i32 to i8
func.func @main(%x: tensor<2x32xf32>) -> tensor<2x32xsi8> {
  %0 = call @cut(%x) {tile.label = "cut"} : (tensor<2x32xf32>) -> tensor<2x32xsi8>
  return %0 : tensor<2x32xsi8>
}
func.func private @cut(%x: tensor<2x32xf32>) -> tensor<2x32xsi8> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.TypeCast %x : (tensor<2x32xf32>) -> tensor<2x32xsi8>
  return %0 : tensor<2x32xsi8>
}
