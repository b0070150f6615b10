// RUN: tenon-opt %s --split-input-file --tenon-widen-floats | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=bf16_dot_width=2 --tenon-widen-floats | FileCheck %s --check-prefix=BF16
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=bf16_dot_width=2,bf16_dot_is_slow=true --tenon-widen-floats | FileCheck %s --check-prefix=SLOW

// CHECK-LABEL: func @pool
// CHECK:         %[[X:.*]] = graph.TypeCast %arg0 : (tensor<1x4x4x8xbf16>) -> tensor<1x4x4x8xf32>
// CHECK:         %[[P:.*]] = graph.MaxPool %[[X]] {{.*}} -> tensor<1x2x2x8xf32>
// CHECK:         %[[Y:.*]] = graph.TypeCast %[[P]] {tile.implicit_cast = unit} : (tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xbf16>
// CHECK:         return %[[Y]]
func.func @pool(%x: tensor<1x4x4x8xbf16>) -> tensor<1x2x2x8xbf16> {
  %0 = graph.MaxPool %x {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x8xbf16>) -> tensor<1x2x2x8xbf16>
  return %0 : tensor<1x2x2x8xbf16>
}

// -----

// Its lanes are channels, and it is not a product.
// CHECK-LABEL: func @depthwise
// CHECK-COUNT-2: graph.TypeCast
// CHECK:         graph.Convolution {{.*}} -> tensor<1x4x4x8xf32>
// CHECK:         graph.TypeCast
func.func @depthwise(%x: tensor<1x4x4x8xf16>, %w: tensor<1x1x1x8xf16>) -> tensor<1x4x4x8xf16> {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1], groups = 8 : i64} : (tensor<1x4x4x8xf16>, tensor<1x1x1x8xf16>) -> tensor<1x4x4x8xf16>
  return %0 : tensor<1x4x4x8xf16>
}

// -----

// Nor are groups of 4; those of 8 are.
// CHECK-LABEL: func @narrow_groups
// CHECK:         graph.Convolution {{.*}} -> tensor<1x4x4x8xf32>
// CHECK:         graph.Convolution {{.*}} -> tensor<1x4x4x16xbf16>
func.func @narrow_groups(%x: tensor<1x4x4x8xbf16>, %w: tensor<3x3x4x8xbf16>, %y: tensor<1x4x4x16xbf16>, %v: tensor<3x3x8x16xbf16>) -> (tensor<1x4x4x8xbf16>, tensor<1x4x4x16xbf16>) {
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 2 : i64} : (tensor<1x4x4x8xbf16>, tensor<3x3x4x8xbf16>) -> tensor<1x4x4x8xbf16>
  %1 = graph.Convolution %y, %v {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 2 : i64} : (tensor<1x4x4x16xbf16>, tensor<3x3x8x16xbf16>) -> tensor<1x4x4x16xbf16>
  return %0, %1 : tensor<1x4x4x8xbf16>, tensor<1x4x4x16xbf16>
}

// -----

// Declines: these groups load and store narrow floats; and what is f32 stays.
// CHECK-LABEL: func @native
// CHECK-NOT:     TypeCast
func.func @native(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>, %p: tensor<1x4x4x8xf32>)
    -> (tensor<4x8xbf16>, tensor<1x2x2x8xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
  %1 = graph.ReLU %0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %2 = graph.SoftMax %1 {axis = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %3 = graph.MaxPool %p {strides = [2, 2], kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
  return %2, %3 : tensor<4x8xbf16>, tensor<1x2x2x8xf32>
}

// -----

// A product that meets each element often, where the target has none of bf16;
// the weights are constant.
// CHECK-LABEL: func @product
// CHECK:         %[[X:.*]] = graph.TypeCast %arg0
// CHECK:         %[[W:.*]] = graph.TypeCast %arg1
// CHECK:         %[[P:.*]] = graph.MatMul %[[X]], %[[W]] {{.*}} -> tensor<128x64xf32>
// CHECK:         graph.TypeCast %[[P]] {tile.implicit_cast = unit}
// BF16-LABEL:  func @product
// BF16-NOT:      TypeCast
// BF16:          return
// SLOW-LABEL:  func @product
// SLOW-COUNT-2:  graph.TypeCast
// SLOW:          graph.MatMul {{.*}} -> tensor<128x64xf32>
func.func @product(%x: tensor<128x512xbf16>, %w: tensor<512x64xbf16> {graph.property = "constant"}) -> tensor<128x64xbf16> {
  %0 = graph.MatMul %x, %w : (tensor<128x512xbf16>, tensor<512x64xbf16>) -> tensor<128x64xbf16>
  return %0 : tensor<128x64xbf16>
}

// -----

// No target has products of f16. Channels first, and weights transposed on
// their way.
// CHECK-LABEL: func @image
// CHECK-COUNT-2: graph.TypeCast
// CHECK:         graph.Convolution {{.*}} -> tensor<1x128x16x16xf32>
// BF16-LABEL:  func @image
// BF16-COUNT-2:  graph.TypeCast
// BF16:          graph.Convolution {{.*}} -> tensor<1x128x16x16xf32>
func.func @image(%x: tensor<1x32x16x16xf16>, %w: tensor<128x3x3x32xf16> {graph.property = "constant"}) -> tensor<1x128x16x16xf16> {
  %t = graph.StaticTranspose %w {order = [0, 3, 1, 2]} : (tensor<128x3x3x32xf16>) -> tensor<128x32x3x3xf16>
  %0 = graph.Convolution %x, %t {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 1 : i64, data_format = "NCX", weights_format = "OIX"} : (tensor<1x32x16x16xf16>, tensor<128x32x3x3xf16>) -> tensor<1x128x16x16xf16>
  return %0 : tensor<1x128x16x16xf16>
}

// -----

// Declines: few rows, few columns, weights that are not constant, a small
// product.
// CHECK-LABEL: func @few
// CHECK-NOT:     TypeCast
func.func @few(%x: tensor<31x4096xbf16>, %w: tensor<4096x64xbf16> {graph.property = "constant"}, %y: tensor<128x2048xbf16>, %v: tensor<2048x63xbf16> {graph.property = "constant"}, %u: tensor<2048x64xbf16>, %z: tensor<127x512xbf16>, %t: tensor<512x64xbf16> {graph.property = "constant"})
    -> (tensor<31x64xbf16>, tensor<128x63xbf16>, tensor<128x64xbf16>, tensor<127x64xbf16>) {
  %0 = graph.MatMul %x, %w : (tensor<31x4096xbf16>, tensor<4096x64xbf16>) -> tensor<31x64xbf16>
  %1 = graph.MatMul %y, %v : (tensor<128x2048xbf16>, tensor<2048x63xbf16>) -> tensor<128x63xbf16>
  %2 = graph.MatMul %y, %u : (tensor<128x2048xbf16>, tensor<2048x64xbf16>) -> tensor<128x64xbf16>
  %3 = graph.MatMul %z, %t : (tensor<127x512xbf16>, tensor<512x64xbf16>) -> tensor<127x64xbf16>
  return %0, %1, %2, %3 : tensor<31x64xbf16>, tensor<128x63xbf16>, tensor<128x64xbf16>, tensor<127x64xbf16>
}

// -----

// A slow instruction is the bound with fewer rows, but not with a few.
// CHECK-LABEL: func @some
// CHECK-NOT:     TypeCast
// CHECK:         return
// SLOW-LABEL:  func @some
// SLOW:          graph.MatMul {{.*}} -> tensor<15x1024xbf16>
// SLOW:          graph.MatMul {{.*}} -> tensor<16x1024xf32>
func.func @some(%x: tensor<15x512xbf16>, %y: tensor<16x512xbf16>, %w: tensor<512x1024xbf16> {graph.property = "constant"}) -> (tensor<15x1024xbf16>, tensor<16x1024xbf16>) {
  %0 = graph.MatMul %x, %w : (tensor<15x512xbf16>, tensor<512x1024xbf16>) -> tensor<15x1024xbf16>
  %1 = graph.MatMul %y, %w : (tensor<16x512xbf16>, tensor<512x1024xbf16>) -> tensor<16x1024xbf16>
  return %0, %1 : tensor<15x1024xbf16>, tensor<16x1024xbf16>
}
