// RUN: tenon-opt %s --split-input-file --tenon-vectorize-generic=remarks=true --verify-diagnostics | FileCheck %s
// RUN: not tenon-opt %s --split-input-file --tenon-set-target=fields=vector_bits=64 --tenon-vectorize-generic 2>&1 | FileCheck %s --check-prefix=BITS

// BITS: vectors must have 128 bits or more, have 64

#id = affine_map<(d0) -> (d0)>
#div = affine_map<(d0) -> (d0 floordiv 2)>

// CHECK-LABEL: func @not_linear
// CHECK:         linalg.generic
func.func @not_linear(%x: memref<4xf32>, %y: memref<8xf32>) {
  // expected-remark @+1 {{left alone: indexing map is not linear}}
  linalg.generic {indexing_maps = [#div, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A body with control flow: scalar loops.
// CHECK-LABEL: func @branch
// CHECK:         scf.for
// CHECK-NOT:     vector
// CHECK:         scf.if
func.func @branch(%t: memref<?xf32>, %x: memref<8xi8>, %y: memref<8xf32>) {
  %zero = arith.constant 0 : i8
  // expected-remark @+1 {{scalar loops: body operation scf.if has no vector form}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<8xi8>) outs(%y : memref<8xf32>) {
  ^bb0(%a: i8, %o: f32):
    %c = arith.cmpi ne, %a, %zero : i8
    %i = linalg.index 0 : index
    %r = scf.if %c -> f32 {
      %e = memref.load %t[%i] : memref<?xf32>
      scf.yield %e : f32
    } else {
      scf.yield %o : f32
    }
    linalg.yield %r : f32
  }
  return
}

// -----

// Tensors are not ours.
// CHECK-LABEL: func @tensors
// CHECK:         linalg.generic
func.func @tensors(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#run = affine_map<(d0) -> ((d0 floordiv 4) * 4, d0)>
#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func @runs_in_two_indices
// CHECK:         linalg.generic
func.func @runs_in_two_indices(%x: memref<?x?xf32, strided<[?, 1]>>, %y: memref<8xf32>) {
  // expected-remark @+1 {{left alone: a loop with runs in two indices}}
  linalg.generic {indexing_maps = [#run, #id], iterator_types = ["parallel"]}
      ins(%x : memref<?x?xf32, strided<[?, 1]>>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
