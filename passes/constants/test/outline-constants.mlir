// RUN: tenon-opt %s --split-input-file --tenon-outline-constants | FileCheck %s

// Work on constant weights is done once; the bias stays an argument, nothing
// is computed from it.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %{{.*}}: tensor<8x16xf32> {graph.property = "constant"}, %[[B:[a-z0-9]+]]: tensor<16xf32> {graph.property = "constant"}, %[[P:[a-z0-9]+]]: tensor<1x8x24xf32> {tile.folded})
// CHECK-NEXT:    %[[M:.*]] = tile.matmul %[[X]], %[[P]]
// CHECK-NEXT:    graph.Add %[[M]], %[[B]]
// CHECK-LABEL: func.func @fold
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x16xf32> {graph.property = "constant"}, %{{.*}}: tensor<16xf32> {graph.property = "constant"}) -> tensor<1x8x24xf32>
// CHECK-NEXT:    %[[R:.*]] = tile.pack %[[W]]
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {graph.property = "constant"},
                %b: tensor<16xf32> {graph.property = "constant"}) -> tensor<4x16xf32> {
  %p = tile.pack %w panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %1 = graph.Add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// A view and a literal move with the one that reads them; a whole chain is one
// result.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     Transpose
// CHECK-NOT:     arith.constant
// CHECK:         tile.matmul
// CHECK-LABEL: func.func @fold
// CHECK-DAG:     arith.constant
// CHECK-DAG:     graph.StaticTranspose
// CHECK:         graph.Multiply
// CHECK:         %[[P:.*]] = tile.pack
// CHECK:         return %[[P]] : tensor<1x8x24xf32>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32> {graph.property = "constant"}) -> tensor<4x16xf32> {
  %c = arith.constant dense<2.0> : tensor<f32>
  %t = graph.StaticTranspose %w {order = [1, 0]} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %s = graph.Multiply %t, %c : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  %p = tile.pack %s panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Declines: a view of a constant costs nothing where it is.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     tile.folded
// CHECK:         graph.StaticTranspose
// CHECK:         graph.Add
// CHECK-NOT:   @fold
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x8xf32> {graph.property = "constant"}) -> tensor<8x16xf32> {
  %t = graph.StaticTranspose %w {order = [1, 0]} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %0 = graph.Add %x, %t : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// Declines: nothing is constant.
// CHECK-LABEL: func.func @main
// CHECK:         tile.pack
// CHECK-NOT:   @fold
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %p = tile.pack %w panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Declines: what also depends on an input does not move, the operations
// around it do not take it along.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %{{.*}}: tensor<8xf32> {tile.folded})
// CHECK-NEXT:    graph.Add
// CHECK-NEXT:    graph.Sqrt
// CHECK-NEXT:    return
// CHECK-LABEL: func.func @fold
// CHECK-NEXT:    graph.Exp
// CHECK-NEXT:    return
func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32> {graph.property = "constant"}) -> tensor<8xf32> {
  %0 = graph.Exp %w : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.Add %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.Sqrt %1 : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A constant of which @main returns a function of itself: the folded value is
// the result.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<8xf32> {tile.folded})
// CHECK-NEXT:    return %[[F]]
func.func @main(%w: tensor<8xf32> {graph.property = "constant"}) -> tensor<8xf32> {
  %0 = graph.Exp %w : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The second run extends @fold: it packs what the first run computed, and the
// intermediate value is no result any more.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %{{.*}}: tensor<8x16xf32> {graph.property = "constant"}, %[[P:[a-z0-9]+]]: tensor<1x8x24xf32> {tile.folded})
// CHECK-NEXT:    tile.matmul %[[X]], %[[P]]
// CHECK-LABEL: func.func @fold
// CHECK-SAME:    -> tensor<1x8x24xf32>
// CHECK-NEXT:    %[[E:.*]] = graph.Exp
// CHECK-NEXT:    %[[R:.*]] = tile.pack %[[E]]
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32> {graph.property = "constant"},
                %e: tensor<8x16xf32> {tile.folded}) -> tensor<4x16xf32> {
  %p = tile.pack %e panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
func.func @fold(%w: tensor<8x16xf32> {graph.property = "constant"}) -> tensor<8x16xf32> {
  %0 = graph.Exp %w : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// ... unless @main still reads it: results and arguments stay in step.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>, %{{.*}}: tensor<8xf32> {graph.property = "constant"}, %[[E:[a-z0-9]+]]: tensor<8xf32> {tile.folded}, %[[S:[a-z0-9]+]]: tensor<8xf32> {tile.folded})
// CHECK-NEXT:    %[[Y:.*]] = graph.Add %[[X]], %[[E]]
// CHECK-NEXT:    graph.Add %[[Y]], %[[S]]
// CHECK-LABEL: func.func @fold
// CHECK:         %[[FE:.*]] = graph.Exp
// CHECK:         %[[FS:.*]] = graph.Sqrt %[[FE]]
// CHECK:         return %[[FE]], %[[FS]]
func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32> {graph.property = "constant"},
                %e: tensor<8xf32> {tile.folded}) -> tensor<8xf32> {
  %s = graph.Sqrt %e : (tensor<8xf32>) -> tensor<8xf32>
  %0 = graph.Add %x, %e : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.Add %0, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func @fold(%w: tensor<8xf32> {graph.property = "constant"}) -> tensor<8xf32> {
  %0 = graph.Exp %w : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Declines: a module without @main.
// CHECK-LABEL: func.func @other
// CHECK-NEXT:    graph.Exp
// CHECK-NOT:   @fold
func.func @other(%w: tensor<8xf32> {graph.property = "constant"}) -> tensor<8xf32> {
  %0 = graph.Exp %w : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What nobody reads moves and is dropped there.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<8xf32> {tile.folded})
// CHECK-NEXT:    graph.Add %{{.*}}, %[[F]]
// CHECK-LABEL: func.func @fold
// CHECK-NEXT:    %[[E:.*]] = graph.Exp
// CHECK-NEXT:    return %[[E]]
func.func @main(%x: tensor<8xf32>, %w: tensor<8xf32> {graph.property = "constant"}) -> tensor<8xf32> {
  %c = arith.constant dense<2.0> : tensor<f32>
  %s = graph.Sqrt %w : (tensor<8xf32>) -> tensor<8xf32>
  %m = graph.Multiply %s, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %e = graph.Exp %w : (tensor<8xf32>) -> tensor<8xf32>
  %0 = graph.Add %x, %e : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A size that only an input tells is unknown when a model is loaded.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    "constant"}) -> tensor<2x?xf32> {
// CHECK-NEXT:    graph.Abs
// CHECK-NOT:     func.func @fold
func.func @main(%x: tensor<2x?xf32>, %w: tensor<2x9xf32> {graph.property = "constant"}) -> tensor<2x?xf32> {
  %a = graph.Abs %w : (tensor<2x9xf32>) -> tensor<2x?xf32>
  %0 = graph.Add %x, %a : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

// Nor is the size of a constant known then, though that of its sum is.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    "constant"}) -> tensor<5x7xf32> {
// CHECK-NEXT:    graph.ReduceSum
// CHECK-NOT:     func.func @fold
func.func @main(%x: tensor<5x7xf32>, %w: tensor<?xf32> {graph.property = "constant"}) -> tensor<5x7xf32> {
  %s = graph.ReduceSum %w {axes = [0], keep_dims = true} : (tensor<?xf32>) -> tensor<1xf32>
  %0 = graph.Add %x, %s : (tensor<5x7xf32>, tensor<1xf32>) -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}

// -----

// Declines: without constants nobody binds any, also where all is made of
// literals.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     func.func @fold
// CHECK:         graph.Multiply
// CHECK-NOT:     func.func @fold
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %s = graph.Multiply %c, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = graph.Add %x, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
