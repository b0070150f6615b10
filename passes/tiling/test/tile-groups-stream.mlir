// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// A result of 16 MiB is stored past the caches; what is computed on the way to
// it and read again is not.
// CHECK-LABEL: func @main
// CHECK:         codegen.stream = array<i64: 0>
// CHECK-NOT:     codegen.stream
func.func @main(%x: tensor<512x8192xf32> {graph.id = 0 : ui64}) -> (tensor<512x8192xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<512x8192xf32>) -> tensor<512x8192xf32>
  return %0 : tensor<512x8192xf32>
}
func.func private @g(%x: tensor<512x8192xf32>) -> tensor<512x8192xf32> attributes {tile.group = "rows"} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<512x8192xf32>) -> tensor<512x8192xf32>
  return %0 : tensor<512x8192xf32>
}

// -----

// A little less is not.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.stream
func.func @main(%x: tensor<511x8192xf32> {graph.id = 0 : ui64}) -> (tensor<511x8192xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "relu"} : (tensor<511x8192xf32>) -> tensor<511x8192xf32>
  return %0 : tensor<511x8192xf32>
}
func.func private @g(%x: tensor<511x8192xf32>) -> tensor<511x8192xf32> attributes {tile.group = "elementwise"} {
  %0 = graph.ReLU %x : (tensor<511x8192xf32>) -> tensor<511x8192xf32>
  return %0 : tensor<511x8192xf32>
}
