// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=256 --tenon-vectorize-generic | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>

// Each line of the next row once, and none for what is left of a row.
// CHECK-LABEL: func @rows
// CHECK:         scf.for
// CHECK:           arith.constant 1000 : index
// CHECK:           memref.prefetch {{.*}}, read, locality<2>, data
// CHECK:           memref.prefetch
// CHECK-NOT:       memref.prefetch
func.func @rows(%x: memref<1003xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [#id, #one], iterator_types = ["reduction"], codegen.prefetch = array<i64: 1000>}
      ins(%x : memref<1003xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

#plane = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// Rows that are added up in registers: each prefetches as much as it reads.
// CHECK-LABEL: func @columns
// CHECK:         scf.for
// CHECK:           arith.constant 512 : index
// CHECK-COUNT-2:   memref.prefetch
// CHECK-NOT:       memref.prefetch
// CHECK:           scf.yield
func.func @columns(%x: memref<8x32xf32>, %y: memref<32xf32>) {
  linalg.generic {indexing_maps = [#plane, #column], iterator_types = ["reduction", "parallel"], codegen.prefetch = array<i64: 512>}
      ins(%x : memref<8x32xf32>) outs(%y : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#across = affine_map<(d0, d1) -> (d1, d0)>
#rows = affine_map<(d0, d1) -> (d0, d1)>

// A tile that is transposed prefetches the one so far after it.
// CHECK-LABEL: func @across
// CHECK:         %[[AHEAD:.*]] = llvm.mlir.constant(1024 : i64)
// CHECK:         call @tenon_transpose_f32_8x8_f({{.*}}, %[[AHEAD]])
// CHECK:       func private @tenon_transpose_f32_8x8_f
// CHECK-COUNT-8: "llvm.intr.prefetch"
// CHECK-NOT:     prefetch
func.func @across(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#across, #rows], iterator_types = ["parallel", "parallel"], codegen.prefetch = array<i64: 1024>}
      ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
