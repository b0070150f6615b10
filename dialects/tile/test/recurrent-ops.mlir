// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// 13 units are two blocks of 8, each with 4 gates: 64 columns, 4 panels.
// CHECK-LABEL: func.func @recurrent
// CHECK:         tile.pack_gates %{{.*}} layer 1 unit 8 panel 16 : tensor<2x1x5x4x13xf32> -> tensor<4x5x16xf32>
// CHECK:         tile.pack_gates %{{.*}} layer 0 unit 8 panel 32 : tensor<2x1x?x4x13xf32> -> tensor<2x?x32xf32>
// CHECK:         tile.rnn %{{.*}}, %{{.*}} layer 0 unit 8 : tensor<7x3x64xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
// CHECK:         tile.rnn %{{.*}}, %{{.*}} h(%{{.*}} : tensor<2x1x?x13xf32>) c(%{{.*}} : tensor<2x1x?x13xf32>) layer 1 unit 8 : tensor<?x?x64xf32>
func.func @recurrent(%w: tensor<2x1x5x4x13xf32>, %v: tensor<2x1x?x4x13xf32>, %g: tensor<7x3x64xf32>, %d: tensor<?x?x64xf32>, %u: tensor<4x13x16xf32>, %s: tensor<2x1x?x13xf32>) {
  %0 = tile.pack_gates %w layer 1 unit 8 panel 16 : tensor<2x1x5x4x13xf32> -> tensor<4x5x16xf32>
  %1 = tile.pack_gates %v layer 0 unit 8 panel 32 : tensor<2x1x?x4x13xf32> -> tensor<2x?x32xf32>
  %2:3 = tile.rnn %g, %u layer 0 unit 8 : tensor<7x3x64xf32>, tensor<4x13x16xf32> -> tensor<7x3x13xf32>, tensor<1x1x3x13xf32>, tensor<1x1x3x13xf32>
  %3:3 = tile.rnn %d, %u h(%s : tensor<2x1x?x13xf32>) c(%s : tensor<2x1x?x13xf32>) layer 1 unit 8 : tensor<?x?x64xf32>, tensor<4x13x16xf32> -> tensor<?x?x13xf32>, tensor<1x1x?x13xf32>, tensor<1x1x?x13xf32>
  return
}
