// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=1048576 --tenon-form-groups | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=1048576 --tenon-form-groups=max-ops=3 | FileCheck %s --check-prefix=THREE
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=l2_bytes=1048576 --tenon-form-groups=enable=false | FileCheck %s --check-prefix=ALONE

// A product packs weights that are no constants, and computes its src.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_ReLU_pack_matmul_Add(%arg0, %arg1, %arg2)
// CHECK-NEXT:    return %[[R]]
// CHECK:       func.func private @g_ReLU_pack_matmul_Add
// CHECK-SAME:    tile.group = #tile.group<contraction>
// THREE-LABEL: func.func @main
// THREE:         call @g_ReLU(
// THREE-NEXT:    call @g_pack_matmul_Add(
// THREE-NEXT:    return
// ALONE-LABEL: func.func @main
// ALONE:         call @g_ReLU(
// ALONE-NEXT:    call @g_pack(
// ALONE-NEXT:    call @g_matmul(
// ALONE-NEXT:    call @g_Add(
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x128xf32>, %y: tensor<32x128xf32>) -> tensor<32x128xf32> {
  %e = graph.ReLU %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %e, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  %1 = graph.Add %0, %y : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>
  return %1 : tensor<32x128xf32>
}

// -----

// Items copy rows of a src whose columns lie apart, so that weights are packed
// before; here the columns share few sets of the cache.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_pack(
// CHECK:         call @g_matmul(
func.func @main(%x: tensor<64x256xf32>, %w: tensor<64x128xf32>) -> tensor<256x128xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %t, %p : tensor<256x64xf32>, tensor<8x64x16xf32> -> tensor<256x128xf32>
  return %0 : tensor<256x128xf32>
}

// -----

// Declines: columns in many sets, few panels, few rows.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_pack_matmul(
// CHECK:         call @g_pack_matmul
// CHECK:         call @g_pack_matmul
// CHECK-NOT:     call
func.func @main(%x: tensor<64x260xf32>, %w: tensor<64x128xf32>, %y: tensor<64x256xf32>, %v: tensor<64x80xf32>, %z: tensor<64x20xf32>) -> (tensor<260x128xf32>, tensor<256x80xf32>, tensor<20x128xf32>) {
  %s = graph.StaticTranspose %x {order = [1, 0]} : (tensor<64x260xf32>) -> tensor<260x64xf32>
  %t = graph.StaticTranspose %y {order = [1, 0]} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %u = graph.StaticTranspose %z {order = [1, 0]} : (tensor<64x20xf32>) -> tensor<20x64xf32>
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %q = tile.pack %v panel 16 : tensor<64x80xf32> -> tensor<5x64x16xf32>
  %r = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %s, %p : tensor<260x64xf32>, tensor<8x64x16xf32> -> tensor<260x128xf32>
  %1 = tile.matmul %t, %q : tensor<256x64xf32>, tensor<5x64x16xf32> -> tensor<256x80xf32>
  %2 = tile.matmul %u, %r : tensor<20x64xf32>, tensor<8x64x16xf32> -> tensor<20x128xf32>
  return %0, %1, %2 : tensor<260x128xf32>, tensor<256x80xf32>, tensor<20x128xf32>
}

// -----

// Declines: where the columns lie is not known yet.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp(
// CHECK-NEXT:    call @g_pack_matmul(
func.func @main(%x: tensor<64x300xf32>, %w: tensor<300x96xf32>) -> tensor<64x96xf32> {
  %e = graph.Exp %x {graph.order = array<i64: 1, 0>} : (tensor<64x300xf32>) -> tensor<64x300xf32>
  %p = tile.pack %w panel 16 : tensor<300x96xf32> -> tensor<6x300x16xf32>
  %0 = tile.matmul %e, %p : tensor<64x300xf32>, tensor<6x300x16xf32> -> tensor<64x96xf32>
  return %0 : tensor<64x96xf32>
}

// -----

// Declines: two products read the panels.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_pack(
// CHECK-NEXT:    call @g_matmul(
// CHECK-NEXT:    call @g_matmul(
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x128xf32>, %y: tensor<32x64xf32>) -> (tensor<32x128xf32>, tensor<32x128xf32>) {
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %x, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  %1 = tile.matmul %y, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  return %0, %1 : tensor<32x128xf32>, tensor<32x128xf32>
}

// -----

// Rows that do not stay in L2 while panels pass; weights that are constant;
// a number of rows that is not known.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_pack
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<4097x64xf32>, %w: tensor<64x128xf32>) -> tensor<4097x128xf32> {
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %x, %p : tensor<4097x64xf32>, tensor<8x64x16xf32> -> tensor<4097x128xf32>
  return %0 : tensor<4097x128xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_pack
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x128xf32> {graph.property = "constant"}) -> tensor<32x128xf32> {
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %x, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_pack
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>) -> tensor<?x128xf32> {
  %p = tile.pack %w panel 16 : tensor<64x128xf32> -> tensor<8x64x16xf32>
  %0 = tile.matmul %x, %p : tensor<?x64xf32>, tensor<8x64x16xf32> -> tensor<?x128xf32>
  return %0 : tensor<?x128xf32>
}

// -----

// The src: a function that each thread would compute again.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<32x64xf32>, %p: tensor<8x64x16xf32>) -> tensor<32x128xf32> {
  %e = graph.Exp %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = tile.matmul %e, %p : tensor<32x64xf32>, tensor<8x64x16xf32> -> tensor<32x128xf32>
  return %0 : tensor<32x128xf32>
}

// -----

// The src: another product follows, with which a chain may be formed; another
// group reads it; so few columns that their panels are divided by rows.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_ReLU
// CHECK-NEXT:    call @g_matmul_Exp
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<32x64xf32>, %p: tensor<4x64x16xf32>) -> tensor<32x64xf32> {
  %e = graph.ReLU %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = tile.matmul %e, %p : tensor<32x64xf32>, tensor<4x64x16xf32> -> tensor<32x64xf32>
  %1 = graph.Exp %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = tile.matmul %1, %p : tensor<32x64xf32>, tensor<4x64x16xf32> -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_ReLU
// CHECK-NEXT:    call @g_matmul
func.func @main(%x: tensor<32x64xf32>, %p: tensor<4x64x16xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %e = graph.ReLU %x : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %0 = tile.matmul %e, %p : tensor<32x64xf32>, tensor<4x64x16xf32> -> tensor<32x64xf32>
  return %0, %e : tensor<32x64xf32>, tensor<32x64xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_ReLU
// CHECK-NEXT:    call @g_pack_matmul
func.func @main(%x: tensor<512x64xf32>, %w: tensor<64x64xf32>) -> tensor<512x64xf32> {
  %e = graph.ReLU %x : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %p = tile.pack %w panel 16 : tensor<64x64xf32> -> tensor<4x64x16xf32>
  %0 = tile.matmul %e, %p : tensor<512x64xf32>, tensor<4x64x16xf32> -> tensor<512x64xf32>
  return %0 : tensor<512x64xf32>
}

// -----

// Attention computes its queries, keys and values.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_TypeCast_pack_attention(
// CHECK-NEXT:    return
// CHECK:       func.func private @g_TypeCast_pack_attention
// CHECK-SAME:    tile.group = #tile.group<attention>
func.func @main(%qb: tensor<2x200x64xsi8>, %kb: tensor<2x64x384xsi8>, %vb: tensor<2x384x64xsi8>) -> tensor<2x200x64xf32> {
  %q = graph.TypeCast %qb : (tensor<2x200x64xsi8>) -> tensor<2x200x64xf32>
  %k = graph.TypeCast %kb : (tensor<2x64x384xsi8>) -> tensor<2x64x384xf32>
  %v = graph.TypeCast %vb : (tensor<2x384x64xsi8>) -> tensor<2x384x64xf32>
  %p = tile.pack %k panel 24 : tensor<2x64x384xf32> -> tensor<2x16x64x24xf32>
  %0 = tile.attention %q, %p, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x200x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32> -> tensor<2x200x64xf32>
  return %0 : tensor<2x200x64xf32>
}

// -----

// Pooling widens what it reads, which is stored narrow, and ends in any type;
// who makes it does not widen it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_ReLU_TypeCast(
// CHECK-NEXT:    call @g_TypeCast_MaxPool_TypeCast(%[[R]])
// CHECK-NEXT:    return
// ALONE-LABEL: func.func @main
// ALONE-COUNT-5: call @g_
func.func @main(%x: tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xbf16> {
  %0 = graph.ReLU %x : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = graph.TypeCast %0 : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xbf16>
  %2 = graph.TypeCast %1 : (tensor<1x8x8x4xbf16>) -> tensor<1x8x8x4xf32>
  %3 = graph.MaxPool %2 {data_format = "NXC", kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], strides = [2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  %4 = graph.TypeCast %3 : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xbf16>
  return %4 : tensor<1x4x4x4xbf16>
}

// -----

// It computes nothing else there: each element is read several times.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_Exp(
// CHECK-NEXT:    call @g_AvgPool_TypeCast_Add(
// CHECK-NEXT:    return
func.func @main(%x: tensor<1x8x8x4xf32>, %r: tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xf32> {
  %0 = graph.Exp %x : (tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  %1 = graph.AvgPool %0 {data_format = "NXC", exclude_pad = false, kernel = [2, 2], pads_begin = [0, 0], pads_end = [0, 0], strides = [2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = graph.TypeCast %r : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xf32>
  %3 = graph.Add %1, %2 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %3 : tensor<1x4x4x4xf32>
}
