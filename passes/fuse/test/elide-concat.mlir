// RUN: tenon-opt %s --split-input-file --tenon-elide-concat=remarks=1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: tenon-opt %s --split-input-file --tenon-elide-concat | FileCheck %s

// What groups compute is in place, what the caller gives is copied.
// WHY: remark: 2 of 3 operands are computed in place; operand 2 is copied: it is an input or a constant, which no group writes
// CHECK-LABEL: func.func @main(
// CHECK:         call @cat(%{{.*}}) {tile.in_place = array<i64: 0, 1>}
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x96xf32> {
  %a = call @relu(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = call @relu(%a) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %j = call @cat(%a, %b, %x) : (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x96xf32>
  return %j : tensor<4x96xf32>
}
func.func private @relu(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
func.func private @cat(%x: tensor<4x32xf32>, %y: tensor<4x32xf32>, %z: tensor<4x32xf32>) -> tensor<4x96xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y, %z {axis = -1} : (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x96xf32>
  return %0 : tensor<4x96xf32>
}

// -----

// A Concat of a Concat: all of it is where the last one has it. A result of the
// entry stays with the caller.
// WHY: remark: 1 of 2 operands are computed in place; operand 1 is copied: its group writes it to another result already
// WHY: remark: 2 of 2 operands are computed in place
// CHECK-LABEL: func.func @main(
// CHECK:         call @two(%{{.*}}) {tile.in_place = array<i64: 0, 1>}
// CHECK:         call @cat(%{{.*}}) {tile.in_place = array<i64: 0>}
func.func @main(%x: tensor<4x32xf32>) -> (tensor<4x96xf32>, tensor<4x32xf32>) {
  %a = call @relu(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = call @relu(%a) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %i = call @two(%a, %b) : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  %c = call @relu(%b) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %j = call @cat(%i, %c) : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x96xf32>
  return %j, %c : tensor<4x96xf32>, tensor<4x32xf32>
}
func.func private @relu(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
func.func private @two(%x: tensor<4x32xf32>, %y: tensor<4x32xf32>) -> tensor<4x64xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 1} : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
func.func private @cat(%x: tensor<4x64xf32>, %y: tensor<4x32xf32>) -> tensor<4x96xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 1} : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x96xf32>
  return %0 : tensor<4x96xf32>
}

// -----

// Through views: %a as two images of two rows each, which the Concat joins, and
// with all rows in one, as strides cannot show it beside %x.
// WHY: remark: 1 of 2 operands are computed in place
// WHY: remark: 0 of 2 operands are computed in place; operand 0 is copied: others read it through a reshape
// CHECK-LABEL: func.func @main(
// CHECK:         call @cat(
// CHECK-NOT:     tile.in_place
// CHECK:         call @cat(%{{.*}}) {tile.in_place = array<i64: 0>}
func.func @main(%x: tensor<2x2x32xf32>, %y: tensor<4x32xf32>) -> (tensor<2x2x64xf32>, tensor<2x2x64xf32>, tensor<128xf32>) {
  %a = call @relu(%y) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %v = graph.StaticReshape %a {shape = [2, 2, 32], special_zero = false} : (tensor<4x32xf32>) -> tensor<2x2x32xf32>
  %r = graph.StaticReshape %a {shape = [128], special_zero = false} : (tensor<4x32xf32>) -> tensor<128xf32>
  %j = call @cat(%v, %x) : (tensor<2x2x32xf32>, tensor<2x2x32xf32>) -> tensor<2x2x64xf32>
  %b = call @relu(%y) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %w = graph.StaticReshape %b {shape = [2, 2, 32], special_zero = false} : (tensor<4x32xf32>) -> tensor<2x2x32xf32>
  %k = call @cat(%w, %x) : (tensor<2x2x32xf32>, tensor<2x2x32xf32>) -> tensor<2x2x64xf32>
  %s = call @neg(%r) : (tensor<128xf32>) -> tensor<128xf32>
  return %j, %k, %s : tensor<2x2x64xf32>, tensor<2x2x64xf32>, tensor<128xf32>
}
func.func private @relu(%x: tensor<4x32xf32>) -> tensor<4x32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}
func.func private @neg(%x: tensor<128xf32>) -> tensor<128xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Abs %x : (tensor<128xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}
func.func private @cat(%x: tensor<2x2x32xf32>, %y: tensor<2x2x32xf32>) -> tensor<2x2x64xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 2} : (tensor<2x2x32xf32>, tensor<2x2x32xf32>) -> tensor<2x2x64xf32>
  return %0 : tensor<2x2x64xf32>
}

// -----

// Rows of 2 elements are stored faster together; a tensor twice has two places;
// the caller's buffer has elements of a row apart; sizes are not known.
// WHY: operand 0 is copied: sizes or strides are not known
// WHY: operand 0 is copied: its group computes its dimensions in another order
// WHY: operand 0 is copied: it is joined twice; operand 1 is copied: it is joined twice
// WHY: operand 0 is copied: it is contiguous in dst for only 8 bytes, of the
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     tile.in_place
func.func @main(%x: tensor<4x8xf32>, %u: tensor<?x8xf32>, %n: tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<8x8xf32>, tensor<8x8xf32> {tile.strides = array<i64: 1, 8>}, tensor<?x8xf32>) {
  %a = call @short(%n) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %j = call @cat(%a, %n) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %b = call @relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %k = call @twice(%b) : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %c = call @relu(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = call @rows(%c, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %m = call @unknown(%x, %u) : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %j, %k, %l, %m : tensor<4x4xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<?x8xf32>
}
func.func private @relu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @short(%x: tensor<4x2xf32>) -> tensor<4x2xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
func.func private @cat(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>) -> tensor<4x4xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 1} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @rows(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @twice(%x: tensor<4x8xf32>) -> tensor<8x8xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %x {axis = 0} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @unknown(%x: tensor<4x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 0} : (tensor<4x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
