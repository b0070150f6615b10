// RUN: tenon-opt %s --split-input-file --tenon-vectorize-generic=remarks=true --verify-diagnostics | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// A maximum that may miss a NaN is a compare and a select, in the loop and when
// the partial results are put together.
// CHECK-LABEL: func @greatest
// CHECK:         scf.for
// CHECK:           %[[ABOVE:.*]] = arith.cmpf ogt, %[[OLD:.*]], %[[NEW:.*]] : vector<8xf32>
// CHECK:           arith.select %[[ABOVE]], %[[OLD]], %[[NEW]] : vector<8xi1>, vector<8xf32>
// CHECK:         arith.cmpf ogt, %{{.*}} : vector<8xf32>
// CHECK:         vector.shuffle
// CHECK:         arith.cmpf ogt, %{{.*}} : vector<4xf32>
// CHECK-NOT:     arith.maximumf
func.func @greatest(%x: memref<256xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : memref<256xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf ogt, %o, %a : f32
    %r = arith.select %c, %o, %a : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// This keeps the smaller one where a comparison says larger, which is no order
// of elements that lanes could share.
// CHECK-LABEL: func @last
// CHECK-NOT:     vector
func.func @last(%x: memref<256xf32>, %y: memref<f32>) {
  // expected-remark @+1 {{scalar loops: no loop can be vectors}}
  linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : memref<256xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf uge, %o, %a : f32
    %r = arith.select %c, %a, %o : f32
    linalg.yield %r : f32
  }
  return
}
