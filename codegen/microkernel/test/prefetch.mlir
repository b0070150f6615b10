// RUN: tenon-opt %s --split-input-file --tenon-lower-brgemm | FileCheck %s
// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=least_rows=2 --tenon-lower-brgemm | FileCheck %s --check-prefix=LEAST

// Lines of C, and of an epilogue operand per element, are prefetched before the sums: two rows
// of 24 columns, three vectors of 32 bytes, touch two lines each.
// CHECK-LABEL: func.func @prefetch_out
// CHECK:         call @tenon_brgemm_f32_2x3x8_b0{{[_a-z0-9]*}}_fo_e{{[0-9]+}}c
// CHECK:       func.func private @tenon_brgemm_f32_2x3x8_b0{{[_a-z0-9]*}}_fo_e{{[0-9]+}}c
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-NOT:     prefetch
// CHECK:         scf.for
func.func @prefetch_out(%a: memref<2x64xf32>, %b: memref<64x24xf32>,
                     %r: memref<2x24xf32>, %c: memref<2x24xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xf32>, memref<64x24xf32>)
      epilogue_operands(%r : memref<2x24xf32>) maps [affine_map<(d0, d1) -> (d0, d1)>]
      outs(%c : memref<2x24xf32>) prefetch_out epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  return
}

// -----

// The rows after those of a tile: two steps of k read 32 bytes of its four, so
// one line of what follows them.
// CHECK-LABEL: func.func @prefetch_rows
// CHECK:         call @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf1
// CHECK:       func.func private @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf1
// CHECK:         scf.for
// CHECK-COUNT-1: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-NOT:     prefetch
func.func @prefetch_rows(%a: memref<60x64xf32>, %b: memref<64x16xf32>, %c: memref<60x16xf32>) {
  tile.brgemm ins(%a, %b : memref<60x64xf32>, memref<64x16xf32>)
      outs(%c : memref<60x16xf32>) prefetch_rows
  return
}

// -----

// Rows apart are not one piece.
// CHECK-LABEL: func.func @declined
// CHECK-NOT:     _pf
// CHECK:         return
func.func @declined(%a: memref<60x64xf32, strided<[80, 1]>>, %b: memref<64x16xf32>, %c: memref<60x16xf32>) {
  tile.brgemm ins(%a, %b : memref<60x64xf32, strided<[80, 1]>>, memref<64x16xf32>)
      outs(%c : memref<60x16xf32>) prefetch_rows
  return
}

// -----

// Rows of a plain B: each brings the one as many rows after it as there are.
// CHECK-LABEL: func.func @plain
// CHECK:         call @tenon_brgemm_f32_1x2x8_b0_u2_fb(
// CHECK:       func.func private @tenon_brgemm_f32_1x2x8_b0_u2_fb
// CHECK:         scf.for
// CHECK-COUNT-2:   "llvm.intr.prefetch"{{.*}}cache = 1 : i32, hint = 2 : i32, rw = 0
// CHECK-NOT:       prefetch
// CHECK:           scf.yield
func.func @plain(%a: memref<1x16xf32>, %b: memref<16x16xf32, strided<[4096, 1]>>, %c: memref<1x16xf32>) {
  tile.brgemm ins(%a, %b : memref<1x16xf32>, memref<16x16xf32, strided<[4096, 1]>>)
      outs(%c : memref<1x16xf32>) prefetch_next attributes {packed = false}
  return
}

// -----

// Results past the caches: two vectors of 32 bytes are a line, and rows of 64
// bytes begin with one if C does; else C is prefetched. The stores are done before
// the function returns.
// CHECK-LABEL: func.func @nontemporal_out
// CHECK:         call @tenon_brgemm_f32_2x2x8_b0{{[_a-z0-9]*}}_fo_so(
// CHECK:         llvm.fence seq_cst
// CHECK-NEXT:    return
// CHECK:       func.func private @tenon_brgemm_f32_2x2x8_b0{{[_a-z0-9]*}}_fo_so(
// CHECK-NOT:     prefetch
// CHECK:         %[[LINES:.*]] = arith.cmpi eq
// CHECK:         scf.if %[[LINES]] {
// CHECK-NEXT:    } else {
// CHECK-COUNT-2:   "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK-NOT:       prefetch
// CHECK:         scf.if %[[LINES]] {
// CHECK-COUNT-4:   llvm.store {{.*}} {alignment = 32 : i64, nontemporal}
// CHECK:         } else {
// CHECK-NOT:       nontemporal
func.func @nontemporal_out(%a: memref<2x64xf32>, %b: memref<64x16xf32>, %c: memref<2x16xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xf32>, memref<64x16xf32>)
      outs(%c : memref<2x16xf32>) prefetch_out nontemporal_out register_tile [2, 2]
  return
}

// -----

// Three vectors of 32 bytes are no whole lines.
// CHECK-LABEL: func.func @part_of_line
// CHECK-NOT:     llvm.fence
// CHECK:       func.func private @tenon_brgemm_f32_2x3x8_b0{{[_a-z0-9]*}}_fo(
// CHECK-NOT:     nontemporal
func.func @part_of_line(%a: memref<2x64xf32>, %b: memref<64x24xf32>, %c: memref<2x24xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xf32>, memref<64x24xf32>)
      outs(%c : memref<2x24xf32>) prefetch_out nontemporal_out register_tile [2, 3]
  return
}

// -----

// Memory that is read next: each block of rows its share, spread over the steps
// of k.
// CHECK-LABEL: func.func @prefetch_range
// CHECK:         %[[STEP:.*]] = arith.minui
// CHECK:         call @tenon_brgemm_f32_4x2x8_b1_w16_u2_pf1({{.*}}, %[[STEP]])
// CHECK:       func.func private @tenon_brgemm_f32_4x2x8_b1_w16_u2_pf1
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-1:     "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-NOT:     prefetch
func.func @prefetch_range(%a: memref<3x8x64xf32>, %b: memref<3x64x16xf32>, %c: memref<8x16xf32>, %f: memref<512xf32>) {
  tile.brgemm ins(%a, %b : memref<3x8x64xf32>, memref<3x64x16xf32>)
      outs(%c : memref<8x16xf32>) prefetch(%f : memref<512xf32>)
  return
}

// -----

// More lines per step where there is more of it, four at most.
// CHECK-LABEL: func.func @prefetch_more
// CHECK:         call @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf3(
// CHECK-LABEL: func.func @prefetch_much
// CHECK:         call @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf4(
// CHECK:       func.func private @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf3
// CHECK-COUNT-3:     "llvm.intr.prefetch"
// CHECK-NOT:     prefetch
// CHECK:       func.func private @tenon_brgemm_f32_4x2x8_b0_w16_u2_pf4
// CHECK-COUNT-4:     "llvm.intr.prefetch"
// CHECK-NOT:     prefetch
func.func @prefetch_more(%a: memref<8x64xf32>, %b: memref<64x16xf32>, %c: memref<8x16xf32>, %f: memref<3000xf32>) {
  tile.brgemm ins(%a, %b : memref<8x64xf32>, memref<64x16xf32>)
      outs(%c : memref<8x16xf32>) prefetch(%f : memref<3000xf32>)
  return
}
func.func @prefetch_much(%a: memref<8x64xf32>, %b: memref<64x16xf32>, %c: memref<8x16xf32>, %f: memref<100000xf32>) {
  tile.brgemm ins(%a, %b : memref<8x64xf32>, memref<64x16xf32>)
      outs(%c : memref<8x16xf32>) prefetch(%f : memref<100000xf32>)
  return
}

// -----

// Shares of rows whose number is not known are not known either; and the next
// panel goes before.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK-NOT:     _pf
// CHECK:         return
// CHECK-LABEL: func.func @panel_first
// CHECK:         call @tenon_brgemm_{{.*}}_pf{{[0-9]+}}({{.*}})
// CHECK-NOT:     arith.minui
// CHECK:         return
func.func @dynamic_rows(%a: memref<3x?x64xf32>, %b: memref<3x64x16xf32>, %c: memref<?x16xf32>, %f: memref<512xf32>) {
  tile.brgemm ins(%a, %b : memref<3x?x64xf32>, memref<3x64x16xf32>)
      outs(%c : memref<?x16xf32>) prefetch(%f : memref<512xf32>)
  return
}
func.func @panel_first(%a: memref<60x64xf32>, %b: memref<64x16xf32>, %c: memref<60x16xf32>, %f: memref<512xf32>) {
  tile.brgemm ins(%a, %b : memref<60x64xf32>, memref<64x16xf32>)
      outs(%c : memref<60x16xf32>) prefetch_next prefetch(%f : memref<512xf32>)
  return
}

// -----

// Fewer rows of f32 than the core asks for bring nothing ahead.
// CHECK-LABEL: func.func @one_row
// CHECK:         call @tenon_brgemm_f32_1x2x8_b0_w16_u2_pf2(
// LEAST-LABEL: func.func @one_row
// LEAST:         call @tenon_brgemm_f32_1x2x8_b0_w16_u2(
// LEAST-LABEL: func.func @two_rows
// LEAST:         call @tenon_brgemm_f32_2x2x8_b0_w16_u2_pf2(
func.func @one_row(%a: memref<1x64xf32>, %b: memref<64x16xf32, strided<[16, 1]>>, %c: memref<1x16xf32>) {
  tile.brgemm ins(%a, %b : memref<1x64xf32>, memref<64x16xf32, strided<[16, 1]>>)
      outs(%c : memref<1x16xf32>) prefetch_next
  return
}
func.func @two_rows(%a: memref<2x64xf32>, %b: memref<64x16xf32, strided<[16, 1]>>, %c: memref<2x16xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xf32>, memref<64x16xf32, strided<[16, 1]>>)
      outs(%c : memref<2x16xf32>) prefetch_next
  return
}
