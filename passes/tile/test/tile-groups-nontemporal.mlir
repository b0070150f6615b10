// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// A result of 16 MiB is stored past the caches; what is computed on the way to
// it and read again is not.
// CHECK-LABEL: func @main
// CHECK:         codegen.nontemporal = array<i64: 0>
// CHECK-NOT:     codegen.nontemporal
func.func @main(%x: tensor<512x8192xf32> {graph.id = 0 : ui64}) -> (tensor<512x8192xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<512x8192xf32>) -> tensor<512x8192xf32>
  return %0 : tensor<512x8192xf32>
}
func.func private @g(%x: tensor<512x8192xf32>) -> tensor<512x8192xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<512x8192xf32>) -> tensor<512x8192xf32>
  return %0 : tensor<512x8192xf32>
}

// -----

// A little less is not.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.nontemporal
func.func @main(%x: tensor<511x8192xf32> {graph.id = 0 : ui64}) -> (tensor<511x8192xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "relu"} : (tensor<511x8192xf32>) -> tensor<511x8192xf32>
  return %0 : tensor<511x8192xf32>
}
func.func private @g(%x: tensor<511x8192xf32>) -> tensor<511x8192xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<511x8192xf32>) -> tensor<511x8192xf32>
  return %0 : tensor<511x8192xf32>
}

// -----

// A result of 16 MiB goes past the caches.
// CHECK-LABEL: func.func private @large.l(
// CHECK:         tile.brgemm {{.*}} nontemporal_out
// Declines: one of less, and rows that end inside a line.
// CHECK-LABEL: func.func private @small.l(
// CHECK:         tile.brgemm
// CHECK-NOT:     nontemporal_out
// CHECK-LABEL: func.func private @torn.l(
// CHECK:         tile.brgemm
// CHECK-NOT:     nontemporal_out
func.func @main(%x: tensor<8192x64xf32>, %p: tensor<16x64x64xf32>, %y: tensor<4032x64xf32>, %z: tensor<8192x64xf32>) -> (tensor<8192x1024xf32>, tensor<4032x1024xf32>, tensor<8192x1023xf32>) {
  %0 = call @large(%x, %p) {tile.label = "large"} : (tensor<8192x64xf32>, tensor<16x64x64xf32>) -> tensor<8192x1024xf32>
  %1 = call @small(%y, %p) {tile.label = "small"} : (tensor<4032x64xf32>, tensor<16x64x64xf32>) -> tensor<4032x1024xf32>
  %2 = call @torn(%z, %p) {tile.label = "torn"} : (tensor<8192x64xf32>, tensor<16x64x64xf32>) -> tensor<8192x1023xf32>
  return %0, %1, %2 : tensor<8192x1024xf32>, tensor<4032x1024xf32>, tensor<8192x1023xf32>
}
func.func private @large(%x: tensor<8192x64xf32>, %p: tensor<16x64x64xf32>) -> tensor<8192x1024xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<8192x64xf32>, tensor<16x64x64xf32> -> tensor<8192x1024xf32>
  return %0 : tensor<8192x1024xf32>
}
func.func private @small(%x: tensor<4032x64xf32>, %p: tensor<16x64x64xf32>) -> tensor<4032x1024xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<4032x64xf32>, tensor<16x64x64xf32> -> tensor<4032x1024xf32>
  return %0 : tensor<4032x1024xf32>
}
func.func private @torn(%x: tensor<8192x64xf32>, %p: tensor<16x64x64xf32>) -> tensor<8192x1023xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<8192x64xf32>, tensor<16x64x64xf32> -> tensor<8192x1023xf32>
  return %0 : tensor<8192x1023xf32>
}
