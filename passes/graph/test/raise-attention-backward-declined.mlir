// RUN: tenon-opt %s --split-input-file --tenon-raise-attention-backward --verify-diagnostics | FileCheck %s

// CHECK-NOT: tile.attention_backward

func.func @mask_gradient(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x7xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: the graph reads the scores as well}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv, %ds : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x7xf32>
}

// -----

func.func @other_keys(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>, %o: tensor<7x8xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: the product with the gradients of scores does not read the keys}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %o : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}

// -----

func.func @other_queries(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>, %o: tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: the product with their transpose does not read the queries}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %o : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}

// -----

func.func @other_gradient(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>, %o: tensor<5x4xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: the product with the weights does not read the gradient}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %o : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}

// -----

func.func @weights_read(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x1xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: ReduceSum reads the scores as well}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  %r = graph.ReduceSum %p {axes = [1], keep_dims = true} : (tensor<5x7xf32>) -> tensor<5x1xf32>
  return %dq, %dk, %dv, %r : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x1xf32>
}

// -----

func.func @gradient_of_weights_read(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x1xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: ReduceSum reads the scores as well}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %sums : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  %r = graph.ReduceSum %u {axes = [1], keep_dims = true} : (tensor<5x7xf32>) -> tensor<5x1xf32>
  return %dq, %dk, %dv, %r : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<5x1xf32>
}

// -----

func.func @sums_of_results(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %g: tensor<5x4xf32>, %stats: tensor<5x1xf32>, %sums: tensor<5x1xf32>) -> (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) {
  %kt = graph.StaticTranspose %k {order = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %vt = graph.StaticTranspose %v {order = [1, 0]} : (tensor<7x4xf32>) -> tensor<4x7xf32>
  %s = graph.MatMul %q, %kt : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %y = graph.Subtract %s, %stats : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  // expected-remark @+1 {{no gradient of attention in one group: what it reads is made of its own results}}
  %p = graph.Exp %y : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %pt = graph.StaticTranspose %p {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dv = graph.MatMul %pt, %g : (tensor<7x5xf32>, tensor<5x4xf32>) -> tensor<7x4xf32>
  %a = graph.ReduceSum %dv {axes = [0, 1], keep_dims = true} : (tensor<7x4xf32>) -> tensor<1x1xf32>
  %own = graph.Add %sums, %a : (tensor<5x1xf32>, tensor<1x1xf32>) -> tensor<5x1xf32>
  %u = graph.MatMul %g, %vt : (tensor<5x4xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %e = graph.Subtract %u, %own : (tensor<5x7xf32>, tensor<5x1xf32>) -> tensor<5x7xf32>
  %ds = graph.Multiply %p, %e : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %dq = graph.MatMul %ds, %k : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  %dst = graph.StaticTranspose %ds {order = [1, 0]} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %dk = graph.MatMul %dst, %q : (tensor<7x5xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  return %dq, %dk, %dv : tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>
}
