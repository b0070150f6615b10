// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Weights as they lie. 700 columns are items of 192 and one of 124; 70 rows of
// W are 16, twice 16 more, and 22 with what follows the product.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<3x70xf32>, %[[W:[a-z0-9]+]]: memref<70x700xf32>, %[[B:[a-z0-9]+]]: memref<700xf32>
// CHECK:         rt.parallel "g.l" items(%c4)
// CHECK:           memref.reinterpret_cast %[[W]] {{.*}} sizes: [16, 192], strides: [700, 1]
// CHECK:           tile.brgemm ins({{.*}}) outs({{.*}}) attributes {packed = false}
// CHECK:           scf.for
// CHECK:             memref.reinterpret_cast %[[W]] {{.*}} sizes: [16, 192], strides: [700, 1]
// CHECK:             tile.brgemm {{.*}} accumulate attributes {packed = false}
// CHECK:           memref.reinterpret_cast %[[W]] {{.*}} sizes: [22, 192], strides: [700, 1]
// CHECK:           tile.brgemm {{.*}} epilogue_operands({{.*}}) {{.*}} accumulate {{.*}}epilogue
// CHECK:           sizes: [16, 124], strides: [700, 1]
func.func @main(%x: tensor<3x70xf32>, %w: tensor<70x700xf32>, %b: tensor<700xf32>) -> tensor<3x700xf32> {
  %0 = call @g(%x, %w, %b) {tile.label = "fc"} : (tensor<3x70xf32>, tensor<70x700xf32>, tensor<700xf32>) -> tensor<3x700xf32>
  return %0 : tensor<3x700xf32>
}
func.func private @g(%x: tensor<3x70xf32>, %w: tensor<70x700xf32>, %b: tensor<700xf32>) -> tensor<3x700xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %w in_place : tensor<3x70xf32>, tensor<70x700xf32> -> tensor<3x700xf32>
  %1 = graph.Add %0, %b : (tensor<3x700xf32>, tensor<700xf32>) -> tensor<3x700xf32>
  return %1 : tensor<3x700xf32>
}

// -----

// Columns that lie together are dots; what follows them reads their sums from
// scratch memory.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x3x70xf32>, %[[W:[a-z0-9]+]]: memref<2x70x200xf32, strided<[14000, 1, 70]>>
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(
// CHECK:             memref.reinterpret_cast %[[W]] {{.*}} sizes: [70, 128], strides: [1, 70]
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK:             math.fma
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK:             arith.select
// CHECK-NOT:     tile.brgemm
func.func @main(%x: tensor<2x3x70xf32>, %w: tensor<2x200x70xf32>) -> tensor<2x3x200xf32> {
  %t = graph.StaticTranspose %w {order = [0, 2, 1]} : (tensor<2x200x70xf32>) -> tensor<2x70x200xf32>
  %0 = call @g(%x, %t) {tile.label = "fc"} : (tensor<2x3x70xf32>, tensor<2x70x200xf32>) -> tensor<2x3x200xf32>
  return %0 : tensor<2x3x200xf32>
}
func.func private @g(%x: tensor<2x3x70xf32>, %w: tensor<2x70x200xf32>) -> tensor<2x3x200xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %w in_place : tensor<2x3x70xf32>, tensor<2x70x200xf32> -> tensor<2x3x200xf32>
  %1 = graph.ReLU %0 : (tensor<2x3x200xf32>) -> tensor<2x3x200xf32>
  return %1 : tensor<2x3x200xf32>
}

// -----

// K is that of the weights where src does not tell it.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l"
// CHECK:           sizes: [1, 20], strides: [{{.*}}, 1]
// CHECK:           tile.brgemm {{.*}}memref<20x40xf32
func.func @main(%x: tensor<1x?xf32>, %w: tensor<20x40xf32>) -> tensor<1x40xf32> {
  %0 = call @g(%x, %w) {tile.label = "fc"} : (tensor<1x?xf32>, tensor<20x40xf32>) -> tensor<1x40xf32>
  return %0 : tensor<1x40xf32>
}
func.func private @g(%x: tensor<1x?xf32>, %w: tensor<20x40xf32>) -> tensor<1x40xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %w in_place : tensor<1x?xf32>, tensor<20x40xf32> -> tensor<1x40xf32>
  return %0 : tensor<1x40xf32>
}
