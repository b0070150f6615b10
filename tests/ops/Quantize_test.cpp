// SPDX-License-Identifier: Apache-2.0
// What quantisation saturates and rounds at the edges of element types, and
// zero points far from 0.
#include "tests/ops/GivenValues.h"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Two of 4 bits to a byte; f8 that saturates.
TEST(Quantize, NarrowTypesSaturate) {
  for (std::string type : {"s4", "u4"})
    for (std::string zps : {"", " zps=1", " zps=-3", " zps=8"})
      for (std::string scale : {"1", "0.5", "-2"})
        checkValues("y/" + type + " = Quantize 212 scales=" + scale + zps,
                    kFloats);
  for (std::string type : {"f8_e4m3", "f8_e5m2"})
    for (std::string saturates : {"true", "false"})
      checkInputs("y/" + type +
                      " = DynamicQuantize 212 2 qtype=per_group "
                      "group_shape=106 saturate=" +
                      saturates,
                  {kFloats, {1, 0.25}});
}

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  for (std::string type : {"s8", "u8"})
    for (std::string zps : {"", " zps=1", " zps=-3", " zps=128"})
      for (std::string scale : {"1", "0.5", "-2"})
        checkValues("y/" + type + " = Quantize 211 scales=" + scale + zps,
                    kFloats);
}

TEST(Quantize, WholeRangeAndBack) {
  std::vector<double> all;
  for (int i = 0; i < 256; ++i)
    all.push_back(i);
  for (std::string zps : {"", " zps=7", " zps=-100000"})
    checkValues("y/f32 = Dequantize 256/u8 scales=0.125" + zps, all);
  for (double &v : all)
    v -= 128;
  checkValues("y/f32 = Dequantize 256/s8 scales=0.125 zps=-5", all);
  checkValues("x/f32 = Dequantize 256/s8 scales=0.125 zps=9; y/s8 = Quantize "
              "x scales=0.125 zps=9",
              all);
}

/// Sums of bytes and what a zero point adds to them all but cancel.
TEST(ZeroPoints, LoseNoDigits) {
  std::vector<double> near = {128, 129, 130, 130, 129}, weights;
  for (int i = 0; i < 101; ++i)
    weights.push_back(127 - i % 7);
  std::string product =
      "; w/f32 = Dequantize 4096x33/s8c scales=0.25; MatMul a w";
  checkInputs("a/f32 = Dequantize 7x4096/u8 scales=0.5 zps=129" + product,
              {near, weights});
  // Weights that are known late.
  std::string late = "; w/f32 = Dequantize 4096x33/s8 scales=0.25; MatMul a w";
  checkInputs("a/f32 = Dequantize 7x4096/u8 scales=0.5 zps=129" + late,
              {near, weights});
  checkInputs("a/f32 = DynamicDequantize 7x4096/u8 1 1/s32" + late,
              {near, {0.5}, {129}, weights});
  // Also of tensors, and far out of range.
  for (std::string type : {"u8", "s32"})
    checkInputs("a/f32 = DynamicDequantize 7x4096/u8 1 1/" + type + product,
                {near, {0.5}, {129}, weights});
  for (double zp : {300.0, 1e6, -1e9})
    checkInputs("a/f32 = DynamicDequantize 7x4096/u8 1 1/s32" + product,
                {near, {0.5}, {zp}, weights});
  for (std::string zp : {"300", "1000000", "-1000000000"})
    checkInputs("a/f32 = Dequantize 7x4096/u8 scales=0.5 zps=" + zp + product,
                {near, weights});
  for (std::string pads : {"0,0", "1,1"})
    checkInputs("a/f32 = Dequantize 1x7x8x512/u8 scales=0.5 zps=129; w/f32 = "
                "Dequantize 3x3x512x17/s8c scales=0.25; Convolution a w "
                "strides=2,2 dilations=1,1 pads_begin=" +
                    pads + " pads_end=" + pads,
                {near, weights});
  // Over a sequence: the last dim has one position.
  checkInputs("a/f32 = Dequantize 1x56x1x512/u8 scales=0.5 zps=129; w/f32 = "
              "Dequantize 9x1x512x17/s8c scales=0.25; Convolution a w "
              "strides=2,1 dilations=1,1 pads_begin=3,0 pads_end=0,0",
              {near, weights});
}

} // namespace
