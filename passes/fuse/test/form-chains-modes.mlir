// RUN: tenon-opt %s --tenon-form-chains="mode=never" | FileCheck %s --check-prefix=NEVER
// RUN: tenon-opt %s --tenon-form-chains="mode=always" | FileCheck %s --check-prefix=ALWAYS
// RUN: not tenon-opt %s --tenon-form-chains="mode=sometimes" 2>&1 | FileCheck %s --check-prefix=WRONG

// Asked for, two calls of the same groups become two of the same chain, and
// nobody calls the groups.
// NEVER-LABEL: func.func @main
// NEVER-COUNT-4: call @fc
// ALWAYS-LABEL: func.func @main
// ALWAYS-NEXT:    call @chain_fc1_fc2(%arg0, %arg2, %arg2)
// ALWAYS-NEXT:    call @chain_fc1_fc2(%arg1, %arg2, %arg2)
// ALWAYS-NEXT:    return
// ALWAYS:       func.func private @chain_fc1_fc2({{.*}} attributes {tile.band = 8 : i64, tile.group = #tile.group<chain>}
// ALWAYS-NOT:   func.func
// WRONG: mode must be auto, always or never, is sometimes
func.func @main(%x: tensor<16x16xf32>, %y: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = call @fc1(%x, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %1 = call @fc2(%0, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %2 = call @fc1(%y, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  %3 = call @fc2(%2, %p) : (tensor<16x16xf32>, tensor<1x16x16xf32>) -> tensor<16x16xf32>
  return %1, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
func.func private @fc1(%x: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> tensor<16x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
  %1 = graph.ReLU %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
func.func private @fc2(%x: tensor<16x16xf32>, %p: tensor<1x16x16xf32>) -> tensor<16x16xf32> attributes {tile.group = #tile.group<contraction>} {
  %0 = tile.matmul %x, %p : tensor<16x16xf32>, tensor<1x16x16xf32> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
