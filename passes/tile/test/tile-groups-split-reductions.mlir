// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s --check-prefix=EXP

// One row of 2^20: sums of 32 pieces, their sum, and then the quotients, again
// in pieces. The entry provides the memory between.
// CHECK-LABEL: func.func @main(
// CHECK:         memref.alloc() : memref<1xf32>
// CHECK:         memref.alloc() : memref<32xf32>
// CHECK:         call @g.l(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    memref<1xf32>, %[[PARTS:[a-z0-9]+]]: memref<32xf32>)
// CHECK:         rt.parallel "g.l" items(%c32{{.*}})
// CHECK:           memref.reinterpret_cast %[[PARTS]]
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK:         rt.parallel "g.l" items(%c1{{.*}})
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK:         rt.parallel "g.l" items(%c32{{.*}})
// CHECK:           arith.divf
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = call @g(%x) {tile.label = "sum"} : (tensor<1048576xf32>) -> tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
func.func private @g(%x: tensor<1048576xf32>) -> tensor<1048576xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0], keep_dims = true} : (tensor<1048576xf32>) -> tensor<1xf32>
  %1 = graph.Divide %x, %0 : (tensor<1048576xf32>, tensor<1xf32>) -> tensor<1048576xf32>
  return %1 : tensor<1048576xf32>
}

// -----

// A prime number of elements: the last piece is shorter, in sections of its
// own.
// CHECK-LABEL: func.func private @g.l(
// CHECK-COUNT-3: rt.parallel
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<1000003xf32>) -> tensor<f32> {
  %0 = call @g(%x) {tile.label = "sum"} : (tensor<1000003xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g(%x: tensor<1000003xf32>) -> tensor<f32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0]} : (tensor<1000003xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Declines: 64 rows are enough work items, and a dynamic size may be small.
// CHECK-LABEL: func.func private @g.l(
// CHECK-COUNT-1: rt.parallel
// CHECK-NOT:     rt.parallel
// CHECK-LABEL: func.func private @h.l(
// CHECK-COUNT-1: rt.parallel
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<64x16384xf32>, %y: tensor<?xf32>) -> (tensor<64xf32>, tensor<f32>) {
  %0 = call @g(%x) {tile.label = "reduction"} : (tensor<64x16384xf32>) -> tensor<64xf32>
  %1 = call @h(%y) {tile.label = "sum"} : (tensor<?xf32>) -> tensor<f32>
  return %0, %1 : tensor<64xf32>, tensor<f32>
}
func.func private @g(%x: tensor<64x16384xf32>) -> tensor<64xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [1]} : (tensor<64x16384xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @h(%x: tensor<?xf32>) -> tensor<f32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0]} : (tensor<?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Sums per channel, channels first: pieces are images, not parts of each image.
// CHECK-LABEL: func.func private @channels.l(
// CHECK:         rt.parallel "channels.l" items(%c512{{.*}})
// CHECK:           sizes: [2, 12544], strides: [802816, 1]
func.func @main(%x: tensor<16x64x12544xf32>) -> tensor<1x64x1xf32> {
  %0 = call @channels(%x) {tile.label = "channels"} : (tensor<16x64x12544xf32>) -> tensor<1x64x1xf32>
  return %0 : tensor<1x64x1xf32>
}
func.func private @channels(%x: tensor<16x64x12544xf32>) -> tensor<1x64x1xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0, 2], keep_dims = true} : (tensor<16x64x12544xf32>) -> tensor<1x64x1xf32>
  return %0 : tensor<1x64x1xf32>
}

// -----

// What one cache holds is cut into columns: one section. More is cut into rows,
// and their sums are summed.
// CHECK-LABEL: func.func private @held.l(
// CHECK:         rt.parallel "held.l" items(%c12{{.*}})
// CHECK-NOT:     rt.parallel
// CHECK-LABEL: func.func private @far.l(
// CHECK-COUNT-2: rt.parallel
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<768x768xsi8>, %y: tensor<768x768xf32>) -> (tensor<1x768xf32>, tensor<1x768xf32>) {
  %0 = call @held(%x) {tile.label = "held"} : (tensor<768x768xsi8>) -> tensor<1x768xf32>
  %1 = call @far(%y) {tile.label = "far"} : (tensor<768x768xf32>) -> tensor<1x768xf32>
  return %0, %1 : tensor<1x768xf32>, tensor<1x768xf32>
}
func.func private @held(%x: tensor<768x768xsi8>) -> tensor<1x768xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.TypeCast %x : (tensor<768x768xsi8>) -> tensor<768x768xf32>
  %1 = graph.ReduceSum %0 {axes = [0], keep_dims = true} : (tensor<768x768xf32>) -> tensor<1x768xf32>
  return %1 : tensor<1x768xf32>
}
func.func private @far(%x: tensor<768x768xf32>) -> tensor<1x768xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0], keep_dims = true} : (tensor<768x768xf32>) -> tensor<1x768xf32>
  return %0 : tensor<1x768xf32>
}

// -----

// A softmax of 16 rows, more than the cache holds between its sections: an item
// is a row. Of 4 rows, and of what the cache holds, pieces of rows.
// CHECK-LABEL: func.func private @few.l(
// CHECK-COUNT-3: rt.parallel
// CHECK-LABEL: func.func private @small.l(
// CHECK-COUNT-3: rt.parallel
// CHECK-LABEL: func.func private @rows.l(
// CHECK:         rt.parallel "rows.l" items(%c16{{.*}})
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<4x131072xf32>, %y: tensor<16x16384xf32>, %z: tensor<16x32768xf32>) -> (tensor<4x131072xf32>, tensor<16x16384xf32>, tensor<16x32768xf32>) {
  %0 = call @few(%x) {tile.label = "few"} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  %1 = call @small(%y) {tile.label = "small"} : (tensor<16x16384xf32>) -> tensor<16x16384xf32>
  %2 = call @rows(%z) {tile.label = "reduction"} : (tensor<16x32768xf32>) -> tensor<16x32768xf32>
  return %0, %1, %2 : tensor<4x131072xf32>, tensor<16x16384xf32>, tensor<16x32768xf32>
}
func.func private @few(%x: tensor<4x131072xf32>) -> tensor<4x131072xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  return %0 : tensor<4x131072xf32>
}
func.func private @small(%x: tensor<16x16384xf32>) -> tensor<16x16384xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<16x16384xf32>) -> tensor<16x16384xf32>
  return %0 : tensor<16x16384xf32>
}
func.func private @rows(%x: tensor<16x32768xf32>) -> tensor<16x32768xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<16x32768xf32>) -> tensor<16x32768xf32>
  return %0 : tensor<16x32768xf32>
}

// -----

// What is summed stays where the result will be: exponentials are computed once.
// Not where rows are read again, in whose memory the result may lie.
// CHECK-LABEL: func.func private @kept.l(
// CHECK-COUNT-5: rt.parallel
// CHECK-LABEL: func.func private @reread.l(
// CHECK-COUNT-2: math.exp
// EXP-LABEL: func.func private @kept.l(
// EXP-COUNT-1: math.exp
// EXP-NOT:     math.exp
// EXP-LABEL: func.func private @reread.l(
func.func @main(%x: tensor<4x131072xf32>) -> (tensor<4x131072xf32>, tensor<4x131072xf32>) {
  %0 = call @kept(%x) {tile.label = "softmax"} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  %1 = call @reread(%x) {tile.label = "added"} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  return %0, %1 : tensor<4x131072xf32>, tensor<4x131072xf32>
}
func.func private @kept(%x: tensor<4x131072xf32>) -> tensor<4x131072xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  return %0 : tensor<4x131072xf32>
}
func.func private @reread(%x: tensor<4x131072xf32>) -> tensor<4x131072xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<4x131072xf32>) -> tensor<4x131072xf32>
  %1 = graph.Add %0, %x : (tensor<4x131072xf32>, tensor<4x131072xf32>) -> tensor<4x131072xf32>
  return %1 : tensor<4x131072xf32>
}

// -----

// In one section, too, where rows are so long that a copy of one would not stay
// in L1.
// CHECK-LABEL: func.func private @long.l(
// CHECK:         rt.parallel "long.l" items(%c{{.*}}) scratch(%[[FEW:.*]])
// CHECK:           memref.view
// CHECK-NOT:       memref<2048xf32>
// CHECK:           linalg.generic
// CHECK-LABEL: func.func private @short.l(
// CHECK:           memref.view {{.*}} to memref<1024xf32>
func.func @main(%x: tensor<64x2048xf32>, %y: tensor<64x1024xf32>) -> (tensor<64x2048xf32>, tensor<64x1024xf32>) {
  %0 = call @long(%x) {tile.label = "long"} : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %1 = call @short(%y) {tile.label = "short"} : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  return %0, %1 : tensor<64x2048xf32>, tensor<64x1024xf32>
}
func.func private @long(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  return %0 : tensor<64x2048xf32>
}
func.func private @short(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}

// -----

// Squares of squares of a sum: what reads rows is found in one pass over the nodes.
// CHECK-LABEL: func.func private @squares.l(
// CHECK:         rt.parallel
func.func @main(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> {
  %0 = call @squares(%x) {tile.label = "squares"} : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  return %0 : tensor<64x2048xf32>
}
func.func private @squares(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {tile.group = #tile.group<reduction>} {
  %e = graph.Exp %x : (tensor<64x2048xf32>) -> tensor<64x2048xf32>
  %s0 = graph.ReduceSum %e {axes = [1], keep_dims = true} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %s1 = graph.Multiply %s0, %s0 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s2 = graph.Multiply %s1, %s1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s3 = graph.Multiply %s2, %s2 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s4 = graph.Multiply %s3, %s3 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s5 = graph.Multiply %s4, %s4 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s6 = graph.Multiply %s5, %s5 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s7 = graph.Multiply %s6, %s6 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s8 = graph.Multiply %s7, %s7 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s9 = graph.Multiply %s8, %s8 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s10 = graph.Multiply %s9, %s9 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s11 = graph.Multiply %s10, %s10 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s12 = graph.Multiply %s11, %s11 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s13 = graph.Multiply %s12, %s12 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s14 = graph.Multiply %s13, %s13 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s15 = graph.Multiply %s14, %s14 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s16 = graph.Multiply %s15, %s15 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s17 = graph.Multiply %s16, %s16 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s18 = graph.Multiply %s17, %s17 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s19 = graph.Multiply %s18, %s18 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s20 = graph.Multiply %s19, %s19 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s21 = graph.Multiply %s20, %s20 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s22 = graph.Multiply %s21, %s21 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s23 = graph.Multiply %s22, %s22 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s24 = graph.Multiply %s23, %s23 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s25 = graph.Multiply %s24, %s24 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s26 = graph.Multiply %s25, %s25 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s27 = graph.Multiply %s26, %s26 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s28 = graph.Multiply %s27, %s27 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s29 = graph.Multiply %s28, %s28 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s30 = graph.Multiply %s29, %s29 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s31 = graph.Multiply %s30, %s30 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s32 = graph.Multiply %s31, %s31 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s33 = graph.Multiply %s32, %s32 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s34 = graph.Multiply %s33, %s33 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s35 = graph.Multiply %s34, %s34 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s36 = graph.Multiply %s35, %s35 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s37 = graph.Multiply %s36, %s36 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s38 = graph.Multiply %s37, %s37 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s39 = graph.Multiply %s38, %s38 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %s40 = graph.Multiply %s39, %s39 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %y = graph.Divide %e, %s40 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  return %y : tensor<64x2048xf32>
}
