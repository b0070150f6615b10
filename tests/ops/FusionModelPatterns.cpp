// SPDX-License-Identifier: Apache-2.0
// What models contain beside the patterns of that library: parts of tensors,
// and rows by index.
#include "tests/ops/FusionPatterns.h"

namespace tenon::test {

FusionPatterns modelPatterns() {
  FusionPatterns rows;
  auto row = [&](const char *pass, const char *shape, const char *graph) {
    rows.push_back({"Models", pass, shape, graph});
  };
  row("rotary_embedding", "halves rotated",
      "l = Slice x:1x4x64x32 begins=0 ends=16 axes=3; h = Slice x begins=16 "
      "ends=32 axes=3; n = Multiply h ()c; r = Concat n l axis=3; s = Multiply "
      "r 64x32; c = Multiply x 64x32; Add c s");
  row("swiglu", "one product, split",
      "p = MatMul 64x64 64x256c; g = Slice p begins=0 ends=128 axes=1; u = "
      "Slice p begins=128 ends=256 axes=1; s = Sigmoid g; t = Multiply g s; "
      "Multiply t u");
  row("kv_cache", "a row for each token", "ScatterND 1024x64 1x1/s64 1x64");
  row("embedding", "LayerNorm",
      "e = Gather 100x64c 32/s64; LayerNorm e 64c 64c keep_stats=false");
  row("causal_mask", "indices, comparison, Select",
      "i/s64 = GenIndex s:4x64x64 axis=1; j/s64 = GenIndex s axis=2; m = "
      "GreaterEqual i j; Select m s ()c");
  row("channel_shuffle", "NXC",
      "r = StaticReshape 2x8x8x32 shape=2,8,8,4,8 special_zero=0; t = "
      "StaticTranspose r order=0,1,2,4,3; StaticReshape t shape=2,8,8,32 "
      "special_zero=0");
  row("repeated_heads", "keys of a group of queries",
      "e = Expand 2x1x64x32 shape=2,4,64,32; k = StaticReshape e shape=8,64,32 "
      "special_zero=0; Multiply k 8x64x32");
  return rows;
}

} // namespace tenon::test
