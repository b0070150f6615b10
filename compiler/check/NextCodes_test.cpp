// SPDX-License-Identifier: Apache-2.0
// Recurrent operations: codes next to a tie, and roundings inside.
#include "compiler/check/TestGraph.h"

#include <cmath>

namespace tenon::check {
namespace {

/// An LSTM of 7 steps, 4 entries and 16 units, with results dst_layer and, in
/// f32, dst_iter_c.
struct Lstm {
  Builder b;
  uint64_t dst = 0, cell = 0;
  std::map<uint64_t, Tensor> inputs, exact;

  explicit Lstm(DType type) {
    bool isInt8 = type == DType::u8;
    DType ofWeights = isInt8 ? DType::s8 : type;
    uint64_t x = b.tensor({7, 4, 8}, type);
    uint64_t w = b.tensor({1, 1, 8, 4, 16}, ofWeights);
    uint64_t u = b.tensor({1, 1, 16, 4, 16}, ofWeights);
    AttrMap attrs;
    if (isInt8)
      attrs = {{"data_scale", 90.0f},
               {"data_shift", 120.0f},
               {"weights_scales", std::vector<float>{300}}};
    dst = b.op("LSTM", {x, w, u}, {7, 4, 16}, type, attrs);
    cell = b.tensor({1, 1, 4, 16});
    b.graph.ops[0].outputs.push_back(cell);
    b.graph.ops[0].absentOutputs = 2; // dst_iter
    inputs = fillOrDie(b.graph, 5);
    auto results = reference::evaluate(b.graph, inputs);
    EXPECT_TRUE(static_cast<bool>(results)) << results.errors()[0].message;
    exact = *results;
  }

  /// Whether each result passes, dst_layer first.
  std::pair<bool, bool> judged(std::map<uint64_t, Tensor> results) const {
    auto judgements = judge(b.graph, inputs, results);
    EXPECT_TRUE(static_cast<bool>(judgements));
    return {judgements->at(0).result.passed(),
            judgements->at(1).result.passed()};
  }

  /// Results of which `count` elements of `id` are off by `error`.
  std::map<uint64_t, Tensor> off(uint64_t id, size_t count,
                                 double error) const {
    auto results = exact;
    std::vector<double> &data = results.at(id).data;
    for (size_t i = 0; i < count; ++i) {
      double &value = data[i * (data.size() / count)];
      value += value > 0 ? -error : error;
    }
    return results;
  }
};

TEST(NextCodes, FewMayBeOffByOne) {
  Lstm lstm(DType::u8);
  size_t few = lstm.exact.at(lstm.dst).data.size() / 50;
  auto passes = [&](size_t count, double codes) {
    return lstm.judged(lstm.off(lstm.dst, count, codes)).first;
  };
  EXPECT_TRUE(passes(1, 0) && passes(1, 1) && passes(few, 1));
  EXPECT_FALSE(passes(few + 1, 1));
  EXPECT_FALSE(passes(1, 2));
}

TEST(NextCodes, CellStatesFollow) {
  Lstm lstm(DType::u8);
  size_t all = lstm.exact.at(lstm.cell).data.size();
  auto passes = [&](size_t count, double codes) {
    return lstm.judged(lstm.off(lstm.cell, count, codes / 90)).second;
  };
  EXPECT_TRUE(passes(all, 0.2) && passes(8, 0.9));
  EXPECT_FALSE(passes(9, 0.9));
  EXPECT_FALSE(passes(1, 1.5));
}

TEST(NextCodes, NarrowFloatsAreRoundedInside) {
  for (DType type : {DType::bf16, DType::f16, DType::f32}) {
    Lstm lstm(type);
    Tolerance tolerance = toleranceFor(lstm.b.graph, lstm.cell, &lstm.inputs);
    bool isNarrow = type != DType::f32;
    double roundoff = reference::epsilonOf(type) / 2;
    EXPECT_EQ(tolerance.narrow, isNarrow);
    EXPECT_GT(tolerance.relative, roundoff * std::sqrt(7.0));
    EXPECT_EQ(tolerance.relative < 0x1p-16, !isNarrow);
    EXPECT_EQ(tolerance.code, 0);
    // As compiled code rounds; not by much more.
    auto plain = plainResults(lstm.b.graph, lstm.inputs);
    auto [ofDst, ofCell] = lstm.judged(plain);
    EXPECT_TRUE(ofDst && ofCell);
    auto wrong = plain;
    for (double &value : wrong.at(lstm.cell).data)
      value *= isNarrow ? 1 + 64 * roundoff : 1 + 0x1p-16;
    EXPECT_FALSE(lstm.judged(wrong).second);
  }
}

} // namespace
} // namespace tenon::check
