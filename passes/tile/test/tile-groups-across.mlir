// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=2097152 --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Columns of src lie apart: a block of rows is copied, 32 columns at a time, and
// the next ones are prefetched meanwhile; 300 = 9 x 32 + 12.
// CHECK-LABEL: func.func private @across.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<100x300xf32, strided<[1, 100]>>
// CHECK:           %[[COPY:.*]] = memref.view
// CHECK:           %[[TO:.*]] = memref.reinterpret_cast %[[COPY]] {{.*}} strides: [304, 1]
// CHECK:           scf.if
// CHECK:             %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} strides: [1, 100]
// CHECK:             scf.for
// CHECK:               linalg.copy {codegen.prefetch = array<i64: 3200>} ins(%{{.*}} : memref<{{.*}}x32xf32, strided<[1, 100]{{.*}} outs(%{{.*}} : memref<{{.*}}x32xf32, strided<[304, 1]
// CHECK:               linalg.copy {codegen.prefetch = array<i64: 3200>} ins(%{{.*}} : memref<{{.*}}x12xf32
// CHECK:           tile.brgemm ins(%[[TO]],
func.func @main(%x: tensor<300x100xf32>, %p: tensor<6x300x24xf32>) -> tensor<100x144xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<300x100xf32>) -> tensor<100x300xf32>
  %0 = call @across(%t, %p) {tile.label = "fc"} : (tensor<100x300xf32>, tensor<6x300x24xf32>) -> tensor<100x144xf32>
  return %0 : tensor<100x144xf32>
}
func.func private @across(%t: tensor<100x300xf32>, %p: tensor<6x300x24xf32>) -> tensor<100x144xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %t, %p : tensor<100x300xf32>, tensor<6x300x24xf32> -> tensor<100x144xf32>
  return %0 : tensor<100x144xf32>
}

// -----

// Declines: too few columns, and too few panels.
// CHECK-LABEL: func.func private @columns.l(
// CHECK-NOT:     linalg.copy
// CHECK-LABEL: func.func private @panels.l(
// CHECK-NOT:     linalg.copy
func.func @main(%x: tensor<280x100xf32>, %p: tensor<6x280x24xf32>, %y: tensor<300x100xf32>, %q: tensor<5x300x24xf32>) -> (tensor<100x144xf32>, tensor<100x120xf32>) {
  %s = graph.StaticTranspose %x {order = [1, 0]} : (tensor<280x100xf32>) -> tensor<100x280xf32>
  %t = graph.StaticTranspose %y {order = [1, 0]} : (tensor<300x100xf32>) -> tensor<100x300xf32>
  %0 = call @columns(%s, %p) {tile.label = "columns"} : (tensor<100x280xf32>, tensor<6x280x24xf32>) -> tensor<100x144xf32>
  %1 = call @panels(%t, %q) {tile.label = "panels"} : (tensor<100x300xf32>, tensor<5x300x24xf32>) -> tensor<100x120xf32>
  return %0, %1 : tensor<100x144xf32>, tensor<100x120xf32>
}
func.func private @columns(%t: tensor<100x280xf32>, %p: tensor<6x280x24xf32>) -> tensor<100x144xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %t, %p : tensor<100x280xf32>, tensor<6x280x24xf32> -> tensor<100x144xf32>
  return %0 : tensor<100x144xf32>
}
func.func private @panels(%t: tensor<100x300xf32>, %p: tensor<5x300x24xf32>) -> tensor<100x120xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %t, %p : tensor<100x300xf32>, tensor<5x300x24xf32> -> tensor<100x120xf32>
  return %0 : tensor<100x120xf32>
}

// -----

// Columns 1024 bytes apart share few sets of the cache: 64 are enough.
// CHECK-LABEL: func.func private @sets.l(
// CHECK-SAME:    memref<256x64xf32, strided<[1, 256]>>
// CHECK:           linalg.copy {codegen.prefetch = array<i64: 8192>} ins(%{{.*}} : memref<{{.*}}x32xf32, strided<[1, 256]{{.*}} outs(%{{.*}} : memref<{{.*}}x32xf32, strided<[80, 1]
// CHECK-LABEL: func.func private @few.l(
// CHECK-NOT:     linalg.copy
func.func @main(%x: tensor<64x256xf32>, %p: tensor<6x64x24xf32>, %y: tensor<63x256xf32>, %q: tensor<6x63x24xf32>) -> (tensor<256x144xf32>, tensor<256x144xf32>) {
  %s = graph.StaticTranspose %x {order = [1, 0]} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %t = graph.StaticTranspose %y {order = [1, 0]} : (tensor<63x256xf32>) -> tensor<256x63xf32>
  %0 = call @sets(%s, %p) {tile.label = "sets"} : (tensor<256x64xf32>, tensor<6x64x24xf32>) -> tensor<256x144xf32>
  %1 = call @few(%t, %q) {tile.label = "few"} : (tensor<256x63xf32>, tensor<6x63x24xf32>) -> tensor<256x144xf32>
  return %0, %1 : tensor<256x144xf32>, tensor<256x144xf32>
}
func.func private @sets(%t: tensor<256x64xf32>, %p: tensor<6x64x24xf32>) -> tensor<256x144xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %t, %p : tensor<256x64xf32>, tensor<6x64x24xf32> -> tensor<256x144xf32>
  return %0 : tensor<256x144xf32>
}
func.func private @few(%t: tensor<256x63xf32>, %p: tensor<6x63x24xf32>) -> tensor<256x144xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %t, %p : tensor<256x63xf32>, tensor<6x63x24xf32> -> tensor<256x144xf32>
  return %0 : tensor<256x144xf32>
}
