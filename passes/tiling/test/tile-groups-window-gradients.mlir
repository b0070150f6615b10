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
func.func private @g(%x: tensor<2x9x9x96xf32>, %d: tensor<2x4x4x96xf32>) -> tensor<2x9x9x96xf32> attributes {tile.group = "window"} {
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
func.func private @g(%d: tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32> attributes {tile.group = "window"} {
  %0 = graph.AvgPoolBackward %d {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], kernel = [3, 3], exclude_pad = false, src_shape = [1, 9, 9, 96]} : (tensor<1x4x4x96xf32>) -> tensor<1x9x9x96xf32>
  return %0 : tensor<1x9x9x96xf32>
}
