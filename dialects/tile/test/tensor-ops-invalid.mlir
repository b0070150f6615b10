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

// -----

func.func @f(%x: tensor<8xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{have ranks 1, 3, 2, at least 2, 3, 2 are needed}}
  %0 = tile.matmul %x, %p : tensor<8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %p: tensor<1x9x24xf32>) {
  // expected-error @+1 {{K of weights is 9, expected 8}}
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x9x24xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{the number of rows of dst is 5, expected 4}}
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<5x16xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{the number of panels is 1, expected 2}}
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x25xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %p: tensor<1x8x?xf32>) {
  // expected-error @+1 {{the panel of weights has no known width}}
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x?xf32> -> tensor<4x25xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x25xf32>) {
  // expected-error @+1 {{the number of columns of dst is 24, expected 25}}
  %0 = tile.matmul %x, %w in_place : tensor<4x8xf32>, tensor<8x25xf32> -> tensor<4x24xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %w: tensor<9x25xf32>) {
  // expected-error @+1 {{K of weights is 9, expected 8}}
  %0 = tile.matmul %x, %w in_place : tensor<4x8xf32>, tensor<9x25xf32> -> tensor<4x25xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xbf16>, %w: tensor<8x25xbf16>) {
  // expected-error @+1 {{in place, weights are f32, not interleaved, of known K}}
  %0 = tile.matmul %x, %w in_place : tensor<4x8xbf16>, tensor<8x25xbf16> -> tensor<4x25xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4x8xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{leading dim 0 of src is 3, that of dst 2}}
  %0 = tile.matmul %x, %p : tensor<3x4x8xf32>, tensor<1x8x24xf32> -> tensor<2x4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4x8xf32>, %p: tensor<1x8x24xf32>) {
  // expected-error @+1 {{src has more leading dims than dst}}
  %0 = tile.matmul %x, %p : tensor<3x4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{strides has 2 entries, expected 1}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1, 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{strides has 0, at least 1 is needed}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 0>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{pads_begin has -1, at least 0 is needed}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: -1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{groups is 0, at least 1 is needed}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 0 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<3x3x8xf32>) {
  // expected-error @+1 {{the rank of weights is 3, expected 5}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x4xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{channels of weights is 3, expected 4}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x4xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{size of spatial dim 0 of dst is 5, expected 6}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{the number of panels is 1, expected 2}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x6x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x6xf32>, %p: tensor<2x1x3x3x8xf32>) {
  // expected-error @+1 {{9 channels of dst do not divide into 2 groups}}
  %0 = tile.conv %x, %p {dilations = array<i64: 1>, groups = 2 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>, pads_end = array<i64: 1>} : tensor<1x6x6xf32>, tensor<2x1x3x3x8xf32> -> tensor<1x6x9xf32>
  return
}

// -----

func.func @f(%x: tensor<6x3xf32>, %p: tensor<3x3xf32>) {
  // expected-error @+1 {{data has rank 2, at least 3 is needed}}
  %0 = tile.conv_transpose %x, %p {depthwise, dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<6x3xf32>, tensor<3x3xf32> -> tensor<6x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x1x3x3x8xf32>) {
  // expected-error @+1 {{the batch of dst is 2, expected 1}}
  %0 = tile.conv_transpose %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<2x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<3x1x3xf32>) {
  // expected-error @+1 {{depthwise: groups is 1, expected 3}}
  %0 = tile.conv_transpose %x, %p {depthwise, dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<3x1x3xf32> -> tensor<1x6x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<3x1x3xf32>) {
  // expected-error @+1 {{depthwise: channels of dst is 4, expected 3}}
  %0 = tile.conv_transpose %x, %p {depthwise, dilations = array<i64: 1>, groups = 3 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<3x1x3xf32> -> tensor<1x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x6x8xf32>) {
  // expected-error @+1 {{the rank of diff is 3, expected 5}}
  %0 = tile.conv_weights %x, %p {packed, dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x6x8xf32> -> tensor<3x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<2x6x8xf32>) {
  // expected-error @+1 {{the batch of diff is 2, expected 1}}
  %0 = tile.conv_weights %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<2x6x8xf32> -> tensor<3x3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x6x8xf32>) {
  // expected-error @+1 {{channels of diff is 8, expected 9}}
  %0 = tile.conv_weights %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x6x8xf32> -> tensor<3x3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<3x1x1x6x8xf32>) {
  // expected-error @+1 {{depthwise gradients read diff as it is}}
  %0 = tile.conv_weights %x, %p {depthwise, packed, dilations = array<i64: 1>, groups = 3 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<3x1x1x6x8xf32> -> tensor<3x1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x3xf32>, %p: tensor<1x2x1x6x8xf32>) {
  // expected-error @+1 {{the number of panels is 2, expected 1}}
  %0 = tile.conv_weights %x, %p {packed, dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x3xf32>, tensor<1x2x1x6x8xf32> -> tensor<3x3x8xf32>
  return
}

// -----

func.func @joined(%x: tensor<1x6x3xf32>, %p: tensor<1x1x1x9x8xf32>) -> tensor<1x2x8xf32> {
  // expected-error@+1 {{joins taps that are apart}}
  %0 = tile.conv %x, %p {dilations = array<i64: 2>, groups = 1 : i64, joined = 3 : i64, pads_begin = array<i64: 0>, strides = array<i64: 1>, pads_end = array<i64: 0>} : tensor<1x6x3xf32>, tensor<1x1x1x9x8xf32> -> tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// -----

func.func @f(%x: tensor<1x6x8xf32>, %w: tensor<3x4x8xf32>) {
  // expected-error @+1 {{depthwise: groups is 4, expected 2}}
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1>, groups = 4 : i64, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x8xf32>, tensor<3x4x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x8xf32>, %w: tensor<3x3x8xf32>) {
  // expected-error @+1 {{depthwise: 8 channels do not divide into groups of 3}}
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1>, groups = 2 : i64, pads_begin = array<i64: 1>, pads_end = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x8xf32>, tensor<3x3x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @pads_of_other_rank(%x: tensor<1x?x3xf32>, %p: tensor<1x1x3x3x8xf32>) -> tensor<1x?x8xf32> {
  // expected-error @+1 {{pads_end has 2 entries, expected 1}}
  %0 = tile.conv_transpose %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1>} : tensor<1x?x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x?x8xf32>
  return %0 : tensor<1x?x8xf32>
}

// -----

func.func @unknown_auto_pad(%x: tensor<1x?x3xf32>, %p: tensor<1x1x3x3x8xf32>) -> tensor<1x?x8xf32> {
  // expected-error @+1 {{auto_pad is VALID}}
  %0 = tile.conv %x, %p {auto_pad = "VALID", dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 0>, pads_end = array<i64: 0>, strides = array<i64: 1>} : tensor<1x?x3xf32>, tensor<1x1x3x3x8xf32> -> tensor<1x?x8xf32>
  return %0 : tensor<1x?x8xf32>
}

// -----

func.func @f(%x: tensor<1x6x8xf32>, %w: tensor<3x4x8xf32>) {
  // expected-error @+1 {{depthwise: groups is 2, expected 8}}
  %0 = tile.conv_transpose %x, %w {depthwise, dilations = array<i64: 1>, groups = 2 : i64, pads_begin = array<i64: 1>, strides = array<i64: 1>} : tensor<1x6x8xf32>, tensor<3x4x8xf32> -> tensor<1x6x8xf32>
  return
}

// -----

func.func @flip(%w: tensor<8x16xf32>) {
  // expected-error @+1 {{weights of a convolution have taps and two dims more, got 'tensor<8x16xf32>'}}
  %0 = tile.flip %w : tensor<8x16xf32>
  return
}
