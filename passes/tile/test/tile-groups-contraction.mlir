// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Arguments become buffers, the result one more; the group writes to it
// directly. Items are blocks of rows times panels, panels innermost; 90
// columns are 3 panels of 24 and one of 18, the bias is an epilogue operand of each.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x64xf32> {tile.role = #tile.role<input>}
// CHECK-SAME:    %[[P:[a-z0-9]+]]: memref<4x64x24xf32> {tile.folded, tile.role = #tile.role<folded>}
// CHECK-SAME:    %[[B:[a-z0-9]+]]: memref<90xf32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<?x90xf32> {tile.role = #tile.role<output>})
// CHECK-NOT:     memref.alloc
// CHECK:         call @g.l(%[[X]], %[[P]], %[[B]], %[[Y]]) {tile.label = "fc"}
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x64xf32>, %[[P:[a-z0-9]+]]: memref<4x64x24xf32>, %[[B:[a-z0-9]+]]: memref<90xf32>, %[[Y:[a-z0-9]+]]: memref<?x90xf32>)
// CHECK:         %[[BLOCKS:.*]] = arith.divui
// CHECK:         %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:         %[[ITEMS:.*]] = arith.muli %[[BLOCKS]], %[[FOUR]]
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:         scf.for %[[ITEM:.*]] =
// CHECK:           %[[PANEL:.*]] = arith.remui %[[ITEM]]
// CHECK:           arith.minsi
// CHECK:           %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [%[[ROWS:.*]], 64], strides: [64, 1]
// CHECK:           %[[W:.*]] = memref.reinterpret_cast %[[P]] {{.*}} sizes: [64, 24], strides: [24, 1]
// CHECK:           %[[THREE:.*]] = arith.constant 3 : index
// CHECK:           %[[FULL:.*]] = arith.cmpi slt, %[[PANEL]], %[[THREE]]
// CHECK:           scf.if %[[FULL]]
// CHECK:             %[[C:.*]] = memref.reinterpret_cast %[[Y]] {{.*}} sizes: [%[[ROWS]], 24], strides: [90, 1]
// CHECK:             %[[S:.*]] = memref.reinterpret_cast %[[B]] {{.*}} sizes: [24], strides: [1]
// CHECK:             tile.brgemm ins(%[[A]], %[[W]] : {{.*}} epilogue_operands(%[[S]] : {{.*}}) maps [affine_map<(d0, d1) -> (d1)>] outs(%[[C]] : {{.*}}) prefetch_rows prefetch_out epilogue {
// CHECK-NEXT:        ^bb0(%[[ACC:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT:          %[[SUM:.*]] = arith.addf %[[ACC]], %[[BIAS]]
// CHECK-NEXT:          tile.yield %[[SUM]]
// CHECK:           else
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [%[[ROWS]], 18], strides: [90, 1]
// CHECK:             tile.brgemm
func.func @main(%x: tensor<?x64xf32>, %p: tensor<4x64x24xf32> {tile.folded}, %b: tensor<90xf32>) -> tensor<?x90xf32> {
  %0 = call @g(%x, %p, %b) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<4x64x24xf32>, tensor<90xf32>) -> tensor<?x90xf32>
  return %0 : tensor<?x90xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<4x64x24xf32>, %b: tensor<90xf32>) -> tensor<?x90xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<?x64xf32>, tensor<4x64x24xf32> -> tensor<?x90xf32>
  %1 = graph.Add %0, %b : (tensor<?x90xf32>, tensor<90xf32>) -> tensor<?x90xf32>
  return %1 : tensor<?x90xf32>
}

// -----

// Leading dimensions and rows are one: 2 x 3 rows in one block. A residual is
// an epilogue operand per element, a scalar has the map (), one per row (d0).
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l"
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [6, 8], strides: [8, 1]
// CHECK:         tile.brgemm
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0)>]
func.func @main(%x: tensor<2x3x8xf32>, %p: tensor<1x8x16xf32>, %r: tensor<2x3x16xf32>, %s: tensor<f32>, %m: tensor<2x3x1xf32>) -> tensor<2x3x16xf32> {
  %0 = call @g(%x, %p, %r, %s, %m) {tile.label = "fc"} : (tensor<2x3x8xf32>, tensor<1x8x16xf32>, tensor<2x3x16xf32>, tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}
func.func private @g(%x: tensor<2x3x8xf32>, %p: tensor<1x8x16xf32>, %r: tensor<2x3x16xf32>, %s: tensor<f32>, %m: tensor<2x3x1xf32>) -> tensor<2x3x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<2x3x8xf32>, tensor<1x8x16xf32> -> tensor<2x3x16xf32>
  %1 = graph.Add %0, %r : (tensor<2x3x16xf32>, tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  %2 = graph.Multiply %1, %s : (tensor<2x3x16xf32>, tensor<f32>) -> tensor<2x3x16xf32>
  %3 = graph.Multiply %2, %m : (tensor<2x3x16xf32>, tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
  return %3 : tensor<2x3x16xf32>
}

// -----

// Weights of their own per batch: batches do not merge with rows.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 2 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [3, 8], strides: [8, 1]
// CHECK:         tile.brgemm
func.func @main(%x: tensor<2x3x8xf32>, %p: tensor<2x1x8x16xf32>) -> tensor<2x3x16xf32> {
  %0 = call @g(%x, %p) {tile.label = "bmm"} : (tensor<2x3x8xf32>, tensor<2x1x8x16xf32>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}
func.func private @g(%x: tensor<2x3x8xf32>, %p: tensor<2x1x8x16xf32>) -> tensor<2x3x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<2x3x8xf32>, tensor<2x1x8x16xf32> -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}

// -----

// A transposed result has no unit stride along n: the product goes to a buffer
// of its own and is copied. A transposed operand only has other strides.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<8x4xf32>
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<4x16xf32, strided<[1, 4]>>
// CHECK:         %[[T:.*]] = memref.alloc() : memref<4x16xf32>
// CHECK:         %[[XT:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [4, 8], strides: [1, 4]
// CHECK:         call @g.l(%[[XT]], %{{.*}}, %[[T]])
// CHECK:         call @{{.*}}(%[[T]], %[[Y]]) {tile.label = "copy"}
func.func @main(%x: tensor<8x4xf32>, %p: tensor<1x8x16xf32>) -> (tensor<4x16xf32> {tile.strides = array<i64: 1, 4>}) {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = call @g(%t, %p) {tile.label = "fc"} : (tensor<4x8xf32>, tensor<1x8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func private @g(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> tensor<4x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// A convolution: items are images and rows. The interior columns are one
// brgemm over the taps inside src, three of them always in the last dimension;
// each column at the border is one with a number of taps of its own.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<1x6x6x3xf32>, %[[W:[a-z0-9]+]]: memref<1x1x3x3x3x24xf32>
// CHECK:         %[[ITEMS:.*]] = arith.constant 6 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [%[[TAPS:.*]], 3, 4, 3], strides: [18, 3, 3, 1]
// CHECK:           %[[B:.*]] = memref.reinterpret_cast %[[W]] {{.*}} sizes: [%[[TAPS]], 3, 3, 24], strides: [216, 72, 24, 1]
// CHECK:           tile.brgemm ins(%[[A]], %[[B]] : {{.*}} -> ()>{{$|.*}}
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, %{{.*}}, 1, 3]
// CHECK:             tile.brgemm
// CHECK:           scf.for
// CHECK:             tile.brgemm
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<1x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>, %s: tensor<f32>) -> tensor<1x6x6x8xf32> {
  %0 = call @g(%x, %w, %s) {tile.label = "conv"} : (tensor<1x6x6x3xf32>, tensor<1x1x3x3x3x24xf32>, tensor<f32>) -> tensor<1x6x6x8xf32>
  return %0 : tensor<1x6x6x8xf32>
}
func.func private @g(%x: tensor<1x6x6x3xf32>, %w: tensor<1x1x3x3x3x24xf32>, %s: tensor<f32>) -> tensor<1x6x6x8xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x6x6x3xf32>, tensor<1x1x3x3x3x24xf32> -> tensor<1x6x6x8xf32>
  %1 = graph.Multiply %0, %s : (tensor<1x6x6x8xf32>, tensor<f32>) -> tensor<1x6x6x8xf32>
  return %1 : tensor<1x6x6x8xf32>
}

// -----

// A convolution of 1 x 1 is a product: all 36 pixels are its rows.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [36, 16], strides: [16, 1]
// CHECK:         tile.brgemm ins({{.*}} : memref<36x16xf32, {{.*}}>, memref<16x24xf32
func.func @main(%x: tensor<1x6x6x16xf32>, %w: tensor<1x1x1x1x16x24xf32>) -> tensor<1x6x6x8xf32> {
  %0 = call @g(%x, %w) {tile.label = "conv"} : (tensor<1x6x6x16xf32>, tensor<1x1x1x1x16x24xf32>) -> tensor<1x6x6x8xf32>
  return %0 : tensor<1x6x6x8xf32>
}
func.func private @g(%x: tensor<1x6x6x16xf32>, %w: tensor<1x1x1x1x16x24xf32>) -> tensor<1x6x6x8xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x6x6x16xf32>, tensor<1x1x1x1x16x24xf32> -> tensor<1x6x6x8xf32>
  return %0 : tensor<1x6x6x8xf32>
}

// -----

// Where the product is large beside src, src is copied with zeros at the ends
// of its rows, 5 columns to 7, and every row is one brgemm.
// CHECK-LABEL: func.func @main(
// CHECK:         memref.alloc() : memref<560xf32>
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    memref<1x5x5x16xf32>{{.*}} %[[P:[a-z0-9]+]]: memref<560xf32>)
// CHECK-COUNT-3: rt.parallel
// CHECK:         %[[ITEMS:.*]] = arith.constant 5 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           memref.reinterpret_cast %[[P]] {{.*}} sizes: [%{{.*}}, 3, 5, 16], strides: [112, 16, 16, 1]
// CHECK:           tile.brgemm
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<1x5x5x16xf32>, %w: tensor<1x1x3x3x16x48xf32>) -> tensor<1x5x5x48xf32> {
  %0 = call @g(%x, %w) {tile.label = "conv"} : (tensor<1x5x5x16xf32>, tensor<1x1x3x3x16x48xf32>) -> tensor<1x5x5x48xf32>
  return %0 : tensor<1x5x5x48xf32>
}
func.func private @g(%x: tensor<1x5x5x16xf32>, %w: tensor<1x1x3x3x16x48xf32>) -> tensor<1x5x5x48xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x5x5x16xf32>, tensor<1x1x3x3x16x48xf32> -> tensor<1x5x5x48xf32>
  return %0 : tensor<1x5x5x48xf32>
}

// -----

// A known number of rows: blocks of known sizes, as equal as they can be.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.if
// CHECK:           tile.brgemm ins({{.*}} : memref<401x16xf32, {{.*}}>, {{.*}} outs({{.*}} : memref<401x24xf32
// CHECK:         else
// CHECK:           tile.brgemm ins({{.*}} : memref<400x16xf32, {{.*}}>, {{.*}} outs({{.*}} : memref<400x24xf32
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<801x16xf32>, %p: tensor<1x16x24xf32>) -> tensor<801x24xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<801x16xf32>, tensor<1x16x24xf32>) -> tensor<801x24xf32>
  return %0 : tensor<801x24xf32>
}
func.func private @g(%x: tensor<801x16xf32>, %p: tensor<1x16x24xf32>) -> tensor<801x24xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<801x16xf32>, tensor<1x16x24xf32> -> tensor<801x24xf32>
  return %0 : tensor<801x24xf32>
}
