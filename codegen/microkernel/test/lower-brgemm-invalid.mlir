// RUN: tenon-opt %s --split-input-file --tenon-lower-brgemm --verify-diagnostics

func.func @no_unit(%a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>, %c: memref<32x32xf32>) {
  // expected-error @+1 {{matrix_unit is set, but the target has none or the product does not fill its tiles}}
  tile.brgemm ins(%a, %b : memref<32x64xbf16>, memref<32x32x2xbf16>)
      outs(%c : memref<32x32xf32>) matrix_unit
  return
}

// -----

func.func @registers(%a: memref<10x64xf32>, %b: memref<64x32xf32>, %c: memref<10x32xf32>) {
  // expected-error @+1 {{register_tile takes 29 registers, the target has 16}}
  tile.brgemm ins(%a, %b : memref<10x64xf32>, memref<64x32xf32>)
      outs(%c : memref<10x32xf32>) register_tile [6, 4]
  return
}
