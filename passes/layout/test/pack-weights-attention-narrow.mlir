// RUN: tenon-opt %s --tenon-pack-weights | FileCheck %s
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,bf16_dot_width=2 --tenon-pack-weights | FileCheck %s --check-prefix=BF16
// RUN: tenon-opt %s --tenon-set-target=fields=vector_bits=512,num_vector_registers=32,bf16_dot_width=2,bf16_dot_is_slow=true --tenon-pack-weights | FileCheck %s --check-prefix=SLOW

// Where the target has no products of bf16 and each element meets many, all of
// attention is f32 and rounded at its end.
// CHECK-LABEL: func.func @many
// CHECK-COUNT-3: graph.TypeCast {{.*}}xf32>
// CHECK:         tile.pack {{.*}} : tensor<2x32x128xf32>
// CHECK:         %[[D:.*]] = tile.attention
// CHECK:         -> tensor<2x128x32xf32>
// CHECK:         graph.TypeCast %[[D]] {tile.implicit_cast = unit}
// BF16-LABEL:  func.func @many
// BF16-NOT:      TypeCast
// SLOW-LABEL:  func.func @many
// SLOW-COUNT-3:  graph.TypeCast {{.*}}xf32>
// SLOW-LABEL:  func.func @few
// SLOW-NOT:      TypeCast
func.func @many(%q: tensor<2x128x32xbf16>, %k: tensor<2x32x128xbf16>, %v: tensor<2x128x32xbf16>) -> tensor<2x128x32xbf16> {
  %o = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x128x32xbf16>, tensor<2x32x128xbf16>, tensor<2x128x32xbf16> -> tensor<2x128x32xbf16>
  return %o : tensor<2x128x32xbf16>
}

// Declines: few queries.
// CHECK-LABEL: func.func @few
// CHECK-NOT:     TypeCast
func.func @few(%q: tensor<2x127x32xbf16>, %k: tensor<2x32x128xbf16>, %v: tensor<2x128x32xbf16>) -> tensor<2x127x32xbf16> {
  %o = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x127x32xbf16>, tensor<2x32x128xbf16>, tensor<2x128x32xbf16> -> tensor<2x127x32xbf16>
  %r = graph.ReLU %o : (tensor<2x127x32xbf16>) -> tensor<2x127x32xbf16>
  return %r : tensor<2x127x32xbf16>
}

// One query reads narrow keys and values as they lie, for any target.
// CHECK-LABEL: func.func @one
// CHECK-NOT:     tile.pack
// BF16-LABEL:  func.func @one
// BF16-NOT:      tile.pack
func.func @one(%q: tensor<2x1x32xbf16>, %k: tensor<2x32x128xbf16>, %v: tensor<2x128x32xbf16>) -> tensor<2x1x32xbf16> {
  %o = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x32xbf16>, tensor<2x32x128xbf16>, tensor<2x128x32xbf16> -> tensor<2x1x32xbf16>
  return %o : tensor<2x1x32xbf16>
}

// Declines: elements of a key whose number is not known are no memory for
// queries that are widened.
// CHECK-LABEL: func.func @unknown_depth
// CHECK:         tile.pack
// BF16-LABEL:  func.func @unknown_depth
// BF16:          tile.pack
func.func @unknown_depth(%q: tensor<2x1x?xbf16>, %k: tensor<2x?x128xbf16>, %v: tensor<2x128x32xbf16>) -> tensor<2x1x32xbf16> {
  %o = tile.attention %q, %k, %v score {
  ^bb0(%x: f32, %row: index, %column: index):
    tile.yield %x : f32
  } : tensor<2x1x?xbf16>, tensor<2x?x128xbf16>, tensor<2x128x32xbf16> -> tensor<2x1x32xbf16>
  return %o : tensor<2x1x32xbf16>
}
