// RUN: tenon-opt %s --split-input-file --tenon-split-entries=max-ops=8 | FileCheck %s

// Each piece gets what the entry has and the frame. Addresses and sizes of
// arguments are computed where they are read; the sum is neither, and goes
// through the frame. The memory of the entry stays there.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[EXEC:[a-z0-9]+]]: !llvm.ptr, %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr, %[[DIMS:[a-z0-9]+]]: !llvm.ptr, %[[ARENA:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK:         %[[WORDS:.*]] = llvm.mlir.constant(2 : i64)
// CHECK:         %[[FRAME:.*]] = llvm.alloca %[[WORDS]] x i64
// CHECK:         %[[SLOTS:.*]] = llvm.alloca
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[FRAME]][[[SLOT:[01]]]]
// CHECK:         llvm.store %[[SLOTS]], %[[AT]]
// CHECK-NOT:     call @run
// CHECK:         call @main.p0(%[[EXEC]], %[[BUFFERS]], %[[DIMS]], %[[ARENA]], %[[FRAME]])
// CHECK:         call @main.p1(%[[EXEC]], %[[BUFFERS]], %[[DIMS]], %[[ARENA]], %[[FRAME]])
// CHECK:         return %{{.*}} : i32

// CHECK-LABEL: func.func private @main.p0(
// CHECK-SAME:    %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr, %[[DIMS:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %[[FRAME:[a-z0-9]+]]: !llvm.ptr)
// CHECK-SAME:    passthrough = ["noinline", "optnone"]
// CHECK:         llvm.getelementptr %[[DIMS]][0]
// CHECK-COUNT-3: arith.addi
// CHECK:         %[[SUM:.*]] = arith.addi
// CHECK-NEXT:    %[[AT:.*]] = llvm.getelementptr %[[FRAME]]
// CHECK-NEXT:    llvm.store %[[SUM]], %[[AT]]
// CHECK-NEXT:    return

// CHECK-LABEL: func.func private @main.p1(
// CHECK-SAME:    %[[BUFFERS:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %[[FRAME:[a-z0-9]+]]: !llvm.ptr)
// CHECK-DAG:     %[[BUFFER:.*]] = llvm.getelementptr %[[BUFFERS]][3]
// CHECK-DAG:     llvm.load %[[BUFFER]]
// CHECK-DAG:     llvm.getelementptr %[[FRAME]][0]
// CHECK-DAG:     llvm.getelementptr %[[FRAME]][1]
// CHECK-NOT:     arith.addi
// CHECK-COUNT-2: call @run
// CHECK:         return
func.func private @run(!llvm.ptr, !llvm.ptr, i64)
func.func @main(%exec: !llvm.ptr, %buffers: !llvm.ptr, %dims: !llvm.ptr, %arena: !llvm.ptr) -> i32 attributes {passthrough = ["noinline", "optnone"]} {
  %c4 = llvm.mlir.constant(4 : i64) : i64
  %slots = llvm.alloca %c4 x i64 : (i64) -> !llvm.ptr
  %p = llvm.getelementptr %buffers[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %buffer = llvm.load %p : !llvm.ptr -> !llvm.ptr
  %q = llvm.getelementptr %dims[0] : (!llvm.ptr) -> !llvm.ptr, i64
  %size = llvm.load %q : !llvm.ptr -> i64
  %0 = arith.addi %size, %c4 : i64
  %1 = arith.addi %0, %size : i64
  %2 = arith.addi %1, %size : i64
  %sum = arith.addi %2, %1 : i64
  llvm.store %buffer, %slots : !llvm.ptr, !llvm.ptr
  call @run(%exec, %slots, %sum) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.store %buffer, %slots : !llvm.ptr, !llvm.ptr
  call @run(%exec, %slots, %sum) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// -----

// The size of an arena is read back from the frame; buffers cross as structs.
// CHECK-LABEL: func.func @main_arena(
// CHECK-SAME:    %[[DIMS:[a-z0-9]+]]: !llvm.ptr) -> i64
// CHECK:         %[[FRAME:.*]] = llvm.alloca
// CHECK:         call @main_arena.p0(%[[DIMS]], %[[FRAME]])
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[FRAME]]
// CHECK:         %[[SIZE:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK:         return %[[SIZE]] : i64
// CHECK:         llvm.store %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
func.func private @make(i64) -> memref<?xf32>
func.func @main_arena(%dims: !llvm.ptr) -> i64 {
  %c0 = arith.constant 0 : index
  %q = llvm.getelementptr %dims[0] : (!llvm.ptr) -> !llvm.ptr, i64
  %size = llvm.load %q : !llvm.ptr -> i64
  %buffer = call @make(%size) : (i64) -> memref<?xf32>
  %0 = arith.muli %size, %size : i64
  %1 = arith.muli %0, %size : i64
  %2 = arith.muli %1, %1 : i64
  %3 = arith.muli %2, %2 : i64
  %4 = arith.muli %3, %3 : i64
  %n = memref.dim %buffer, %c0 : memref<?xf32>
  %5 = arith.index_cast %n : index to i64
  %6 = arith.addi %5, %4 : i64
  return %6 : i64
}

// -----

// Declines: an entry that is short enough, and what is no entry.
// CHECK-LABEL: func.func @fold(
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    return
// CHECK-LABEL: func.func @g.s0(
// CHECK-NOT:     call
// CHECK:         return
// CHECK-NOT:     func.func
func.func @fold(%exec: !llvm.ptr, %buffers: !llvm.ptr, %dims: !llvm.ptr, %arena: !llvm.ptr) -> i32 {
  %ok = arith.constant 0 : i32
  return %ok : i32
}
func.func @g.s0(%x: i64) -> i64 {
  %0 = arith.addi %x, %x : i64
  %1 = arith.addi %0, %x : i64
  %2 = arith.addi %1, %x : i64
  %3 = arith.addi %2, %x : i64
  %4 = arith.addi %3, %x : i64
  %5 = arith.addi %4, %x : i64
  %6 = arith.addi %5, %x : i64
  return %6 : i64
}
