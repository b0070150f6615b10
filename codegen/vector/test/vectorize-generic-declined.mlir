// RUN: tenon-opt %s --split-input-file --tenon-vectorize-generic=remarks=true --verify-diagnostics | FileCheck %s
// RUN: not tenon-opt %s --split-input-file --tenon-vectorize-generic=vector-bits=100 2>&1 | FileCheck %s --check-prefix=BITS

// BITS: vector-bits must be 128, 256 or 512, got 100

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

// Data-dependent addresses: scalar loops.
// CHECK-LABEL: func @lookup
// CHECK:         scf.for
// CHECK-NOT:     vector
// CHECK:         memref.load
func.func @lookup(%t: memref<?xf32>, %x: memref<8xindex>, %y: memref<8xf32>) {
  // expected-remark @+1 {{scalar loops: body operation memref.load has no vector form}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<8xindex>) outs(%y : memref<8xf32>) {
  ^bb0(%i: index, %o: f32):
    %r = memref.load %t[%i] : memref<?xf32>
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
