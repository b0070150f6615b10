// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @parallel
// CHECK-SAME:    %[[N:.*]]: index, %[[BYTES:.*]]: index
// CHECK-NEXT:    rt.parallel "fc1" items(%[[N]]) scratch(%[[BYTES]]) {
// CHECK-NEXT:    ^bb0(%[[BEGIN:.*]]: index, %{{.*}}: index, %[[MEM:.*]]: memref<?xi8>):
// CHECK-NEXT:      memref.load %[[MEM]][%[[BEGIN]]]
// CHECK-NEXT:    }
// CHECK-NOT:     rt.yield
func.func @parallel(%n: index, %bytes: index) {
  rt.parallel "fc1" items(%n) scratch(%bytes) {
  ^bb0(%begin: index, %end: index, %mem: memref<?xi8>):
    %0 = memref.load %mem[%begin] : memref<?xi8>
    rt.yield
  }
  return
}

// CHECK-LABEL: func.func @section
// CHECK-SAME:    %[[N:.*]]: index, %[[X:.*]]: memref<4xf32>, %[[F:.*]]: f32
// CHECK-NEXT:    rt.section @work "fc1" items(%[[N]]) scratch(%[[N]]) args(%[[X]], %[[F]] : memref<4xf32>, f32)
// CHECK-NEXT:    rt.section @nothing "idle" items(%[[N]]) scratch(%[[N]]) args()
func.func @section(%n: index, %x: memref<4xf32>, %f: f32) {
  rt.section @work "fc1" items(%n) scratch(%n) args(%x, %f : memref<4xf32>, f32)
  rt.section @nothing "idle" items(%n) scratch(%n) args()
  return
}
func.func private @work(memref<4xf32>, f32, index, index, memref<?xi8>)
func.func private @nothing(index, index, memref<?xi8>)

// A section lowered already takes what the runtime passes.
// CHECK-LABEL: func.func @lowered
// CHECK:         rt.section @low
func.func @lowered(%n: index, %x: memref<4xf32>) {
  rt.section @low "fc1" items(%n) scratch(%n) args(%x : memref<4xf32>)
  return
}
func.func private @low(!llvm.ptr, i64, i64, !llvm.ptr) attributes {rt.lowered}

// CHECK-LABEL: func.func @part
// CHECK:         rt.part %{{.*}}[64] : memref<4x192xf32> to memref<4x64xf32, strided<[192, 1]>>
func.func @part(%x: memref<4x192xf32>) -> memref<4x64xf32, strided<[192, 1]>> {
  %0 = rt.part %x[64] : memref<4x192xf32> to memref<4x64xf32, strided<[192, 1]>>
  return %0 : memref<4x64xf32, strided<[192, 1]>>
}
