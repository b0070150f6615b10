// SPDX-License-Identifier: Apache-2.0
// Normalisation, softmax, reduction, elementwise chains and data movement;
// residual networks.
#include "tests/ops/FusionPatterns.h"

#include <iterator>

namespace tenon::test {

static void addNorms(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Normalisation and others", pass, shape, graph});
  };
  const std::string bn = " 32c 32c 32c 32c epsilon=0.001";
  row("fp_bnorm_relu", "batch norm, ReLU",
      "n = BatchNormInference 2x14x14x32" + bn + "; ReLU n");
  row("s8f32s8_bnorm", "Deq, batch norm, ReLU, Q",
      "a/f32 = Dequantize 2x14x14x32/s8 scales=0.5; n = BatchNormInference a" +
          bn + "; r = ReLU n; q/s8 = Quantize r scales=0.5");
  row("fp_bnorm_bwd_relu_bwd", "ReLUBackward, batch norm",
      "g = ReLUBackward 2x14x14x32 2x14x14x32 use_dst=false; x,s,b = "
      "BatchNormTrainingBackward 2x14x14x32 g 32 32 32 epsilon=0.001");
  row("layernorm_post_ops_fusion_cpu", "Multiply, ReLU, Q",
      "n = LayerNorm 64x128 128c 128c keep_stats=false; m = Multiply n 128; r "
      "= ReLU m; q/u8 = Quantize r scales=0.5");
  row("layernorm_post_ops_fusion_cpu", "bf16: cast, Q",
      "n = LayerNorm 64x128/bf16 128c 128c keep_stats=false; f/f32 = TypeCast "
      "n; q/s8 = Quantize f qtype=per_channel axis=1 scales=" +
          channelScales(128));
  row("groupnorm_post_ops_fusion", "ReLU, Q",
      "n = GroupNorm 2x14x14x32 32c 32c groups=4 keep_stats=false; r = ReLU n; "
      "q/u8 = Quantize r scales=0.5");
  row("groupnorm_post_ops_fusion", "bf16: swish, cast",
      "n = GroupNorm 2x14x14x32/bf16 32c 32c groups=4 keep_stats=false; s = "
      "Sigmoid n; m = Multiply n s; f/f32 = TypeCast m");
  row("fp_softmax_post_ops", "Multiply, Q",
      "p = SoftMax 64x128 axis=-1; m = Multiply p 1c; q/u8 = Quantize m "
      "scales=0.0078125");
  row("fp_softmax_post_ops", "bf16: cast, Q",
      "p = SoftMax 64x128/bf16 axis=-1; f/f32 = TypeCast p; q/u8 = Quantize f "
      "scales=0.0078125");
  for (const char *reduce : {"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean",
                             "ReduceMin", "ReduceProd", "ReduceSum"})
    rows.push_back({"Normalisation and others", "fp_reduction_post_ops",
                    std::string(reduce) + ", Multiply, Tanh",
                    "r = " + std::string(reduce) +
                        " 64x128 axes=1 keep_dims=true; m = Multiply r 64x1; "
                        "Tanh m"});
  row("fp_interpolate_post_ops", "linear, Add, ReLU",
      "i = Interpolate 2x7x7x32 mode=linear sizes=14,14 "
      "coordinate_transformation_mode=half_pixel; a = Add i 2x14x14x32; ReLU "
      "a");
}

static void addChains(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Normalisation and others", pass, shape, graph});
  };
  row("fp_eltwise_binary", "GELU, Add, Multiply",
      "g = GELU 64x128; a = Add g 128; Multiply a 64x128");
  row("fp_eltwise_binary", "bf16: Sigmoid, Subtract",
      "g = Sigmoid 64x128/bf16; Subtract g 64x128/bf16");
  row("fp_eltwise_dropout", "ReLU, Dropout",
      "r = ReLU 64x128; Dropout r 1/s64 1/s64 1");
  row("fp_binary_post_ops", "Add, Tanh, Maximum",
      "a = Add 64x128 64x1; t = Tanh a; Maximum t 128");
  row("fp_reciprocal_multiply", "Reciprocal, Multiply",
      "r = Reciprocal 64x128; Multiply 64x128 r");
  row("sum_fusion", "five Adds",
      "a = Add 64x128 64x128; b = Add a 64x128; c = Add b 64x128; d = Add c "
      "64x128; Add d 64x128");
  row("int8_concat_fusion", "Deq, Deq, Deq, Concat, Q",
      "a/f32 = Dequantize 2x7x7x16/u8 scales=0.5 zps=3; b/f32 = Dequantize "
      "2x7x7x32/u8 scales=0.5 zps=3; c/f32 = Dequantize 2x7x7x8/u8 scales=0.5 "
      "zps=3; d = Concat a b c axis=3; q/u8 = Quantize d scales=0.5 zps=3");
  row("typecast_quantize_fusion", "cast from bf16, Q",
      "f/f32 = TypeCast 64x128/bf16; q/u8 = Quantize f scales=0.5 zps=3");
  row("fp_reorder_sum", "Reorder, Add",
      "r<1,64> = Reorder 64x128; s<1,64> = Add r 64x128<1,64>; out s");
  row("x8_reorder", "Deq, Reorder, Q",
      "a/f32 = Dequantize 64x128/u8 scales=0.5 zps=3; r<1,64> = Reorder a; "
      "q/s8<1,64> = Quantize r scales=0.25; out q");
  row("x8_reorder_sum_cpu", "Deq, Reorder, residual, Q",
      "a/f32 = Dequantize 64x128/u8 scales=0.5 zps=3; r<1,64> = Reorder a; "
      "o/f32<1,64> = Dequantize 64x128/s8<1,64> scales=0.25; s<1,64> = Add r "
      "o; q/s8<1,64> = Quantize s scales=0.25; out q");
  row("shuffle_fusion", "reshape, transpose, reshape",
      "a = StaticReshape 2x14x14x32 shape=2,14,14,4,8 special_zero=false; t = "
      "StaticTranspose a order=0,1,2,4,3; StaticReshape t shape=2,14,14,32 "
      "special_zero=false");
  row("float_bmb", "Multiply, Add, product, Add, Multiply",
      "m = Multiply 64x128 128; a = Add m 64x128; y = MatMul a 128x96c; b = "
      "Add y 96; Multiply b 64x96");
  row("float_bmb",
      "bf16: Subtract, Multiply, Add, cast, product, Multiply, "
      "cast",
      "s = Subtract 64x128 64x1; m = Multiply s 128; a = Add m 128; t/bf16 = "
      "TypeCast a; y/f32 = MatMul t 128x96/bf16c; b = Multiply y 96; "
      "c/bf16 = TypeCast b");
}

FusionPatterns otherPatterns() {
  FusionPatterns rows;
  addNorms(rows);
  addChains(rows);
  return rows;
}

namespace {

/// Writes residual stages of convolutions, in f32 or bytes.
class Stage {
public:
  /// `groups` of the 3x3 convolutions; `swapped`: the residual is the first
  /// operand of Add.
  Stage(bool integer, int64_t groups = 1, bool swapped = false)
      : integer(integer), groups(groups), swapped(swapped) {}

  std::string start(int64_t size, int64_t channels) {
    width = channels;
    return "2x" + dims(size, size, channels) + (integer ? "/u8" : "");
  }
  /// 1x1, 3x3, 1x1 and what is added.
  std::string bottleneck(const std::string &x, int64_t middle, int64_t out,
                         int stride, bool project) {
    int64_t in = width;
    std::string source = named(x);
    std::string a = relu(conv(source, 1, in, middle, 1));
    std::string b = relu(conv(a, 3, middle, middle, stride));
    return join(conv(b, 1, middle, out, 1), source, in, out, stride, project);
  }
  /// 3x3, 3x3 and what is added.
  std::string basic(const std::string &x, int64_t out, int stride,
                    bool project) {
    int64_t in = width;
    std::string source = named(x);
    std::string a = relu(conv(source, 3, in, out, stride));
    return join(conv(a, 3, out, out, 1), source, in, out, stride, project);
  }
  std::string text;

private:
  static std::string dims(int64_t a, int64_t b, int64_t c) {
    return std::to_string(a) + "x" + std::to_string(b) + "x" +
           std::to_string(c);
  }
  std::string statement(const std::string &words, const char *type = "") {
    std::string name = "v" + std::to_string(next++);
    text += (text.empty() ? "" : "; ") + name + type + " = " + words;
    return name;
  }
  /// An operand with a name, as it is read twice.
  std::string named(const std::string &x) {
    if (x[0] == 'v')
      return x;
    text = "";
    return "vin:" + x;
  }
  std::string asFloat(std::string &x) {
    std::string use = x;
    if (x.starts_with("vin:"))
      x = "vin";
    return integer
               ? statement("Dequantize " + use + " scales=0.5 zps=3", "/f32")
               : use;
  }
  std::string conv(std::string &x, int64_t k, int64_t in, int64_t out,
                   int64_t stride) {
    std::string src = asFloat(x);
    int64_t parts = k == 3 ? groups : 1;
    std::string shape = std::to_string(k) + "x" + dims(k, in / parts, out);
    std::string w = shape + "c";
    if (integer)
      w = statement("Dequantize " + shape +
                        "/s8c qtype=per_channel axis=3 "
                        "scales=" +
                        channelScales(out),
                    "/f32");
    std::string s = std::to_string(stride), p = k == 3 ? "1" : "0";
    return statement("Convolution " + src + " " + w + " " +
                     std::to_string(out) + "c strides=" + s + "," + s +
                     " pads_begin=" + p + "," + p + " pads_end=" + p + "," + p +
                     " dilations=1,1 groups=" + std::to_string(parts));
  }
  std::string stored(const std::string &x) {
    return integer ? statement("Quantize " + x + " scales=0.5 zps=3", "/u8")
                   : x;
  }
  std::string relu(const std::string &x) {
    return stored(statement("ReLU " + x));
  }
  std::string join(const std::string &sum, std::string source, int64_t in,
                   int64_t out, int stride, bool project) {
    std::string other;
    if (project) {
      other = stored(conv(source, 1, in, out, stride));
      other = asFloat(other);
    } else {
      other = asFloat(source);
    }
    width = out;
    return relu(
        statement("Add " + (swapped ? other + " " + sum : sum + " " + other)));
  }

  bool integer;
  int64_t groups;
  bool swapped;
  int64_t width = 0;
  int next = 0;
};

} // namespace

FusionPatterns residualPatterns() {
  FusionPatterns rows;
  auto bottlenecks = [](Stage stage, int identities, int stride) {
    std::string x = stage.start(8, 64);
    x = stage.bottleneck(x, 32, 128, stride, true);
    for (int i = 0; i < identities; ++i)
      x = stage.bottleneck(x, 32, 128, 1, false);
    return stage.text;
  };
  auto basics = [](int identities, int stride, bool project) {
    Stage stage(true);
    std::string x = stage.start(8, 32);
    x = stage.basic(x, project ? 64 : 32, stride, project);
    for (int i = 0; i < identities; ++i)
      x = stage.basic(x, project ? 64 : 32, 1, false);
    return stage.text;
  };
  auto row = [&](const std::string &pass, const std::string &shape,
                 const std::string &graph) {
    rows.push_back({"Residual blocks", pass, shape, graph});
  };
  const std::pair<const char *, int> stages[] = {
      {"stage_1_4", 2}, {"stage_2", 3}, {"stage_3", 5}};
  for (auto [name, identities] : stages)
    row("int8_resnet50_" + std::string(name),
        "1 + " + std::to_string(identities) + " bottlenecks",
        bottlenecks(Stage(true), identities, 2));
  for (auto [name, identities] : stages)
    row("int8_resnet34_" + std::string(name),
        "1 + " + std::to_string(identities) + " basic blocks",
        basics(identities, 2, true));
  for (auto [name, identities] : stages)
    row("f32_resnet50_" + std::string(name),
        "1 + " + std::to_string(identities) + " bottlenecks",
        bottlenecks(Stage(false), identities, 2));
  const int itex[] = {2, 3, 5, 2};
  for (int i = 0; i < 4; ++i)
    row("itex_int8_resnet50_stage_" + std::to_string(i + 1),
        "1 + " + std::to_string(itex[i]) +
            " bottlenecks, the residual first in Add",
        bottlenecks(Stage(true, 1, true), itex[i], i ? 2 : 1));
  Stage next(true, 4);
  std::string x = next.start(16, 32);
  const int depths[] = {2, 3, 22, 2};
  for (int i = 0; i < 4; ++i) {
    x = next.bottleneck(x, 32 << i, 64 << i, i ? 2 : 1, true);
    for (int j = 0; j < depths[i]; ++j)
      x = next.bottleneck(x, 32 << i, 64 << i, 1, false);
  }
  row("int8_resnext101_backbone", "four stages, 1 + 2, 3, 22, 2 bottlenecks",
      next.text);
  return rows;
}

FusionPatterns fusionPatterns() {
  FusionPatterns all;
  for (auto family :
       {convolutionPatterns, transposedConvolutionPatterns, matmulPatterns,
        poolingPatterns, otherPatterns, attentionPatterns, gatedMlpPatterns,
        residualPatterns, modelPatterns}) {
    FusionPatterns rows = family();
    all.insert(all.end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
  }
  return all;
}

} // namespace tenon::test
