// RUN: tenon-opt %s --split-input-file --tenon-check-supported --verify-diagnostics

// All that does not compile is named in one run.
func.func @main(%x: tensor<4x8xf32>, %u: tensor<*xf32>)
    -> tensor<4x8xf32> {
  // expected-error @+1 {{Wildcard: the operation does not compile yet}}
  graph.Wildcard %x : (tensor<4x8xf32>) -> ()
  // expected-error @+1 {{ReLU: an operand has no known rank}}
  %1 = graph.ReLU %u : (tensor<*xf32>) -> tensor<*xf32>
  return %x : tensor<4x8xf32>
}

// -----

func.func @main(%x: tensor<1x?x6x?xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<1x?x4x8xf32> {
  // expected-error @+1 {{Convolution: dimension 3 of src or dst, that of channels, is not known}}
  %0 = graph.Convolution %x, %w {strides = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], dilations = [1, 1]} : (tensor<1x?x6x?xf32>, tensor<3x3x3x8xf32>) -> tensor<1x?x4x8xf32>
  return %0 : tensor<1x?x4x8xf32>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %s: tensor<?xf32>, %z: tensor<?xsi8>, %i: tensor<4x8xsi32>,
                %n: tensor<3x5xui4>, %g: tensor<4x6xsi4, #graph.layout<strided, [8, 1]>>, %u: tensor<?x6xsi4>,
                %t: tensor<1xf32>) -> tensor<4x8xsi8> {
  // expected-error @+1 {{DynamicQuantize: the number of zero points is not known}}
  %0 = graph.DynamicQuantize %x, %s, %z {qtype = "per_channel"} : (tensor<4x8xf32>, tensor<?xf32>, tensor<?xsi8>) -> tensor<4x8xsi8>
  // expected-error @+1 {{Add: f32 and s32 in one operation do not compile yet}}
  %1 = graph.Add %x, %i : (tensor<4x8xf32>, tensor<4x8xsi32>) -> tensor<4x8xf32>
  // With gaps, of unknown shape.
  %2 = graph.DynamicDequantize %n, %t : (tensor<3x5xui4>, tensor<1xf32>) -> tensor<3x5xf32>
  // expected-error @+1 {{DynamicDequantize: elements of 4 bits need to be an input of the graph}}
  %3 = graph.DynamicDequantize %g, %t : (tensor<4x6xsi4, #graph.layout<strided, [8, 1]>>, tensor<1xf32>) -> tensor<4x6xf32>
  // expected-error @+1 {{DynamicDequantize: elements of 4 bits need to be an input of the graph}}
  %4 = graph.DynamicDequantize %u, %t : (tensor<?x6xsi4>, tensor<1xf32>) -> tensor<?x6xf32>
  return %0 : tensor<4x8xsi8>
}

// -----

// What quantizes to 4 bits may be read in the graph, but results fill bytes in order.
func.func @main(%x: tensor<4x8xf32>, %y: tensor<3x5xf32>) -> (tensor<4x8xsi4, #graph.layout<strided, [1, 4]>>, tensor<3x5xf32>, tensor<3x5xui4>) {
  // expected-error @+1 {{Quantize: elements of 4 bits need to be an input of the graph}}
  %0 = graph.Quantize %x {scales = [1.0]} : (tensor<4x8xf32>) -> tensor<4x8xsi4, #graph.layout<strided, [1, 4]>>
  %1 = graph.Quantize %y {scales = [1.0]} : (tensor<3x5xf32>) -> tensor<3x5xui4>
  %2 = graph.Dequantize %1 {scales = [1.0]} : (tensor<3x5xui4>) -> tensor<3x5xf32>
  %3 = graph.Quantize %y {scales = [2.0]} : (tensor<3x5xf32>) -> tensor<3x5xui4>
  return %0, %2, %3 : tensor<4x8xsi4, #graph.layout<strided, [1, 4]>>, tensor<3x5xf32>, tensor<3x5xui4>
}

// -----

func.func @main(%x: tensor<4x8xf32>, %axes: tensor<1xsi32>) -> tensor<4x1xf32> {
  // expected-error @+1 {{ReduceSum: axes given by a tensor do not compile}}
  %0 = graph.ReduceSum %x, %axes {keep_dims = true} : (tensor<4x8xf32>, tensor<1xsi32>) -> tensor<4x1xf32>
  %1 = graph.ReLU %0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}

// -----

func.func @main(%d: tensor<1x?x4xf32>, %w: tensor<3x3x4xf32>, %x: tensor<2x6x?xf32>, %y: tensor<2x4x4xf32>,
                %s: tensor<3xsi32>) -> tensor<1x?x3xf32> {
  %0 = graph.ConvTranspose %d, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x?x4xf32>, tensor<3x3x4xf32>) -> tensor<1x?x3xf32>
  // expected-error @+1 {{ConvolutionBackwardWeights: only the batch may be dynamic, dimension 2 is not known}}
  %1 = graph.ConvolutionBackwardWeights %x, %y {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1], weights_shape = [3, 5, 4]} : (tensor<2x6x?xf32>, tensor<2x4x4xf32>) -> tensor<3x5x4xf32>
  // A shape that only the operand knows.
  // expected-error @+1 {{ConvolutionBackwardData: only the batch may be dynamic, dimension 1 is not known}}
  %2 = graph.ConvolutionBackwardData %y, %w, %s {strides = [2], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<2x4x4xf32>, tensor<3x3x4xf32>, tensor<3xsi32>) -> tensor<2x?x3xf32>
  return %0 : tensor<1x?x3xf32>
}

// -----

func.func @main(%d: tensor<1x4x4xf32>, %w: tensor<3x?x4xf32>) -> tensor<1x6x3xf32> {
  // expected-error @+1 {{ConvTranspose: dimension 1 of weights is not known}}
  %0 = graph.ConvTranspose %d, %w {strides = [1], pads_begin = [0], pads_end = [0], dilations = [1]} : (tensor<1x4x4xf32>, tensor<3x?x4xf32>) -> tensor<1x6x3xf32>
  return %0 : tensor<1x6x3xf32>
}

// -----

func.func @main(%x: tensor<1x4x4x8xf32>, %sizes: tensor<2xsi32>, %y: tensor<1x?x4x?xf32>) -> tensor<1x?x?x8xf32> {
  // expected-error @+1 {{Interpolate: only the batch may be dynamic, dimension 1 is not known}}
  %0 = graph.Interpolate %x, %sizes {mode = "linear"} : (tensor<1x4x4x8xf32>, tensor<2xsi32>) -> tensor<1x?x?x8xf32>
  // expected-error @+1 {{LRN: dimension 3 of src or dst, that of channels, is not known}}
  %1 = graph.LRN %y : (tensor<1x?x4x?xf32>) -> tensor<1x?x4x?xf32>
  return %0 : tensor<1x?x?x8xf32>
}

// -----

func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{Slice: begins and ends are not known, or go backwards along a dimension whose size is not known or has a name}}
  %0 = graph.Slice %x {begins = array<i64: -1>, ends = array<i64: -9>, steps = array<i64: -1>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Of the names of sizes, all have to be there.
func.func @main(%x: tensor<?x8xf32>, %y: tensor<1x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x8xf32>) {
  // expected-error @+1 {{StaticReshape: 2 sizes of the result are not known}}
  %0 = graph.StaticReshape %x {shape = [-9223372036854775808, -9223372036854775808, 8], special_zero = false, graph.result_sizes = [["n", "", ""]]} : (tensor<?x8xf32>) -> tensor<?x?x8xf32>
  %1 = graph.StaticReshape %x {shape = [-9223372036854775808, -9223372036854775808, 8], special_zero = false, graph.result_sizes = [["n", "2 * m", ""]]} : (tensor<?x8xf32>) -> tensor<?x?x8xf32>
  // expected-error @+1 {{Expand: 1 sizes of the result are not known}}
  %2 = graph.Expand %y {shape = array<i64: -9223372036854775808, 8>} : (tensor<1x8xf32>) -> tensor<?x8xf32>
  return %0, %1, %2 : tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x8xf32>
}

// -----

func.func @main(%x: tensor<?x?x6xf32>, %s: tensor<?x3xf32>, %seed: tensor<si64>, %sizes: tensor<2xsi64>) -> tensor<?x?x6xf32> {
  // expected-error @+1 {{GroupNormBackward: diff_gamma needs all sizes of src but one, 2 are not known}}
  %0:3 = graph.GroupNormBackward %x, %x, %s, %s {groups = 3, resultSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x3xf32>, tensor<?x3xf32>) -> (tensor<?x?x6xf32>, tensor<6xf32>, tensor<6xf32>)
  %1 = graph.GroupNormBackward %x, %x, %s, %s {groups = 3, resultSegmentSizes = array<i32: 1, 0, 0>} : (tensor<?x?x6xf32>, tensor<?x?x6xf32>, tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x?x6xf32>
  // expected-error @+1 {{RandomUniform: it compiles for known shapes only}}
  %2 = graph.RandomUniform %seed, %seed, %sizes : (tensor<si64>, tensor<si64>, tensor<2xsi64>) -> tensor<?x6xf32>
  return %0#0 : tensor<?x?x6xf32>
}

// -----

func.func @main(%x: tensor<1x30x30x8xf32>) -> tensor<1x15x15x8xf32> {
  // expected-error @+1 {{Interpolate: more than 64 elements of src in one of dst do not compile yet}}
  %1 = graph.Interpolate %x {mode = "linear", sizes = [3, 3], antialias = true} : (tensor<1x30x30x8xf32>) -> tensor<1x3x3x8xf32>
  // 8 along each dim.
  %2 = graph.Interpolate %x {mode = "cubic", sizes = [15, 15], antialias = true} : (tensor<1x30x30x8xf32>) -> tensor<1x15x15x8xf32>
  return %2 : tensor<1x15x15x8xf32>
}

// -----

// Panels of weights are cut when they are bound, which knows no other size. A
// part that has the columns of an execution is none of them.
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x?xf32> {graph.property = "constant"}, %v: tensor<8x?xf32>,
                %t: tensor<?x8xf32> {graph.property = "constant"}, %s: tensor<8x64xf32> {graph.property = "constant"})
                -> (tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>) {
  %r = graph.ReLU %w : (tensor<8x?xf32>) -> tensor<8x?xf32>
  // expected-error @+1 {{MatMul: the columns of constant weights are not known}}
  %0 = graph.MatMul %x, %r : (tensor<4x8xf32>, tensor<8x?xf32>) -> tensor<4x?xf32>
  %1 = graph.MatMul %x, %v : (tensor<4x8xf32>, tensor<8x?xf32>) -> tensor<4x?xf32>
  // expected-error @+1 {{MatMul: the columns of constant weights are not known}}
  %2 = graph.MatMul %x, %t {transpose_b = true} : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<4x?xf32>
  %p = graph.Slice %s {begins = array<i64: 0>, ends = array<i64: -9223372036854775808>, axes = array<i64: 1>, graph.result_sizes = [["", "n"]]} : (tensor<8x64xf32>) -> tensor<8x?xf32>
  %3 = graph.MatMul %x, %p : (tensor<4x8xf32>, tensor<8x?xf32>) -> tensor<4x?xf32>
  return %0, %1, %2, %3 : tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>, tensor<4x?xf32>
}

// -----

func.func @main(%x: tensor<?x9x4xf32>, %y: tensor<1x?x4xf32>) -> (tensor<?x9x4xf32>, tensor<?x9x4xsi32>, tensor<1x?x4xf32>, tensor<1x?x4xsi32>) {
  %0:2 = graph.MaxPool %x {strides = [1], pads_begin = [0], pads_end = [0], kernel = [1]} : (tensor<?x9x4xf32>) -> (tensor<?x9x4xf32>, tensor<?x9x4xsi32>)
  // expected-error @+1 {{MaxPool: only the batch may be dynamic, dimension 1 is not known}}
  %1:2 = graph.MaxPool %y {strides = [1], pads_begin = [0], pads_end = [0], kernel = [1]} : (tensor<1x?x4xf32>) -> (tensor<1x?x4xf32>, tensor<1x?x4xsi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<?x9x4xf32>, tensor<?x9x4xsi32>, tensor<1x?x4xf32>, tensor<1x?x4xsi32>
}
