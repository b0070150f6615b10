// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A softmax: one item per row here; the maximum, then exponentials and their sum
// in one pass, in scratch, then the result. Nothing but the result goes to
// memory. The maximum may miss a NaN, for the sum does not.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<64x128xf32>, %[[Y:[a-z0-9]+]]: memref<64x128xf32>)
// CHECK:         rt.parallel "g.l" items(%c64) scratch(%[[BYTES:.*]]) {
// CHECK:         ^bb0(%{{.*}}: index, %{{.*}}: index, %[[MEM:.*]]: memref<?xi8>):
// CHECK:           %[[MAX:.*]] = memref.view %[[MEM]]{{.*}} to memref<f32>
// CHECK:           linalg.yield %{{.*}} : f32
// CHECK:           %[[ROW:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [128], strides: [1]
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[ROW]] : {{.*}} outs(%[[MAX]] :
// CHECK:             %[[ABOVE:.*]] = arith.cmpf ogt, %[[OLD:.*]], %[[NEW:.*]] : f32
// CHECK:             arith.select %[[ABOVE]], %[[OLD]], %[[NEW]]
// CHECK:           %[[E:.*]] = memref.view %[[MEM]]{{.*}} to memref<128xf32>
// CHECK:           %[[SUM:.*]] = memref.view %[[MEM]]{{.*}} to memref<f32>
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}}, %[[MAX]] : {{.*}} outs(%[[E]], %[[SUM]] :
// CHECK:             arith.subf
// CHECK:             %[[X:.*]] = math.exp %{{.*}} fastmath<reassoc,ninf,afn>
// CHECK:             %[[S:.*]] = arith.addf %{{.*}}, %[[X]]
// CHECK:             linalg.yield %[[X]], %[[S]]
// CHECK:           arith.divf
// CHECK:           %[[OUT:.*]] = memref.reinterpret_cast %[[Y]]
// CHECK:           linalg.generic {{.*}} outs(%[[OUT]] :
// CHECK:             arith.mulf
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = call @g(%x) {tile.label = "softmax"} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}
func.func private @g(%x: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// -----

// Dense elementwise work is one dimension, whatever its shape was; a chain of
// operations is one loop body without memory between them.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%{{.*}}) scratch(%c0)
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK:           %[[E:.*]] = math.exp
// CHECK:           %[[A:.*]] = arith.addf %[[E]], %{{.*}}
// CHECK:           linalg.yield %[[A]]
// CHECK-NOT:     linalg.generic
func.func @main(%x: tensor<2x3x5xf32>, %y: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %0 = call @g(%x, %y) {tile.label = "ew"} : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
func.func private @g(%x: tensor<2x3x5xf32>, %y: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %1 = graph.Add %0, %y : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// -----

// A broadcast operand keeps the dimension it runs along apart.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x3x5xf32>, %[[B:[a-z0-9]+]]: memref<5xf32>
// CHECK:         linalg.generic {{.*}}indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]
func.func @main(%x: tensor<2x3x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = call @g(%x, %b) {tile.label = "bias"} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
func.func private @g(%x: tensor<2x3x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Add %x, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// Concat is a copy per operand, into its part of the result.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<4x5xf32>)
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4, 2], strides: [5, 1]
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[Y]] to offset: [2], sizes: [4, 3], strides: [5, 1]
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = call @g(%x, %y) {tile.label = "concat"} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
func.func private @g(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> attributes {tile.group = #tile.group<concat>} {
  %0 = graph.Concat %x, %y {axis = 1} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// Sums over rows: eight at a time, all columns of them, then the rest; the sums
// wait in memory.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<100x1024xf32>, %[[Y:[a-z0-9]+]]: memref<1024xf32>)
// CHECK:         rt.parallel "g.l" items(%c1)
// CHECK:           scf.for
// CHECK:             %[[SUM:.*]] = memref.reinterpret_cast %[[Y]]
// CHECK:             scf.for %{{.*}} = %c0{{.*}} to %c12
// CHECK:               %[[ROWS:.*]] = memref.reinterpret_cast %[[X]] {{.*}} sizes: [8, 1024], strides: [1024, 1]
// CHECK:               linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[ROWS]]
// CHECK:             memref.reinterpret_cast %[[X]] {{.*}} sizes: [4, 1024], strides: [1024, 1]
// CHECK:             linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
func.func @main(%x: tensor<100x1024xf32>) -> tensor<1024xf32> {
  %0 = call @g(%x) {tile.label = "sum"} : (tensor<100x1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
func.func private @g(%x: tensor<100x1024xf32>) -> tensor<1024xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0]} : (tensor<100x1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// Packing 40 columns in panels of 24: a full panel, the 16 columns of the
// second one, and zeros beyond them.
// CHECK-LABEL: func.func @fold(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<8x40xf32>, %[[P:[a-z0-9]+]]: memref<2x8x24xf32>)
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[W]] to offset: [0], sizes: [8, 24], strides: [40, 1]
// CHECK:           memref.reinterpret_cast %[[P]] to offset: [0], sizes: [8, 24], strides: [24, 1]
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[W]] to offset: [24], sizes: [8, 16], strides: [40, 1]
// CHECK:           memref.reinterpret_cast %[[P]] to offset: [192], sizes: [8, 16], strides: [24, 1]
// CHECK:         rt.parallel
// CHECK:           memref.reinterpret_cast %[[P]] to offset: [208], sizes: [8, 8], strides: [24, 1]
// CHECK:           arith.constant 0.0
func.func @fold(%w: tensor<8x40xf32>) -> tensor<2x8x24xf32> {
  %0 = call @g(%w) {tile.label = "pack"} : (tensor<8x40xf32>) -> tensor<2x8x24xf32>
  return %0 : tensor<2x8x24xf32>
}
func.func private @g(%w: tensor<8x40xf32>) -> tensor<2x8x24xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.pack %w panel 24 : tensor<8x40xf32> -> tensor<2x8x24xf32>
  return %0 : tensor<2x8x24xf32>
}

// -----

// A pool reads windows in place: a tap of all windows of a row of dst is a box,
// the two beside each other are in one loop.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<1x8x8x16xf32>
// CHECK-COUNT-2: memref.reinterpret_cast %[[X]] {{.*}} sizes: [4, 16, %{{.*}}], strides: [32, 1, 128]
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-COUNT-2:   arith.select
// CHECK-NEXT:      linalg.yield
func.func @main(%x: tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32> {
  %0 = call @g(%x) {tile.label = "pool"} : (tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}
func.func private @g(%x: tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.MaxPool %x {kernel = [2, 2], strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0]} : (tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// -----

// The last tap comes first: backwards through the weights, forwards through
// what is written.
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: memref<3x5x8x16xf32>, %[[F:[a-z0-9]+]]: memref<3x5x8x16xf32>)
// CHECK:         memref.reinterpret_cast %[[W]] to offset: [1792], sizes: [15, 128], strides: [-128, 1]
// CHECK:         memref.reinterpret_cast %[[F]] to offset: [0], sizes: [15, 128], strides: [128, 1]
func.func @main(%w: tensor<3x5x8x16xf32>) -> tensor<3x5x8x16xf32> {
  %0 = call @g(%w) {tile.label = "flip"} : (tensor<3x5x8x16xf32>) -> tensor<3x5x8x16xf32>
  return %0 : tensor<3x5x8x16xf32>
}
func.func private @g(%w: tensor<3x5x8x16xf32>) -> tensor<3x5x8x16xf32> attributes {tile.group = #tile.group<pack>} {
  %0 = tile.flip %w : tensor<3x5x8x16xf32>
  return %0 : tensor<3x5x8x16xf32>
}
