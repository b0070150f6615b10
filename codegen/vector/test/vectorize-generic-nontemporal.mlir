// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=256 --tenon-vectorize-generic | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#rows = affine_map<(d0, d1) -> (d0, d1)>

// Whole vectors go past the caches where the output begins with a line; what
// is left over does not. The stores are done before the function returns.
// CHECK-LABEL: func @long
// CHECK:         %[[BITS:.*]] = arith.andi
// CHECK:         %[[LINE:.*]] = arith.cmpi eq, %[[BITS]]
// CHECK:         scf.if %[[LINE]] {
// CHECK:           vector.store {{.*}}alignment = 32 : i64, nontemporal = true
// CHECK:           vector.maskedstore
// CHECK:         } else {
// CHECK-NOT:       nontemporal
// CHECK:         llvm.fence seq_cst
// CHECK-NEXT:    return
func.func @long(%x: memref<1003xf32>, %y: memref<1003xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%x : memref<1003xf32>) outs(%y : memref<1003xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#rows = affine_map<(d0, d1) -> (d0, d1)>

// Declines: rows begin inside lines; bytes fill no register.
// CHECK-LABEL: func @odd
// CHECK-NOT:     nontemporal
// CHECK-NOT:     llvm.fence
func.func @odd(%x: memref<4x40xf32>, %y: memref<4x40xf32, strided<[44, 1]>>, %z: memref<4x40xi8>, %v: memref<4x40xi8>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%x : memref<4x40xf32>) outs(%y : memref<4x40xf32, strided<[44, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%z : memref<4x40xi8>) outs(%v : memref<4x40xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  }
  return
}

// -----

#rows = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func @even
// CHECK:         nontemporal = true
func.func @even(%x: memref<4x40xf32>, %y: memref<4x40xf32, strided<[48, 1]>>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%x : memref<4x40xf32>) outs(%y : memref<4x40xf32, strided<[48, 1]>>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Neighbours that two rows make, side by side, are whole lines, too; not where
// rows are no whole lines.
// CHECK-LABEL: func @interleaved
// CHECK:         scf.if
// CHECK:           vector.store {{.*}} {alignment = 32 : i64, nontemporal = true} : {{.*}} vector<16xf32>
// CHECK:         } else {
// CHECK-NOT:       nontemporal
// CHECK-LABEL: func @interleaved_parts
// CHECK-NOT:     nontemporal
// CHECK:         return
func.func @interleaved(%x: memref<4x64x2xf32, strided<[128, 1, 64]>>, %y: memref<4x64x2xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%x : memref<4x64x2xf32, strided<[128, 1, 64]>>) outs(%y : memref<4x64x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
func.func @interleaved_parts(%x: memref<4x61x2xf32, strided<[128, 1, 64]>>, %y: memref<4x61x2xf32>) {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel", "parallel"], codegen.nontemporal = array<i64: 0>}
      ins(%x : memref<4x61x2xf32, strided<[128, 1, 64]>>) outs(%y : memref<4x61x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
