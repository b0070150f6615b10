// SPDX-License-Identifier: Apache-2.0
// Convolutions, their transposes and pooling.
#include "tests/ops/FusionPatterns.h"

namespace tenon::test {

static const std::string kSame = " strides=1,1 pads_begin=1,1 pads_end=1,1 "
                                 "dilations=1,1";
static const std::string kPoint = " strides=1,1 pads_begin=0,0 pads_end=0,0 "
                                  "dilations=1,1";
static const std::string kPool = " strides=2,2 pads_begin=0,0 pads_end=0,0 "
                                 "kernel=2,2";

std::string channelScales(int64_t n) {
  static const char *const values[] = {"0.25", "0.5", "1", "0.125"};
  std::string text;
  for (int64_t i = 0; i < n; ++i)
    text += (i ? "," : "") + std::string(values[i % 4]);
  return text;
}

std::string weights(const std::string &name, const std::string &shape, int axis,
                    int64_t channels) {
  return name + "/f32 = Dequantize " + shape +
         "/s8c qtype=per_channel axis=" + std::to_string(axis) +
         " scales=" + channelScales(channels) + "; ";
}

/// Source and weights in bytes, as f32 values `a` and `b`.
static std::string bytes3x3() {
  return "a/f32 = Dequantize 2x14x14x32/u8 scales=0.5 zps=3; " +
         weights("b", "3x3x32x64", 3, 64);
}

/// The same, in bf16.
static std::string bytesInBf16() {
  return "a8/f32 = Dequantize 2x14x14x32/u8 scales=0.5 zps=3; " +
         weights("b8", "3x3x32x64", 3, 64) +
         "a/bf16 = TypeCast a8; b/bf16 = TypeCast b8; ";
}

static void addInteger(FusionPatterns &rows) {
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Convolution", pass, shape, graph});
  };
  const std::string other =
      "o/f32 = Dequantize 2x14x14x64/s8 scales=0.25 zps=1; ";
  row("x8x8x8_conv_add_post_ops_cpu", "bias, residual, ReLU, Q",
      bytes3x3() + other + "y = Convolution a b 64c" + kSame +
          "; s = Add y o; r = ReLU s; q/u8 = Quantize r scales=0.5 zps=2");
  row("x8x8x8_conv_add_post_ops_cpu", "f8: bias, residual, ReLU, Q",
      "a/f32 = Dequantize 2x14x14x32/f8_e5m2 scales=0.5; b/f32 = Dequantize "
      "3x3x32x64/f8_e4m3c scales=0.25; o/f32 = Dequantize 2x14x14x64/f8_e5m2 "
      "scales=0.25; y = Convolution a b 64c" +
          kSame +
          "; s = Add y o; r = ReLU s; q/f8_e5m2 = Quantize r scales=0.5");
  row("x8x8x_conv_post_ops", "bias, ReLU, Q",
      bytes3x3() + "y = Convolution a b" + kSame +
          "; z = BiasAdd y 64c; r = ReLU z; q/u8 = Quantize r scales=0.5");
  row("x8x8x_conv_post_ops", "Q of constant weights, GELU, f32 result",
      "a/f32 = Dequantize 2x14x14x32/s8 scales=0.5; w/s8 = Quantize "
      "3x3x32x64c scales=0.25; b/f32 = Dequantize w scales=0.25; y = "
      "Convolution a b" +
          kSame + "; GELU y");
  row("x8s8x_conv_reshape_post_ops", "depthwise, ReLU, Q",
      "a/f32 = Dequantize 2x14x14x32/u8 scales=0.5; v = StaticReshape "
      "3x3x32x1c shape=3,3,1,32 special_zero=false; w/s8 = Quantize v "
      "qtype=per_channel axis=3 scales=" +
          channelScales(32) +
          "; u/f32 = Dequantize w qtype=per_channel axis=3 scales=" +
          channelScales(32) +
          "; b = StaticReshape u shape=3,3,1,32 special_zero=false; y = "
          "Convolution a b 32c groups=32" +
          kSame + "; r = ReLU y; q/u8 = Quantize r scales=0.5");
  row("x8s8x_tc_conv_add_post_ops_cpu", "bf16: bias, residual, ReLU, Q",
      bytesInBf16() +
          "o8/f32 = Dequantize 2x14x14x64/s8 scales=0.25 zps=1; o/bf16 = "
          "TypeCast o8; c/bf16 = TypeCast 64c; y = Convolution a b c" +
          kSame +
          "; s = Add y o; r = ReLU s; f/f32 = TypeCast r; q/u8 = Quantize f "
          "scales=0.5");
  row("x8s8x_tc_conv_post_ops", "bf16: ReLU, Q",
      bytesInBf16() + "y = Convolution a b 64/bf16c" + kSame +
          "; r = ReLU y; f/f32 = TypeCast r; q/u8 = Quantize f scales=0.5");
}

FusionPatterns convolutionPatterns() {
  FusionPatterns rows;
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Convolution", pass, shape, graph});
  };
  row("fp_conv_postops_depthwise_postops_cpu", "1x1, ReLU, depthwise 3x3, ReLU",
      "y = Convolution 2x14x14x32 1x1x32x64c 64c" + kPoint +
          "; r = ReLU y; d = Convolution r 3x3x1x64c 64c groups=64" + kSame +
          "; ReLU d");
  addInteger(rows);
  const std::string conv = "y = Convolution 2x14x14x32 3x3x32x64c" + kSame;
  const std::string convBf16 =
      "y = Convolution 2x14x14x32/bf16 3x3x32x64/bf16c 64/bf16c" + kSame;
  row("fp_conv_post_ops", "bias, batch norm, ReLU",
      conv + "; z = BiasAdd y 64c; n = BatchNormInference z 64c 64c 64c 64c "
             "epsilon=0.001; ReLU n");
  row("fp_conv_post_ops", "residual, ReLU",
      conv + "; s = Add y 2x14x14x64; ReLU s");
  row("fp_conv_post_ops", "NCX, OIX: batch norm, residual, ReLU",
      "y = Convolution 2x32x14x14 64x32x3x3c data_format=NCX "
      "weights_format=OIX" +
          kSame +
          "; n = BatchNormInference y 64c 64c 64c 64c epsilon=0.001 "
          "data_format=NCX; s = Add n 2x64x14x14; ReLU s");
  row("fp_conv_post_ops", "bf16: bias, Clamp, cast to f32",
      convBf16 + "; r = Clamp y min=0 max=6; f/f32 = TypeCast r");
  row("fp_conv_post_ops_swish_post_ops", "x * Sigmoid(x), Add",
      conv + "; g = Sigmoid y; s = Multiply y g; Add s 2x14x14x64");
  row("fp_conv_post_ops_swish_post_ops", "bf16: x * Sigmoid(x)",
      convBf16 + "; g = Sigmoid y; Multiply g y");
  row("fp_conv_bwd_weights_bias", "ReLUBackward, both gradients",
      "g = ReLUBackward 2x14x14x64 2x14x14x64 use_dst=false; w = "
      "ConvolutionBackwardWeights 2x14x14x32 g weights_shape=3,3,32,64" +
          kSame + "; b = BiasAddBackward g; out w b");
  return rows;
}

FusionPatterns transposedConvolutionPatterns() {
  FusionPatterns rows;
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Transposed convolution", pass, shape, graph});
  };
  const std::string spread = " strides=2,2 pads_begin=1,1 pads_end=1,1 "
                             "dilations=1,1";
  // Weights of XIO: the result has the second channels.
  const std::string integer =
      "a/f32 = Dequantize 2x7x7x32/u8 scales=0.5 zps=3; " +
      weights("b", "4x4x16x32", 2, 16) + "y = ConvTranspose a b 16c" + spread;
  row("x8s8x8_convtranspose_post_ops_cpu", "bias, ReLU, Q",
      integer + "; r = ReLU y; q/u8 = Quantize r scales=0.5");
  row("x8s8x8_convtranspose_add_post_ops_cpu", "bias, residual, Q",
      "o/f32 = Dequantize 2x14x14x16/u8 scales=0.25; " + integer +
          "; s = Add y o; q/u8 = Quantize s scales=0.5");
  row("fp_convtranspose_post_ops", "bias, ReLU, Multiply",
      "y = ConvTranspose 2x7x7x32 4x4x16x32c 16c" + spread +
          "; r = ReLU y; Multiply r 2x14x14x16");
  row("fp_convtranspose_post_ops", "bf16: bias, ReLU",
      "y = ConvTranspose 2x7x7x32/bf16 4x4x16x32/bf16c 16/bf16c" + spread +
          "; ReLU y");
  return rows;
}

FusionPatterns poolingPatterns() {
  FusionPatterns rows;
  auto row = [&](const char *pass, const char *shape,
                 const std::string &graph) {
    rows.push_back({"Pooling", pass, shape, graph});
  };
  const std::string in8 = "a/f32 = Dequantize 2x14x14x32/u8 scales=0.5 zps=3; ";
  const std::string avg8 = in8 + "p = AvgPool a exclude_pad=false" + kPool;
  row("fp_avg_pool", "alone", "AvgPool 2x14x14x32 exclude_pad=true" + kPool);
  row("fp_pool_post_ops", "average, Multiply, Add",
      "p = AvgPool 2x14x14x32 exclude_pad=false" + kPool +
          "; m = Multiply p 32c; Add m 2x7x7x32");
  row("fp_pool_post_ops", "NCX: maximum, Add",
      "p = MaxPool 2x32x14x14 data_format=NCX" + kPool + "; Add p 2x32x7x7");
  row("fp_pool_post_ops", "bf16: maximum, Maximum",
      "p = MaxPool 2x14x14x32/bf16" + kPool + "; Maximum p 2x7x7x32/bf16");
  row("x8_pool_reshape_transpose", "Deq, average, Q, reshape, transpose",
      avg8 + "; q/u8 = Quantize p scales=0.5 zps=3; r = StaticReshape q "
             "shape=2,49,32 special_zero=false; StaticTranspose r "
             "order=0,2,1");
  row("x8_pool_post_ops", "Deq, maximum, Multiply, Q",
      in8 + "p = MaxPool a" + kPool +
          "; m = Multiply p 1c; q/u8 = Quantize m scales=0.5 zps=3");
  row("x8_pool_add_post_ops_cpu", "Deq, average, residual, Q",
      avg8 + "; o/f32 = Dequantize 2x7x7x32/u8 scales=0.25; s = Add p o; "
             "q/u8 = Quantize s scales=0.5 zps=3");
  return rows;
}

} // namespace tenon::test
