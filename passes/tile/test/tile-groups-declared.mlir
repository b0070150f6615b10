// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// What is declared of a named size decides. At most 16 rows are one block, and
// there is one at least: items are the four panels alone, and all rows are the
// block.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[ROWS:.*]] = memref.dim %arg0
// CHECK-NOT:     arith.divui
// CHECK:         rt.parallel "g.l" items(%c4
// CHECK-NOT:     arith.minsi
// CHECK:         memref.reinterpret_cast %arg0 {{.*}} sizes: [%[[ROWS]], 64], strides: [64, 1]
// CHECK:         tile.brgemm
// CHECK-SAME:      max_rows 16 row_multiple 4
func.func @main(%x: tensor<?x64xf32> {graph.sizes = ["n", "64"]}, %p: tensor<4x64x24xf32> {tile.folded}) -> tensor<?x96xf32>
    attributes {graph.size_facts = {n = {min = 1 : i64, max = 16 : i64, multiple_of = 4 : i64}}} {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<4x64x24xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<4x64x24xf32>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<?x64xf32>, tensor<4x64x24xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

// It is true of all that is computed from it, here of the rows of several
// matrices. Blocks are of rows that the divisor divides, too.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         arith.minsi
// CHECK:         tile.brgemm
// CHECK-NOT:       max_rows 4096
// CHECK-SAME:      row_multiple 8
func.func @main(%x: tensor<?x?x64xf32> {graph.sizes = ["b", "n", "64"]}, %p: tensor<4x64x24xf32> {tile.folded}) -> tensor<?x?x96xf32>
    attributes {graph.size_facts = {n = {max = 4096 : i64, multiple_of = 8 : i64}}} {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x?x64xf32>, tensor<4x64x24xf32>) -> tensor<?x?x96xf32>
  return %0 : tensor<?x?x96xf32>
}
func.func private @g(%x: tensor<?x?x64xf32>, %p: tensor<4x64x24xf32>) -> tensor<?x?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<?x?x64xf32>, tensor<4x64x24xf32> -> tensor<?x?x96xf32>
  return %0 : tensor<?x?x96xf32>
}

// -----

// Without a declaration nothing is known.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         arith.divui
// CHECK:         tile.brgemm
// CHECK-NOT:       max_rows
// CHECK-NOT:       row_multiple
func.func @main(%x: tensor<?x64xf32> {graph.sizes = ["n", "64"]}, %p: tensor<4x64x24xf32> {tile.folded}) -> tensor<?x96xf32>
    attributes {graph.size_facts = {m = {max = 16 : i64}}} {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<4x64x24xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<4x64x24xf32>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<?x64xf32>, tensor<4x64x24xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

// Of quantised weights for an unknown number of rows there are two sections:
// not where it is declared to be small.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel
// CHECK-NOT:     arith.sitofp
// CHECK:           tile.brgemm {{.*}} quantized
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<?x64xf32> {graph.sizes = ["n", ""]}, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<?x96xf32>
    attributes {graph.size_facts = {n = {min = 1 : i64, max = 2 : i64}}} {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<3x40x32xui8>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<3x40x32xui8>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<?x64xf32>, tensor<3x40x32xui8> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// -----

// Nor where it is declared to be large; long sums are cut then in any case.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel
// CHECK:           arith.sitofp
// CHECK-NOT:     quantized
// CHECK:         return
func.func @main(%x: tensor<?x64xf32> {graph.sizes = ["n", ""]}, %p: tensor<3x40x32xui8> {tile.folded}) -> tensor<?x96xf32>
    attributes {graph.size_facts = {n = {min = 1000 : i64}}} {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<?x64xf32>, tensor<3x40x32xui8>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
func.func private @g(%x: tensor<?x64xf32>, %p: tensor<3x40x32xui8>) -> tensor<?x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p quantized <bits = 4, is_signed = true, group = 32, zero_points = false> : tensor<?x64xf32>, tensor<3x40x32xui8> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
