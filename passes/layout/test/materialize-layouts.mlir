// RUN: tenon-opt %s --split-input-file --tenon-materialize-layouts | FileCheck %s

#t = #graph.layout<strided, [1, 4]>
#u = #graph.layout<strided, [32, 1]>

// Strides of the caller's buffers move to arguments and results; inside, types
// are plain.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %{{.*}}: tensor<4x8xf32> {graph.property = "constant", tile.strides = array<i64: 1, 4>}, %{{[a-z0-9]+}}: tensor<4x8xf32>)
// CHECK-SAME:    -> (tensor<4x8xf32> {tile.strides = array<i64: 32, 1>})
// CHECK-NEXT:    graph.Add %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NOT:     #graph.layout
func.func @main(%x: tensor<4x8xf32, #t> {graph.property = "constant"}, %y: tensor<4x8xf32>) -> tensor<4x8xf32, #u> {
  %0 = graph.Add %x, %y : (tensor<4x8xf32, #t>, tensor<4x8xf32>) -> tensor<4x8xf32, #u>
  return %0 : tensor<4x8xf32, #u>
}

// -----

// `any` says nothing about memory: no strides.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     tile.strides
// CHECK:         graph.ReLU %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32, #graph.layout<any>> {
  %0 = graph.ReLU %x : (tensor<4x8xf32>) -> tensor<4x8xf32, #graph.layout<any>>
  return %0 : tensor<4x8xf32, #graph.layout<any>>
}

// -----

// Declines: nothing to move.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%{{.*}}: tensor<4x8xf32> {graph.property = "constant"}) -> tensor<4x8xf32> {
func.func @main(%x: tensor<4x8xf32> {graph.property = "constant"}) -> tensor<4x8xf32> {
  %0 = graph.ReLU %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
