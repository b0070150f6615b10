// XFAIL: *
// RUN: tenon-opt %s --tenon-pack-weights | FileCheck %s

// Ten columns are two vectors of 8: a panel of 24 is half as much again to
// pack, to keep and to bring to the cache. With groups of two columns it is 3
// times what is needed.
// CHECK: tile.pack %{{.*}} panel 16 : tensor<64x10xf32> -> tensor<1x64x16xf32>
func.func @main(%x: tensor<128x64xf32>, %w: tensor<64x10xf32>) -> tensor<128x10xf32> {
  %0 = graph.MatMul %x, %w : (tensor<128x64xf32>, tensor<64x10xf32>) -> tensor<128x10xf32>
  return %0 : tensor<128x10xf32>
}
