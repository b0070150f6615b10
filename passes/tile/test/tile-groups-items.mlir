// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// Sums over rows that nobody reads again: whole rows, eight at a time.
// CHECK-LABEL: func.func private @once.l(
// CHECK:         rt.parallel "once.l" items(%c1)
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [8, 512], strides: [512, 1]
func.func @main(%x: tensor<128x512xf32>) -> tensor<1x512xf32> {
  %0 = call @once(%x) {tile.label = "mean"} : (tensor<128x512xf32>) -> tensor<1x512xf32>
  return %0 : tensor<1x512xf32>
}
func.func private @once(%x: tensor<128x512xf32>) -> tensor<1x512xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceMean %x {axes = [0], keep_dims = true} : (tensor<128x512xf32>) -> tensor<1x512xf32>
  return %0 : tensor<1x512xf32>
}

// -----

// Declines: nobody knows how many rows. Items of 128 columns, half a kilobyte
// of each row.
// CHECK-LABEL: func.func private @unknown.l(
// CHECK:         rt.parallel "unknown.l" items(%c4)
// CHECK:           memref.reinterpret_cast %{{.*}}, 128], strides: [512, 1]
func.func @main(%x: tensor<?x512xf32>) -> tensor<512xf32> {
  %0 = call @unknown(%x) {tile.label = "sum"} : (tensor<?x512xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}
func.func private @unknown(%x: tensor<?x512xf32>) -> tensor<512xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [0]} : (tensor<?x512xf32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// -----

// A softmax over rows reads its columns again: items of 32 columns, 16 KiB.
// CHECK-LABEL: func.func private @again.l(
// CHECK:         rt.parallel "again.l" items(%c16)
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [128, 32], strides: [512, 1]
func.func @main(%x: tensor<128x512xf32>) -> tensor<128x512xf32> {
  %0 = call @again(%x) {tile.label = "softmax"} : (tensor<128x512xf32>) -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}
func.func private @again(%x: tensor<128x512xf32>) -> tensor<128x512xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 0} : (tensor<128x512xf32>) -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}

// -----

// What is read across rows is read in whole cache lines: 16 rows and not the 8
// that make an item.
// CHECK-LABEL: func.func private @across.l(
// CHECK:         memref.reinterpret_cast %{{.*}} sizes: [16, 2000], strides: [1, 2000]
func.func @main(%x: tensor<2000x2000xf32>) -> tensor<2000x2000xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<2000x2000xf32>) -> tensor<2000x2000xf32>
  %0 = call @across(%t) {tile.label = "relu"} : (tensor<2000x2000xf32>) -> tensor<2000x2000xf32>
  return %0 : tensor<2000x2000xf32>
}
func.func private @across(%x: tensor<2000x2000xf32>) -> tensor<2000x2000xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<2000x2000xf32>) -> tensor<2000x2000xf32>
  return %0 : tensor<2000x2000xf32>
}

// -----

// From 16 MiB on in blocks, of which neighbours share the rows that are read.
// CHECK-LABEL: func.func private @blocks.l(
// CHECK:         rt.parallel "blocks.l" items(%c1024)
// CHECK:           arith.remui %{{.*}}, %c64
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [64, 256], strides: [1, 4096]
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [64, 256], strides: [4096, 1]
func.func @main(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %0 = call @blocks(%t) {tile.label = "relu"} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
func.func private @blocks(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// -----

// So, too, where rows would be single ones, each with one element of a line:
// here the last two dimensions are one run of 32 x 20.
// CHECK-LABEL: func.func private @runs.l(
// CHECK:         rt.parallel "runs.l" items(%c160)
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [32, 160], strides: [1, 1280]
// CHECK:           memref.reinterpret_cast %{{.*}} sizes: [32, 160], strides: [25600, 1]
func.func @main(%x: tensor<32x20x40x32xf32>) -> tensor<32x40x32x20xf32> {
  %t = graph.StaticTranspose %x {order = [3, 2, 0, 1]} : (tensor<32x20x40x32xf32>) -> tensor<32x40x32x20xf32>
  %0 = call @runs(%t) {tile.label = "relu"} : (tensor<32x40x32x20xf32>) -> tensor<32x40x32x20xf32>
  return %0 : tensor<32x40x32x20xf32>
}
func.func private @runs(%x: tensor<32x40x32x20xf32>) -> tensor<32x40x32x20xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<32x40x32x20xf32>) -> tensor<32x40x32x20xf32>
  return %0 : tensor<32x40x32x20xf32>
}

// -----

// Rows of both operands: five rows are an item.
// CHECK-LABEL: func.func private @along.l(
// CHECK:         memref.reinterpret_cast %{{.*}} sizes: [5, 3000], strides: [3000, 1]
func.func @main(%x: tensor<3000x3000xf32>, %b: tensor<3000xf32>) -> tensor<3000x3000xf32> {
  %0 = call @along(%x, %b) {tile.label = "add"} : (tensor<3000x3000xf32>, tensor<3000xf32>) -> tensor<3000x3000xf32>
  return %0 : tensor<3000x3000xf32>
}
func.func private @along(%x: tensor<3000x3000xf32>, %b: tensor<3000xf32>) -> tensor<3000x3000xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Add %x, %b : (tensor<3000x3000xf32>, tensor<3000xf32>) -> tensor<3000x3000xf32>
  return %0 : tensor<3000x3000xf32>
}

// -----

// Two sums of one pass over the same rows.
// CHECK-LABEL: func.func private @together.l(
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}}) outs(%{{.*}}, %{{.*}} :
// CHECK:           %[[A:.*]] = arith.addf
// CHECK:           %[[B:.*]] = arith.addf
// CHECK:           linalg.yield %[[A]], %[[B]]
// CHECK-NOT:     iterator_types = ["reduction"]
func.func @main(%x: tensor<64x128xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>) {
  %0:2 = call @together(%x) {tile.label = "sums"} : (tensor<64x128xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>)
  return %0#0, %0#1 : tensor<64x1xf32>, tensor<64x1xf32>
}
func.func private @together(%x: tensor<64x128xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>) attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceSum %x {axes = [1], keep_dims = true} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %1 = graph.ReduceL1 %x {axes = [1], keep_dims = true} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  return %0, %1 : tensor<64x1xf32>, tensor<64x1xf32>
}

// -----

// A variance needs the mean: another pass. A maximum by itself keeps NaN.
// CHECK-LABEL: func.func private @apart.l(
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]}
// CHECK:           arith.maximumf
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]}
// CHECK:           arith.subf
// CHECK:           arith.addf
func.func @main(%x: tensor<64x128xf32>) -> tensor<64x1xf32> {
  %0 = call @apart(%x) {tile.label = "apart"} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  return %0 : tensor<64x1xf32>
}
func.func private @apart(%x: tensor<64x128xf32>) -> tensor<64x1xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.ReduceMax %x {axes = [1], keep_dims = true} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %1 = graph.Subtract %x, %0 : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
  %2 = graph.ReduceSum %1 {axes = [1], keep_dims = true} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  return %2 : tensor<64x1xf32>
}

// -----

// Rows across memory: 32 columns of 128 rows stay in L1; where all of the space
// takes a megabyte and items are left, 128 columns wait in L2.
// CHECK-LABEL: func.func private @near.l(
// CHECK:         rt.parallel "near.l" items(%c8)
// CHECK-LABEL: func.func private @far.l(
// CHECK:         rt.parallel "far.l" items(%c32)
func.func @main(%x: tensor<1x128x256xf32>, %y: tensor<4x128x1024xf32>) -> (tensor<1x128x256xf32>, tensor<4x128x1024xf32>) {
  %0 = call @near(%x) {tile.label = "near"} : (tensor<1x128x256xf32>) -> tensor<1x128x256xf32>
  %1 = call @far(%y) {tile.label = "far"} : (tensor<4x128x1024xf32>) -> tensor<4x128x1024xf32>
  return %0, %1 : tensor<1x128x256xf32>, tensor<4x128x1024xf32>
}
func.func private @near(%x: tensor<1x128x256xf32>) -> tensor<1x128x256xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<1x128x256xf32>) -> tensor<1x128x256xf32>
  return %0 : tensor<1x128x256xf32>
}
func.func private @far(%x: tensor<4x128x1024xf32>) -> tensor<4x128x1024xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1} : (tensor<4x128x1024xf32>) -> tensor<4x128x1024xf32>
  return %0 : tensor<4x128x1024xf32>
}
