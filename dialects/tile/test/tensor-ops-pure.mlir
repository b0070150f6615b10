// RUN: tenon-opt %s --cse --canonicalize | FileCheck %s

// Operations on tensors are pure: equal ones are one, unread ones are none.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[P:.*]] = tile.pack
// CHECK-NEXT:    %[[Y:.*]] = tile.matmul %{{.*}}, %[[P]]
// CHECK-NEXT:    return %[[Y]], %[[Y]]
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %p = tile.pack %w panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %q = tile.pack %w panel 24 : tensor<8x16xf32> -> tensor<1x8x24xf32>
  %r = tile.pack %w panel 16 : tensor<8x16xf32> -> tensor<1x8x16xf32>
  %0 = tile.matmul %x, %p : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  %1 = tile.matmul %x, %q : tensor<4x8xf32>, tensor<1x8x24xf32> -> tensor<4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x16xf32>
}
