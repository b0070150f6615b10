// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @slice(%x: tensor<2x8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{dim 0: 1 elements from 2 on, each 1th, of 2}}
  %0 = tile.slice %x at [2, 0] : tensor<2x8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @slice(%x: tensor<2x?xf32>) -> tensor<1x?xf32> {
  // expected-error @+1 {{with 1 offsets; ranks and element types must agree}}
  %0 = tile.slice %x at [0] : tensor<2x?xf32> -> tensor<1x?xf32>
  return %0 : tensor<1x?xf32>
}

// -----

func.func @slice(%x: tensor<9xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dim 0: 4 elements from 0 on, each 3th, of 9}}
  %0 = tile.slice %x at [0] by [3] : tensor<9xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @slice(%x: tensor<9xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{dim 0: 4 elements from 5 on, each -2th, of 9}}
  %0 = tile.slice %x at [5] by [-2] : tensor<9xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @expand(%x: tensor<3x2xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{does not broadcast to}}
  %0 = tile.expand %x : tensor<3x2xf32> -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @slice(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{dim 0: ? elements from 1 on, each 1th, of ?}}
  %0 = tile.slice %x at [1] : tensor<?xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @slice(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{with 1 offsets; ranks and element types must agree}}
  %0 = tile.slice %x at [1] to [3, 4] : tensor<?xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @slice(%x: tensor<9xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{dim 0: the size "n +" is no expression from character 4 on}}
  %0 = tile.slice %x at [1] sizes ["n +"] : tensor<9xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @slice(%x: tensor<9xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{dim 0: ? elements from 1 on, each 1th, of 9}}
  %0 = tile.slice %x at [1] sizes [""] : tensor<9xf32> -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @expand(%x: tensor<1xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{dim 0: the size "2 *" is no expression from character 4 on}}
  %0 = tile.expand %x sizes ["2 *", ""] : tensor<1xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

func.func @reshape(%x: tensor<?xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{has 1 sizes for 2 dims}}
  %0 = tile.reshape %x sizes ["n"] : tensor<?xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

func.func @reshape(%x: tensor<?xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{dim 0: }}
  %0 = tile.reshape %x sizes ["", "3"] : tensor<?xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
