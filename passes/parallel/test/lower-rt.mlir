// RUN: tenon-opt %s --split-input-file --tenon-lower-rt | FileCheck %s

// The runtime takes the execution, the section, its slots, the number of
// items, the bytes of scratch and a name for profiles.
// CHECK-DAG:   llvm.mlir.global internal constant @[[LABEL:.*]]("exp\00")
// CHECK-DAG:   func.func private @tenon_rt_run_named_section(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr)

// buffers[0] and [1] are x and y, dims holds 2 + 1 sizes: those of x first.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[EXEC:[a-z0-9]+]]: !llvm.ptr, %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr, %[[DIMS:[a-z0-9]+]]: !llvm.ptr, %[[ARENA:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK:         %[[SLOTS:.*]] = llvm.alloca
// CHECK:         %[[P0:.*]] = llvm.getelementptr %[[BUFFERS]][0]
// CHECK-NEXT:    %[[XP:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[D0:.*]] = llvm.getelementptr %[[DIMS]][0]
// CHECK-NEXT:    llvm.load %[[D0]] : !llvm.ptr -> i64
// CHECK:         %[[P1:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK:         %[[D2:.*]] = llvm.getelementptr %[[DIMS]][2]
// CHECK-NEXT:    llvm.load %[[D2]] : !llvm.ptr -> i64
// Slots: pointer and size of x, pointer and size of y.
// CHECK:         llvm.getelementptr %[[SLOTS]][0]
// CHECK:         llvm.getelementptr %[[SLOTS]][1]
// CHECK:         llvm.getelementptr %[[SLOTS]][2]
// CHECK:         llvm.getelementptr %[[SLOTS]][3]
// CHECK-NOT:     llvm.getelementptr %[[SLOTS]][4]
// CHECK:         %[[F:.*]] = constant @g.s0
// CHECK:         %[[FN:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK:         %[[NAME:.*]] = llvm.mlir.addressof @[[LABEL]]
// CHECK:         call @tenon_rt_run_named_section(%[[EXEC]], %[[FN]], %[[SLOTS]], %{{.*}}, %{{.*}}, %[[NAME]])
// CHECK-NOT:     rt.section
// CHECK:         %[[OK:.*]] = arith.constant 0 : i32
// CHECK:         return %[[OK]] : i32

// The size of the arena needs the sizes only.
// CHECK-LABEL: func.func @main_arena(
// CHECK-SAME:    %[[DIMS:[a-z0-9]+]]: !llvm.ptr) -> i64
// CHECK:         llvm.getelementptr %[[DIMS]][0]
// CHECK:         %[[SIZE:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK:         return %[[SIZE]]

// Sections are public: profilers and debuggers show their names.
// CHECK-LABEL: func.func @g.s0(
// CHECK-SAME:    %[[SLOTS:[a-z0-9]+]]: !llvm.ptr, %[[BEGIN:[a-z0-9]+]]: i64, %[[END:[a-z0-9]+]]: i64, %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr)
// CHECK-SAME:    rt.lowered
// CHECK:         %[[S0:.*]] = llvm.getelementptr %[[SLOTS]][0]
// CHECK-NEXT:    llvm.load %[[S0]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[S1:.*]] = llvm.getelementptr %[[SLOTS]][1]
// CHECK-NEXT:    llvm.load %[[S1]] : !llvm.ptr -> i64
// CHECK:         %[[S2:.*]] = llvm.getelementptr %[[SLOTS]][2]
// CHECK-NEXT:    llvm.load %[[S2]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[B:.*]] = arith.index_cast %[[BEGIN]]
// CHECK:         %[[E:.*]] = arith.index_cast %[[END]]
// CHECK:         scf.for %{{.*}} = %[[B]] to %[[E]]
func.func @main(%x: memref<?x4xf32> {tile.role = #tile.role<input>}, %y: memref<?xf32> {tile.role = #tile.role<output>}, %arena: memref<?xi8> {tile.role = #tile.role<arena>}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  rt.section @g.s0 "exp" items(%n) scratch(%c0) args(%x, %y : memref<?x4xf32>, memref<?xf32>)
  return
}
func.func @main_arena(%x: memref<?x4xf32>, %y: memref<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  return %n : index
}
func.func private @g.s0(%x: memref<?x4xf32>, %y: memref<?xf32>, %begin: index, %end: index, %mem: memref<?xi8>) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %v = memref.load %x[%i, %c1] : memref<?x4xf32>
    memref.store %v, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// Scalars take a slot each. Dynamic strides follow the sizes of their buffer;
// static ones stand in the code. Equal labels are one constant. Sizes and
// strides are those that views are made with, not read from descriptors.
// CHECK:         llvm.mlir.global internal constant @{{.*}}("a\00")
// CHECK-NOT:     llvm.mlir.global
// CHECK-LABEL: func.func @fold(
// CHECK-NOT:     memref.dim
// CHECK-NOT:     memref.extract_strided_metadata
// CHECK:         call @tenon_rt_run_named_section
// CHECK:         call @tenon_rt_run_named_section
// CHECK-LABEL: func.func @g.s0(
// CHECK-SAME:    %[[SLOTS:[a-z0-9]+]]: !llvm.ptr
// CHECK:         llvm.getelementptr %[[SLOTS]][0]
// CHECK-NEXT:    llvm.load %{{.*}} -> !llvm.ptr
// CHECK:         llvm.getelementptr %[[SLOTS]][1]
// CHECK-NEXT:    llvm.load %{{.*}} -> i64
// CHECK:         llvm.getelementptr %[[SLOTS]][2]
// CHECK-NEXT:    llvm.load %{{.*}} -> i64
// CHECK:         llvm.getelementptr %[[SLOTS]][3]
// CHECK-NEXT:    llvm.load %{{.*}} -> f32
// CHECK:         llvm.getelementptr %[[SLOTS]][4]
// CHECK-NEXT:    %[[K:.*]] = llvm.load %{{.*}} -> i64
// CHECK-NEXT:    arith.index_cast %[[K]] : i64 to index
// CHECK-NOT:     llvm.getelementptr
func.func @fold(%x: memref<?x4xf32>, %arena: memref<?xi8> {tile.role = #tile.role<arena>}) {
  %c0 = arith.constant 0 : index
  %f = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [4, %n], strides: [1, %n] : memref<?x4xf32> to memref<4x?xf32, strided<[1, ?]>>
  rt.section @g.s0 "a" items(%n) scratch(%c0) args(%v, %f, %n : memref<4x?xf32, strided<[1, ?]>>, f32, index)
  rt.section @g.s0 "a" items(%n) scratch(%c0) args(%v, %f, %n : memref<4x?xf32, strided<[1, ?]>>, f32, index)
  return
}
func.func private @g.s0(%x: memref<4x?xf32, strided<[1, ?]>>, %f: f32, %k: index, %begin: index, %end: index, %mem: memref<?xi8>) {
  memref.store %f, %x[%begin, %k] : memref<4x?xf32, strided<[1, ?]>>
  return
}

// -----

// Temporaries are places in the arena; a view of one with other strides starts
// at the same byte. No descriptor is needed to pass either.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[ARENA:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK-NOT:     extract_aligned_pointer
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         %[[S0:.*]] = llvm.getelementptr %{{.*}}[0]
// CHECK-NEXT:    llvm.store %[[PLACE]], %[[S0]]
// CHECK:         %[[S1:.*]] = llvm.getelementptr %{{.*}}[1]
// CHECK-NEXT:    llvm.store %[[PLACE]], %[[S1]]
// CHECK:         call @tenon_rt_run_named_section
func.func @main(%arena: memref<?xi8> {tile.role = #tile.role<arena>}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = memref.view %arena[%c64][] : memref<?xi8> to memref<4x8xf32>
  %v = memref.reinterpret_cast %t to offset: [0], sizes: [8, 4], strides: [1, 8] : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  rt.section @g.s0 "a" items(%c64) scratch(%c0) args(%t, %v : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>)
  return
}
func.func private @g.s0(%t: memref<4x8xf32>, %v: memref<8x4xf32, strided<[1, 8]>>, %begin: index, %end: index, %mem: memref<?xi8>) {
  return
}

// -----

// Declines: other functions keep their interface.
// CHECK-LABEL: func.func @helper(
// CHECK-SAME:    %{{.*}}: memref<4xf32>)
// CHECK-NEXT:    return
func.func @helper(%x: memref<4xf32>) {
  return
}

// -----

// A section in a loop: addresses are computed once before it, the slots are
// those of the entry, and what changes from step to step is stored in each.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[EXEC:[a-z0-9]+]]: !llvm.ptr, {{.*}} %[[ARENA:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK:         %[[SLOTS:.*]] = llvm.alloca
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         scf.for %[[T:.*]] =
// CHECK-NOT:       llvm.alloca
// CHECK:           %[[STEP:.*]] = arith.index_cast %[[T]] : index to i64
// CHECK:           llvm.getelementptr %[[SLOTS]][0]
// CHECK-NEXT:      llvm.store %[[STEP]]
// CHECK:           llvm.getelementptr %[[SLOTS]][1]
// CHECK-NEXT:      llvm.store %[[PLACE]]
// CHECK:           call @tenon_rt_run_named_section(%[[EXEC]], %{{.*}}, %[[SLOTS]]
// CHECK:         }
// CHECK:         llvm.store %[[PLACE]]
// CHECK:         call @tenon_rt_run_named_section
func.func @main(%arena: memref<?xi8> {tile.role = #tile.role<arena>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = memref.view %arena[%c8][] : memref<?xi8> to memref<8xf32>
  scf.for %t = %c1 to %c8 step %c1 {
    rt.section @g.s0 "lstm" items(%c1) scratch(%c0) args(%t, %x : index, memref<8xf32>)
  }
  rt.section @g.s0 "lstm" items(%c1) scratch(%c0) args(%c1, %x : index, memref<8xf32>)
  return
}
func.func private @g.s0(%t: index, %x: memref<8xf32>, %begin: index, %end: index, %mem: memref<?xi8>) {
  return
}

// -----

// The caller's tensor has two sizes, its memory here one: those of the next are
// after both.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[DIMS:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr) -> i32
// CHECK-NOT:     llvm.getelementptr %[[DIMS]][1]
// CHECK:         llvm.getelementptr %[[DIMS]][2]
func.func @main(%q: memref<6xi8> {tile.role = #tile.role<input>, tile.rank = 2 : index}, %x: memref<?xf32> {tile.role = #tile.role<input>}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  rt.section @g.s0 "exp" items(%n) scratch(%c0) args(%q, %x : memref<6xi8>, memref<?xf32>)
  return
}
func.func private @g.s0(%q: memref<6xi8>, %x: memref<?xf32>, %from: index, %to: index, %scratch: memref<?xi8>) {
  return
}

// -----

// A part of a part begins at the sum of both elements; its sizes are known.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[X:.*]] = llvm.load
// CHECK:         llvm.mlir.constant(4 : i64)
// CHECK:         %[[P:.*]] = llvm.getelementptr %[[X]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         llvm.mlir.constant(2 : i64)
// CHECK:         %[[Q:.*]] = llvm.getelementptr %[[P]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         llvm.store %[[Q]]
// CHECK-NOT:     rt.part
func.func @main(%x: memref<4x8xf32> {tile.role = #tile.role<output>}) {
  %c1 = arith.constant 1 : index
  %0 = rt.part %x[4] : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1]>>
  %1 = rt.part %0[2] : memref<4x4xf32, strided<[8, 1]>> to memref<4x2xf32, strided<[8, 1]>>
  rt.section @g.s0 "g" items(%c1) scratch(%c1) args(%1 : memref<4x2xf32, strided<[8, 1]>>)
  return
}
func.func private @g.s0(%x: memref<4x2xf32, strided<[8, 1]>>, %begin: index, %end: index, %mem: memref<?xi8>) {
  return
}
