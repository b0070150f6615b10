//===- InferWindow_test.cpp - pooling and interpolation -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

#define POOL(S, PB, PE, K)                                                     \
  "strides=[" S "] pads_begin=[" PB "] pads_end=[" PE "] kernel=[" K "] "

TEST(InferWindow, Pool) {
  runCases({{
      {"MaxPool", POOL("2,2", "0,0", "0,0", "2,2"), "1x6x7x3", "1x3x3x3"},
      {"MaxPool", POOL("2,2", "0,0", "0,0", "2,2") "rounding_type=ceil",
       "1x6x7x3", "1x3x4x3"},
      {"MaxPool", POOL("2", "0", "0", "3") "rounding_type=ceil", "1x3x4",
       "1x1x4"},
      {"MaxPool",
       POOL("1,1", "1,1", "0,0", "2,2") "dilations=[2,3] data_format=NCX",
       "1x3x6x6", "1x3x5x4"},
      {"MaxPool",
       POOL("1", "0", "0", "2") "dilations=[1,1,1,1,1,1,1,1,1,1,1,1]", "1x3x4",
       "1x2x4"},
      {"AvgPool", POOL("1,1", "1,1", "1,1", "3,3") "exclude_pad=true",
       "?x4x?x3", "?x4x?x3"},
      // A window may start in the end padding; nothing is clipped.
      {"AvgPool",
       POOL("3", "0", "2", "2") "exclude_pad=true rounding_type=ceil", "1x4x1",
       "1x3x1"},
      // Windows end before src does, as where a framework rounds down.
      {"MaxPool", POOL("2,2", "0,0", "-1,-1", "2,2"), "1x7x6x3", "1x3x2x3"},
      {"MaxPool", POOL("2,2", "1,0", "-1,-2", "2,3") "rounding_type=ceil",
       "1x7x7x3", "1x4x2x3"},
      {"AvgPool", POOL("2", "0", "-3", "2") "exclude_pad=true data_format=NCX",
       "1x4x5", "1x4x1"},
      {"AvgPool", POOL("2", "0", "-4", "2") "exclude_pad=true", "1x5x4",
       "E1203 smaller than the dilated kernel"},
      {"MaxPool", POOL("2", "-1", "0", "2"), "1x5x4",
       "E1208 pads_begin is [-1]; the least value is 0"},
      {"MaxPool", POOL("2", "0", "-9223372036854775807", "2"), "1x5x4",
       "E1208 the least value is -2147483647"},
      {"AvgPool", POOL("1", "0", "0", "2"), "1x3x4", "E1206 exclude_pad"},
      {"MaxPool", POOL("1", "0", "0", "5"), "1x4x1",
       "E1203 smaller than the dilated kernel"},
      {"MaxPool", POOL("1", "0", "0", "5"), "4x1", "E1202 rank 3 or more"},
      {"MaxPool", POOL("1", "0", "0", "2,2"), "1x4x1", "E1208 needed are 1"},
      {"MaxPool", POOL("1", "0", "0", "0"), "1x4x1", "E1208 kernel is [0]"},
      {"MaxPool", POOL("1", "0", "0", "2") "dilations=[0]", "1x4x1",
       "E1208 dilations is [0]"},
      {"MaxPool", POOL("1", "0", "0", "2") "rounding_type=up", "1x4x1",
       "E1208 \"up\""},
      {"MaxPool", POOL("1", "0", "0", "9223372036854775807"), "1x4x1",
       "E1203 smaller"},
      {"MaxPool", POOL("1", "0", "0", "2"), "*", "*"},
      {"MaxPool", POOL("2,2", "0,0", "0,0", "2,2"), "1x6x7x3",
       "1x3x3x3 1x3x3x3"},
      {"MaxPool", POOL("2", "0", "0", "2"), "1x6x3", "E1203 indices is 1x2x3",
       "* 1x2x3"},
      {"MaxPool", POOL("2", "0", "0", "2") "propagate_nan=true", "1x6x3",
       "1x3x3"},
      {"AvgPool", POOL("2", "0", "0", "2") "exclude_pad=false divisor=clipped",
       "1x6x3", "1x3x3"},
      {"AvgPool", POOL("2", "0", "0", "2") "exclude_pad=false divisor=half",
       "1x6x3", "E1208 \"half\""},
  }});
}

TEST(InferWindow, PoolBackward) {
  runCases({{
      {"MaxPoolBackward", POOL("2", "0", "0", "2"), "1x7x4 1x3x4", "1x7x4"},
      // Of a forward with rounding_type ceil.
      {"MaxPoolBackward", POOL("2", "0", "0", "2"), "1x7x4 1x4x4", "1x7x4"},
      {"MaxPoolBackward", POOL("2", "0", "-1", "2"), "1x6x4 1x2x4", "1x6x4"},
      {"AvgPoolBackward",
       POOL("2", "0", "-1", "2") "exclude_pad=true src_shape=[1,6,4]", "1x3x4",
       "1x6x4"},
      {"MaxPoolBackward", POOL("2", "0", "0", "2"), "1x7x4 1x5x4",
       "E1203 spatial dims of diff_dst"},
      {"MaxPoolBackward", POOL("2", "0", "0", "2"), "1x7x4 2x3x4",
       "E1203 batch or channels differ"},
      {"MaxPoolBackward", POOL("2", "0", "0", "2"), "1x7x4 1x3x1x4",
       "E1202 ranks differ"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true src_shape=[1,7,4]", "1x3x4",
       "1x7x4"},
      {"AvgPoolBackward", POOL("2", "0", "0", "2") "exclude_pad=true",
       "1x3x4 3", "1x?x4"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true src_shape=[1,7,4] "
                                "rounding_type=ceil",
       "1x4x4", "1x7x4"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true src_shape=[1,7,4] "
                                "rounding_type=floor",
       "1x4x4", "E1203 the window gives 3"},
      {"AvgPoolBackward", POOL("2", "0", "0", "2") "exclude_pad=true", "1x3x4",
       "1x7x4", "1x7x4"},
      {"AvgPoolBackward", POOL("2", "0", "0", "2") "exclude_pad=true", "1x3x4",
       "E1211 set attribute src_shape"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true "
                                "src_shape=[0,0,0,0,0,0,0,0,0,0,0,0]",
       "1x3x4", "E1211"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true src_shape=[1,9,4]", "1x3x4",
       "E1203 the window gives 4"},
      {"AvgPoolBackward",
       POOL("2", "0", "0", "2") "exclude_pad=true src_shape=[1,7,5]", "1x3x4",
       "E1203 diff_src is 1x7x5"},
  }});
}

TEST(InferWindow, Interpolate) {
  runCases({{
      {"Interpolate", "mode=linear sizes=[10]", "2x5x3", "2x10x3"},
      {"Interpolate", "mode=nearest sizes=[4,6] data_format=NCX", "2x3x5x5",
       "2x3x4x6"},
      {"Interpolate", "mode=bilinear scales=[2.5,0.5]", "2x5x4x3", "2x12x2x3"},
      // In f32 this is 3, although 0.3f is a little more than 0.3.
      {"Interpolate", "mode=linear scales=[0.3]", "1x10x1", "1x3x1"},
      {"Interpolate", "mode=linear scales=[2]", "1x?x1", "1x?x1"},
      {"Interpolate", "mode=linear", "1x5x1 1", "1x?x1"},
      {"Interpolate", "mode=linear", "1x5x1", "E1206 neither"},
      {"Interpolate", "mode=linear sizes=[2] scales=[2]", "1x5x1",
       "E1208 more than one"},
      {"Interpolate", "mode=linear sizes=[2]", "1x5x1 1",
       "E1208 more than one"},
      {"Interpolate", "mode=linear sizes=[2,2]", "1x5x1", "E1208 needed are 1"},
      {"Interpolate", "mode=linear scales=[2,2]", "1x5x1",
       "E1208 needed are 1"},
      {"Interpolate", "mode=linear scales=[-2]", "1x5x1", "E1208 positive"},
      {"Interpolate", "mode=linear scales=[inf]", "1x5x1", "E1208 infinite"},
      {"Interpolate", "mode=linear scales=[0.1]", "1x5x1", "E1209 scaled by"},
      {"Interpolate", "mode=linear scales=[3e38]", "1x5x1", "E1209 scaled by"},
      {"Interpolate", "mode=linear sizes=[0]", "1x5x1", "E1208 least value"},
      {"Interpolate", "mode=quintic sizes=[2]", "1x5x1", "E1208 \"quintic\""},
      {"Interpolate", "mode=cubic sizes=[2] cubic_coeff_a=-0.5", "1x5x1",
       "1x2x1"},
      {"Interpolate", "mode=cubic sizes=[2] cubic_coeff_a=inf", "1x5x1",
       "E1208 infinite"},
      {"Interpolate", "mode=linear scales=[0.5] ratio=scales", "1x5x1",
       "1x2x1"},
      {"Interpolate", "mode=linear sizes=[2] ratio=scales", "1x5x1",
       "E1206 attribute scales is not set"},
      {"Interpolate", "mode=linear ratio=scales", "1x5x1 1",
       "E1206 attribute scales is not set"},
      {"Interpolate", "mode=nearest sizes=[2] nearest_mode=up", "1x5x1",
       "E1208 \"up\""},
      {"Interpolate", "mode=linear sizes=[2]", "5x1", "E1202 rank 3"},
      {"InterpolateBackward", "mode=linear sizes=[10]", "2x5x3 2x10x3",
       "2x5x3"},
      // 17 * 1.235294 is 20.999998: the gradient says that 21 was meant.
      {"InterpolateBackward", "mode=linear scales=[1.235294]", "2x17x3 2x21x3",
       "2x17x3"},
      {"InterpolateBackward", "mode=linear scales=[2]", "2x5x3 2x10x3",
       "2x5x3"},
      {"InterpolateBackward", "mode=linear scales=[2]", "2x5x3 2x11x3",
       "E1203 diff_dst is 2x11x3"},
  }});
}

} // namespace
} // namespace tenon::graph::test
