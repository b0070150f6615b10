// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=256 --tenon-lower-brgemm --split-input-file | FileCheck %s

// A sum of more than 256 products is made in blocks: a chain from zero for each,
// whose sum is added to the total in memory. Of 8192 products and less there is
// one total.

// CHECK-LABEL: func.func @one_total
// CHECK:         llvm.alloca {{.*}} {alignment = 64
// CHECK:         call @tenon_brgemm_f32_1x1x8_b0_w8_u2_t1(
func.func @one_total(%a: memref<1x600xf32>, %b: memref<600x8xf32>,
                     %c: memref<1x8xf32>) {
  tile.brgemm ins(%a, %b : memref<1x600xf32>, memref<600x8xf32>)
      outs(%c : memref<1x8xf32>)
  return
}

// CHECK-LABEL: func.func private @tenon_brgemm_f32_1x1x8_b0_w8_u2_t1(
// CHECK-SAME:    %[[TOTALS:[a-z0-9]+]]: !llvm.ptr) attributes
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         scf.for
// CHECK:           llvm.store
// CHECK:         %[[START:.*]] = arith.constant dense<0.000000e+00>
// CHECK:         scf.for
// CHECK:           arith.minui
// CHECK:           %[[SUM:.*]]:{{[0-9]+}} = scf.for {{.*}} = %[[START]]
// CHECK-COUNT-2:     vector.fma
// CHECK:           %[[BEFORE:.*]] = llvm.load %[[TOTALS]]
// CHECK:           %[[TOTAL:.*]] = arith.addf %[[BEFORE]], %[[SUM]]#0
// CHECK:           llvm.store %[[TOTAL]], %[[TOTALS]]
// CHECK:         llvm.load %[[TOTALS]]
// CHECK-NOT:     scf.if
// CHECK:         return

// -----

// Short sums of many taps go on in one block until it would be too long. With
// more than 32 blocks their total is added to another one.

// CHECK-LABEL: func.func private @tenon_brgemm_f32_1x1x8_b1_w8_u2_t2(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             %[[FULL:.*]] = arith.cmpi ugt
// CHECK:             scf.if %[[FULL]]
// CHECK:               arith.remui
// CHECK:               scf.if
// CHECK:                 scf.for
// CHECK:               llvm.store
// CHECK:               arith.constant dense<0.000000e+00>
// CHECK:             scf.for
// CHECK-COUNT-2:       vector.fma
// CHECK:         arith.cmpi ugt
// CHECK:         scf.if
// CHECK:           scf.for
func.func @two_totals(%a: memref<400x1x100xf32>, %b: memref<400x100x8xf32>,
                      %c: memref<1x8xf32>) {
  tile.brgemm ins(%a, %b : memref<400x1x100xf32>, memref<400x100x8xf32>)
      outs(%c : memref<1x8xf32>)
  return
}

// -----

// Declines: few products, products of integers, and few products of sizes that
// are not known.

// CHECK-LABEL: func.func @no_totals
// CHECK-NOT:     llvm.alloca
// CHECK:         call @tenon_brgemm_f32_1x1x8_b0_w8_u2(
// CHECK:         call @tenon_brgemm_i8s_1x1x8_b0_w8_u2(
// CHECK:         call @tenon_brgemm_f32_1x1x8_b0_w8(
func.func @no_totals(%a: memref<1x256xf32>, %b: memref<256x8xf32>,
                     %c: memref<1x8xf32>, %ai: memref<1x600xi8>,
                     %bi: memref<600x8xi8>, %ci: memref<1x8xi32>,
                     %ad: memref<1x?xf32>, %bd: memref<?x8xf32>) {
  tile.brgemm ins(%a, %b : memref<1x256xf32>, memref<256x8xf32>)
      outs(%c : memref<1x8xf32>)
  tile.brgemm ins(%ai, %bi : memref<1x600xi8>, memref<600x8xi8>)
      outs(%ci : memref<1x8xi32>)
  tile.brgemm ins(%ad, %bd : memref<1x?xf32>, memref<?x8xf32>)
      outs(%c : memref<1x8xf32>) max_terms 100
  return
}
