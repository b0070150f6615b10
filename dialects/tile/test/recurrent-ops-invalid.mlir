// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%w: tensor<5x4x13xf32>) {
  // expected-error @+1 {{weights have rank 3, needed is 5}}
  %0 = tile.pack_gates %w layer 0 unit 8 panel 16 : tensor<5x4x13xf32> -> tensor<4x5x16xf32>
  return
}

// -----

// A panel holds whole gates, a block whole panels.
func.func @f(%w: tensor<1x1x5x4x13xf32>) {
  // expected-error @+1 {{a block of 8 units and 4 gates is no whole number of panels of 24}}
  %0 = tile.pack_gates %w layer 0 unit 8 panel 24 : tensor<1x1x5x4x13xf32> -> tensor<3x5x24xf32>
  return
}

// -----

func.func @f(%w: tensor<2x1x5x4x13xf32>) {
  // expected-error @+1 {{layer 2 of 2}}
  %0 = tile.pack_gates %w layer 2 unit 8 panel 16 : tensor<2x1x5x4x13xf32> -> tensor<4x5x16xf32>
  return
}

// -----

func.func @f(%w: tensor<2x1x5x4x13xf32>) {
  // expected-error @+1 {{result is 'tensor<3x5x16xf32>', expected 'tensor<4x5x16xf32>'}}
  %0 = tile.pack_gates %w layer 0 unit 8 panel 16 : tensor<2x1x5x4x13xf32> -> tensor<3x5x16xf32>
  return
}

// -----

func.func @f(%g: tensor<7x3x52xf32>, %u: tensor<4x13x16xf32>) {
  // expected-error @+1 {{and 64 columns}}
  %0:3 = tile.rnn %g, %u layer 0 unit 8 : tensor<7x3x52xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
  return
}

// -----

func.func @f(%g: tensor<7x3x64xf32>, %u: tensor<3x13x16xf32>) {
  // expected-error @+1 {{recurrent has 3 panels, needed are 4}}
  %0:3 = tile.rnn %g, %u layer 0 unit 8 : tensor<7x3x64xf32>, tensor<3x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
  return
}

// -----

func.func @f(%g: tensor<7x3x64xf32>, %u: tensor<4x13x16xf32>, %h: tensor<1x1x3x12xf32>) {
  // expected-error @+1 {{its last dims are batch and K}}
  %0:3 = tile.rnn %g, %u h(%h : tensor<1x1x3x12xf32>) layer 0 unit 8 : tensor<7x3x64xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
  return
}

// -----

func.func @f(%g: tensor<7x3x64xf32>, %u: tensor<4x13x16xf32>) {
  // expected-error @+1 {{h and c are 1x1x(batch)x13}}
  %0:3 = tile.rnn %g, %u layer 0 unit 8 : tensor<7x3x64xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x14xf32>, tensor<1x1x3x13xf32>
  return
}
