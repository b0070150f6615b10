//===- InferDataMovement_test.cpp - movement, quantization, structure -----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferDataMovement, Concat) {
  runCases({{
      {"Concat", "axis=1", "2x3 2x4 2x0", "2x7"},
      {"Concat", "axis=-1", "2x3", "2x3"},
      {"Concat", "axis=0", "?x3 2x?", "?x3"},
      {"Concat", "axis=0", "2x3 *", "?x3"},
      {"Concat", "axis=0", "* *", "*"},
      {"Concat", "axis=0", "2x3 2x4", "E1203 dims other than 0 differ"},
      {"Concat", "axis=0", "2x3 2", "E1202 ranks differ"},
      {"Concat", "axis=2", "2x3 2x3", "E1208 axis is 2"},
      {"Concat", "axis=0", "", "E1201 0 operands"},
      {"Concat", "axis=0", "2 f16:2", "E1204 same type"},
      {"Concat", "axis=0", "9223372036854775807 1", "E1209 any memory"},
  }});
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "2 ";
  runCases({{{"Concat", "axis=0", many.c_str(), "2000"}}});
}

TEST(InferDataMovement, StaticReshape) {
  runCases({{
      {"StaticReshape", "shape=[3,2] special_zero=false", "2x3", "3x2"},
      {"StaticReshape", "shape=[-1] special_zero=false", "2x3", "6"},
      {"StaticReshape", "shape=[] special_zero=false", "1x1", "[]"},
      {"StaticReshape", "shape=[1,1] special_zero=true", "[]", "1x1"},
      {"StaticReshape", "shape=[0,-1] special_zero=true", "2x3x4", "2x12"},
      {"StaticReshape", "shape=[0,-1] special_zero=true", "?x3x4", "?x12"},
      {"StaticReshape", "shape=[-1,4] special_zero=true", "?x3x4", "?x4"},
      {"StaticReshape", "shape=[0,5] special_zero=false", "0x3", "0x5"},
      {"StaticReshape", "shape=[0,7] special_zero=true", "0x3", "0x7"},
      {"StaticReshape", "shape=[2,-1] special_zero=false", "*", "2x?"},
      {"StaticReshape", "shape=[4,2] special_zero=false", "2x3",
       "E1203 numbers of elements differ, 6 and 8"},
      {"StaticReshape", "shape=[0,5] special_zero=true", "?x3x4",
       "E1203 besides the copied dims"},
      {"StaticReshape", "shape=[4,-1] special_zero=false", "2x3",
       "E1203 4 does not divide 6"},
      {"StaticReshape", "shape=[-1,-1] special_zero=false", "2x3",
       "E1208 more than one -1"},
      {"StaticReshape", "shape=[-2,3] special_zero=false", "2x3", "E1208 -2"},
      {"StaticReshape", "shape=[0,-1] special_zero=false", "0x3",
       "E1203 next to an empty dim"},
      {"StaticReshape", "shape=[0,-1] special_zero=true", "0x3",
       "E1203 next to an empty dim"},
      {"StaticReshape", "shape=[3,2,0] special_zero=true", "2x3",
       "E1208 copies dim 2"},
      {"StaticReshape", "shape=[4294967296,4294967296] special_zero=false",
       "2x3", "E1209 64 bits"},
      {"StaticReshape", "shape=[1,1,1,1,1,1,1,1,1,1,1,1,6] special_zero=false",
       "2x3", "E1202 the limit is 12"},
  }});
}

TEST(InferDataMovement, StaticTranspose) {
  runCases({{
      {"StaticTranspose", "order=[2,0,1]", "2x3x4", "4x2x3"},
      {"StaticTranspose", "order=[-1,0,-2]", "2x3x4", "4x2x3"},
      {"StaticTranspose", "order=[]", "2x3x4", "4x3x2"},
      {"StaticTranspose", "order=[1,0]", "2x?", "?x2"},
      {"StaticTranspose", "order=[1,0]", "*", "?x?"},
      {"StaticTranspose", "order=[1,0]", "2x3x4", "E1208 one entry per dim"},
      {"StaticTranspose", "order=[1,-1]", "2x3", "E1208 names dim 1 twice"},
      {"StaticTranspose", "order=[1,2]", "2x3", "E1208 order is 2"},
  }});
}

TEST(InferDataMovement, CastReorderStructure) {
  runCases({{
      {"TypeCast", "", "2x3", "2x3", "bf16:*"},
      {"TypeCast", "", "2x3", "E1204 both f32", "f32:*"},
      {"TypeCast", "", "bf16:2x3", "2x3", "f16:*"},
      {"TypeCast", "", "s32:2x3", "2x3", "f16:*"},
      {"TypeCast", "", "s32:2x3", "2x3", "s8:*"},
      {"TypeCast", "", "boolean:2x3", "2x3", "s64:*"},
      {"TypeCast", "", "u8:2x3", "E1204 both u8", "u8:*"},
      {"TypeCast", "", "s4:2x3", "E1204 s4", "f32:*"},
      {"TypeCast", "", "f8_e4m3:2x3", "2x3", "f32:*"},
      {"TypeCast", "", "2x3", "2x3", "f8_e5m2:*"},
      {"TypeCast", "", "s8:2x3", "2x3", "f8_e5m2:*"},
      {"Reorder", "", "2x3", "2x3", "2x3/1:2"},
      {"Reorder", "", "2x3", "E1203 dst is 3x2", "3x2"},
      {"End", "", "2x3", ""},
      {"Wildcard", "", "2x3 4", "7 8", "7 8"},
      {"Wildcard", "", "2x3", "E1211 must give it", "*"},
      {"Frobnicate", "", "2", "E1101 Frobnicate"},
      {"Frobnicate", "", "2", "E1101 `tenon ops` lists them"},
      {"Softmx", "", "2", "E1101 did you mean SoftMax"},
      {"Matmul", "", "2", "E1101 did you mean MatMul"},
  }});
}

TEST(InferQuantize, Static) {
  runCases({{
      {"Quantize", "scales=[0.5]", "2x3", "2x3"},
      {"Quantize", "scales=[0.5] zps=[3]", "2x3", "2x3"},
      {"Dequantize", "qtype=per_channel axis=-1 scales=[1,2,3]", "2x3", "2x3"},
      {"Dequantize", "qtype=per_channel scales=[1,2]", "*", "*"},
      {"Dequantize", "scales=[0]", "2x3", "2x3"},
      {"Quantize", "scales=[0]", "2x3", "E1208 divided by"},
      {"Quantize", "scales=[nan]", "2x3", "E1208 not a number"},
      {"Quantize", "scales=[1,2]", "2x3", "E1208 scales has 2 entries"},
      {"Quantize", "qtype=per_channel scales=[1,2]", "2x3",
       "E1208 needed is 3"},
      {"Quantize", "qtype=per_channel axis=2 scales=[1]", "2x3",
       "E1208 axis is 2"},
      {"Quantize", "scales=[1] zps=[1,2]", "2x3", "E1208 zps has 2 entries"},
      {"Quantize", "qtype=per_group scales=[1]", "2x3", "E1208 per_group"},
      {"Quantize", "", "2x3", "E1206 scales"},
      {"Quantize", "scales=[1] zps=[0]", "2x3", "E1208 integer types only",
       "f8_e4m3:*"},
      {"Dequantize", "scales=[1] zps=[0]", "f8_e5m2:2x3",
       "E1208 integer types only"},
  }});
}

TEST(InferQuantize, Dynamic) {
  runCases({{
      {"DynamicQuantize", "", "2x3 1", "2x3"},
      {"DynamicQuantize", "", "2x3 [] []", "2x3"},
      {"DynamicQuantize", "qtype=per_channel", "2x3 3 1", "2x3"},
      {"DynamicQuantize", "qtype=per_channel", "2x3 ? ?", "2x3"},
      {"DynamicQuantize", "", "2x3 3", "E1203 scales is 3, needed is 1"},
      {"DynamicQuantize", "qtype=per_channel", "2x3 2", "E1203 needed is 3"},
      {"DynamicQuantize", "qtype=per_channel", "2x3 3 2", "E1203 zps is 2"},
      {"DynamicQuantize", "qtype=per_group", "2x3 3", "E1206 group_shape"},
      {"DynamicQuantize", "qtype=per_group group_shape=[1,4]", "2x8 2x2",
       "2x8"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,4]", "2x8 2x2",
       "2x8"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,4]", "?x8 2x?",
       "?x8"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,4]", "2x8 2x2 2x1",
       "E1203 shapes differ"},
      {"DynamicDequantize", "qtype=per_group", "2x8 2x2", "E1206 group_shape"},
      {"DynamicDequantize", "qtype=per_group group_shape=[4]", "2x8 2x2",
       "E1208 one entry per dim"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,4]", "2x8 2",
       "E1202 scales is 2"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,3]", "2x8 2x2",
       "E1203 cover 2 x 3"},
      {"DynamicDequantize", "qtype=per_group group_shape=[1,0]", "2x8 2x2",
       "E1208 group_shape is [1, 0]"},
  }});
}

} // namespace
} // namespace tenon::graph::test
