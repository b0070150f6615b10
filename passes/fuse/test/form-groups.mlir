// RUN: tenon-opt %s --split-input-file --tenon-form-groups | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-form-groups=enable=false | FileCheck %s --check-prefix=OFF

// A product, its bias, its activation: one group, named after its operations.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[P:[a-z0-9]+]]: tensor<1x8x24xf32>, %[[B:[a-z0-9]+]]: tensor<16xf32>
// CHECK-NEXT:    %[[R:.*]] = call @g_fc1_bias_ReLU(%[[X]], %[[P]], %[[B]]) {tile.label = "fc1+bias+ReLU"}
// CHECK-NEXT:    return %[[R]]
// CHECK:       func.func private @g_fc1_bias_ReLU
// CHECK-SAME:    attributes {tile.group = #tile.group<contraction>}
// CHECK-NEXT:    tile.matmul
// CHECK-NEXT:    graph.Add
// CHECK-NEXT:    graph.ReLU
// CHECK-NEXT:    return

// OFF-LABEL:   func.func @main
// OFF-NEXT:      call @g_fc1(
// OFF-NEXT:      call @g_bias(
// OFF-NEXT:      call @g_ReLU(
// OFF-NEXT:      return
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32> loc("fc1")
  %1 = graph.Add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> loc("bias")
  %2 = graph.ReLU %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// The bias of a MatMul is part of it: without fusion, too, they are one group,
// which rounds once.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_mm_ReLU(
// OFF-LABEL:   func.func @main
// OFF-NEXT:      call @g_mm(
// OFF-NEXT:      call @g_ReLU(
// OFF-NEXT:      return
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32> loc("mm")
  %1 = graph.Add %0, %b {tile.part} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> loc("mm")
  %2 = graph.ReLU %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// A row operation takes what comes before it and what follows; literals are
// repeated inside the group.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Multiply_Add_SoftMax_Multiply(%{{[a-z0-9]+}}, %{{[a-z0-9]+}})
// CHECK-NEXT:    return
// CHECK:       func.func private
// CHECK-SAME:    attributes {tile.group = #tile.group<reduction>}
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    graph.Multiply
// CHECK-NEXT:    graph.Add
// CHECK-NEXT:    graph.SoftMax
// CHECK-NEXT:    graph.Multiply
func.func @main(%x: tensor<4x8xf32>, %mask: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<0.125> : tensor<f32>
  %0 = graph.Multiply %x, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = graph.Add %0, %mask : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.SoftMax %1 {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = graph.Multiply %2, %mask : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Statistics with kept dimensions stay in the group: a normalisation written
// out by hand is one.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: call @
// CHECK-NOT:     call @
// CHECK:         return
// CHECK:       func.func private
// CHECK-SAME:    attributes {tile.group = #tile.group<reduction>}
// CHECK:         graph.ReduceMean
// CHECK:         graph.Subtract
// CHECK:         graph.ReduceMean
// CHECK:         graph.Divide
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = graph.ReduceMean %0 {axes = [1], keep_dims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = graph.Subtract %0, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %s = graph.Square %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = graph.ReduceMean %s {axes = [1], keep_dims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r = graph.Sqrt %v : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %y = graph.Divide %d, %r : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A residual from another contraction: the second one takes it as a side.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = call @g_a(
// CHECK-NEXT:    %[[R:.*]] = call @g_b_sum(%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %[[A]])
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>, %q: tensor<1x8x16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32> loc("a")
  %1 = tile.matmul %x, %q : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32> loc("b")
  %2 = graph.Add %1, %0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32> loc("sum")
  return %2 : tensor<4x16xf32>
}

// -----

// Two layers that do the same share one function, whatever their names.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = call @g_fc1_ReLU(%{{.*}}) {tile.label = "fc1+ReLU"}
// CHECK-NEXT:    call @g_fc1_ReLU(%[[A]], %{{.*}}) {tile.label = "fc2+ReLU"}
// CHECK:       func.func private @g_fc1_ReLU
// CHECK-NOT:   func.func private
func.func @main(%x: tensor<4x16xf32>, %p: tensor<1x16x16xf32>, %q: tensor<1x16x16xf32>) -> tensor<4x16xf32> {
  %0 = tile.matmul %x, %p : tensor<4x16xf32>, tensor<1x16x16xf32> -> tensor<4x16xf32> loc("fc1")
  %1 = graph.ReLU %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = tile.matmul %1, %q : tensor<4x16xf32>, tensor<1x16x16xf32> -> tensor<4x16xf32> loc("fc2")
  %3 = graph.ReLU %2 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// Attributes are part of a function: other kinds of work are other functions.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Clamp(
// CHECK-NEXT:    call @g_Clamp_1(
// CHECK:       func.func private @g_Clamp(
// CHECK:         max = 6
// CHECK:       func.func private @g_Clamp_1(
// CHECK:         max = 7
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.Clamp %x {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.Clamp %x {min = 0.0, max = 7.0} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Views stay outside: they become strides of the operands.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = call @g_Exp(
// CHECK-NEXT:    %[[T:.*]] = graph.StaticTranspose %[[A]]
// CHECK-NEXT:    %[[R:.*]] = graph.StaticReshape %[[T]]
// CHECK-NEXT:    call @g_Sqrt(%[[R]])
func.func @main(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = graph.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = graph.StaticReshape %1 {shape = [32], special_zero = false} : (tensor<8x4xf32>) -> tensor<32xf32>
  %3 = graph.Sqrt %2 : (tensor<32xf32>) -> tensor<32xf32>
  return %3 : tensor<32xf32>
}

// -----

// A result that is an argument, a view, a literal or returned twice is copied:
// each result has memory of its own.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-DAG:     %[[E:.*]]:2 = call @g_Exp_Reorder(%[[X]])
// CHECK-DAG:     %[[A:.*]] = call @g_Reorder(%[[X]])
// CHECK-DAG:     %[[T:.*]] = graph.StaticTranspose %[[E]]#0
// CHECK-DAG:     %[[V:.*]] = call @{{.*}}(%[[T]])
// CHECK:         %[[C:.*]] = call @{{.*}}() {{.*}} -> tensor<2xf32>
// CHECK:         return %[[E]]#0, %[[A]], %[[V]], %[[E]]#1, %[[C]]
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<2xf32>) {
  %0 = graph.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %c = arith.constant dense<1.0> : tensor<2xf32>
  return %0, %x, %1, %0, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<2xf32>
}

// -----

// @fold is cut as @main is and shares its functions; other functions stay.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_Exp(
// CHECK-LABEL: func.func @fold
// CHECK:         call @g_Exp(
// CHECK-LABEL: func.func @other
// CHECK-NEXT:    graph.Exp
// CHECK:       func.func private @g_Exp
// CHECK-NOT:   func.func
func.func @main(%x: tensor<4xf32>, %f: tensor<4xf32> {tile.folded}) -> tensor<4xf32> {
  %0 = graph.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @fold(%w: tensor<4xf32> {graph.property = "constant"}) -> tensor<4xf32> {
  %0 = graph.Exp %w : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @other(%w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.Exp %w : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Bias and activation follow a transposed convolution in registers; a
// depthwise one has a kind of its own.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_conv_transpose_Add_ReLU(
// CHECK-NEXT:    call @g_conv_transpose(
// CHECK:       func.func private @g_conv_transpose_Add_ReLU({{.*}}tile.group = #tile.group<contraction>
// CHECK:       func.func private @g_conv_transpose({{.*}}tile.group = #tile.group<window>
func.func @main(%x: tensor<1x5x16xf32>, %p: tensor<1x1x3x16x8xf32>, %b: tensor<8xf32>, %d: tensor<3x1x16xf32>) -> (tensor<1x7x8xf32>, tensor<1x7x16xf32>) {
  %0 = tile.conv_transpose %x, %p {dilations = array<i64: 1>, groups = 1 : i64, pads_begin = array<i64: 0>, strides = array<i64: 1>} : tensor<1x5x16xf32>, tensor<1x1x3x16x8xf32> -> tensor<1x7x8xf32>
  %1 = graph.Add %0, %b : (tensor<1x7x8xf32>, tensor<8xf32>) -> tensor<1x7x8xf32>
  %2 = graph.ReLU %1 : (tensor<1x7x8xf32>) -> tensor<1x7x8xf32>
  %3 = tile.conv_transpose %x, %d {depthwise, dilations = array<i64: 1>, groups = 16 : i64, pads_begin = array<i64: 0>, strides = array<i64: 1>} : tensor<1x5x16xf32>, tensor<3x1x16xf32> -> tensor<1x7x16xf32>
  return %2, %3 : tensor<1x7x8xf32>, tensor<1x7x16xf32>
}

// -----

// Sequences of a recurrence are results of its group though nobody reads them;
// a final state that nobody reads is none. Nothing joins the time steps.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[R:.*]]:2 = call @g_recurrence(
// CHECK:         %[[T:.*]] = call @g_Tanh(%[[R]]#0)
// CHECK:         return %[[T]]
// CHECK-LABEL: func.func private @g_recurrence(
// CHECK-SAME:    tile.group = #tile.group<recurrence>
// CHECK:         %[[R:.*]]:3 = tile.recurrence
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @main(%g: tensor<7x3x8xf32>, %u: tensor<1x1x8x16xf32>) -> tensor<7x3x8xf32> {
  %0:3 = tile.recurrence %g, %u attributes {
      forms = [#tile.step_operand<steps = true, batch = true>, #tile.step_operand<steps = false, batch = false>],
      rings = array<i64: 0, 1>, finals = array<i64: 0>,
      states = [#tile.state<result = 0, offset = 0, width = 8, initial = -1>],
      stages = [#tile.stage<width = 8 weights = 1 products = 1 state = 0 reads = [<kind = operand>] targets = [0, 1] columns = [0, 0]>]} {
    ^bb0(%sum: f32, %a: f32):
      %1 = arith.addf %sum, %a : f32
      tile.stage_yield %1, %a : f32, f32
    } : (tensor<7x3x8xf32>, tensor<1x1x8x16xf32>) -> (tensor<7x3x8xf32>, tensor<1x3x8xf32>, tensor<1x1x3x8xf32>)
  %2 = graph.Tanh %0#0 : (tensor<7x3x8xf32>) -> tensor<7x3x8xf32>
  return %2 : tensor<7x3x8xf32>
}

// -----

// A view of a product is no copy where it only names the dimensions of the
// caller's buffer. Declines: the same product again, and a buffer with other
// rows.
// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = call @g_matmul_ReLU(
// CHECK:         %[[T:.*]] = graph.StaticTranspose %[[A]]
// CHECK:         %[[B:.*]] = call @g_Reorder(%[[T]])
// CHECK:         %[[C:.*]] = call @g_Reorder(%[[T]])
// CHECK:         return %[[T]], %[[B]], %[[C]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x16xf32>) -> (tensor<16x4xf32> {tile.strides = array<i64: 1, 16>}, tensor<16x4xf32> {tile.strides = array<i64: 1, 16>}, tensor<16x4xf32> {tile.strides = array<i64: 8, 1>}) {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x16xf32> -> tensor<4x16xf32>
  %1 = graph.ReLU %0 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return %2, %2, %2 : tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
}
