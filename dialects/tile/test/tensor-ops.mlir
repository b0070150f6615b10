// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @pack
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<8x40xf32>, %[[B:[a-z0-9]+]]: tensor<2x8x48xf32>, %[[C:[a-z0-9]+]]: tensor<8x?xf32>, %[[D:[a-z0-9]+]]: tensor<3x3x4x32xf32>
// 40 columns are two panels of 24, the second one padded.
// CHECK-NEXT:    tile.pack %[[A]] panel 24 : tensor<8x40xf32> -> tensor<2x8x24xf32>
// Batches stay in front.
// CHECK-NEXT:    tile.pack %[[B]] panel 24 : tensor<2x8x48xf32> -> tensor<2x2x8x24xf32>
// An unknown number of columns is an unknown number of panels.
// CHECK-NEXT:    tile.pack %[[C]] panel 24 : tensor<8x?xf32> -> tensor<?x8x24xf32>
// Groups come first: panels do not cross them.
// CHECK-NEXT:    tile.pack %[[D]] panel 8 groups 2 : tensor<3x3x4x32xf32> -> tensor<2x2x3x3x4x8xf32>
func.func @pack(%a: tensor<8x40xf32>, %b: tensor<2x8x48xf32>, %c: tensor<8x?xf32>, %d: tensor<3x3x4x32xf32>) {
  %0 = tile.pack %a panel 24 : tensor<8x40xf32> -> tensor<2x8x24xf32>
  %1 = tile.pack %b panel 24 : tensor<2x8x48xf32> -> tensor<2x2x8x24xf32>
  %2 = tile.pack %c panel 24 : tensor<8x?xf32> -> tensor<?x8x24xf32>
  %3 = tile.pack %d panel 8 groups 2 : tensor<3x3x4x32xf32> -> tensor<2x2x3x3x4x8xf32>
  return
}

// CHECK-LABEL: func.func @products
// CHECK:         tile.matmul %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<2x8x24xf32> -> tensor<?x40xf32>
// CHECK:         tile.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x6x6x3xf32>, tensor<1x1x3x3x3x8xf32> -> tensor<1x6x6x8xf32>
// CHECK:         tile.conv {{.*}}{depthwise, {{.*}}groups = 8
// CHECK:         tile.conv {{.*}}{depthwise, {{.*}}groups = 2
func.func @products(%x: tensor<?x8xf32>, %p: tensor<2x8x24xf32>, %i: tensor<1x6x6x3xf32>, %w: tensor<1x1x3x3x3x8xf32>, %d: tensor<1x1x1x8xf32>, %g: tensor<1x1x4x8xf32>) -> tensor<1x6x6x8xf32> {
  %0 = tile.matmul %x, %p : tensor<?x8xf32>, tensor<2x8x24xf32> -> tensor<?x40xf32>
  %1 = tile.conv %i, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x6x6x3xf32>, tensor<1x1x3x3x3x8xf32> -> tensor<1x6x6x8xf32>
  %2 = tile.conv %1, %d {depthwise, dilations = array<i64: 1, 1>, groups = 8 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x1x8xf32> -> tensor<1x6x6x8xf32>
  %3 = tile.conv %2, %g {depthwise, dilations = array<i64: 1, 1>, groups = 2 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x8xf32> -> tensor<1x6x6x8xf32>
  return %3 : tensor<1x6x6x8xf32>
}

// Gradients: by data, by weights (packed, as it is, depthwise).
// CHECK-LABEL: func.func @gradients
// CHECK-NEXT:    tile.conv_transpose %{{.*}}, %{{.*}} {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 2>} : tensor<?x6x16xf32>, tensor<1x1x3x16x8xf32> -> tensor<?x12x5xf32>
// CHECK-NEXT:    tile.conv_transpose {{.*}} {depthwise, {{.*}}groups = 16
// CHECK-NEXT:    tile.conv_weights %{{.*}}, %{{.*}} {dilations = array<i64: 1>, groups = 1 : i64, packed, pads_begin = array<i64: 1>, strides = array<i64: 2>} : tensor<?x12x5xf32>, tensor<1x1x?x6x24xf32> -> tensor<3x5x16xf32>
// CHECK-NEXT:    tile.conv_weights {{.*}} {depthwise,
func.func @gradients(%x: tensor<?x6x16xf32>, %p: tensor<1x1x3x16x8xf32>, %d: tensor<3x1x16xf32>, %b: tensor<?x12x5xf32>, %q: tensor<1x1x?x6x24xf32>) {
  %0 = tile.conv_transpose %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 2>} : tensor<?x6x16xf32>, tensor<1x1x3x16x8xf32> -> tensor<?x12x5xf32>
  %1 = tile.conv_transpose %x, %d {depthwise, dilations = array<i64: 1>, groups = 16 : i64, pads_begin = array<i64: 1>, strides = array<i64: 2>} : tensor<?x6x16xf32>, tensor<3x1x16xf32> -> tensor<?x12x16xf32>
  %2 = tile.conv_weights %b, %q {dilations = array<i64: 1>, groups = 1 : i64, packed, pads_begin = array<i64: 1>, strides = array<i64: 2>} : tensor<?x12x5xf32>, tensor<1x1x?x6x24xf32> -> tensor<3x5x16xf32>
  %3 = tile.conv_weights %x, %x {depthwise, dilations = array<i64: 1>, groups = 16 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<?x6x16xf32>, tensor<?x6x16xf32> -> tensor<3x1x16xf32>
  return
}

// By Winograd: 4x4 points for 3x3 taps; the batch may be unknown.
// CHECK-LABEL: func.func @winograd
// CHECK-NEXT:    %[[U:.*]] = tile.winograd_weights %{{.*}} outputs 2 : tensor<3x3x8x40xf32> -> tensor<4x4x8x40xf32>
// CHECK-NEXT:    %[[P:.*]] = tile.pack %[[U]] panel 24 groups 1 : tensor<4x4x8x40xf32> -> tensor<1x2x4x4x8x24xf32>
// CHECK-NEXT:    tile.winograd %{{.*}}, %[[P]] outputs 2 {pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 2>} : tensor<?x6x7x8xf32>, tensor<1x2x4x4x8x24xf32> -> tensor<?x6x7x40xf32>
func.func @winograd(%x: tensor<?x6x7x8xf32>, %w: tensor<3x3x8x40xf32>) -> tensor<?x6x7x40xf32> {
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x3x8x40xf32> -> tensor<4x4x8x40xf32>
  %1 = tile.pack %0 panel 24 groups 1 : tensor<4x4x8x40xf32> -> tensor<1x2x4x4x8x24xf32>
  %2 = tile.winograd %x, %1 outputs 2 {pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 2>} : tensor<?x6x7x8xf32>, tensor<1x2x4x4x8x24xf32> -> tensor<?x6x7x40xf32>
  return %2 : tensor<?x6x7x40xf32>
}

// 6x6 points for tiles of 4 x 4.
// CHECK-LABEL: func.func @winograd_of_four
// CHECK-NEXT:    %[[U:.*]] = tile.winograd_weights %{{.*}} outputs 4 : tensor<3x3x8x40xf32> -> tensor<6x6x8x40xf32>
// CHECK-NEXT:    tile.winograd %{{.*}}, %{{.*}} outputs 4 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x7x8xf32>, tensor<1x2x6x6x8x24xf32> -> tensor<1x6x7x40xf32>
func.func @winograd_of_four(%x: tensor<1x6x7x8xf32>, %w: tensor<3x3x8x40xf32>, %p: tensor<1x2x6x6x8x24xf32>) -> tensor<1x6x7x40xf32> {
  %0 = tile.winograd_weights %w outputs 4 : tensor<3x3x8x40xf32> -> tensor<6x6x8x40xf32>
  %1 = tile.winograd %x, %p outputs 4 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x7x8xf32>, tensor<1x2x6x6x8x24xf32> -> tensor<1x6x7x40xf32>
  return %1 : tensor<1x6x7x40xf32>
}

// Quantized weights: 2 groups of 4 rows of scales and 16 of two quantized weights to a
// byte, and 3 panels of 16 for 40 columns.
// CHECK-LABEL: func.func @quantized
// CHECK-NEXT:    %[[P:.*]] = tile.pack_quantized %{{.*}} scales %{{.*}} panel 16 quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<64x40xsi8>, tensor<2x40xf32> -> tensor<3x40x16xui8>
// CHECK-NEXT:    tile.matmul %{{.*}}, %[[P]] quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<?x64xbf16>, tensor<3x40x16xui8> -> tensor<?x40xf32>
func.func @quantized(%x: tensor<?x64xbf16>, %w: tensor<64x40xsi8>, %s: tensor<2x40xf32>) -> tensor<?x40xf32> {
  %0 = tile.pack_quantized %w scales %s panel 16 quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<64x40xsi8>, tensor<2x40xf32> -> tensor<3x40x16xui8>
  %1 = tile.matmul %x, %0 quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<?x64xbf16>, tensor<3x40x16xui8> -> tensor<?x40xf32>
  return %1 : tensor<?x40xf32>
}

// The same for floats that become bytes: of each group 16 of scale and sums,
// then 3 times 32.
// CHECK-LABEL: func.func @slices
// CHECK-NEXT:    %[[D:.*]] = tile.to_int8_slices %{{.*}} quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<?x64xbf16> -> tensor<?x224xui8>
// CHECK-NEXT:    tile.matmul %[[D]], %{{.*}} quantized <{{.*}}, slices = 3> : tensor<?x224xui8>, tensor<3x40x16xui8> -> tensor<?x40xf32>
func.func @slices(%x: tensor<?x64xbf16>, %p: tensor<3x40x16xui8>) -> tensor<?x40xf32> {
  %0 = tile.to_int8_slices %x quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<?x64xbf16> -> tensor<?x224xui8>
  %1 = tile.matmul %0, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false, slices = 3> : tensor<?x224xui8>, tensor<3x40x16xui8> -> tensor<?x40xf32>
  return %1 : tensor<?x40xf32>
}

// CHECK-LABEL: func @flip
// CHECK:         tile.flip %{{.*}} : tensor<3x5x8x16xf32>
func.func @flip(%w: tensor<3x5x8x16xf32>) -> tensor<3x5x8x16xf32> {
  %0 = tile.flip %w : tensor<3x5x8x16xf32>
  return %0 : tensor<3x5x8x16xf32>
}
