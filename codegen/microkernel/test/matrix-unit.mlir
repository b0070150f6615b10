// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,matrix_unit=true --tenon-lower-brgemm | FileCheck %s

// 40 rows: one block of two tiles, then 8 rows in a tile that begins 8 rows
// earlier. Kernels of vectors take the sums, and what K has beyond 128.
// CHECK-LABEL: func.func @tiles
// CHECK-DAG:     llvm.alloca
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         call @tenon_matrix_bf16_2x2_b0_fa(
// CHECK:         call @tenon_brgemm_bf16_v2_8x2x16_b0_w32_part(
// CHECK:         call @tenon_matrix_bf16_1x2_b0_fa(
// CHECK:         call @tenon_brgemm_bf16_v2_8x2x16_b0_w32_part(
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
func.func @tiles(%a: memref<40x130xbf16>, %b: memref<65x32x2xbf16>, %c: memref<40x32xf32>) {
  tile.brgemm ins(%a, %b : memref<40x130xbf16>, memref<65x32x2xbf16>) outs(%c : memref<40x32xf32>)
  return
}

// Whole steps of k, whole tiles of columns and no epilogue: sums go to C.
// CHECK-LABEL: func.func @straight
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         call @tenon_matrix_bf16_2x2_b0(
// CHECK-NOT:     _part(
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT:    return
func.func @straight(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>) {
  tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<32x32xf32>)
  return
}

// Two products that want the same tiles: set up once, in front of the loop.
// CHECK-LABEL: func.func @shared
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:         scf.for
// CHECK-NOT:     ldtilecfg
// CHECK:         call @tenon_matrix_bf16_2x2_b0(
// CHECK-NOT:     tilerelease
// CHECK:         call @tenon_matrix_bf16_2x2_b0(
// CHECK:         }
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-NEXT:    return
func.func @shared(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<32x32xf32>)
    tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<32x32xf32>)
  }
  return
}

// Each for itself: tiles of other rows, rows that only the program knows, and a
// function with products of its own in between.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-LABEL: func.func @unknown
// CHECK:         scf.for
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-LABEL: func.func @calls
// CHECK:         scf.for
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"
func.func @apart(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>,
                 %a2: memref<8x64xbf16>, %c2: memref<8x32xf32>) {
  tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<32x32xf32>)
  tile.brgemm ins(%a2, %b : memref<8x64xbf16>, memref<32x32x2xbf16>) outs(%c2 : memref<8x32xf32>)
  return
}
func.func @unknown(%a: memref<?x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<?x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    tile.brgemm ins(%a, %b : memref<?x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<?x32xf32>)
  }
  return
}
func.func @calls(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>) outs(%c : memref<32x32xf32>)
    func.call @straight(%a, %b, %c) : (memref<32x64xbf16>, memref<32x32x2xbf16>, memref<32x32xf32>) -> ()
  }
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
// CHECK-LABEL: func.func private @tenon_matrix_bf16_2x2_b0_fa
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK:         scf.for
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
