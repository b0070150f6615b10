// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{q, k, v and dst have ranks 1, 2, 2, 2}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x9xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{q sums over 9 elements, k over 8}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x9xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<1x8x24xf32>, %v: tensor<25x4xf32>) {
  // expected-error @+1 {{v has 25 keys, k is 'tensor<1x8x24xf32>'}}
  %0 = tile.attention %q, %k, %v packed score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<1x8x24xf32>, tensor<25x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<1x8x0xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{the panel of packed k is at least 1}}
  %0 = tile.attention %q, %k, %v packed score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<1x8x0xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{dst is 'tensor<5x3xf32>', q and v give [.., 5, 4]}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<2x5x8xf32>, %k: tensor<3x8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{leading dimensions do not broadcast to those of dst}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<2x5x8xf32>, tensor<3x8x7xf32>, tensor<7x4xf32> -> tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{epilogue operand 'tensor<8xf32>' does not broadcast to the scores}}
  %0 = tile.attention %q, %k, %v epilogue_operands(%s) score {
  ^bb0(%x: f32, %m: index, %n: index, %a: f32):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> epilogue_operands(tensor<8xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{stats is 'tensor<5xf32>', expected 'tensor<5x1xf32>'}}
  %0, %1 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32> stats tensor<5xf32>
  return
}

// -----

// Booleans are bytes inside.
func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %s: tensor<7xi1>) {
  // expected-error @+1 {{score arguments must be (product, m, n, epilogue operands..) of types}}
  %0 = tile.attention %q, %k, %v epilogue_operands(%s) score {
  ^bb0(%x: f32, %m: index, %n: index, %a: i1):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> epilogue_operands(tensor<7xi1>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{score operation arith.divsi has effects or may fail}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    %d = arith.divsi %m, %n : index
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{score must end in tile.yield of an f32}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %m : index
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<4x6xf32>) {
  // expected-error @+1 {{q has 5 rows, v has 6 columns}}
  %0 = tile.attention %q, %k, %v from_left score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<4x6xf32> -> tensor<4x7xf32>
  return
}

// -----

// The number of a weight is 64 bits wide.
func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{weights arguments must be (weight, element, epilogue operands..) of types}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } weights {
  ^bb0(%x: f32, %e: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

// Without weights there is nothing that needs divided rows.
func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{normalized needs weights, and rows to divide}}
  %0 = tile.attention %q, %k, %v normalized score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<7x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<4x5xf32>) {
  // expected-error @+1 {{normalized needs weights, and rows to divide}}
  %0 = tile.attention %q, %k, %v from_left normalized score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } weights {
  ^bb0(%x: f32, %e: i64):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x7xf32>, tensor<4x5xf32> -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf32>, %k: tensor<8x?xf32>, %v: tensor<4x5xf32>) {
  // expected-error @+1 {{from_left and normalized need a known number of keys}}
  %0 = tile.attention %q, %k, %v from_left score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf32>, tensor<8x?xf32>, tensor<4x5xf32> -> tensor<4x?xf32>
  return
}

// -----

func.func @f(%q: tensor<5x8xf64>, %k: tensor<8x7xf64>, %v: tensor<7x4xf64>) {
  // expected-error @+1 {{q, k, v and dst are all f32, bf16 or f16, found 'tensor<5x8xf64>'}}
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<5x8xf64>, tensor<8x7xf64>, tensor<7x4xf64> -> tensor<5x4xf64>
  return
}
