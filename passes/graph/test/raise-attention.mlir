// RUN: tenon-opt %s --split-input-file --tenon-raise-attention | FileCheck %s

// Scale by a scalar and additive mask: both are epilogue operands; the division stays one.
// CHECK-LABEL: func @scale_mask
// CHECK-SAME:    %[[Q:.*]]: tensor<2x5x8xf32>, %[[K:.*]]: tensor<2x8x7xf32>, %[[V:.*]]: tensor<2x7x4xf32>, %[[C:.*]]: tensor<1xf32>, %[[MASK:.*]]: tensor<2x1x7xf32>
// CHECK-NEXT:    %[[O:.*]] = tile.attention %[[Q]], %[[K]], %[[V]] epilogue_operands(%[[MASK]], %[[C]]) score {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[A:.*]]: f32, %[[D:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.divf %[[X]], %[[D]]
// CHECK-NEXT:      %[[T:.*]] = arith.addf %[[A]], %[[S]]
// CHECK-NEXT:      tile.yield %[[T]]
// CHECK-NEXT:    } : tensor<2x5x8xf32>, tensor<2x8x7xf32>, tensor<2x7x4xf32> epilogue_operands(tensor<2x1x7xf32>, tensor<1xf32>) -> tensor<2x5x4xf32>
// CHECK-NEXT:    return %[[O]]
func.func @scale_mask(%q: tensor<2x5x8xf32>, %k: tensor<2x8x7xf32>, %v: tensor<2x7x4xf32>, %c: tensor<1xf32>, %mask: tensor<2x1x7xf32>) -> tensor<2x5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<2x5x8xf32>, tensor<2x8x7xf32>) -> tensor<2x5x7xf32>
  %1 = graph.Divide %0, %c : (tensor<2x5x7xf32>, tensor<1xf32>) -> tensor<2x5x7xf32>
  %2 = graph.Add %mask, %1 : (tensor<2x1x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %3 = graph.SoftMax %2 {axis = -1} : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %4 = graph.MatMul %3, %v : (tensor<2x5x7xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  return %4 : tensor<2x5x4xf32>
}

// -----

// Rows and columns of a causal mask are arguments of the region: neither the
// indices nor the mask is a tensor. The offset of the rows is an epilogue operand.
// CHECK-LABEL: func @causal
// CHECK-NOT:     graph.
// CHECK:         tile.attention %{{.*}} epilogue_operands(%{{.*}}, %{{.*}}) inf_as_zero score {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[M:.*]]: index, %[[N:.*]]: index, %[[OFF:.*]]: i32, %[[LOW:.*]]: f32):
// CHECK-NEXT:      %[[ROW:.*]] = arith.index_cast %[[M]] : index to i32
// CHECK-NEXT:      %[[AT:.*]] = arith.addi %[[ROW]], %[[OFF]]
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK:           arith.cmpi sge, %[[AT]], %[[COLUMN]]
// CHECK:           arith.select %{{.*}}, %[[X]], %[[LOW]]
// CHECK-NOT:     graph.
func.func @causal(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %off: tensor<1xsi32>, %low: tensor<f32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %r = graph.GenIndex %0 {axis = 0} : (tensor<5x7xf32>) -> tensor<5x7xsi32>
  %a = graph.Add %r, %off : (tensor<5x7xsi32>, tensor<1xsi32>) -> tensor<5x7xsi32>
  %c = graph.GenIndex %0 {axis = -1} : (tensor<5x7xf32>) -> tensor<5x7xsi32>
  %g = graph.GreaterEqual %a, %c : (tensor<5x7xsi32>, tensor<5x7xsi32>) -> tensor<5x7xi1>
  %s = graph.Select %g, %0, %low : (tensor<5x7xi1>, tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %3 = graph.SoftMax %s {axis = 1, mode = "inf_as_zero"} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %4 = graph.MatMul %3, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %4 : tensor<5x4xf32>
}

// -----

// Statistics are a second result.
// CHECK-LABEL: func @stats
// CHECK:         %[[O:.*]], %[[S:.*]] = tile.attention
// CHECK:         -> tensor<5x4xf32> stats tensor<5x1xf32>
// CHECK:         return %[[O]], %[[S]]
func.func @stats(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> (tensor<5x4xf32>, tensor<5x1xf32>) {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %p, %s = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> (tensor<5x7xf32>, tensor<5x1xf32>)
  %4 = graph.MatMul %p, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %4, %s : tensor<5x4xf32>, tensor<5x1xf32>
}

// -----

// Values from the left, probabilities transposed: dst is the transpose.
// CHECK-LABEL: func @values_first
// CHECK-SAME:    %[[Q:.*]]: tensor<5x8xf32>, %[[K:.*]]: tensor<8x7xf32>, %[[V:.*]]: tensor<4x7xf32>
// CHECK-NEXT:    %[[VT:.*]] = graph.StaticTranspose %[[V]] {order = [1, 0]
// CHECK-NEXT:    %[[O:.*]] = tile.attention %[[Q]], %[[K]], %[[VT]] score
// CHECK:         -> tensor<5x4xf32>
// CHECK-NEXT:    %[[R:.*]] = graph.StaticTranspose %[[O]] {order = [1, 0]
// CHECK-NEXT:    return %[[R]]
func.func @values_first(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<4x7xf32>) -> tensor<4x5xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %3 = graph.Reorder %2 : (tensor<7x5xf32>) -> tensor<7x5xf32>
  %4 = graph.MatMul %v, %3 : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return %4 : tensor<4x5xf32>
}

// -----

// Scores from the transpose of keys times queries.
// CHECK-LABEL: func @keys_first
// CHECK-SAME:    %[[K:.*]]: tensor<7x8xf32>, %[[Q:.*]]: tensor<8x5xf32>
// CHECK-DAG:     %[[QT:.*]] = graph.StaticTranspose %[[Q]]
// CHECK-DAG:     %[[KT:.*]] = graph.StaticTranspose %[[K]]
// CHECK:         tile.attention %[[QT]], %[[KT]]
func.func @keys_first(%k: tensor<7x8xf32>, %q: tensor<8x5xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %k, %q : (tensor<7x8xf32>, tensor<8x5xf32>) -> tensor<7x5xf32>
  %1 = graph.StaticTranspose %0 {order = [-1, 0]} : (tensor<7x5xf32>) -> tensor<5x7xf32>
  %2 = graph.SoftMax %1 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %4 = graph.MatMul %2, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %4 : tensor<5x4xf32>
}

// -----

// Soft-capping, and a mask whose own computation stays outside.
// CHECK-LABEL: func @soft_cap
// CHECK:         %[[MASK:.*]] = graph.Multiply
// CHECK:         tile.attention %{{.*}} epilogue_operands(%{{.*}}, %[[MASK]]) score {
// CHECK:           arith.divf
// CHECK:           math.tanh
// CHECK:           arith.mulf
// CHECK:           arith.addf
func.func @soft_cap(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %cap: tensor<f32>, %m: tensor<7xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %1 = graph.Divide %0, %cap : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %2 = graph.Tanh %1 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %3 = graph.Multiply %2, %cap : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %low = arith.constant dense<-1.0e+04> : tensor<f32>
  %mask = graph.Multiply %m, %low : (tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  %4 = graph.Add %3, %mask : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %5 = graph.SoftMax %4 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %6 = graph.MatMul %5, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %6 : tensor<5x4xf32>
}

// -----

// Weights are dropped after the sum of the softmax, in a region of their own.
// CHECK-LABEL: func @dropout
// CHECK-SAME:    %[[Q:.*]]: tensor<5x8xf32>, %[[K:.*]]: tensor<8x7xf32>, %[[V:.*]]: tensor<7x4xf32>, %[[SEED:.*]]: tensor<si64>, %[[P:.*]]: tensor<1xf32>
// CHECK-NOT:     graph.
// CHECK:         tile.attention %[[Q]], %[[K]], %[[V]] epilogue_operands(%[[SEED]], %[[P]]) score {
// CHECK:           tile.yield
// CHECK:         } weights {
// CHECK-NEXT:    ^bb0(%[[W:.*]]: f32, %[[ELEMENT:.*]]: i64, %[[S:.*]]: i64, %[[PROB:.*]]: f32):
// CHECK:           arith.andi %[[ELEMENT]]
// CHECK:           %[[SCALED:.*]] = arith.divf %[[W]]
// CHECK:           %[[KEPT:.*]] = arith.select %{{.*}}, %[[SCALED]]
// CHECK-NEXT:      tile.yield %[[KEPT]]
// CHECK-NOT:     graph.
func.func @dropout(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %seed: tensor<si64>, %p: tensor<1xf32>) -> tensor<5x4xf32> {
  %0 = graph.MatMul %q, %k : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = graph.Dropout %1, %seed, %seed, %p : (tensor<5x7xf32>, tensor<si64>, tensor<si64>, tensor<1xf32>) -> tensor<5x7xf32>
  %3 = graph.MatMul %2, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %3 : tensor<5x4xf32>
}

// -----

// A softmax along the rows, whose sum is the product's: attention of the
// transposes. The mask of columns becomes one of rows.
// CHECK-LABEL: func @along_rows
// CHECK-SAME:    %[[K:.*]]: tensor<7x8xf32>, %[[Q:.*]]: tensor<8x5xf32>, %[[V:.*]]: tensor<4x7xf32>, %[[M:.*]]: tensor<5xf32>
// CHECK-DAG:     %[[QT:.*]] = graph.StaticTranspose %[[Q]]
// CHECK-DAG:     %[[KT:.*]] = graph.StaticTranspose %[[K]]
// CHECK-DAG:     %[[VT:.*]] = graph.StaticTranspose %[[V]]
// CHECK-DAG:     %[[MT:.*]] = graph.StaticReshape %[[M]] {{.*}} -> tensor<5x1xf32>
// CHECK:         %[[O:.*]] = tile.attention %[[QT]], %[[KT]], %[[VT]] epilogue_operands(%[[MT]]) score
// CHECK:         graph.StaticTranspose %[[O]] {{.*}} -> tensor<4x5xf32>
func.func @along_rows(%k: tensor<7x8xf32>, %q: tensor<8x5xf32>, %v: tensor<4x7xf32>, %m: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = graph.MatMul %k, %q : (tensor<7x8xf32>, tensor<8x5xf32>) -> tensor<7x5xf32>
  %s = graph.Add %0, %m : (tensor<7x5xf32>, tensor<5xf32>) -> tensor<7x5xf32>
  %1 = graph.SoftMax %s {axis = 0} : (tensor<7x5xf32>) -> tensor<7x5xf32>
  %2 = graph.MatMul %v, %1 : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}

// -----

// The product sums over rows that have each their own softmax.
// CHECK-LABEL: func @from_left
// CHECK-SAME:    %[[Q:.*]]: tensor<7x8xf32>, %[[K:.*]]: tensor<8x5xf32>, %[[V:.*]]: tensor<4x7xf32>
// CHECK-NEXT:    %[[O:.*]] = tile.attention %[[Q]], %[[K]], %[[V]] from_left score
// CHECK:         return %[[O]]
func.func @from_left(%q: tensor<7x8xf32>, %k: tensor<8x5xf32>, %v: tensor<4x7xf32>) -> tensor<4x5xf32> {
  %0 = graph.MatMul %q, %k : (tensor<7x8xf32>, tensor<8x5xf32>) -> tensor<7x5xf32>
  %1 = graph.SoftMax %0 {axis = 1} : (tensor<7x5xf32>) -> tensor<7x5xf32>
  %2 = graph.MatMul %v, %1 : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return %2 : tensor<4x5xf32>
}

// -----

// Heads that are columns of one matrix become a dimension, so that what is
// transposed is keys and result, not scores.
// CHECK-LABEL: func @heads_as_columns
// CHECK-SAME:    %[[Q:.*]]: tensor<2x7x8xf32>, %[[K:.*]]: tensor<2x8x15xf32>, %[[M:.*]]: tensor<2x3x7x5xf32>, %[[V:.*]]: tensor<2x4x7xf32>
// CHECK-DAG:     %[[KR:.*]] = graph.StaticReshape %[[K]] {{.*}} -> tensor<2x8x3x5xf32>
// CHECK-DAG:     %[[KT:.*]] = graph.StaticTranspose %[[KR]] {{.*}} -> tensor<2x3x8x5xf32>
// CHECK-DAG:     %[[QR:.*]] = graph.StaticReshape %[[Q]] {{.*}} -> tensor<2x1x7x8xf32>
// CHECK-DAG:     %[[VR:.*]] = graph.StaticReshape %[[V]] {{.*}} -> tensor<2x1x4x7xf32>
// CHECK:         %[[O:.*]] = tile.attention %[[QR]], %[[KT]], %[[VR]] epilogue_operands(%[[M]]) from_left score
// CHECK:         -> tensor<2x3x4x5xf32>
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[O]] {{.*}} -> tensor<2x4x3x5xf32>
// CHECK-NEXT:    %[[R:.*]] = graph.StaticReshape %[[T]] {{.*}} -> tensor<2x4x15xf32>
// CHECK-NEXT:    return %[[R]]
func.func @heads_as_columns(%q: tensor<2x7x8xf32>, %k: tensor<2x8x15xf32>, %m: tensor<2x3x7x5xf32>, %v: tensor<2x4x7xf32>) -> tensor<2x4x15xf32> {
  %0 = graph.MatMul %q, %k : (tensor<2x7x8xf32>, tensor<2x8x15xf32>) -> tensor<2x7x15xf32>
  %1 = graph.StaticReshape %0 {shape = [2, 7, 3, 5], special_zero = false} : (tensor<2x7x15xf32>) -> tensor<2x7x3x5xf32>
  %2 = graph.StaticTranspose %1 {order = [0, 2, 1, 3]} : (tensor<2x7x3x5xf32>) -> tensor<2x3x7x5xf32>
  %3 = graph.Add %2, %m : (tensor<2x3x7x5xf32>, tensor<2x3x7x5xf32>) -> tensor<2x3x7x5xf32>
  %4 = graph.SoftMax %3 {axis = 3} : (tensor<2x3x7x5xf32>) -> tensor<2x3x7x5xf32>
  %5 = graph.StaticTranspose %4 {order = [0, 2, 1, 3]} : (tensor<2x3x7x5xf32>) -> tensor<2x7x3x5xf32>
  %6 = graph.StaticReshape %5 {shape = [2, 7, 15], special_zero = false} : (tensor<2x7x3x5xf32>) -> tensor<2x7x15xf32>
  %7 = graph.MatMul %v, %6 : (tensor<2x4x7xf32>, tensor<2x7x15xf32>) -> tensor<2x4x15xf32>
  return %7 : tensor<2x4x15xf32>
}

// -----

// Batch, queries and keys may all be unknown.
// CHECK-LABEL: func @unknown_keys
// CHECK-NOT:     graph.
// CHECK:         tile.attention
// CHECK:         : tensor<?x3x?x8xf16>, tensor<?x3x8x?xf16>, tensor<?x3x?x4xf16> epilogue_operands(tensor<?x1x1x?xf16>) -> tensor<?x3x?x4xf16>
// CHECK-NOT:     graph.
func.func @unknown_keys(%q: tensor<?x3x?x8xf16>, %k: tensor<?x3x8x?xf16>, %v: tensor<?x3x?x4xf16>, %mask: tensor<?x1x1x?xf16>) -> tensor<?x3x?x4xf16> {
  %0 = graph.MatMul %q, %k : (tensor<?x3x?x8xf16>, tensor<?x3x8x?xf16>) -> tensor<?x3x?x?xf16>
  %1 = graph.Add %0, %mask : (tensor<?x3x?x?xf16>, tensor<?x1x1x?xf16>) -> tensor<?x3x?x?xf16>
  %2 = graph.SoftMax %1 {axis = -1} : (tensor<?x3x?x?xf16>) -> tensor<?x3x?x?xf16>
  %3 = graph.MatMul %2, %v : (tensor<?x3x?x?xf16>, tensor<?x3x?x4xf16>) -> tensor<?x3x?x4xf16>
  return %3 : tensor<?x3x?x4xf16>
}

// -----

// Keys and values that repeat heads are read as they are: the heads of the queries become
// two dimensions, and so do those of a mask.
// CHECK-LABEL: func @repeated_heads
// CHECK-NOT:     tile.expand
// CHECK:         tile.attention %{{.*}}, %{{.*}}, %{{.*}} epilogue_operands(%{{.*}}) score {
// CHECK:         } : tensor<3x2x4x5x8xf32>, tensor<3x2x1x8x7xf32>, tensor<3x2x1x7x6xf32> epilogue_operands(tensor<3x1x1x5x7xf32>) -> tensor<3x2x4x5x6xf32>
// CHECK:         return %{{.*}} : tensor<3x8x5x6xf32>
func.func @repeated_heads(%q: tensor<3x8x5x8xf32>, %k0: tensor<3x2x7x8xf32>, %v0: tensor<3x2x7x6xf32>, %mask: tensor<3x1x5x7xf32>) -> tensor<3x8x5x6xf32> {
  %k1 = graph.StaticReshape %k0 {shape = [3, 2, 1, 7, 8], special_zero = false} : (tensor<3x2x7x8xf32>) -> tensor<3x2x1x7x8xf32>
  %k2 = tile.expand %k1 : tensor<3x2x1x7x8xf32> -> tensor<3x2x4x7x8xf32>
  %k3 = graph.StaticReshape %k2 {shape = [3, 8, 7, 8], special_zero = false} : (tensor<3x2x4x7x8xf32>) -> tensor<3x8x7x8xf32>
  %k = graph.StaticTranspose %k3 {order = [0, 1, 3, 2]} : (tensor<3x8x7x8xf32>) -> tensor<3x8x8x7xf32>
  %v1 = graph.StaticReshape %v0 {shape = [3, 2, 1, 7, 6], special_zero = false} : (tensor<3x2x7x6xf32>) -> tensor<3x2x1x7x6xf32>
  %v2 = tile.expand %v1 : tensor<3x2x1x7x6xf32> -> tensor<3x2x4x7x6xf32>
  %v = graph.StaticReshape %v2 {shape = [3, 8, 7, 6], special_zero = false} : (tensor<3x2x4x7x6xf32>) -> tensor<3x8x7x6xf32>
  %0 = graph.MatMul %q, %k : (tensor<3x8x5x8xf32>, tensor<3x8x8x7xf32>) -> tensor<3x8x5x7xf32>
  %1 = graph.Add %0, %mask : (tensor<3x8x5x7xf32>, tensor<3x1x5x7xf32>) -> tensor<3x8x5x7xf32>
  %2 = graph.SoftMax %1 {axis = -1} : (tensor<3x8x5x7xf32>) -> tensor<3x8x5x7xf32>
  %3 = graph.MatMul %2, %v : (tensor<3x8x5x7xf32>, tensor<3x8x7x6xf32>) -> tensor<3x8x5x6xf32>
  return %3 : tensor<3x8x5x6xf32>
}
