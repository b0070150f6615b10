// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// A result of 16 MiB goes past the caches.
// CHECK-LABEL: func.func private @large.l(
// CHECK:         tile.brgemm {{.*}} stream_out
// Declines: one of less.
// CHECK-LABEL: func.func private @small.l(
// CHECK:         tile.brgemm
// CHECK-NOT:     stream_out
func.func @main(%x: tensor<4096x64xf32>, %p: tensor<16x64x64xf32>, %y: tensor<4032x64xf32>) -> (tensor<4096x1024xf32>, tensor<4032x1024xf32>) {
  %0 = call @large(%x, %p) {tile.label = "large"} : (tensor<4096x64xf32>, tensor<16x64x64xf32>) -> tensor<4096x1024xf32>
  %1 = call @small(%y, %p) {tile.label = "small"} : (tensor<4032x64xf32>, tensor<16x64x64xf32>) -> tensor<4032x1024xf32>
  return %0, %1 : tensor<4096x1024xf32>, tensor<4032x1024xf32>
}
func.func private @large(%x: tensor<4096x64xf32>, %p: tensor<16x64x64xf32>) -> tensor<4096x1024xf32> attributes {tile.group = "contraction"} {
  %0 = tile.matmul %x, %p : tensor<4096x64xf32>, tensor<16x64x64xf32> -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
func.func private @small(%x: tensor<4032x64xf32>, %p: tensor<16x64x64xf32>) -> tensor<4032x1024xf32> attributes {tile.group = "contraction"} {
  %0 = tile.matmul %x, %p : tensor<4032x64xf32>, tensor<16x64x64xf32> -> tensor<4032x1024xf32>
  return %0 : tensor<4032x1024xf32>
}
