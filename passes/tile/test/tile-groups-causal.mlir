// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Keys up to the last that the block's last row sees, in whole panels; all of
// them if a score that replaces others is not far below every maximum, or 0
// times one of the other values is not 0.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         %[[OFFSET:.*]] = memref.load {{.*}} : memref<i32
// CHECK:         %[[MASKED:.*]] = memref.load {{.*}} : memref<f32
// CHECK:         %[[SCALE:.*]] = memref.load {{.*}} : memref<f32
// CHECK:         arith.index_cast %[[OFFSET]]
// CHECK:         %[[HIDDEN:.*]] = arith.mulf %[[MASKED]], %[[SCALE]]
// CHECK:         arith.divui %{{.*}}, %c24
// CHECK:         %[[SEEN:.*]] = scf.while (%[[N:.*]] = %{{.*}}) : (index) -> index {
// CHECK:           arith.muli %[[N]], %c24
// CHECK:           tile.brgemm
// CHECK:           math.exp
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             arith.minimumf
// CHECK:           %[[DISTANCE:.*]] = arith.subf %[[HIDDEN]]
// CHECK:           arith.cmpf olt, %[[DISTANCE]]
// CHECK:           linalg.generic {{.*}}iterator_types = ["reduction", "reduction"]
// CHECK:             arith.mulf %{{.*}}, %cst
// CHECK:           arith.cmpf oeq
// CHECK:           scf.condition
// CHECK:         } do {
// CHECK:         %[[COUNT:.*]] = arith.muli %[[SEEN]]
// CHECK:         memref.reinterpret_cast {{.*}} sizes: [{{.*}}, %[[COUNT]]]
// CHECK:         tile.brgemm
func.func @main(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %a: tensor<1xi32>, %b: tensor<f32>, %c: tensor<1xf32>) -> tensor<200x64xf32> {
  %0 = call @g(%q, %k, %v, %a, %b, %c) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32>, tensor<1xi32>, tensor<f32>, tensor<1xf32>) -> tensor<200x64xf32>
  return %0 : tensor<200x64xf32>
}
func.func private @g(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %a: tensor<1xi32>, %b: tensor<f32>, %c: tensor<1xf32>) -> tensor<200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%a, %b, %c) packed score {
  ^bb0(%x: f32, %row: index, %column: index, %offset: i32, %masked: f32, %scale: f32):
    %r = arith.index_cast %row : index to i32
    %n = arith.index_cast %column : index to i32
    %last = arith.addi %r, %offset : i32
    %sees = arith.cmpi sge, %last, %n : i32
    %s = arith.select %sees, %x, %masked : f32
    %y = arith.mulf %s, %scale : f32
    tile.yield %y : f32
  } : tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32> epilogue_operands(tensor<1xi32>, tensor<f32>, tensor<1xf32>) -> tensor<200x64xf32>
  return %o : tensor<200x64xf32>
}

// -----

// Declines: keys before the row are hidden, not those after it.
// CHECK-LABEL: func.func private @g.l(
// CHECK-NOT:     scf.while
func.func @main(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %b: tensor<f32>) -> tensor<200x64xf32> {
  %0 = call @g(%q, %k, %v, %b) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32>, tensor<f32>) -> tensor<200x64xf32>
  return %0 : tensor<200x64xf32>
}
func.func private @g(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %b: tensor<f32>) -> tensor<200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%b) packed score {
  ^bb0(%x: f32, %row: index, %column: index, %masked: f32):
    %sees = arith.cmpi sle, %row, %column : index
    %s = arith.select %sees, %x, %masked : f32
    tile.yield %s : f32
  } : tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32> epilogue_operands(tensor<f32>) -> tensor<200x64xf32>
  return %o : tensor<200x64xf32>
}

// -----

// Declines: what is hidden varies along the keys.
// CHECK-LABEL: func.func private @g.l(
// CHECK-NOT:     scf.while
func.func @main(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %b: tensor<384xf32>) -> tensor<200x64xf32> {
  %0 = call @g(%q, %k, %v, %b) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32>, tensor<384xf32>) -> tensor<200x64xf32>
  return %0 : tensor<200x64xf32>
}
func.func private @g(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>, %b: tensor<384xf32>) -> tensor<200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%b) packed score {
  ^bb0(%x: f32, %row: index, %column: index, %masked: f32):
    %sees = arith.cmpi sge, %row, %column : index
    %s = arith.select %sees, %x, %masked : f32
    tile.yield %s : f32
  } : tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32> epilogue_operands(tensor<384xf32>) -> tensor<200x64xf32>
  return %o : tensor<200x64xf32>
}
