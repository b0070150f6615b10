// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%w: tensor<8xf32>) {
  // expected-error @+1 {{weights have rank 1, at least 2 is needed}}
  %0 = tile.pack %w panel 24 : tensor<8xf32> -> tensor<1x8x24xf32>
  return
}

// -----

func.func @f(%w: tensor<8x16xf32>) {
  // expected-error @+1 {{panel and groups are at least 1}}
  %0 = tile.pack %w panel 0 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  return
}

// -----

func.func @f(%w: tensor<3x8x16xf32>) {
  // expected-error @+1 {{panel and groups are at least 1}}
  %0 = tile.pack %w panel 8 groups 0 : tensor<3x8x16xf32> -> tensor<1x2x3x8x8xf32>
  return
}

// -----

func.func @f(%w: tensor<3x8x16xf32>) {
  // expected-error @+1 {{16 columns do not divide into 3 groups}}
  %0 = tile.pack %w panel 8 groups 3 : tensor<3x8x16xf32> -> tensor<3x1x3x8x8xf32>
  return
}

// -----

// The last panel is whole.
func.func @f(%w: tensor<8x40xf32>) {
  // expected-error @+1 {{result is 'tensor<1x8x24xf32>', expected 'tensor<2x8x24xf32>'}}
  %0 = tile.pack %w panel 24 : tensor<8x40xf32> -> tensor<1x8x24xf32>
  return
}

// -----

func.func @f(%w: tensor<8x40xf32>) {
  // expected-error @+1 {{expected 'tensor<2x8x24xf32>'}}
  %0 = tile.pack %w panel 24 : tensor<8x40xf32> -> tensor<2x8x24xbf16>
  return
}

// -----

func.func @f(%x: tensor<*xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor}}
  %0 = tile.matmul %x, %p : tensor<*xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6x3xf32>, %w: tensor<1x1x3x3x3x8xf32>) {
  // expected-error @+1 {{requires attribute 'groups'}}
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x6x6x3xf32>, tensor<1x1x3x3x3x8xf32> -> tensor<1x6x6x8xf32>
  return
}
