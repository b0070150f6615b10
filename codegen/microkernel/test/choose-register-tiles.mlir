// RUN: tenon-opt %s --tenon-choose-register-tiles | FileCheck %s
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,matrix_unit=true --tenon-choose-register-tiles | FileCheck %s --check-prefix=UNIT

// CHECK-LABEL: func @floats
// CHECK:         outs(%{{.*}} : memref<10x24xf32>) register_tile [4, 3]
// UNIT-LABEL:  func @floats
// UNIT:          outs(%{{.*}} : memref<10x24xf32>) register_tile
func.func @floats(%a: memref<10x64xf32>, %b: memref<64x24xf32>, %c: memref<10x24xf32>) {
  tile.brgemm ins(%a, %b : memref<10x64xf32>, memref<64x24xf32>)
      outs(%c : memref<10x24xf32>)
  return
}

// Pairs of bf16 are for a matrix unit.
// CHECK-LABEL: func @pairs
// CHECK:         outs(%{{.*}} : memref<32x32xf32>) register_tile
// UNIT-LABEL:  func @pairs
// UNIT:          outs(%{{.*}} : memref<32x32xf32>) matrix_unit{{$}}
func.func @pairs(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>) {
  tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>)
      outs(%c : memref<32x32xf32>)
  return
}

// Two rows are not.
// UNIT-LABEL:  func @few_rows
// UNIT:          outs(%{{.*}} : memref<2x32xf32>) register_tile
func.func @few_rows(%a: memref<2x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<2x32xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xbf16>, memref<32x32x2xbf16>)
      outs(%c : memref<2x32xf32>)
  return
}

// What is written stays.
// CHECK-LABEL: func @given
// CHECK:         register_tile [2, 1]
func.func @given(%a: memref<10x64xf32>, %b: memref<64x24xf32>, %c: memref<10x24xf32>) {
  tile.brgemm ins(%a, %b : memref<10x64xf32>, memref<64x24xf32>)
      outs(%c : memref<10x24xf32>) register_tile [2, 1]
  return
}
