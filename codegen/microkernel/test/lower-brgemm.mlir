// RUN: tenon-opt %s --tenon-lower-brgemm | FileCheck %s
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-lower-brgemm | FileCheck %s --check-prefix=ZMM
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=128 --tenon-lower-brgemm | FileCheck %s --check-prefix=ANY
// RUN: not tenon-opt %s --tenon-set-target=fields=vector_bits=48 --tenon-lower-brgemm 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: vector_bits is 48, must be a power of two from 32 to 512

// Ten rows are 4 + 3 + 3, not 4 + 4 + 2; one full strip of 3 vectors needs no
// loop; 16 columns more are a strip of 2 vectors.

// CHECK-LABEL: func.func @balanced
// CHECK-NOT:     tile.brgemm
// CHECK:         call @tenon_brgemm_f32_4x3x8_b0_u2(
// CHECK:         scf.for
// CHECK:           call @tenon_brgemm_f32_3x3x8_b0_u2(
// CHECK:         call @tenon_brgemm_f32_4x2x8_b0_u2(
// CHECK:         scf.for
// CHECK:           call @tenon_brgemm_f32_3x2x8_b0_u2(

// ZMM-LABEL: func.func @balanced
// ZMM:         call @tenon_brgemm_f32_{{.*}}x16_b0

// No fused multiply-add is assumed of a machine of unknown kind.
// ANY-LABEL: func.func @balanced
// ANY-NOT:   vector.fma
// ANY:       arith.mulf {{.*}} fastmath<contract> : vector<4xf32>
// ANY-NOT:   vector.fma
func.func @balanced(%a: memref<10x64xf32>, %b: memref<64x40xf32>,
                    %c: memref<10x40xf32>) {
  tile.brgemm ins(%a, %b : memref<10x64xf32>, memref<64x40xf32>)
      outs(%c : memref<10x40xf32>) register_tile [4, 3]
  return
}

// An unknown number of rows goes through a dispatch function; five columns are
// one masked vector, with whole vectors of B because it is padded. Steps of tall
// tiles of one vector are not unrolled: that would spill.

// CHECK-LABEL: func.func @dynamic_rows
// CHECK:         scf.for
// CHECK:           call @tenon_brgemm_f32_0x0x8_b1_w8_t1_mask_any_1to{{[0-9]+}}x1to1_apart(
func.func @dynamic_rows(%a: memref<9x?x64xf32>, %b: memref<9x64x8xf32>,
                        %c: memref<?x5xf32>) {
  tile.brgemm ins(%a, %b : memref<9x?x64xf32>, memref<9x64x8xf32>)
      outs(%c : memref<?x5xf32>)
  return
}

// Long sums of any number of rows are left in memory by kernels that serve all
// epilogues, and finished by a function that goes row by row. Declined: a sum of
// 64, where that would take a share of the time.

// CHECK-LABEL: func.func @dynamic_rows_epilogue
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0_w24_u2_t1_fo_e1n_any_1to4x3to3_apart(
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0_w24_u2_fo_e1n_any_1to4x3to3(
func.func @dynamic_rows_epilogue(%a: memref<?x512xf32>, %b: memref<512x24xf32>, %a1: memref<?x64xf32>,
                                 %b1: memref<64x24xf32>, %c: memref<?x24xf32>, %bias: memref<24xf32>) {
  tile.brgemm ins(%a, %b : memref<?x512xf32>, memref<512x24xf32>)
      epilogue_operands(%bias : memref<24xf32>) maps [affine_map<(d0, d1) -> (d1)>]
      outs(%c : memref<?x24xf32>) prefetch_out register_tile [4, 3] epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  tile.brgemm ins(%a1, %b1 : memref<?x64xf32>, memref<64x24xf32>)
      epilogue_operands(%bias : memref<24xf32>) maps [affine_map<(d0, d1) -> (d1)>]
      outs(%c : memref<?x24xf32>) prefetch_out register_tile [4, 3] epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  return
}

// Two uses of one structure, of different shapes, share their kernel.

// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: call @tenon_brgemm_f32_4x1x8_b0_sk_u2_acc_maskb_e1n(
func.func @shared(%a: memref<4x64xf32, strided<[1, 4]>>, %b: memref<64x5xf32>,
                  %c: memref<4x5xf32>, %d: memref<4x7xf32, strided<[9, 1]>>,
                  %b7: memref<64x7xf32>, %bias: memref<7xf32>) {
  tile.brgemm ins(%a, %b : memref<4x64xf32, strided<[1, 4]>>, memref<64x5xf32>)
      epilogue_operands(%bias : memref<7xf32>) maps [affine_map<(d0, d1) -> (d1)>]
      outs(%c : memref<4x5xf32>) accumulate attributes {packed = false}
      epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  tile.brgemm ins(%a, %b7 : memref<4x64xf32, strided<[1, 4]>>, memref<64x7xf32>)
      epilogue_operands(%bias : memref<7xf32>) maps [affine_map<(d0, d1) -> (d1)>]
      outs(%d : memref<4x7xf32, strided<[9, 1]>>) accumulate
      attributes {packed = false} epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  return
}

// Few rows prefetch 1 KiB ahead, or a panel that is shorter.

// CHECK-LABEL: func.func @prefetch
// CHECK:         %[[FEW:.*]] = arith.constant 256 : i64
// CHECK:         arith.minui %{{.*}}, %[[FEW]] : i64
// CHECK:         call @tenon_brgemm_f32_4x1x8_b0_w8_u2_pf1(
// CHECK:         call @tenon_brgemm_f32_1x1x8_b0_w8_u2_pf1(
func.func @prefetch(%a: memref<4x64xf32>, %b: memref<64x8xf32>,
                    %c: memref<4x8xf32>, %a1: memref<1x64xf32>,
                    %c1: memref<1x8xf32>) {
  tile.brgemm ins(%a, %b : memref<4x64xf32>, memref<64x8xf32>)
      outs(%c : memref<4x8xf32>) prefetch_next
  tile.brgemm ins(%a1, %b : memref<1x64xf32>, memref<64x8xf32>)
      outs(%c1 : memref<1x8xf32>) prefetch_next
  return
}

// In narrow types from 3 rows on.

// CHECK-LABEL: func.func @prefetch_narrow
// CHECK:         call @tenon_brgemm_i8u_v4_3x1x8_b0_w8_u2_pf1(
// CHECK:         call @tenon_brgemm_i8u_v4_2x1x8_b0_w8_u2(
func.func @prefetch_narrow(%a: memref<3x64xi8>, %b: memref<16x8x4xi8>,
                           %c: memref<3x8xi32>, %a2: memref<2x64xi8>,
                           %c2: memref<2x8xi32>) {
  tile.brgemm ins(%a, %b : memref<3x64xi8>, memref<16x8x4xi8>)
      outs(%c : memref<3x8xi32>) prefetch_next unsigned_a
  tile.brgemm ins(%a2, %b : memref<2x64xi8>, memref<16x8x4xi8>)
      outs(%c2 : memref<2x8xi32>) prefetch_next unsigned_a
  return
}

// One block of six rows and more prefetches 64 steps ahead, not a panel.

// CHECK-LABEL: func.func @prefetch_near
// CHECK:         %[[NEAR:.*]] = arith.constant 512 : i64
// CHECK:         arith.minui %{{.*}}, %[[NEAR]] : i64
// CHECK:         call @tenon_brgemm_f32_8x1x8_b0_w8_pf1(
func.func @prefetch_near(%a: memref<8x128xf32>, %b: memref<128x8xf32>,
                         %c: memref<8x8xf32>) {
  tile.brgemm ins(%a, %b : memref<8x128xf32>, memref<128x8xf32>)
      outs(%c : memref<8x8xf32>) prefetch_next
  return
}

// An odd k has a last step of its own.

// CHECK-LABEL: func.func @odd_steps
// CHECK:         call @tenon_brgemm_f32_4x3x8_b0_w24_u2r(
func.func @odd_steps(%a: memref<4x65xf32>, %b: memref<65x24xf32>,
                     %c: memref<4x24xf32>) {
  tile.brgemm ins(%a, %b : memref<4x65xf32>, memref<65x24xf32>)
      outs(%c : memref<4x24xf32>) register_tile [4, 3]
  return
}

// Declines: an odd k of few steps or an unknown one takes single steps, and a
// plain B has any stride. A sum of unknown length has all totals.

// CHECK-LABEL: func.func @single_steps
// CHECK:         call @tenon_brgemm_f32_4x1x8_b0_w8(
// CHECK:         call @tenon_brgemm_f32_4x1x8_b0_w8_t4(
func.func @single_steps(%a: memref<4x31xf32>, %b: memref<31x8xf32>,
                        %c: memref<4x8xf32>, %ax: memref<4x?xf32>,
                        %bx: memref<?x8xf32>) {
  tile.brgemm ins(%a, %b : memref<4x31xf32>, memref<31x8xf32>)
      outs(%c : memref<4x8xf32>)
  tile.brgemm ins(%ax, %bx : memref<4x?xf32>, memref<?x8xf32>)
      outs(%c : memref<4x8xf32>)
  return
}

// Rows of B in their own place that begin with lines of the cache: tiles of
// whole lines. Not of a panel, of rows that begin anywhere, of few rows, and
// with vectors that are lines.

// CHECK-LABEL: func.func @whole_lines
// CHECK:         call @tenon_brgemm_f32_6x2x8_
// CHECK-NOT:     call @tenon_brgemm_f32_{{.}}x3x8_
// CHECK:         return
// ZMM-LABEL:   func.func @whole_lines
// ZMM:           call @tenon_brgemm_f32_8x3x16_
func.func @whole_lines(%a: memref<96x64xf32>, %b: memref<64x96xf32>, %c: memref<96x96xf32>) {
  tile.brgemm ins(%a, %b : memref<96x64xf32>, memref<64x96xf32>)
      outs(%c : memref<96x96xf32>) attributes {packed = false}
  return
}

// CHECK-LABEL: func.func @not_whole_lines
// CHECK-NOT:     call @tenon_brgemm_f32_6x2x8_
// CHECK:         return
func.func @not_whole_lines(%a: memref<96x64xf32>, %b: memref<64x96xf32>, %odd: memref<64x100xf32>,
                           %c: memref<96x96xf32>, %few: memref<4x64xf32>, %cf: memref<4x96xf32>) {
  tile.brgemm ins(%a, %b : memref<96x64xf32>, memref<64x96xf32>)
      outs(%c : memref<96x96xf32>)
  tile.brgemm ins(%a, %odd : memref<96x64xf32>, memref<64x100xf32>)
      outs(%c : memref<96x96xf32>) attributes {packed = false}
  tile.brgemm ins(%few, %b : memref<4x64xf32>, memref<64x96xf32>)
      outs(%cf : memref<4x96xf32>) attributes {packed = false}
  return
}

// The kernel: 12 accumulators carried by the loop, two steps of k in each
// iteration, nothing but loads and fmas inside.

// CHECK-LABEL: func.func private @tenon_brgemm_f32_4x3x8_b0_u2(
// CHECK-SAME:    attributes {llvm.linkage = #llvm.linkage<internal>, no_inline}
// CHECK:         scf.for
// CHECK-COUNT-3:   llvm.load {{.*}} -> vector<8xf32>
// CHECK:           llvm.load {{.*}} -> f32
// CHECK:           vector.broadcast
// CHECK-COUNT-24:  vector.fma
// CHECK-NOT:       vector.fma
// CHECK:           scf.yield
// CHECK-NOT:     scf.for
// CHECK-COUNT-12:  llvm.store

// CHECK: func.func private @tenon_brgemm_f32_0x0x8_b1_w8_t1_mask_any
// CHECK:   scf.index_switch
// CHECK:     call @tenon_brgemm_f32_1x1x8_b1_w8_t1_mask(

// CHECK-LABEL: func.func private @tenon_brgemm_f32_0x0x8_b0_w24_u2_t1_fo_e1n_any_1to4x3to3_apart(
// CHECK:         %[[SUMS:.*]] = llvm.alloca
// CHECK:         scf.for
// CHECK-COUNT-2:   llvm.intr.prefetch
// CHECK:         scf.index_switch
// CHECK:           call @tenon_brgemm_f32_1x3x8_b0_w24_u2_t1({{.*}}, %[[SUMS]],
// CHECK:           call @tenon_brgemm_f32_4x3x8_b0_w24_u2_t1({{.*}}, %[[SUMS]],
// CHECK:         call @tenon_brgemm_f32_1x3x8_b0_end_e1n({{.*}}, %[[SUMS]],

// One row of sums, bias and store at a time.

// CHECK-LABEL: func.func private @tenon_brgemm_f32_1x3x8_b0_end_e1n(
// CHECK:         scf.for
// CHECK-COUNT-3:   llvm.load {{.*}} -> vector<8xf32>
// CHECK:           arith.addf
// CHECK:           llvm.store
// CHECK:         return

// The epilogue on vectors, and masks for C, its epilogue operand and plain B.

// CHECK-LABEL: func.func private @tenon_brgemm_f32_4x1x8_b0_sk_u2_acc_maskb_e1n(
// CHECK:         %[[MASK:.*]] = arith.cmpi slt
// CHECK:         scf.for
// CHECK:           llvm.intr.masked.load {{.*}}%[[MASK]]
// CHECK:           scf.yield
// CHECK:         %[[BIAS:.*]] = llvm.intr.masked.load {{.*}}%[[MASK]]
// CHECK:         %[[C:.*]] = llvm.intr.masked.load {{.*}}%[[MASK]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[C]], %{{.*}} : vector<8xf32>
// CHECK:         arith.addf %[[SUM]], %[[BIAS]] : vector<8xf32>
// CHECK-COUNT-4: llvm.intr.masked.store

// CHECK-LABEL: func.func private @tenon_brgemm_f32_4x1x8_b0_w8_u2_pf1(
// CHECK:         llvm.intr.prefetch
// CHECK-NOT:     llvm.intr.prefetch
// CHECK:         return
