// RUN: tenon-opt %s --split-input-file --tenon-form-groups=remarks=true --verify-diagnostics | FileCheck %s

// A group normalisation takes what is elementwise around it, in the shape of
// its operand.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Add_GroupNorm_Multiply_ReLU(
// CHECK-NEXT:    return
func.func @main(%x: tensor<2x8x5xf32>, %y: tensor<2x8x5xf32>, %g: tensor<8x1xf32>) -> tensor<2x8x5xf32> {
  %0 = graph.Add %x, %y : (tensor<2x8x5xf32>, tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  %1 = graph.GroupNorm %0 {groups = 4, keep_stats = false, use_affine = false, data_format = "NCX"} : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  %2 = graph.Multiply %1, %g : (tensor<2x8x5xf32>, tensor<8x1xf32>) -> tensor<2x8x5xf32>
  %3 = graph.ReLU %2 : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %3 : tensor<2x8x5xf32>
}

// -----

// Other groups are other rows.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_GroupNorm(
// CHECK-NEXT:    call @g_GroupNorm_1(
func.func @main(%x: tensor<2x8x5xf32>) -> tensor<2x8x5xf32> {
  %0 = graph.GroupNorm %x {groups = 4, keep_stats = false, use_affine = false, data_format = "NCX"} : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  // expected-remark @+1 {{it reduces other dimensions than the group: 2,3 (2 groups), not 2,3 (4 groups)}}
  %1 = graph.GroupNorm %0 {groups = 2, keep_stats = false, use_affine = false, data_format = "NCX"} : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  return %1 : tensor<2x8x5xf32>
}

// -----

// A batch normalisation with its activation: statistics leave the group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]]:2 = call @g_BatchNormForwardTraining_Multiply_ReLU(
// CHECK-NEXT:    return
func.func @main(%x: tensor<4x5x8xf32>, %m: tensor<8xf32>, %g: tensor<8xf32>) -> (tensor<4x5x8xf32>, tensor<8xf32>) {
  %0:5 = graph.BatchNormForwardTraining %x, %m, %m {epsilon = 0.1} : (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = graph.Multiply %0#0, %g : (tensor<4x5x8xf32>, tensor<8xf32>) -> tensor<4x5x8xf32>
  %2 = graph.ReLU %1 : (tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return %2, %0#1 : tensor<4x5x8xf32>, tensor<8xf32>
}

// -----

// Statistics lose their dimensions: what reads them is another group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_BatchNormForwardTraining(
// CHECK-NEXT:    call @g_ReLU(%[[R]])
func.func @main(%x: tensor<4x5x8xf32>, %m: tensor<8xf32>) -> tensor<8xf32> {
  %0:5 = graph.BatchNormForwardTraining %x, %m, %m {epsilon = 0.1} : (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  // expected-remark @+1 {{its shape is not that of the group}}
  %1 = graph.ReLU %0#1 : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Two sums of one tensor over the same rows are one pass, also after another
// group; a sum over other rows is not.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Multiply_ReduceSum_ReduceMax(
// CHECK-NEXT:    call @g_ReduceSum(
// CHECK-NEXT:    return
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  %0 = graph.Multiply %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.ReduceSum %0 {axes = [0]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %2 = graph.ReduceMax %y {axes = [0]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %3 = graph.ReduceSum %y {axes = [1]} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}
