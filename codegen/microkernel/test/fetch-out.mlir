// RUN: tenon-opt %s --tenon-lower-brgemm | FileCheck %s

// Lines of C, and of a side per element, are fetched before the sums: two rows
// of 24 columns, three vectors of 32 bytes, touch two lines each.
// CHECK-LABEL: func.func @fetch_out
// CHECK:         call @tenon_brgemm_f32_2x3x8_b0{{[_a-z0-9]*}}_fo_e{{[0-9]+}}c
// CHECK:       func.func private @tenon_brgemm_f32_2x3x8_b0{{[_a-z0-9]*}}_fo_e{{[0-9]+}}c
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 1
// CHECK-COUNT-2: "llvm.intr.prefetch"{{.*}}rw = 0
// CHECK-NOT:     prefetch
// CHECK:         scf.for
func.func @fetch_out(%a: memref<2x64xf32>, %b: memref<64x24xf32>,
                     %r: memref<2x24xf32>, %c: memref<2x24xf32>) {
  tile.brgemm ins(%a, %b : memref<2x64xf32>, memref<64x24xf32>)
      sides(%r : memref<2x24xf32>) maps [affine_map<(d0, d1) -> (d0, d1)>]
      outs(%c : memref<2x24xf32>) fetch_out epilogue {
  ^bb0(%acc: f32, %x: f32):
    %0 = arith.addf %acc, %x : f32
    tile.yield %0 : f32
  }
  return
}
