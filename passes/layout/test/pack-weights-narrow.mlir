// RUN: tenon-opt %s --tenon-pack-weights | FileCheck %s

// Ten columns are two vectors of 8; a wider panel would hold zeros.
// CHECK: tile.pack %{{.*}} panel 16 : tensor<64x10xf32> -> tensor<1x64x16xf32>
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x10xf32>) -> tensor<128x10xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
  return %0 : tensor<128x10xf32>
}

// Few channels are joined with the taps of a row; not where taps are apart.
// CHECK-LABEL: func.func @joined
// CHECK: %[[R:.*]] = graph.StaticReshape %arg1 {{.*}} -> tensor<7x1x21x8xf32>
// CHECK: %[[P:.*]] = tile.pack %[[R]] panel 8 groups 1
// CHECK: tile.conv %arg0, %[[P]] {{.*}}joined = 7 : i64
func.func @joined(%x: tensor<1x32x32x3xf32>, %w: tensor<7x7x3x8xf32>) -> tensor<1x26x26x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x32x32x3xf32>, tensor<7x7x3x8xf32>) -> tensor<1x26x26x8xf32>
  return %0 : tensor<1x26x26x8xf32>
}

// CHECK-LABEL: func.func @apart
// CHECK: tile.pack %arg1 panel 8 groups 1
// CHECK: tile.conv
// CHECK-NOT: joined
func.func @apart(%x: tensor<1x32x32x3xf32>, %w: tensor<7x7x3x8xf32>) -> tensor<1x26x20x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 2]} : (tensor<1x32x32x3xf32>, tensor<7x7x3x8xf32>) -> tensor<1x26x20x8xf32>
  return %0 : tensor<1x26x20x8xf32>
}

// CHECK-LABEL: func.func @many
// CHECK: tile.pack %arg1 panel 8 groups 1
// CHECK: tile.conv
// CHECK-NOT: joined
func.func @many(%x: tensor<1x32x32x5xf32>, %w: tensor<7x7x5x8xf32>) -> tensor<1x26x26x8xf32> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x32x32x5xf32>, tensor<7x7x5x8xf32>) -> tensor<1x26x26x8xf32>
  return %0 : tensor<1x26x26x8xf32>
}
