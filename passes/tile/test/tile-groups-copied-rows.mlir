// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=matrix_unit=true,l2_bytes=2097152 --tenon-tile-groups --mlir-print-local-scope | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=2097152 --tenon-tile-groups --mlir-print-local-scope | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: linalg.copy

// Rows of 1024 bytes meet few sets of the cache: a block of them is copied, an
// odd number of lines apart, at the first panel and where a range begins.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64x512xbf16>
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(%c69632)
// CHECK:         ^bb0(%[[BEGIN:.*]]: index, %{{.*}}: index, %[[MEM:.*]]: memref<?xi8>):
// CHECK:           scf.for %[[ITEM:.*]] = %[[BEGIN]]
// CHECK:           %[[COPY:.*]] = memref.view %[[MEM]]
// CHECK:           %[[TO:.*]] = memref.reinterpret_cast %[[COPY]] {{.*}} strides: [544, 1]
// CHECK:           %[[STARTS:.*]] = arith.cmpi eq, %[[ITEM]], %[[BEGIN]]
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq,
// CHECK:           %[[WANTED:.*]] = arith.ori %[[STARTS]], %[[FIRST]]
// CHECK:           scf.if %[[WANTED]] {
// CHECK:             %[[A:.*]] = memref.reinterpret_cast %[[X]] {{.*}} strides: [512, 1]
// CHECK-NEXT:        linalg.copy ins(%[[A]] {{.*}} outs(%[[TO]]
// CHECK:           tile.brgemm ins(%[[TO]],
func.func @main(%x: tensor<64x512xbf16>, %p: tensor<8x256x32x2xbf16>) -> tensor<64x256xf32> {
  %0 = call @g(%x, %p) {tile.label = "fc"} : (tensor<64x512xbf16>, tensor<8x256x32x2xbf16>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
func.func private @g(%x: tensor<64x512xbf16>, %p: tensor<8x256x32x2xbf16>) -> tensor<64x256xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p {interleave = 2 : i64} : tensor<64x512xbf16>, tensor<8x256x32x2xbf16> -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}

// -----

// Declines: rows of 1536 bytes, and too few panels.
// CHECK-LABEL: func.func private @rows.l(
// CHECK-NOT:     linalg.copy
// CHECK-LABEL: func.func private @panels.l(
// CHECK-NOT:     linalg.copy
func.func @main(%x: tensor<64x768xbf16>, %p: tensor<8x384x32x2xbf16>, %y: tensor<64x512xbf16>, %q: tensor<7x256x32x2xbf16>) -> (tensor<64x256xf32>, tensor<64x224xf32>) {
  %0 = call @rows(%x, %p) {tile.label = "reduction"} : (tensor<64x768xbf16>, tensor<8x384x32x2xbf16>) -> tensor<64x256xf32>
  %1 = call @panels(%y, %q) {tile.label = "panels"} : (tensor<64x512xbf16>, tensor<7x256x32x2xbf16>) -> tensor<64x224xf32>
  return %0, %1 : tensor<64x256xf32>, tensor<64x224xf32>
}
func.func private @rows(%x: tensor<64x768xbf16>, %p: tensor<8x384x32x2xbf16>) -> tensor<64x256xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p {interleave = 2 : i64} : tensor<64x768xbf16>, tensor<8x384x32x2xbf16> -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
func.func private @panels(%x: tensor<64x512xbf16>, %p: tensor<7x256x32x2xbf16>) -> tensor<64x224xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p {interleave = 2 : i64} : tensor<64x512xbf16>, tensor<7x256x32x2xbf16> -> tensor<64x224xf32>
  return %0 : tensor<64x224xf32>
}
