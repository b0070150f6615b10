// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// Windows within a channel are average pooling of squares. The average counts
// padding, and the factor makes a sum of it: 2 * (3 * 3) / (4 * 4), as a window
// of 4 is 3 wide.
// CHECK-LABEL: func @within
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x5x6xf32>
// CHECK:         %[[S:.*]] = graph.Multiply %[[X]], %[[X]]
// CHECK:         %[[A:.*]] = graph.AvgPool %[[S]] {{.*}}data_format = "NCX", exclude_pad = false, kernel = {{.*}}3, 3{{.*}}pads_begin = {{.*}}1, 1
// CHECK:         arith.constant dense<1.125000e+00>
// CHECK:         %[[W:.*]] = graph.Add
// CHECK:         %[[P:.*]] = graph.Pow %[[W]] {beta = -7.500000e-01
// CHECK:         graph.Multiply %[[X]], %[[P]]
// CHECK-NOT:     graph.LRN
func.func @within(%x: tensor<2x8x5x6xf32>) -> tensor<2x8x5x6xf32> {
  %0 = graph.LRN %x {algorithm = "within_channel", size = 4 : si64, alpha = 2.0 : f32, data_format = "NCX"} : (tensor<2x8x5x6xf32>) -> tensor<2x8x5x6xf32>
  return %0 : tensor<2x8x5x6xf32>
}

// -----

// CHECK-LABEL: func @within_backward
// CHECK:         graph.AvgPool
// CHECK:         graph.Divide
// CHECK:         graph.AvgPool
// CHECK:         graph.Subtract
// CHECK-NOT:     graph.LRN
func.func @within_backward(%x: tensor<2x5x6x8xf32>, %d: tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32> {
  %0 = graph.LRNBackward %x, %d {algorithm = "within_channel"} : (tensor<2x5x6x8xf32>, tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32>
  return %0 : tensor<2x5x6x8xf32>
}

// -----

// Of narrow floats nothing between is rounded.
// CHECK-LABEL: func @within_narrow
// CHECK:         graph.AvgPool %{{.*}} : (tensor<2x8x5x6xf32>)
// CHECK:         graph.Pow
// CHECK:         %[[Y:.*]] = graph.Multiply %{{.*}} -> tensor<2x8x5x6xf32>
// CHECK:         graph.TypeCast %[[Y]] {tile.implicit_cast = unit}
func.func @within_narrow(%x: tensor<2x8x5x6xbf16>) -> tensor<2x8x5x6xbf16> {
  %0 = graph.LRN %x {algorithm = "within_channel"} : (tensor<2x8x5x6xbf16>) -> tensor<2x8x5x6xbf16>
  return %0 : tensor<2x8x5x6xbf16>
}

// -----

// Across channels there is a lowering of its own.
// CHECK-LABEL: func @across
// CHECK-NEXT:    graph.LRN
// CHECK-NEXT:    return
func.func @across(%x: tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32> {
  %0 = graph.LRN %x : (tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32>
  return %0 : tensor<2x5x6x8xf32>
}
