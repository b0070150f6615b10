// RUN: tenon-opt %s --split-input-file --tenon-decompose-recurrent | FileCheck %s

// One product for all steps, then the steps: products of h with the weights of
// four gates, and a block that makes c, which has a ring of one, and h.
// CHECK-LABEL: func @lstm
// CHECK-SAME:    %[[X:.*]]: tensor<5x6x7xf32>, %[[W:.*]]: tensor<1x1x7x4x20xf32>, %[[U:.*]]: tensor<1x1x20x4x20xf32>, %[[B:.*]]: tensor<1x1x4x20xf32>
// CHECK:         %[[P:.*]] = graph.MatMul %[[X]], %{{.*}} -> tensor<5x6x80xf32>
// CHECK:         %[[G:.*]] = graph.Add %[[P]], %{{.*}} -> tensor<5x6x80xf32>
// CHECK:         %[[Z:.*]] = graph.StaticTranspose %{{.*}} -> tensor<4x20x20xf32>
// CHECK:         %[[R:.*]]:2 = tile.recurrence %[[G]], %[[Z]] attributes
// CHECK-SAME:      rings = array<i64: 0, 1>
// CHECK-SAME:      #tile.stage<width = 20 weights = 1 products = 4 state = 0
// CHECK-NOT:     graph.Concat
// CHECK:         return %[[R]]#0
func.func @lstm(%x: tensor<5x6x7xf32>, %w: tensor<1x1x7x4x20xf32>, %u: tensor<1x1x20x4x20xf32>, %b: tensor<1x1x4x20xf32>) -> tensor<5x6x20xf32> {
  %0 = graph.LSTM %x, %w, %u, %b : (tensor<5x6x7xf32>, tensor<1x1x7x4x20xf32>, tensor<1x1x20x4x20xf32>, tensor<1x1x4x20xf32>) -> tensor<5x6x20xf32>
  return %0 : tensor<5x6x20xf32>
}

// -----

// GRU has two stages, since U_o meets r * h. A layer reads the one below; its
// states are rows of the operands, which are left where they are, and the last
// ones are joined. Steps and batch may be unknown; the bias is left out.
// CHECK-LABEL: func @gru
// CHECK-SAME:    %[[H:[a-z0-9]+]]: tensor<2x1x?x8xf32>)
// CHECK:         %[[R0:.*]]:4 = tile.recurrence %{{.*}}, %[[H]], %{{.*}}, %{{.*}} attributes
// CHECK-SAME:      #tile.step_operand<lead = [0, 0],steps = false, batch = true>
// CHECK-SAME:      #tile.stage<width = 8 weights = 2 products = 2 state = 0
// CHECK-SAME:      #tile.stage<width = 8 weights = 3 products = 1 source = 1 depth = 8
// CHECK:         graph.MatMul %[[R0]]#0
// CHECK:         %[[R1:.*]]:4 = tile.recurrence %{{.*}}, %[[H]]
// CHECK-SAME:      #tile.step_operand<lead = [1, 0],steps = false, batch = true>
// CHECK:         %[[J:.*]] = graph.Concat %[[R0]]#3, %[[R1]]#3 {axis = 0
// CHECK:         return %[[R1]]#0, %[[J]]
func.func @gru(%x: tensor<?x?x8xf32>, %w: tensor<2x1x8x3x8xf32>, %u: tensor<2x1x8x3x8xf32>, %h: tensor<2x1x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<2x1x?x8xf32>) {
  %0:2 = graph.GRU %x, %w, %u, %h : (tensor<?x?x8xf32>, tensor<2x1x8x3x8xf32>, tensor<2x1x8x3x8xf32>, none, tensor<2x1x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<2x1x?x8xf32>)
  return %0#0, %0#1 : tensor<?x?x8xf32>, tensor<2x1x?x8xf32>
}

// -----

// Two directions: the second goes back; their results are concatenated.
// CHECK-LABEL: func @both
// Steps beyond the lengths leave h as it was, and give 0 in a result of its own.
// CHECK:         %[[L:.*]]:2 = tile.recurrence
// CHECK-NOT:     reverse
// CHECK:         %[[R:.*]]:2 = tile.recurrence {{.*}} reverse
// CHECK:         graph.Concat %[[L]]#1, %[[R]]#1 {axis = 2
// CHECK-SAME:      -> tensor<5x6x16xf32>
func.func @both(%x: tensor<5x6x7xf32>, %w: tensor<1x2x7x1x8xf32>, %u: tensor<1x2x8x1x8xf32>, %n: tensor<6xsi32>) -> tensor<5x6x16xf32> {
  %0 = graph.RNN %x, %w, %u, %n {direction = "bidirectional_concat"} : (tensor<5x6x7xf32>, tensor<1x2x7x1x8xf32>, tensor<1x2x8x1x8xf32>, none, none, tensor<6xsi32>) -> tensor<5x6x16xf32>
  return %0 : tensor<5x6x16xf32>
}

// -----

// A gradient goes back over the steps, and looks at h of the step that follows;
// gradients of weights are products over all steps.
// CHECK-LABEL: func @gradient
// CHECK:         %[[R:.*]]:2 = tile.recurrence {{.*}} reverse{{.*}}<kind = following, index = 1, offset = 8
// CHECK:         graph.MatMul {{.*}} (tensor<7x30xf32>, tensor<30x8xf32>) -> tensor<7x8xf32>
// CHECK:         graph.MatMul {{.*}} (tensor<8x30xf32>, tensor<30x8xf32>) -> tensor<8x8xf32>
func.func @gradient(%x: tensor<5x6x7xf32>, %w: tensor<1x1x7x1x8xf32>, %u: tensor<1x1x8x1x8xf32>, %s: tensor<1x1x5x6x16xf32>, %d: tensor<5x6x8xf32>) -> (tensor<1x1x7x1x8xf32>, tensor<1x1x8x1x8xf32>) {
  %0:2 = graph.RNNBackward %x, %w, %u, %s, %d : (tensor<5x6x7xf32>, tensor<1x1x7x1x8xf32>, tensor<1x1x8x1x8xf32>, tensor<1x1x5x6x16xf32>, tensor<5x6x8xf32>) -> (none, tensor<1x1x7x1x8xf32>, tensor<1x1x8x1x8xf32>)
  return %0#0, %0#1 : tensor<1x1x7x1x8xf32>, tensor<1x1x8x1x8xf32>
}

// -----

// Declines: nothing recurrent.
// CHECK-LABEL: func @other
// CHECK-NEXT:    graph.Tanh
// CHECK-NEXT:    return
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
