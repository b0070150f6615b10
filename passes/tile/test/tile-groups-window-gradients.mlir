// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Windows overlap: an item is an image and a block of channels. Its rows of
// diff_src are cleared in step with the windows; the taps of a row are searched
// in order for the first maximum, then each gets its share.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x9x9x96xf32>, %[[D:[a-z0-9]+]]: memref<2x4x4x96xf32>, %[[Y:[a-z0-9]+]]: memref<2x9x9x96xf32>)
// CHECK:         rt.parallel "g.l" items(%c2) scratch(%c3072) {
// CHECK:           %[[BEST:.*]] = memref.view {{.*}} to memref<384xf32>
// CHECK:           %[[AT:.*]] = memref.view {{.*}} to memref<384xi32>
// CHECK:           memref.reinterpret_cast %[[Y]]
// CHECK:           scf.for %{{.*}} = %c0{{.*}} to %c4
// CHECK:             arith.constant -3.40282347E+38 : f32
// CHECK:             arith.constant -1 : i32
// CHECK:             memref.reinterpret_cast %[[X]]
// CHECK:             arith.cmpf ogt
// CHECK:             arith.select {{.*}} : i32
// CHECK:             arith.maxsi
// CHECK:             arith.select {{.*}} : f32
// CHECK:             arith.cmpi eq
// CHECK:             arith.select {{.*}} : f32
// CHECK:             arith.addf
func.func @main(%x: tensor<2x9x9x96xf32>, %d: tensor<2x4x4x96xf32>) -> tensor<2x9x9x96xf32> {
  %0 = call @g(%x, %d) {tile.label = "pool"} : (tensor<2x9x9x96xf32>, tensor<2x4x4x96xf32>) -> tensor<2x9x9x96xf32>
  return %0 : tensor<2x9x9x96xf32>
}
func.func private @g(%x: tensor<2x9x9x96xf32>, %d: tensor<2x4x4x96xf32>) -> tensor<2x9x9x96xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPoolBackward %x, %d {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], kernel = [3, 3]} : (tensor<2x9x9x96xf32>, tensor<2x4x4x96xf32>) -> tensor<2x9x9x96xf32>
  return %0 : tensor<2x9x9x96xf32>
}

// -----

// Average: one division per window, whatever the number of taps.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c1) scratch(%c1536) {
// CHECK-COUNT-1:   arith.divf
// CHECK-NOT:       arith.divf
// CHECK:           arith.addf
func.func @main(%d: tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32> {
  %0 = call @g(%d) {tile.label = "pool"} : (tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32>
  return %0 : tensor<1x9x9x96xf32>
}
func.func private @g(%d: tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.AvgPoolBackward %d {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], kernel = [3, 3], exclude_pad = false, src_shape = [1, 9, 9, 96]} : (tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32>
  return %0 : tensor<1x9x9x96xf32>
}

// -----

// Channels apart: an item is a channel. Its src goes to a plane with margins,
// 6 rows of 2 times 3, in which each tap of all four windows is a box; so does
// diff_src, which comes back interleaved.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x8x5x4xf32>, %[[D:[a-z0-9]+]]: memref<2x8x2x2xf32>, %[[Y:[a-z0-9]+]]: memref<2x8x5x4xf32>)
// CHECK:         rt.parallel "g.l" items(%c16) scratch(%c304) {
// CHECK:           arith.constant -3.40282347E+38 : f32
// CHECK:           linalg.generic {{.*}} ins(%{{.*}} : memref<5x2x2xf32, strided<[4, 1, 2], offset: ?>>) outs(%{{.*}} : memref<5x2x2xf32, strided<[6, 3, 1], offset: 7>>)
// CHECK:           linalg.generic {{.*}} : memref<2x2xf32, strided<[12, 1], offset: 3>>, memref<2x2xf32, strided<[12, 1], offset: 1>>, memref<2x2xf32, strided<[12, 1], offset: 4>>, {{.*}}) outs(%{{.*}} : memref<2x2xi32, strided<[2, 1]>>)
// CHECK-COUNT-9:   arith.cmpf ogt
// CHECK-NOT:       arith.cmpf ogt
// CHECK-COUNT-9:   arith.cmpi eq
// CHECK:           linalg.generic {{.*}} ins(%{{.*}} : memref<5x2x2xf32, strided<[6, 1, 3], offset: 7>>) outs(%{{.*}} : memref<5x2x2xf32, strided<[4, 2, 1], offset: ?>>)
func.func @main(%x: tensor<2x8x5x4xf32>, %d: tensor<2x8x2x2xf32>) -> tensor<2x8x5x4xf32> {
  %0 = call @g(%x, %d) {tile.label = "pool"} : (tensor<2x8x5x4xf32>, tensor<2x8x2x2xf32>) -> tensor<2x8x5x4xf32>
  return %0 : tensor<2x8x5x4xf32>
}
func.func private @g(%x: tensor<2x8x5x4xf32>, %d: tensor<2x8x2x2xf32>) -> tensor<2x8x5x4xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPoolBackward %x, %d {strides = [2, 2], pads_begin = [1, 1], pads_end = [0, 0], kernel = [3, 3], data_format = "NCX"} : (tensor<2x8x5x4xf32>, tensor<2x8x2x2xf32>) -> tensor<2x8x5x4xf32>
  return %0 : tensor<2x8x5x4xf32>
}

// -----

// 81 taps: row by row.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c16)
// CHECK-COUNT-1:   arith.cmpf ogt
// CHECK-NOT:       arith.cmpf ogt
func.func @main(%x: tensor<2x8x17x17xf32>, %d: tensor<2x8x5x5xf32>) -> tensor<2x8x17x17xf32> {
  %0 = call @g(%x, %d) {tile.label = "pool"} : (tensor<2x8x17x17xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x17x17xf32>
  return %0 : tensor<2x8x17x17xf32>
}
func.func private @g(%x: tensor<2x8x17x17xf32>, %d: tensor<2x8x5x5xf32>) -> tensor<2x8x17x17xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPoolBackward %x, %d {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], kernel = [9, 9], data_format = "NCX"} : (tensor<2x8x17x17xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x17x17xf32>
  return %0 : tensor<2x8x17x17xf32>
}

// -----

// Windows next to each other: each element of diff_src is a share of one of
// diff_dst, and is stored once.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK:           arith.divf
// CHECK-NOT:     linalg.generic
func.func @main(%d: tensor<2x8x3x5xf32>) -> tensor<2x8x6x15xf32> {
  %0 = call @g(%d) {tile.label = "pool"} : (tensor<2x8x3x5xf32>) -> tensor<2x8x6x15xf32>
  return %0 : tensor<2x8x6x15xf32>
}
func.func private @g(%d: tensor<2x8x3x5xf32>) -> tensor<2x8x6x15xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.AvgPoolBackward %d {strides = [2, 3], pads_begin = [0, 0], pads_end = [0, 0], kernel = [2, 3], exclude_pad = false, src_shape = [2, 8, 6, 15], data_format = "NCX"} : (tensor<2x8x3x5xf32>) -> tensor<2x8x6x15xf32>
  return %0 : tensor<2x8x6x15xf32>
}

// -----

// Nearest, backward: the four elements of each sum are read at once.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic
// CHECK-COUNT-3:   arith.addf
// CHECK-NOT:     linalg.generic
func.func @main(%x: tensor<2x8x3x5xf32>, %d: tensor<2x8x6x10xf32>) -> tensor<2x8x3x5xf32> {
  %0 = call @g(%x, %d) {tile.label = "up"} : (tensor<2x8x3x5xf32>, tensor<2x8x6x10xf32>) -> tensor<2x8x3x5xf32>
  return %0 : tensor<2x8x3x5xf32>
}
func.func private @g(%x: tensor<2x8x3x5xf32>, %d: tensor<2x8x6x10xf32>) -> tensor<2x8x3x5xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.InterpolateBackward %x, %d {mode = "nearest", sizes = [6, 10], data_format = "NCX"} : (tensor<2x8x3x5xf32>, tensor<2x8x6x10xf32>) -> tensor<2x8x3x5xf32>
  return %0 : tensor<2x8x3x5xf32>
}
