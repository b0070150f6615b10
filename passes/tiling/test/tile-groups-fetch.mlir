// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// While exponentials of a row are summed, the next row is fetched; no pass that
// reads its row for the first time, and none that only writes, does.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.fetch
// CHECK:         arith.select
// CHECK:         codegen.fetch = array<i64: 4096, 0>
// CHECK:         math.exp
// CHECK-NOT:     codegen.fetch
func.func @main(%x: tensor<256x4096xf32> {graph.id = 0 : ui64}) -> (tensor<256x4096xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<256x4096xf32>) -> tensor<256x4096xf32>
  return %0 : tensor<256x4096xf32>
}
func.func private @g(%x: tensor<256x4096xf32>) -> tensor<256x4096xf32> attributes {tile.group = "rows"} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<256x4096xf32>) -> tensor<256x4096xf32>
  return %0 : tensor<256x4096xf32>
}

// -----

// Declines: less than 4 MiB may be in a cache.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.fetch
func.func @main(%x: tensor<255x4096xf32> {graph.id = 0 : ui64}) -> (tensor<255x4096xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<255x4096xf32>) -> tensor<255x4096xf32>
  return %0 : tensor<255x4096xf32>
}
func.func private @g(%x: tensor<255x4096xf32>) -> tensor<255x4096xf32> attributes {tile.group = "rows"} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<255x4096xf32>) -> tensor<255x4096xf32>
  return %0 : tensor<255x4096xf32>
}
