// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{operand 0 has rank 3, its form 2}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = false>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{result 0 is 'tensor<7x3x8xf32>' with a ring of 2}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 2>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{1 sequences and 1 final states for 1 results}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64: 0>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{there is no result 1 with steps}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 1, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{8 columns from 1 on of 8 of result 0}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 1, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{state 0 begins as operand 2}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = 2>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{operand 1 has rank 3, its form 1}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 5 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{there is no state 3}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = state, index = 3>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{8 columns from 4 on of 8 of operand 0}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand, offset = 4>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{there is no operand 4}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = following, index = 0, otherwise = 4>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{a stage has 1 products and 1 reads, but its block 3 arguments}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32, %b: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{there is no result 2 with steps}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [2] columns = [0]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}

// -----

func.func @f(%x: tensor<7x3x8xf32>, %u: tensor<1x8x8xf32>) -> tensor<7x3x8xf32> {
  // expected-error @+1 {{8 columns from 3 on of 8 of result 0}}
  %0 = tile.recurrence %x, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0>, finals = array<i64>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0] columns = [3]>]} {
    ^bb0(%sum: f32, %a: f32):
      tile.stage_yield %sum : f32
    } : (tensor<7x3x8xf32>, tensor<1x8x8xf32>) -> tensor<7x3x8xf32>
  return %0 : tensor<7x3x8xf32>
}
