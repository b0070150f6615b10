// RUN: tenon-opt %s --split-input-file --tenon-form-groups | FileCheck %s

// What one later group alone reads is computed there: a residual of bytes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_matmul_TypeCast_Multiply_Add({{.*}}) {{.*}} : (tensor<4x8xf32>, tensor<1x8x24xf32>, tensor<4x16xui8>) -> tensor<4x16xf32>
// CHECK-NEXT:    return
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %q: tensor<4x16xui8>) -> tensor<4x16xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.TypeCast %q : (tensor<4x16xui8>) -> tensor<4x16xf32>
  %1 = graph.Multiply %0, %c : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %2 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %3 = graph.Add %2, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// The same, where the product comes first.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    call @g_matmul_TypeCast_Multiply_Add(
// CHECK-NEXT:    return
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %q: tensor<4x16xui8>) -> tensor<4x16xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %2 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %0 = graph.TypeCast %q : (tensor<4x16xui8>) -> tensor<4x16xf32>
  %1 = graph.Multiply %0, %c : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %3 = graph.Add %2, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// What an epilogue had to leave out, because bytes leave the group, goes to the
// product that reads it: the residual of a quantised bottleneck.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[Q:.*]] = call @g_matmul_TypeCast(
// CHECK-NEXT:    %[[R:.*]] = call @g_matmul_TypeCast_Add(%[[Q]],
// CHECK-NEXT:    return %[[R]]
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x8xf32>, %w: tensor<1x2x8x4xsi8>) -> tensor<4x8xf32> {
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x8xf32> -> tensor<4x8xf32>
  %1 = graph.TypeCast %0 : (tensor<4x8xf32>) -> tensor<4x8xui8>
  %2 = graph.TypeCast %1 : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %3 = tile.matmul %1, %w interleave 4 : tensor<4x8xui8>, tensor<1x2x8x4xsi8> -> tensor<4x8xf32>
  %4 = graph.Add %3, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Declines: two groups read it; the product itself does, and another; it is a
// result; it is read through a view; its operand lies across the columns of the
// product.
// CHECK-LABEL: func.func @main
// CHECK:         call @g_Exp(
// CHECK-NEXT:    call @g_matmul_Add(
// CHECK:         call @g_ReLU_matmul_Add(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %y: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = graph.Exp %y : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %2 = graph.Add %1, %0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %e = graph.ReLU %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = tile.matmul %e, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %4 = graph.Add %3, %0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2, %4 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_ReLU(
// CHECK:         call @g_matmul_Add(
func.func @main(%x: tensor<8x8xf32>, %p: tensor<1x8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.ReLU %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = tile.matmul %0, %p : tensor<8x8xf32>, tensor<1x8x8xf32> -> tensor<8x8xf32>
  %2 = graph.Add %1, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_Exp(
// CHECK:         call @g_matmul_Add(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x24xf32>, %y: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %0 = graph.Exp %y : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %2 = graph.Add %1, %0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2, %0 : tensor<4x16xf32>, tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_Exp(
// CHECK:         call @g_matmul_Add(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.Exp %y : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = graph.StaticTranspose %0 {order = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x4xf32> -> tensor<4x4xf32>
  %2 = graph.Add %1, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK:         call @g_Exp(
// CHECK:         call @g_matmul_Add(
func.func @main(%x: tensor<4x8xf32>, %p: tensor<1x8x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = graph.StaticTranspose %y {order = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = graph.Exp %t : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x4xf32> -> tensor<4x4xf32>
  %2 = graph.Add %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// And to what is packed: each element is read once.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]] = call @g_TypeCast_Multiply_pack(%arg0) {{.*}} : (tensor<8x8xsi8>) -> tensor<1x8x8xf32>
// CHECK-NEXT:    return %[[R]]
// CHECK:       func.func private @g_TypeCast_Multiply_pack
// CHECK-SAME:    tile.group = #tile.group<pack>
func.func @main(%k: tensor<8x8xsi8>) -> tensor<1x8x8xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %0 = graph.TypeCast %k : (tensor<8x8xsi8>) -> tensor<8x8xf32>
  %1 = graph.Multiply %0, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %2 = tile.pack %1 panel 8 : tensor<8x8xf32> -> tensor<1x8x8xf32>
  return %2 : tensor<1x8x8xf32>
}

// -----

// A moment of an optimiser is written, and read by the step that follows: one
// pass over all.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[R:.*]]:2 = call @g_Sqrt_Multiply_Add_Divide(%arg0, %arg1)
// CHECK-NEXT:    return %[[R]]#{{[01]}}, %[[R]]#{{[01]}}
func.func @main(%g: tensor<8x8xf32>, %m: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.Multiply %g, %g : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.Add %0, %m : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.Sqrt %g : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.Divide %1, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Declines: a product reads it before.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = call @g_Add(
// CHECK-NEXT:    call @g_matmul_Multiply(%[[A]],
// CHECK-NEXT:    call @g_Sqrt_Divide(
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %p: tensor<1x8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.Add %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = tile.matmul %0, %p : tensor<8x8xf32>, tensor<1x8x8xf32> -> tensor<8x8xf32>
  %2 = graph.Multiply %1, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = graph.Sqrt %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = graph.Divide %0, %3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2, %4 : tensor<8x8xf32>, tensor<8x8xf32>
}
