// RUN: tenon-opt %s --split-input-file --tenon-outline-sections | FileCheck %s

// What the section reads becomes arguments, constants are repeated inside, and
// the group, which only starts sections, is gone. The label is the call's.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>)
// CHECK-DAG:     %[[N:.*]] = memref.dim %[[X]]
// CHECK-DAG:     %[[BYTES:.*]] = arith.constant 64 : index
// CHECK:         rt.section @g.s0 "exp" items(%[[N]]) scratch(%[[BYTES]]) args(%[[X]], %[[Y]] : memref<?xf32>, memref<?xf32>)
// CHECK-NEXT:    return
// CHECK-NOT:   @g.l
// CHECK-LABEL: func.func private @g.s0(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<?xf32>, %[[B:[a-z0-9]+]]: memref<?xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index, %[[MEM:[a-z0-9]+]]: memref<?xi8>)
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]] step %[[ONE]]
// CHECK-NEXT:      %[[V:.*]] = memref.load %[[A]][%[[I]]]
// CHECK-NEXT:      memref.store %[[V]], %[[B]][%[[I]]]
// CHECK:         return
func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) {
  call @g.l(%x, %y) {tile.label = "exp"} : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
func.func private @g.l(%x: memref<?xf32>, %y: memref<?xf32>) attributes {tile.group = #tile.group<elementwise>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %bytes = arith.constant 64 : index
  rt.parallel "g.l" items(%n) scratch(%bytes) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    scf.for %i = %begin to %end step %c1 {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %y[%i] : memref<?xf32>
    }
  }
  return
}

// -----

// A group called twice is outlined once; each call keeps its label. Its two
// sections stay in order.
// CHECK-LABEL: func.func @main(
// CHECK:         rt.section @g.s0 "a"
// CHECK:         rt.section @g.s1 "a"
// CHECK:         rt.section @g.s0 "b"
// CHECK:         rt.section @g.s1 "b"
// CHECK:         return
// CHECK:       func.func private @g.s0(%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<?xi8>)
// CHECK:       func.func private @g.s1(%{{[a-z0-9]+}}: memref<4xf32>,
// CHECK-NOT:   func.func
func.func @main(%x: memref<4xf32>) {
  call @g.l(%x) {tile.label = "a"} : (memref<4xf32>) -> ()
  call @g.l(%x) {tile.label = "b"} : (memref<4xf32>) -> ()
  return
}
func.func private @g.l(%x: memref<4xf32>) attributes {tile.group = #tile.group<elementwise>} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %f = arith.constant 1.0 : f32
  rt.parallel "g.l" items(%c1) scratch(%c0) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
  }
  rt.parallel "g.l" items(%c1) scratch(%c0) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    memref.store %f, %x[%begin] : memref<4xf32>
  }
  return
}

// -----

// Specialisations of one group have names of their own; a value computed
// before the section is an argument too.
// CHECK-LABEL: func.func @fold(
// CHECK:         %[[N:.*]] = arith.muli
// CHECK:         rt.section @g.l1.s0 "a" {{.*}} args(%[[N]], %{{.*}} : index, memref<8xf32>)
func.func @fold(%x: memref<8xf32>, %k: index) {
  call @g.l1(%x, %k) {tile.label = "a"} : (memref<8xf32>, index) -> ()
  return
}
func.func private @g.l1(%x: memref<8xf32>, %k: index) attributes {tile.group = #tile.group<elementwise>} {
  %c0 = arith.constant 0 : index
  %n = arith.muli %k, %k : index
  rt.parallel "g.l1" items(%k) scratch(%c0) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    %i = arith.addi %begin, %n : index
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %x[%begin] : memref<8xf32>
  }
  return
}

// -----

// Declines: functions that are no groups stay, and so do calls of them.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    call @helper()
// CHECK:       func.func private @helper
// CHECK:         rt.parallel "h"
func.func @main() {
  call @helper() : () -> ()
  return
}
func.func private @helper() {
  %c0 = arith.constant 0 : index
  rt.parallel "h" items(%c0) scratch(%c0) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
  }
  return
}

// -----

// A section in a loop over time steps: the step is an argument, the loop moves
// to the entry, and so does its label.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<8xf32>)
// CHECK:         scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      rt.section @g.s0 "lstm" {{.*}} args(%[[T]], %[[X]] : index, memref<8xf32>)
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @main(%x: memref<8xf32>) {
  call @g.l(%x) {tile.label = "lstm"} : (memref<8xf32>) -> ()
  return
}
func.func private @g.l(%x: memref<8xf32>) attributes {tile.group = #tile.group<recurrence>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %t = %c1 to %c8 step %c1 {
    rt.parallel "g.l" items(%c1) scratch(%c0) {
    ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
      %before = arith.subi %t, %c1 : index
      %v = memref.load %x[%before] : memref<8xf32>
      memref.store %v, %x[%t] : memref<8xf32>
    }
  }
  return
}
