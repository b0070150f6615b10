// RUN: tenon-opt %s --split-input-file --tenon-form-groups=remarks=true --verify-diagnostics | FileCheck %s

// A row of softmax crosses the tiles of a product.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[P:.*]] = call @g_matmul(
// CHECK-NEXT:    call @g_SoftMax(%[[P]])
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  // expected-remark @+1 {{complete rows are needed, a contraction makes tiles: it reduces dimensions 1 of 4x16}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// The product is needed twice: it is stored, and what follows is a group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[P:.*]] = call @g_matmul(
// CHECK-NEXT:    %[[S:.*]] = call @g_Sigmoid_Multiply(%[[P]])
// CHECK-NEXT:    return %[[P]], %[[S]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  // expected-remark @+1 {{more than one value would leave the epilogue: 2}}
  %1 = graph.Sigmoid %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = graph.Multiply %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %2 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Not split where the product is only read inside: x * sigmoid(x) is one group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_matmul_Sigmoid_Multiply(
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  %1 = graph.Sigmoid %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = graph.Multiply %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// The cut is as late as it can be: after the bias, which both results share.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[P:.*]] = call @g_matmul_Add(
// CHECK-NEXT:    %[[S:.*]] = call @g_ReLU(%[[P]])
// CHECK-NEXT:    return %[[P]], %[[S]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>, %b: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  %1 = graph.Add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // expected-remark @+1 {{more than one value would leave the epilogue: 2}}
  %2 = graph.ReLU %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1, %2 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// Broadcast to a larger shape, and a second softmax over other rows.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp(
// CHECK-NEXT:    call @g_Add_SoftMax(
// CHECK-NEXT:    call @g_SoftMax(
func.func @main(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Exp %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-remark @+1 {{its shape is not that of the group: 4x8, not 8}}
  %1 = graph.Add %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.SoftMax %1 {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{it reduces other dimensions than the group: 0, not 1}}
  %3 = graph.SoftMax %2 {axis = 0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A reduction that drops its dimension ends the group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp_ReduceSum(
// CHECK-NEXT:    call @g_Sqrt(
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = graph.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.ReduceSum %0 {axes = [1], keep_dims = false} : (tensor<4x8xf32>) -> tensor<4xf32>
  // expected-remark @+1 {{its shape is not that of the group: 4, not 4x8}}
  %2 = graph.Sqrt %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Through a view, elements are elsewhere.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp(
// CHECK-NEXT:    graph.StaticTranspose
// CHECK-NEXT:    call @g_Sqrt(
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.Exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-remark @+1 {{its operands reach it through views}}
  %2 = graph.Sqrt %1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Pools and Concat take no epilogue; a product starts a group, which may take
// what it reads.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Concat(
// CHECK-NEXT:    call @g_ReLU_matmul(
func.func @main(%x: tensor<4x4xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.Concat %x, %x {axis = 1} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  // expected-remark @+2 {{a group of kind concat takes no epilogue}}
  // expected-remark @+1 {{it is computed in the only group that reads it}}
  %1 = graph.ReLU %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @+1 {{it starts a group of its own, of kind contraction}}
  %2 = tile.matmul %1, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// Casts to narrow types join; 64 bits do not fit the vectors of an epilogue.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_matmul_TypeCast(
// CHECK-NEXT:    call @g_TypeCast(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xsi64> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  %1 = graph.TypeCast %0 : (tensor<4x16xf32>) -> tensor<4x16xsi32>
  // expected-remark @+1 {{an epilogue computes in 32 bits, and it has 64-bit values}}
  %2 = graph.TypeCast %1 : (tensor<4x16xsi32>) -> tensor<4x16xsi64>
  return %2 : tensor<4x16xsi64>
}

// -----

// An epilogue knows no indices; a cast joins them.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_matmul(
// CHECK-NEXT:    call @g_GenIndex_TypeCast(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  // expected-remark @+1 {{an epilogue has no index of its element, which this operation needs}}
  %1 = graph.GenIndex %0 {axis = 0} : (tensor<4x16xf32>) -> tensor<4x16xsi32>
  %2 = graph.TypeCast %1 : (tensor<4x16xsi32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// A gradient of weights grows in memory, block by block: nothing may follow in
// registers.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_conv_weights(
// CHECK-NEXT:    call @g_ReLU(
func.func @main(%x: tensor<2x6x4xf32>, %d: tensor<2x4x16xf32>) -> tensor<3x4x16xf32> {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 0>, strides = array<i64: 1>} : tensor<2x6x4xf32>, tensor<2x4x16xf32> -> tensor<3x4x16xf32>
  // expected-remark @+1 {{a weights gradient is accumulated part by part in memory, so nothing can be computed before it is complete}}
  %1 = graph.ReLU %0 : (tensor<3x4x16xf32>) -> tensor<3x4x16xf32>
  return %1 : tensor<3x4x16xf32>
}

// -----

// The transposed value is complete only when the group is.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_ReLU(
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[R]]
// CHECK-NEXT:    call @g_Add(
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.ReLU %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark @+1 {{another operand from the group reaches it through a view}}
  %2 = graph.Add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Other types may come between: a comparison and its Select. Rows have to be
// complete for what follows.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_AvgPool_GreaterEqual_Select(
// CHECK-NEXT:    call @g_SoftMax(
func.func @main(%x: tensor<1x8x8x4xf32>, %b: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = graph.AvgPool %x {data_format = "NXC", exclude_pad = true, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = graph.GreaterEqual %0, %b : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xi1>
  %2 = graph.Select %1, %0, %b : (tensor<1x4x4x4xi1>, tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  // expected-remark @+1 {{complete rows are needed, a window makes tiles: it reduces dimensions 3 of 1x4x4x4}}
  %3 = graph.SoftMax %2 {axis = -1 : i64} : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}

// -----

// Rows of %y may have another length than those of %x, which the sums are of; the
// same sums join what reads %x again, and what follows it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[S:.*]]:3 = call @g_ReduceSum_Subtract_Add(%arg0, %arg2)
// CHECK-NEXT:    call @g_Multiply(%arg1, %[[S]]#0)
func.func @main(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>, %b: tensor<?xf32>) -> (tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>) {
  %0 = graph.ReduceSum %x {axes = [1], keep_dims = true} : (tensor<4x?xf32>) -> tensor<4x1xf32>
  // expected-remark @+1 {{its rows and those of the group are of unknown length, which may differ}}
  %1 = graph.Multiply %y, %0 : (tensor<4x?xf32>, tensor<4x1xf32>) -> tensor<4x?xf32>
  %2 = graph.Subtract %x, %0 : (tensor<4x?xf32>, tensor<4x1xf32>) -> tensor<4x?xf32>
  %3 = graph.Add %2, %b : (tensor<4x?xf32>, tensor<?xf32>) -> tensor<4x?xf32>
  return %1, %2, %3 : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>
}
