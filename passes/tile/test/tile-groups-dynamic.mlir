// RUN: tenon-opt %s --split-input-file --tenon-form-groups --tenon-tile-groups | FileCheck %s

// Dense operands with two unknown sizes are one dimension.
// CHECK-LABEL: func.func private @g_Exp.l
// CHECK:         iterator_types = ["parallel"]
func.func @main(%x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %0 = graph.Exp %x : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// -----

// Rows of all batches are one block of rows: one remainder to find the panel.
// CHECK-LABEL: func.func private @g_matmul.l
// CHECK:         arith.remui
// CHECK-NOT:     arith.remui
// CHECK:         tile.brgemm
func.func @main(%x: tensor<?x?x64xf32>, %p: tensor<4x64x24xf32>) -> tensor<?x?x96xf32> {
  %0 = tile.matmul %x, %p : tensor<?x?x64xf32>, tensor<4x64x24xf32> -> tensor<?x?x96xf32>
  return %0 : tensor<?x?x96xf32>
}

// -----

// The buffer of a result tells the columns of a product through casts, too.
// CHECK-LABEL: func.func private @g_matmul_Round_TypeCast.l
// CHECK:         tile.brgemm
func.func @main(%x: tensor<?x15xf32>, %w: tensor<15x?xf32>) -> tensor<?x?xf32> {
  %p = tile.pack %w panel 48 : tensor<15x?xf32> -> tensor<?x15x48xf32>
  %0 = tile.matmul %x, %p : tensor<?x15xf32>, tensor<?x15x48xf32> -> tensor<?x?xf32>
  %1 = graph.Round %0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = graph.TypeCast %1 : (tensor<?x?xf32>) -> tensor<?x?xui8>
  %3 = graph.TypeCast %2 : (tensor<?x?xui8>) -> tensor<?x?xf32>
  return %3 : tensor<?x?xf32>
}
