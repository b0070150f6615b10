// RUN: tenon-opt %s --tenon-raise-attention --tenon-pack-weights --tenon-form-groups --tenon-tile-groups | FileCheck %s

// Sums over an unknown number of keys are as long as a split or a step at most:
// of 4096 keys with a pitch of 4112, or 512 with one of 528. A product with a
// depth that is known needs no bound.
// CHECK-LABEL: func.func private @g_MatMul_SoftMax_MatMul.l(
// CHECK:         tile.brgemm {{.*}} : memref<?x?xf32, {{.*}} max_terms 4112 attributes {packed = false}
// CHECK:         tile.brgemm {{.*}} : memref<?x64xf32
// CHECK-NOT:     max_terms
// CHECK:         tile.brgemm {{.*}} : memref<?x?xf32, {{.*}} accumulate max_terms 528 attributes {packed = false}
func.func @main(%q: tensor<2x?x64xf32>, %k: tensor<2x64x?xf32>, %v: tensor<2x?x64xf32>) -> tensor<2x?x64xf32> {
  %0 = graph.MatMul %q, %k : (tensor<2x?x64xf32>, tensor<2x64x?xf32>) -> tensor<2x?x?xf32>
  %1 = graph.SoftMax %0 {axis = -1 : i64} : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %2 = graph.MatMul %1, %v : (tensor<2x?x?xf32>, tensor<2x?x64xf32>) -> tensor<2x?x64xf32>
  return %2 : tensor<2x?x64xf32>
}
