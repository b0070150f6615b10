// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=65536 --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A panel of 1024 x 24 floats takes 96 KiB, more than all of L2: of 16 rows, for
// which memory is the bound, parts of 80 take 7.5. The first does not add to
// dst, the last has the epilogue; panels of one part are whole panels apart.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel
// CHECK:           tile.brgemm ins({{.*}} : memref<16x80xf32, {{.*}}>, memref<80x24xf32, {{.*}}) outs({{.*}}) prefetch_next next_panel 24576 prefetch_out{{$}}
// CHECK-COUNT-11: outs({{.*}}) accumulate prefetch_next next_panel 24576 prefetch_out{{$}}
// CHECK:         rt.parallel
// CHECK:           tile.brgemm ins({{.*}} : memref<16x64xf32, {{.*}}>, memref<64x24xf32, {{.*}}) epilogue_operands({{.*}}) accumulate prefetch_next next_panel 24576 prefetch_out epilogue
// CHECK-NOT:     rt.parallel
func.func @main(%x: tensor<16x1024xf32>, %p: tensor<16x1024x24xf32>, %b: tensor<1x384xf32>) -> tensor<16x384xf32> {
  %0 = call @g(%x, %p, %b) {tile.label = "fc"} : (tensor<16x1024xf32>, tensor<16x1024x24xf32>, tensor<1x384xf32>) -> tensor<16x384xf32>
  return %0 : tensor<16x384xf32>
}
func.func private @g(%x: tensor<16x1024xf32>, %p: tensor<16x1024x24xf32>, %b: tensor<1x384xf32>) -> tensor<16x384xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x1024xf32>, tensor<16x1024x24xf32> -> tensor<16x384xf32>
  %1 = graph.Add %0, %b : (tensor<16x384xf32>, tensor<1x384xf32>) -> tensor<16x384xf32>
  return %1 : tensor<16x384xf32>
}

// -----

// Declines: all fits; three rows prefetch no panels; a dst that cannot hold sums.
// CHECK-LABEL: func.func private @fits.l(
// CHECK-COUNT-1: tile.brgemm
// CHECK-NOT:     accumulate
// CHECK-LABEL: func.func private @rows.l(
// CHECK-NOT:     accumulate
// CHECK-LABEL: func.func private @narrow.l(
// CHECK-NOT:     accumulate
func.func @main(%x: tensor<16x64xf32>, %p: tensor<16x64x24xf32>, %y: tensor<3x1024xf32>, %z: tensor<16x1024xf32>, %q: tensor<16x1024x24xf32>) -> (tensor<16x384xf32>, tensor<3x384xf32>, tensor<16x384xbf16>) {
  %0 = call @fits(%x, %p) {tile.label = "fits"} : (tensor<16x64xf32>, tensor<16x64x24xf32>) -> tensor<16x384xf32>
  %1 = call @rows(%y, %q) {tile.label = "reduction"} : (tensor<3x1024xf32>, tensor<16x1024x24xf32>) -> tensor<3x384xf32>
  %2 = call @narrow(%z, %q) {tile.label = "narrow"} : (tensor<16x1024xf32>, tensor<16x1024x24xf32>) -> tensor<16x384xbf16>
  return %0, %1, %2 : tensor<16x384xf32>, tensor<3x384xf32>, tensor<16x384xbf16>
}
func.func private @fits(%x: tensor<16x64xf32>, %p: tensor<16x64x24xf32>) -> tensor<16x384xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x64xf32>, tensor<16x64x24xf32> -> tensor<16x384xf32>
  return %0 : tensor<16x384xf32>
}
func.func private @rows(%x: tensor<3x1024xf32>, %p: tensor<16x1024x24xf32>) -> tensor<3x384xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<3x1024xf32>, tensor<16x1024x24xf32> -> tensor<3x384xf32>
  return %0 : tensor<3x384xf32>
}
func.func private @narrow(%x: tensor<16x1024xf32>, %p: tensor<16x1024x24xf32>) -> tensor<16x384xbf16> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x1024xf32>, tensor<16x1024x24xf32> -> tensor<16x384xf32>
  %1 = graph.TypeCast %0 : (tensor<16x384xf32>) -> tensor<16x384xbf16>
  return %1 : tensor<16x384xbf16>
}
