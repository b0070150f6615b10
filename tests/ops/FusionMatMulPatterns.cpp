// SPDX-License-Identifier: Apache-2.0
// Products of matrices: with what stands behind them, and gated in pairs.
#include "tests/ops/FusionPatterns.h"

namespace tenon::test {

/// Bytes as f32 values: `a` of 64x128, constant `b` of 128x96.
static std::string integer() {
  return "a/f32 = Dequantize 64x128/u8 scales=0.5 zps=3; " +
         weights("b", "128x96", 1, 96);
}

/// The same in bf16.
static std::string mixed() {
  return "a8/f32 = Dequantize 64x128/u8 scales=0.5 zps=3; " +
         weights("b8", "128x96", 1, 96) +
         "a/bf16 = TypeCast a8; b/bf16 = TypeCast b8; ";
}

/// Heads of 16 columns, side by side, to where attention wants them.
static std::string heads(const std::string &from) {
  return "r = StaticReshape " + from +
         " shape=2,32,6,16 special_zero=false; t = StaticTranspose r "
         "order=0,2,1,3; ";
}

static const std::string kRejoin =
    "StaticReshape t shape=12,32,16 special_zero=false";

static void addFloat(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"MatMul", pass, shape, graph});
  };
  const std::string product = "y = MatMul 64x128 128x96c";
  row("fp_matmul_post_ops", "bias, GELU", product + " 96c; GELU y");
  row("fp_matmul_post_ops", "BiasAdd, residual, ReLU",
      product + "; z = BiasAdd y 96c; s = Add z 64x96; ReLU s");
  row("fp_matmul_post_ops", "x * Sigmoid(x), Divide, Tanh",
      product + "; g = Sigmoid y; m = Multiply g y; d = Divide m 96; Tanh d");
  row("fp_matmul_post_ops", "Select", product + "; Select 64x96/boolean y ()c");
  row("fp_matmul_post_ops", "bf16: bias, GELU, residual, cast to f32",
      "y = MatMul 64x128/bf16 128x96/bf16c 96/bf16c; e = GELU y "
      "mode=gelu_tanh; s = Add e 64x96/bf16; f/f32 = TypeCast s");
  row("fp_matmul_dropout", "bias, ReLU, Dropout",
      product + " 96c; r = ReLU y; Dropout r 1/s64 1/s64 1");
  row("fp_matmul_reshape_transpose_reshape", "heads apart, batch and heads one",
      product + " 96c; " + heads("y") + kRejoin);
  row("fp_matmul_transpose_reorder", "transpose, Reorder",
      "y = MatMul 2x6x32x16 2x6x16x16c; t = StaticTranspose y order=0,2,1,3; "
      "Reorder t");
  row("fp_matmul_transpose_reorder", "bf16: transpose, reshape",
      "y = MatMul 2x6x32x16/bf16 2x6x16x16/bf16c; t = StaticTranspose y "
      "order=0,2,1,3; StaticReshape t shape=2,32,96 special_zero=false");
}

static void addInteger(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"MatMul", pass, shape, graph});
  };
  const std::string other = "o/f32 = Dequantize 64x96/s8 scales=0.25; ";
  const std::string out = "q/u8 = Quantize ";
  row("x8x8x_matmul_post_ops", "bias, ReLU, Q",
      integer() + "y = MatMul a b 96c; r = ReLU y; " + out + "r scales=0.5");
  row("x8x8x_matmul_post_ops", "Q of constant weights, BiasAdd, Select",
      "a/f32 = Dequantize 64x128/s8 scales=0.5; w/s8 = Quantize 128x96c "
      "scales=0.25; b/f32 = Dequantize w scales=0.25; y = MatMul a b; z = "
      "BiasAdd y 96c; Select 64x96/boolean z ()c");
  row("x8x8x_matmul_post_ops", "f32 weights",
      "a/f32 = Dequantize 64x128/s8 scales=0.5; y = MatMul a 128x96c 96c; r = "
      "ReLU y; " +
          out + "r scales=0.5");
  row("x8x8x_matmul_post_ops", "f8: bias, GELU, Q",
      "a/f32 = Dequantize 64x128/f8_e4m3 scales=0.5; b/f32 = Dequantize "
      "128x96/f8_e4m3c scales=0.25; y = MatMul a b 96c; g = GELU y; "
      "q/f8_e4m3 = Quantize g scales=0.5");
  row("x8x8x8_matmul_add_post_ops_cpu", "bias, residual, smooth-quant, Q",
      integer() + other +
          "y = MatMul a b 96c; s = Add y o; m = Multiply s 96c; " + out +
          "m scales=0.5 zps=2");
  row("x8x8x_tc_matmul_post_ops", "bf16: bias, GELU, Q",
      mixed() +
          "c/bf16 = TypeCast 96c; y = MatMul a b c; g = GELU y; "
          "f/f32 = TypeCast g; " +
          out + "f scales=0.5");
  row("x8x8x8_tc_matmul_add_post_ops_cpu", "bf16: bias, residual, Q",
      mixed() +
          "o8/f32 = Dequantize 64x96/s8 scales=0.25; o/bf16 = TypeCast "
          "o8; y = MatMul a b 96/bf16c; s = Add y o; f/f32 = TypeCast "
          "s; " +
          out + "f scales=0.5");
  row("x8x8x8_matmul_reshape_transpose_reshape", "heads apart, Q",
      integer() + "y = MatMul a b 96c; " + heads("y") + out + "t scales=0.5");
  row("x8x8x8_matmul_reshape_transpose_reshape", "Q, heads apart, rejoined",
      integer() + "y = MatMul a b 96c; " + out + "y scales=0.5; " + heads("q") +
          kRejoin);
  row("x8x8x8_tc_matmul_reshape_transpose_reshape", "bf16: heads apart, Q",
      mixed() + "y = MatMul a b 96/bf16c; " + heads("y") +
          "f/f32 = TypeCast t; " + out + "f scales=0.5");
  row("x8x8x_matmul_transpose_reorder", "transpose, Reorder, Q",
      integer() +
          "y = MatMul a b; t = StaticTranspose y order=1,0; o = "
          "Reorder t; " +
          out + "o scales=0.5");
  row("x8x8x_tc_matmul_transpose_reorder", "bf16: transpose, Reorder, Q",
      mixed() +
          "y = MatMul a b; t = StaticTranspose y order=1,0; o = Reorder "
          "t; f/f32 = TypeCast o; " +
          out + "f scales=0.5");
}

FusionPatterns matmulPatterns() {
  FusionPatterns rows;
  addFloat(rows);
  addInteger(rows);
  return rows;
}

FusionPatterns gatedMlpPatterns() {
  FusionPatterns rows;
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Gated MLP", pass, shape, graph});
  };
  const std::string pair =
      "g = MatMul x:64x128 128x256c; u = MatMul x 128x256c; ";
  const std::string swish = "s = Sigmoid g; a = Multiply g s; ";
  const std::string down = "h = Multiply a u; MatMul h 256x128c";
  const std::string quantised =
      "wg/f32 = DynamicDequantize 128x256/s8c 256c qtype=per_channel axis=1; "
      "wu/f32 = DynamicDequantize 128x256/s8c 256c qtype=per_channel axis=1; "
      "wd/f32 = DynamicDequantize 256x128/s8c 128c qtype=per_channel axis=1; "
      "g = MatMul x:64x128 wg; u = MatMul x wu; ";
  const std::string quantisedDown = "h = Multiply a u; MatMul h wd";
  row("gated_mlp", "GELU", pair + "a = GELU g; " + down);
  row("gated_mlp", "bf16: GELU",
      "g = MatMul x:64x128/bf16 128x256/bf16c; u = MatMul x 128x256/bf16c; "
      "a = GELU g; h = Multiply a u; MatMul h 256x128/bf16c");
  row("gated_mlp", "bf16: f32 inside, cast before the last product",
      "g/f32 = MatMul x:64x128/bf16 128x256/bf16c; u/f32 = MatMul x "
      "128x256/bf16c; a = ReLU g; h = Multiply a u; t/bf16 = TypeCast h; "
      "MatMul t 256x128/bf16c");
  row("gated_mlp_v1", "x * Sigmoid(x)", pair + swish + down);
  row("quantized_gated_mlp", "GELU, s8 weights",
      quantised + "a = GELU g; " + quantisedDown);
  row("quantized_gated_mlp_v1", "x * Sigmoid(x), s8 weights",
      quantised + swish + quantisedDown);
  return rows;
}

} // namespace tenon::test
