// SPDX-License-Identifier: Apache-2.0
// What a Concat joins is computed where it joins it, by every kind of group.
#include "tests/ops/Cases.h"

namespace tenon::test {

/// What computes `a`, of 6x32, from other tensors.
static Cases writers() {
  return {
      "a = ReLU 6x32; ",
      "a = SoftMax 6x32 axis=-1; ",
      "a = SoftMax 6x32 axis=0; ",
      "a = LayerNorm 6x32 32c 32c keep_stats=false; ",
      "a = ReduceSum 6x32x9 axes=2; ",
      "m = MatMul 6x40 40x32c 32c; a = GELU m mode=gelu_erf; ",
      "a = MatMul 6x40 40x32; ",
      "a = MatMul 40x6 40x32c transpose_a=true; ",
      "s = MatMul 6x16 16x20; p = SoftMax s axis=-1; a = MatMul p 20x32; ",
      "h = MatMul 6x64 64x128c; r = ReLU h; a = MatMul r 128x32c; ",
      "d/f32 = Dequantize 6x40/u8 scales=0.5 zps=3; w/f32 = Dequantize "
      "40x32/s8c scales=0.25; a = MatMul d w; ",
      "i = Concat 6x16 6x16 axis=1; a = Abs i; ",
      "a = Concat 6x16 6x16 axis=1; ",
      "t = StaticTranspose 32x6 order=1,0; a = Exp t; ",
  };
}

/// What joins `a`, and what else reads it.
static Cases joins() {
  return {
      "c = Concat a 6x32 axis=1; Tanh c",
      "c = Concat 6x48 a 6x32 axis=1; Tanh c",
      "Concat 2x32 a axis=0",
      "b = Abs a; c = Concat b a axis=1; d = Add a b; out c d",
      "b = Abs a; c = Concat a b axis=1; d = Exp b; e = Concat a b d axis=1; "
      "f = ReduceSum c axes=1; out e f",
      "c = Concat a 6x32 axis=1; d = Concat 5x64 c axis=0; out d",
      "b = StaticReshape a shape=2,3,32 special_zero=false; "
      "c = Concat b 2x4x32 axis=1; Abs c",
      "b = StaticTranspose a order=1,0; c = Concat b 16x6 axis=0; "
      "StaticTranspose c order=1,0",
      "y<80,1> = Concat a 6x16 axis=1",
      "c = Concat a a axis=1; MatMul c 64x24c",
      "b = StaticReshape a shape=192 special_zero=false; "
      "c = Concat a 6x16 axis=1; d = Abs b; out c d",
  };
}

/// Images, of 1x32x6x5, which convolutions and what is around them compute.
static Cases images() {
  const std::string conv = "strides=1,1 pads_begin=1,1 pads_end=1,1 "
                           "dilations=1,1 data_format=NCX weights_format=OIX",
                    pool = "strides=1,1 kernel=3,3 pads_begin=1,1 "
                           "pads_end=1,1 data_format=NCX";
  const std::string join = "; c = Concat a x axis=1; Convolution c 24x64x3x3c ";
  return {
      "m = Convolution x:1x32x6x5 32x32x3x3c 32c " + conv + "; a = ReLU m" +
          join + conv,
      "a = Convolution x:1x32x6x5 32x1x3x3c groups=32 " + conv + join + conv,
      "m = Convolution x:1x32x6x5 32x32x3x3c " + conv + "; a = MaxPool m " +
          pool + join + conv,
      "m = Convolution x:1x32x6x5 32x32x3x3c " + conv + "; p = MaxPool m " +
          pool + "; q = MaxPool p " + pool +
          "; c = Concat m p q axis=1; Convolution c 16x96x3x3c " + conv,
      "m = Convolution 1x32x3x5 32x32x3x3c " + conv +
          "; a = Interpolate m mode=nearest sizes=6,5 data_format=NCX "
          "coordinate_transformation_mode=half_pixel; c = Concat a x:1x32x6x5 "
          "axis=1; Convolution c 24x64x3x3c " +
          conv,
      // Dense blocks: each layer reads all before it.
      "a = Convolution x:1x32x6x5 16x32x3x3c " + conv +
          "; c = Concat x a axis=1; b = Convolution c 16x48x3x3c " + conv +
          "; d = Concat x a b axis=1; e = Convolution d 16x64x3x3c " + conv +
          "; Concat x a b e axis=1",
      "m = Convolution x:2x32x6x5 32x32x3x3c " + conv +
          "; c = Concat m x axis=1; ReLU c",
      "m/bf16 = Convolution x:1x32x6x5/bf16 32x32x3x3/bf16c " + conv +
          "; c/bf16 = Concat m x axis=1; d/bf16 = Convolution c "
          "24x64x3x3/bf16c " +
          conv + "; y/f32 = TypeCast d",
  };
}

Cases joinedCases() {
  Cases cases = images();
  Cases ends = joins();
  for (const std::string &writer : writers())
    for (size_t i = 0; i < 3; ++i)
      cases.push_back(writer + ends[(cases.size() + i) % ends.size()]);
  for (const std::string &end : ends)
    cases.push_back(writers()[5] + end);
  for (const char *text : {
           "a/s32 = Add 6x32/s32 6x32/s32; b/s32 = Concat a 6x32/s32 axis=1; "
           "y/s32 = Add b 6x64/s32",
           // Rows of few elements, and of one.
           "a = Exp 37x2; b = Tanh 37x1; c = Concat a b 37x3 axis=1; Sqrt c",
           "a = SoftMax 37x4 axis=-1; b = MatMul 37x8 8x5c; c = Concat a b "
           "axis=1; ReLU c",
           "a/boolean = GreaterEqual 6x64 6x64; b/boolean = Concat a "
           "6x64/boolean axis=1; Select b 6x128 1",
           "a/s8 = Quantize 6x64 scales=0.25; b/s8 = Concat a 6x64/s8 axis=1; "
           "y/f32 = Dequantize b scales=0.5",
           "a,h,c = LSTM 4x3x5 1x1x5x4x16c 1x1x16x4x16c 1x1x4x16c; b = Concat "
           "a 4x3x16 axis=2; Tanh b",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
