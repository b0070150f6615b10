// RUN: tenon-opt %s --split-input-file --tenon-vectorize-generic --cse | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// 67 = 2 x 32 + 0 x 8 + 3: four vectors at a time, then a masked remainder.
// CHECK-LABEL: func @elementwise
// CHECK:         scf.for
// CHECK-COUNT-4:   vector.load {{.*}} vector<8xf32>
// CHECK-COUNT-4:   arith.addf {{.*}} vector<8xf32>
// CHECK-COUNT-4:   vector.store
// CHECK:         vector.create_mask
// CHECK:         vector.maskedload
// CHECK:         vector.maskedstore
// CHECK-NOT:     linalg
func.func @elementwise(%x: memref<67xf32>, %y: memref<67xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<67xf32>) outs(%y : memref<67xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %a : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Vector accumulators along the contiguous reduction, one fold at the end.
// CHECK-LABEL: func @row_sum
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK:           vector.shuffle
// CHECK:           vector.extract
// CHECK:           memref.store
func.func @row_sum(%x: memref<5x256xf32>, %y: memref<5xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<5x256xf32>) outs(%y : memref<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>

// The contiguous dim is parallel: vectors of columns, the reduction inside.
// CHECK-LABEL: func @column_sum
// CHECK:         scf.for {{.*}} step %c64
// CHECK-COUNT-8:   vector.load
// CHECK:           scf.for {{.*}} iter_args
// CHECK-NOT:     vector.shuffle
func.func @column_sum(%x: memref<300x256xf32>, %y: memref<256xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<300x256xf32>) outs(%y : memref<256xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#t = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Eight loads, three rounds of eight shuffles, eight stores: no scalars.
// CHECK-LABEL: func @transpose
// CHECK-NOT:     memref.load
// CHECK-COUNT-2: call @tenon_transpose_f32_8x8
// CHECK-NOT:     memref.store
// CHECK:       func private @tenon_transpose_f32_8x8
// CHECK-COUNT-8: llvm.load
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: llvm.store
// CHECK-NOT:   func private
func.func @transpose(%x: memref<64x32xf32>, %y: memref<32x64xf32>) {
  linalg.generic {indexing_maps = [#t, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x32xf32>) outs(%y : memref<32x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// The per-row scalar is loaded once, outside the vector loop.
// CHECK-LABEL: func @broadcast
// CHECK:         scf.for
// CHECK:           memref.load
// CHECK:           scf.for
// CHECK-NOT:         memref.load
// CHECK:             vector.broadcast
func.func @broadcast(%x: memref<7x64xf32>, %s: memref<7x1xf32>,
                     %y: memref<7x64xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<7x64xf32>, memref<7x1xf32>)
      outs(%y : memref<7x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows of a table: the row number is a scalar, the row a vector.
// CHECK-LABEL: func @lookup
// CHECK:         %[[ROW:.*]] = memref.load {{.*}} memref<?xi32>
// CHECK:         vector.load %{{.*}}[{{.*}}] : memref<100x64xf32>, vector<8xf32>
func.func @lookup(%t: memref<100x64xf32>, %x: memref<5xi32>,
                  %y: memref<5x64xf32>) {
  linalg.generic {indexing_maps = [#row, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<5xi32>) outs(%y : memref<5x64xf32>) {
  ^bb0(%a: i32, %o: f32):
    %i = arith.index_cast %a : i32 to index
    %j = linalg.index 1 : index
    %r = memref.load %t[%i, %j] : memref<100x64xf32>
    linalg.yield %r : f32
  }
  return
}

// -----

#all = affine_map<(d0, d1) -> (d0, d1)>

// An index that is cast at once is a vector of the narrow type.
// CHECK-LABEL: func @indices
// CHECK-DAG:     %[[STEP:.*]] = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
// CHECK:         %[[IV:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:         %[[B:.*]] = vector.broadcast %[[IV]] : i32 to vector<8xi32>
// CHECK:         arith.addi %[[B]], %[[STEP]] : vector<8xi32>
// CHECK:         vector.store {{.*}} vector<8xi32>
func.func @indices(%y: memref<5x64xi32>) {
  linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]}
      outs(%y : memref<5x64xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 1 : index
    %c = arith.index_cast %i : index to i32
    linalg.yield %c : i32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// Of seven rows four and three are asked to pass together over the columns.
// CHECK-LABEL: func @jam
// CHECK:         scf.for
// CHECK-COUNT-4:   arith.mulf
// CHECK-COUNT-4:   vector.store
// CHECK:         scf.for
// CHECK-COUNT-3:   arith.mulf
// CHECK-NOT:       arith.mulf
// CHECK-COUNT-3:   vector.store
func.func @jam(%x: memref<7x64xf32>, %w: memref<64xf32>,
                 %y: memref<7x64xf32>) {
  linalg.generic {indexing_maps = [#id, #col, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : memref<7x64xf32>, memref<64xf32>)
      outs(%y : memref<7x64xf32>) attrs = {codegen.jam = 0 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A long computation: the main loop loads the next vectors before it stores.
// CHECK-LABEL: func @ahead
// CHECK:         %[[FIRST:.*]] = vector.load
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %[[FIRST]],
// CHECK:           %[[NEXT:.*]] = vector.load
// CHECK:           math.exp %[[X]]
// CHECK:           vector.store
// CHECK:           scf.yield %[[NEXT]],
func.func @ahead(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A short one does not, nor one of narrow floats.
// CHECK-LABEL: func @narrow
// CHECK-NOT:     iter_args
// CHECK-LABEL: func @short
// CHECK-NOT:     iter_args
func.func @narrow(%x: memref<4096xbf16>, %y: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4096xbf16>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  }
  return
}
func.func @short(%x: memref<4096xf32>, %y: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4096xf32>) outs(%y : memref<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#rows = affine_map<(k, n, i) -> (k, i, n)>
#id = affine_map<(k, n, i) -> (k, n, i)>

// Pairs of rows side by side: one shuffle and one store for eight of them.
// CHECK-LABEL: func @groups_of_rows
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.load {{.*}} vector<8xbf16>
// CHECK:           vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
// CHECK-NEXT:      vector.store {{.*}} vector<16xbf16>
// CHECK-NOT:     memref.store
func.func @groups_of_rows(%x: memref<32x2x48xbf16>, %y: memref<32x48x2xbf16>) {
  linalg.generic {indexing_maps = [#rows, #id],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<32x2x48xbf16>) outs(%y : memref<32x48x2xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    linalg.yield %a : bf16
  }
  return
}

// -----

#across = affine_map<(k, n, i) -> (n, k, i)>
#id = affine_map<(k, n, i) -> (k, n, i)>

// Groups lie together on both sides: tiles of words.
// CHECK-LABEL: func @groups_that_move
// CHECK-NOT:     memref.load
// CHECK:         call @tenon_transpose_i8g4_8x8
// CHECK-NOT:     memref.store
// CHECK:       func private @tenon_transpose_i8g4_8x8
// CHECK-COUNT-8: llvm.load {{.*}} vector<8xi32>
func.func @groups_that_move(%x: memref<48x16x4xi8>, %y: memref<16x48x4xi8>) {
  linalg.generic {indexing_maps = [#across, #id],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<48x16x4xi8>) outs(%y : memref<16x48x4xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  }
  return
}

// -----

// Both members of a group are one element: a vector interleaved with itself.
// CHECK-LABEL: func @repeated
// CHECK:         %[[V:.*]] = vector.load {{.*}} vector<8xf32>
// CHECK:         vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
// CHECK:         vector.store {{.*}} vector<16xf32>
func.func @repeated(%x: memref<64xf32>, %y: memref<64x2xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>,
                                   affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64xf32>) outs(%y : memref<64x2xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#planes = affine_map<(p, c) -> (c, p)>
#id = affine_map<(p, c) -> (p, c)>

// The colours of pixels: three vectors become one.
// CHECK-LABEL: func @colours
// CHECK-NOT:     memref.load
// CHECK-COUNT-3: vector.load {{.*}} vector<8xf32>
// CHECK:         vector.store {{.*}} vector<24xf32>
func.func @colours(%x: memref<3x64xf32>, %y: memref<64x3xf32>) {
  linalg.generic {indexing_maps = [#planes, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<3x64xf32>) outs(%y : memref<64x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#pixels = affine_map<(c, p) -> (p, c)>
#id = affine_map<(c, p) -> (c, p)>

// And planes from them: three vectors, of which the last ends with the last
// colour.
// CHECK-LABEL: func @planes
// CHECK-NOT:     memref.load
// CHECK-COUNT-3: vector.load {{.*}} vector<8xf32>
// CHECK-NOT:     memref.load
// CHECK:         vector.store {{.*}} vector<8xf32>
func.func @planes(%x: memref<64x3xf32>, %y: memref<3x64xf32>) {
  linalg.generic {indexing_maps = [#pixels, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x3xf32>) outs(%y : memref<3x64xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#rows = affine_map<(k, n, i) -> (k, i, n)>
#id = affine_map<(k, n, i) -> (k, n, i)>

// What the output holds is added to: it is taken apart, not put together.
// CHECK-LABEL: func @groups_that_are_read
// CHECK:         vector.shuffle
// CHECK-NOT:     vector.store
// CHECK:         memref.store
// CHECK-NOT:     vector.store
// CHECK:         return
func.func @groups_that_are_read(%x: memref<32x2x48xi16>,
                                %y: memref<32x48x2xi16>) {
  linalg.generic {indexing_maps = [#rows, #id],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<32x2x48xi16>) outs(%y : memref<32x48x2xi16>) {
  ^bb0(%a: i16, %o: i16):
    %r = arith.addi %a, %o : i16
    linalg.yield %r : i16
  }
  return
}

// -----

#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#weights = affine_map<(d0, d1, d2) -> (d1, d2)>
#sums = affine_map<(d0, d1, d2) -> (d0, d1)>

// A window of three taps over rows of 16 channels: two vectors, and of 14 rows
// 5, 5 and 4 at a time, for which the weights are loaded once.
// CHECK-LABEL: func @window
// CHECK:         scf.for
// CHECK-COUNT-10:  vector.load
// CHECK:           scf.for {{.*}} iter_args
// CHECK-COUNT-10:    arith.addf
// CHECK-NOT:         arith.addf
// CHECK:             scf.yield
// CHECK-COUNT-10:  vector.store
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-8:   arith.addf
// CHECK-NOT:       arith.addf
// CHECK:           scf.yield
func.func @window(%x: memref<14x16x3xf32, strided<[16, 1, 16]>>, %w: memref<16x3xf32, strided<[1, 16]>>, %y: memref<14x16xf32>) {
  linalg.generic {indexing_maps = [#rows, #weights, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<14x16x3xf32, strided<[16, 1, 16]>>, memref<16x3xf32, strided<[1, 16]>>) outs(%y : memref<14x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// A pool shares nothing: a row at a time.
// CHECK-LABEL: func @pool
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} iter_args({{[^,]*}}, {{[^,]*}}) ->
func.func @pool(%x: memref<14x16x3xf32, strided<[16, 1, 16]>>, %y: memref<14x16xf32>) {
  linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<14x16x3xf32, strided<[16, 1, 16]>>) outs(%y : memref<14x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#run = affine_map<(d0, d1, d2) -> (d0, (d1 floordiv 4) * 4 + 2, d2)>
#weights = affine_map<(d0, d1, d2) -> (d1, d2)>
#sums = affine_map<(d0, d1, d2) -> (d0, d1)>

// Four neighbours read the third element of their run: a vector of them, spread
// over its lanes. These take registers: of seven rows four and three.
// CHECK-LABEL: func @runs
// CHECK:         scf.for {{.*}} iter_args
// CHECK:           vector.shuffle {{.*}} [2, 2, 2, 2, 6, 6, 6, 6]
// CHECK-COUNT-4:   arith.addf
// CHECK-NOT:       arith.addf
// CHECK:           scf.yield
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-3:   arith.addf
// CHECK-NOT:       arith.addf
// CHECK:           scf.yield
func.func @runs(%x: memref<7x8x3xf32, strided<[8, 1, 56]>>, %w: memref<8x3xf32, strided<[1, 8]>>, %y: memref<7x8xf32>) {
  linalg.generic {indexing_maps = [#run, #weights, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<7x8x3xf32, strided<[8, 1, 56]>>, memref<8x3xf32, strided<[1, 8]>>) outs(%y : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// Of 15 vectors strips of five: the rows pass over one before the next. Not
// where rows meet few sets of L1, or are prefetched.
// CHECK-LABEL: func @strips
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c120{{.*}} step %c40
// CHECK:           scf.for
// CHECK-COUNT-4:     vector.store
// CHECK-LABEL: func @few_sets
// CHECK-NOT:     step %c64
// CHECK:         return
// CHECK-LABEL: func @prefetched
// CHECK-NOT:     step %c40
// CHECK-COUNT-4: memref.prefetch
// CHECK:         return
func.func @strips(%x: memref<4x120xf32>, %w: memref<120xf32>, %y: memref<4x120xf32>) {
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : memref<4x120xf32>, memref<120xf32>)
      outs(%y : memref<4x120xf32>) attrs = {codegen.jam = 0 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}
func.func @few_sets(%x: memref<4x512xf32>, %w: memref<512xf32>, %y: memref<4x512xf32>) {
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : memref<4x512xf32>, memref<512xf32>)
      outs(%y : memref<4x512xf32>) attrs = {codegen.jam = 0 : i64} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}
func.func @prefetched(%x: memref<4x120xf32>, %w: memref<120xf32>, %y: memref<4x120xf32>) {
  linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : memref<4x120xf32>, memref<120xf32>)
      outs(%y : memref<4x120xf32>) attrs = {codegen.jam = 0 : i64, codegen.prefetch = array<i64: 480, 0>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.mulf %a, %b : f32
    linalg.yield %r : f32
  }
  return
}
