// RUN: tenon-opt %s --split-input-file --tenon-raise-attention --verify-diagnostics | FileCheck %s

// CHECK-NOT: tile.attention

func.func @scores_read(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> (tensor<5x4xf32>, tensor<5x7xf32>) {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no attention in one group: the scores are a result of the graph}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %2, %0 : tensor<5x4xf32>, tensor<5x7xf32>
}

// -----

func.func @masked_scores_read(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %m: tensor<7xf32>) -> (tensor<5x4xf32>, tensor<5x7xf32>) {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %s = graph.Add %0, %m : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %r = graph.ReLU %s : (tensor<5x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{ReLU also reads the scores}}
  %1 = graph.SoftMax %s {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %2, %r : tensor<5x4xf32>, tensor<5x7xf32>
}

// -----

func.func @probabilities_read(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> (tensor<5x4xf32>, tensor<5x7xf32>) {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{the probabilities have more than one reader}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %2, %1 : tensor<5x4xf32>, tensor<5x7xf32>
}

// -----

func.func @other_axis(%q: tensor<3x7x8xf32>, %k: tensor<3x8x7xf32>, %v: tensor<3x7x4xf32>) -> tensor<3x7x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<3x7x8xf32>, tensor<3x8x7xf32>) -> tensor<3x7x7xf32>
  // expected-remark @+1 {{it does not run along one of the last two dimensions}}
  %1 = graph.SoftMax %0 {axis = 0} : (tensor<3x7x7xf32>) -> tensor<3x7x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<3x7x7xf32>, tensor<3x7x4xf32>) -> tensor<3x7x4xf32>
  return %2 : tensor<3x7x4xf32>
}

// -----

// A second result of the group would be as large as the scores.
func.func @mask_read(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %i: tensor<si64>, %p: tensor<f32>) -> (tensor<5x4xf32>, tensor<5x7xui8>) {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{its Dropout also returns the mask}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2, %m = graph.Dropout %1, %i, %i, %p : (tensor<5x7xf32>, tensor<si64>, tensor<si64>, tensor<f32>) -> (tensor<5x7xf32>, tensor<5x7xui8>)
  %3 = graph.MatMul %2, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %3, %m : tensor<5x4xf32>, tensor<5x7xui8>
}

// -----

func.func @dropout_of_columns(%q: tensor<7x8xf32>, %k: tensor<8x5xf32>, %v: tensor<4x7xf32>, %i: tensor<si64>, %p: tensor<f32>) -> tensor<4x5xf32> {
  %0 = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x5xf32>) -> tensor<7x5xf32>
  // expected-remark @+1 {{its Dropout numbers weights along the last dimension}}
  %1 = graph.SoftMax %0 {axis = 0} : (tensor<7x5xf32>) -> tensor<7x5xf32>
  %2 = graph.Dropout %1, %i, %i, %p : (tensor<7x5xf32>, tensor<si64>, tensor<si64>, tensor<f32>) -> tensor<7x5xf32>
  %3 = graph.MatMul %v, %2 : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return %3 : tensor<4x5xf32>
}

// -----

func.func @no_first_product(%x: tensor<5x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.ReLU %x : (tensor<5x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{what it reads is not built on a MatMul of its shape}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

func.func @scores_broadcast(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %m: tensor<3x5x7xf32>) -> tensor<3x5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %s = graph.Add %0, %m : (tensor<5x7xf32>, tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  // expected-remark @+1 {{what it reads is not built on a MatMul of its shape}}
  %1 = graph.SoftMax %s {axis = 2} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<3x5x7xf32>, tensor<7x4xf32>) -> tensor<3x5x4xf32>
  return %2 : tensor<3x5x4xf32>
}

// -----

func.func @values_broadcast(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<3x7x4xf32>) -> tensor<3x5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{the product after it has other leading dimensions}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x7xf32>, tensor<3x7x4xf32>) -> tensor<3x5x4xf32>
  return %2 : tensor<3x5x4xf32>
}

// -----

func.func @no_keys(%q: tensor<5x8xf32>, %k: tensor<8x0xf32>, %v: tensor<0x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x0xf32>) -> tensor<5x0xf32>
  // expected-remark @+1 {{there are no keys}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x0xf32>) -> tensor<5x0xf32>
  %2 = graph.MatMul %1, %v : (tensor<5x0xf32>, tensor<0x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

func.func @step_between(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{Square stands before the product}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.Square %1 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = graph.MatMul %2, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %3 : tensor<5x4xf32>
}

// -----

func.func @early_statistics(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{the statistics are read before the product}}
  %p, %s = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x1xf32>)
  %t = graph.ReduceSum %s {axes = [0, 1]} : (tensor<5x1xf32>) -> tensor<f32>
  %w = graph.Multiply %v, %t : (tensor<7x4xf32>, tensor<f32>) -> tensor<7x4xf32>
  %2 = graph.MatMul %p, %w : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

// The end of a classifier is no attempt at attention: no remark.
func.func @no_product_behind(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>) -> tensor<5x7xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %1 : tensor<5x7xf32>
}

// -----

// Rows of scores that a product sums along exist as a whole.
func.func @unknown_keys_from_left(%q: tensor<5x8xf32>, %k: tensor<8x?xf32>, %v: tensor<4x5xf32>) -> tensor<4x?xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x?xf32>) -> tensor<5x?xf32>
  // expected-remark @+1 {{the number of keys is not known}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x?xf32>) -> tensor<5x?xf32>
  %2 = graph.MatMul %v, %1 : (tensor<4x5xf32>, tensor<5x?xf32>) -> tensor<4x?xf32>
  return %2 : tensor<4x?xf32>
}

// -----

func.func @constant_keys(%q: tensor<5x8xbf16>, %k: tensor<8x?xbf16> {graph.property = "constant"}, %v: tensor<?x4xbf16>) -> tensor<5x4xbf16> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xbf16>, tensor<8x?xbf16>) -> tensor<5x?xbf16>
  // expected-remark @+1 {{the number of constant keys is not known}}
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x?xbf16>) -> tensor<5x?xbf16>
  %2 = graph.MatMul %1, %v : (tensor<5x?xbf16>, tensor<?x4xbf16>) -> tensor<5x4xbf16>
  return %2 : tensor<5x4xbf16>
}
