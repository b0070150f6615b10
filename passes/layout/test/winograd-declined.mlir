// RUN: tenon-opt %s --split-input-file --tenon-pack-weights='winograd=always' --verify-diagnostics | FileCheck %s

// Declines, whatever is asked for; each reason is a remark.
// CHECK-NOT: tile.winograd

func.func @groups(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x32x64xf32> {graph.property = "constant"}) -> tensor<1x56x56x64xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): it has 2 groups}}
  %0 = graph.Convolution %x, %w {groups = 2, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x32x64xf32>) -> tensor<1x56x56x64xf32>
  return %0 : tensor<1x56x56x64xf32>
}

// -----

func.func @strides(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x28x56x64xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): its strides are 2x1}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [2, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x56x64xf32>
  return %0 : tensor<1x28x56x64xf32>
}

// -----

func.func @dilations(%x: tensor<1x56x56x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x56x54x64xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): its dilations are 1x2}}
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 2]} : (tensor<1x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x56x54x64xf32>
  return %0 : tensor<1x56x54x64xf32>
}

// -----

func.func @unknown_padding(%x: tensor<1x?x56x64xf32>, %w: tensor<3x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x?x56x64xf32> {
  // expected-remark @+1 {{computed directly, not by Winograd's F(2x2, 3x3): its padding follows from sizes that are not known}}
  %0 = graph.Convolution %x, %w {groups = 1, auto_pad = "SAME_UPPER", strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x?x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x?x56x64xf32>
  return %0 : tensor<1x?x56x64xf32>
}

// -----

// Other taps and types are not asked about: no remark.
func.func @taps(%x: tensor<1x56x56x64xf32>, %w: tensor<1x3x64x64xf32> {graph.property = "constant"}) -> tensor<1x58x56x64xf32> {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xf32>, tensor<1x3x64x64xf32>) -> tensor<1x58x56x64xf32>
  return %0 : tensor<1x58x56x64xf32>
}

// -----

func.func @type(%x: tensor<1x56x56x64xbf16>, %w: tensor<3x3x64x64xbf16> {graph.property = "constant"}) -> tensor<1x56x56x64xbf16> {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x56x56x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<1x56x56x64xbf16>
  return %0 : tensor<1x56x56x64xbf16>
}
