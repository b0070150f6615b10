// RUN: tenon-opt %s --split-input-file --tenon-pack-weights | FileCheck %s

// Few rows and weights that change with every execution: streams of up to 16
// rows, dots of up to 4. A view of weights shows how they lie.
// CHECK-LABEL: func @streams
// CHECK-SAME:    %[[X:.*]]: tensor<16x64xf32>, %[[W:.*]]: tensor<64x96xf32>)
// CHECK-NEXT:    tile.matmul %[[X]], %[[W]] in_place : {{.*}} -> tensor<16x96xf32>
func.func @streams(%x: tensor<16x64xf32>, %w: tensor<64x96xf32>) -> tensor<16x96xf32> {
  %0 = graph.MatMul %x, %w : (tensor<16x64xf32>, tensor<64x96xf32>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}

// -----

// CHECK-LABEL: func @dots
// CHECK:         %[[T:.*]] = graph.StaticTranspose %arg1
// CHECK-NEXT:    tile.matmul %arg0, %[[T]] in_place
func.func @dots(%x: tensor<3x4x64xf32>, %w: tensor<3x96x64xf32>) -> tensor<3x4x96xf32> {
  %t = graph.StaticTranspose %w {order = [0, 2, 1]} : (tensor<3x96x64xf32>) -> tensor<3x64x96xf32>
  %0 = graph.MatMul %x, %t : (tensor<3x4x64xf32>, tensor<3x64x96xf32>) -> tensor<3x4x96xf32>
  return %0 : tensor<3x4x96xf32>
}

// -----

// The caller's strides say how weights lie.
// CHECK-LABEL: func @strided
// CHECK-NEXT:    tile.matmul %arg0, %arg1 in_place
func.func @strided(%x: tensor<4x64xf32>, %w: tensor<64x96xf32> {tile.strides = array<i64: 1, 64>}) -> tensor<4x96xf32> {
  %0 = graph.MatMul %x, %w : (tensor<4x64xf32>, tensor<64x96xf32>) -> tensor<4x96xf32>
  return %0 : tensor<4x96xf32>
}

// -----

// One column: rows of src are read once, as dots.
// CHECK-LABEL: func @column
// CHECK-DAG:     %[[X:.*]] = graph.StaticTranspose %arg0 {{.*}} -> tensor<64x128xf32>
// CHECK-DAG:     %[[W:.*]] = graph.StaticTranspose %arg1 {{.*}} -> tensor<1x64xf32>
// CHECK:         %[[Y:.*]] = tile.matmul %[[W]], %[[X]] in_place : {{.*}} -> tensor<1x128xf32>
// CHECK:         graph.StaticReshape %[[Y]] {{.*}} -> tensor<128x1xf32>
func.func @column(%x: tensor<128x64xf32>, %w: tensor<64x1xf32> {graph.property = "constant"}) -> tensor<128x1xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x1xf32>) -> tensor<128x1xf32>
  return %0 : tensor<128x1xf32>
}

// -----

// Declines: a row too many; a dot too many; batches that share a matrix are
// rows, too; weights that are constant or folded.
// CHECK-LABEL: func @packed
// CHECK-NOT:     in_place
func.func @packed(%x: tensor<17x64xf32>, %w: tensor<64x96xf32>, %y: tensor<5x64xf32>, %u: tensor<96x64xf32>, %z: tensor<9x2x64xf32>,
                  %c: tensor<64x96xf32> {graph.property = "constant"}, %d: tensor<64x96xf32> {tile.folded})
    -> (tensor<17x96xf32>, tensor<5x96xf32>, tensor<9x2x96xf32>, tensor<5x96xf32>, tensor<5x96xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<17x64xf32>, tensor<64x96xf32>) -> tensor<17x96xf32>
  %t = graph.StaticTranspose %u {order = [1, 0]} : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %1 = graph.MatMul %y, %t : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  %2 = graph.MatMul %z, %w : (tensor<9x2x64xf32>, tensor<64x96xf32>) -> tensor<9x2x96xf32>
  %3 = graph.MatMul %y, %c : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  %4 = graph.MatMul %y, %d : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  return %0, %1, %2, %3, %4 : tensor<17x96xf32>, tensor<5x96xf32>, tensor<9x2x96xf32>, tensor<5x96xf32>, tensor<5x96xf32>
}

// -----

// Declines: other types, unknown sizes, a constant src of one column.
// CHECK-LABEL: func @others
// CHECK-NOT:     in_place
func.func @others(%x: tensor<4x64xbf16>, %w: tensor<64x96xbf16>, %y: tensor<?x64xf32>, %u: tensor<64x96xf32>,
                  %c: tensor<128x64xf32> {graph.property = "constant"}, %v: tensor<64x1xf32>)
    -> (tensor<4x96xbf16>, tensor<?x96xf32>, tensor<128x1xf32>) {
  %0 = graph.MatMul %x, %w : (tensor<4x64xbf16>, tensor<64x96xbf16>) -> tensor<4x96xbf16>
  %1 = graph.MatMul %y, %u : (tensor<?x64xf32>, tensor<64x96xf32>) -> tensor<?x96xf32>
  %2 = graph.MatMul %c, %v : (tensor<128x64xf32>, tensor<64x1xf32>) -> tensor<128x1xf32>
  return %0, %1, %2 : tensor<4x96xbf16>, tensor<?x96xf32>, tensor<128x1xf32>
}

// -----

// Declines: a result with strides of the caller's, also through a view.
// CHECK-LABEL: func @results
// CHECK-NOT:     in_place
func.func @results(%x: tensor<2x64xf32>, %a: tensor<64x96xf32>, %b: tensor<96x64xf32>)
    -> (tensor<2x96xf32>, tensor<2x96xf32>, tensor<64x96xf32> {tile.strides = array<i64: 192, 2>}, tensor<64x96xf32> {tile.strides = array<i64: 2, 128>}) {
  %w = graph.ReLU %a : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %0 = graph.MatMul %x, %w : (tensor<2x64xf32>, tensor<64x96xf32>) -> tensor<2x96xf32>
  %u = graph.ReLU %b : (tensor<96x64xf32>) -> tensor<96x64xf32>
  %t = graph.StaticTranspose %u {order = [1, 0]} : (tensor<96x64xf32>) -> tensor<64x96xf32>
  %1 = graph.MatMul %x, %t : (tensor<2x64xf32>, tensor<64x96xf32>) -> tensor<2x96xf32>
  return %0, %1, %w, %t : tensor<2x96xf32>, tensor<2x96xf32>, tensor<64x96xf32>, tensor<64x96xf32>
}
