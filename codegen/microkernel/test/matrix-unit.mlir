// RUN: tenon-opt %s --tenon-lower-brgemm="vector-bits=512 num-vector-registers=32 matrix-unit" | FileCheck %s

// 40 rows: one block of two tiles, then 8 rows in a tile that begins 8 rows
// earlier. Kernels of vectors take the sums, and what K has beyond 128.
// CHECK-LABEL: func.func @tiles
// CHECK-DAG:     llvm.alloca
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         call @tenon_matrix_bf16_2x2_b0(
// CHECK:         call @tenon_brgemm_bf16_v2_8x2x16_b0_w32_part(
// CHECK:         call @tenon_matrix_bf16_1x2_b0(
// CHECK:         call @tenon_brgemm_bf16_v2_8x2x16_b0_w32_part(
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @tiles(%a: memref<40x130xbf16>, %b: memref<65x32x2xbf16>, %c: memref<40x32xf32>) {
  tile.brgemm ins(%a, %b : memref<40x130xbf16>, memref<65x32x2xbf16>) outs(%c : memref<40x32xf32>)
  return
}

// Declines: few rows, few of K, an A that is not adjacent along K, one element
// at a time.
// CHECK-LABEL: func.func @declined
// CHECK-NOT:     ldtilecfg
// CHECK-NOT:     call @tenon_matrix
// CHECK:         return
func.func @declined(%a: memref<2x130xbf16>, %b: memref<65x32x2xbf16>, %c: memref<2x32xf32>,
                    %a2: memref<40x20xbf16>, %b2: memref<10x32x2xbf16>, %c2: memref<40x32xf32>,
                    %a3: memref<40x130xbf16, strided<[1, 40]>>, %a4: memref<40x130xf32>, %b4: memref<130x32xf32>) {
  tile.brgemm ins(%a, %b : memref<2x130xbf16>, memref<65x32x2xbf16>) outs(%c : memref<2x32xf32>)
  tile.brgemm ins(%a2, %b2 : memref<40x20xbf16>, memref<10x32x2xbf16>) outs(%c2 : memref<40x32xf32>)
  tile.brgemm ins(%a3, %b : memref<40x130xbf16, strided<[1, 40]>>, memref<65x32x2xbf16>) outs(%c2 : memref<40x32xf32>)
  tile.brgemm ins(%a4, %b4 : memref<40x130xf32>, memref<130x32xf32>) outs(%c2 : memref<40x32xf32>)
  return
}

// The kernel: sums in tiles 0 to 3, A in 4 and 5, B in 6 and 7.
// CHECK-LABEL: func.func private @tenon_matrix_bf16_2x2_b0
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK:         scf.for
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
