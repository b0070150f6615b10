// RUN: tenon-opt %s --split-input-file --tenon-decompose-graph | FileCheck %s

// Three groups of two channels, six scales: groups and channels side by side
// for the Dequantize, and back for the convolution.
// CHECK-LABEL: func @channels_first
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<2x12x5x4xf32>, %[[W:[a-z0-9]+]]: tensor<12x2x3x3xsi8>
// CHECK:         %[[A:.*]] = graph.StaticReshape %[[W]] {{.*}} -> tensor<3x4x2x3x3xsi8>
// CHECK:         %[[B:.*]] = graph.StaticTranspose %[[A]] {order = [1, 0, 2, 3, 4]}
// CHECK:         %[[C:.*]] = graph.StaticReshape %[[B]] {{.*}} -> tensor<4x6x3x3xsi8>
// CHECK:         %[[D:.*]] = graph.Dequantize %[[C]] {qtype = "per_channel", scales = array<f32: 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00>} {{.*}} -> tensor<4x6x3x3xf32>
// CHECK:         %[[E:.*]] = graph.StaticReshape %[[D]] {{.*}} -> tensor<4x3x2x3x3xf32>
// CHECK:         %[[F:.*]] = graph.StaticTranspose %[[E]] {order = [1, 0, 2, 3, 4]}
// CHECK:         graph.StaticReshape %[[F]] {{.*}} -> tensor<12x2x3x3xf32>
// CHECK-NOT:     Dequantize
func.func @channels_first(%x: tensor<2x12x5x4xf32>, %w: tensor<12x2x3x3xsi8>) -> tensor<2x6x5x4xf32> {
  %0 = graph.Dequantize %w {qtype = "per_channel", axis = 1, scales = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]} : (tensor<12x2x3x3xsi8>) -> tensor<12x2x3x3xf32>
  %1 = graph.ConvTranspose %x, %0 {groups = 3, data_format = "NCX", weights_format = "IOX", strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x12x5x4xf32>, tensor<12x2x3x3xf32>) -> tensor<2x6x5x4xf32>
  return %1 : tensor<2x6x5x4xf32>
}

// -----

// Channels last, after a cast; an axis counted from the back, zero points.
// CHECK-LABEL: func @channels_last
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<2x5x4x12xbf16>, %[[W:[a-z0-9]+]]: tensor<3x3x2x12xsi8>
// CHECK:         %[[A:.*]] = graph.StaticReshape %[[W]] {{.*}} -> tensor<3x3x2x3x4xsi8>
// CHECK:         %[[B:.*]] = graph.StaticTranspose %[[A]] {order = [0, 1, 3, 2, 4]}
// CHECK:         %[[C:.*]] = graph.StaticReshape %[[B]] {{.*}} -> tensor<3x3x6x4xsi8>
// CHECK:         %[[D:.*]] = graph.Dequantize %[[C]] {axis = -2, {{.*}}zps = [1, 2, 3, 4, 5, 6]{{.*}} -> tensor<3x3x6x4xf32>
// CHECK:         %[[E:.*]] = graph.StaticReshape %[[D]] {{.*}} -> tensor<3x3x3x2x4xf32>
// CHECK:         %[[F:.*]] = graph.StaticTranspose %[[E]] {order = [0, 1, 3, 2, 4]}
// CHECK:         %[[G:.*]] = graph.StaticReshape %[[F]] {{.*}} -> tensor<3x3x2x12xf32>
// CHECK:         graph.TypeCast %[[G]]
func.func @channels_last(%x: tensor<2x5x4x12xbf16>, %w: tensor<3x3x2x12xsi8>) -> tensor<2x5x4x6xbf16> {
  %0 = graph.Dequantize %w {qtype = "per_channel", axis = -2, scales = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], zps = [1, 2, 3, 4, 5, 6]} : (tensor<3x3x2x12xsi8>) -> tensor<3x3x2x12xf32>
  %1 = graph.TypeCast %0 : (tensor<3x3x2x12xf32>) -> tensor<3x3x2x12xbf16>
  %2 = graph.ConvTranspose %x, %1 {groups = 3, strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x5x4x12xbf16>, tensor<3x3x2x12xbf16>) -> tensor<2x5x4x6xbf16>
  return %2 : tensor<2x5x4x6xbf16>
}

// -----

// Scales that are operands.
// CHECK-LABEL: func @dynamic
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<3x3x2x12xsi8>, %[[S:[a-z0-9]+]]: tensor<6xf32>
// CHECK:         graph.StaticReshape %[[W]] {{.*}} -> tensor<3x3x2x3x4xsi8>
// CHECK:         graph.DynamicDequantize %{{.*}}, %[[S]] {{.*}} -> tensor<3x3x6x4xf32>
func.func @dynamic(%x: tensor<2x5x4x12xf32>, %w: tensor<3x3x2x12xsi8>, %s: tensor<6xf32>) -> tensor<2x5x4x6xf32> {
  %0 = graph.DynamicDequantize %w, %s {qtype = "per_channel", axis = 2} : (tensor<3x3x2x12xsi8>, tensor<6xf32>) -> tensor<3x3x2x12xf32>
  %1 = graph.ConvTranspose %x, %0 {groups = 3, strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x5x4x12xf32>, tensor<3x3x2x12xf32>) -> tensor<2x5x4x6xf32>
  return %1 : tensor<2x5x4x6xf32>
}

// -----

// Declines: two scales, which the groups share, and one.
// CHECK-LABEL: func @shared
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<12x2x3x3xsi8>
// CHECK:         graph.Dequantize %[[W]]
// CHECK:         graph.Dequantize %[[W]]
func.func @shared(%x: tensor<2x12x5x4xf32>, %w: tensor<12x2x3x3xsi8>) -> (tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>) {
  %0 = graph.Dequantize %w {qtype = "per_channel", axis = 1, scales = [1.0, 2.0]} : (tensor<12x2x3x3xsi8>) -> tensor<12x2x3x3xf32>
  %1 = graph.ConvTranspose %x, %0 {groups = 3, data_format = "NCX", weights_format = "IOX", strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x12x5x4xf32>, tensor<12x2x3x3xf32>) -> tensor<2x6x5x4xf32>
  %2 = graph.Dequantize %w {scales = [1.0]} : (tensor<12x2x3x3xsi8>) -> tensor<12x2x3x3xf32>
  %3 = graph.ConvTranspose %x, %2 {groups = 3, data_format = "NCX", weights_format = "IOX", strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x12x5x4xf32>, tensor<12x2x3x3xf32>) -> tensor<2x6x5x4xf32>
  return %1, %3 : tensor<2x6x5x4xf32>, tensor<2x6x5x4xf32>
}

// -----

// Declines: a convolution whose channels per group are of src.
// CHECK-LABEL: func @all_channels
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<6x4x3x3xsi8>
// CHECK:         graph.Dequantize %[[W]] {axis = 0
func.func @all_channels(%x: tensor<2x12x5x4xf32>, %w: tensor<6x4x3x3xsi8>) -> tensor<2x6x5x4xf32> {
  %0 = graph.Dequantize %w {qtype = "per_channel", axis = 0, scales = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]} : (tensor<6x4x3x3xsi8>) -> tensor<6x4x3x3xf32>
  %1 = graph.Convolution %x, %0 {groups = 3, data_format = "NCX", weights_format = "OIX", strides = [1, 1], dilations = [1, 1], pads_begin = [1, 1], pads_end = [1, 1]} : (tensor<2x12x5x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x5x4xf32>
  return %1 : tensor<2x6x5x4xf32>
}
