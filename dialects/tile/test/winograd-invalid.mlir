// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{ranks 3, 6, 4, expected 4, 6, 4}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x8x24xf32>) {
  // expected-error @+1 {{ranks 4, 5, 4, expected 4, 6, 4}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xbf16>) {
  // expected-error @+1 {{computes in f32, not in 'bf16'}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xbf16> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{computes in f32, not in 'f16'}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf16>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x?xf32>) {
  // expected-error @+1 {{the panel of weights has no known width}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x?xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{pads have 1 and 2 entries, expected 2}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{pads are at least 0}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, -1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<2x1x4x4x8x24xf32>) {
  // expected-error @+1 {{groups of weights is 2, expected 1}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<2x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x3x4x8x24xf32>) {
  // expected-error @+1 {{points of weights along rows is 3, expected 4}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x3x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x6x8x24xf32>) {
  // expected-error @+1 {{points of weights along columns is 6, expected 4}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x6x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x7x24xf32>) {
  // expected-error @+1 {{channels of weights is 7, expected 8}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x7x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{the number of panels is 1, expected 2}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x25xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{the batch of dst is 2, expected 1}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<2x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{size of spatial dim 1 of dst is 6, expected 5}}
  %0 = tile.winograd %x, %p outputs 2 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 0>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%w: tensor<3x3x4x8xbf16>) {
  // expected-error @+1 {{expected 3 x 3 taps of f32 and two more dimensions}}
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x3x4x8xbf16> -> tensor<4x4x4x8xbf16>
  return
}

// -----

func.func @f(%w: tensor<3x1x4x8xf32>) {
  // expected-error @+1 {{expected 3 x 3 taps of f32 and two more dimensions}}
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x1x4x8xf32> -> tensor<4x4x4x8xf32>
  return
}

// -----

func.func @f(%w: tensor<3x3x8xf32>) {
  // expected-error @+1 {{expected 3 x 3 taps of f32 and two more dimensions}}
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x3x8xf32> -> tensor<4x4x8xf32>
  return
}

// -----

func.func @f(%w: tensor<3x3x4x8xf32>) {
  // expected-error @+1 {{result is 'tensor<4x4x8x4xf32>', expected 'tensor<4x4x4x8xf32>'}}
  %0 = tile.winograd_weights %w outputs 2 : tensor<3x3x4x8xf32> -> tensor<4x4x8x4xf32>
  return
}

// -----

func.func @f(%w: tensor<3x3x4x8xf32>) {
  // expected-error @+1 {{result is 'tensor<4x4x4x8xf32>', expected 'tensor<6x6x4x8xf32>'}}
  %0 = tile.winograd_weights %w outputs 4 : tensor<3x3x4x8xf32> -> tensor<4x4x4x8xf32>
  return
}

// -----

func.func @f(%w: tensor<3x3x4x8xf32>) {
  // expected-error @+1 {{a tile has 3 outputs per dimension, expected 2 or 4}}
  %0 = tile.winograd_weights %w outputs 3 : tensor<3x3x4x8xf32> -> tensor<5x5x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x8x8x8x24xf32>) {
  // expected-error @+1 {{a tile has 6 outputs per dimension, expected 2 or 4}}
  %0 = tile.winograd %x, %p outputs 6 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x8x8x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x8xf32>, %p: tensor<1x1x4x4x8x24xf32>) {
  // expected-error @+1 {{points of weights along rows}}
  %0 = tile.winograd %x, %p outputs 4 {pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : tensor<1x6x6x8xf32>, tensor<1x1x4x4x8x24xf32> -> tensor<1x6x6x24xf32>
  return
}
