// RUN: tenon-opt %s --split-input-file --tenon-plan-arena | FileCheck %s

// %a is dead when %c is needed: they share bytes. %b lives beside both.
// 4 x 8 floats are 128 bytes, two lines.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[ARENA:[a-z0-9]+]]: memref<?xi8> {tile.role = #tile.role<arena>})
// CHECK-NOT:     memref.alloc
// CHECK:         %[[AT:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[A:.*]] = memref.view %[[ARENA]][%[[AT]]][] : memref<?xi8> to memref<4x8xf32>
// CHECK:         %[[BT:.*]] = arith.constant 128 : index
// CHECK-NEXT:    %[[B:.*]] = memref.view %[[ARENA]][%[[BT]]][]
// CHECK-NEXT:    call @g(%[[A]], %[[B]])
// CHECK-NEXT:    %[[CT:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[C:.*]] = memref.view %[[ARENA]][%[[CT]]][]
// CHECK-NEXT:    call @g(%[[B]], %[[C]])
// CHECK-LABEL: func.func @main_arena(
// CHECK-SAME:    %{{.*}}: memref<4x8xf32>, %{{.*}}: memref<4x8xf32>) -> index
// CHECK:         %[[SIZE:.*]] = arith.constant 256 : index
// CHECK:         return %[[SIZE]]
func.func @main(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  %a = memref.alloc() : memref<4x8xf32>
  call @g(%x, %a) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  %b = memref.alloc() : memref<4x8xf32>
  call @g(%a, %b) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  %c = memref.alloc() : memref<4x8xf32>
  call @g(%b, %c) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  call @g(%c, %y) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  return
}
func.func private @g(memref<4x8xf32>, memref<4x8xf32>)

// -----

// The view of %a is read last: %a keeps its bytes, %c gets others.
// CHECK-LABEL: func.func @main(
// CHECK:         arith.constant 0 : index
// CHECK-NEXT:    memref.view
// CHECK:         arith.constant 64 : index
// CHECK-NEXT:    memref.view
// CHECK:         arith.constant 128 : index
// CHECK-NEXT:    memref.view
// CHECK-LABEL: func.func @main_arena(
// CHECK:         arith.constant 192 : index
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  call @g(%x, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  %v = memref.reinterpret_cast %a to offset: [0], sizes: [2, 2], strides: [1, 2] : memref<4xf32> to memref<2x2xf32, strided<[1, 2]>>
  %w = memref.reinterpret_cast %v to offset: [0], sizes: [4], strides: [1] : memref<2x2xf32, strided<[1, 2]>> to memref<4xf32>
  %b = memref.alloc() : memref<4xf32>
  call @g(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  %c = memref.alloc() : memref<4xf32>
  call @g(%b, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  call @g(%c, %w) : (memref<4xf32>, memref<4xf32>) -> ()
  call @g(%w, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}
func.func private @g(memref<4xf32>, memref<4xf32>)

// -----

// A free range is cut: two small buffers fit where a large one was.
// CHECK-LABEL: func.func @main(
// CHECK:         arith.constant 0 : index
// CHECK-NEXT:    memref.view %{{.*}} to memref<32xf32>
// CHECK:         arith.constant 0 : index
// CHECK-NEXT:    memref.view %{{.*}} to memref<16xf32>
// CHECK:         arith.constant 64 : index
// CHECK-NEXT:    memref.view %{{.*}} to memref<5xi8>
// CHECK-LABEL: func.func @main_arena(
// CHECK:         arith.constant 128 : index
func.func @main() {
  %a = memref.alloc() : memref<32xf32>
  call @h(%a) : (memref<32xf32>) -> ()
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<5xi8>
  call @g(%b, %c) : (memref<16xf32>, memref<5xi8>) -> ()
  return
}
func.func private @h(memref<32xf32>)
func.func private @g(memref<16xf32>, memref<5xi8>)

// -----

// Free neighbours merge, and the last range grows instead of leaving a hole.
// CHECK-LABEL: func.func @main(
// CHECK:         memref.view %{{.*}} to memref<16xf32>
// CHECK:         memref.view %{{.*}} to memref<16xf32>
// CHECK:         arith.constant 0 : index
// CHECK-NEXT:    memref.view %{{.*}} to memref<48xf32>
// CHECK-LABEL: func.func @main_arena(
// CHECK:         arith.constant 192 : index
func.func @main() {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  call @g(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  %c = memref.alloc() : memref<48xf32>
  call @h(%c) : (memref<48xf32>) -> ()
  return
}
func.func private @g(memref<16xf32>, memref<16xf32>)
func.func private @h(memref<48xf32>)

// -----

// Dynamic buffers follow the static ones. %a and %c have one type and one size
// and do not meet: they share; %b is the next. The size function computes the
// same from the arguments, without work and without an arena.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8xf32>
// CHECK-SAME:    %[[ARENA:[a-z0-9]+]]: memref<?xi8>
// CHECK-DAG:     %[[N:.*]] = memref.dim %[[X]]
// CHECK-DAG:     %[[START:.*]] = arith.constant 64 : index
// CHECK:         %[[A:.*]] = memref.view %[[ARENA]][%[[START]]][%[[N]]] : memref<?xi8> to memref<?x8xf32>
// CHECK:         %[[B:.*]] = memref.view %[[ARENA]][%[[BT:.*]]][%[[N]]]
// CHECK:         call @g(%[[A]], %[[B]])
// CHECK-NEXT:    %[[C:.*]] = memref.view %[[ARENA]][%[[START]]][%[[N]]]
// CHECK-NEXT:    call @g(%[[B]], %[[C]])
// CHECK-LABEL: func.func @main_arena(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8xf32>
// CHECK-NOT:     call
// CHECK-NOT:     memref.view
// CHECK:         memref.dim %[[X]]
// CHECK:         arith.divui
// CHECK:         arith.divui
// CHECK:         %[[END:.*]] = arith.addi
// In f64 beside it: more than any memory where the sum would wrap around.
// CHECK:         %[[FITS:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : f64
// CHECK:         %[[MOST:.*]] = arith.constant 4611686018427387904 : index
// CHECK:         %[[SIZE:.*]] = arith.select %[[FITS]], %[[END]], %[[MOST]]
// CHECK-NEXT:    return %[[SIZE]]
func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %s = memref.alloc() : memref<2xf32>
  call @h(%s) : (memref<2xf32>) -> ()
  %a = memref.alloc(%n) : memref<?x8xf32>
  call @g(%x, %a) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x8xf32>
  call @g(%a, %b) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  %c = memref.alloc(%n) : memref<?x8xf32>
  call @g(%b, %c) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  call @g(%c, %y) : (memref<?x8xf32>, memref<?x8xf32>) -> ()
  return
}
func.func private @g(memref<?x8xf32>, memref<?x8xf32>)
func.func private @h(memref<2xf32>)

// -----

// Another dynamic size is another place, though nothing overlaps.
// CHECK-LABEL: func.func @main(
// CHECK:         memref.view %{{.*}}[%[[FIRST:.*]]][
// CHECK:         %[[END:.*]] = arith.addi
// CHECK:         memref.view %{{.*}}[%[[SECOND:.*]]][
// CHECK-LABEL: func.func @main_arena(
// CHECK:         memref.dim
// CHECK:         memref.dim
// CHECK-COUNT-2: arith.divui
func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  call @g(%x, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  %b = memref.alloc(%m) : memref<?xf32>
  call @g(%y, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
func.func private @g(memref<?xf32>, memref<?xf32>)

// -----

// Declines: without temporaries the arena is empty; only entries have one.
// CHECK-LABEL: func.func @fold(
// CHECK-SAME:    %{{.*}}: memref<4xf32> {tile.role = #tile.role<input>}, %{{.*}}: memref<?xi8> {tile.role = #tile.role<arena>})
// CHECK-LABEL: func.func @fold_arena(
// CHECK-SAME:    %{{.*}}: memref<4xf32> {tile.role = #tile.role<input>}) -> index
// CHECK:         arith.constant 0 : index
// CHECK-LABEL: func.func @other(
// CHECK-NEXT:    memref.alloc
// CHECK-NOT:   @other_arena
func.func @fold(%x: memref<4xf32> {tile.role = #tile.role<input>}) {
  return
}
func.func @other() {
  %a = memref.alloc() : memref<4xf32>
  return
}

// -----

// What does not fit 64 bits is more than any memory has; nothing wraps around.
// CHECK-LABEL: func.func @main_arena(
// CHECK:         %[[SIZE:.*]] = arith.constant 4611686018427387904 : index
// CHECK:         return %[[SIZE]]
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %a = memref.alloc() : memref<1073741824x1073741824xf32>
  call @g(%x, %a) : (memref<4xf32>, memref<1073741824x1073741824xf32>) -> ()
  %b = memref.alloc() : memref<1073741824x1073741824x8xf64>
  call @h(%a, %b) : (memref<1073741824x1073741824xf32>, memref<1073741824x1073741824x8xf64>) -> ()
  call @i(%b, %y) : (memref<1073741824x1073741824x8xf64>, memref<4xf32>) -> ()
  return
}
func.func private @g(memref<4xf32>, memref<1073741824x1073741824xf32>)
func.func private @h(memref<1073741824x1073741824xf32>, memref<1073741824x1073741824x8xf64>)
func.func private @i(memref<1073741824x1073741824x8xf64>, memref<4xf32>)
