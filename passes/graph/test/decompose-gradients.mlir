// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// Gamma and beta of NCX channels need trailing ones; the statistics are those
// of the operation that remains.
// CHECK-LABEL: func @group_norm
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8x5xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:.*]], %[[M:.*]], %[[V:.*]] = graph.GroupNorm %[[X]] {{.*}}use_affine = false
// CHECK-NEXT:    %[[GS:.*]] = graph.StaticReshape %[[G]] {shape = [8, 1]
// CHECK-NEXT:    %[[BS:.*]] = graph.StaticReshape %[[B]] {shape = [8, 1]
// CHECK-NEXT:    %[[S:.*]] = graph.Multiply %[[Y]], %[[GS]]
// CHECK-NEXT:    %[[R:.*]] = graph.Add %[[S]], %[[BS]]
// CHECK-NEXT:    return %[[R]], %[[M]]
func.func @group_norm(%x: tensor<2x8x5xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<2x8x5xf32>, tensor<2x4xf32>) {
  %0:3 = graph.GroupNorm %x, %g, %b {groups = 4, data_format = "NCX"} : (tensor<2x8x5xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x5xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<2x8x5xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func @batch_norm_training
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x5x8xf32>, %[[M:[a-z0-9]+]]: tensor<8xf32>, %[[V:[a-z0-9]+]]: tensor<8xf32>, %[[G:[a-z0-9]+]]: tensor<8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:[^,]*]], %[[RM:[^,]*]], {{.*}} = graph.BatchNormForwardTraining %[[X]], %[[M]], %[[V]] {
// CHECK-NEXT:    %[[S:.*]] = graph.Multiply %[[Y]], %[[G]]
// CHECK-NEXT:    %[[R:.*]] = graph.Add %[[S]], %[[B]]
// CHECK-NEXT:    return %[[R]], %[[RM]]
func.func @batch_norm_training(%x: tensor<4x5x8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<4x5x8xf32>, tensor<8xf32>) {
  %0:5 = graph.BatchNormForwardTraining %x, %m, %v, %g, %b {epsilon = 0.1} : (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<4x5x8xf32>, tensor<8xf32>
}

// -----

// diff_src of a LayerNorm keeps its rows; the sums for gamma and beta are over
// the other dimensions.
// CHECK-LABEL: func @layer_norm_backward
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[D:[a-z0-9]+]]: tensor<4x8xf32>, %[[M:[a-z0-9]+]]: tensor<4xf32>, %[[V:[a-z0-9]+]]: tensor<4xf32>, %[[G:[a-z0-9]+]]: tensor<8xf32>
// CHECK:         %[[DG:.*]] = graph.Multiply %[[D]], %[[G]]
// CHECK:         %[[DX:.*]] = graph.LayerNormBackward %[[X]], %[[DG]], %[[M]], %[[V]] {{.*}}use_affine = false{{.*}} -> tensor<4x8xf32>
// CHECK:         graph.StaticReshape %[[V]] {shape = [4, 1]
// CHECK:         %[[SUM:.*]] = graph.ReduceSum %{{.*}} {axes = [0]} : (tensor<4x8xf32>) -> tensor<8xf32>
// CHECK:         %[[BETA:.*]] = graph.ReduceSum %[[D]] {axes = [0]
// CHECK:         return %[[DX]], %[[SUM]], %[[BETA]]
func.func @layer_norm_backward(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %g: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0:3 = graph.LayerNormBackward %x, %d, %m, %v, %g : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Between a narrow src and gradients in f32 nothing is rounded.
// CHECK-LABEL: func @layer_norm_backward_narrow
// CHECK-DAG:     %[[X:.*]] = graph.TypeCast %arg0 {{.*}} -> tensor<4x8xf32>
// CHECK-DAG:     %[[D:.*]] = graph.TypeCast %arg1 {{.*}} -> tensor<4x8xf32>
// CHECK:         graph.Subtract %[[X]]
// CHECK:         graph.ReduceSum %{{.*}} -> tensor<8xf32>
// CHECK:         graph.ReduceSum %[[D]] {{.*}} -> tensor<8xf32>
// CHECK-NEXT:    return
func.func @layer_norm_backward_narrow(%x: tensor<4x8xf16>, %d: tensor<4x8xf16>, %m: tensor<4xf32>, %v: tensor<4xf32>, %g: tensor<8xf32>)
    -> (tensor<4x8xf16>, tensor<8xf32>, tensor<8xf32>) {
  %0:3 = graph.LayerNormBackward %x, %d, %m, %v, %g : (tensor<4x8xf16>, tensor<4x8xf16>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf16>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x8xf16>, tensor<8xf32>, tensor<8xf32>
}

// -----

// All dimensions but that of the channels.
// CHECK-LABEL: func @bias_backward
// CHECK-NEXT:    graph.ReduceSum %{{.*}} {axes = [0, 2]} : (tensor<2x8x5xf32>) -> tensor<8xf32>
// CHECK-NEXT:    graph.ReduceSum %{{.*}} {axes = [0, 1]} : (tensor<2x8x5xf32>) -> tensor<5xf32>
func.func @bias_backward(%d: tensor<2x8x5xf32>) -> (tensor<8xf32>, tensor<5xf32>) {
  %0 = graph.BiasAddBackward %d {data_format = "NCX"} : (tensor<2x8x5xf32>) -> tensor<8xf32>
  %1 = graph.BiasAddBackward %d : (tensor<2x8x5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<8xf32>, tensor<5xf32>
}

// -----

// With one result the statistics are constants, and nothing is summed.
// CHECK-LABEL: func @batch_norm_backward_inference
// CHECK:         %[[DEV:.*]] = graph.Sqrt
// CHECK-NEXT:    graph.Divide %{{.*}}, %[[DEV]]
// CHECK-NEXT:    return
func.func @batch_norm_backward_inference(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.BatchNormTrainingBackward %x, %d, %m, %v {epsilon = 0.1} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Declines: three results are one pass over rows, and these have no affine part.
// CHECK-LABEL: func @rows
// CHECK-NEXT:    graph.BatchNormTrainingBackward
// CHECK-NEXT:    graph.GroupNorm
// CHECK-NEXT:    graph.LayerNormBackward
// CHECK-NEXT:    return
func.func @rows(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>, %rm: tensor<4xf32>, %rv: tensor<4xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:3 = graph.BatchNormTrainingBackward %x, %d, %m, %v, %m {epsilon = 0.1} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = graph.GroupNorm %x {groups = 4, keep_stats = false, use_affine = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.LayerNormBackward %x, %d, %rm, %rv {use_affine = false} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return %0#0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
