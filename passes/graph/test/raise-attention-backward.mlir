// RUN: tenon-opt %s --split-input-file --tenon-raise-attention-backward | FileCheck %s

// Five products around weights that are computed again from statistics.
// CHECK-LABEL: func @plain
// CHECK-SAME:    %[[Q:.*]]: tensor<2x5x8xf32>, %[[K:.*]]: tensor<2x7x8xf32>, %[[V:.*]]: tensor<2x7x4xf32>, %[[G:.*]]: tensor<2x5x4xf32>, %[[STATS:.*]]: tensor<2x5x1xf32>, %[[SUMS:.*]]: tensor<2x5x1xf32>, %[[C:.*]]: tensor<f32>
// CHECK-NOT:     graph.
// CHECK:         %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = tile.attention_backward %[[Q]], %[[K]], %[[V]], %[[G]] epilogue_operands(%[[C]], %[[STATS]], %[[SUMS]]) gradient {
// CHECK-NEXT:    ^bb0(%[[S:.*]]: f32, %[[U:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: i64, %[[SCALE:.*]]: f32, %[[B:.*]]: f32, %[[A:.*]]: f32):
// CHECK-NEXT:      %[[X:.*]] = arith.mulf %[[S]], %[[SCALE]]
// CHECK-NEXT:      %[[Y:.*]] = arith.subf %[[X]], %[[B]]
// CHECK-NEXT:      %[[P:.*]] = math.exp %[[Y]]
// CHECK-NEXT:      %[[E:.*]] = arith.subf %[[U]], %[[A]]
// CHECK-NEXT:      %[[DS:.*]] = arith.mulf %[[P]], %[[E]]
// CHECK-NEXT:      %[[DT:.*]] = arith.mulf %[[DS]], %[[SCALE]]
// CHECK-NEXT:      tile.yield %[[P]], %[[DT]]
// CHECK:         return %[[DQ]], %[[DK]], %[[DV]]
func.func @plain(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x4xf32>, %g: tensor<2x5x4xf32>, %stats: tensor<2x5x1xf32>, %sums: tensor<2x5x1xf32>, %c: tensor<f32>) -> (tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [0, 2, 1]} : (tensor<2x7x8xf32>) -> tensor<2x8x7xf32>
  %vt = graph.StaticTranspose %v {order = [0, 2, 1]} : (tensor<2x7x4xf32>) -> tensor<2x4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<2x5x8xf32>, tensor<2x8x7xf32>) -> tensor<2x5x7xf32>
  %x = graph.Multiply %s, %c : (tensor<2x5x7xf32>, tensor<f32>) -> tensor<2x5x7xf32>
  %y = graph.Subtract %x, %stats : (tensor<2x5x7xf32>, tensor<2x5x1xf32>) -> tensor<2x5x7xf32>
  %p = graph.Exp %y : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %pt = graph.StaticTranspose %p {order = [0, 2, 1]} : (tensor<2x5x7xf32>) -> tensor<2x7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<2x7x5xf32>, tensor<2x5x4xf32>) -> tensor<2x7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<2x5x4xf32>, tensor<2x4x7xf32>) -> tensor<2x5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<2x5x7xf32>, tensor<2x5x1xf32>) -> tensor<2x5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<2x5x7xf32>, tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %dt = graph.Multiply %ds, %c : (tensor<2x5x7xf32>, tensor<f32>) -> tensor<2x5x7xf32>
  %dq = graph.MatMul %dt, %k : (tensor<2x5x7xf32>, tensor<2x7x8xf32>) -> tensor<2x5x8xf32>
  %dtt = graph.StaticTranspose %dt {order = [0, 2, 1]} : (tensor<2x5x7xf32>) -> tensor<2x7x5xf32>
  %dk = graph.MatMul %dtt, %q : (tensor<2x7x5xf32>, tensor<2x5x8xf32>) -> tensor<2x7x8xf32>
  return %dq, %dk, %dv : tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x7x4xf32>
}

// -----

// The sums over the heads that share keys and values are the operation's own.
// CHECK-LABEL: func @grouped
// CHECK-NOT:     graph.
// CHECK:         tile.attention_backward
// CHECK:         : tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x4xf32>, tensor<2x3x5x4xf32> epilogue_operands(tensor<2x3x5x1xf32>, tensor<2x3x5x1xf32>)
// CHECK-NOT:     graph.
func.func @grouped(%q: tensor<2x3x5x8xf32>, %k: tensor<2x1x7x8xf32>, %v: tensor<2x1x7x4xf32>, %g: tensor<2x3x5x4xf32>, %stats: tensor<2x3x5x1xf32>, %sums: tensor<2x3x5x1xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [0, 1, 3, 2]} : (tensor<2x1x7x8xf32>) -> tensor<2x1x8x7xf32>
  %vt = graph.StaticTranspose %v {order = [0, 1, 3, 2]} : (tensor<2x1x7x4xf32>) -> tensor<2x1x4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<2x3x5x8xf32>, tensor<2x1x8x7xf32>) -> tensor<2x3x5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<2x3x5x7xf32>, tensor<2x3x5x1xf32>) -> tensor<2x3x5x7xf32>
  %p = graph.Exp %y : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %pt = graph.StaticTranspose %p {order = [0, 1, 3, 2]} : (tensor<2x3x5x7xf32>) -> tensor<2x3x7x5xf32>
  %dvw = graph.MatMul %pt, %g : (tensor<2x3x7x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x7x4xf32>
  %dv = graph.ReduceSum %dvw {axes = [1], keep_dims = true} : (tensor<2x3x7x4xf32>) -> tensor<2x1x7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<2x3x5x4xf32>, tensor<2x1x4x7xf32>) -> tensor<2x3x5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<2x3x5x7xf32>, tensor<2x3x5x1xf32>) -> tensor<2x3x5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<2x3x5x7xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<2x3x5x7xf32>, tensor<2x1x7x8xf32>) -> tensor<2x3x5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [0, 1, 3, 2]} : (tensor<2x3x5x7xf32>) -> tensor<2x3x7x5xf32>
  %dkw = graph.MatMul %dst, %q : (tensor<2x3x7x5xf32>, tensor<2x3x5x8xf32>) -> tensor<2x3x7x8xf32>
  %dk = graph.ReduceSum %dkw {axes = [1], keep_dims = true} : (tensor<2x3x7x8xf32>) -> tensor<2x1x7x8xf32>
  return %dq, %dk, %dv : tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x4xf32>
}

// -----

// Dropout draws by the number of the weight, of the weights and of their gradients.
// CHECK-LABEL: func @dropout
// CHECK:         tile.attention_backward
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %[[NUMBER:[a-z0-9]+]]: i64,
// CHECK:           arith.{{.*}} %[[NUMBER]]
// CHECK-NOT:     graph.
func.func @dropout(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>, %seed: tensor<1xsi64>, %offset: tensor<1xsi64>, %probability: tensor<1xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %w = graph.Dropout %p, %seed, %offset, %probability : (tensor<5x7xf32>, tensor<1xsi64>, tensor<1xsi64>, tensor<1xf32>) -> tensor<5x7xf32>
  %wt = graph.StaticTranspose %w {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %wt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %ud = graph.Dropout %u, %seed, %offset, %probability : (tensor<5x7xf32>, tensor<1xsi64>, tensor<1xsi64>, tensor<1xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %ud, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}

// -----

// Weights that were kept are computed again where the attention itself is in the graph: its
// result times the gradient gives the sums of each row. Nothing reads the weights then but
// the attention.
// CHECK-LABEL: func @kept_weights
// CHECK:         %[[P:.*]], %[[STATS:.*]] = graph.SoftMax
// CHECK:         %[[O:.*]] = graph.MatMul %[[P]]
// CHECK:         %[[TERMS:.*]] = graph.Multiply %{{.*}}, %[[O]]
// CHECK:         %[[SUMS:.*]] = graph.ReduceSum %[[TERMS]]
// CHECK:         tile.attention_backward %{{.*}} epilogue_operands(%[[STATS]], %[[SUMS]]) gradient
// CHECK-NOT:     graph.SoftMaxBackward
func.func @kept_weights(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %p = graph.SoftMax %s {axis = -1} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %o = graph.MatMul %p, %v : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %ds = graph.SoftMaxBackward %u, %p {axis = -1} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %o, %dq, %dk, %dv : tensor<5x4xf32>, tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}
