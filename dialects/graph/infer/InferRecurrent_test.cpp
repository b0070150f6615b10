//===- InferRecurrent_test.cpp - recurrent cells --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferRecurrent, Lstm) {
  runCases({{
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "5x2x7"},
      {"LSTM", "direction=left2right", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "5x2x7 1x1x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7 1x1x2x7",
       "5x2x7 1x1x2x7 1x1x2x7"},
      {"LSTM", "", "5x2x7 3x1x7x4x7 3x1x7x4x7 3x1x4x7 3x1x2x7 3x1x2x7",
       "5x2x7 3x1x2x7 3x1x2x7"},
      // One step may read states of another width.
      {"LSTM", "", "1x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7 1x1x2x9", "1x2x7"},
      {"LSTM", "", "0x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "0x2x7 1x1x2x7"},
      {"LSTM", "", "5x0x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "5x0x7 1x1x0x7"},
      {"LSTM", "", "5x2x0 1x1x0x4x0 1x1x0x4x0 1x1x4x0", "5x2x0"},
  }});
}

TEST(InferRecurrent, UnknownSizes) {
  runCases({{
      {"LSTM", "", "?x?x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "?x?x7 1x1x?x7"},
      {"LSTM", "", "* 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7", "?x2x7"},
      {"LSTM", "", "* * * *", "?x?x?"},
      {"LSTM", "", "5x2x3 * * 2x1x4x3", "5x2x3 2x1x2x3"},
      // The bias says how wide the weights are.
      {"LSTM", "", "5x2x3 1x1x?x4x? 1x1x?x4x? 1x1x4x7", "5x2x7"},
      {"LSTM", "", "?x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7", "?x2x7"},
  }});
}

TEST(InferRecurrent, Errors) {
  runCases({{
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7", "E1201 operands"},
      {"LSTM", "direction=right2left", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "E1208 left2right"},
      {"LSTM", "", "5x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "E1202 src_layer is 5x3 of rank 2; needed is rank 3: T, N, SLC"},
      {"LSTM", "", "5x2x3 1x1x4x4x7 1x1x7x4x7 1x1x4x7",
       "E1203 weights_layer is 1x1x4x4x7, expected is ?x1x3x4x?: its dims are "
       "L, D = 1, SLC"},
      {"LSTM", "", "5x2x3 1x2x3x4x7 1x2x7x4x7 1x2x4x7", "E1203 D = 1"},
      {"LSTM", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x3x7", "E1203 4 gates"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x8 1x1x4x7", "E1203 weights_iter"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x8", "E1203 bias is"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x3x7",
       "E1203 src_iter is 1x1x3x7, expected is 1x1x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7 1x1x2x6",
       "E1203 src_iter_c"},
      {"LSTM", "", "5x2x3 2x1x3x4x7 2x1x7x4x7 2x1x4x7",
       "E1203 SLC 3 and DHC 7 differ with 2 layers"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7",
       "E1203 SIC 9 and DHC 7 differ with 5 steps"},
      {"LSTM", "", "5x2x3 0x1x3x4x7 0x1x7x4x7 0x1x4x7", "E1209 0 layers"},
      {"LSTM", "", "bf16:5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "E1204 bf16"},
  }});
}

} // namespace
} // namespace tenon::graph::test
