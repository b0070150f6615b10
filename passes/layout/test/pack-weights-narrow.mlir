// RUN: tenon-opt %s --tenon-pack-weights | FileCheck %s

// Ten columns are two vectors of 8; a wider panel would hold zeros.
// CHECK: tile.pack %{{.*}} panel 16 : tensor<64x10xf32> -> tensor<1x64x16xf32>
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x10xf32>) -> tensor<128x10xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
  return %0 : tensor<128x10xf32>
}
