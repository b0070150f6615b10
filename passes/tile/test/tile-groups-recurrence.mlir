// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --canonicalize --mlir-print-local-scope | FileCheck %s

// Step 0 reads the layer of the states that is its own, later steps the row of
// dst before theirs: two sections, the second in a loop over the steps. Two
// blocks of 8 units are one item; each has its gates in scratch, as two strips,
// and makes c and h of them. c, which nobody returns, has a buffer all the same.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[C:.*]] = memref.alloc() : memref<1x1x3x13xf32>
// CHECK:         call @g.l({{.*}}, %[[C]])
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<7x3x64xf32>, %[[U:[a-z0-9]+]]: memref<4x13x16xf32>, %[[S:[a-z0-9]+]]: memref<2x1x3x13xf32>, %[[D:[a-z0-9]+]]: memref<7x3x13xf32>, %[[H:[a-z0-9]+]]: memref<1x1x3x13xf32>, %[[C:[a-z0-9]+]]: memref<1x1x3x13xf32>)
// CHECK:         rt.parallel "g.l" items(%c1) scratch(%c384) {
// CHECK:           %[[SUMS:.*]] = memref.view %{{.*}} to memref<3x32xf32>
// CHECK:           %[[H0:.*]] = memref.reinterpret_cast %[[S]] to offset: [39], sizes: [3, 13]
// CHECK:           tile.brgemm ins(%[[H0]], {{.*}} prefetch_next epilogue
// CHECK:           tile.brgemm ins(%[[H0]],
// CHECK:           scf.if
// CHECK:             linalg.generic {{.*}} memref<3x8xf32, strided<[32, 1]>>
// CHECK:           else
// CHECK:             linalg.generic {{.*}} memref<3x5xf32, strided<[32, 1]>>
// CHECK:         scf.for %[[T:.*]] = %c1 to %c7 step %c1 {
// CHECK-NEXT:      rt.parallel "g.l" items(%c1) scratch(%c384) {
// CHECK:             %[[LAST:.*]] = arith.subi %[[T]], %c1
// CHECK:             %[[ROW:.*]] = arith.muli %[[LAST]], %c39
// CHECK:             %[[A:.*]] = memref.reinterpret_cast %[[D]] to offset: [%[[ROW]]], sizes: [3, 13]
// CHECK:             %[[W:.*]] = memref.reinterpret_cast %[[U]] {{.*}} sizes: [13, 16], strides: [16, 1]
// CHECK:             %[[X:.*]] = memref.reinterpret_cast %[[G]] {{.*}} sizes: [3, 16], strides: [64, 1]
// CHECK:             %[[O:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [3, 16], strides: [32, 1]
// CHECK:             tile.brgemm ins(%[[A]], %[[W]] : {{.*}}) epilogue_operands(%[[X]] : {{.*}}) maps [affine_map<(d0, d1) -> (d0, d1)>] outs(%[[O]] : {{.*}}) prefetch_next epilogue
// CHECK:             %[[CELL:.*]] = memref.reinterpret_cast %[[C]] {{.*}} sizes: [3, 8]
// CHECK:             %[[ROWS:.*]] = memref.reinterpret_cast %[[D]] {{.*}} sizes: [3, 8]
// CHECK:             linalg.generic {{.*}} outs(%[[CELL]], %[[ROWS]] :
// CHECK-COUNT-3:       math.exp
// The last h is copied from the last row.
// CHECK:         rt.parallel "g.l"
// CHECK:           memref.reinterpret_cast %[[D]] to offset: [234], sizes: [39]
// CHECK:           memref.reinterpret_cast %[[H]]
func.func @main(%g: tensor<7x3x64xf32>, %u: tensor<4x13x16xf32>, %s: tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x1x3x13xf32>) {
  %0:3 = call @g(%g, %u, %s) {tile.label = "lstm"} : (tensor<7x3x64xf32>, tensor<4x13x16xf32>, tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>)
  return %0#0, %0#1 : tensor<7x3x13xf32>, tensor<1x1x3x13xf32>
}
func.func private @g(%g: tensor<7x3x64xf32>, %u: tensor<4x13x16xf32>, %s: tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>) attributes {tile.group = #tile.group<recurrence>} {
  %0:3 = tile.rnn %g, %u h(%s : tensor<2x1x3x13xf32>) layer 1 unit 8 : tensor<7x3x64xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
  return %0#0, %0#1, %0#2 : tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
}

// -----

// Steps of the execution: step 0, and the states when there is none, are loops
// of at most one round. Without states step 0 has no product and no scratch.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         scf.for %{{.*}} = %c0 to
// CHECK:           rt.parallel "g.l" items(%{{.*}}) scratch(%c0) {
// CHECK-NOT:         tile.brgemm
// CHECK:         scf.for %{{.*}} = %c1 to
// CHECK:           rt.parallel
// CHECK:             tile.brgemm
// CHECK:         scf.for %{{.*}} = %{{.*}} to %c1
// CHECK:           rt.parallel
// CHECK-NOT:         linalg.generic {{.*}} ins(
func.func @main(%g: tensor<?x?x32xf32>, %u: tensor<2x8x16xf32>) -> tensor<?x?x8xf32> {
  %0:2 = call @g(%g, %u) {tile.label = "lstm"} : (tensor<?x?x32xf32>, tensor<2x8x16xf32>) -> (tensor<?x?x8xf32>, tensor<1x1x?x8xf32>)
  return %0#0 : tensor<?x?x8xf32>
}
func.func private @g(%g: tensor<?x?x32xf32>, %u: tensor<2x8x16xf32>) -> (tensor<?x?x8xf32>, tensor<1x1x?x8xf32>) attributes {tile.group = #tile.group<recurrence>} {
  %0:3 = tile.rnn %g, %u layer 0 unit 8 : tensor<?x?x32xf32>, tensor<2x8x16xf32> -> tensor<?x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  return %0#0, %0#2 : tensor<?x?x8xf32>, tensor<1x1x?x8xf32>
}

// -----

// Packing: blocks, strips, channels, gates of a strip and units on both sides;
// the second block has 5 of 8 units, the rest of it is zero. Layer 1 begins at
// element 260.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<2x1x5x4x13xf32>, %[[P:[a-z0-9]+]]: memref<4x5x16xf32>)
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[W]] {{.*}} strides: [26, 52, 13, 1]
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[W]] {{.*}} 5], strides: [26, 52, 13, 1]
// CHECK:         rt.parallel
// CHECK-NOT:       memref.reinterpret_cast %[[W]]
// CHECK:           memref.reinterpret_cast %[[P]]
func.func @main(%w: tensor<2x1x5x4x13xf32>) -> tensor<4x5x16xf32> {
  %0 = call @g(%w) {tile.label = "pack"} : (tensor<2x1x5x4x13xf32>) -> tensor<4x5x16xf32>
  return %0 : tensor<4x5x16xf32>
}
func.func private @g(%w: tensor<2x1x5x4x13xf32>) -> tensor<4x5x16xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.pack_gates %w layer 1 unit 8 panel 16 : tensor<2x1x5x4x13xf32> -> tensor<4x5x16xf32>
  return %0 : tensor<4x5x16xf32>
}
