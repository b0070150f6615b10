// RUN: tenon-opt %s --tenon-lower-brgemm | FileCheck %s

// Rows that are a multiple of those of the tile need one kernel and no dispatch.
// CHECK-LABEL: func.func @whole_tiles
// CHECK:         scf.for
// CHECK:           call @tenon_brgemm_f32_4x3x8_b0
// CHECK-NOT:     _any_
// CHECK:         return
func.func @whole_tiles(%a: memref<?x64xf32>, %b: memref<64x24xf32>, %c: memref<?x24xf32>) {
  tile.brgemm ins(%a, %b : memref<?x64xf32>, memref<64x24xf32>)
      outs(%c : memref<?x24xf32>) row_multiple 8 register_tile [4, 3]
  return
}

// Ten rows at a time are 4 + 3 + 3, as ten rows alone are.
// CHECK-LABEL: func.func @even_blocks
// CHECK:         scf.for
// CHECK:           call @tenon_brgemm_f32_4x3x8_b0
// CHECK:           scf.for
// CHECK:             call @tenon_brgemm_f32_3x3x8_b0
// CHECK-NOT:     _any_
// CHECK:         return
func.func @even_blocks(%a: memref<?x64xf32>, %b: memref<64x24xf32>, %c: memref<?x24xf32>) {
  tile.brgemm ins(%a, %b : memref<?x64xf32>, memref<64x24xf32>)
      outs(%c : memref<?x24xf32>) row_multiple 10 register_tile [4, 3]
  return
}

// Even rows have even blocks: three heights of six.
// CHECK-LABEL: func.func @even_heights
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0{{.*}}_any_2to6by2x2to2(
func.func @even_heights(%a: memref<?x64xf32>, %b: memref<64x16xf32>, %c: memref<?x16xf32>) {
  tile.brgemm ins(%a, %b : memref<?x64xf32>, memref<64x16xf32>)
      outs(%c : memref<?x16xf32>) row_multiple 2 register_tile [6, 2]
  return
}

// Divisors that would make low blocks do not count: of 5 rows 3 + 2, of 7 rows
// at a time 4 + 3 of 6.
// CHECK-LABEL: func.func @low_blocks
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0{{.*}}_any_1to4x3to3(
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0{{.*}}_any_1to6x2to2(
func.func @low_blocks(%a: memref<?x64xf32>, %b: memref<64x24xf32>, %c: memref<?x24xf32>, %d: memref<64x16xf32>, %e: memref<?x16xf32>) {
  tile.brgemm ins(%a, %b : memref<?x64xf32>, memref<64x24xf32>)
      outs(%c : memref<?x24xf32>) row_multiple 5 register_tile [4, 3]
  tile.brgemm ins(%a, %d : memref<?x64xf32>, memref<64x16xf32>)
      outs(%e : memref<?x16xf32>) row_multiple 7 register_tile [6, 2]
  return
}

// At most three rows are one block.
// CHECK-LABEL: func.func @few
// CHECK-NOT:     scf.for
// CHECK:         call @tenon_brgemm_f32_0x0x8_b0{{.*}}_any_1to3x3to3(
func.func @few(%a: memref<?x64xf32>, %b: memref<64x24xf32>, %c: memref<?x24xf32>) {
  tile.brgemm ins(%a, %b : memref<?x64xf32>, memref<64x24xf32>)
      outs(%c : memref<?x24xf32>) max_rows 3
  return
}

// The kernel of two rows, whose number is a multiple of its own height.
// CHECK-LABEL: func.func private @tenon_brgemm_f32_0x0x8_b0{{.*}}_any_2to6by2x2to2(
// CHECK:         arith.subi
// CHECK:         arith.divsi
// CHECK:         scf.index_switch
// CHECK:         case 0
// CHECK-NEXT:      func.call @tenon_brgemm_f32_2x2x8_b0
// CHECK:         case 1
// CHECK-NEXT:      func.call @tenon_brgemm_f32_4x2x8_b0
// CHECK:         case 2
// CHECK-NEXT:      func.call @tenon_brgemm_f32_6x2x8_b0
