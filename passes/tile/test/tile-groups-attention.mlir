// RUN: tenon-opt %s --split-input-file --tenon-set-target=fields=matrix_unit=true --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// 200 queries are three blocks of at most 72. All scores of a block are in
// scratch memory, rows an odd number of lines apart: panels of keys, then, four
// rows at a time, score and maximum, exponential and sum. The division is the
// epilogue of the second product. A divisor of all scores is a reciprocal, which
// is exact, or its quotients are corrected.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x200x64xf32>, %[[K:[a-z0-9]+]]: memref<2x16x64x24xf32>, %[[V:[a-z0-9]+]]: memref<2x384x64xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         %[[SIX:.*]] = arith.constant 6 : index
// CHECK:         rt.parallel "g.l" items(%[[SIX]])
// CHECK:           %[[S:.*]] = memref.view %{{.*}} : memref<?xi8> to memref<28800xf32>
// CHECK:           %[[A:.*]] = memref.reinterpret_cast %[[Q]] {{.*}} strides: [64, 1]
// CHECK:           scf.for
// CHECK:             %[[PANEL:.*]] = memref.reinterpret_cast %[[K]] {{.*}} sizes: [64, 24], strides: [24, 1]
// CHECK:             %[[C:.*]] = memref.reinterpret_cast %[[S]] {{.*}}, 24], strides: [400, 1]
// CHECK:             tile.brgemm ins(%[[A]], %[[PANEL]] : {{.*}} outs(%[[C]]
// CHECK:           scf.for %[[CHUNK:[a-z0-9]+]] =
// CHECK-NEXT:        %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT:        %[[START:.*]] = arith.muli %[[CHUNK]], %[[FOUR]]
// CHECK:             %[[COUNT:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK:             %[[RECIPROCAL:.*]] = arith.divf %{{.*}}, %[[D:.*]] : f32
// CHECK:             %[[LEFT:.*]] = math.fma %[[RECIPROCAL]], %[[D]], %{{.*}} : f32
// CHECK:             %[[IS_EXACT:.*]] = arith.cmpf oeq, %[[LEFT]], %{{.*}} : f32
// CHECK:             scf.if %[[IS_EXACT]]
// CHECK:             %[[ROWS:.*]] = memref.reinterpret_cast %[[S]] {{.*}} sizes: [%[[COUNT]], 384], strides: [400, 1]
// CHECK:             linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} {{.*}} attrs = {codegen.jam = 0 : i64}
// CHECK:               %[[P:.*]] = arith.mulf %{{.*}}, %[[RECIPROCAL]] fastmath<contract>
// CHECK:               arith.addf %[[P]], %{{.*}} fastmath<contract>
// CHECK:             else
// CHECK:               %[[R:.*]] = arith.divf %{{.*}}, %[[DIVISOR:.*]] : f32
// CHECK:               %[[Q:.*]] = arith.mulf %[[X:.*]], %[[R]]
// CHECK:               %[[N:.*]] = arith.negf %[[Q]]
// CHECK:               %[[REST:.*]] = math.fma %[[N]], %[[DIVISOR]], %[[X]]
// CHECK:               %[[EXACT:.*]] = math.fma %[[REST]], %[[R]], %[[Q]]
// CHECK:               %[[ISNUMBER:.*]] = arith.cmpf ord, %[[EXACT]], %[[EXACT]]
// CHECK:               %[[D:.*]] = arith.select %[[ISNUMBER]], %[[EXACT]], %[[Q]]
// CHECK:               %[[M:.*]] = arith.addf %[[D]]
// CHECK:               %[[ABOVE:.*]] = arith.cmpf ogt, %[[OLD:.*]], %[[M]]
// CHECK:               %[[MAX:.*]] = arith.select %[[ABOVE]], %[[OLD]], %[[M]]
// CHECK:               linalg.yield %[[M]], %[[MAX]]
// CHECK:             linalg.generic {{.*}} outs(%{{.*}} : memref<?x384xf32, {{.*}}>, memref<?xf32
// CHECK-SAME:          attrs = {codegen.jam = 0 : i64}
// CHECK:               %[[E:.*]] = math.exp %{{.*}} fastmath<reassoc,ninf,afn>
// CHECK:               %[[SUM:.*]] = arith.addf %{{.*}}, %[[E]]
// CHECK:               linalg.yield %[[E]], %[[SUM]]
// CHECK:           arith.divf
// CHECK:           %[[P:.*]] = memref.reinterpret_cast %[[S]] {{.*}}, 384], strides: [400, 1]
// CHECK:           %[[B:.*]] = memref.reinterpret_cast %[[V]] {{.*}} sizes: [384, 64], strides: [64, 1]
// CHECK:           tile.brgemm ins(%[[P]], %[[B]] : {{.*packed = false}}
func.func @main(%q: tensor<2x200x64xf32>, %k: tensor<2x16x64x24xf32>, %v: tensor<2x384x64xf32>, %c: tensor<1xf32>, %m: tensor<2x1x384xf32>) -> tensor<2x200x64xf32> {
  %0 = call @g(%q, %k, %v, %c, %m) {tile.label = "attn"} : (tensor<2x200x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32>, tensor<1xf32>, tensor<2x1x384xf32>) -> tensor<2x200x64xf32>
  return %0 : tensor<2x200x64xf32>
}
func.func private @g(%q: tensor<2x200x64xf32>, %k: tensor<2x16x64x24xf32>, %v: tensor<2x384x64xf32>, %c: tensor<1xf32>, %m: tensor<2x1x384xf32>) -> tensor<2x200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%c, %m) packed inf_as_zero score {
  ^bb0(%x: f32, %row: index, %column: index, %a: f32, %b: f32):
    %0 = arith.divf %x, %a : f32
    %1 = arith.addf %0, %b : f32
    tile.yield %1 : f32
  } : tensor<2x200x64xf32>, tensor<2x16x64x24xf32>, tensor<2x384x64xf32> epilogue_operands(tensor<1xf32>, tensor<2x1x384xf32>) -> tensor<2x200x64xf32>
  return %o : tensor<2x200x64xf32>
}

// -----

// A causal mask is a comparison with the
// row, counted from the first query, and reads no memory.
// CHECK-LABEL: func.func private @causal.l(
// CHECK:         rt.parallel
// CHECK:           %[[FIRST:.*]] = arith.muli
// CHECK:           scf.for
// CHECK:           scf.for %[[CHUNK:[a-z0-9]+]] =
// CHECK:             %[[R:.*]] = arith.muli %[[CHUNK]]
// CHECK:             %[[QUERY:.*]] = arith.addi %[[FIRST]], %[[R]]
// CHECK:             linalg.generic
// CHECK:               %[[I:.*]] = linalg.index 0
// CHECK:               %[[AT:.*]] = arith.addi %[[I]], %[[QUERY]]
// CHECK:               %[[KEY:.*]] = linalg.index 1
// CHECK:               %[[ROW:.*]] = arith.index_cast %[[AT]]
// CHECK:               %[[COLUMN:.*]] = arith.index_cast %[[KEY]]
// CHECK:               arith.cmpi sge, %[[ROW]], %[[COLUMN]]
func.func @main(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>) -> tensor<200x64xf32> {
  %0 = call @causal(%q, %k, %v) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32>) -> tensor<200x64xf32>
  return %0 : tensor<200x64xf32>
}
func.func private @causal(%q: tensor<200x64xf32>, %k: tensor<16x64x24xf32>, %v: tensor<384x64xf32>) -> tensor<200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    %0 = arith.index_cast %row : index to i32
    %1 = arith.index_cast %column : index to i32
    %2 = arith.cmpi sge, %0, %1 : i32
    %low = arith.constant -1.0e+30 : f32
    %3 = arith.select %2, %x, %low : f32
    tile.yield %3 : f32
  } : tensor<200x64xf32>, tensor<16x64x24xf32>, tensor<384x64xf32> -> tensor<200x64xf32>
  return %o : tensor<200x64xf32>
}

// -----

// Rows of 4096 scores are walked in seven steps of 528 keys and one of 400:
// factors of old sums and results, then a product that adds to dst.
// CHECK-LABEL: func.func private @long.l(
// CHECK:         rt.parallel
// CHECK-DAG:       linalg.fill
// CHECK:           scf.for
// CHECK:             tile.brgemm
// CHECK:             arith.cmpf ogt
// CHECK:             %[[F:.*]] = math.exp
// CHECK-NEXT:        arith.mulf %{{.*}}, %[[F]]
// CHECK:             math.exp
// CHECK:             tile.brgemm {{.*}} accumulate {{.*}}packed = false
// CHECK:           tile.brgemm {{.*}} accumulate {{.*}}packed = false
func.func @main(%q: tensor<200x64xf32>, %k: tensor<171x64x24xf32>, %v: tensor<4096x64xf32>) -> tensor<200x64xf32> {
  %0 = call @long(%q, %k, %v) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<171x64x24xf32>, tensor<4096x64xf32>) -> tensor<200x64xf32>
  return %0 : tensor<200x64xf32>
}
func.func private @long(%q: tensor<200x64xf32>, %k: tensor<171x64x24xf32>, %v: tensor<4096x64xf32>) -> tensor<200x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v packed score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<200x64xf32>, tensor<171x64x24xf32>, tensor<4096x64xf32> -> tensor<200x64xf32>
  return %o : tensor<200x64xf32>
}

// -----

// Sums over queries: rows of weights are divided, and each block adds to dst.
// CHECK-LABEL: func.func private @left.l(
// CHECK:         rt.parallel
// CHECK:           linalg.fill
// CHECK:           scf.for
// CHECK:             tile.brgemm
// CHECK:             math.exp
// CHECK:             arith.divf
// CHECK:             linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK:             tile.brgemm ins(%{{.*}} : memref<5x{{.*}} accumulate {{.*}}packed = false
func.func @main(%q: tensor<200x64xf32>, %k: tensor<4x64x24xf32>, %v: tensor<5x200xf32>) -> tensor<5x96xf32> {
  %0 = call @left(%q, %k, %v) {tile.label = "attn"} : (tensor<200x64xf32>, tensor<4x64x24xf32>, tensor<5x200xf32>) -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}
func.func private @left(%q: tensor<200x64xf32>, %k: tensor<4x64x24xf32>, %v: tensor<5x200xf32>) -> tensor<5x96xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v packed from_left score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<200x64xf32>, tensor<4x64x24xf32>, tensor<5x200xf32> -> tensor<5x96xf32>
  return %o : tensor<5x96xf32>
}

// -----

// One query reads keys in place. Two heads are too few items: 4096 keys are 16
// pieces each, and a second section puts the heads together again.
// CHECK-LABEL: func.func @main(
// CHECK:         memref.alloc() : memref<32xf32>
// CHECK:         memref.alloc() : memref<32xf32>
// CHECK:         memref.alloc() : memref<2048xf32>
// CHECK-LABEL: func.func private @few.l(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x1x64xf32>, %[[K:[a-z0-9]+]]: memref<2x64x4096xf32>, %[[V:[a-z0-9]+]]: memref<2x4096x64xf32>
// CHECK-SAME:    %[[DST:[a-z0-9]+]]: memref<2x1x64xf32>, %[[MAXIMA:[a-z0-9]+]]: memref<32xf32>, %[[SUMS:[a-z0-9]+]]: memref<32xf32>, %[[PARTS:[a-z0-9]+]]: memref<2048xf32>
// CHECK:         rt.parallel "few.l" items(%c32)
// CHECK:           %[[KEYS:.*]] = memref.reinterpret_cast %[[K]] {{.*}} sizes: [64, 256], strides: [4096, 1]
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %[[KEYS]] :
// CHECK:             math.fma
// CHECK:           math.exp
// CHECK:           %[[PART:.*]] = memref.reinterpret_cast %[[PARTS]]
// CHECK:           %[[VALUES:.*]] = memref.reinterpret_cast %[[V]] {{.*}} sizes: [256, 64], strides: [64, 1]
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %[[VALUES]] : {{.*}} outs(%[[PART]] :
// CHECK:           memref.reinterpret_cast %[[MAXIMA]]
// CHECK:           linalg.copy
// CHECK:           memref.reinterpret_cast %[[SUMS]]
// CHECK:           linalg.copy
// CHECK:         rt.parallel "few.l" items(%c2)
// CHECK:           %[[F:.*]] = math.exp
// CHECK:           math.fma %[[F]]
// CHECK:           arith.divf
// CHECK:           memref.reinterpret_cast %[[PARTS]] {{.*}} sizes: [1, 16, 64]
// CHECK:           memref.reinterpret_cast %[[DST]]
// CHECK-NOT:     tile.brgemm
func.func @main(%q: tensor<2x1x64xf32>, %k: tensor<2x64x4096xf32>, %v: tensor<2x4096x64xf32>) -> tensor<2x1x64xf32> {
  %0 = call @few(%q, %k, %v) {tile.label = "attn"} : (tensor<2x1x64xf32>, tensor<2x64x4096xf32>, tensor<2x4096x64xf32>) -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}
func.func private @few(%q: tensor<2x1x64xf32>, %k: tensor<2x64x4096xf32>, %v: tensor<2x4096x64xf32>) -> tensor<2x1x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x64xf32>, tensor<2x64x4096xf32>, tensor<2x4096x64xf32> -> tensor<2x1x64xf32>
  return %o : tensor<2x1x64xf32>
}

// -----

// With 32 heads each is one item and nothing has to be put together. A divisor
// that varies along the keys is divided by.
// CHECK-LABEL: func.func private @heads.l(
// CHECK:         rt.parallel "heads.l" items(%c32)
// CHECK:           arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:      arith.cmpf ogt
// CHECK-NOT:     rt.parallel
func.func @main(%q: tensor<32x1x64xf32>, %k: tensor<32x64x512xf32>, %v: tensor<32x512x64xf32>, %d: tensor<512xf32>) -> tensor<32x1x64xf32> {
  %0 = call @heads(%q, %k, %v, %d) {tile.label = "attn"} : (tensor<32x1x64xf32>, tensor<32x64x512xf32>, tensor<32x512x64xf32>, tensor<512xf32>) -> tensor<32x1x64xf32>
  return %0 : tensor<32x1x64xf32>
}
func.func private @heads(%q: tensor<32x1x64xf32>, %k: tensor<32x64x512xf32>, %v: tensor<32x512x64xf32>, %d: tensor<512xf32>) -> tensor<32x1x64xf32> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%d) score {
  ^bb0(%x: f32, %row: index, %column: index, %a: f32):
    %0 = arith.divf %x, %a : f32
    tile.yield %0 : f32
  } : tensor<32x1x64xf32>, tensor<32x64x512xf32>, tensor<32x512x64xf32> epilogue_operands(tensor<512xf32>) -> tensor<32x1x64xf32>
  return %o : tensor<32x1x64xf32>
}

// -----

// In bf16 the quotient of a reciprocal is exact enough, weights are rounded as
// they are written, and the next panel of keys is on its way.
// CHECK-LABEL: func.func private @narrow.l(
// CHECK:           tile.brgemm {{.*}} prefetch_next
// CHECK:             %[[R:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:        %[[D:.*]] = arith.mulf %{{.*}}, %[[R]] fastmath<contract>
// CHECK-NEXT:        arith.cmpf ogt, %{{.*}}, %[[D]]
// CHECK:             math.exp %{{.*}} fastmath<reassoc,ninf,afn>
// CHECK:             arith.truncf %{{.*}} fastmath<afn> : f32 to bf16
func.func @main(%q: tensor<2x96x64xbf16>, %k: tensor<2x12x32x32x2xbf16>, %v: tensor<2x2x192x32x2xbf16>, %c: tensor<1xbf16>) -> tensor<2x96x64xbf16> {
  %0 = call @narrow(%q, %k, %v, %c) {tile.label = "attn"} : (tensor<2x96x64xbf16>, tensor<2x12x32x32x2xbf16>, tensor<2x2x192x32x2xbf16>, tensor<1xbf16>) -> tensor<2x96x64xbf16>
  return %0 : tensor<2x96x64xbf16>
}
func.func private @narrow(%q: tensor<2x96x64xbf16>, %k: tensor<2x12x32x32x2xbf16>, %v: tensor<2x2x192x32x2xbf16>, %c: tensor<1xbf16>) -> tensor<2x96x64xbf16> attributes {tile.group = #tile.group<attention>} {
  %o = tile.attention %q, %k, %v epilogue_operands(%c) packed score {
  ^bb0(%x: f32, %row: index, %column: index, %a: bf16):
    %w = arith.extf %a : bf16 to f32
    %0 = arith.divf %x, %w : f32
    tile.yield %0 : f32
  } {interleave = 2 : i64, keys = 384 : i64} : tensor<2x96x64xbf16>, tensor<2x12x32x32x2xbf16>, tensor<2x2x192x32x2xbf16> epilogue_operands(tensor<1xbf16>) -> tensor<2x96x64xbf16>
  return %o : tensor<2x96x64xbf16>
}
