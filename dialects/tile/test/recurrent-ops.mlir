// RUN: tenon-opt %s | tenon-opt | FileCheck %s

// A state that products read has one row per step; one that is read where it
// is written has a ring of one. A stage may read what an earlier one has stored.
// CHECK-LABEL: func @steps
// CHECK:         tile.slice %{{.*}} at [1, 0, 0] : tensor<2x8x4xf32> -> tensor<8x4xf32>
// CHECK:         tile.recurrence %{{.*}}, %{{.*}}, %{{.*}} attributes {
// CHECK-SAME:      finals = array<i64: 0>
// CHECK-SAME:      #tile.step_operand<lead = [1, 0],steps = false, batch = true>
// CHECK-SAME:      reverse, rings = array<i64: 0, 1>
// CHECK-SAME:      #tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>, <kind = state>, <kind = step>] targets = [1] columns = [0]>
// CHECK-SAME:      #tile.stage<width = 8 reads = [<kind = result, index = 1>] targets = [0] columns = [0]>
// CHECK:           tile.stage_yield %{{.*}} : f32
// CHECK:         }, {
func.func @steps(%all: tensor<2x8x4xf32>, %x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>, %h: tensor<2x1x3x8xf32>) -> (tensor<7x3x8xf32>, tensor<1x1x3x8xf32>) {
  %w = tile.slice %all at [1, 0, 0] : tensor<2x8x4xf32> -> tensor<8x4xf32>
  %0:3 = tile.recurrence %x, %u, %h attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>, #tile.step_operand<lead = [1, 0], steps = false, batch = true>],
      rings = array<i64: 0, 1>, finals = array<i64: 0>, reverse,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = 2>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>, <kind = state>, <kind = step>] targets = [1] columns = [0]>,
                #tile.stage<width = 8 reads = [<kind = result, index = 1>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32, %b: f32, %t: i32):
      %1 = arith.addf %sum, %a : f32
      %2 = arith.addf %1, %b : f32
      tile.stage_yield %2 : f32
    }, {
    ^bb0(%a: f32):
      tile.stage_yield %a : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>, tensor<2x1x3x8xf32>) -> (tensor<7x3x8xf32>, tensor<1x3x8xf32>, tensor<1x1x3x8xf32>)
  return %0#0, %0#2 : tensor<7x3x8xf32>, tensor<1x1x3x8xf32>
}
