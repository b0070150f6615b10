// RUN: tenon-opt %s --split-input-file --tenon-decompose-recurrent | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-decompose-recurrent | FileCheck %s --check-prefixes=CHECK,AVX512

// One product for all steps, then the steps. A block is one vector of units;
// 20 units are 3 blocks of 8, or 2 of 16, with 4 gates each.
// CHECK-LABEL: func @layer
// CHECK-SAME:    %[[X:.*]]: tensor<5x6x7xf32>, %[[W:.*]]: tensor<1x1x7x4x20xf32>, %[[U:.*]]: tensor<1x1x20x4x20xf32>, %[[B:.*]]: tensor<1x1x4x20xf32>
// AVX2:          %[[P:.*]] = tile.pack_gates %[[W]] layer 0 unit 8 panel 16 : tensor<1x1x7x4x20xf32> -> tensor<6x7x16xf32>
// AVX512:        %[[P:.*]] = tile.pack_gates %[[W]] layer 0 unit 16 panel 64 : tensor<1x1x7x4x20xf32> -> tensor<2x7x64xf32>
// AVX2:          %[[G:.*]] = tile.matmul %[[X]], %[[P]] : {{.*}} -> tensor<5x6x96xf32>
// AVX512:        %[[G:.*]] = tile.matmul %[[X]], %[[P]] : {{.*}} -> tensor<5x6x128xf32>
// CHECK:         %[[R:.*]] = graph.StaticReshape %[[B]] {shape = [1, 1, 1, 4, 20]
// CHECK:         %[[Q:.*]] = tile.pack_gates %[[R]]
// CHECK:         %[[V:.*]] = graph.StaticReshape %[[Q]]
// CHECK:         %[[S:.*]] = graph.Add %[[G]], %[[V]]
// CHECK:         %[[Z:.*]] = tile.pack_gates %[[U]] layer 0
// AVX2:          %[[D:.*]], %[[H:.*]], %[[C:.*]] = tile.rnn %[[S]], %[[Z]] layer 0 unit 8
// AVX512:        %[[D:.*]], %[[H:.*]], %[[C:.*]] = tile.rnn %[[S]], %[[Z]] layer 0 unit 16
// CHECK:         return %[[D]]
func.func @layer(%x: tensor<5x6x7xf32>, %w: tensor<1x1x7x4x20xf32>, %u: tensor<1x1x20x4x20xf32>, %b: tensor<1x1x4x20xf32>) -> tensor<5x6x20xf32> {
  %0 = graph.LSTM %x, %w, %u, %b : (tensor<5x6x7xf32>, tensor<1x1x7x4x20xf32>, tensor<1x1x20x4x20xf32>, tensor<1x1x4x20xf32>) -> tensor<5x6x20xf32>
  return %0 : tensor<5x6x20xf32>
}

// -----

// A layer reads the one below; its states are slices of the operands, and the
// last ones are joined. Steps and batch may be unknown.
// CHECK-LABEL: func @stack
// CHECK-SAME:    %[[HS:[a-z0-9]+]]: tensor<2x1x?x8xf32>, %[[CS:[a-z0-9]+]]: tensor<2x1x?x8xf32>)
// CHECK:         %[[D0:.*]], %[[H0:.*]], %{{.*}} = tile.rnn {{.*}} h(%[[HS]] : {{.*}}) c(%[[CS]] : {{.*}}) layer 0
// CHECK:         tile.matmul %[[D0]]
// CHECK:         %[[D1:.*]], %[[H1:.*]], %{{.*}} = tile.rnn {{.*}} h(%[[HS]] : {{.*}}) c(%[[CS]] : {{.*}}) layer 1
// CHECK:         %[[J:.*]] = graph.Concat %[[H0]], %[[H1]] {axis = 0
// CHECK-NOT:     graph.Concat
// CHECK:         return %[[D1]], %[[J]]
func.func @stack(%x: tensor<?x?x8xf32>, %w: tensor<2x1x8x4x8xf32>, %u: tensor<2x1x8x4x8xf32>, %b: tensor<2x1x4x8xf32>, %h: tensor<2x1x?x8xf32>, %c: tensor<2x1x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<2x1x?x8xf32>) {
  %0:3 = graph.LSTM %x, %w, %u, %b, %h, %c : (tensor<?x?x8xf32>, tensor<2x1x8x4x8xf32>, tensor<2x1x8x4x8xf32>, tensor<2x1x4x8xf32>, tensor<2x1x?x8xf32>, tensor<2x1x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<2x1x?x8xf32>, tensor<2x1x?x8xf32>)
  return %0#0, %0#1 : tensor<?x?x8xf32>, tensor<2x1x?x8xf32>
}

// -----

// One row of the batch: a panel of all four gates is a strip of registers.
// CHECK-LABEL: func @single
// AVX2:          tile.pack_gates %{{.*}} unit 8 panel 32
// AVX512:        tile.pack_gates %{{.*}} unit 16 panel 64
func.func @single(%x: tensor<5x1x7xf32>, %w: tensor<1x1x7x4x20xf32>, %u: tensor<1x1x20x4x20xf32>, %b: tensor<1x1x4x20xf32>) -> tensor<5x1x20xf32> {
  %0 = graph.LSTM %x, %w, %u, %b : (tensor<5x1x7xf32>, tensor<1x1x7x4x20xf32>, tensor<1x1x20x4x20xf32>, tensor<1x1x4x20xf32>) -> tensor<5x1x20xf32>
  return %0 : tensor<5x1x20xf32>
}

// -----

// Declines: no recurrent cell.
// CHECK-LABEL: func @other
// CHECK-NEXT:    graph.Tanh
// CHECK-NEXT:    return
func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.Tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
