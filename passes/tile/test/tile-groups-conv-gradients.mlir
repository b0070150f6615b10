// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A transposed convolution of stride 2: an item is a row of dst and goes
// through two classes of columns. Rows of a product lie two columns apart in
// dst, taps go backwards through src, every second tap is used. The bias is a
// side; columns whose taps are cut are products of one row.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<1x5x6x16xf32>, %[[W:[a-z0-9]+]]: memref<1x1x3x3x16x24xf32>, %[[B:[a-z0-9]+]]: memref<8xf32>, %[[Y:[a-z0-9]+]]: memref<1x10x12x8xf32>)
// CHECK:         %[[ITEMS:.*]] = arith.constant 10 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           scf.for
// CHECK:             %[[TWO:.*]] = arith.constant 2 : index
// CHECK:             scf.for %{{.*}} to %{{.*}}
// CHECK:               %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [%[[R:.*]], %[[T:.*]], %[[N:.*]], 16], strides: [-96, -16, 16, 1]
// CHECK:               %[[P:.*]] = memref.reinterpret_cast %[[W]] {{.*}} sizes: [%[[R]], %[[T]], 16, 24], strides: [2304, 768, 24, 1]
// CHECK:               %[[C:.*]] = memref.reinterpret_cast %[[Y]] {{.*}} sizes: [%[[N]], 8], strides: [16, 1]
// CHECK:               tile.brgemm ins(%[[A]], %[[P]] : {{.*}} maps [affine_map<(d0, d1) -> (d1)>] outs(%[[C]] : {{.*}} epilogue {
// CHECK:               scf.for
// CHECK:                 memref.reinterpret_cast %[[Y]] {{.*}} sizes: [1, 8], strides: [16, 1]
// CHECK:                 tile.brgemm
// CHECK:               scf.for
// CHECK:                 tile.brgemm
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<1x5x6x16xf32>, %w: tensor<1x1x3x3x16x24xf32>, %b: tensor<8xf32>) -> tensor<1x10x12x8xf32> {
  %0 = call @g(%x, %w, %b) {tile.label = "up"} : (tensor<1x5x6x16xf32>, tensor<1x1x3x3x16x24xf32>, tensor<8xf32>) -> tensor<1x10x12x8xf32>
  return %0 : tensor<1x10x12x8xf32>
}
func.func private @g(%x: tensor<1x5x6x16xf32>, %w: tensor<1x1x3x3x16x24xf32>, %b: tensor<8xf32>) -> tensor<1x10x12x8xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_transpose %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x5x6x16xf32>, tensor<1x1x3x3x16x24xf32> -> tensor<1x10x12x8xf32>
  %1 = graph.Add %0, %b : (tensor<1x10x12x8xf32>, tensor<8xf32>) -> tensor<1x10x12x8xf32>
  return %1 : tensor<1x10x12x8xf32>
}

// -----

// A gradient of weights: 3 taps x 3 channels are 9 rows of dst. They are
// cleared, then each block of images adds its rows: over the 6 columns in which
// no tap is cut, over the rows of the image for the columns at both ends.
// 40 columns are a panel of 24 and one of 16.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8x8x3xf32>, %[[D:[a-z0-9]+]]: memref<1x2x?x8x8x24xf32>, %[[Y:[a-z0-9]+]]: memref<3x3x3x40xf32>)
// CHECK:         %[[ITEMS:.*]] = arith.constant 6 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           scf.if
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [9, 24], strides: [40, 1]
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [9, 0]
// CHECK:             tile.brgemm {{.*}} outs(%{{[^)]*}}){{$}}
// CHECK:             scf.for
// CHECK:               %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, %{{.*}}, 9, 6], strides: [192, 24, 1, 3]
// CHECK:               %[[B:.*]] = memref.reinterpret_cast %[[D]] {{.*}} sizes: [%{{.*}}, %{{.*}}, 6, 24], strides: [1536, 192, 24, 1]
// CHECK:               tile.brgemm ins(%[[A]], %[[B]] : {{.*}} accumulate
// CHECK:               scf.for
// CHECK:                 memref.reinterpret_cast %[[X]] {{.*}} sizes: [%{{.*}}, %{{.*}}, %{{.*}}], strides: [192, 1, 24]
// CHECK:                 tile.brgemm {{.*}} accumulate
// CHECK:               scf.for
// CHECK:                 tile.brgemm {{.*}} accumulate
// CHECK:           else
// CHECK:             memref.reinterpret_cast %[[Y]] {{.*}} sizes: [9, 16], strides: [40, 1]
func.func @main(%x: tensor<?x8x8x3xf32>, %d: tensor<1x2x?x8x8x24xf32>) -> tensor<3x3x3x40xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<?x8x8x3xf32>, tensor<1x2x?x8x8x24xf32>) -> tensor<3x3x3x40xf32>
  return %0 : tensor<3x3x3x40xf32>
}
func.func private @g(%x: tensor<?x8x8x3xf32>, %d: tensor<1x2x?x8x8x24xf32>) -> tensor<3x3x3x40xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {packed, dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<?x8x8x3xf32>, tensor<1x2x?x8x8x24xf32> -> tensor<3x3x3x40xf32>
  return %0 : tensor<3x3x3x40xf32>
}

// -----

// Depthwise, by data: no product, a sum over taps with channels as lanes.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x5x6x16xf32>, %[[W:[a-z0-9]+]]: memref<3x3x1x16xf32>
// CHECK:         rt.parallel "g.l"
// CHECK-NOT:     tile.brgemm
// CHECK:         linalg.fill
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%{{.*}}, %{{.*}} : memref<?x16x?x?xf32, strided<[16, 1, -96, -16], offset: ?>>, memref<16x?x?xf32, strided<[1, 96, 32], offset: ?>>) outs(%{{.*}} : memref<?x16xf32, strided<[32, 1], offset: ?>>)
func.func @main(%x: tensor<2x5x6x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<2x10x12x16xf32> {
  %0 = call @g(%x, %w) {tile.label = "up"} : (tensor<2x5x6x16xf32>, tensor<3x3x1x16xf32>) -> tensor<2x10x12x16xf32>
  return %0 : tensor<2x10x12x16xf32>
}
func.func private @g(%x: tensor<2x5x6x16xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<2x10x12x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv_transpose %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 16 : i64, pads_begin = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<2x5x6x16xf32>, tensor<3x3x1x16xf32> -> tensor<2x10x12x16xf32>
  return %0 : tensor<2x10x12x16xf32>
}

// -----

// Depthwise, by weights: an item is 32 channels. All taps are cleared, then each
// row of an image is added to each tap.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 2 : index
// CHECK:         rt.parallel "g.l" items(%[[ITEMS]])
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               linalg.fill
// CHECK:             scf.for
// CHECK:               scf.for
// CHECK:                 linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : memref<?x?xf32, strided<[1, 40], offset: ?>>, memref<?x?xf32, strided<[1, 40], offset: ?>>) outs(%{{.*}} : memref<?xf32, strided<[1], offset: ?>>)
func.func @main(%x: tensor<2x8x40xf32>, %d: tensor<2x8x40xf32>) -> tensor<3x1x40xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<3x1x40xf32>
  return %0 : tensor<3x1x40xf32>
}
func.func private @g(%x: tensor<2x8x40xf32>, %d: tensor<2x8x40xf32>) -> tensor<3x1x40xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv_weights %x, %d {depthwise, dilations = array<i64: 1>, groups = 40 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<2x8x40xf32>, tensor<2x8x40xf32> -> tensor<3x1x40xf32>
  return %0 : tensor<3x1x40xf32>
}

// -----

// With channels apart an item is a channel, copied between zeros; the sums of
// its three taps are made together.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x8x40xf32, strided<[320, 1, 8]>>
// CHECK:         rt.parallel "g.l" items(%c40) scratch(%c40{{.*}}) {
// CHECK:             scf.for
// CHECK:               linalg.generic {{.*}} outs(%{{.*}} : memref<8xf32, strided<[1], offset: 1>>)
// CHECK:               linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : memref<8xf32, strided<[1]>>, memref<8xf32, strided<[1], offset: 1>>, memref<8xf32, strided<[1], offset: 2>>, memref<8xf32, strided<[1], offset: ?>>) outs(%{{.*}} : memref<f32, strided<[], offset: ?>>, memref<f32, strided<[], offset: ?>>, memref<f32, strided<[], offset: ?>>)
func.func @main(%x: tensor<2x40x8xf32>, %d: tensor<2x40x8xf32>) -> tensor<3x1x40xf32> {
  %s = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %t = graph.StaticTranspose %d {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %0 = call @g(%s, %t) {tile.label = "dw"} : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<3x1x40xf32>
  return %0 : tensor<3x1x40xf32>
}
func.func private @g(%x: tensor<2x8x40xf32>, %d: tensor<2x8x40xf32>) -> tensor<3x1x40xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv_weights %x, %d {depthwise, dilations = array<i64: 1>, groups = 40 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<2x8x40xf32>, tensor<2x8x40xf32> -> tensor<3x1x40xf32>
  return %0 : tensor<3x1x40xf32>
}

// -----

// Declines to merge taps with channels: with dilation 2 they have no common
// stride. Each tap is a product of its own, over the columns where it is valid.
// What is not packed is copied to scratch before.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x9x8xf32>, %[[D:[a-z0-9]+]]: memref<2x9x16xf32>
// CHECK:         rt.parallel "g.l" items(%{{.*}}) scratch(%[[BYTES:.*]]) {
// CHECK:           memref.view
// CHECK:           linalg.copy ins(%{{.*}} : memref<2x9x16xf32, strided<[144, 16, 1]>>) outs(%{{.*}} : memref<2x9x16xf32, strided<[144, 16, 1]>>)
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [2, 8, %{{.*}}], strides: [72, 1, 8]
// CHECK:             tile.brgemm {{.*}} accumulate
// CHECK-NOT:       tile.brgemm
func.func @main(%x: tensor<2x9x8xf32>, %d: tensor<2x9x16xf32>) -> tensor<3x8x16xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<2x9x8xf32>, tensor<2x9x16xf32>) -> tensor<3x8x16xf32>
  return %0 : tensor<3x8x16xf32>
}
func.func private @g(%x: tensor<2x9x8xf32>, %d: tensor<2x9x16xf32>) -> tensor<3x8x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 2>, groups = 1 : i64, pads_begin = array<i64: 2>, strides = array<i64: 1>} : tensor<2x9x8xf32>, tensor<2x9x16xf32> -> tensor<3x8x16xf32>
  return %0 : tensor<3x8x16xf32>
}

// -----

// One tap: the 48 positions of an image are one dim, and known. Ten items of 96
// rows have all three panels each, which read one block of src.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c10) scratch(%c0) {
// CHECK:             scf.for %{{.*}} = %{{.*}} to %c3
// CHECK:             scf.for %{{.*}} = %{{.*}} to %c3
// CHECK:               tile.brgemm ins(%{{.*}}, %{{.*}} : memref<2x1x96x48xf32, strided<[46080, 46080, 1, 960], offset: ?>>, memref<2x1x48x16xf32, strided<[768, 768, 16, 1], offset: ?>>) outs(%{{.*}} : memref<96x16xf32, strided<[48, 1], offset: ?>>)
func.func @main(%x: tensor<2x6x8x960xf32>, %d: tensor<1x3x2x6x8x16xf32>) -> tensor<1x1x960x48xf32> {
  %0 = call @g(%x, %d) {tile.label = "dw"} : (tensor<2x6x8x960xf32>, tensor<1x3x2x6x8x16xf32>) -> tensor<1x1x960x48xf32>
  return %0 : tensor<1x1x960x48xf32>
}
func.func private @g(%x: tensor<2x6x8x960xf32>, %d: tensor<1x3x2x6x8x16xf32>) -> tensor<1x1x960x48xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv_weights %x, %d {dilations = array<i64: 1, 1>, groups = 1 : i64, packed, pads_begin = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<2x6x8x960xf32>, tensor<1x3x2x6x8x16xf32> -> tensor<1x1x960x48xf32>
  return %0 : tensor<1x1x960x48xf32>
}
