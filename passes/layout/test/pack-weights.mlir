// RUN: tenon-opt %s --split-input-file --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,bf16_dot_width=2,int8_dot_width=4 --tenon-pack-weights | FileCheck %s --check-prefixes=CHECK,AVX512,PAIRS

// A panel is as wide as the register tile: three vectors of 8, four of 16.
// CHECK-LABEL: func @wide
// CHECK-SAME:    %[[X:.*]]: tensor<128x64xf32>, %[[W:.*]]: tensor<64x768xf32>
// AVX2-NEXT:     %[[P:.*]] = tile.pack %[[W]] panel 24 : tensor<64x768xf32> -> tensor<32x64x24xf32>
// AVX512-NEXT:   %[[P:.*]] = tile.pack %[[W]] panel 48 : tensor<64x768xf32> -> tensor<16x64x48xf32>
// CHECK-NEXT:    tile.matmul %[[X]], %[[P]] : {{.*}} -> tensor<128x768xf32>
// CHECK-NOT:     graph.MatMul
func.func @wide(%x: tensor<128x64xf32>, %w: tensor<64x768xf32>) -> tensor<128x768xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x768xf32>) -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}

// -----

// Few columns are one panel.
// CHECK-LABEL: func @narrow
// CHECK-NEXT:    tile.pack %{{.*}} panel [[P:[0-9]+]] : tensor<64x10xf32> -> tensor<1x64x[[P]]xf32>
func.func @narrow(%x: tensor<128x64xf32>, %w: tensor<64x10xf32>) -> tensor<128x10xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
  return %0 : tensor<128x10xf32>
}

// -----

// Rows and K may be unknown, and weights may have batches of their own.
// CHECK-LABEL: func @dynamic
// CHECK-NEXT:    tile.pack %{{.*}} panel [[P:[0-9]+]] : tensor<3x?x96xf32> -> tensor<3x{{[0-9]+}}x?x[[P]]xf32>
// CHECK-NEXT:    tile.matmul {{.*}} -> tensor<3x?x96xf32>
func.func @dynamic(%x: tensor<?x?xf32>, %w: tensor<3x?x96xf32>) -> tensor<3x?x96xf32> {
  %0 = graph.MatMul %x, %w : (tensor<?x?xf32>, tensor<3x?x96xf32>) -> tensor<3x?x96xf32>
  return %0 : tensor<3x?x96xf32>
}

// -----

// Attributes of the convolution carry over; the panel is chosen per group.
// CHECK-LABEL: func @conv_groups
// CHECK-NEXT:    %[[W:.*]] = tile.pack %{{.*}} panel [[P:[0-9]+]] groups 2 : tensor<3x3x4x32xf32> -> tensor<2x1x3x3x4x[[P]]xf32>
// CHECK-NEXT:    tile.conv %{{.*}}, %[[W]] {dilations = array<i64: 1, 2>, groups = 2 : i64, pads_begin = array<i64: 0, 1>, pads_end = array<i64: 1, 0>, strides = array<i64: 2, 1>}
func.func @conv_groups(%x: tensor<1x9x9x8xf32>, %w: tensor<3x3x4x32xf32>) -> tensor<1x4x6x32xf32> {
  %0 = graph.Convolution %x, %w {groups = 2, strides = [2, 1], pads_begin = [0, 1], pads_end = [1, 0], dilations = [1, 2]} : (tensor<1x9x9x8xf32>, tensor<3x3x4x32xf32>) -> tensor<1x4x6x32xf32>
  return %0 : tensor<1x4x6x32xf32>
}

// -----

// Declines: a depthwise convolution is no product of matrices, its weights stay.
// CHECK-LABEL: func @depthwise
// CHECK-SAME:    %[[X:.*]]: tensor<1x6x6x8xf32>, %[[W:.*]]: tensor<3x3x1x8xf32>
// CHECK-NOT:     tile.pack
// CHECK:         tile.conv %[[X]], %[[W]] {depthwise, {{.*}}groups = 8
func.func @depthwise(%x: tensor<1x6x6x8xf32>, %w: tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = graph.Convolution %x, %w {groups = 8, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// -----

// Lanes are channels: NCX data is copied to have them together.
// CHECK-LABEL: func @depthwise_ncx
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose
// CHECK-NEXT:    %[[X:.*]] = graph.Reorder %[[T]]
// CHECK-NEXT:    tile.conv %[[X]], %{{.*}} {depthwise
func.func @depthwise_ncx(%x: tensor<1x8x6xf32>, %w: tensor<3x1x8xf32>) -> tensor<1x4x8xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<1x8x6xf32>) -> tensor<1x6x8xf32>
  %0 = graph.Convolution %t, %w {groups = 8, strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x6x8xf32>, tensor<3x1x8xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}

// -----

// Groups of 4 are as many lanes: their weights stay, too.
// CHECK-LABEL: func @narrow_groups
// CHECK-SAME:    %[[X:.*]]: tensor<1x6x6x24xf32>, %[[W:.*]]: tensor<3x3x4x24xf32>
// CHECK-NEXT:    tile.conv %[[X]], %[[W]] {depthwise, {{.*}}groups = 6
func.func @narrow_groups(%x: tensor<1x6x6x24xf32>, %w: tensor<3x3x4x24xf32>) -> tensor<1x4x4x24xf32> {
  %0 = graph.Convolution %x, %w {groups = 6, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x24xf32>, tensor<3x3x4x24xf32>) -> tensor<1x4x4x24xf32>
  return %0 : tensor<1x4x4x24xf32>
}

// -----

// Groups of 8 fill a vector of 8, and half of one of 16.
// CHECK-LABEL: func @groups_of_8
// AVX2:          tile.pack
// AVX512-NOT:    tile.pack
// CHECK:         tile.conv
func.func @groups_of_8(%x: tensor<1x6x6x24xf32>, %w: tensor<3x3x8x24xf32>) -> tensor<1x4x4x24xf32> {
  %0 = graph.Convolution %x, %w {groups = 3, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x24xf32>, tensor<3x3x8x24xf32>) -> tensor<1x4x4x24xf32>
  return %0 : tensor<1x4x4x24xf32>
}

// -----

// Declines: 40 products for a row of 5 taps would be too much code.
// CHECK-LABEL: func @many_terms
// CHECK:         tile.pack
func.func @many_terms(%x: tensor<1x8x8x24xf32>, %w: tensor<5x5x8x24xf32>) -> tensor<1x4x4x24xf32> {
  %0 = graph.Convolution %x, %w {groups = 3, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x8x8x24xf32>, tensor<5x5x8x24xf32>) -> tensor<1x4x4x24xf32>
  return %0 : tensor<1x4x4x24xf32>
}

// -----

// Declines: more channels of dst than of src.
// CHECK-LABEL: func @wider_groups
// CHECK:         tile.pack
func.func @wider_groups(%x: tensor<1x6x6x12xf32>, %w: tensor<3x3x4x24xf32>) -> tensor<1x4x4x24xf32> {
  %0 = graph.Convolution %x, %w {groups = 3, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x12xf32>, tensor<3x3x4x24xf32>) -> tensor<1x4x4x24xf32>
  return %0 : tensor<1x4x4x24xf32>
}

// -----

// Two outputs per channel are groups of two columns: packed.
// CHECK-LABEL: func @multiplier
// CHECK-NEXT:    tile.pack %{{.*}} groups 8 : tensor<3x3x1x16xf32> -> tensor<8x1x3x3x1x
// CHECK-NEXT:    tile.conv
// CHECK-NOT:     depthwise
func.func @multiplier(%x: tensor<1x6x6x8xf32>, %w: tensor<3x3x1x16xf32>) -> tensor<1x4x4x16xf32> {
  %0 = graph.Convolution %x, %w {groups = 8, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x6x6x8xf32>, tensor<3x3x1x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// -----

// A transposed convolution multiplies with the channels of its src: weights
// are transposed, groups stay in front of what a group produces.
// CHECK-LABEL: func @transpose
// CHECK-SAME:    %[[X:.*]]: tensor<1x5x5x16xf32>, %[[W:.*]]: tensor<3x3x8x16xf32>
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[W]] {order = [0, 1, 3, 2]} : {{.*}} -> tensor<3x3x16x8xf32>
// CHECK-NEXT:    %[[P:.*]] = tile.pack %[[T]] panel [[NR:[0-9]+]] groups 1 : tensor<3x3x16x8xf32> -> tensor<1x1x3x3x16x[[NR]]xf32>
// CHECK-NEXT:    tile.conv_transpose %[[X]], %[[P]] {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 0>, strides = array<i64: 2, 2>}
func.func @transpose(%x: tensor<1x5x5x16xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x10x11x8xf32> {
  %0 = graph.ConvTranspose %x, %w {strides = [2, 2], pads_begin = [1, 0], pads_end = [1, 0], dilations = [1, 1], output_padding = [1, 0]} : (tensor<1x5x5x16xf32>, tensor<3x3x8x16xf32>) -> tensor<1x10x11x8xf32>
  return %0 : tensor<1x10x11x8xf32>
}

// -----

// CHECK-LABEL: func @transpose_groups
// CHECK:         graph.StaticReshape %{{.*}} {shape = [3, 4, 2, 3]
// CHECK-NEXT:    graph.StaticTranspose %{{.*}} {order = [0, 3, 2, 1]} : {{.*}} -> tensor<3x3x2x4xf32>
// CHECK-NEXT:    graph.StaticReshape %{{.*}} {shape = [3, 3, 8]
// CHECK-NEXT:    tile.pack %{{.*}} groups 2 : tensor<3x3x8xf32> -> tensor<2x1x3x3x
// CHECK-NEXT:    tile.conv_transpose {{.*}}groups = 2
func.func @transpose_groups(%x: tensor<1x5x6xf32>, %w: tensor<3x4x6xf32>) -> tensor<1x11x8xf32> {
  %0 = graph.ConvTranspose %x, %w {groups = 2, strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x5x6xf32>, tensor<3x4x6xf32>) -> tensor<1x11x8xf32>
  return %0 : tensor<1x11x8xf32>
}

// -----

// Rows of a class are gathered from several columns: NCX data is copied.
// CHECK-LABEL: func @transpose_ncx
// CHECK:         %[[T:.*]] = graph.StaticTranspose %{{.*}} {order = [0, 2, 1]} : (tensor<1x6x5xf32>)
// CHECK:         %[[X:.*]] = graph.Reorder %[[T]]
// CHECK:         tile.conv_transpose %[[X]],
func.func @transpose_ncx(%x: tensor<1x6x5xf32>, %w: tensor<3x4x6xf32>) -> tensor<1x11x4xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<1x6x5xf32>) -> tensor<1x5x6xf32>
  %0 = graph.ConvTranspose %t, %w {groups = 1, strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x5x6xf32>, tensor<3x4x6xf32>) -> tensor<1x11x4xf32>
  return %0 : tensor<1x11x4xf32>
}

// -----

// Channels 1024 bytes apart under overlapping windows are copied together; few
// positions, windows side by side, or channels elsewhere in the cache are read
// across.
// CHECK-LABEL: func @waits
// CHECK:         %[[BAD:.*]] = graph.StaticTranspose {{.*}}tensor<1x8x256xf32>
// CHECK:         %[[R:.*]] = graph.Reorder %[[BAD]]
// CHECK:         tile.conv %[[R]],
// CHECK-NOT:     graph.Reorder
// CHECK:         return
func.func @waits(%x: tensor<1x8x256xf32>, %other: tensor<1x8x300xf32>, %side: tensor<1x8x768xf32>, %w: tensor<3x8x4xf32>)
    -> (tensor<1x256x4xf32>, tensor<1x300x4xf32>, tensor<1x256x4xf32>, tensor<1x128x4xf32>) {
  %0 = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<1x8x256xf32>) -> tensor<1x256x8xf32>
  %1 = graph.Convolution %0, %w {strides = [1], pads_begin = [1], pads_end = [1], dilations = [1]} : (tensor<1x256x8xf32>, tensor<3x8x4xf32>) -> tensor<1x256x4xf32>
  %4 = graph.StaticTranspose %other {order = [0, 2, 1]} : (tensor<1x8x300xf32>) -> tensor<1x300x8xf32>
  %5 = graph.Convolution %4, %w {strides = [1], pads_begin = [1], pads_end = [1], dilations = [1]} : (tensor<1x300x8xf32>, tensor<3x8x4xf32>) -> tensor<1x300x4xf32>
  %6 = graph.StaticTranspose %side {order = [0, 2, 1]} : (tensor<1x8x768xf32>) -> tensor<1x768x8xf32>
  %7 = graph.Convolution %6, %w {strides = [3], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x768x8xf32>, tensor<3x8x4xf32>) -> tensor<1x256x4xf32>
  %8 = graph.StaticTranspose %side {order = [0, 2, 1]} : (tensor<1x8x768xf32>) -> tensor<1x768x8xf32>
  %9 = graph.Convolution %8, %w {strides = [2], pads_begin = [0], pads_end = [0], dilations = [256]} : (tensor<1x768x8xf32>, tensor<3x8x4xf32>) -> tensor<1x128x4xf32>
  return %1, %5, %7, %9 : tensor<1x256x4xf32>, tensor<1x300x4xf32>, tensor<1x256x4xf32>, tensor<1x128x4xf32>
}

// -----

// One tap everywhere: the transpose of a product is a product.
// CHECK-LABEL: func @transpose_pointwise
// CHECK:         tile.conv %
// CHECK-NOT:     tile.conv_transpose
func.func @transpose_pointwise(%x: tensor<1x5x6xf32>, %w: tensor<1x4x6xf32>) -> tensor<1x5x4xf32> {
  %0 = graph.ConvTranspose %x, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x5x6xf32>, tensor<1x4x6xf32>) -> tensor<1x5x4xf32>
  return %0 : tensor<1x5x4xf32>
}

// -----

// Of unknown size: nothing comes of nothing, though the window has padding.
// CHECK-LABEL: func @transpose_of_unknown_size
// CHECK:         tile.conv {{.*}}pads_end = array<i64: 2>{{.*}}tile.empty_like_src
func.func @transpose_of_unknown_size(%x: tensor<1x?x6xf32>, %w: tensor<3x1x6xf32>) -> tensor<1x?x6xf32> {
  %0 = graph.ConvTranspose %x, %w {groups = 6, strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x?x6xf32>, tensor<3x1x6xf32>) -> tensor<1x?x6xf32>
  return %0 : tensor<1x?x6xf32>
}

// -----

// Stride 1: a convolution with taps in the opposite order, where channels are
// lanes.
// CHECK-LABEL: func @transpose_depthwise
// CHECK-NOT:     tile.pack
// CHECK:         %[[F:.*]] = tile.flip %{{.*}} : tensor<3x1x6xf32>
// CHECK-NEXT:    tile.conv %{{.*}}, %[[F]] {depthwise, dilations = array<i64: 1>, groups = 6 : i64, pads_begin = array<i64: 2>, pads_end = array<i64: 2>, strides = array<i64: 1>}
func.func @transpose_depthwise(%x: tensor<1x5x6xf32>, %w: tensor<3x1x6xf32>) -> tensor<1x7x6xf32> {
  %0 = graph.ConvTranspose %x, %w {groups = 6, strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x5x6xf32>, tensor<3x1x6xf32>) -> tensor<1x7x6xf32>
  return %0 : tensor<1x7x6xf32>
}

// -----

// ... and by Winograd.
// CHECK-LABEL: func @transpose_filtered
// CHECK:         %[[T:.*]] = graph.StaticTranspose %{{.*}} {order = [0, 1, 3, 2]} : (tensor<3x3x64x96xf32>) -> tensor<3x3x96x64xf32>
// CHECK-NEXT:    %[[F:.*]] = tile.flip %[[T]]
// CHECK-NEXT:    tile.winograd_weights %[[F]] outputs 2
// CHECK:         tile.winograd {{.*}} {pads_begin = array<i64: 1, 2>, pads_end = array<i64: 1, 2>
func.func @transpose_filtered(%x: tensor<1x56x56x96xf32>, %w: tensor<3x3x64x96xf32>) -> tensor<1x56x58x64xf32> {
  %0 = graph.ConvTranspose %x, %w {groups = 1, strides = [1, 1], pads_begin = [1, 0], pads_end = [1, 0], dilations = [1, 1]} : (tensor<1x56x56x96xf32>, tensor<3x3x64x96xf32>) -> tensor<1x56x58x64xf32>
  return %0 : tensor<1x56x58x64xf32>
}

// -----

// Declines: a stride, and padding of more than the taps reach.
// CHECK-LABEL: func @not_flipped
// CHECK-NOT:     tile.flip
// CHECK:         tile.conv_transpose {{.*}}depthwise
// CHECK:         tile.conv_transpose {{.*}}depthwise
func.func @not_flipped(%x: tensor<1x5x6xf32>, %w: tensor<3x1x6xf32>) -> (tensor<1x11x6xf32>, tensor<1x1x6xf32>) {
  %0 = graph.ConvTranspose %x, %w {groups = 6, strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x5x6xf32>, tensor<3x1x6xf32>) -> tensor<1x11x6xf32>
  %1 = graph.ConvTranspose %x, %w {groups = 6, strides = [1], pads_begin = [3], pads_end = [3], dilations = [1]} : (tensor<1x5x6xf32>, tensor<3x1x6xf32>) -> tensor<1x1x6xf32>
  return %0, %1 : tensor<1x11x6xf32>, tensor<1x1x6xf32>
}

// -----

// By weights: each element of the gradient of dst is used 3 * 3 * 64 times.
// CHECK-LABEL: func @weights
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x8x64xf32>, %[[D:.*]]: tensor<2x8x8x96xf32>
// AVX2-NEXT:     %[[P:.*]] = tile.pack %[[D]] panel 24 groups 1 : tensor<2x8x8x96xf32> -> tensor<1x4x2x8x8x24xf32>
// AVX512-NEXT:   %[[P:.*]] = tile.pack %[[D]] panel 48 groups 1 : tensor<2x8x8x96xf32> -> tensor<1x2x2x8x8x48xf32>
// CHECK-NEXT:    tile.conv_weights %[[X]], %[[P]] {dilations = array<i64: 1, 1>, groups = 1 : i64, packed, pads_begin = array<i64: 1, 1>, strides = array<i64: 1, 1>} : {{.*}} -> tensor<3x3x64x96xf32>
func.func @weights(%x: tensor<2x8x8x64xf32>, %d: tensor<2x8x8x96xf32>) -> tensor<3x3x64x96xf32> {
  %0 = graph.ConvolutionBackwardWeights %x, %d {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], weights_shape = [3, 3, 64, 96]} : (tensor<2x8x8x64xf32>, tensor<2x8x8x96xf32>) -> tensor<3x3x64x96xf32>
  return %0 : tensor<3x3x64x96xf32>
}

// -----

// Declines: 64 uses do not pay for a copy.
// CHECK-LABEL: func @weights_few_uses
// CHECK-NEXT:    tile.conv_weights %{{.*}}, %{{.*}} {dilations
// CHECK-NOT:     packed
// CHECK:         return
func.func @weights_few_uses(%x: tensor<2x8x64xf32>, %d: tensor<2x8x96xf32>) -> tensor<1x64x96xf32> {
  %0 = graph.ConvolutionBackwardWeights %x, %d {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [1, 64, 96]} : (tensor<2x8x64xf32>, tensor<2x8x96xf32>) -> tensor<1x64x96xf32>
  return %0 : tensor<1x64x96xf32>
}

// -----

// Declines: no contraction.
// CHECK-LABEL: func @other
// CHECK-NEXT:    graph.Add
// CHECK-NEXT:    return
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Pairs of K lie together where the target multiplies pairs, and K fills some.
// CHECK-LABEL: func @narrow_floats
// AVX2-NEXT:     tile.pack %{{.*}} panel 24 : tensor<64x48xbf16> -> tensor<2x64x24xbf16>
// PAIRS-NEXT:    %[[P:.*]] = tile.pack %{{.*}} panel 48 interleave 2 : tensor<64x48xbf16> -> tensor<1x32x48x2xbf16>
// PAIRS-NEXT:    tile.matmul %{{.*}}, %[[P]] interleave 2
// PAIRS:         tile.pack %{{.*}} panel 48 : tensor<5x48xbf16>
// PAIRS:         tile.pack %{{.*}} panel 48 : tensor<64x48xf16>
func.func @narrow_floats(%x: tensor<128x64xbf16>, %w: tensor<64x48xbf16>, %y: tensor<128x5xbf16>, %v: tensor<5x48xbf16>,
                         %z: tensor<128x64xf16>, %u: tensor<64x48xf16>) -> (tensor<128x48xbf16>, tensor<128x48xbf16>, tensor<128x48xf16>) {
  %0 = graph.MatMul %x, %w : (tensor<128x64xbf16>, tensor<64x48xbf16>) -> tensor<128x48xbf16>
  %1 = graph.MatMul %y, %v : (tensor<128x5xbf16>, tensor<5x48xbf16>) -> tensor<128x48xbf16>
  %2 = graph.MatMul %z, %u : (tensor<128x64xf16>, tensor<64x48xf16>) -> tensor<128x48xf16>
  return %0, %1, %2 : tensor<128x48xbf16>, tensor<128x48xbf16>, tensor<128x48xf16>
}

// -----

// So many channels across that L1 does not keep their lines for all panels and
// taps: they are copied together. Fewer channels, few panels that read one
// position of four, or a product of single positions, are read across.
// CHECK-LABEL: func @many_channels
// CHECK:         %[[MANY:.*]] = graph.StaticTranspose {{.*}}tensor<1x256x20x20xf32>
// CHECK:         %[[R:.*]] = graph.Reorder %[[MANY]]
// CHECK:         tile.conv %[[R]],
// CHECK-NOT:     graph.Reorder
// CHECK:         return
func.func @many_channels(%x: tensor<1x256x20x20xf32>, %few: tensor<1x128x20x20xf32>, %w: tensor<3x3x256x192xf32>, %v: tensor<3x3x128x192xf32>, %u: tensor<1x1x256x192xf32>)
    -> (tensor<1x10x10x192xf32>, tensor<1x10x10x192xf32>, tensor<1x10x10x192xf32>, tensor<1x20x20x192xf32>) {
  %0 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<1x256x20x20xf32>) -> tensor<1x20x20x256xf32>
  %1 = graph.Convolution %0, %w {strides = [2, 2], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x20x20x256xf32>, tensor<3x3x256x192xf32>) -> tensor<1x10x10x192xf32>
  %2 = graph.StaticTranspose %few {order = [0, 2, 3, 1]} : (tensor<1x128x20x20xf32>) -> tensor<1x20x20x128xf32>
  %3 = graph.Convolution %2, %v {strides = [2, 2], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<1x20x20x128xf32>, tensor<3x3x128x192xf32>) -> tensor<1x10x10x192xf32>
  %4 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<1x256x20x20xf32>) -> tensor<1x20x20x256xf32>
  %5 = graph.Convolution %4, %u {strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x20x20x256xf32>, tensor<1x1x256x192xf32>) -> tensor<1x10x10x192xf32>
  %6 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<1x256x20x20xf32>) -> tensor<1x20x20x256xf32>
  %7 = graph.Convolution %6, %u {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x20x20x256xf32>, tensor<1x1x256x192xf32>) -> tensor<1x20x20x192xf32>
  return %1, %3, %5, %7 : tensor<1x10x10x192xf32>, tensor<1x10x10x192xf32>, tensor<1x10x10x192xf32>, tensor<1x20x20x192xf32>
}

// -----

// Weights of a depthwise convolution that lie channels first are copied, so that
// lanes are neighbours; those that lie channels last are read as they are.
// CHECK-LABEL: func @depthwise_weights
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg1
// CHECK:         %[[C:.*]] = graph.Reorder %[[T]]
// CHECK:         tile.conv %arg0, %[[C]] {{.*}}depthwise
// CHECK-NOT:     graph.Reorder
// CHECK:         tile.conv %arg0, %arg2 {{.*}}depthwise
func.func @depthwise_weights(%x: tensor<1x6x6x8xf32>, %w: tensor<8x1x3x3xf32>, %v: tensor<3x3x1x8xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) {
  %t = graph.StaticTranspose %w {order = [2, 3, 1, 0]} : (tensor<8x1x3x3xf32>) -> tensor<3x3x1x8xf32>
  %0 = graph.Convolution %x, %t {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], groups = 8 : i64} : (tensor<1x6x6x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = graph.Convolution %x, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], groups = 8 : i64} : (tensor<1x6x6x8xf32>, tensor<3x3x1x8xf32>) -> tensor<1x4x4x8xf32>
  return %0, %1 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>
}

// -----

// Nine queries are worth packing the keys; eight are not, and heads that share
// their keys count together.
// CHECK-LABEL: func.func @attention
// CHECK:         %[[P:.*]] = tile.pack %arg2
// CHECK:         tile.attention %arg0, %[[P]], %arg3 packed
// CHECK-NOT:     tile.pack
// CHECK:         tile.attention %arg1, %arg2, %arg3 score
// CHECK:         %[[S:.*]] = tile.pack %arg5
// CHECK:         tile.attention %arg4, %[[S]], %{{.*}} packed
func.func @attention(%nine: tensor<2x9x8xf32>, %eight: tensor<2x8x8xf32>, %k: tensor<2x8x37xf32>, %v: tensor<2x37x4xf32>, %heads: tensor<5x2x8xf32>, %one: tensor<1x8x37xf32>, %w: tensor<1x37x4xf32>) -> (tensor<2x9x4xf32>, tensor<2x8x4xf32>, tensor<5x2x4xf32>) {
  %0 = tile.attention %nine, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x9x8xf32>, tensor<2x8x37xf32>, tensor<2x37x4xf32> -> tensor<2x9x4xf32>
  %1 = tile.attention %eight, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x8x8xf32>, tensor<2x8x37xf32>, tensor<2x37x4xf32> -> tensor<2x8x4xf32>
  %2 = tile.attention %heads, %one, %w score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<5x2x8xf32>, tensor<1x8x37xf32>, tensor<1x37x4xf32> -> tensor<5x2x4xf32>
  return %0, %1, %2 : tensor<2x9x4xf32>, tensor<2x8x4xf32>, tensor<5x2x4xf32>
}

// -----

// Keys and values of narrow attention both lie in groups, where the target has
// products of groups.
// CHECK-LABEL: func.func @narrow_attention
// AVX2:          tile.pack %{{.*}} panel 16 : tensor<2x64x77xbf16> -> tensor<2x5x64x16xbf16>
// AVX2:          tile.attention {{.*}} packed score
// PAIRS:         tile.pack %{{.*}} panel 48 interleave 2 : tensor<2x64x77xbf16> -> tensor<2x2x32x48x2xbf16>
// PAIRS:         tile.pack %{{.*}} interleave 2 : tensor<2x77x64xbf16> -> tensor<2x{{.*}}x39x{{.*}}x2xbf16>
// PAIRS:         tile.attention {{.*}} packed score
// PAIRS:         {interleave = 2 : i64, keys = 77 : i64}
func.func @narrow_attention(%q: tensor<2x50x64xbf16>, %k: tensor<2x64x77xbf16>, %v: tensor<2x77x64xbf16>) -> tensor<2x50x64xbf16> {
  %0 = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %m: index, %n: index):
    tile.yield %x : f32
  } : tensor<2x50x64xbf16>, tensor<2x64x77xbf16>, tensor<2x77x64xbf16> -> tensor<2x50x64xbf16>
  return %0 : tensor<2x50x64xbf16>
}

// -----

// Few panels and rows, long sums: parts of K are items of their own.
// CHECK-LABEL: func.func @cut
// CHECK:         %[[X:.*]] = graph.StaticReshape %arg0 {{.*}} -> tensor<16x8x1024xf32>
// CHECK:         %[[A:.*]] = graph.StaticTranspose %[[X]] {{.*}} -> tensor<8x16x1024xf32>
// CHECK:         %[[W:.*]] = graph.StaticReshape %arg1 {{.*}} -> tensor<8x1024x16xf32>
// CHECK:         %[[P:.*]] = tile.pack %[[W]]
// CHECK:         %[[Y:.*]] = tile.matmul %[[A]], %[[P]] {{.*}} -> tensor<8x16x16xf32>
// CHECK:         graph.ReduceSum %[[Y]] {axes = [0]
func.func @cut(%x: tensor<16x8192xf32>, %w: tensor<8192x16xf32> {graph.property = "constant"}) -> tensor<16x16xf32> {
  %0 = graph.MatMul %x, %w : (tensor<16x8192xf32>, tensor<8192x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// -----

// Declines: panels enough; sums too short; too little work; src across memory.
// CHECK-LABEL: func.func @whole
// CHECK-NOT:     ReduceSum
func.func @whole(%x: tensor<16x4096xf32>, %w: tensor<4096x512xf32>, %y: tensor<512x256xf32>, %v: tensor<256x16xf32>, %z: tensor<1x2048xf32>, %u: tensor<2048x16xf32>, %t: tensor<4096x16xf32>) -> (tensor<16x512xf32>, tensor<512x16xf32>, tensor<1x16xf32>, tensor<16x16xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<16x4096xf32>, tensor<4096x512xf32>) -> tensor<16x512xf32>
  %1 = graph.MatMul %y, %v : (tensor<512x256xf32>, tensor<256x16xf32>) -> tensor<512x16xf32>
  %2 = graph.MatMul %z, %u : (tensor<1x2048xf32>, tensor<2048x16xf32>) -> tensor<1x16xf32>
  %3 = graph.StaticTranspose %t {order = [1, 0]} : (tensor<4096x16xf32>) -> tensor<16x4096xf32>
  %4 = graph.MatMul %3, %t : (tensor<16x4096xf32>, tensor<4096x16xf32>) -> tensor<16x16xf32>
  return %0, %1, %2, %4 : tensor<16x512xf32>, tensor<512x16xf32>, tensor<1x16xf32>, tensor<16x16xf32>
}

// -----

// All positions of a 1x1 convolution are rows of one product, those of a row of
// one with several taps or a stride.
// CHECK-LABEL: func @rows_of_products
// AVX512:        tile.pack %{{.*}} panel 64 groups 1 : tensor<1x1x128x256xf32>
// AVX512:        tile.pack %{{.*}} panel 48 groups 1 : tensor<1x1x128x256xf32>
// AVX512:        tile.pack %{{.*}} panel 48 groups 1 : tensor<1x3x128x256xf32>
func.func @rows_of_products(%x: tensor<1x14x14x128xf32>, %y: tensor<1x27x27x128xf32>,
                            %w: tensor<1x1x128x256xf32>, %v: tensor<1x3x128x256xf32>)
    -> (tensor<1x14x14x256xf32>, tensor<1x14x14x256xf32>, tensor<1x14x14x256xf32>) {
  %0 = graph.Convolution %x, %w {groups = 1, strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x14x14x128xf32>, tensor<1x1x128x256xf32>) -> tensor<1x14x14x256xf32>
  %1 = graph.Convolution %y, %w {groups = 1, strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x27x27x128xf32>, tensor<1x1x128x256xf32>) -> tensor<1x14x14x256xf32>
  %2 = graph.Convolution %x, %v {groups = 1, strides = [1, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1]} : (tensor<1x14x14x128xf32>, tensor<1x3x128x256xf32>) -> tensor<1x14x14x256xf32>
  return %0, %1, %2 : tensor<1x14x14x256xf32>, tensor<1x14x14x256xf32>, tensor<1x14x14x256xf32>
}

// -----

// Rows of all batches are rows of one product where they share its weights.
// CHECK-LABEL: func @rows_of_batches
// AVX512:        tile.pack %{{.*}} panel 64 : tensor<128x256xf32>
func.func @rows_of_batches(%x: tensor<14x14x128xf32>, %w: tensor<128x256xf32>) -> tensor<14x14x256xf32> {
  %0 = graph.MatMul %x, %w : (tensor<14x14x128xf32>, tensor<128x256xf32>) -> tensor<14x14x256xf32>
  return %0 : tensor<14x14x256xf32>
}

// -----

// Depthwise by weights: channels that lie apart stay there, unless one of the
// two has them together, or 65 taps are too much code.
// CHECK-LABEL: func @weights_planes
// CHECK-COUNT-2: graph.StaticTranspose
// CHECK-NEXT:    tile.conv_weights
// CHECK:         graph.Reorder
// CHECK-NEXT:    tile.conv_weights
// CHECK:         graph.Reorder
// CHECK:         graph.Reorder
// CHECK-NEXT:    tile.conv_weights
func.func @weights_planes(%a: tensor<2x40x8xf32>, %b: tensor<2x40x8xf32>, %c: tensor<2x8x40xf32>, %e: tensor<2x40x8xf32>, %f: tensor<2x40x8xf32>) -> (tensor<3x1x40xf32>, tensor<3x1x40xf32>, tensor<65x1x40xf32>) {
  %x = graph.StaticTranspose %a {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %d = graph.StaticTranspose %b {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %0 = graph.ConvolutionBackwardWeights %x, %d {groups = 40, strides = [1], pads_begin = [1], pads_end = [1], dilations = [1], weights_shape = [3, 1, 40]} : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<3x1x40xf32>
  %1 = graph.ConvolutionBackwardWeights %x, %c {groups = 40, strides = [1], pads_begin = [1], pads_end = [1], dilations = [1], weights_shape = [3, 1, 40]} : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<3x1x40xf32>
  %y = graph.StaticTranspose %e {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %g = graph.StaticTranspose %f {order = [0, 2, 1]} : (tensor<2x40x8xf32>) -> tensor<2x8x40xf32>
  %2 = graph.ConvolutionBackwardWeights %y, %g {groups = 40, strides = [1], pads_begin = [32], pads_end = [32], dilations = [1], weights_shape = [65, 1, 40]} : (tensor<2x8x40xf32>, tensor<2x8x40xf32>) -> tensor<65x1x40xf32>
  return %0, %1, %2 : tensor<3x1x40xf32>, tensor<3x1x40xf32>, tensor<65x1x40xf32>
}

// -----

// One tap, channels apart: diff, which is larger, is read where it is, and src
// is packed. Declines where diff is the smaller one.
// CHECK-LABEL: func @weights_swapped
// CHECK:         %[[X:.*]] = graph.StaticTranspose %arg0
// CHECK:         %[[D:.*]] = graph.StaticTranspose %arg1
// CHECK:         %[[P:.*]] = tile.pack %[[X]]
// CHECK-NEXT:    %[[W:.*]] = tile.conv_weights %[[D]], %[[P]] {{.*}} -> tensor<1x48x16xf32>
// CHECK-NEXT:    graph.StaticTranspose %[[W]] {order = [0, 2, 1]}
// CHECK:         %[[Q:.*]] = tile.pack %[[X]]
// CHECK-NEXT:    tile.conv_weights %[[D]], %[[Q]] {{.*}} -> tensor<1x48x16xf32>
// CHECK-NOT:     graph.StaticTranspose
func.func @weights_swapped(%a: tensor<2x16x8xf32>, %b: tensor<2x48x8xf32>) -> (tensor<1x16x48xf32>, tensor<1x48x16xf32>) {
  %x = graph.StaticTranspose %a {order = [0, 2, 1]} : (tensor<2x16x8xf32>) -> tensor<2x8x16xf32>
  %d = graph.StaticTranspose %b {order = [0, 2, 1]} : (tensor<2x48x8xf32>) -> tensor<2x8x48xf32>
  %0 = graph.ConvolutionBackwardWeights %x, %d {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [1, 16, 48]} : (tensor<2x8x16xf32>, tensor<2x8x48xf32>) -> tensor<1x16x48xf32>
  %1 = graph.ConvolutionBackwardWeights %d, %x {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [1, 48, 16]} : (tensor<2x8x48xf32>, tensor<2x8x16xf32>) -> tensor<1x48x16xf32>
  return %0, %1 : tensor<1x16x48xf32>, tensor<1x48x16xf32>
}

// -----

// Stride 1: products of several rows of a convolution whose taps are in the
// opposite order; the copy into panels turns them. Stride 2 goes backwards.
// CHECK-LABEL: func @transpose_flipped
// CHECK:         %[[P:.*]] = tile.pack %{{.*}} panel {{[0-9]+}} groups 1 flipped : tensor<3x3x20x16xf32>
// CHECK-NEXT:    tile.conv %{{.*}}, %[[P]] {dilations = array<i64: 1, 2>, groups = 1 : i64, pads_begin = array<i64: 1, 3>, pads_end = array<i64: 1, 3>, strides = array<i64: 1, 1>}
// CHECK-NOT:     tile.flip
// CHECK-LABEL: func @transpose_spread
// CHECK-NOT:     flipped
// CHECK:         tile.conv_transpose
func.func @transpose_flipped(%x: tensor<2x5x6x20xf32>, %w: tensor<3x3x16x20xf32>) -> tensor<2x5x8x16xf32> {
  %0 = graph.ConvTranspose %x, %w {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 2]} : (tensor<2x5x6x20xf32>, tensor<3x3x16x20xf32>) -> tensor<2x5x8x16xf32>
  return %0 : tensor<2x5x8x16xf32>
}
func.func @transpose_spread(%x: tensor<2x5x6x20xf32>, %w: tensor<3x3x16x20xf32>) -> tensor<2x9x11x16xf32> {
  %0 = graph.ConvTranspose %x, %w {strides = [2, 2], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<2x5x6x20xf32>, tensor<3x3x16x20xf32>) -> tensor<2x9x11x16xf32>
  return %0 : tensor<2x9x11x16xf32>
}

// -----

// With channels first on both sides, a convolution of single positions is a
// product whose columns are positions: nothing is transposed. Declines: few
// positions, and a reader of another order.
// CHECK-LABEL: func @planes
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x8x16x16xf32>, %[[W:[a-z0-9]+]]: tensor<8x12x1x1xf32>
// CHECK-DAG:     %[[IN:.*]] = graph.StaticReshape %[[X]] {{.*}} -> tensor<2x8x256xf32>
// CHECK-DAG:     %[[FLAT:.*]] = graph.StaticReshape %[[W]] {{.*}} -> tensor<8x12xf32>
// CHECK-DAG:     %[[A:.*]] = graph.StaticTranspose %[[FLAT]] {order = [1, 0]}
// CHECK-DAG:     %[[P:.*]] = tile.pack %[[IN]]
// CHECK:         %[[C:.*]] = tile.matmul %[[A]], %[[P]] : {{.*}} -> tensor<2x12x256xf32>
// CHECK:         %[[Y:.*]] = graph.StaticReshape %[[C]] {{.*}} -> tensor<2x12x16x16xf32>
// CHECK-NEXT:    return %[[Y]]
// CHECK-LABEL: func @few_positions
// CHECK:         tile.conv
// CHECK-LABEL: func @also_read
// CHECK:         tile.conv
func.func @planes(%x: tensor<2x8x16x16xf32>, %w: tensor<8x12x1x1xf32>) -> tensor<2x12x16x16xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x8x16x16xf32>) -> tensor<2x16x16x8xf32>
  %v = graph.StaticTranspose %w {order = [2, 3, 1, 0]} : (tensor<8x12x1x1xf32>) -> tensor<1x1x12x8xf32>
  %0 = graph.ConvTranspose %t, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x16x16x8xf32>, tensor<1x1x12x8xf32>) -> tensor<2x16x16x12xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x16x16x12xf32>) -> tensor<2x12x16x16xf32>
  return %1 : tensor<2x12x16x16xf32>
}
func.func @few_positions(%x: tensor<2x8x8x8xf32>, %w: tensor<1x1x8x12xf32>) -> tensor<2x12x8x8xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x8x8x8xf32>) -> tensor<2x8x8x8xf32>
  %0 = graph.Convolution %t, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x8x8x8xf32>, tensor<1x1x8x12xf32>) -> tensor<2x8x8x12xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x8x8x12xf32>) -> tensor<2x12x8x8xf32>
  return %1 : tensor<2x12x8x8xf32>
}
func.func @also_read(%x: tensor<2x8x16x16xf32>, %w: tensor<1x1x8x12xf32>) -> (tensor<2x12x16x16xf32>, tensor<2x16x16x12xf32>) {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x8x16x16xf32>) -> tensor<2x16x16x8xf32>
  %0 = graph.Convolution %t, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x16x16x8xf32>, tensor<1x1x8x12xf32>) -> tensor<2x16x16x12xf32>
  %1 = graph.StaticTranspose %0 {order = [0, 3, 1, 2]} : (tensor<2x16x16x12xf32>) -> tensor<2x12x16x16xf32>
  return %1, %0 : tensor<2x12x16x16xf32>, tensor<2x16x16x12xf32>
}

// -----

// A gradient of the weights of 3 channels: they are brought together, so that
// the taps of a row are rows of one product, and parts of the images are summed
// on their own. Declines: more channels; too few images have no parts.
// CHECK-LABEL: func @joined_taps
// CHECK:         %[[R:.*]] = graph.Reorder
// CHECK:         %[[G:.*]] = tile.conv_weights %[[R]], %{{.*}}parts = 8 : i64{{.*}} -> tensor<8x3x3x3x16xf32>
// CHECK-NEXT:    graph.ReduceSum %[[G]] {axes = [0]}
// CHECK-LABEL: func @many_channels
// CHECK-NOT:     graph.Reorder
// CHECK:         tile.conv_weights
// CHECK-NOT:     parts
// CHECK-LABEL: func @two_images
// CHECK:         tile.conv_weights
// CHECK-NOT:     parts
func.func @joined_taps(%x: tensor<16x3x9x9xf32>, %d: tensor<16x9x9x16xf32>) -> tensor<3x3x3x16xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<16x3x9x9xf32>) -> tensor<16x9x9x3xf32>
  %0 = graph.ConvolutionBackwardWeights %t, %d {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<16x9x9x3xf32>, tensor<16x9x9x16xf32>) -> tensor<3x3x3x16xf32>
  return %0 : tensor<3x3x3x16xf32>
}
func.func @many_channels(%x: tensor<16x5x9x9xf32>, %d: tensor<16x9x9x16xf32>) -> tensor<3x3x5x16xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<16x5x9x9xf32>) -> tensor<16x9x9x5xf32>
  %0 = graph.ConvolutionBackwardWeights %t, %d {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<16x9x9x5xf32>, tensor<16x9x9x16xf32>) -> tensor<3x3x5x16xf32>
  return %0 : tensor<3x3x5x16xf32>
}
func.func @two_images(%x: tensor<2x3x9x9xf32>, %d: tensor<2x9x9x16xf32>) -> tensor<3x3x3x16xf32> {
  %t = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x3x9x9xf32>) -> tensor<2x9x9x3xf32>
  %0 = graph.ConvolutionBackwardWeights %t, %d {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]} : (tensor<2x9x9x3xf32>, tensor<2x9x9x16xf32>) -> tensor<3x3x3x16xf32>
  return %0 : tensor<3x3x3x16xf32>
}

// -----

// Rows of a product are positions of the last spatial dim: one of size 1 is
// dropped, as convolutions over sequences have it.
// CHECK-LABEL: func @conv_of_rows
// CHECK-SAME:    %[[X:.*]]: tensor<2x?x1x8xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.StaticReshape %[[X]] {{.*}} -> tensor<2x?x8xf32>
// CHECK-NEXT:    %[[V:.*]] = graph.StaticReshape %{{.*}} -> tensor<5x8x32xf32>
// CHECK-NEXT:    %[[W:.*]] = tile.pack %[[V]]
// CHECK-NEXT:    %[[Y:.*]] = tile.conv %[[S]], %[[W]] {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 2>, pads_end = array<i64: 0>, strides = array<i64: 3>} {{.*}} -> tensor<2x?x32xf32>
// CHECK-NEXT:    graph.StaticReshape %[[Y]] {{.*}} -> tensor<2x?x1x32xf32>
func.func @conv_of_rows(%x: tensor<2x?x1x8xf32>, %w: tensor<5x1x8x32xf32>) -> tensor<2x?x1x32xf32> {
  %0 = graph.Convolution %x, %w {strides = [3, 1], pads_begin = [2, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x?x1x8xf32>, tensor<5x1x8x32xf32>) -> tensor<2x?x1x32xf32>
  return %0 : tensor<2x?x1x32xf32>
}

// -----

// Declines: the last dim is the one with rows, is padded, or has several taps.
// CHECK-LABEL: func @conv_keeps_dims
// CHECK-NOT:     graph.StaticReshape
func.func @conv_keeps_dims(%x: tensor<2x1x9x8xf32>, %y: tensor<2x9x1x8xf32>, %v: tensor<1x5x8x32xf32>, %w: tensor<5x1x8x32xf32>, %t: tensor<5x3x8x32xf32>) -> (tensor<2x1x5x32xf32>, tensor<2x5x3x32xf32>, tensor<2x5x1x32xf32>) {
  %0 = graph.Convolution %x, %v {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x1x9x8xf32>, tensor<1x5x8x32xf32>) -> tensor<2x1x5x32xf32>
  %1 = graph.Convolution %y, %w {strides = [1, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1]} : (tensor<2x9x1x8xf32>, tensor<5x1x8x32xf32>) -> tensor<2x5x3x32xf32>
  %2 = graph.Convolution %y, %t {strides = [1, 1], pads_begin = [0, 1], pads_end = [0, 1], dilations = [1, 1]} : (tensor<2x9x1x8xf32>, tensor<5x3x8x32xf32>) -> tensor<2x5x1x32xf32>
  return %0, %1, %2 : tensor<2x1x5x32xf32>, tensor<2x5x3x32xf32>, tensor<2x5x1x32xf32>
}
