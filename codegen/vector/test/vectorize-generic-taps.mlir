// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=512 --tenon-vectorize-generic --cse | FileCheck %s

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// The 9 taps of kernels, neighbours in what is read and apart in what is
// written: tiles of 8 x 8, and the last tap on its own.
// CHECK-LABEL: func @apart
// CHECK:         scf.for
// CHECK:           call @tenon_transpose_f32_8x8
// CHECK:         return
// CHECK:       func private @tenon_transpose_f32_8x8
func.func @apart(%x: memref<9x4x48xf32, strided<[1, 432, 9]>>, %y: memref<9x4x48xf32, strided<[4096, 48, 1]>>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<9x4x48xf32, strided<[1, 432, 9]>>) outs(%y : memref<9x4x48xf32, strided<[4096, 48, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// The other way round: neighbours in what is written.
// CHECK-LABEL: func @together
// CHECK:         call @tenon_transpose_f32_8x8
func.func @together(%x: memref<32x4x9xf32, strided<[1, 64, 4096]>>, %y: memref<32x4x9xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<32x4x9xf32, strided<[1, 64, 4096]>>) outs(%y : memref<32x4x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Declines: 7 taps fill no tile.
// CHECK-LABEL: func @few
// CHECK-NOT:     call @tenon_transpose
// CHECK:         return
func.func @few(%x: memref<7x4x48xf32, strided<[1, 336, 7]>>, %y: memref<7x4x48xf32, strided<[4096, 48, 1]>>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<7x4x48xf32, strided<[1, 336, 7]>>) outs(%y : memref<7x4x48xf32, strided<[4096, 48, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
