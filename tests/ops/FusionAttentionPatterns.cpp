// SPDX-License-Identifier: Apache-2.0
// Attention, as frameworks write it.
#include "tests/ops/FusionPatterns.h"

#include <regex>

namespace tenon::test {

static const std::string kScores = "s = MatMul 2x4x64x32 2x4x64x32 "
                                   "transpose_b=true; ";
static const std::string kRest = "; p = SoftMax t axis=-1; o = MatMul p "
                                 "2x4x64x32";
static const std::string kHeads = "; h = StaticTranspose o order=0,2,1,3; "
                                  "StaticReshape h shape=2,64,128 "
                                  "special_zero=false";
/// s to t: the lower triangle, seen from the lower right corner.
static const std::string kCausal =
    "i/s32 = GenIndex d axis=-2; m/s32 = Add i ()/s32; n/s32 = Subtract m "
    "()/s32; j/s32 = GenIndex d axis=-1; g/boolean = GreaterEqual n j; t = "
    "Select g d ()c";

/// `text` with every tensor whose type is not said in `type`.
static std::string narrowed(const std::string &text,
                            const std::string &type = "bf16") {
  static const std::regex shape(R"(( |:)(\(\)|\d+(?:x\d+)*)(?=[<c; ]|$)(?!=))");
  return std::regex_replace(text, shape, "$1$2/" + type);
}

static void addForward(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Attention", pass, shape, graph});
  };
  const std::string masked = "d = Divide s ()c; t = Add d 2x1x1x64";
  row("float_sdp_fusion", "scale, mask", kScores + masked + kRest);
  row("float_sdp_fusion", "scale, mask, constant keys transposed before",
      "s = MatMul 2x4x64x32 2x4x32x64c; " + masked + kRest);
  row("float_sdp_fusion", "scale, mask, heads joined",
      kScores + masked + kRest + kHeads);
  row("float_sdp_fusion", "scale, causal",
      kScores +
          "d = Multiply s ()c; i/s32 = GenIndex d axis=-2; j/s32 = "
          "GenIndex d axis=-1; g/boolean = GreaterEqual i j; t = Select "
          "g d ()c" +
          kRest);
  row("float_sdp_fusion", "scale, causal from the lower right",
      kScores + "d = Multiply s ()c; " + kCausal + kRest);
  row("float_sdp_fusion", "scale, mask, Select, Dropout, statistics",
      kScores + "d = Divide s ()c; a = Add d 64x64; t = Select "
                "2x1x64x64/boolean a ()c; p,z = SoftMax t axis=-1 "
                "mode=inf_as_zero; w = Dropout p 1/s64 1/s64 1; o = MatMul w "
                "2x4x64x32; out o z");
  row("float_sdp_fusion", "bf16: scale, mask, heads joined",
      narrowed(kScores + masked + kRest + kHeads));
  row("float_sdp_fusion", "f16: scale, mask, heads joined",
      narrowed(kScores + masked + kRest + kHeads, "f16"));
  row("float_sdp_fusion", "bf16: f32 scores, cast before the second product",
      "s/f32 = MatMul 2x4x64x32/bf16 2x4x64x32/bf16 transpose_b=true; " +
          masked +
          "; p = SoftMax t axis=-1; w/bf16 = TypeCast p; MatMul w "
          "2x4x64x32/bf16");
  const std::string capped = "c = Divide s ()c; e = Tanh c; d = Multiply e "
                             "()c; t = Add d 2x1x64x64";
  row("float_sdp_gemma_fusion_cpu", "soft cap, mask", kScores + capped + kRest);
  row("float_sdp_gemma_fusion_cpu", "bf16: soft cap, mask",
      narrowed(kScores + capped + kRest));
}

/// Gradients from statistics: of the weights `p`, which reach the values as
/// `weights`, then of scores, queries and keys. `drop` makes `dd` of `dp`.
static std::string backward(const std::string &score,
                            const std::string &weights,
                            const std::string &drop = "",
                            const std::string &dropped = "dp") {
  return "s = MatMul q:2x4x64x32 k:2x4x64x32 transpose_b=true; d = Multiply s "
         "f:()c; " +
         score + "p = Exp u; " + weights +
         "g:2x4x64x32 transpose_a=true; dp = MatMul g 2x4x64x32 "
         "transpose_b=true; " +
         drop +
         "n = Multiply 2x4x64x32 g; m = ReduceSum n axes=-1 keep_dims=true; e "
         "= Subtract " +
         dropped +
         " m; ds = Multiply p e; dt = Multiply ds f; gq = MatMul dt k; gk = "
         "MatMul dt q transpose_a=true; ";
}

static void addBackward(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Attention", pass, shape, graph});
  };
  const std::string masked = "t = Add d 2x1x64x64; u = Subtract t 2x4x64x1; ";
  row("float_sdp_backward_fusion", "mask",
      backward(masked, "gv = MatMul p ") + "out gq gk gv");
  row("float_sdp_backward_fusion", "Dropout, gradient of the mask",
      backward(masked, "w = Dropout p j:1/s64 l:1/s64 r:1; gv = MatMul w ",
               "dd = Dropout dp j l r; ", "dd") +
          "End ds; out gq gk gv");
  row("float_sdp_backward_fusion", "bf16: f32 scores",
      "s/f32 = MatMul q:2x4x64x32/bf16 k:2x4x64x32/bf16 transpose_b=true; d = "
      "Multiply s f:()c; u = Subtract d 2x4x64x1; p = Exp u; w/bf16 = TypeCast "
      "p; gv = MatMul w g:2x4x64x32/bf16 transpose_a=true; dp/f32 = MatMul g "
      "2x4x64x32/bf16 transpose_b=true; yf/f32 = TypeCast 2x4x64x32/bf16; "
      "gf/f32 = TypeCast g; n = Multiply yf gf; m = ReduceSum n axes=-1 "
      "keep_dims=true; e = Subtract dp m; ds = Multiply p e; dt = Multiply ds "
      "f; db/bf16 = TypeCast dt; gq = MatMul db k; gk = MatMul db q "
      "transpose_a=true; out gq gk gv");
  row("float_gqa_backward_fusion", "two queries per key",
      "s = MatMul q:2x2x2x64x32 k:2x2x1x64x32 transpose_b=true; d = Multiply s "
      "f:()c; u = Subtract d 2x2x2x64x1; p = Exp u; gw = MatMul p "
      "g:2x2x2x64x32 transpose_a=true; gv = ReduceSum gw axes=2 "
      "keep_dims=true; dp = MatMul g 2x2x1x64x32 transpose_b=true; n = "
      "Multiply 2x2x2x64x32 g; m = ReduceSum n axes=-1 keep_dims=true; e = "
      "Subtract dp m; ds = Multiply p e; dt = Multiply ds f; gq = MatMul dt k; "
      "gx = MatMul dt q transpose_a=true; gk = ReduceSum gx axes=2 "
      "keep_dims=true; out gq gk gv");
}

static void addGrouped(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Attention", pass, shape, graph});
  };
  auto reshaped = [](const std::string &name, const std::string &heads,
                     const std::string &middle) {
    return name + " = StaticReshape 2x" + heads + "x64x32 shape=2,2," + middle +
           ",64,32 special_zero=false; ";
  };
  const std::string grouped =
      reshaped("q", "4", "2") + reshaped("k", "2", "1") +
      reshaped("v", "2", "1") +
      "s = MatMul q k transpose_b=true; d = Divide s ()c; t = Add d "
      "2x1x1x64x64; p = SoftMax t axis=-1; o = MatMul p v; StaticReshape o "
      "shape=2,4,64,32 special_zero=false";
  row("float_gqa_fusion", "two queries per key, mask", grouped);
  row("float_gqa_fusion", "bf16: two queries per key, mask", narrowed(grouped));
  row("float_sdp_jax_fusion", "values first, weights transposed by Reorder",
      "s = MatMul 2x4x64x32 2x4x32x64; d = Divide s 1; t = Add d 2x1x1x64; p = "
      "SoftMax t axis=3 mode=inf_as_zero; u = StaticTranspose p order=0,1,3,2; "
      "w = Reorder u; o = MatMul 2x4x32x64 w; h = StaticTranspose o "
      "order=0,3,1,2; StaticReshape h shape=2,64,4,32 special_zero=false");
  row("float_mqa_jax_fusion", "heads are columns of one product",
      "s = MatMul 2x64x32 2x32x192; r = StaticReshape s shape=2,64,4,48 "
      "special_zero=false; h = StaticTranspose r order=0,2,1,3; t = Add h "
      "2x4x64x48; p = SoftMax t axis=3 mode=inf_as_zero; u = StaticTranspose p "
      "order=0,2,1,3; w = StaticReshape u shape=2,64,192 special_zero=false; "
      "MatMul 2x32x64 w");
}

static void addQuantised(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Attention", pass, shape, graph});
  };
  const std::string masked = "d = Divide s ()c; t = Add d 2x1x1x64; ";
  const std::string late = "c = Select 64x64/boolean s ()c; t = Divide c ()c; ";
  auto bytes = [](const std::string &score) {
    return "a/f32 = Dequantize 2x4x64x32/u8 scales=0.125 zps=3; b/f32 = "
           "Dequantize 2x4x64x32/s8 scales=0.125; v/f32 = Dequantize "
           "2x4x64x32/s8 scales=0.125; s = MatMul a b transpose_b=true; " +
           score +
           "p = SoftMax t axis=-1; q/u8 = Quantize p scales=0.0078125; w/f32 = "
           "Dequantize q scales=0.0078125; o = MatMul w v; h = StaticTranspose "
           "o order=0,2,1,3; r = StaticReshape h shape=2,64,128 "
           "special_zero=false; e/u8 = Quantize r scales=0.125";
  };
  auto mixed = [](const std::string &score) {
    return "a8/f32 = Dequantize 2x4x64x32/u8 scales=0.125 zps=3; b8/f32 = "
           "Dequantize 2x4x64x32/s8 scales=0.125; v8/f32 = Dequantize "
           "2x4x64x32/s8 scales=0.125; a/bf16 = TypeCast a8; b/bf16 = TypeCast "
           "b8; v/bf16 = TypeCast v8; s = MatMul a b transpose_b=true; " +
           score +
           "p = SoftMax t axis=-1; pf/f32 = TypeCast p; q/u8 = Quantize pf "
           "scales=0.0078125; wf/f32 = Dequantize q scales=0.0078125; w/bf16 = "
           "TypeCast wf; o = MatMul w v; of/f32 = TypeCast o; e/u8 = Quantize "
           "of scales=0.125";
  };
  const std::string maskedBf16 = "d = Divide s ()/bf16c; t = Add d "
                                 "2x1x1x64/bf16; ";
  const std::string lateBf16 =
      "c = Select 64x64/boolean s ()/bf16c; t = Divide "
      "c ()/bf16c; ";
  row("x8_sdpa_fusion", "bytes, mask, heads joined", bytes(masked));
  row("x8_sdpa_fusion", "f8, mask",
      "a/f32 = Dequantize 2x4x64x32/f8_e4m3 scales=0.125; b/f32 = Dequantize "
      "2x4x64x32/f8_e4m3 scales=0.125; v/f32 = Dequantize 2x4x64x32/f8_e4m3 "
      "scales=0.125; s = MatMul a b transpose_b=true; " +
          masked +
          "p = SoftMax t axis=-1; q/f8_e4m3 = Quantize p scales=0.0078125; "
          "w/f32 = Dequantize q scales=0.0078125; o = MatMul w v; e/f8_e4m3 = "
          "Quantize o scales=0.125");
  row("int8_bf16_sdp_fusion", "bytes in bf16, mask", mixed(maskedBf16));
  const std::string k =
      "k/f32 = DynamicDequantize 2x4x64x32/s8 2x4x64x2 qtype=per_group axis=-1 "
      "group_shape=1,1,1,16; ";
  const std::string v =
      "v/f32 = DynamicDequantize 2x4x64x32/u8 2x4x64x2 2x4x64x2/u8 "
      "qtype=per_group axis=-1 group_shape=1,1,1,16; ";
  auto compressed = [&](const std::string &keys, const std::string &values) {
    return keys + values + "s = MatMul 2x4x64x32 " +
           (keys.empty() ? "2x4x64x32" : "k") + " transpose_b=true; " + masked +
           "p = SoftMax t axis=-1; MatMul p " +
           (values.empty() ? "2x4x64x32" : "v");
  };
  row("sdp_with_compressed_kv", "s8 keys, u8 values, in groups",
      compressed(k, v));
  row("sdp_with_compressed_kv", "u4 keys, s4 values, in groups",
      compressed("k/f32 = DynamicDequantize 2x4x64x32/u4 2x4x64x2 2x4x64x2/u4 "
                 "qtype=per_group axis=-1 group_shape=1,1,1,16; ",
                 "v/f32 = DynamicDequantize 2x4x64x32/s4 2x4x64x2 "
                 "qtype=per_group axis=-1 group_shape=1,1,1,16; "));
  row("sdp_with_compressed_k", "s8 keys, in groups", compressed(k, ""));
  row("sdp_with_compressed_v", "u8 values, in groups", compressed("", v));
  const std::string gpt =
      kScores +
      "c = Select 64x64/boolean s ()c; d = Divide c ()c; t = Add d "
      "2x1x1x64" +
      kRest;
  row("float_gpt_sdp", "Select before the scale", gpt);
  row("bfloat16_gpt_sdp", "bf16: Select before the scale",
      "s = MatMul 2x4x64x32/bf16 2x4x64x32/bf16 transpose_b=true; " + lateBf16 +
          "p = SoftMax t axis=-1; MatMul p 2x4x64x32/bf16");
  row("int8_fp32_gpt_sdp", "bytes, Select before the scale", bytes(late));
  row("int8_bf16_gpt_sdp", "bytes in bf16, Select before the scale",
      mixed(lateBf16));
}

FusionPatterns attentionPatterns() {
  FusionPatterns rows;
  addForward(rows);
  addBackward(rows);
  addGrouped(rows);
  addQuantised(rows);
  return rows;
}

} // namespace tenon::test
