// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// scale = gamma / sqrt(variance + eps): with constant statistics computed once.
// The difference is that of halves, which no finite numbers make infinite.
// CHECK-LABEL: func @batch_norm
// CHECK-SAME:    %[[X:.*]]: tensor<2x5x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[M:.*]]: tensor<8xf32>, %[[V:.*]]: tensor<8xf32>
// CHECK:         %[[EPS:.*]] = arith.constant dense<1.250000e-01> : tensor<f32>
// CHECK:         %[[VE:.*]] = graph.Add %[[V]], %[[EPS]]
// CHECK:         %[[D:.*]] = graph.Sqrt %[[VE]]
// CHECK:         %[[SCALE:.*]] = graph.Divide %[[G]], %[[D]]
// CHECK:         %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK:         %[[X2:.*]] = graph.Multiply %[[X]], %[[HALF]]
// CHECK:         %[[M2:.*]] = graph.Multiply %[[M]], %{{.*}} : (tensor<8xf32>, tensor<f32>)
// CHECK:         %[[C:.*]] = graph.Subtract %[[X2]], %[[M2]] : (tensor<2x5x8xf32>, tensor<8xf32>)
// CHECK:         %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[S2:.*]] = graph.Multiply %[[SCALE]], %[[TWO]] : (tensor<8xf32>, tensor<f32>)
// CHECK:         %[[P:.*]] = graph.Multiply %[[C]], %[[S2]] : (tensor<2x5x8xf32>, tensor<8xf32>)
// CHECK:         graph.Add %[[P]], %[[B]]
// CHECK-NOT:     BatchNorm
func.func @batch_norm(%x: tensor<2x5x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>,
                      %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %0 = graph.BatchNormInference %x, %g, %b, %m, %v {epsilon = 0.125} : (tensor<2x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// -----

// Of narrow floats nothing between is rounded.
// CHECK-LABEL: func @batch_norm_narrow
// CHECK:         graph.Multiply %{{.*}} : (tensor<2x5x8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
// CHECK:         %[[Y:.*]] = graph.Add %{{.*}} : (tensor<2x5x8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
// CHECK:         graph.TypeCast %[[Y]] {tile.implicit_cast = unit}
func.func @batch_norm_narrow(%x: tensor<2x5x8xbf16>, %g: tensor<8xbf16>, %b: tensor<8xbf16>,
                             %m: tensor<8xbf16>, %v: tensor<8xbf16>) -> tensor<2x5x8xbf16> {
  %0 = graph.BatchNormInference %x, %g, %b, %m, %v {epsilon = 0.125} : (tensor<2x5x8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<2x5x8xbf16>
  return %0 : tensor<2x5x8xbf16>
}

// -----

// After a product, with a bias or not, beta - mean * scale is a vector of its own.
// CHECK-LABEL: func @batch_norm_of_product
// CHECK:         %[[Y:.*]] = graph.MatMul
// CHECK:         %[[Z:.*]] = graph.Add %[[Y]]
// CHECK:         %[[SCALE:.*]] = graph.Divide
// CHECK:         %[[MS:.*]] = graph.Multiply %{{.*}}, %[[SCALE]] : (tensor<8xf32>, tensor<8xf32>)
// CHECK:         %[[SHIFT:.*]] = graph.Subtract %{{.*}}, %[[MS]]
// CHECK:         %[[P:.*]] = graph.Multiply %[[Z]], %[[SCALE]]
// CHECK:         graph.Add %[[P]], %[[SHIFT]]
func.func @batch_norm_of_product(%x: tensor<5x4xf32>, %w: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>,
                                 %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<5x8xf32> {
  %0 = graph.MatMul %x, %w, %b : (tensor<5x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  %1 = graph.BatchNormInference %0, %g, %b, %m, %v {epsilon = 0.125} : (tensor<5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return %1 : tensor<5x8xf32>
}

// -----

// In NCX data channels are dimension 1.
// CHECK-LABEL: func @batch_norm_ncx
// CHECK:         %[[MEAN:.*]] = graph.StaticReshape %{{.*}} {shape = [8, 1]
// CHECK:         graph.Subtract %{{.*}}, %[[MEAN]] : (tensor<2x8x5xf32>, tensor<8x1xf32>)
// CHECK:         %[[SCALE:.*]] = graph.StaticReshape %{{.*}} {shape = [8, 1]
// CHECK:         graph.Multiply %{{.*}}, %[[SCALE]] : (tensor<2x8x5xf32>, tensor<8x1xf32>)
// CHECK:         %[[SHIFT:.*]] = graph.StaticReshape %{{.*}} {shape = [8, 1]
// CHECK:         graph.Add %{{.*}}, %[[SHIFT]] : (tensor<2x8x5xf32>, tensor<8x1xf32>)
func.func @batch_norm_ncx(%x: tensor<2x8x5xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>,
                          %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<2x8x5xf32> {
  %0 = graph.BatchNormInference %x, %g, %b, %m, %v {epsilon = 0.125, data_format = "NCX"} : (tensor<2x8x5xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}

// -----

// CHECK-LABEL: func @bias_add
// CHECK-NEXT:    graph.Add %{{.*}} : (tensor<2x5x8xf32>, tensor<8xf32>)
// CHECK-NEXT:    return
func.func @bias_add(%x: tensor<2x5x8xf32>, %b: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %0 = graph.BiasAdd %x, %b : (tensor<2x5x8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// -----

// CHECK-LABEL: func @bias_add_ncx
// CHECK:         %[[B:.*]] = graph.StaticReshape %{{.*}} {shape = [8, 1]
// CHECK:         graph.Add %{{.*}}, %[[B]]
func.func @bias_add_ncx(%x: tensor<2x8x5xf32>, %b: tensor<8xf32>) -> tensor<2x8x5xf32> {
  %0 = graph.BiasAdd %x, %b {data_format = "NCX"} : (tensor<2x8x5xf32>, tensor<8xf32>) -> tensor<2x8x5xf32>
  return %0 : tensor<2x8x5xf32>
}

// -----

// CHECK-LABEL: func @layer_norm
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.LayerNorm %[[X]] {{.*}}epsilon = 1.000000e-01{{.*}}use_affine = false
// CHECK-NEXT:    %[[S:.*]] = graph.Multiply %[[Y]], %[[G]]
// CHECK-NEXT:    graph.Add %[[S]], %[[B]]
func.func @layer_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.LayerNorm %x, %g, %b {keep_stats = false, epsilon = 0.1} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The statistics are those of the operation without affine parameters.
// CHECK-LABEL: func @layer_norm_stats
// CHECK:         %[[Y:.*]], %[[MEAN:.*]], %[[VAR:.*]] = graph.LayerNorm %{{[^,]*}} {
// CHECK:         %[[R:.*]] = graph.Add
// CHECK:         return %[[R]], %[[MEAN]], %[[VAR]]
func.func @layer_norm_stats(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = graph.LayerNorm %x, %g, %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// RMSNorm has gamma only.
// CHECK-LABEL: func @rms_norm
// CHECK-NEXT:    %[[Y:.*]] = graph.RMSNorm %{{[^,]*}} {
// CHECK-NEXT:    %[[S:.*]] = graph.Multiply %[[Y]]
// CHECK-NEXT:    return %[[S]]
func.func @rms_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = graph.RMSNorm %x, %g {epsilon = 0.1} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Declines: no affine parameters.
// CHECK-LABEL: func @layer_norm_plain
// CHECK-NEXT:    graph.LayerNorm
// CHECK-NEXT:    return
func.func @layer_norm_plain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.LayerNorm %x {keep_stats = false, use_affine = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A slope per channel of NCX data gets its dims; a single slope keeps its form.
// CHECK-LABEL: func @prelu
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x5xf32>, %[[S:.*]]: tensor<8xf32>, %[[ONE:.*]]: tensor<1xf32>
// CHECK-NEXT:    %[[R:.*]] = graph.StaticReshape %[[S]] {shape = [8, 1]
// CHECK-NEXT:    %[[Y:.*]] = graph.PReLU %[[X]], %[[R]]
// CHECK-NEXT:    graph.PReLU %[[Y]], %[[ONE]]
// CHECK-NEXT:    return
func.func @prelu(%x: tensor<2x8x5xf32>, %s: tensor<8xf32>, %one: tensor<1xf32>) -> tensor<2x8x5xf32> {
  %0 = graph.PReLU %x, %s {data_format = "NCX"} : (tensor<2x8x5xf32>, tensor<8xf32>) -> tensor<2x8x5xf32>
  %1 = graph.PReLU %0, %one {data_format = "NCX", per_channel_broadcast = false} : (tensor<2x8x5xf32>, tensor<1xf32>) -> tensor<2x8x5xf32>
  return %1 : tensor<2x8x5xf32>
}

// -----

// One result only: statistics are constants, src is not read, and what only it
// needed goes too.
// CHECK-LABEL: func @dead_operand
// CHECK-NOT:     graph.Exp
// CHECK-NOT:     graph.Abs
// CHECK:         graph.Divide
func.func @dead_operand(%x: tensor<2x5x8xf32>, %d: tensor<2x5x8xf32>, %g: tensor<8xf32>,
                        %m: tensor<8xf32>, %v: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %0 = graph.Abs %x : (tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %1 = graph.Exp %0 : (tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %2 = graph.BatchNormTrainingBackward %1, %d, %m, %v, %g {epsilon = 0.125} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x5x8xf32>
  return %2 : tensor<2x5x8xf32>
}

// -----

// One result; src says how many rows there are.
// CHECK-LABEL: func @batch_norm_backward
// CHECK:         %[[Y:.*]] = graph.Divide %{{.*}} : (tensor<?x13xf32>, tensor<13xf32>) -> tensor<64x13xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @batch_norm_backward(%x: tensor<64x13xf32>, %d: tensor<?x13xf32>, %m: tensor<13xf32>, %v: tensor<13xf32>) -> tensor<64x13xf32> {
  %0 = graph.BatchNormTrainingBackward %x, %d, %m, %v {epsilon = 0.5} : (tensor<64x13xf32>, tensor<?x13xf32>, tensor<13xf32>, tensor<13xf32>) -> tensor<64x13xf32>
  return %0 : tensor<64x13xf32>
}

// -----

// Rows are those of channel groups; gradients of parameters are sums over a
// view with channels as groups.
// CHECK-LABEL: func @group_norm_backward
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x6xf32>, %[[D:.*]]: tensor<2x5x6xf32>, %[[M:.*]]: tensor<2x3xf32>, %[[V:.*]]: tensor<2x3xf32>, %[[G:.*]]: tensor<6xf32>)
// CHECK:         %[[DG:.*]] = graph.Multiply %[[D]], %[[G]]
// CHECK:         %[[DX:.*]] = graph.GroupNormBackward %[[X]], %[[DG]], %[[M]], %[[V]] {{.*}} -> tensor<2x5x6xf32>
// CHECK-DAG:     graph.StaticReshape %[[X]] {{.*}} -> tensor<2x5x3x2xf32>
// CHECK-DAG:     graph.StaticReshape %[[M]] {{.*}} -> tensor<2x1x3x1xf32>
// CHECK:         graph.ReduceSum %{{.*}} {axes = [0, 1]} : (tensor<2x5x3x2xf32>) -> tensor<3x2xf32>
// CHECK:         %[[SG:.*]] = graph.StaticReshape %{{.*}} -> tensor<6xf32>
// CHECK:         %[[SB:.*]] = graph.StaticReshape %{{.*}} -> tensor<6xf32>
// CHECK:         return %[[DX]], %[[SG]], %[[SB]]
func.func @group_norm_backward(%x: tensor<2x5x6xf32>, %d: tensor<2x5x6xf32>, %m: tensor<2x3xf32>, %v: tensor<2x3xf32>, %g: tensor<6xf32>) -> (tensor<2x5x6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0:3 = graph.GroupNormBackward %x, %d, %m, %v, %g {groups = 3, resultSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<6xf32>) -> (tensor<2x5x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x5x6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Sums of no elements.
// CHECK-LABEL: func @group_norm_backward_of_nothing
// CHECK:         graph.ReduceSum %{{.*}} {axes = [0, 2]{{.*}} -> tensor<?xf32>
func.func @group_norm_backward_of_nothing(%x: tensor<1x?x0xf32>, %d: tensor<1x?x0xf32>, %m: tensor<1x1xf32>, %v: tensor<1x1xf32>)
    -> (tensor<1x?x0xf32>, tensor<?xf32>, tensor<?xf32>) {
  %0:3 = graph.GroupNormBackward %x, %d, %m, %v {groups = 1 : si64, data_format = "NCX"} : (tensor<1x?x0xf32>, tensor<1x?x0xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> (tensor<1x?x0xf32>, tensor<?xf32>, tensor<?xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x?x0xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// CHECK-LABEL: func @rms_norm_backward
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<4x8xf32>, %[[G:.*]]: tensor<8xf32>)
// CHECK:         %[[DG:.*]] = graph.Multiply %[[D]], %[[G]]
// CHECK:         %[[DX:.*]] = graph.RMSNormBackward %[[X]], %[[DG]] {{.*}} -> tensor<4x8xf32>
// CHECK:         %[[N:.*]] = graph.RMSNorm %[[X]]
// CHECK:         %[[T:.*]] = graph.Multiply %[[N]], %[[D]]
// CHECK:         %[[S:.*]] = graph.ReduceSum %[[T]] {axes = [0]}
// CHECK:         return %[[DX]], %[[S]]
func.func @rms_norm_backward(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>, %g: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %0:2 = graph.RMSNormBackward %x, %d, %g : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<8xf32>
}
