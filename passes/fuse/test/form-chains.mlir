// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=65536 --tenon-form-chains=remarks --verify-diagnostics | FileCheck %s

// 512 KiB between two products, and 64 KiB of L2.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @chain_fc1_fc2(%arg0, %arg1, %arg2) {tile.label = "fc1+relu > fc2"} :
// CHECK-NEXT:    return %[[R]]
// CHECK-NOT:   @fc1
// CHECK:       func.func private @chain_fc1_fc2(%[[X:.*]]: tensor<1024x16xf32>, %[[V:.*]]: tensor<3x16x48xf32>, %[[W:.*]]: tensor<1x128x24xf32>) -> tensor<1024x20xf32> attributes {tile.band = 48 : i64, tile.group = #tile.group<chain>}
// CHECK-NEXT:    %[[A:.*]] = tile.matmul %[[X]], %[[V]]
// CHECK-NEXT:    %[[B:.*]] = graph.ReLU %[[A]]
// CHECK-NEXT:    %[[C:.*]] = tile.matmul %[[B]], %[[W]]
// CHECK-NEXT:    return %[[C]]
func.func @main(%x: tensor<1024x16xf32>, %v: tensor<3x16x48xf32>, %w: tensor<1x128x24xf32>) -> tensor<1024x20xf32> {
  %0 = call @fc1(%x, %v) {tile.label = "fc1+relu"} : (tensor<1024x16xf32>, tensor<3x16x48xf32>) -> tensor<1024x128xf32>
  %1 = call @fc2(%0, %w) {tile.label = "fc2"} : (tensor<1024x128xf32>, tensor<1x128x24xf32>) -> tensor<1024x20xf32>
  return %1 : tensor<1024x20xf32>
}
func.func private @fc1(%x: tensor<1024x16xf32>, %p: tensor<3x16x48xf32>) -> tensor<1024x128xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 1 more groups, in bands of 48 of 1024 rows, 22 items: 1048576 bytes stay in L2, 46080 of weights and bands, 1.4 % computed twice}}
  %0 = tile.matmul %x, %p : tensor<1024x16xf32>, tensor<3x16x48xf32> -> tensor<1024x128xf32>
  %1 = graph.ReLU %0 : (tensor<1024x128xf32>) -> tensor<1024x128xf32>
  return %1 : tensor<1024x128xf32>
}
func.func private @fc2(%x: tensor<1024x128xf32>, %p: tensor<1x128x24xf32>) -> tensor<1024x20xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 1 more groups, in bands of 48 of 1024 rows, 22 items: 1048576 bytes stay in L2, 46080 of weights and bands, 1.4 % computed twice}}
  %0 = tile.matmul %x, %p : tensor<1024x128xf32>, tensor<1x128x24xf32> -> tensor<1024x20xf32>
  return %0 : tensor<1024x20xf32>
}

// -----

// What is between them stays in L2 as it is.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: call @fc
func.func @main(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = call @fc1(%x, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %1 = call @fc2(%0, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %2 = call @fc1(%y, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %3 = call @fc2(%2, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  return %1, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
func.func private @fc1(%x: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> tensor<16x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
  %1 = graph.ReLU %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
func.func private @fc2(%x: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> tensor<16x16xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{not in bands with the group before it: the 1024 bytes between stay in L2 until they are read, with 3072 more}}
  %0 = tile.matmul %x, %p : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// -----

// Weights do not fit L2.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @fc
func.func @main(%x: tensor<64x128xf32>, %v: tensor<8x128x48xf32>, %w: tensor<3x384x48xf32>) -> tensor<64x128xf32> {
  %0 = call @fc1(%x, %v) : (tensor<64x128xf32>, tensor<8x128x48xf32>) -> tensor<64x384xf32>
  %1 = call @fc2(%0, %w) : (tensor<64x384xf32>, tensor<3x384x48xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}
func.func private @fc1(%x: tensor<64x128xf32>, %p: tensor<8x128x48xf32>) -> tensor<64x384xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<64x128xf32>, tensor<8x128x48xf32> -> tensor<64x384xf32>
  return %0 : tensor<64x384xf32>
}
func.func private @fc2(%x: tensor<64x384xf32>, %p: tensor<3x384x48xf32>) -> tensor<64x128xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{not in bands with the group before it: weights and rows take 430080 bytes at least, of 49152 of L2}}
  %0 = tile.matmul %x, %p : tensor<64x384xf32>, tensor<3x384x48xf32> -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// -----

// An inverted residual. A second one after it would compute rows three times.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @chain_expand_dw(
// CHECK-NEXT:    call @dw2(
func.func @main(%x: tensor<1x28x28x8xf32>, %p: tensor<1x2x1x1x8x48xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = call @expand(%x, %p) : (tensor<1x28x28x8xf32>, tensor<1x2x1x1x8x48xf32>) -> tensor<1x28x28x64xf32>
  %1 = call @dw(%0, %w) : (tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x28x28x64xf32>
  %2 = call @dw2(%1, %w) : (tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x28x28x64xf32>
  return %2 : tensor<1x28x28x64xf32>
}
func.func private @expand(%x: tensor<1x28x28x8xf32>, %p: tensor<1x2x1x1x8x48xf32>) -> tensor<1x28x28x64xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 1 more groups, in bands of 3 of 28 rows, 10 items: 401408 bytes stay in L2, 41216 of weights and bands, 37.0 % computed twice}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x28x28x8xf32>, tensor<1x2x1x1x8x48xf32> -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
func.func private @dw(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<1x28x28x64xf32> attributes {tile.group = #tile.group<window>} {
  // expected-remark @+1 {{computed with 1 more groups, in bands of 3 of 28 rows, 10 items: 401408 bytes stay in L2, 41216 of weights and bands, 37.0 % computed twice}}
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 64 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
func.func private @dw2(%x: tensor<1x28x28x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<1x28x28x64xf32> attributes {tile.group = #tile.group<window>} {
  // expected-remark @+1 {{not in bands with the group before it}}
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 64 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// -----

// The gate of an MLP: the second product reads the first beside it, the third
// their product.
// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = call @[[CHAIN:chain_[a-z0-9_]*]](%arg0, %arg1, %arg0, %arg1, %arg2)
// CHECK-NEXT:    return %[[C]]
// CHECK:       func.func private @[[CHAIN]](%[[X:.*]]: tensor<1024x16xf32>, %[[P:.*]]: tensor<3x16x48xf32>, %[[Y:.*]]: tensor<1024x16xf32>, %[[Q:.*]]: tensor<3x16x48xf32>
// CHECK:         %[[A:.*]] = tile.matmul %[[X]], %[[P]]
// CHECK:         %[[G:.*]] = graph.Sigmoid %[[A]]
// CHECK:         %[[B:.*]] = tile.matmul %[[Y]], %[[Q]]
// CHECK:         %[[M:.*]] = graph.Multiply %[[B]], %[[G]]
// CHECK:         tile.matmul %[[M]]
func.func @main(%x: tensor<1024x16xf32>, %v: tensor<3x16x48xf32>, %w: tensor<1x128x24xf32>) -> tensor<1024x20xf32> {
  %0 = call @gate(%x, %v) : (tensor<1024x16xf32>, tensor<3x16x48xf32>) -> tensor<1024x128xf32>
  %1 = call @up(%x, %v, %0) : (tensor<1024x16xf32>, tensor<3x16x48xf32>, tensor<1024x128xf32>) -> tensor<1024x128xf32>
  %2 = call @down(%1, %w) : (tensor<1024x128xf32>, tensor<1x128x24xf32>) -> tensor<1024x20xf32>
  return %2 : tensor<1024x20xf32>
}
func.func private @gate(%x: tensor<1024x16xf32>, %p: tensor<3x16x48xf32>) -> tensor<1024x128xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 2 more groups}}
  %0 = tile.matmul %x, %p : tensor<1024x16xf32>, tensor<3x16x48xf32> -> tensor<1024x128xf32>
  %1 = graph.Sigmoid %0 : (tensor<1024x128xf32>) -> tensor<1024x128xf32>
  return %1 : tensor<1024x128xf32>
}
func.func private @up(%x: tensor<1024x16xf32>, %p: tensor<3x16x48xf32>, %g: tensor<1024x128xf32>) -> tensor<1024x128xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 2 more groups}}
  %0 = tile.matmul %x, %p : tensor<1024x16xf32>, tensor<3x16x48xf32> -> tensor<1024x128xf32>
  %1 = graph.Multiply %0, %g : (tensor<1024x128xf32>, tensor<1024x128xf32>) -> tensor<1024x128xf32>
  return %1 : tensor<1024x128xf32>
}
func.func private @down(%x: tensor<1024x128xf32>, %p: tensor<1x128x24xf32>) -> tensor<1024x20xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 2 more groups}}
  %0 = tile.matmul %x, %p : tensor<1024x128xf32>, tensor<1x128x24xf32> -> tensor<1024x20xf32>
  return %0 : tensor<1024x20xf32>
}

// -----

// A convolution with several taps can be the first, as a stem is, not a later
// one; and a Winograd convolution is no member.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = call @chain_stem_dw(
// CHECK-NEXT:    %[[B:.*]] = call @direct(%[[A]]
// CHECK-NEXT:    call @minimal(%[[B]]
func.func @main(%x: tensor<1x112x28x3xf32>, %s: tensor<1x1x3x1x9x48xf32>, %w: tensor<3x3x1x48xf32>, %d: tensor<1x1x3x3x48x24xf32>, %m: tensor<1x1x4x4x24x24xf32>) -> tensor<1x56x14x24xf32> {
  %0 = call @stem(%x, %s) : (tensor<1x112x28x3xf32>, tensor<1x1x3x1x9x48xf32>) -> tensor<1x56x14x48xf32>
  %1 = call @dw(%0, %w) : (tensor<1x56x14x48xf32>, tensor<3x3x1x48xf32>) -> tensor<1x56x14x48xf32>
  %2 = call @direct(%1, %d) : (tensor<1x56x14x48xf32>, tensor<1x1x3x3x48x24xf32>) -> tensor<1x56x14x24xf32>
  %3 = call @minimal(%2, %m) : (tensor<1x56x14x24xf32>, tensor<1x1x4x4x24x24xf32>) -> tensor<1x56x14x24xf32>
  return %3 : tensor<1x56x14x24xf32>
}
func.func private @stem(%x: tensor<1x112x28x3xf32>, %p: tensor<1x1x3x1x9x48xf32>) -> tensor<1x56x14x48xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{computed with 1 more groups}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1, 1>, groups = 1 : i64, joined = 3 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x112x28x3xf32>, tensor<1x1x3x1x9x48xf32> -> tensor<1x56x14x48xf32>
  return %0 : tensor<1x56x14x48xf32>
}
func.func private @dw(%x: tensor<1x56x14x48xf32>, %w: tensor<3x3x1x48xf32>) -> tensor<1x56x14x48xf32> attributes {tile.group = #tile.group<window>} {
  // expected-remark @+1 {{computed with 1 more groups}}
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 48 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x56x14x48xf32>, tensor<3x3x1x48xf32> -> tensor<1x56x14x48xf32>
  return %0 : tensor<1x56x14x48xf32>
}
func.func private @direct(%x: tensor<1x56x14x48xf32>, %p: tensor<1x1x3x3x48x24xf32>) -> tensor<1x56x14x24xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{not in bands with the group before it: only the first may be a convolution with several taps or strides}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x56x14x48xf32>, tensor<1x1x3x3x48x24xf32> -> tensor<1x56x14x24xf32>
  return %0 : tensor<1x56x14x24xf32>
}
func.func private @minimal(%x: tensor<1x56x14x24xf32>, %p: tensor<1x1x4x4x24x24xf32>) -> tensor<1x56x14x24xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-remark @+1 {{not in bands with the group before it: Winograd transforms whole images}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x56x14x24xf32>, tensor<1x1x4x4x24x24xf32> -> tensor<1x56x14x24xf32>
  return %0 : tensor<1x56x14x24xf32>
}
