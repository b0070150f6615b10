// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --verify-diagnostics

// No size of a result follows from nothing, and channels are of known number.
func.func @main(%x: tensor<4x8xf32>, %p: tensor<?x8x24xf32>) -> tensor<4x?xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<4x8xf32>, tensor<?x8x24xf32>) -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}
func.func private @g(%x: tensor<4x8xf32>, %p: tensor<?x8x24xf32>) -> tensor<4x?xf32> attributes {tile.group = #tile.group<contraction>} {
  // expected-error @+1 {{cannot derive the size of dimension 1 of its result}}
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<?x8x24xf32> -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// -----

func.func @main(%x: tensor<1x0x3x4xf32>) -> tensor<1x6x6x4xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x0x3x4xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}
func.func private @g(%x: tensor<1x0x3x4xf32>) -> tensor<1x6x6x4xf32> attributes {tile.group = #tile.group<window>} {
  // expected-error @+1 {{there is nothing to interpolate: dimension 1 of src is 0, of dst 6}}
  %0 = graph.Interpolate %x {mode = "linear", sizes = [6, 6]} : (tensor<1x0x3x4xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}

// -----

func.func @main(%x: tensor<1x?xf32>) -> tensor<1x?xf32> {
  %0 = call @g(%x) {tile.label = "lrn"} : (tensor<1x?xf32>) -> tensor<1x?xf32>
  return %0 : tensor<1x?xf32>
}
func.func private @g(%x: tensor<1x?xf32>) -> tensor<1x?xf32> attributes {tile.group = #tile.group<window>} {
  // expected-error @+1 {{the number of channels must be static}}
  %0 = graph.LRN %x : (tensor<1x?xf32>) -> tensor<1x?xf32>
  return %0 : tensor<1x?xf32>
}
