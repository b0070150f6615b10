// RUN: tenon-opt %s --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX512

// Each product has panels of its own. A stage without products stays as it is.
// CHECK-LABEL: func @steps
// AVX2:          %[[P:.*]] = tile.pack %{{.*}} panel 24 : tensor<2x8x40xf32> -> tensor<2x2x8x24xf32>
// AVX512:        %[[P:.*]] = tile.pack %{{.*}} panel 48 : tensor<2x8x40xf32> -> tensor<2x1x8x48xf32>
// CHECK:         tile.recurrence %{{.*}}, %[[P]]
// CHECK-SAME:      #tile.stage<width = 40 weights = 1 products = 2 state = 0
// CHECK-SAME:      #tile.stage<width = 40 reads
func.func @steps(%x: tensor<7x16x40xf32>, %u: tensor<2x8x40xf32>) -> tensor<7x16x8xf32> {
  %0:2 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0, 1>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 40 weights = 1 products = 2 state = 0 targets = [1] columns = [0]>,
                #tile.stage<width = 40 reads = [<kind = result, index = 1>] targets = [1] columns = [0]>]} {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      tile.stage_yield %1 : f32
    }, {
    ^bb0(%a: f32):
      tile.stage_yield %a : f32
    } : (tensor<7x16x40xf32>, tensor<2x8x40xf32>) -> (tensor<7x16x8xf32>, tensor<1x16x40xf32>)
  return %0#0 : tensor<7x16x8xf32>
}
