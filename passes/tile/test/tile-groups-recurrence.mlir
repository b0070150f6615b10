// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --canonicalize --mlir-print-local-scope | FileCheck %s

// Step 0 reads the layer of the states that is its own, later steps the row of
// the result before theirs: two sections, the second in a loop over the steps.
// Two blocks of 8 units are one item; each has its sums in scratch, and the
// block of the stage makes c and h of them. c has a ring of one.
// CHECK-LABEL: func.func @main(
// CHECK:         call @g.l(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<7x3x13xf32>, %[[U:[a-z0-9]+]]: memref<2x2x13x8xf32>, %[[S:[a-z0-9]+]]: memref<2x1x3x13xf32>, %[[D:[a-z0-9]+]]: memref<7x3x13xf32>, %[[C:[a-z0-9]+]]: memref<1x3x13xf32>, %[[H:[a-z0-9]+]]: memref<1x1x3x13xf32>)
// CHECK:         rt.parallel "g.l" items(%c1) scratch(%c192) {
// CHECK:           %[[SUMS:.*]] = memref.view %{{.*}} to memref<3x16xf32>
// CHECK:           %[[H0:.*]] = memref.reinterpret_cast %[[S]] to offset: [39], sizes: [3, 13]
// CHECK:           tile.brgemm ins(%[[H0]], {{.*}} prefetch_next next_panel 208
// CHECK:           tile.brgemm ins(%[[H0]],
// CHECK:           scf.if
// CHECK:             linalg.generic {{.*}} memref<3x8xf32, strided<[16, 1]>>
// CHECK:           else
// CHECK:             linalg.generic {{.*}} memref<3x5xf32, strided<[16, 1]>>
// CHECK:         scf.for %[[T:.*]] = %c1 to %c7 step %c1 {
// CHECK:           rt.parallel "g.l" items(%c1) scratch(%c192) {
// CHECK:             %[[A:.*]] = memref.reinterpret_cast %[[D]] to offset: [%{{.*}}], sizes: [3, 13]
// CHECK:             tile.brgemm ins(%[[A]],
// CHECK:             %[[CELL:.*]] = memref.reinterpret_cast %[[C]] {{.*}} sizes: [3, 8]
// CHECK:             linalg.generic
// The last h is copied from the last row.
// CHECK:         rt.parallel "g.l"
// CHECK:           memref.reinterpret_cast %[[D]] to offset: [234], sizes: [39]
// CHECK:           memref.reinterpret_cast %[[H]]
func.func @main(%g: tensor<7x3x13xf32>, %u: tensor<2x2x13x8xf32>, %s: tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x1x3x13xf32>) {
  %0:3 = call @g(%g, %u, %s) {tile.label = "cell"} : (tensor<7x3x13xf32>, tensor<2x2x13x8xf32>, tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x3x13xf32>, tensor<1x1x3x13xf32>)
  return %0#0, %0#2 : tensor<7x3x13xf32>, tensor<1x1x3x13xf32>
}
func.func private @g(%g: tensor<7x3x13xf32>, %u: tensor<2x2x13x8xf32>, %s: tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x3x13xf32>, tensor<1x1x3x13xf32>) attributes {tile.group = #tile.group<recurrence>} {
  %0:3 = tile.recurrence %g, %u, %s attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>, #tile.step_operand<lead = [1, 0], steps = false, batch = true>],
      rings = array<i64: 0, 1>, finals = array<i64: 0>,
      states = [#tile.state<result = 0, offset = 0, width = 13, initial = 2>, #tile.state<result = 1, offset = 0, width = 13, initial = -1>],
      stages = [#tile.stage<width = 13 weights = 1 products = 2 state = 0 reads = [<kind = operand>, <kind = state, index = 1>] targets = [1, 0] columns = [0, 0]>]} {
    ^bb0(%a: f32, %b: f32, %x: f32, %c: f32):
      %1 = arith.addf %a, %x : f32
      %2 = arith.mulf %b, %c : f32
      %3 = arith.addf %1, %2 : f32
      %4 = math.tanh %3 : f32
      tile.stage_yield %3, %4 : f32, f32
    } : (tensor<7x3x13xf32>, tensor<2x2x13x8xf32>, tensor<2x1x3x13xf32>) -> (tensor<7x3x13xf32>, tensor<1x3x13xf32>, tensor<1x1x3x13xf32>)
  return %0#0, %0#1, %0#2 : tensor<7x3x13xf32>, tensor<1x3x13xf32>, tensor<1x1x3x13xf32>
}

// -----

// Where a step looks at the one that follows, the last one has its own code:
// there it is the operand of another layer. Steps and batch may be unknown.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[G:[a-z0-9]+]]: memref<?x?x8xf32>, %[[S:[a-z0-9]+]]: memref<?x8xf32>,
// CHECK:         scf.for
// CHECK:           rt.parallel
// CHECK:             memref.reinterpret_cast %[[S]]
// CHECK:         scf.for
// CHECK:           rt.parallel
// CHECK-NOT:         memref.reinterpret_cast %[[S]]
// CHECK:         scf.for
// CHECK:           rt.parallel
// CHECK-NOT:         memref.reinterpret_cast %[[S]]
// CHECK:         scf.for
// CHECK:           rt.parallel
// CHECK:             memref.reinterpret_cast %[[S]]
func.func @main(%g: tensor<?x?x8xf32>, %s: tensor<?x8xf32>) -> tensor<?x?x8xf32> {
  %0 = call @g(%g, %s) {tile.label = "cell"} : (tensor<?x?x8xf32>, tensor<?x8xf32>) -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}
func.func private @g(%g: tensor<?x?x8xf32>, %s: tensor<?x8xf32>) -> tensor<?x?x8xf32> attributes {tile.group = #tile.group<recurrence>} {
  %0 = tile.recurrence %g, %s attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = true>],
      rings = array<i64: 0>, finals = array<i64>, reverse, states = [],
      stages = [#tile.stage<width = 8 reads = [<kind = following, otherwise = 1>, <kind = step>] targets = [0] columns = [0]>]} {
    ^bb0(%a: f32, %t: i32):
      %1 = arith.sitofp %t : i32 to f32
      %2 = arith.addf %a, %1 : f32
      tile.stage_yield %2 : f32
    } : (tensor<?x?x8xf32>, tensor<?x8xf32>) -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}

// -----

// A slice is a copy from its first element on.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<2x8x4xf32>, %[[B:[a-z0-9]+]]: memref<8x2xf32>)
// CHECK:         memref.reinterpret_cast %[[A]] to offset: [34], sizes: [8, 2], strides: [4, 1]
func.func @main(%a: tensor<2x8x4xf32>) -> tensor<8x2xf32> {
  %0 = call @g(%a) {tile.label = "slice"} : (tensor<2x8x4xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
func.func private @g(%a: tensor<2x8x4xf32>) -> tensor<8x2xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.slice %a at [1, 0, 2] : tensor<2x8x4xf32> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
