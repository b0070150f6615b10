// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Channels last: rows of dst are items, a position is one loop over channels of
// four corners.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c6) scratch(%c0) {
// CHECK:           arith.divf {{.*}} : f64
// CHECK:           math.floor {{.*}} : f64
// CHECK:           scf.for
// CHECK:             linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK:             ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
func.func @main(%x: tensor<1x3x3x64xf32>) -> tensor<1x6x6x64xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x3x3x64xf32>) -> tensor<1x6x6x64xf32>
  return %0 : tensor<1x6x6x64xf32>
}
func.func private @g(%x: tensor<1x3x3x64xf32>) -> tensor<1x6x6x64xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "linear", sizes = [6, 6]} : (tensor<1x3x3x64xf32>) -> tensor<1x6x6x64xf32>
  return %0 : tensor<1x6x6x64xf32>
}

// -----

// Channels first and fewer rows than lanes: one loop along a row of dst, which
// loads by index.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c448) scratch(%c0) {
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK:             linalg.index 0
// CHECK:             memref.load
// CHECK-NOT:         memref.load
func.func @main(%x: tensor<1x64x3x3xf32>) -> tensor<1x64x7x6xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x64x3x3xf32>) -> tensor<1x64x7x6xf32>
  return %0 : tensor<1x64x7x6xf32>
}
func.func private @g(%x: tensor<1x64x3x3xf32>) -> tensor<1x64x7x6xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "nearest", sizes = [7, 6], data_format = "NCX"} : (tensor<1x64x3x3xf32>) -> tensor<1x64x7x6xf32>
  return %0 : tensor<1x64x7x6xf32>
}

// -----

// Nearest, and each position of src is two rows and two columns of dst: a copy
// along which src varies in two dims of four.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      outs(%{{.*}} : memref<192x2x3x2xf32, strided<[12, 6, 2, 1]>>)
func.func @main(%x: tensor<1x64x3x3xf32>) -> tensor<1x64x6x6xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x64x3x3xf32>) -> tensor<1x64x6x6xf32>
  return %0 : tensor<1x64x6x6xf32>
}
func.func private @g(%x: tensor<1x64x3x3xf32>) -> tensor<1x64x6x6xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "nearest", sizes = [6, 6], data_format = "NCX"} : (tensor<1x64x3x3xf32>) -> tensor<1x64x6x6xf32>
  return %0 : tensor<1x64x6x6xf32>
}

// -----

// Channels first: rows of src are lanes. Transposed, blended along columns,
// transposed back, blended along rows; no load by index.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%c64) scratch(
// CHECK-NOT:       memref.load
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins({{.*}}memref<8x8xf32, strided<[1, 8]
// CHECK:           scf.for {{.*}} to %c16
// CHECK:             linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins({{.*}}memref<8x16xf32, strided<[1, 16]
// CHECK:           scf.for
// CHECK:             linalg.generic {{.*}} iterator_types = ["parallel"]}
func.func @main(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x16x16xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x64x8x8xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}
func.func private @g(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x16x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "linear", sizes = [16, 16], data_format = "NCX"} : (tensor<1x64x8x8xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}

// -----

// A band of the fewest rows would take 2.5 MiB: loaded by index.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(%c0) {
// CHECK:             memref.load
func.func @main(%x: tensor<1x2x8x20000xf32>) -> tensor<1x2x8x20001xf32> {
  %0 = call @g(%x) {tile.label = "up"} : (tensor<1x2x8x20000xf32>) -> tensor<1x2x8x20001xf32>
  return %0 : tensor<1x2x8x20001xf32>
}
func.func private @g(%x: tensor<1x2x8x20000xf32>) -> tensor<1x2x8x20001xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "linear", sizes = [8, 20001], data_format = "NCX"} : (tensor<1x2x8x20000xf32>) -> tensor<1x2x8x20001xf32>
  return %0 : tensor<1x2x8x20001xf32>
}

// -----

// Dst skips more than every second row: loaded by index.
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items({{.*}}) scratch(%c0) {
// CHECK:             memref.load
func.func @main(%x: tensor<1x64x33x8xf32>) -> tensor<1x64x16x16xf32> {
  %0 = call @g(%x) {tile.label = "down"} : (tensor<1x64x33x8xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}
func.func private @g(%x: tensor<1x64x33x8xf32>) -> tensor<1x64x16x16xf32> attributes {tile.group = #tile.group<window>} {
  %0 = graph.Interpolate %x {mode = "linear", sizes = [16, 16], data_format = "NCX"} : (tensor<1x64x33x8xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}
