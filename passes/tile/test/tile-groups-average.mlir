// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// The average of 40x40 is a sum of sums, each of six rows of taps (240, and
// four rows at last), in memory of its own; terms are multiplied with 2^-11.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.minsi
// CHECK:             linalg.generic {{.*}}"reduction"
// CHECK:               %[[PART:.*]] = arith.constant 4.8828125E-4 : f32
// CHECK:               arith.mulf %{{.*}}, %[[PART]]
// CHECK:             linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK-NEXT:        ^bb0
// CHECK-NEXT:          arith.addf
// CHECK:           arith.divf
func.func @main(%x: tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32> {
  %0 = call @g(%x) {tile.label = "pool"} : (tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32>
  return %0 : tensor<1x1x1x16xf32>
}
func.func private @g(%x: tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.AvgPool %x {data_format = "NXC", exclude_pad = true, kernel = [40, 40], pads_begin = [0, 0], pads_end = [0, 0], strides = [1, 1]} : (tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32>
  return %0 : tensor<1x1x1x16xf32>
}

// -----

// Declines: 16x16 taps are one sum; so are 40x40 of a maximum.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK-LABEL: func.func private @h.l(
// CHECK:         scf.for
// CHECK-NOT:     scf.for
func.func @main(%x: tensor<1x16x16x16xf32>, %y: tensor<1x40x40x16xf32>) -> (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) {
  %0 = call @g(%x) {tile.label = "average"} : (tensor<1x16x16x16xf32>) -> tensor<1x1x1x16xf32>
  %1 = call @h(%y) {tile.label = "maximum"} : (tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32>
  return %0, %1 : tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>
}
func.func private @g(%x: tensor<1x16x16x16xf32>) -> tensor<1x1x1x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.AvgPool %x {data_format = "NXC", exclude_pad = true, kernel = [16, 16], pads_begin = [0, 0], pads_end = [0, 0], strides = [1, 1]} : (tensor<1x16x16x16xf32>) -> tensor<1x1x1x16xf32>
  return %0 : tensor<1x1x1x16xf32>
}
func.func private @h(%x: tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPool %x {data_format = "NXC", kernel = [40, 40], pads_begin = [0, 0], pads_end = [0, 0], strides = [1, 1], dilations = [1, 1]} : (tensor<1x40x40x16xf32>) -> tensor<1x1x1x16xf32>
  return %0 : tensor<1x1x1x16xf32>
}
