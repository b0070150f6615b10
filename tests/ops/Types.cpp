// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

/// Every pair of types, and odd shapes in turn.
static void addCasts(Cases &cases) {
  static const char *const types[] = {"f32", "s64",     "s32", "s8",
                                      "u8",  "boolean", "f64", "f8_e8m0"};
  static const char *const odd[] = {"()",        "0",    "1",     "2x0x3",
                                    "2x3x5x7x2", "1031", "4x8x16"};
  int i = 0;
  for (std::string from : types)
    for (std::string to : types) {
      if (from == to)
        continue;
      cases.push_back("y/" + to + " = TypeCast 5x37/" + from);
      cases.push_back("y/" + to + " = TypeCast " + odd[i++ % std::size(odd)] +
                      "/" + from);
    }
  for (const char *text : {
           "y/s8 = TypeCast 13x17<1,13>",
           // f64 at the edges.
           "x/f32 = TypeCast 5x64/f64<64,1>; w/f32 = TypeCast 64x33/f64c; y = "
           "MatMul x w; z/f64 = TypeCast y",
           "y/f64<1,13> = TypeCast 13x17<40,2>",
           "y/f64 = TypeCast 13x17c",
           "y/f64<1,13> = Reorder 13x17/f64<40,2>",
           "y/bf16 = TypeCast 5x37/f64; x/f64 = TypeCast 5x37/f16; z/f8_e4m3 = "
           "TypeCast 5x37/f64; out x y z",
           "y/f32 = TypeCast 1031/f8_e4m3c",
           "y/f32<1,13> = TypeCast 13x17/f8_e5m2<40,2>",
           "y/f8_e5m2 = TypeCast 5x37",
           "h/f8_e4m3 = TypeCast 5x37; y/f32 = TypeCast h; out h y",
           "x/f32 = TypeCast 5x64/f8_e4m3; w/f32 = TypeCast 64x33/f8_e5m2c; y "
           "= MatMul x w; e = GELU y; z/f8_e4m3 = TypeCast e",
           "y/u8<1,13> = TypeCast 13x17",
           "y/s64<40,2> = TypeCast 13x17/s32<18,1>",
           "y/f32<1,13> = TypeCast 13x17/u8<40,2>",
           "y/boolean<1,17> = TypeCast 17x17/s8<17,1>",
           "y/f32 = TypeCast 1031/s8c",
           "h/s32 = TypeCast 5x37; i/s8 = TypeCast h; y/f32 = TypeCast i; out "
           "h i y",
           "x/f32 = TypeCast 5x7/s8; y = MatMul x 7x11c; h/s32 = TypeCast y",
           "c/boolean = TypeCast 5x37/s32; Select c 5x37 37",
           "x/f32 = TypeCast 64x32/s8; SoftMax x axis=-1",
       })
    cases.push_back(text);
}

/// Copies and views of all types.
static void addMovement(Cases &cases) {
  for (std::string type :
       {"s64", "s32", "s8", "u8", "boolean", "f8_e5m2", "f8_e4m3"})
    for (std::string text :
         {"Concat 5x7/T 5x9/T axis=1", "Concat 3/T 0/T 1/T axis=0",
          "Reorder 5x37/T", "y<1,13> = Reorder 13x17/T<40,2>",
          "StaticReshape 5x6/T shape=3,-1 special_zero=false",
          "StaticTranspose 33x21/T order=1,0",
          "StaticTranspose 2x3x5/T<1,2,6> order=2,0,1",
          "t = StaticTranspose 6x5/T order=1,0; StaticReshape t shape=10,3 "
          "special_zero=false"}) {
      for (size_t at; (at = text.find("/T")) != text.npos;)
        text.replace(at + 1, 1, type);
      cases.push_back(text);
    }
  cases.push_back("x/s8 = TypeCast 5x7; out x x");
  cases.push_back("x/s8 = TypeCast 5x7; t = StaticTranspose x order=1,0; out "
                  "x t");
}

static void addQuantize(Cases &cases) {
  static const char *const odd[] = {"()", "0", "1", "2x0x3", "1031"};
  int i = 0;
  for (std::string type : {"s8", "u8"})
    for (std::string zps : {"", " zps=0", " zps=3"}) {
      std::string rest = " scales=0.5" + zps;
      std::string shape = odd[i++ % std::size(odd)];
      cases.push_back("y/" + type + " = Quantize 5x37" + rest);
      cases.push_back("y/" + type + " = Quantize " + shape + rest);
      cases.push_back("y/f32 = Dequantize 5x37/" + type + rest);
      cases.push_back("y/f32 = Dequantize " + shape + "/" + type + rest);
    }
  for (const char *text : {
           "y/s8 = Quantize 5x37 qtype=per_tensor scales=0.1",
           "y/u8 = Quantize 5x37 scales=0.1 zps=128",
           "y/f32 = Dequantize 5x37/u8 scales=0.1 zps=128 qtype=per_tensor",
           "y/s8 = Quantize 3x5 qtype=per_channel axis=1 scales=1,2,4,8,0.5",
           "y/s8 = Quantize 3x5 qtype=per_channel axis=0 scales=1,2,4 "
           "zps=-1,0,7",
           "y/u8 = Quantize 2x3x5 qtype=per_channel axis=-2 scales=1,2,4 "
           "zps=1,2,3",
           "y/u8 = Quantize 2x3x5x7 qtype=per_channel scales=1,2,4",
           "y/u8 = Quantize 2x1x5 qtype=per_channel scales=2 zps=5",
           "y/u8 = Quantize 2x3x5 qtype=per_channel scales=2,2,2 zps=1,2,3",
           "y/s8 = Quantize 0x3 qtype=per_channel axis=0 scales=",
           "y/f32 = Dequantize 2x3x5x7/s8 qtype=per_channel axis=-3 "
           "scales=1,2,4 zps=1,2,3",
           "y/f32 = Dequantize 3x5/u8c qtype=per_channel axis=-1 "
           "scales=1,2,4,8,0.5",
           "y/f32 = Dequantize 7/s8 qtype=per_channel axis=0 "
           "scales=1,2,3,4,5,6,7",
           "y/f8_e4m3 = Quantize 5x37 scales=0.1",
           "y/f8_e5m2 = Quantize 2x3x5x7 qtype=per_channel scales=1,2,4",
           "y/f32 = Dequantize 5x37/f8_e5m2 scales=0.1",
           "y/f32 = Dequantize 2x3x5x7/f8_e4m3c qtype=per_channel scales=1,2,4",
           "y/f8_e4m3 = Quantize 0x3 scales=0.5",
           "y/s8<1,13> = Quantize 13x17 scales=0.5",
           "y/f32 = Dequantize 13x17/u8<40,2> scales=0.5 zps=7",
           "y/s8<105,1,21,3> = Quantize 2x3x5x7 qtype=per_channel "
           "scales=1,2,4",
           // Two to a byte.
           "y/s4 = Quantize 5x38 scales=0.5 zps=3",
           "y/u4 = Quantize 2x3x4 qtype=per_channel axis=1 scales=1,2,4",
           "y/u4 = Quantize 1 scales=0.5",
           "y/s4 = Quantize 0x6 scales=0.5",
           "y/s4<38,1> = Quantize 5x38<1,5> scales=0.1",
           "y/f32 = Dequantize 5x38/s4 scales=0.5 zps=3",
           "y/f32 = Dequantize 2x3x4/u4 qtype=per_channel axis=1 scales=1,2,4 "
           "zps=1,2,3",
           "r = ReLU 5x38; q/u4 = Quantize r scales=0.1; y/f32 = Dequantize q "
           "scales=0.1; out q y",
           "q/s4 = Quantize 5x37 scales=0.1; y/f32 = Dequantize q scales=0.1",
       })
    cases.push_back(text);
}

/// Weights of convolutions in groups with scales for each channel of each.
static void addGroupedScales(Cases &cases) {
  const std::string window = " strides=2,2 pads_begin=1,1 pads_end=1,1 "
                             "dilations=1,1";
  const std::string line = " strides=1 pads_begin=0 pads_end=0 dilations=1";
  const std::string six = " scales=1,2,4,8,0.5,0.25";
  for (std::string zps : {"", " zps=1,2,-3,4,5,-6"}) {
    std::string rest = " qtype=per_channel" + six + zps;
    // [I, O, ..] and [.., O, I], each of three groups with two channels.
    std::string first = "w/f32 = Dequantize 12x2x3x3/s8c axis=1" + rest;
    std::string last = "w/f32 = Dequantize 3x3x2x12/s8c axis=-2" + rest;
    cases.push_back(first +
                    "; ConvTranspose 2x12x5x4 w 6 groups=3 "
                    "data_format=NCX weights_format=IOX" +
                    window);
    cases.push_back(last + "; ConvTranspose 2x5x4x12 w groups=3" + window);
    cases.push_back("s/f32 = Dequantize 2x5x4x12/u8 scales=0.5 zps=3; " + last +
                    "; y = ConvTranspose s w groups=3" + window +
                    "; z = ReLU y; q/u8 = Quantize z scales=0.5");
    cases.push_back(first +
                    "; ConvTransposeBackwardData 2x6x9x7 w groups=3 "
                    "data_format=NCX weights_format=IOX" +
                    window);
    cases.push_back("s/f32 = Dequantize 2x6x9x7/u8 scales=0.5 zps=3; " + first +
                    "; ConvTransposeBackwardData s w groups=3 data_format=NCX "
                    "weights_format=IOX" +
                    window);
    // The channels of src in a group are those that the gradient makes.
    cases.push_back("w/f32 = Dequantize 12x2x3x3/s8 axis=1" + rest +
                    "; ConvolutionBackwardData 2x12x5x4 w groups=3 "
                    "data_format=NCX weights_format=OIX dst_shape=2,6,9,7" +
                    window);
    cases.push_back(first +
                    "; v/bf16 = TypeCast w; y/bf16 = ConvTranspose "
                    "2x12x5x4/bf16 v groups=3 data_format=NCX "
                    "weights_format=IOX" +
                    window);
    // Of rank 3 both orders have the channels of a group in dim 1.
    cases.push_back("w/f32 = Dequantize 6x2x3/s8c axis=1" + rest +
                    "; ConvTranspose 1x6x5 w groups=3 data_format=NCX "
                    "weights_format=IOX" +
                    line);
    cases.push_back("w/f32 = Dequantize 3x2x6/s8 axis=1" + rest +
                    "; ConvTranspose 1x5x6 w groups=3" + line);
  }
  // One channel in each group.
  std::string sixteen = "1";
  for (int i = 2; i <= 16; ++i)
    sixteen += "," + std::to_string(i);
  cases.push_back("w/f32 = Dequantize 16x1x3x3/s8c axis=1 qtype=per_channel "
                  "scales=" +
                  sixteen +
                  "; ConvTranspose 1x16x5x5 w groups=16 "
                  "data_format=NCX weights_format=IOX" +
                  window);
  // Scales that all groups share.
  cases.push_back("w/f32 = Dequantize 12x2x3x3/s8c axis=1 qtype=per_channel "
                  "scales=1,2; ConvTranspose 1x12x5x5 w groups=3 "
                  "data_format=NCX weights_format=IOX" +
                  window);
  cases.push_back("w/f32 = DynamicDequantize 3x3x2x12/s8 6 6/s32 axis=2 "
                  "qtype=per_channel; ConvTranspose 2x5x4x12 w groups=3" +
                  window);
  cases.push_back("q/s8 = Quantize 3x3x2x12 axis=2 qtype=per_channel" + six +
                  "; w/f32 = Dequantize q axis=2 qtype=per_channel" + six +
                  "; ConvTranspose 2x5x4x12 w groups=3" + window);
}

static void addDynamicQuantize(Cases &cases) {
  for (std::string zps : {"", " 1/s8", " 1/u8c", " ()/s32"}) {
    cases.push_back("y/s8 = DynamicQuantize 5x37 1" + zps);
    cases.push_back("y/u8 = DynamicQuantize 5x37 ()c" + zps);
    cases.push_back("y/f32 = DynamicDequantize 5x37/u8 1" + zps);
    cases.push_back("y/f32 = DynamicDequantize 5x37/s8 1" + zps);
  }
  for (const char *text : {
           "y/s8 = DynamicQuantize () 1",
           "y/s8 = DynamicQuantize 0 1 1/s8",
           "y/s8 = DynamicQuantize 1 () ()/s32",
           "y/s8 = DynamicQuantize 5x37 1 qtype=per_tensor",
           "y/s8 = DynamicQuantize 5x37 37 37/s8 qtype=per_channel",
           "y/u8 = DynamicQuantize 5x37 5 5/u8 qtype=per_channel axis=0",
           "y/u8 = DynamicQuantize 2x3x5 3c 1/s32 qtype=per_channel axis=-2",
           "y/u8 = DynamicQuantize 2x1x5 1 1/u8 qtype=per_channel",
           "y/s8<1,13> = DynamicQuantize 13x17<40,2> 17<3> 17/s8<2> "
           "qtype=per_channel",
           "y/f32 = DynamicDequantize 5x37/s8 1 qtype=per_tensor",
           "y/f32 = DynamicDequantize 5x37/s8 37 37/s8 qtype=per_channel",
           "y/f32 = DynamicDequantize 2x3x5/u8 2 2/s32 qtype=per_channel "
           "axis=-3",
           "y/f32 = DynamicDequantize 4x6/s8 2x3 2x3/u8 qtype=per_group "
           "group_shape=2,2",
           "y/f32 = DynamicDequantize 4x6/u8 4x1 qtype=per_group "
           "group_shape=1,6",
           "y/f32 = DynamicDequantize 4x6/s8 4x6 4x6/s8 qtype=per_group "
           "group_shape=1,1",
           "y/f32 = DynamicDequantize 2x3x64x5/s8c 2x3x2x5c 2x3x2x5/s32c "
           "qtype=per_group group_shape=1,1,32,1",
           // Two to a byte.
           "y/f32 = DynamicDequantize 5x38/u4 1",
           "y/f32 = DynamicDequantize 5x38/s4 1 1/s8",
           "y/f32 = DynamicDequantize 5x38/u4 1 1/u4",
           "y/f32 = DynamicDequantize 1/s4 1",
           "y/f32 = DynamicDequantize 7x6x2/s4c 6c 6/s4c qtype=per_channel",
           "y/f32 = DynamicDequantize 4x6/u4<1,4> 2x3 2x3/u4 qtype=per_group "
           "group_shape=2,2",
           "y/f32 = DynamicDequantize 2x3x64x4/s4<768,256,1,64> 2x3x2x4 "
           "2x3x2x4/s4 qtype=per_group group_shape=1,1,32,1",
           "y/f32 = DynamicDequantize 0x6/s4 0x3 qtype=per_group "
           "group_shape=1,2",
           "w/f32 = DynamicDequantize 64x48/u4c 2x48c 2x48/u4c "
           "qtype=per_group group_shape=32,1; MatMul 5x64 w",
           "a/f32 = DynamicDequantize x:8x6/s4 1; b/f32 = DynamicDequantize x "
           "1; Add a b",
           "y/f32 = DynamicDequantize 0x6/s8 0x3 qtype=per_group "
           "group_shape=1,2",
           "y/f32 = DynamicDequantize 4x6/s8<1,4> 2x3<1,2> qtype=per_group "
           "group_shape=2,2",
           // Groups, both ways.
           "y/s8 = DynamicQuantize 4x6 2x3 2x3/s8 qtype=per_group "
           "group_shape=2,2",
           "y/u8 = DynamicQuantize 8x96 8x3 8x3/u8 qtype=per_group "
           "group_shape=1,32",
           "y/u8 = DynamicQuantize 4x6<1,4> 4x1 qtype=per_group "
           "group_shape=1,6",
           "y/s4 = DynamicQuantize 64x48 2x48 qtype=per_group group_shape=32,1",
           "y/u4 = DynamicQuantize 64x48 2x48 2x48/u4 qtype=per_group "
           "group_shape=32,1",
           "q/s4 = DynamicQuantize 64x48 s:2x48 qtype=per_group "
           "group_shape=32,1; y/f32 = DynamicDequantize q s qtype=per_group "
           "group_shape=32,1; out q y",
           "w/f32 = DynamicDequantize 64x48/s4c 2x48c qtype=per_group "
           "group_shape=32,1; y = MatMul 5x64 w; z/s8 = DynamicQuantize y 5x3 "
           "qtype=per_group group_shape=1,16",
           // MX formats: 32 elements share a power of two.
           "y/f8_e4m3 = DynamicQuantize 8x96 8x3/f8_e8m0 qtype=per_group "
           "group_shape=1,32 saturate=true",
           "y/f8_e5m2 = DynamicQuantize 8x96 8x3/f8_e8m0 qtype=per_group "
           "group_shape=1,32 saturate=true",
           "y/f32 = DynamicDequantize 8x96/f8_e4m3 8x3/f8_e8m0 "
           "qtype=per_group group_shape=1,32",
           "y/bf16 = DynamicDequantize 8x96/f8_e5m2 8x3/f8_e8m0 "
           "qtype=per_group group_shape=1,32",
           "w/f32 = DynamicDequantize 64x48/f8_e4m3c 2x48/f8_e8m0c "
           "qtype=per_group group_shape=32,1; MatMul 5x64 w",
           "w/f32 = DynamicDequantize 256x264/s8c 8x264/f8_e8m0c "
           "qtype=per_group group_shape=32,1; MatMul 3x256 w",
           "w/f32 = DynamicDequantize 264x256/s4c 264x8/f8_e8m0c "
           "qtype=per_group group_shape=1,32; MatMul 3x256 w transpose_b=true",
           "x/f32 = DynamicDequantize 5x64/u8 1/f8_e8m0; w/f32 = "
           "DynamicDequantize 64x48/s8c 48/f8_e8m0c qtype=per_channel axis=1; "
           "MatMul x w",
           "y/f8_e4m3 = DynamicQuantize 5x37 1",
           "y/f8_e5m2 = DynamicQuantize 5x37 37 qtype=per_channel",
           "y/f32 = DynamicDequantize 5x37/f8_e4m3 1",
           // Scales of the greatest element of a group.
           "a = Abs 8x96; r = StaticReshape a shape=8,3,32 special_zero=false; "
           "m = ReduceMax r axes=2; d = Divide m ()c; e/f8_e8m0 = TypeCast d; "
           "q/f8_e4m3 = DynamicQuantize a e qtype=per_group group_shape=1,32 "
           "saturate=true; out q e",
       })
    cases.push_back(text);
}

/// What quantisation fuses with, and int8 products.
static void addQuantizedGraphs(Cases &cases) {
  for (const char *text : {
           "a/f32 = Dequantize 33x64/u8 scales=0.5 zps=3; b/f32 = Dequantize "
           "64x48/s8c scales=0.25; c = MatMul a b; y/u8 = Quantize c scales=2 "
           "zps=5",
           "a/f32 = Dequantize 7x16/s8 scales=0.5; b/f32 = Dequantize "
           "16x5/s8c qtype=per_channel axis=1 scales=1,2,4,8,0.5; c = MatMul "
           "a b 5; d = ReLU c; y/s8 = Quantize d scales=4",
           "a/f32 = Dequantize 1x8x8x16/u8 scales=0.5; b/f32 = Dequantize "
           "3x3x16x8/s8c qtype=per_channel axis=3 scales=1,2,4,8,1,2,4,8; c = "
           "Convolution a b strides=1,1 pads_begin=1,1 pads_end=1,1 "
           "dilations=1,1; d = ReLU c; y/u8 = Quantize d scales=8",
           "c = MatMul 17x32 32x24c; y/u8 = Quantize c qtype=per_channel "
           "axis=1 "
           "scales=1,2,4,8,1,2,4,8,1,2,4,8,1,2,4,8,1,2,4,8,1,2,4,8",
           "a/f32 = Dequantize 5x37/s8 scales=0.5; b/f32 = Dequantize "
           "5x37/u8 scales=0.25 zps=9; c = Add a b; y/s8 = Quantize c "
           "scales=0.5",
           "a/f32 = Dequantize 5x37/s8 scales=0.5; y/s8 = Quantize a "
           "scales=0.5",
           "a/f32 = Dequantize 5x37/u8 scales=1 zps=2; b = SoftMax a axis=-1",
           "q/f32 = Dequantize 2x3x4x5/s8 scales=0.5; t = StaticTranspose q "
           "order=0,2,1,3; r = StaticReshape t shape=8,15 "
           "special_zero=false; y/s8 = Quantize r scales=1",
           "a/f32 = Dequantize 5x7/s8 scales=0.5; b/f32 = Dequantize 5x9/s8 "
           "scales=0.5; c = Concat a b axis=1; y/s8 = Quantize c scales=0.5",
           "s = ReduceMax 5x37 axes=0,1; y/s8 = DynamicQuantize 5x37 s",
           "a/f32 = DynamicDequantize 64x24/s8 2x24 qtype=per_group "
           "group_shape=32,1; MatMul 5x64 a",
       })
    cases.push_back(text);
}

static void addIndices(Cases &cases) {
  for (std::string shape : {"5x37", "2x3x5x7", "13x17<1,13>", "1031", "2x0x3",
                            "1x1x1", "1x9", "100x1", "64x16"})
    for (std::string axis : {"0", "-1"})
      cases.push_back("y/s32 = GenIndex " + shape + " axis=" + axis);
  for (const char *text : {
           "y/s32 = GenIndex 2x3x5x7 axis=2",
           "y/s32 = GenIndex 2x3x5x7 axis=-3",
           "y/s32<1,13> = GenIndex 13x17 axis=0",
           "y/s32<40,2> = GenIndex 13x17 axis=1",
           "y/s32 = GenIndex 5x7/bf16 axis=1",
           "y/s32 = GenIndex 300x701 axis=0",
           // Causal masks, plain and shifted by a length.
           "x = ReLU 2x3x8x16; i/s32 = GenIndex x axis=-2; j/s32 = GenIndex x "
           "axis=-1; c = GreaterEqual i j; Select c x 1",
           "s = MatMul 2x3x8x16 2x3x16x24; i/s32 = GenIndex s axis=2; k = Add "
           "i ()/s32; l = Subtract k ()/s32; j/s32 = GenIndex s axis=3; c = "
           "GreaterEqual l j; m = Select c s ()c; SoftMax m axis=-1",
           "x = Exp 7x33; i/s32 = GenIndex x axis=1; f/f32 = TypeCast i; "
           "y = Multiply x f; SoftMax y axis=1",
           "i/s32 = GenIndex 7x33 axis=1; f/f32 = TypeCast i; ReduceSum f "
           "axes=1",
           "i/s32 = GenIndex 7x33 axis=0; f/f32 = TypeCast i; ReduceMax f "
           "axes=1",
           "i/s32 = GenIndex 7x33 axis=0; f/f32 = TypeCast i; ReduceSum f "
           "axes=0",
           "x = SoftMax 7x33 axis=1; i/s32 = GenIndex x axis=0; out x i",
           "r = ReduceSum 7x33 axes=1 keep_dims=true; i/s32 = GenIndex r "
           "axis=1; j/s32 = GenIndex r axis=0; out i j",
           "i/s32 = GenIndex 64x64 axis=0; y = Add i 64/s32; out i y",
       })
    cases.push_back(text);
}

static void addDropout(Cases &cases) {
  for (const char *text : {
           "Dropout 5x37 1/s64 1/s64 1",
           "y,m/u8 = Dropout 5x37 ()/s64 ()/s64 ()",
           "y,m/u8 = Dropout 5x37 1/s64c 1x1/s64 1c",
           "Dropout () ()/s64 ()/s64 ()",
           "Dropout 0 1/s64 1/s64 1",
           "y,m/u8 = Dropout 1 1/s64 1/s64 1",
           "y,m/u8 = Dropout 2x3x5x7 1/s64 1/s64 1",
           "y,m/u8 = Dropout 13x17<1,13> 1/s64 1/s64 1",
           "y<1,13>,m/u8<40,2> = Dropout 13x17 1/s64 1/s64 1",
           "Dropout 300x701 1/s64 1/s64 1",
           "t = StaticTranspose 5x37 order=1,0; y,m/u8 = Dropout t 1/s64 "
           "1/s64 1",
           "x = ReLU 5x37; y = Dropout x 1/s64 1/s64 1; Exp y",
           "x = MatMul 17x32 32x24c; y,m/u8 = Dropout x 1/s64 1/s64 1",
           "x = SoftMax 7x33 axis=-1; y,m/u8 = Dropout x 1/s64 1/s64 1; "
           "MatMul y 33x8",
           "x = SoftMax 7x33 axis=0; y = Dropout x 1/s64 1/s64 1; out x y",
           "r = ReduceSum 7x33 axes=1 keep_dims=true; y = Dropout r 1/s64 "
           "1/s64 1",
           "s/s64 = TypeCast 1/s32; y,m/u8 = Dropout 5x37 s s 1",
           "s/s64 = TypeCast 1/s32; y,m/u8 = Dropout 1 s 1/s64 1",
       })
    cases.push_back(text);
}

static void addRandomUniform(Cases &cases) {
  for (const char *text : {
           "y/f32 = RandomUniform 1/s64 1/s64 shape=5,37",
           "y/f32 = RandomUniform ()/s64 ()/s64c shape=",
           "y/f32 = RandomUniform 1/s64 ()/s64 shape=0,3",
           "y/f32 = RandomUniform 1/s64 1/s64 shape=1",
           "y/f32 = RandomUniform 1/s64 1/s64 shape=2,3,5,7,2",
           "y/f32<1,13> = RandomUniform 1/s64 1/s64 shape=13,17",
           "y/f32 = RandomUniform 1/s64 1/s64 shape=300,701",
           "y/f32 = RandomUniform 1/s64 1/s64 shape=5,37; z = Add y 5x37; out "
           "y z",
           "s/s64 = TypeCast 1/s32; y/f32 = RandomUniform s s shape=5,37; z = "
           "SoftMax y axis=-1; MatMul z 37x5",
           "z/s64 = Add 1/s64 1/s64; y/f32 = RandomUniform 1/s64 z "
           "shape=7",
       })
    cases.push_back(text);
}

Cases typeCases() {
  Cases cases;
  addCasts(cases);
  addMovement(cases);
  addQuantize(cases);
  addGroupedScales(cases);
  addDynamicQuantize(cases);
  addIndices(cases);
  addDropout(cases);
  addRandomUniform(cases);
  addQuantizedGraphs(cases);
  return cases;
}

} // namespace tenon::test
