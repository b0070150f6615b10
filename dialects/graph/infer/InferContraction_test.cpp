//===- InferContraction_test.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferContraction, MatMul) {
  runCases({{
      {"MatMul", "", "2x3 3x4", "2x4"},
      {"MatMul", "transpose_a=true", "3x2 3x4", "2x4"},
      {"MatMul", "transpose_b=true", "2x3 4x3", "2x4"},
      {"MatMul", "", "3 3", "[]"},
      {"MatMul", "transpose_a=true transpose_b=true", "3 3", "[]"},
      {"MatMul", "", "3 3x4", "4"},
      {"MatMul", "", "3 5x3x4", "5x4"},
      {"MatMul", "", "5x2x3 3", "5x2"},
      {"MatMul", "", "5x2x3 3x4", "5x2x4"},
      {"MatMul", "", "5x1x2x3 7x3x4", "5x7x2x4"},
      {"MatMul", "", "0x3 3x4", "0x4"},
      {"MatMul", "", "2x0 0x4", "2x4"},
      {"MatMul", "", "?x3 3x?", "?x?"},
      {"MatMul", "", "2x? 3x4", "2x4"},
      {"MatMul", "", "?x2x3 5x3x4", "5x2x4"},
      {"MatMul", "", "* 3x4", "*"},
      {"MatMul", "", "2x3 3x4 4", "2x4"},
      {"MatMul", "", "2x3 3x4 2x4", "2x4"},
      {"MatMul", "", "2x3 3x4 2x1", "2x4"},
      {"MatMul", "", "5x2x3 3x4 5x1x4", "5x2x4"},
      {"MatMul", "", "3 3 1", "[]"},
      {"MatMul", "", "3 3x4 4", "4"},
      {"MatMul", "", "2x3 4x5", "E1203 inner dimensions differ, 3 and 4"},
      {"MatMul", "transpose_b=true", "2x3 3x4", "E1203 transpose_b=true"},
      {"MatMul", "", "5x2x3 4x3x4", "E1203 batch dimensions"},
      {"MatMul", "", "2x3 3x4 5", "E1203 bias is 5"},
      {"MatMul", "", "2x3 3x4 1x2x4", "E1203 bias is 1x2x4"},
      {"MatMul", "", "[] 3x4", "E1202 src is scalar of rank 0"},
      {"MatMul", "", "2x3 f16:3x4", "E1204 with which it is f32"},
      {"MatMul", "", "2x3 3x4", "E1204 with which it is f32", "f16:*"},
      {"MatMul", "", "f16:2x3 f16:3x4", "E1204 it is f16 or f32", "bf16:*"},
      {"MatMul", "", "s8:2x3 u8:3x4 s32:4", "2x4", "s32:*"},
      {"MatMul", "", "s32:2x3 s8:3x4", "2x4", "s32:*"},
      {"MatMul", "", "s8:2x3 3x4", "E1204 it is s32, s8 or u8", "s32:*"},
      {"MatMul", "", "s8:2x3 s8:3x4 4", "E1204 with which it is s32", "s32:*"},
      {"MatMul", "", "s8:2x3 s8:3x4", "E1204 with which it is s32", "f32:*"},
      {"MatMul", "", "bf16:2x3 bf16:3x4", "2x4", "f32:*"},
      {"MatMul", "", "2x3 3x4", "E1203 dst is 2x5", "2x5"},
  }});
}

TEST(InferContraction, MatMulReportsBothProblems) {
  Parsed p = parse({"MatMul", "", "5x2x3 4x6x4", "*"});
  EXPECT_EQ(verifyOp(p.op, p.inputs, p.outputs).size(), 2u);
}

#define UNIT1 "strides=[1] dilations=[1] pads_begin=[0] pads_end=[0] "
#define UNIT2 "strides=[1,1] dilations=[1,1] pads_begin=[0,0] pads_end=[0,0] "

TEST(InferContraction, Convolution) {
  runCases({{
      {"Convolution", UNIT2, "2x8x9x3 3x2x3x16", "2x6x8x16"},
      {"Convolution", UNIT2 "data_format=NCX weights_format=OIX",
       "2x3x8x9 16x3x3x2", "2x16x6x8"},
      {"Convolution", UNIT1 "groups=3", "1x5x6 3x2x9", "1x3x9"},
      {"Convolution",
       "strides=[2] dilations=[3] pads_begin=[1] pads_end=[2] data_format=NCX "
       "weights_format=OIX",
       "1x4x10 8x4x3 8", "1x8x4"},
      {"Convolution", UNIT1, "1x5x? 3x2x9", "1x3x9"},
      {"Convolution", UNIT1, "?x?x4 3x4x9", "?x?x9"},
      {"Convolution", UNIT1, "* 3x4x9", "?x?x9"},
      {"Convolution", UNIT1, "* *", "*"},
      {"Convolution", "strides=[1] dilations=[1] pads_begin=[] pads_end=[]",
       "1x5x4 3x4x9", "1x3x9"},
      {"Convolution", UNIT1, "1x0x4 3x4x9", "E1203 smaller than the dilated"},
      {"Convolution", UNIT1, "1x2x4 3x4x9", "E1203 kernel 3, stride 1"},
      {"Convolution", UNIT1, "1x5x5 3x4x9", "E1203 src has 5 channels"},
      {"Convolution", UNIT1 "groups=2", "1x5x8 3x4x9", "E1203 does not divide"},
      {"Convolution", UNIT1 "groups=0", "1x5x8 3x4x9",
       "E1208 least value is 1"},
      {"Convolution", UNIT1, "1x5x4 3x4x9 8", "E1203 bias is 8"},
      {"Convolution", UNIT1, "1x5x4 3x3x4x9", "E1202 ranks of data"},
      {"Convolution", UNIT1, "5x4 4x9", "E1202 rank is 2"},
      {"Convolution", UNIT1, "1x5x4 0x4x9", "E1209 the kernel is 0"},
      {"Convolution", UNIT2, "1x5x4 3x4x9", "E1208 needed are 1"},
      {"Convolution", "strides=[0] dilations=[1] pads_begin=[0] pads_end=[0]",
       "1x5x4 3x4x9", "E1208 strides is [0]"},
      {"Convolution", "strides=[1] dilations=[1] pads_begin=[-1] pads_end=[0]",
       "1x5x4 3x4x9", "E1208 pads_begin is [-1]"},
      {"Convolution",
       "strides=[1] dilations=[9223372036854775807] pads_begin=[0] "
       "pads_end=[0]",
       "1x5x4 3x4x9", "E1203 smaller than the dilated kernel"},
      {"Convolution",
       "strides=[1] dilations=[1] pads_begin=[9223372036854775807] "
       "pads_end=[9223372036854775807]",
       "1x5x4 3x4x9", "E1209 64 bits"},
      {"Convolution", "strides=[1]", "1x5x4 3x4x9", "E1206 dilations"},
      {"Convolution", UNIT1, "1x5x4 3x4x9", "E1203 dst are 4", "1x4x9"},
  }});
}

struct PadCase {
  const char *kind;
  const char *attrs;
  const char *inputs;
  const char *expected;
  Dims begin, end;
};

void runPadCases(std::span<const PadCase> cases) {
  for (const PadCase &c : cases) {
    SCOPED_TRACE(std::string(c.kind) + " " + c.attrs);
    Parsed p = parse({c.kind, c.attrs, c.inputs, c.expected});
    EXPECT_EQ(str(inferOp(p.op, p.inputs, p.outputs)), "");
    EXPECT_EQ(shapesText(p.outputs), expectedText(c.expected));
    EXPECT_EQ(p.op.attrOr<std::string>("auto_pad", ""), "None");
    EXPECT_EQ(p.op.attrOr<Dims>("pads_begin", {}), c.begin);
    EXPECT_EQ(p.op.attrOr<Dims>("pads_end", {}), c.end);
    EXPECT_EQ(str(verifyOp(p.op, p.inputs, p.outputs)), "");
  }
}

TEST(InferContraction, AutoPadBecomesPads) {
#define AUTO "pads_begin=[7] pads_end=[7] "
  runPadCases({{
      {"Convolution",
       AUTO "auto_pad=SAME_UPPER strides=[2] dilations=[1]",
       "1x8x4 3x4x9",
       "1x4x9",
       {0},
       {1}},
      {"Convolution",
       AUTO "auto_pad=SAME_LOWER strides=[2] dilations=[1]",
       "1x8x4 3x4x9",
       "1x4x9",
       {1},
       {0}},
      {"Convolution",
       AUTO "auto_pad=SAME_UPPER strides=[2] dilations=[2]",
       "1x7x4 3x4x9",
       "1x4x9",
       {2},
       {2}},
      {"Convolution",
       AUTO "auto_pad=SAME_UPPER strides=[5] dilations=[1]",
       "1x10x4 3x4x9",
       "1x2x9",
       {0},
       {0}},
      {"Convolution",
       AUTO "auto_pad=VALID strides=[1] dilations=[1]",
       "1x8x4 3x4x9",
       "1x6x9",
       {0},
       {0}},
      {"Convolution",
       AUTO "auto_pad=VALID strides=[1] dilations=[1]",
       "1x?x4 3x4x9",
       "1x?x9",
       {0},
       {0}},
      // Steps of one leave no rest.
      {"Convolution",
       AUTO "auto_pad=SAME_UPPER strides=[1] dilations=[3]",
       "1x?x4 4x4x9",
       "1x?x9",
       {4},
       {5}},
      {"ConvTranspose",
       AUTO "auto_pad=SAME_UPPER strides=[2] dilations=[1]",
       "1x4x9 3x4x9",
       "1x8x4",
       {0},
       {1}},
      {"ConvTranspose",
       AUTO "auto_pad=SAME_LOWER strides=[4] dilations=[1]",
       "1x4x9 3x4x9",
       "1x15x4",
       {0},
       {0}},
      {"MaxPool",
       AUTO "auto_pad=SAME_LOWER strides=[2] kernel=[2]",
       "1x5x4",
       "1x3x4",
       {1},
       {0}},
      {"ConvolutionBackwardData",
       AUTO "auto_pad=SAME_UPPER strides=[2] dilations=[1] dst_shape=[1,8,4]",
       "1x4x9 3x4x9",
       "1x8x4",
       {0},
       {1}},
      {"ConvTransposeBackwardData",
       AUTO "auto_pad=SAME_LOWER strides=[2] dilations=[1]",
       "1x8x4 3x4x9",
       "1x4x9",
       {1},
       {0}},
  }});
}

TEST(InferContraction, AutoPadWaitsForSizes) {
  Parsed p = parse({"Convolution",
                    AUTO "auto_pad=SAME_UPPER strides=[2] dilations=[1]",
                    "1x?x4 3x4x9", "*"});
  EXPECT_EQ(str(inferOp(p.op, p.inputs, p.outputs)), "");
  EXPECT_EQ(shapesText(p.outputs), "1x?x9");
  EXPECT_EQ(p.op.attrOr<std::string>("auto_pad", ""), "SAME_UPPER");
  EXPECT_EQ(p.op.attrOr<Dims>("pads_begin", {}), Dims{7});
}

TEST(InferContraction, ConvTranspose) {
  runCases({{
      {"ConvTranspose", UNIT1, "1x4x9 3x5x9", "1x6x5"},
      {"ConvTranspose",
       "strides=[3] dilations=[2] pads_begin=[1] pads_end=[0] "
       "output_padding=[2] data_format=NCX weights_format=IOX",
       "1x9x4 9x5x3 5", "1x5x15"},
      {"ConvTranspose", UNIT1 "groups=2 data_format=NCX weights_format=IOX",
       "1x4x6 4x1x1", "1x2x6"},
      {"ConvTranspose", UNIT1 "output_padding=[0,0,0,0,0,0,0,0,0,0,0,0]",
       "1x4x9 3x5x9", "1x6x5"},
      {"ConvTranspose", UNIT1, "1x0x9 3x5x9", "1x0x5"},
      {"ConvTranspose", UNIT1, "?x?x9 3x5x9", "?x?x5"},
      {"ConvTranspose", UNIT1 "output_padding=[-1]", "1x4x9 3x5x9",
       "E1208 output_padding"},
      {"ConvTranspose", UNIT1 "output_padding=[1,1]", "1x4x9 3x5x9",
       "E1208 needed are 1"},
      {"ConvTranspose", "strides=[1] dilations=[1] pads_begin=[4] pads_end=[4]",
       "1x4x9 3x5x9", "E1209 less than one element"},
      {"ConvTranspose", UNIT1, "1x4x8 3x5x9", "E1203 src has 8 channels"},
      {"ConvTranspose", UNIT1, "1x4x9 3x5x9 9", "E1203 bias is 9"},
      {"ConvTranspose",
       "strides=[9223372036854775807] dilations=[1] pads_begin=[0] "
       "pads_end=[0]",
       "1x4x9 3x5x9", "E1209 64 bits"},
  }});
}

TEST(InferContraction, ConvolutionGradients) {
  runCases({{
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[1,5,4]", "1x3x9 3x4x9",
       "1x5x4"},
      {"ConvolutionBackwardData", UNIT1, "1x3x9 3x4x9", "1x5x4", "1x5x4"},
      {"ConvolutionBackwardData", UNIT1, "?x3x9 3x4x9", "?x5x4", "?x5x4"},
      {"ConvolutionBackwardData", UNIT1, "1x3x9 3x4x9 3", "1x?x4"},
      {"ConvolutionBackwardData", UNIT1, "1x3x9 3x4x9",
       "E1211 set attribute dst_shape"},
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[0,0,0,0,0,0,0,0,0,0,0,0]",
       "1x3x9 3x4x9", "E1211"},
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[1,6,4]", "1x3x9 3x4x9",
       "E1203 spatial dims of diff_dst are 3"},
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[2,5,4]", "1x3x9 3x4x9",
       "E1203 batch sizes differ"},
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[1,5]", "1x3x9 3x4x9",
       "E1208 needed are 3"},
      {"ConvolutionBackwardData", UNIT1 "dst_shape=[1,5,4]", "1x3x9 3x4x9 4",
       "E1203 one entry per dim"},
      {"ConvolutionBackwardWeights", UNIT1 "weights_shape=[3,4,9]",
       "1x5x4 1x3x9", "3x4x9"},
      {"ConvolutionBackwardWeights",
       UNIT1 "weights_shape=[9,2,3] groups=2 data_format=NCX "
             "weights_format=OIX",
       "1x4x5 1x9x3", "E1203 does not divide the 9 channels"},
      {"ConvolutionBackwardWeights", UNIT1, "1x5x4 1x3x9 3", "?x4x9"},
      {"ConvolutionBackwardWeights", UNIT1, "1x5x4 1x3x9",
       "E1211 set attribute weights_shape"},
      {"ConvolutionBackwardWeights", UNIT1 "weights_shape=[2,4,9]",
       "1x5x4 1x3x9", "E1203 the window gives 4"},
      {"ConvTransposeBackwardData", UNIT1, "1x6x5 3x5x9", "1x4x9"},
      {"ConvTransposeBackwardData", UNIT1, "1x6x4 3x5x9",
       "E1203 diff_dst has 4 channels"},
      {"ConvTransposeBackwardWeights", UNIT1 "weights_shape=[3,5,9]",
       "1x4x9 1x6x5", "3x5x9"},
      {"ConvTransposeBackwardWeights", UNIT1, "1x4x9 1x6x5", "3x5x9", "3x5x9"},
      {"ConvTransposeBackwardWeights", UNIT1, "1x4x9 1x6x5", "E1211"},
      {"BiasAddBackward", "", "2x5x5x3", "3"},
      {"BiasAddBackward", "data_format=NCX", "2x3", "3"},
      {"BiasAddBackward", "", "3", "E1202 rank 2 or more"},
  }});
}

} // namespace
} // namespace tenon::graph::test
