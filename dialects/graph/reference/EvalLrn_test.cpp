//===- EvalLrn_test.cpp - local response normalisation --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::AttrMap;
using graph::Dims;

namespace {

AttrMap lrnAttrs(const char *algorithm, int64_t size, float alpha, float beta,
                 float k) {
  return {{"algorithm", std::string(algorithm)},
          {"size", size},
          {"alpha", alpha},
          {"beta", beta},
          {"k", k}};
}

TEST(Lrn, AcrossChannels) {
  // The window of the middle channel holds all three, the others' are cut.
  OneOp op{"LRN",
           {make({1, 1, 3}, {1, 2, 3})},
           lrnAttrs("across_channels", 3, 3.f, 0.5f, 2.f)};
  expectNear(
      op.run()[0], {1, 1, 3},
      {1 / std::sqrt(2 + 5.), 2 / std::sqrt(2 + 14.), 3 / std::sqrt(2 + 13.)});
  op.inputs[0].shape = {1, 3};
  expectNear(
      op.run()[0], {1, 3},
      {1 / std::sqrt(2 + 5.), 2 / std::sqrt(2 + 14.), 3 / std::sqrt(2 + 13.)});
}

TEST(Lrn, EvenSizeIsNarrowerButDividesByIt) {
  OneOp even{"LRN",
             {make({1, 5}, {1, 2, 3, 4, 5})},
             lrnAttrs("across_channels", 4, 4.f, 1.f, 1.f)};
  OneOp odd = even;
  odd.attrs = lrnAttrs("across_channels", 3, 3.f, 1.f, 1.f);
  expectNear(even.run()[0], {1, 5}, odd.run()[0].data);
}

TEST(Lrn, WithinChannel) {
  // Two spatial dims: the divisor is 9, also at the corners.
  OneOp op{"LRN",
           {make({1, 1, 2, 2}, {1, 2, 3, 4})},
           lrnAttrs("within_channel", 3, 9.f, 1.f, 1.f)};
  op.attrs["data_format"] = std::string("NCX");
  double w = 1 + 30;
  expectNear(op.run()[0], {1, 1, 2, 2}, {1 / w, 2 / w, 3 / w, 4 / w});
  // No spatial dim: the element alone, divided by 1.
  op.inputs[0].shape = {2, 2};
  op.attrs["alpha"] = 1.f;
  expectNear(op.run()[0], {2, 2}, {1 / 2., 2 / 5., 3 / 10., 4 / 17.});
}

TEST(Lrn, HugeSizeCoversEverything) {
  OneOp op{"LRN",
           {make({1, 2}, {1, 2})},
           lrnAttrs("across_channels", INT64_MAX, 1.f, 1.f, 2.f)};
  expectNear(op.run()[0], {1, 2}, {0.5, 1});
  op.attrs["size"] = int64_t{0};
  EXPECT_EQ(op.error(), ErrorCode::AttrValue);
  op.inputs[0] = make({2}, {1, 2});
  EXPECT_EQ(op.error(), ErrorCode::BadRank);
}

TEST(Lrn, DefaultsAreThoseOfAlexNet) {
  OneOp plain{"LRN", {make({2, 7}, ramp(14))}};
  OneOp spelled{"LRN", plain.inputs,
                lrnAttrs("across_channels", 5, 1e-4f, 0.75f, 1.f)};
  expectNear(plain.run()[0], {2, 7}, spelled.run()[0].data, 1e-15);
}

TEST(LrnBackward, IsTheGradient) {
  for (const char *algorithm : {"across_channels", "within_channel"})
    for (const char *format : {"NXC", "NCX"})
      for (int64_t size : {1, 3, 4, 5})
        for (const Dims &shape : {Dims{2, 6}, Dims{2, 5, 3}, Dims{1, 3, 4, 3},
                                  Dims{1, 2, 2, 3, 2}, Dims{2, 0, 3}}) {
          OneOp forward{"LRN",
                        {make(shape, ramp(elementCount(shape)))},
                        lrnAttrs(algorithm, size, 2.f, 0.75f, 1.5f)};
          forward.attrs["data_format"] = std::string(format);
          Tensor diffDst = make(shape, ramp(elementCount(shape), 0.41));
          OneOp backward{
              "LRNBackward", {forward.inputs[0], diffDst}, forward.attrs};
          expectNear(backward.run()[0], shape,
                     numericGradient(forward, 0, diffDst.data), 1e-6);
        }
}

} // namespace
