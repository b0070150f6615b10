// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512,num_vector_registers=32 --tenon-lower-brgemm | FileCheck %s

// The instruction that adds up products of bf16 makes denormal sums 0, so that
// rounding them may do so, too; after a bias and a bound as well.
// CHECK-LABEL: func.func private @tenon_brgemm_bf16
// CHECK-COUNT-8: arith.truncf %{{.*}} fastmath<afn> : vector<16xf32> to vector<16xbf16>
// CHECK-NOT:     arith.truncf
func.func @sums(%a: memref<4x64xbf16>, %b: memref<32x32x2xbf16>, %bias: memref<32xf32>, %c: memref<4x32xbf16>) {
  tile.brgemm ins(%a, %b : memref<4x64xbf16>, memref<32x32x2xbf16>)
      epilogue_operands(%bias : memref<32xf32>) maps [affine_map<(m, n) -> (n)>]
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

// -----

// Declines long chains: each addition doubles the paths through what is before.
// CHECK-LABEL: func.func private @tenon_brgemm_bf16
// CHECK-NOT:     fastmath
// CHECK:         arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
func.func @doubled(%a: memref<4x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<4x32xbf16>) {
  tile.brgemm ins(%a, %b : memref<4x64xbf16>, memref<32x32x2xbf16>)
      outs(%c : memref<4x32xbf16>) epilogue {
  ^bb0(%acc: f32):
    %0 = arith.addf %acc, %acc : f32
    %1 = arith.addf %0, %0 : f32
    %2 = arith.addf %1, %1 : f32
    %3 = arith.addf %2, %2 : f32
    %4 = arith.addf %3, %3 : f32
    %5 = arith.addf %4, %4 : f32
    %6 = arith.addf %5, %5 : f32
    %7 = arith.addf %6, %6 : f32
    %8 = arith.addf %7, %7 : f32
    %9 = arith.addf %8, %8 : f32
    %10 = arith.addf %9, %9 : f32
    %11 = arith.addf %10, %10 : f32
    %12 = arith.addf %11, %11 : f32
    %13 = arith.addf %12, %12 : f32
    %14 = arith.addf %13, %13 : f32
    %15 = arith.addf %14, %14 : f32
    %16 = arith.addf %15, %15 : f32
    %17 = arith.addf %16, %16 : f32
    %18 = arith.addf %17, %17 : f32
    %19 = arith.addf %18, %18 : f32
    %20 = arith.addf %19, %19 : f32
    %21 = arith.addf %20, %20 : f32
    %22 = arith.addf %21, %21 : f32
    %23 = arith.addf %22, %22 : f32
    %24 = arith.addf %23, %23 : f32
    %25 = arith.addf %24, %24 : f32
    %26 = arith.addf %25, %25 : f32
    %27 = arith.addf %26, %26 : f32
    %28 = arith.addf %27, %27 : f32
    %29 = arith.addf %28, %28 : f32
    %30 = arith.addf %29, %29 : f32
    %31 = arith.addf %30, %30 : f32
    %32 = arith.addf %31, %31 : f32
    %33 = arith.addf %32, %32 : f32
    %34 = arith.addf %33, %33 : f32
    %35 = arith.addf %34, %34 : f32
    %36 = arith.addf %35, %35 : f32
    %37 = arith.addf %36, %36 : f32
    %38 = arith.addf %37, %37 : f32
    %39 = arith.addf %38, %38 : f32
    %40 = arith.addf %39, %39 : f32
    %r = arith.truncf %40 : f32 to bf16
    tile.yield %r : bf16
  }
  return
}
