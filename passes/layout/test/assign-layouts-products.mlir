// RUN: tenon-opt %s --split-input-file --tenon-assign-layouts | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-assign-layouts='remarks=true' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// Both ends have channels first: the convolution is weights times positions,
// its weights as the graph has them, and nothing is transposed.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.Convolution
// CHECK:         %[[W:.*]] = graph.StaticReshape %arg1 {shape = [8, 4]
// CHECK-NEXT:    %[[X:.*]] = graph.StaticReshape %arg0 {shape = [2, 4, 600]
// CHECK-NEXT:    %[[Y:.*]] = graph.MatMul %[[W]], %[[X]]
// CHECK-NEXT:    %[[R:.*]] = graph.StaticReshape %[[Y]] {{.*}}shape = [2, 8, 20, 30]
// CHECK-NEXT:    %[[A:.*]] = graph.ReLU %[[R]]
// CHECK-NEXT:    return %[[A]]
// WHY:           layout: channels first, weights times positions: what lies across takes as long as 76800 bytes in rows, with channels last 307200
func.func @main(%x: tensor<2x4x20x30xf32>, %w: tensor<8x4x1x1xf32>) -> tensor<2x8x20x30xf32> {
  %0 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x4x20x30xf32>) -> tensor<2x20x30x4xf32>
  %1 = graph.StaticTranspose %w {order = [2, 3, 1, 0]} : (tensor<8x4x1x1xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x20x30x4xf32>, tensor<1x1x4x8xf32>) -> tensor<2x20x30x8xf32>
  %3 = graph.StaticTranspose %2 {order = [0, 3, 1, 2]} : (tensor<2x20x30x8xf32>) -> tensor<2x8x20x30xf32>
  %4 = graph.ReLU %3 : (tensor<2x8x20x30xf32>) -> tensor<2x8x20x30xf32>
  return %4 : tensor<2x8x20x30xf32>
}

// -----

// Of positions whose number is not known rows are multiplied.
// CHECK-LABEL: func.func @main
// CHECK:         %[[W:.*]] = graph.StaticReshape %arg1 {shape = [8, 4]
// CHECK-NEXT:    %[[X:.*]] = graph.StaticTranspose %arg0 {order = [0, 2, 1, 3]}
// CHECK-NEXT:    %[[Y:.*]] = graph.MatMul %[[W]], %[[X]]
// CHECK-NEXT:    %[[R:.*]] = graph.StaticTranspose %[[Y]] {{.*}}order = [0, 2, 1, 3]}
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<2x4x?x?xf32>, %w: tensor<8x4x1x1xf32>) -> tensor<2x8x?x?xf32> {
  %0 = graph.StaticTranspose %x {order = [0, 2, 3, 1]} : (tensor<2x4x?x?xf32>) -> tensor<2x?x?x4xf32>
  %1 = graph.StaticTranspose %w {order = [2, 3, 1, 0]} : (tensor<8x4x1x1xf32>) -> tensor<1x1x4x8xf32>
  %2 = graph.Convolution %0, %1 {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<2x?x?x4xf32>, tensor<1x1x4x8xf32>) -> tensor<2x?x?x8xf32>
  %3 = graph.StaticTranspose %2 {order = [0, 3, 1, 2]} : (tensor<2x?x?x8xf32>) -> tensor<2x8x?x?xf32>
  return %3 : tensor<2x8x?x?xf32>
}

// -----

// Weights that have another order are transposed, once.
// CHECK-LABEL: func.func @main
// CHECK:         %[[V:.*]] = graph.StaticReshape %arg1 {shape = [4, 8]
// CHECK-NEXT:    %[[W:.*]] = graph.StaticTranspose %[[V]] {order = [1, 0]
// CHECK:         graph.MatMul %[[W]],
func.func @main(%x: tensor<1x4x600xf32>, %w: tensor<1x4x8xf32>) -> tensor<1x8x600xf32> {
  %0 = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<1x4x600xf32>) -> tensor<1x600x4xf32>
  %1 = graph.Convolution %0, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x600x4xf32>, tensor<1x4x8xf32>) -> tensor<1x600x8xf32>
  %2 = graph.StaticTranspose %1 {order = [0, 2, 1]} : (tensor<1x600x8xf32>) -> tensor<1x8x600xf32>
  return %2 : tensor<1x8x600xf32>
}

// -----

// Declines: a result that is read with channels last; few positions; bf16; three
// taps; an unknown number of images.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.MatMul
// CHECK:         return
func.func @main(%x: tensor<1x4x600xf32>, %w: tensor<1x4x8xf32>, %few: tensor<1x4x511xf32>, %half: tensor<1x4x600xbf16>, %v: tensor<1x4x8xbf16>, %taps: tensor<3x4x8xf32>, %any: tensor<?x4x600xf32>)
    -> (tensor<1x600x8xf32>, tensor<1x8x511xf32>, tensor<1x8x600xbf16>, tensor<1x8x598xf32>, tensor<?x8x600xf32>) {
  %0 = graph.StaticTranspose %x {order = [0, 2, 1]} : (tensor<1x4x600xf32>) -> tensor<1x600x4xf32>
  %1 = graph.Convolution %0, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x600x4xf32>, tensor<1x4x8xf32>) -> tensor<1x600x8xf32>
  %2 = graph.StaticTranspose %few {order = [0, 2, 1]} : (tensor<1x4x511xf32>) -> tensor<1x511x4xf32>
  %3 = graph.Convolution %2, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x511x4xf32>, tensor<1x4x8xf32>) -> tensor<1x511x8xf32>
  %4 = graph.StaticTranspose %3 {order = [0, 2, 1]} : (tensor<1x511x8xf32>) -> tensor<1x8x511xf32>
  %5 = graph.StaticTranspose %half {order = [0, 2, 1]} : (tensor<1x4x600xbf16>) -> tensor<1x600x4xbf16>
  %6 = graph.Convolution %5, %v {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x600x4xbf16>, tensor<1x4x8xbf16>) -> tensor<1x600x8xbf16>
  %7 = graph.StaticTranspose %6 {order = [0, 2, 1]} : (tensor<1x600x8xbf16>) -> tensor<1x8x600xbf16>
  %8 = graph.Convolution %0, %taps {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x600x4xf32>, tensor<3x4x8xf32>) -> tensor<1x598x8xf32>
  %9 = graph.StaticTranspose %8 {order = [0, 2, 1]} : (tensor<1x598x8xf32>) -> tensor<1x8x598xf32>
  %10 = graph.StaticTranspose %any {order = [0, 2, 1]} : (tensor<?x4x600xf32>) -> tensor<?x600x4xf32>
  %11 = graph.Convolution %10, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<?x600x4xf32>, tensor<1x4x8xf32>) -> tensor<?x600x8xf32>
  %12 = graph.StaticTranspose %11 {order = [0, 2, 1]} : (tensor<?x600x8xf32>) -> tensor<?x8x600xf32>
  return %1, %4, %7, %9, %12 : tensor<1x600x8xf32>, tensor<1x8x511xf32>, tensor<1x8x600xbf16>, tensor<1x8x598xf32>, tensor<?x8x600xf32>
}
