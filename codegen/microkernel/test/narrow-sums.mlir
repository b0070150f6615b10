// RUN: tenon-opt %s --split-input-file --tenon-lower-brgemm="vector-bits=512 num-vector-registers=32" | FileCheck %s

// The instruction that adds up products of bf16 makes denormal sums 0, so that
// rounding them may do so, too; behind a bias and a bound as well.
// CHECK-LABEL: func.func private @tenon_brgemm_bf16
// CHECK-COUNT-8: arith.truncf %{{.*}} fastmath<afn> : vector<16xf32> to vector<16xbf16>
// CHECK-NOT:     arith.truncf
func.func @sums(%a: memref<4x64xbf16>, %b: memref<32x32x2xbf16>, %bias: memref<32xf32>, %c: memref<4x32xbf16>) {
  tile.brgemm ins(%a, %b : memref<4x64xbf16>, memref<32x32x2xbf16>)
      sides(%bias : memref<32xf32>) maps [affine_map<(m, n) -> (n)>]
      outs(%c : memref<4x32xbf16>) epilogue {
  ^bb0(%acc: f32, %x: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %acc, %x : f32
    %1 = arith.cmpf olt, %0, %zero : f32
    %2 = arith.select %1, %zero, %0 : f32
    %3 = arith.truncf %2 : f32 to bf16
    tile.yield %3 : bf16
  }
  return
}

// -----

// A factor may make what is no denormal sum one that counts.
// CHECK-LABEL: func.func private @tenon_brgemm_bf16
// CHECK-NOT:     fastmath
// CHECK-COUNT-8: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
func.func @scaled(%a: memref<4x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<4x32xbf16>) {
  tile.brgemm ins(%a, %b : memref<4x64xbf16>, memref<32x32x2xbf16>)
      outs(%c : memref<4x32xbf16>) epilogue {
  ^bb0(%acc: f32):
    %s = arith.constant 1.0e-30 : f32
    %0 = arith.mulf %acc, %s : f32
    %1 = arith.truncf %0 : f32 to bf16
    tile.yield %1 : bf16
  }
  return
}

// -----

// Sums of plain multiplications keep denormal numbers.
// CHECK-LABEL: func.func private @tenon_brgemm_f32
// CHECK-NOT:     fastmath
// CHECK:         arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
func.func @floats(%a: memref<4x64xf32>, %b: memref<64x32xf32>, %c: memref<4x32xbf16>) {
  tile.brgemm ins(%a, %b : memref<4x64xf32>, memref<64x32xf32>)
      outs(%c : memref<4x32xbf16>) epilogue {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  }
  return
}
