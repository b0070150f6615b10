// SPDX-License-Identifier: Apache-2.0
// Graphs in bf16, f16 and bytes: those of the other families with other types,
// and products whose K fills whole tiles of a matrix unit, parts of them, and
// parts of a group.
#include "tests/ops/Cases.h"

#include <regex>

namespace tenon::test {

/// `text` with every tensor, where it says no type, of type `type`.
static std::string narrowed(const std::string &text, const std::string &type) {
  static const std::regex shape(R"(( |:)(\(\)|\d+(?:x\d+)*)(?=[<c; ]|$)(?!=))");
  return std::regex_replace(text, shape, "$1$2/" + type);
}

/// Statistics of a softmax are f32, and the text cannot say so of one result.
static bool hasStatistics(const std::string &text) {
  return text.find(" SoftMax ") != text.npos &&
         text.find(",") < text.find(" = SoftMax");
}

/// Every `step`th of `from`, in turn in bf16 and f16.
static void addNarrowed(Cases &cases, const Cases &from, size_t step,
                        bool f16 = true) {
  for (size_t i = 0; i < from.size(); i += step)
    // What names a type means it.
    if (from[i].find('/') == std::string::npos && !hasStatistics(from[i])) {
      bool half = f16 && i / step % 2 && from[i].find("Norm") == from[i].npos;
      cases.push_back(narrowed(from[i], half ? "f16" : "bf16"));
    }
}

static void addProducts(Cases &cases) {
  for (const char *text : {
           "MatMul 33x64/bf16 64x96/bf16c",
           "MatMul 127x200/bf16 200x80/bf16c",
           "MatMul 5x131/bf16 131x50/bf16c",
           "MatMul 3x40x66/bf16 3x66x48/bf16",
           "MatMul 16x64/bf16 64x32/bf16 transpose_a=false transpose_b=false",
           "MatMul 64x48/bf16 64x80/bf16c transpose_a=true",
           "y = MatMul 48x96/bf16 96x96/bf16c 96/bf16c; z = Add y 48x96/bf16; "
           "ReLU z",
           "y = MatMul 48x96/f16 96x64/f16c 64/f16c; GELU y mode=gelu_tanh",
           "y = MatMul 33x64/bf16 64x96/bf16c; z/f32 = TypeCast y; SoftMax z "
           "axis=-1",
           "y = MatMul 33x64/bf16 64x96/bf16c; c = GreaterEqual y 96/bf16c; "
           "Select c y 33x96/bf16",
           "Convolution 2x64x9x9/bf16 32x64x3x3/bf16c strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1 data_format=NCX "
           "weights_format=OIX",
           "Convolution 1x9x9x70/bf16 3x3x70x40/bf16c strides=2,2 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1 data_format=NXC "
           "weights_format=XIO",
           "Convolution 1x17x17x3/bf16 5x5x3x16/bf16c strides=2,2 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NXC "
           "weights_format=XIO",
           "Convolution 1x7x7x32/bf16 3x3x1x32/bf16c strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1 groups=32 "
           "data_format=NXC weights_format=XIO",
           "y = Convolution 1x7x15x24/bf16 3x3x4x24/bf16c 24/bf16c strides=1,1 "
           "pads_begin=1,1 pads_end=1,1 dilations=1,1 groups=6 "
           "data_format=NXC weights_format=XIO; ReLU y",
       })
    cases.push_back(text);
}

/// Products of bytes: signs, zero points, scales, padding, groups, casts.
static void addInteger(Cases &cases) {
  std::string conv = " strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1 "
                     "data_format=NXC weights_format=XIO";
  std::string unpadded = " strides=2,1 pads_begin=0,0 pads_end=0,0 "
                         "dilations=1,1 data_format=NXC weights_format=XIO";
  for (std::string src : {"u8", "s8"})
    for (std::string zp : {"", " zps=7"}) {
      std::string a = "a/f32 = Dequantize SHAPE/" + src + " scales=0.5" + zp;
      auto with = [&](const char *shape, const std::string &rest) {
        std::string text = a;
        text.replace(text.find("SHAPE"), 5, shape);
        cases.push_back(text + "; " + rest);
      };
      with("33x64", "b/f32 = Dequantize 64x48/s8c scales=0.25; MatMul a b");
      with("33x64", "b/f32 = Dequantize 48x64/s8c scales=0.25; "
                    "c = StaticTranspose b order=-1,-2; MatMul a c");
      with("131x6", "b/f32 = Dequantize 5x131/s8c qtype=per_channel axis=0 "
                    "scales=1,2,0.5,4,0.25; c = StaticTranspose b order=; "
                    "d = StaticTranspose a order=-1,0; MatMul d c");
      with("47x200", "b/f32 = Dequantize 200x80/s8c scales=0.25; y = MatMul a "
                     "b 80c; z = ReLU y; q/u8 = Quantize z scales=64 zps=2");
      with("6x131", "b/f32 = Dequantize 131x5/s8c qtype=per_channel axis=1 "
                    "scales=1,2,0.5,4,0.25; y = MatMul a b; z = Add y 6x5; "
                    "q/s8 = Quantize z scales=128");
      with("1x9x9x64", "b/f32 = Dequantize 3x3x64x32/s8c scales=0.25; y = "
                       "Convolution a b" +
                           conv);
      with("2x9x8x20", "b/f32 = Dequantize 3x3x20x6/s8c qtype=per_channel "
                       "axis=3 scales=1,2,0.5,4,0.25,1; y = Convolution a b "
                       "6c" +
                           unpadded + "; q/s8 = Quantize y scales=256");
      with("1x6x7x8", "b/f32 = Dequantize 3x3x4x8/s8c scales=0.25; y = "
                      "Convolution a b groups=2" +
                          conv);
      with("1x6x7x32", "b/f32 = Dequantize 3x3x16x32/s8c scales=0.25; y = "
                       "Convolution a b groups=2" +
                           conv);
      // Weights of u8, and with zero points; few rows of changing ones.
      with("33x64", "b/f32 = Dequantize 64x48/u8c scales=0.25 zps=128; "
                    "MatMul a b");
      with("33x64", "b/f32 = Dequantize 64x48/u8 scales=0.25; MatMul a b");
      with("5x64", "b/f32 = Dequantize 64x48/u8 scales=0.25 zps=3; "
                   "MatMul a b");
      with("33x64", "b/f32 = Dequantize 48x64/s8c scales=0.25 zps=-5; y = "
                    "MatMul a b 48c transpose_b=true; q/u8 = Quantize y "
                    "scales=128 zps=9");
      with("3x40x70", "b/f32 = Dequantize 3x33x70/u8 scales=0.25 zps=130; c = "
                      "StaticTranspose b order=0,2,1; MatMul a c");
      with("17x31", "b/f32 = Dequantize 31x5/u8 qtype=per_channel axis=1 "
                    "scales=1,2,0.5,4,0.25 zps=4,4,4,4,4; MatMul a b");
      with("17x31", "b/f32 = Dequantize 31x3/u8c qtype=per_channel axis=1 "
                    "scales=1,2,0.5 zps=4,5,4; MatMul a b");
      with("2x3x19x16", "c/bf16 = TypeCast a; b/f32 = Dequantize 2x3x21x16/u8 "
                        "scales=0.25 zps=131; d/bf16 = TypeCast b; MatMul c d "
                        "transpose_b=true");
      with("16x96", "c/bf16 = TypeCast a; b/f32 = Dequantize 96x32/s8c "
                    "scales=0.25; d/bf16 = TypeCast b; y = MatMul c d; z/f32 = "
                    "TypeCast y; q/s8 = Quantize z scales=128");
    }
  for (const char *text : {
           "a/f32 = Dequantize 2x64x7x7/u8 scales=0.5 zps=3; b/f32 = "
           "Dequantize "
           "16x64x3x3/s8c qtype=per_channel axis=0 "
           "scales=1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2; y = Convolution a b "
           "strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1 "
           "data_format=NCX weights_format=OIX; z = ReLU y",
           "a/f32 = DynamicDequantize 33x64/u8 1 1/u8; b/f32 = "
           "DynamicDequantize 64x48/s8c 48c qtype=per_channel axis=1; MatMul a "
           "b",
           "a/f32 = Dequantize 33x64/s8 scales=0.5; b/f32 = Dequantize "
           "48x64/s8c scales=0.25; MatMul a b transpose_b=true",
           "a/f32 = Dequantize 3x33x64/s8 scales=0.5; b/f32 = Dequantize "
           "3x64x48/s8 scales=0.25; MatMul a b",
           "a/f32 = DynamicDequantize 33x64/u8 1; b/f32 = DynamicDequantize "
           "64x48/u8c 48c qtype=per_channel axis=1; MatMul a b",
           // These multiply in f32.
           "a/f32 = DynamicDequantize 33x64/u8 1 1/u8; b/f32 = Dequantize "
           "64x48/u8c scales=0.25 zps=3; MatMul a b",
           "a/f32 = Dequantize 33x64/s8 scales=0.5; b/f32 = "
           "DynamicDequantize 64x48/s8c 1c 1/s8c; MatMul a b",
           "a/f32 = Dequantize 4x6/s8 qtype=per_channel axis=1 "
           "scales=1,2,4,8,1,2; b/f32 = Dequantize 6x5/s8c scales=0.25; "
           "MatMul a b",
       })
    cases.push_back(text);
}

/// Products so large that operands are widened in memory where the target has
/// no instruction for them.
static void addWidened(Cases &cases) {
  std::string conv = " strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1 ";
  std::string last = conv + "data_format=NXC weights_format=XIO";
  std::string first = conv + "data_format=NCX weights_format=OIX";
  for (std::string src : {"u8", "s8"}) {
    auto push = [&](const char *data, const char *weights,
                    const std::string &rest) {
      cases.push_back("a/f32 = Dequantize " + (data + ("/" + src)) +
                      " scales=0.5 zps=7; b/f32 = Dequantize " + weights +
                      "/s8c scales=0.25; " + rest);
    };
    push("128x512", "512x72",
         "y = MatMul a b 72c; z = ReLU y; q/u8 = Quantize z scales=128 zps=2");
    push("130x501", "501x70", "MatMul a b"); // half a pair of K
    push("1x18x17x32", "3x3x32x128", "y = Convolution a b" + last);
    push("2x16x16x64", "3x3x32x64",
         "y = Convolution a b 64c groups=2" + last + "; z = ReLU y");
    push("2x64x14x14", "64x64x3x3", "y = Convolution a b" + first);
  }
  for (std::string type : {"bf16", "f16"}) {
    auto push = [&](std::string text) {
      for (size_t at; (at = text.find('@')) != text.npos;)
        text.replace(at, 1, "/" + type);
      cases.push_back(text);
    };
    push("y = MatMul 128x512@ 512x65@c 65@c; z = ReLU y; Add z 128x65@");
    push("MatMul 2x70x512@ 72x512@c transpose_b=true");
    push("y = Convolution 1x16x15x32@ 3x3x32x128@c 128@c" + last + "; ReLU y");
    push("x = ReLU 2x64x14x14@; y = Convolution x 64x64x3x3@c" + first +
         "; Add y x");
    push("s = MatMul 2x130x32@ 2x140x32@ transpose_b=true; d = Divide s 1@c; "
         "p = SoftMax d axis=-1; o = MatMul p 2x140x40@; ReLU o");
  }
}

Cases narrowCases() {
  Cases cases;
  addProducts(cases);
  addInteger(cases);
  addNarrowed(cases, unaryCases(), 7);
  addNarrowed(cases, binaryCases(), 9);
  addNarrowed(cases, matmulCases(), 4);
  addNarrowed(cases, convolutionCases(), 5);
  addNarrowed(cases, poolCases(), 6);
  addNarrowed(cases, interpolateCases(), 9);
  addNarrowed(cases, reduceCases(), 9);
  addNarrowed(cases, normCases(), 7, /*f16=*/false);
  addNarrowed(cases, backwardCases(), 9);
  addNarrowed(cases, attentionCases(), 5);
  addNarrowed(cases, fusionCases(), 3);
  // Gradients of gamma and beta in f32 beside a narrow src.
  cases.push_back("x/f16,g/f32,b/f32 = LayerNormBackward 6x33/f16 6x33/f16 6 6 "
                  "33");
  // Many rows of narrow statistics, whose scale is not rounded either.
  cases.push_back("x/bf16,g/bf16,b/bf16 = LayerNormBackward 1024x1/bf16 "
                  "1024x1/bf16 1024/bf16 1024/bf16 1/bf16 epsilon=0.5");
  // Attention: steps over an odd number of keys, one query, scores in f32.
  for (std::string t : {"/bf16", "/f16"})
    for (const std::string &text :
         {"s" + t + " = MatMul 2x97x64" + t + " 2x64x1601" + t + "; p" + t +
              " = SoftMax s axis=-1; MatMul p 2x1601x40" + t,
          "s" + t + " = MatMul 3x1x64" + t + " 3x64x77" + t + "; p" + t +
              " = SoftMax s axis=-1; MatMul p 3x77x64" + t,
          "s" + t + " = MatMul 2x50x32" + t + " 2x32x77" + t +
              "; u/f32 = TypeCast s; v = Add u 2x1x77; p,z = SoftMax v axis=-1 "
              "mode=inf_as_zero; q" +
              t + " = TypeCast p; y" + t + " = MatMul q 2x77x33" + t +
              "; out y z"})
      cases.push_back(text);
  for (const char *text : {
           // Rows of src that meet few sets of the cache are copied.
           "MatMul 70x512/bf16 512x288/bf16c",
           "y = MatMul 2x40x1024/bf16 1024x300/bf16c 300/bf16c; ReLU y",
           "a/f32 = Dequantize 37x1024/u8 scales=0.01; b/f32 = Dequantize "
           "1024x272/s8c scales=0.02; MatMul a b",
       })
    cases.push_back(text);
  // K is cut into parts.
  for (std::string type : {"bf16", "f16"})
    cases.push_back("y = MatMul 16x4096/" + type + " 4096x40/" + type +
                    "c; ReLU y");
  // Few channels, joined with the taps of a row.
  std::string attrs = " strides=2,2 pads_begin=3,3 pads_end=3,3 dilations=1,1 "
                      "data_format=NXC weights_format=XIO";
  for (std::string type : {"bf16", "f16"})
    cases.push_back("Convolution 2x33x31x3/" + type + " 7x7x3x40/" + type +
                    "c" + attrs);
  for (std::string src : {"u8", "s8"})
    for (std::string weights : {"7x7x3x40", "3x3x3x40", "3x3x2x40"})
      cases.push_back("a/f32 = Dequantize 2x33x31x" +
                      weights.substr(4, weights.rfind('x') - 4) + "/" + src +
                      " scales=0.5 zps=7; b/f32 = Dequantize " + weights +
                      "/s8c scales=0.25; y = Convolution a b 40c" + attrs +
                      "; z = ReLU y; q/u8 = Quantize z scales=128");
  // Windows of padding only have the lowest number of the type.
  for (std::string type : {"bf16", "f16"})
    for (std::string more : {"", "; Abs y", "; Add y 20"})
      cases.push_back("y = MaxPool 1x5x4x20/" + type +
                      " strides=1,1 pads_begin=0,2 pads_end=2,0 kernel=1,1" +
                      (more.ends_with("20") ? more + "/" + type : more));
  addWidened(cases);
  return cases;
}

} // namespace tenon::test
