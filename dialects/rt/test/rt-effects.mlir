// RUN: tenon-opt %s --canonicalize | FileCheck %s

// A section has the effects of its body: without any it is dead, with a store
// it stays. What an outlined section does is not known: it stays.
// CHECK-LABEL: func.func @effects
// CHECK-NOT:     rt.parallel "idle"
// CHECK:         rt.parallel "store"
// CHECK:         rt.section @work
func.func @effects(%n: index, %x: memref<4xf32>, %f: f32) {
  rt.parallel "idle" items(%n) scratch(%n) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    %0 = arith.addf %f, %f : f32
  }
  rt.parallel "store" items(%n) scratch(%n) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    memref.store %f, %x[%begin] : memref<4xf32>
  }
  rt.section @work "w" items(%n) scratch(%n) args()
  return
}
func.func private @work(index, index, memref<?xi8>)
