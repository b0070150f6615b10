// RUN: tenon-opt %s --split-input-file --tenon-tile-groups | FileCheck %s

// While exponentials of a row are summed, the next row is prefetched; no pass that
// reads its row for the first time, and none that only writes, does.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.prefetch
// CHECK:         arith.select
// CHECK:         codegen.prefetch = array<i64: 4096, 0>
// CHECK:         math.exp
// CHECK-NOT:     codegen.prefetch
func.func @main(%x: tensor<256x4096xf32> {graph.id = 0 : ui64}) -> (tensor<256x4096xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<256x4096xf32>) -> tensor<256x4096xf32>
  return %0 : tensor<256x4096xf32>
}
func.func private @g(%x: tensor<256x4096xf32>) -> tensor<256x4096xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<256x4096xf32>) -> tensor<256x4096xf32>
  return %0 : tensor<256x4096xf32>
}

// -----

// Declines: less than 4 MiB may be in a cache.
// CHECK-LABEL: func @main
// CHECK-NOT:     codegen.prefetch
func.func @main(%x: tensor<255x4096xf32> {graph.id = 0 : ui64}) -> (tensor<255x4096xf32> {graph.id = 1 : ui64}) {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<255x4096xf32>) -> tensor<255x4096xf32>
  return %0 : tensor<255x4096xf32>
}
func.func private @g(%x: tensor<255x4096xf32>) -> tensor<255x4096xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<255x4096xf32>) -> tensor<255x4096xf32>
  return %0 : tensor<255x4096xf32>
}

// -----

// Rows of a product: 1 MiB of them and four panels; not where they are in L2,
// nor for many panels.
// CHECK-LABEL: func.func private @rows.l(
// CHECK:         tile.brgemm {{.*}} prefetch_rows
// CHECK-LABEL: func.func private @few.l(
// CHECK-NOT:     prefetch_rows
// CHECK:         tile.brgemm
// CHECK-LABEL: func.func private @wide.l(
// CHECK-NOT:     prefetch_rows
// CHECK:         tile.brgemm
// CHECK-NOT:     prefetch_rows
func.func @main(%x: tensor<4096x64xf32>, %y: tensor<64x64xf32>, %p: tensor<4x64x16xf32>, %q: tensor<40x64x16xf32>) -> (tensor<4096x64xf32>, tensor<64x64xf32>, tensor<4096x640xf32>) {
  %0 = call @rows(%x, %p) : (tensor<4096x64xf32>, tensor<4x64x16xf32>) -> tensor<4096x64xf32>
  %1 = call @few(%y, %p) : (tensor<64x64xf32>, tensor<4x64x16xf32>) -> tensor<64x64xf32>
  %2 = call @wide(%x, %q) : (tensor<4096x64xf32>, tensor<40x64x16xf32>) -> tensor<4096x640xf32>
  return %0, %1, %2 : tensor<4096x64xf32>, tensor<64x64xf32>, tensor<4096x640xf32>
}
func.func private @rows(%x: tensor<4096x64xf32>, %p: tensor<4x64x16xf32>) -> tensor<4096x64xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<4096x64xf32>, tensor<4x64x16xf32> -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}
func.func private @few(%x: tensor<64x64xf32>, %p: tensor<4x64x16xf32>) -> tensor<64x64xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<64x64xf32>, tensor<4x64x16xf32> -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func private @wide(%x: tensor<4096x64xf32>, %p: tensor<40x64x16xf32>) -> tensor<4096x640xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<4096x64xf32>, tensor<40x64x16xf32> -> tensor<4096x640xf32>
  return %0 : tensor<4096x640xf32>
}

// -----

// 32 MiB that are only read come from memory: 2 KiB ahead along rows, the next
// eight rows where columns are summed.
// CHECK-LABEL: func.func private @rows.l(
// CHECK:         codegen.prefetch = array<i64: 512>
// CHECK-LABEL: func.func private @columns.l(
// CHECK:         codegen.prefetch = array<i64: 32768>
// CHECK-LABEL: func.func private @less.l(
// CHECK-NOT:     codegen.prefetch
// CHECK-LABEL: func.func private @stores.l(
// CHECK-NOT:     codegen.prefetch
func.func @main(%x: tensor<2048x4096xf32>, %y: tensor<2047x4096xf32>) -> (tensor<2048x1xf32>, tensor<1x4096xf32>, tensor<2047x1xf32>, tensor<2048x4096xf32>) {
  %0 = call @rows(%x) : (tensor<2048x4096xf32>) -> tensor<2048x1xf32>
  %1 = call @columns(%x) : (tensor<2048x4096xf32>) -> tensor<1x4096xf32>
  %2 = call @less(%y) : (tensor<2047x4096xf32>) -> tensor<2047x1xf32>
  %3 = call @stores(%x) : (tensor<2048x4096xf32>) -> tensor<2048x4096xf32>
  return %0, %1, %2, %3 : tensor<2048x1xf32>, tensor<1x4096xf32>, tensor<2047x1xf32>, tensor<2048x4096xf32>
}
func.func private @rows(%x: tensor<2048x4096xf32>) -> tensor<2048x1xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceMax %x {axes = [1], keep_dims = true} : (tensor<2048x4096xf32>) -> tensor<2048x1xf32>
  return %0 : tensor<2048x1xf32>
}
func.func private @columns(%x: tensor<2048x4096xf32>) -> tensor<1x4096xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceMax %x {axes = [0], keep_dims = true} : (tensor<2048x4096xf32>) -> tensor<1x4096xf32>
  return %0 : tensor<1x4096xf32>
}
func.func private @less(%y: tensor<2047x4096xf32>) -> tensor<2047x1xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceMax %y {axes = [1], keep_dims = true} : (tensor<2047x4096xf32>) -> tensor<2047x1xf32>
  return %0 : tensor<2047x1xf32>
}
func.func private @stores(%x: tensor<2048x4096xf32>) -> tensor<2048x4096xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Abs %x : (tensor<2048x4096xf32>) -> tensor<2048x4096xf32>
  return %0 : tensor<2048x4096xf32>
}

// -----

// A row times a matrix of the caller: 64 MiB come from memory, 4 MiB may not.
// CHECK-LABEL: func.func private @large.l(
// CHECK:         tile.brgemm {{.*}} prefetch_next {{.*}}packed = false
// CHECK-LABEL: func.func private @small.l(
// CHECK-NOT:     prefetch_next
func.func @main(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>, %y: tensor<1x1024xf32>, %v: tensor<1024x1024xf32>) -> (tensor<1x4096xf32>, tensor<1x1024xf32>) {
  %0 = call @large(%x, %w) : (tensor<1x4096xf32>, tensor<4096x4096xf32>) -> tensor<1x4096xf32>
  %1 = call @small(%y, %v) : (tensor<1x1024xf32>, tensor<1024x1024xf32>) -> tensor<1x1024xf32>
  return %0, %1 : tensor<1x4096xf32>, tensor<1x1024xf32>
}
func.func private @large(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1x4096xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %w in_place : tensor<1x4096xf32>, tensor<4096x4096xf32> -> tensor<1x4096xf32>
  return %0 : tensor<1x4096xf32>
}
func.func private @small(%x: tensor<1x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1x1024xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %w in_place : tensor<1x1024xf32>, tensor<1024x1024xf32> -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}

// -----

// Tiles that are transposed prefetch the next of several, of what L2 does not hold,
// or not twice where rows meet few sets of the cache.
// CHECK-LABEL: func.func private @matrix.l(
// CHECK:         codegen.prefetch = array<i64: 16384>
// CHECK-LABEL: func.func private @held.l(
// CHECK-NOT:     codegen.prefetch
// CHECK-LABEL: func.func private @single.l(
// CHECK-NOT:     codegen.prefetch
// CHECK-LABEL: func.func private @beyond.l(
// CHECK:         codegen.prefetch = array<i64: 16000>
// CHECK-LABEL: func.func private @inside.l(
// CHECK-NOT:     codegen.prefetch
func.func @main(%matrix: tensor<512x1024xf32>, %held: tensor<511x1024xf32>, %single: tensor<48x16384xf32>, %beyond: tensor<132x1000xf32>, %inside: tensor<131x1000xf32>) -> (tensor<1024x512xf32>, tensor<1024x511xf32>, tensor<16384x48xf32>, tensor<1000x132xf32>, tensor<1000x131xf32>) {
  %t0 = graph.StaticTranspose %matrix {order = [1, 0]} : (tensor<512x1024xf32>) -> tensor<1024x512xf32>
  %0 = call @matrix(%t0) : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %t1 = graph.StaticTranspose %held {order = [1, 0]} : (tensor<511x1024xf32>) -> tensor<1024x511xf32>
  %1 = call @held(%t1) : (tensor<1024x511xf32>) -> tensor<1024x511xf32>
  %t2 = graph.StaticTranspose %single {order = [1, 0]} : (tensor<48x16384xf32>) -> tensor<16384x48xf32>
  %2 = call @single(%t2) : (tensor<16384x48xf32>) -> tensor<16384x48xf32>
  %t3 = graph.StaticTranspose %beyond {order = [1, 0]} : (tensor<132x1000xf32>) -> tensor<1000x132xf32>
  %3 = call @beyond(%t3) : (tensor<1000x132xf32>) -> tensor<1000x132xf32>
  %t4 = graph.StaticTranspose %inside {order = [1, 0]} : (tensor<131x1000xf32>) -> tensor<1000x131xf32>
  %4 = call @inside(%t4) : (tensor<1000x131xf32>) -> tensor<1000x131xf32>
  return %0, %1, %2, %3, %4 : tensor<1024x512xf32>, tensor<1024x511xf32>, tensor<16384x48xf32>, tensor<1000x132xf32>, tensor<1000x131xf32>
}
func.func private @matrix(%x: tensor<1024x512xf32>) -> tensor<1024x512xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
  return %0 : tensor<1024x512xf32>
}
func.func private @held(%x: tensor<1024x511xf32>) -> tensor<1024x511xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<1024x511xf32>) -> tensor<1024x511xf32>
  return %0 : tensor<1024x511xf32>
}
func.func private @single(%x: tensor<16384x48xf32>) -> tensor<16384x48xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<16384x48xf32>) -> tensor<16384x48xf32>
  return %0 : tensor<16384x48xf32>
}
func.func private @beyond(%x: tensor<1000x132xf32>) -> tensor<1000x132xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<1000x132xf32>) -> tensor<1000x132xf32>
  return %0 : tensor<1000x132xf32>
}
func.func private @inside(%x: tensor<1000x131xf32>) -> tensor<1000x131xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<1000x131xf32>) -> tensor<1000x131xf32>
  return %0 : tensor<1000x131xf32>
}

// -----

// One element has nothing ahead of it.
// CHECK-LABEL: func.func private @one.l(
// CHECK:         linalg.generic
// CHECK-NOT:     codegen.prefetch
func.func @main(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %0 = call @one(%x) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}
func.func private @one(%x: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// -----

// Rows of a convolution with stride 2: 1.6 MB, of which the next position reads
// two rows of 56x128 for the first time, after the three of its taps. Not what
// L2 holds.
// CHECK-LABEL: func.func private @large.l(
// CHECK:         tile.brgemm {{.*}} prefetch(%{{.*}} : memref<14336xf32, strided<[1], offset: ?>>)
// CHECK-LABEL: func.func private @small.l(
// CHECK-NOT:     prefetch(
// CHECK:         tile.brgemm
// CHECK-NOT:     prefetch(
func.func @main(%x: tensor<1x56x56x128xf32>, %w: tensor<1x4x3x3x128x32xf32>, %y: tensor<1x14x14x128xf32>) -> (tensor<1x28x28x128xf32>, tensor<1x7x7x128xf32>) {
  %0 = call @large(%x, %w) : (tensor<1x56x56x128xf32>, tensor<1x4x3x3x128x32xf32>) -> tensor<1x28x28x128xf32>
  %1 = call @small(%y, %w) : (tensor<1x14x14x128xf32>, tensor<1x4x3x3x128x32xf32>) -> tensor<1x7x7x128xf32>
  return %0, %1 : tensor<1x28x28x128xf32>, tensor<1x7x7x128xf32>
}
func.func private @large(%x: tensor<1x56x56x128xf32>, %w: tensor<1x4x3x3x128x32xf32>) -> tensor<1x28x28x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x56x56x128xf32>, tensor<1x4x3x3x128x32xf32> -> tensor<1x28x28x128xf32>
  return %0 : tensor<1x28x28x128xf32>
}
func.func private @small(%y: tensor<1x14x14x128xf32>, %w: tensor<1x4x3x3x128x32xf32>) -> tensor<1x7x7x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %y, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x14x14x128xf32>, tensor<1x4x3x3x128x32xf32> -> tensor<1x7x7x128xf32>
  return %0 : tensor<1x7x7x128xf32>
}

// -----

// More weights than L2 holds, and than src has: each of 7 rows brings its share
// of the next panel, 9 * 256 * 48 elements. Not of weights that stay.
// CHECK-LABEL: func.func private @panels.l(
// CHECK:         tile.brgemm {{.*}}memref<3x3x256x48xf32, {{.*}} prefetch(%{{.*}} : memref<15799xf32, strided<[1], offset: ?>>)
// CHECK-LABEL: func.func private @stay.l(
// CHECK-NOT:     prefetch(
// CHECK:         return
func.func @main(%x: tensor<1x14x14x256xf32>, %w: tensor<1x4x3x3x256x48xf32>, %v: tensor<1x2x3x3x256x48xf32>) -> (tensor<1x7x7x192xf32>, tensor<1x7x7x96xf32>) {
  %0 = call @panels(%x, %w) : (tensor<1x14x14x256xf32>, tensor<1x4x3x3x256x48xf32>) -> tensor<1x7x7x192xf32>
  %1 = call @stay(%x, %v) : (tensor<1x14x14x256xf32>, tensor<1x2x3x3x256x48xf32>) -> tensor<1x7x7x96xf32>
  return %0, %1 : tensor<1x7x7x192xf32>, tensor<1x7x7x96xf32>
}
func.func private @panels(%x: tensor<1x14x14x256xf32>, %w: tensor<1x4x3x3x256x48xf32>) -> tensor<1x7x7x192xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x14x14x256xf32>, tensor<1x4x3x3x256x48xf32> -> tensor<1x7x7x192xf32>
  return %0 : tensor<1x7x7x192xf32>
}
func.func private @stay(%x: tensor<1x14x14x256xf32>, %v: tensor<1x2x3x3x256x48xf32>) -> tensor<1x7x7x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x14x14x256xf32>, tensor<1x2x3x3x256x48xf32> -> tensor<1x7x7x96xf32>
  return %0 : tensor<1x7x7x96xf32>
}

// -----

// L2 does not hold two such panels: a section for each row of taps, which
// prefetches that part of the next panel. The last one has the epilogue. Sums in
// bf16 are not kept in dst.
// CHECK-LABEL: func.func private @parts.l(
// CHECK:         rt.parallel
// CHECK:         tile.brgemm {{.*}}memref<1x3x512x48xf32, {{.*}} outs({{[^)]*}}) prefetch(%{{.*}} : memref<10533xf32,
// CHECK:         rt.parallel
// CHECK:         tile.brgemm {{.*}}memref<1x3x512x48xf32, {{.*}} outs({{[^)]*}}) accumulate prefetch(%{{.*}} : memref<10533xf32,
// CHECK-NOT:     maximumf
// CHECK:         rt.parallel
// CHECK:         tile.brgemm {{.*}} accumulate prefetch(
// CHECK:         arith.{{maximumf|maxnumf|cmpf}}
// CHECK-NOT:     rt.parallel
// CHECK-LABEL: func.func private @narrow.l(
// CHECK:         rt.parallel
// CHECK-NOT:     rt.parallel
// CHECK:         tile.brgemm {{.*}}memref<3x3x512x48xf32,
// CHECK-NOT:     accumulate
func.func @main(%x: tensor<1x14x14x512xf32>, %w: tensor<1x2x3x3x512x48xf32>) -> (tensor<1x7x7x96xf32>, tensor<1x7x7x96xbf16>) {
  %0 = call @parts(%x, %w) : (tensor<1x14x14x512xf32>, tensor<1x2x3x3x512x48xf32>) -> tensor<1x7x7x96xf32>
  %1 = call @narrow(%x, %w) : (tensor<1x14x14x512xf32>, tensor<1x2x3x3x512x48xf32>) -> tensor<1x7x7x96xbf16>
  return %0, %1 : tensor<1x7x7x96xf32>, tensor<1x7x7x96xbf16>
}
func.func private @parts(%x: tensor<1x14x14x512xf32>, %w: tensor<1x2x3x3x512x48xf32>) -> tensor<1x7x7x96xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x14x14x512xf32>, tensor<1x2x3x3x512x48xf32> -> tensor<1x7x7x96xf32>
  %1 = graph.ReLU %0 : (tensor<1x7x7x96xf32>) -> tensor<1x7x7x96xf32>
  return %1 : tensor<1x7x7x96xf32>
}
func.func private @narrow(%x: tensor<1x14x14x512xf32>, %w: tensor<1x2x3x3x512x48xf32>) -> tensor<1x7x7x96xbf16> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x14x14x512xf32>, tensor<1x2x3x3x512x48xf32> -> tensor<1x7x7x96xf32>
  %1 = graph.TypeCast %0 : (tensor<1x7x7x96xf32>) -> tensor<1x7x7x96xbf16>
  return %1 : tensor<1x7x7x96xbf16>
}

// -----

// Rows of a dilated convolution are not one piece, nor are a group's.
// CHECK-LABEL: func.func private @grouped.l(
// CHECK-NOT:     prefetch(
// CHECK:         tile.brgemm
// CHECK-NOT:     prefetch(
// CHECK-LABEL: func.func private @dilated.l(
// CHECK-NOT:     prefetch(
// CHECK:         tile.brgemm
// CHECK-NOT:     prefetch(
func.func @main(%x: tensor<1x56x56x128xf32>, %w: tensor<1x4x3x3x128x32xf32>, %v: tensor<8x1x3x3x16x16xf32>) -> (tensor<1x56x56x128xf32>, tensor<1x54x54x128xf32>) {
  %1 = call @grouped(%x, %v) : (tensor<1x56x56x128xf32>, tensor<8x1x3x3x16x16xf32>) -> tensor<1x56x56x128xf32>
  %0 = call @dilated(%x, %w) : (tensor<1x56x56x128xf32>, tensor<1x4x3x3x128x32xf32>) -> tensor<1x54x54x128xf32>
  return %1, %0 : tensor<1x56x56x128xf32>, tensor<1x54x54x128xf32>
}
func.func private @grouped(%x: tensor<1x56x56x128xf32>, %v: tensor<8x1x3x3x16x16xf32>) -> tensor<1x56x56x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %v {dilations = array<i64: 1, 1>, groups = 8 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x56x56x128xf32>, tensor<8x1x3x3x16x16xf32> -> tensor<1x56x56x128xf32>
  return %0 : tensor<1x56x56x128xf32>
}
func.func private @dilated(%x: tensor<1x56x56x128xf32>, %w: tensor<1x4x3x3x128x32xf32>) -> tensor<1x54x54x128xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.conv %x, %w {dilations = array<i64: 2, 2>, groups = 1 : i64, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x56x56x128xf32>, tensor<1x4x3x3x128x32xf32> -> tensor<1x54x54x128xf32>
  return %0 : tensor<1x54x54x128xf32>
}

// -----

// Depthwise: of nine taps those of the last row, with stride 2 of two rows and
// two columns, are the first to read what they do. Not what L2 holds.
// CHECK-LABEL: func.func private @one.l(
// CHECK:         codegen.prefetch = array<i64: 0, 0, 0, 0, 0, 0, 7168, 0, 0, 0
// CHECK-LABEL: func.func private @two.l(
// CHECK:         codegen.prefetch = array<i64: 0, 0, 0, 14336, 14336, 0, 14336, 14336, 0, 0
// CHECK-LABEL: func.func private @small.l(
// CHECK-NOT:     codegen.prefetch
func.func @main(%x: tensor<1x56x56x128xf32>, %w: tensor<3x3x1x128xf32>, %y: tensor<1x14x14x128xf32>) -> (tensor<1x54x54x128xf32>, tensor<1x27x27x128xf32>, tensor<1x12x12x128xf32>) {
  %0 = call @one(%x, %w) : (tensor<1x56x56x128xf32>, tensor<3x3x1x128xf32>) -> tensor<1x54x54x128xf32>
  %1 = call @two(%x, %w) : (tensor<1x56x56x128xf32>, tensor<3x3x1x128xf32>) -> tensor<1x27x27x128xf32>
  %2 = call @small(%y, %w) : (tensor<1x14x14x128xf32>, tensor<3x3x1x128xf32>) -> tensor<1x12x12x128xf32>
  return %0, %1, %2 : tensor<1x54x54x128xf32>, tensor<1x27x27x128xf32>, tensor<1x12x12x128xf32>
}
func.func private @one(%x: tensor<1x56x56x128xf32>, %w: tensor<3x3x1x128xf32>) -> tensor<1x54x54x128xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 128 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x56x56x128xf32>, tensor<3x3x1x128xf32> -> tensor<1x54x54x128xf32>
  return %0 : tensor<1x54x54x128xf32>
}
func.func private @two(%x: tensor<1x56x56x128xf32>, %w: tensor<3x3x1x128xf32>) -> tensor<1x27x27x128xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %x, %w {depthwise, dilations = array<i64: 1, 1>, groups = 128 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 2, 2>} : tensor<1x56x56x128xf32>, tensor<3x3x1x128xf32> -> tensor<1x27x27x128xf32>
  return %0 : tensor<1x27x27x128xf32>
}
func.func private @small(%y: tensor<1x14x14x128xf32>, %w: tensor<3x3x1x128xf32>) -> tensor<1x12x12x128xf32> attributes {tile.group = #tile.group<window>} {
  %0 = tile.conv %y, %w {depthwise, dilations = array<i64: 1, 1>, groups = 128 : i64, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, strides = array<i64: 1, 1>} : tensor<1x14x14x128xf32>, tensor<3x3x1x128xf32> -> tensor<1x12x12x128xf32>
  return %0 : tensor<1x12x12x128xf32>
}
