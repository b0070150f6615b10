// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Depthwise with 3x3 taps: every place in a row and every kind of row has its
// taps written out, nine in the middle. Weights are operands along channels
// only; columns pass together. ReLU is part of the same pass.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 8 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// The first row, then those between, then the last.
// CHECK:         scf.if
// CHECK-COUNT-3:   linalg.generic
// CHECK:         } else {
// CHECK:         scf.if
// CHECK:           linalg.generic
// CHECK:           linalg.generic
// CHECK-SAME:        memref<6x32xf32
// CHECK-SAME:        outs({{.*}} : memref<6x32xf32
// CHECK-SAME:        attrs = {codegen.jam = 0 : i64}
// CHECK-COUNT-9:     arith.mulf
// CHECK:             arith.select
// CHECK:             linalg.yield
// CHECK:           linalg.generic
// CHECK:         } else {
// CHECK-COUNT-3:   linalg.generic
// CHECK-NOT:     linalg.generic
func.func @main(%x: tensor<1x8x8x32xf32>, %w: tensor<3x3x1x32xf32>) -> tensor<1x8x8x32xf32> {
  %0 = call @g(%x, %w) {tile.label = "dw"} : (tensor<1x8x8x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}
func.func private @g(%x: tensor<1x8x8x32xf32>, %w: tensor<3x3x1x32xf32>) -> tensor<1x8x8x32xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x8x8x32xf32>, tensor<3x3x1x32xf32> -> tensor<1x8x8x32xf32>
  %1 = graph.ReLU %0 : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %1 : tensor<1x8x8x32xf32>
}

// -----

// 5x5 taps in 25 places would be 625 products: a loop over rows of taps, and
// those of a row in the five places of a row written out.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 8 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:         linalg.generic
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-COUNT-3:   arith.mulf
// CHECK-COUNT-4: arith.mulf
// CHECK-COUNT-5: arith.mulf
// CHECK-COUNT-4: arith.mulf
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT:     arith.mulf
// CHECK-NOT:     codegen.jam
func.func @main(%x: tensor<1x8x8x32xf32>, %w: tensor<5x5x1x32xf32>) -> tensor<1x8x8x32xf32> {
  %0 = call @g(%x, %w) {tile.label = "dw"} : (tensor<1x8x8x32xf32>, tensor<5x5x1x32xf32>) -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}
func.func private @g(%x: tensor<1x8x8x32xf32>, %w: tensor<5x5x1x32xf32>) -> tensor<1x8x8x32xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 2, 2>, pads_end = array<i64: 2, 2>, strides = array<i64: 1, 1>} : tensor<1x8x8x32xf32>, tensor<5x5x1x32xf32> -> tensor<1x8x8x32xf32>
  return %0 : tensor<1x8x8x32xf32>
}

// -----

// Many channels: 32 at a time, whose weights stay in L1, are items.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 24 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [2, 32, %{{.*}}], strides: [96, 1, 768]
func.func @main(%x: tensor<1x8x8x96xf32>, %w: tensor<7x7x1x96xf32>) -> tensor<1x8x8x96xf32> {
  %0 = call @g(%x, %w) {tile.label = "dw"} : (tensor<1x8x8x96xf32>, tensor<7x7x1x96xf32>) -> tensor<1x8x8x96xf32>
  return %0 : tensor<1x8x8x96xf32>
}
func.func private @g(%x: tensor<1x8x8x96xf32>, %w: tensor<7x7x1x96xf32>) -> tensor<1x8x8x96xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 96 : i64, pads_begin = array<i64: 3, 3>, pads_end = array<i64: 3, 3>, strides = array<i64: 1, 1>} : tensor<1x8x8x96xf32>, tensor<7x7x1x96xf32> -> tensor<1x8x8x96xf32>
  return %0 : tensor<1x8x8x96xf32>
}

// -----

// A pooling: what follows passes over each stretch, here with an epilogue operand that has
// one value per channel.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK:           arith.mulf
func.func @main(%x: tensor<1x8x8x32xf32>, %s: tensor<32xf32>) -> tensor<1x4x4x32xf32> {
  %0 = call @g(%x, %s) {tile.label = "pool"} : (tensor<1x8x8x32xf32>, tensor<32xf32>) -> tensor<1x4x4x32xf32>
  return %0 : tensor<1x4x4x32xf32>
}
func.func private @g(%x: tensor<1x8x8x32xf32>, %s: tensor<32xf32>) -> tensor<1x4x4x32xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPool %x {data_format = "NXC", dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  %1 = graph.Multiply %0, %s : (tensor<1x4x4x32xf32>, tensor<32xf32>) -> tensor<1x4x4x32xf32>
  return %1 : tensor<1x4x4x32xf32>
}

// -----

// Maxima of bytes are bytes, in dst; no number is widened.
// CHECK-LABEL: func.func private @bytes.l(
// CHECK-NOT:     memref.view
// CHECK:         linalg.generic {{.*}}memref<{{.*}}xi8
// CHECK:           arith.maxui {{.*}} : i8
// CHECK-NOT:     f32
// CHECK:         return
func.func @main(%x: tensor<1x8x8x32xui8>) -> tensor<1x4x4x32xui8> {
  %0 = call @bytes(%x) {tile.label = "bytes"} : (tensor<1x8x8x32xui8>) -> tensor<1x4x4x32xui8>
  return %0 : tensor<1x4x4x32xui8>
}
func.func private @bytes(%x: tensor<1x8x8x32xui8>) -> tensor<1x4x4x32xui8> attributes {tile.group = #tile.group<window>} {
  %0 = graph.TypeCast %x : (tensor<1x8x8x32xui8>) -> tensor<1x8x8x32xf32>
  %1 = graph.MaxPool %0 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  %2 = graph.TypeCast %1 : (tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xui8>
  return %2 : tensor<1x4x4x32xui8>
}

// -----

// Of signed bytes in scratch memory, where dst is not theirs; averages are sums
// of numbers, widened at each tap.
// CHECK-LABEL: func.func private @most.l(
// CHECK:         memref.view {{.*}} to memref<128xi8>
// CHECK:           arith.maxsi {{.*}} : i8
// CHECK:           arith.sitofp
// CHECK-LABEL: func.func private @mean.l(
// CHECK:         memref.view {{.*}} to memref<128xf32>
// CHECK:           arith.sitofp
// CHECK:           arith.addf
// CHECK-NOT:     arith.max{{.*}} : i8
func.func @main(%x: tensor<1x8x8x32xsi8>) -> (tensor<1x4x4x32xbf16>, tensor<1x4x4x32xbf16>) {
  %0 = call @most(%x) {tile.label = "most"} : (tensor<1x8x8x32xsi8>) -> tensor<1x4x4x32xbf16>
  %1 = call @mean(%x) {tile.label = "mean"} : (tensor<1x8x8x32xsi8>) -> tensor<1x4x4x32xbf16>
  return %0, %1 : tensor<1x4x4x32xbf16>, tensor<1x4x4x32xbf16>
}
func.func private @most(%x: tensor<1x8x8x32xsi8>) -> tensor<1x4x4x32xbf16> attributes {tile.group = #tile.group<window>} {
  %0 = graph.TypeCast %x : (tensor<1x8x8x32xsi8>) -> tensor<1x8x8x32xf32>
  %1 = graph.MaxPool %0 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  %2 = graph.TypeCast %1 : (tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xbf16>
  return %2 : tensor<1x4x4x32xbf16>
}
func.func private @mean(%x: tensor<1x8x8x32xsi8>) -> tensor<1x4x4x32xbf16> attributes {tile.group = #tile.group<window>} {
  %0 = graph.TypeCast %x : (tensor<1x8x8x32xsi8>) -> tensor<1x8x8x32xf32>
  %1 = graph.AvgPool %0 {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], exclude_pad = true} : (tensor<1x8x8x32xf32>) -> tensor<1x4x4x32xf32>
  %2 = graph.TypeCast %1 : (tensor<1x4x4x32xf32>) -> tensor<1x4x4x32xbf16>
  return %2 : tensor<1x4x4x32xbf16>
}

// -----

// Channels first and a stride: three rows become one in scratch memory, between
// padding; windows slide along it. A short row has its taps read one by one.
// CHECK-LABEL: func.func private @first.l(
// CHECK:         memref.view {{.*}} to memref<33xf32>
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"
// CHECK-SAME:      outs({{.*}}memref<32xf32
// CHECK:         linalg.generic {{.*}}memref<16xf32, strided<[2]
// CHECK-NOT:     iterator_types = ["parallel", "reduction"
// CHECK-LABEL: func.func private @short.l(
// CHECK-NOT:     memref.view
// CHECK:         return
func.func @main(%x: tensor<1x8x32x32xf32>, %y: tensor<1x8x8x8xf32>) -> (tensor<1x8x16x16xf32>, tensor<1x8x4x4xf32>) {
  %0 = call @first(%x) {tile.label = "first"} : (tensor<1x8x32x32xf32>) -> tensor<1x8x16x16xf32>
  %1 = call @short(%y) {tile.label = "short"} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
  return %0, %1 : tensor<1x8x16x16xf32>, tensor<1x8x4x4xf32>
}
func.func private @first(%x: tensor<1x8x32x32xf32>) -> tensor<1x8x16x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPool %x {data_format = "NCX", kernel = [3, 3], strides = [2, 2], pads_begin = [1, 1], pads_end = [0, 0]} : (tensor<1x8x32x32xf32>) -> tensor<1x8x16x16xf32>
  return %0 : tensor<1x8x16x16xf32>
}
func.func private @short(%x: tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPool %x {data_format = "NCX", kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// One row of 24 at each border is not worth the code for columns together.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.if
// CHECK-NOT:     codegen.jam
// CHECK:         } else {
// CHECK:         scf.if
// CHECK-COUNT-3: codegen.jam
// CHECK:         } else {
// CHECK-NOT:     codegen.jam
func.func @main(%x: tensor<1x24x24x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x24x24x16xf32> {
  %0 = call @g(%x, %w) {tile.label = "dw"} : (tensor<1x24x24x16xf32>, tensor<3x3x1x16xf32>) -> tensor<1x24x24x16xf32>
  return %0 : tensor<1x24x24x16xf32>
}
func.func private @g(%x: tensor<1x24x24x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x24x24x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 16 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x24x24x16xf32>, tensor<3x3x1x16xf32> -> tensor<1x24x24x16xf32>
  return %0 : tensor<1x24x24x16xf32>
}

// -----

// Groups of 4: a row of three taps has twelve channels for each lane, of two at
// the border eight. 1.6 MB are more than L2: rows are prefetched.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         codegen.prefetch = array<i64: 7168, 0
// CHECK-COUNT-8: arith.mulf
// CHECK:         codegen.prefetch = array<i64: 7168, 0
// CHECK-COUNT-12: arith.mulf
func.func @main(%x: tensor<1x56x56x128xf32>, %w: tensor<3x3x4x128xf32>) -> tensor<1x56x56x128xf32> {
  %0 = call @g(%x, %w) {tile.label = "grouped"} : (tensor<1x56x56x128xf32>, tensor<3x3x4x128xf32>) -> tensor<1x56x56x128xf32>
  return %0 : tensor<1x56x56x128xf32>
}
func.func private @g(%x: tensor<1x56x56x128xf32>, %w: tensor<3x3x4x128xf32>) -> tensor<1x56x56x128xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x56x56x128xf32>, tensor<3x3x4x128xf32> -> tensor<1x56x56x128xf32>
  return %0 : tensor<1x56x56x128xf32>
}

// -----

// Groups in one row, which would be one item for all threads: eight blocks of 32
// channels. Rows enough have all channels each.
// CHECK-LABEL: func.func private @row.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 8 : index
// CHECK:         rt.parallel "row.l" items(%[[ITEMS]])
// CHECK-LABEL: func.func private @rows.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 12 : index
// CHECK:         rt.parallel "rows.l" items(%[[ITEMS]])
func.func @main(%x: tensor<1x64x256xf32>, %w: tensor<3x4x256xf32>, %y: tensor<1x12x12x256xf32>, %v: tensor<1x3x4x256xf32>) -> (tensor<1x62x256xf32>, tensor<1x12x10x256xf32>) {
  %0 = call @row(%x, %w) {tile.label = "row"} : (tensor<1x64x256xf32>, tensor<3x4x256xf32>) -> tensor<1x62x256xf32>
  %1 = call @rows(%y, %v) {tile.label = "reduction"} : (tensor<1x12x12x256xf32>, tensor<1x3x4x256xf32>) -> tensor<1x12x10x256xf32>
  return %0, %1 : tensor<1x62x256xf32>, tensor<1x12x10x256xf32>
}
func.func private @row(%x: tensor<1x64x256xf32>, %w: tensor<3x4x256xf32>) -> tensor<1x62x256xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1>, groups = 64 : i64, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, strides = array<i64: 1>} : tensor<1x64x256xf32>, tensor<3x4x256xf32> -> tensor<1x62x256xf32>
  return %0 : tensor<1x62x256xf32>
}
func.func private @rows(%y: tensor<1x12x12x256xf32>, %v: tensor<1x3x4x256xf32>) -> tensor<1x12x10x256xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %y, %v {depthwise, dilations = array<i64: 1, 1>, groups = 64 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x12x12x256xf32>, tensor<1x3x4x256xf32> -> tensor<1x12x10x256xf32>
  return %0 : tensor<1x12x10x256xf32>
}
