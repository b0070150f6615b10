// RUN: tenon-opt %s --pass-pipeline="builtin.module(tenon-move-as-integers)" | FileCheck %s

// Vectors of 16-bit floats are loaded, shuffled and stored as integers; the
// arithmetic between them keeps its type.
// CHECK-LABEL: llvm.func @moves
// CHECK:         %[[L:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<8xi16>
// CHECK-NEXT:    %[[F:.*]] = llvm.bitcast %[[L]] : vector<8xi16> to vector<8xbf16>
// CHECK-NEXT:    %[[S:.*]] = llvm.fadd %[[F]], %[[F]] : vector<8xbf16>
// CHECK-NEXT:    %[[A:.*]] = llvm.bitcast %[[S]] : vector<8xbf16> to vector<8xi16>
// CHECK-NEXT:    %[[B:.*]] = llvm.bitcast %[[F]] : vector<8xbf16> to vector<8xi16>
// CHECK-NEXT:    %[[H:.*]] = llvm.shufflevector %[[A]], %[[B]] [0, 8, 1, 9] : vector<8xi16>
// CHECK-NEXT:    %[[G:.*]] = llvm.bitcast %[[H]] : vector<4xi16> to vector<4xbf16>
// CHECK-NEXT:    %[[O:.*]] = llvm.bitcast %[[G]] : vector<4xbf16> to vector<4xi16>
// CHECK-NEXT:    llvm.store %[[O]], %{{.*}} : vector<4xi16>, !llvm.ptr
llvm.func @moves(%x: !llvm.ptr, %y: !llvm.ptr) {
  %0 = llvm.load %x : !llvm.ptr -> vector<8xbf16>
  %1 = llvm.fadd %0, %0 : vector<8xbf16>
  %2 = llvm.shufflevector %1, %0 [0, 8, 1, 9] : vector<8xbf16>
  llvm.store %2, %y : vector<4xbf16>, !llvm.ptr
  llvm.return
}

// Declines: other types, and operations that look at the elements.
// CHECK-LABEL: llvm.func @stays
// CHECK-NOT:     llvm.bitcast
llvm.func @stays(%x: !llvm.ptr, %v: vector<4xf16>) -> vector<4xf16> {
  %0 = llvm.load %x : !llvm.ptr -> vector<4xf32>
  llvm.store %0, %x : vector<4xf32>, !llvm.ptr
  %1 = llvm.fmul %v, %v : vector<4xf16>
  llvm.return %1 : vector<4xf16>
}
