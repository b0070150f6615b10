// RUN: tenon-opt %s --split-input-file --tenon-tile-groups --mlir-print-local-scope | FileCheck %s

// A transpose is a buffer with other strides; the group is lowered for them.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x8xf32> {tile.role = #tile.role<input>}, %[[Y:[a-z0-9]+]]: memref<8x4xf32>
// CHECK-NOT:     alloc
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [8, 4], strides: [1, 8]
// CHECK-NEXT:    call @g.l(%[[T]], %[[Y]])
// CHECK-LABEL: func.func private @g.l(
// CHECK-SAME:    memref<8x4xf32, strided<[1, 8]>>
func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %0 = call @g(%t) {tile.label = "exp"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @g(%x: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Splitting heads: reshape of a dense buffer, transpose, no copy.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     copy
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [2, 4, 3, 8], strides: [96, 8, 32, 1]
// CHECK-NOT:     copy
// CHECK:         call @g.l(%[[T]]
func.func @main(%x: tensor<2x3x32xf32>) -> tensor<2x4x3x8xf32> {
  %r = graph.StaticReshape %x {shape = [2, 3, 4, 8], special_zero = false} : (tensor<2x3x32xf32>) -> tensor<2x3x4x8xf32>
  %t = graph.StaticTranspose %r {order = [0, 2, 1, 3]} : (tensor<2x3x4x8xf32>) -> tensor<2x4x3x8xf32>
  %0 = call @g(%t) {tile.label = "exp"} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %0 : tensor<2x4x3x8xf32>
}
func.func private @g(%x: tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %0 : tensor<2x4x3x8xf32>
}

// -----

// No strides can flatten a transposed matrix: it is copied first.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x8xf32> {tile.role = #tile.role<input>}, %[[Y:[a-z0-9]+]]: memref<32xf32>
// CHECK:         %[[D:.*]] = memref.alloc() : memref<8x4xf32>
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [8, 4], strides: [1, 8]
// CHECK:         call @{{.*}}(%[[T]], %[[D]]) {tile.label = "copy"}
// CHECK:         %[[F:.*]] = memref.reinterpret_cast %[[D]] to offset: [0], sizes: [32], strides: [1]
// CHECK:         call @g.l(%[[F]], %[[Y]])
func.func @main(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = graph.StaticReshape %t {shape = [32], special_zero = false} : (tensor<8x4xf32>) -> tensor<32xf32>
  %0 = call @g(%r) {tile.label = "exp"} : (tensor<32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @g(%x: tensor<32xf32>) -> tensor<32xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// Strides of the caller's buffers stand in the types; nothing is copied.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x8xf32, strided<[20, 1]>> {tile.role = #tile.role<input>, tile.strides = array<i64: 20, 1>}
// CHECK-SAME:    %[[Y:[a-z0-9]+]]: memref<4x8xf32, strided<[1, 4]>> {tile.role = #tile.role<output>, tile.strides = array<i64: 1, 4>}
// CHECK-NOT:     alloc
// CHECK:         call @g.l(%[[X]], %[[Y]])
// CHECK-LABEL: func.func private @g.l(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
func.func @main(%x: tensor<4x8xf32> {tile.strides = array<i64: 20, 1>}) -> (tensor<4x8xf32> {tile.strides = array<i64: 1, 4>}) {
  %0 = call @g(%x) {tile.label = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func private @g(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// One function per combination of layouts: the dense calls share theirs.
// CHECK-LABEL: func.func @main(
// CHECK:         call @g.l(
// CHECK:         call @g.l(
// CHECK:         call @g.l1(
// CHECK-DAG:   func.func private @g.l(%{{.*}}: memref<8x8xf32>, %{{.*}}: memref<8x8xf32>)
// CHECK-DAG:   func.func private @g.l1(%{{.*}}: memref<8x8xf32, strided<[1, 8]>>, %{{.*}}: memref<8x8xf32>)
// CHECK-NOT:   @g(
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @g(%x) {tile.label = "a"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @g(%0) {tile.label = "b"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = graph.StaticTranspose %1 {order = [1, 0]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = call @g(%t) {tile.label = "c"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func private @g(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// A dynamic batch: sizes of temporaries come from the arguments.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x8xf32>
// CHECK:         %[[N:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[T:.*]] = memref.alloc(%[[N]]) : memref<?x8xf32>
// CHECK:         call @g.l(%[[X]], %{{.*}}, %[[T]])
// CHECK:         call @g.l(%[[T]], %{{.*}}, %{{.*}})
// CHECK-LABEL: func.func private @g.l(
// CHECK:         rt.parallel "g.l" items(%{{[0-9]+}})
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = call @g(%x, %y) {tile.label = "a"} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = call @g(%0, %y) {tile.label = "b"} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
func.func private @g(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Add %x, %y : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Booleans are bytes, signed integers are plain ones in memory.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %{{.*}}: memref<4xi32> {{.*}}, %{{.*}}: memref<4xi8> {tile.role = #tile.role<output>}
// CHECK:         arith.cmpi sge
func.func @main(%x: tensor<4xsi32>) -> tensor<4xi1> {
  %0 = call @g(%x) {tile.label = "ge"} : (tensor<4xsi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
func.func private @g(%x: tensor<4xsi32>) -> tensor<4xi1> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.GreaterEqual %x, %x : (tensor<4xsi32>, tensor<4xsi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// A result that is a view is written as its group computes it; others read it
// there.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<4x8xf32> {tile.role = #tile.role<input>}, %[[Y:[a-z0-9]+]]: memref<8x4xf32, strided<[1, 8]>> {{.*}}, %[[Z:[a-z0-9]+]]: memref<4x8xf32>
// CHECK-NOT:     alloc
// CHECK:         %[[V:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4, 8], strides: [8, 1]
// CHECK:         call @g.l(%[[X]], %[[V]])
// CHECK:         call @g.l(%{{.*}}, %[[Z]])
func.func @main(%x: tensor<4x8xf32>) -> (tensor<8x4xf32> {tile.strides = array<i64: 1, 8>}, tensor<4x8xf32>) {
  %0 = call @g(%x) {tile.label = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = call @g(%0) {tile.label = "exp2"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<4x8xf32>
}
func.func private @g(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Narrow floats that are only moved are neither widened nor rounded.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    memref<4x8xbf16>
// CHECK:         linalg.generic
// CHECK:           ^bb0(%[[IN:.*]]: bf16, %{{.*}}: bf16):
// CHECK:           linalg.yield %[[IN]] : bf16
func.func @main(%x: tensor<4x8xbf16>) -> tensor<8x4xbf16> {
  %t = graph.StaticTranspose %x {order = [1, 0]} : (tensor<4x8xbf16>) -> tensor<8x4xbf16>
  %0 = call @g(%t) {tile.label = "copy"} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}
func.func private @g(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.Reorder %x : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// -----

// What is computed is rounded, though ReLU gives one of its operands.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    memref<4x8xbf16>
// CHECK:         linalg.generic
// CHECK:           arith.truncf {{.*}} : f32 to bf16
func.func @main(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = call @g(%x) {tile.label = "relu"} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}
func.func private @g(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {tile.group = #tile.group<elementwise>} {
  %0 = graph.ReLU %x : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// -----

// What a row keeps lies as its input does: channels together here.
// CHECK-LABEL: func.func private @norm.l(
// CHECK:         rt.parallel
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK:           memref.view %{{.*}} to memref<35x6xf32>
// CHECK-NOT:       memref<6x35xf32>
func.func @main(%x: tensor<1x6x5x7xf32> {tile.strides = array<i64: 210, 1, 42, 6>}) -> (tensor<1x6x5x7xf32> {tile.strides = array<i64: 210, 1, 42, 6>}) {
  %0 = call @norm(%x) {tile.label = "norm"} : (tensor<1x6x5x7xf32>) -> tensor<1x6x5x7xf32>
  return %0 : tensor<1x6x5x7xf32>
}
func.func private @norm(%x: tensor<1x6x5x7xf32>) -> tensor<1x6x5x7xf32> attributes {tile.group = #tile.group<reduction>} {
  %0 = graph.SoftMax %x {axis = 1 : i64} : (tensor<1x6x5x7xf32>) -> tensor<1x6x5x7xf32>
  return %0 : tensor<1x6x5x7xf32>
}

// -----

// A slice of a slice is a part of the whole buffer: sizes that are not known
// leave a part without a size of its own.
// CHECK-LABEL: func.func @main(%arg0: memref<?x4x6xf32>
// CHECK:         rt.part %[[X:.*]][6] : memref<?x4x6xf32> to memref<1xf32>
// CHECK:         rt.part %[[X]][7] : memref<?x4x6xf32> to memref<1xf32>
func.func @main(%x: tensor<?x4x6xf32>) -> tensor<?x2x3xf32> {
  %0 = graph.Exp %x : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  %1 = tile.slice %0 at [0, 1, 0] by [1, 2, 1] : tensor<?x4x6xf32> -> tensor<?x2x6xf32>
  %2 = tile.slice %1 at [0, 0, 1] by [1, 1, 2] : tensor<?x2x6xf32> -> tensor<?x2x3xf32>
  %3 = graph.Exp %2 : (tensor<?x2x3xf32>) -> tensor<?x2x3xf32>
  return %3 : tensor<?x2x3xf32>
}
