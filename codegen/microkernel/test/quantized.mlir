// RUN: tenon-opt %s --split-input-file --tenon-lower-brgemm | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-lower-brgemm | FileCheck %s --check-prefix=ZMM

// One row is four vectors wide; a group begins with scales and zero points, a
// row of quantized weights is two of K: halves of bytes, low ones first.
// CHECK-LABEL: func.func @one
// CHECK:         call @tenon_brgemm_f32_q4ucz_1x4x8_b0_w32_u2(
// CHECK-LABEL: func.func private @tenon_brgemm_f32_q4ucz_1x4x8_b0_w32_u2(
// CHECK:         scf.for
// CHECK-COUNT-4:   llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-4:   arith.extui {{.*}} : vector<8xi8> to vector<8xi32>
// CHECK:           scf.for
// CHECK:             arith.extui
// CHECK:             %[[L:.*]] = arith.andi
// CHECK:             %[[D:.*]] = arith.subi %[[L]]
// CHECK:             %[[F:.*]] = arith.sitofp %[[D]]
// CHECK:             %[[W:.*]] = arith.mulf %[[F]]
// CHECK:             vector.fma %{{.*}}, %[[W]]
// CHECK:             arith.shrui
// ZMM-LABEL: func.func @one
// ZMM:         call @tenon_brgemm_f32_q4ucz_1x2x16_b0_w32_u2(
func.func @one(%a: memref<1x64xf32>, %b: memref<42x32xi8>, %c: memref<1x32xf32>) {
  tile.brgemm ins(%a, %b : memref<1x64xf32>, memref<42x32xi8>) outs(%c : memref<1x32xf32>) quantized <bits = 4, is_signed = false, group = 32, zero_points = true>
  return
}

// -----

// Rows share the weights of a strip of two vectors, of which there are two in a
// panel: its scales are four bytes from column to column.
// CHECK-LABEL: func.func @many
// CHECK:         scf.for %[[COLUMN:.*]] =
// CHECK:           call @tenon_brgemm_f32_q8s_6x2x8_b0_u2(
// CHECK-LABEL: func.func private @tenon_brgemm_f32_q8s_6x2x8_b0_u2(
// CHECK-NOT:     arith.mulf
// CHECK:         arith.extsi {{.*}} : vector<8xi8> to vector<8xi32>
// ZMM-LABEL: func.func @many
// ZMM:         call @tenon_brgemm_f32_q8s_6x2x16_b0_w32_u2(
func.func @many(%a: memref<6x64xf32>, %b: memref<64x32xi8>, %c: memref<6x32xf32>) {
  tile.brgemm ins(%a, %b : memref<6x64xf32>, memref<64x32xi8>) outs(%c : memref<6x32xf32>) quantized <bits = 8, is_signed = true, group = 0, zero_points = false>
  return
}

// -----

// Int8 slices have sums of their own in a group, three for each of 3 x 2 vectors,
// which begin with what zero points take; one instruction for four of K.
// ZMM-LABEL: func.func @slices
// ZMM:         call @tenon_brgemm_f32_q4uczd3_3x2x16_b0_w128(
// ZMM-LABEL: func.func private @tenon_brgemm_f32_q4uczd3_3x2x16_b0_w128(
// ZMM:         scf.for
// ZMM:           arith.muli {{.*}} : vector<16xi32>
// ZMM:           scf.for
// ZMM:             llvm.load {{.*}} -> vector<64xi8>
// ZMM:             arith.andi {{.*}} : vector<64xi8>
// ZMM-COUNT-18:    llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// ZMM:             arith.shrui {{.*}} : vector<64xi8>
// ZMM-COUNT-18:    llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// ZMM-NOT:         vpdpbusd
// ZMM:           arith.sitofp
// ZMM:           vector.fma
func.func @slices(%a: memref<6x56xf32>, %b: memref<42x32xi8>, %c: memref<6x32xf32>) {
  tile.brgemm ins(%a, %b : memref<6x56xf32>, memref<42x32xi8>) outs(%c : memref<6x32xf32>) quantized <bits = 4, is_signed = false, group = 32, zero_points = true, slices = 3>
  return
}
