// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// L2 holds all weights but no image: the 32 groups of 6 rows of dst follow each
// other, for each reads part of the same lines. 26 rows are 5 blocks, the first
// and the last row two more. 12.8 MB may lie in the last cache: nothing prefetches.
// CHECK-LABEL: func.func private @narrow.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 3584 : index
// CHECK:         rt.parallel "{{.*}}" items(%[[ITEMS]])
// CHECK:         scf.for %[[ITEM:.*]] =
// CHECK:         %[[GROUPS:.*]] = arith.constant 32 : index
// CHECK-NEXT:    arith.remui %[[ITEM]], %[[GROUPS]]
// CHECK:         arith.constant 6 : index
// CHECK-NOT:     prefetch(
// Declines: weights of groups of 16 take more than a quarter of L2. The items of
// 28 rows, first, last and between, are those of a group.
// CHECK-LABEL: func.func private @wide.l(
// CHECK:         %[[ITEMS:.*]] = arith.constant 1536 : index
// CHECK:         rt.parallel "{{.*}}" items(%[[ITEMS]])
// CHECK:         scf.for %[[ITEM:.*]] =
// CHECK:         %[[BLOCKS:.*]] = arith.constant 3 : index
// CHECK-NEXT:    arith.remui %[[ITEM]], %[[BLOCKS]]
func.func @main(%x: tensor<16x28x28x256xf32>, %v: tensor<32x1x3x3x8x8xf32>, %y: tensor<16x28x28x512xf32>, %w: tensor<32x1x3x3x16x16xf32>) -> (tensor<16x28x28x256xf32>, tensor<16x28x28x512xf32>) {
  %0 = call @narrow(%x, %v) : (tensor<16x28x28x256xf32>, tensor<32x1x3x3x8x8xf32>) -> tensor<16x28x28x256xf32>
  %1 = call @wide(%y, %w) : (tensor<16x28x28x512xf32>, tensor<32x1x3x3x16x16xf32>) -> tensor<16x28x28x512xf32>
  return %0, %1 : tensor<16x28x28x256xf32>, tensor<16x28x28x512xf32>
}
func.func private @narrow(%x: tensor<16x28x28x256xf32>, %w: tensor<32x1x3x3x8x8xf32>) -> tensor<16x28x28x256xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<16x28x28x256xf32>, tensor<32x1x3x3x8x8xf32> -> tensor<16x28x28x256xf32>
  return %0 : tensor<16x28x28x256xf32>
}
func.func private @wide(%x: tensor<16x28x28x512xf32>, %w: tensor<32x1x3x3x16x16xf32>) -> tensor<16x28x28x512xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<16x28x28x512xf32>, tensor<32x1x3x3x16x16xf32> -> tensor<16x28x28x512xf32>
  return %0 : tensor<16x28x28x512xf32>
}

// -----

// An image of 3.2 MB in one block of two rows of src each; 16 of them come from
// memory: the product of a group prefetches a 32nd of the next two rows.
// CHECK-LABEL: func.func private @prefetched.l(
// CHECK:         rt.parallel
// CHECK:         %[[GROUPS:.*]] = arith.constant 32 : index
// CHECK:         memref.reinterpret_cast %{{.*}}, sizes: [896], strides: [1]
// CHECK:         tile.brgemm {{.*}} prefetch(%
func.func @main(%x: tensor<16x56x56x256xf32>, %w: tensor<32x1x3x3x8x8xf32>) -> tensor<16x28x28x256xf32> {
  %0 = call @prefetched(%x, %w) : (tensor<16x56x56x256xf32>, tensor<32x1x3x3x8x8xf32>) -> tensor<16x28x28x256xf32>
  return %0 : tensor<16x28x28x256xf32>
}
func.func private @prefetched(%x: tensor<16x56x56x256xf32>, %w: tensor<32x1x3x3x8x8xf32>) -> tensor<16x28x28x256xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<16x56x56x256xf32>, tensor<32x1x3x3x8x8xf32> -> tensor<16x28x28x256xf32>
  return %0 : tensor<16x28x28x256xf32>
}

// -----

// 16 KiB of weights stay near: items of a row follow each other, and threads
// take rows as they do of what is before and after. Declines: those of 200 KiB.
// CHECK-LABEL: func.func private @few.l(
// CHECK:         scf.for %[[ITEM:.*]] =
// CHECK:         %[[GROUPS:.*]] = arith.constant 4 : index
// CHECK-NEXT:    arith.remui %[[ITEM]], %[[GROUPS]]
// CHECK-LABEL: func.func private @many.l(
// CHECK:         scf.for %[[ITEM:.*]] =
// CHECK:         %[[ROWS:.*]] = arith.constant 28 : index
// CHECK-NEXT:    arith.remui %[[ITEM]], %[[ROWS]]
func.func @main(%x: tensor<1x28x28x128xf32>, %v: tensor<4x1x1x1x32x32xf32>, %y: tensor<1x28x28x448xf32>, %w: tensor<4x1x1x1x112x112xf32>) -> (tensor<1x28x28x128xf32>, tensor<1x28x28x448xf32>) {
  %0 = call @few(%x, %v) : (tensor<1x28x28x128xf32>, tensor<4x1x1x1x32x32xf32>) -> tensor<1x28x28x128xf32>
  %1 = call @many(%y, %w) : (tensor<1x28x28x448xf32>, tensor<4x1x1x1x112x112xf32>) -> tensor<1x28x28x448xf32>
  return %0, %1 : tensor<1x28x28x128xf32>, tensor<1x28x28x448xf32>
}
func.func private @few(%x: tensor<1x28x28x128xf32>, %w: tensor<4x1x1x1x32x32xf32>) -> tensor<1x28x28x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 4 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x28x28x128xf32>, tensor<4x1x1x1x32x32xf32> -> tensor<1x28x28x128xf32>
  return %0 : tensor<1x28x28x128xf32>
}
func.func private @many(%x: tensor<1x28x28x448xf32>, %w: tensor<4x1x1x1x112x112xf32>) -> tensor<1x28x28x448xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 4 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x28x28x448xf32>, tensor<4x1x1x1x112x112xf32> -> tensor<1x28x28x448xf32>
  return %0 : tensor<1x28x28x448xf32>
}
