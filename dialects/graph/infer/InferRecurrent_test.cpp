//===- InferRecurrent_test.cpp - recurrent cells --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferRecurrent, Lstm) {
  runCases({{
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7", "5x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "5x2x7"},
      {"LSTM", "direction=left2right", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "5x2x7 1x1x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7 1x1x2x7",
       "5x2x7 1x1x2x7 1x1x2x7"},
      // Each state alone, bias left out, results left out.
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 - 1x1x2x7", "5x2x7 - 1x1x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 - - 1x1x2x7",
       "5x2x7 - - 1x1x5x2x42"},
      {"LSTM", "", "5x2x7 3x1x7x4x7 3x1x7x4x7 3x1x4x7 3x1x2x7 3x1x2x7",
       "5x2x7 3x1x2x7 3x1x2x7 3x1x5x2x42"},
      // Peephole, projection to 4 channels, lengths.
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x4x4x7 - - - 1x1x3x7 1x1x7x4 2",
       "5x2x4 1x1x2x4 1x1x2x7 1x1x5x2x39"},
      // One step may read states of another width.
      {"LSTM", "", "1x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7 1x1x2x9", "1x2x7"},
      {"LSTM", "", "0x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "0x2x7 1x1x2x7"},
      {"LSTM", "", "5x0x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "5x0x7 1x1x0x7"},
      {"LSTM", "", "5x2x0 1x1x0x4x0 1x1x0x4x0 1x1x4x0", "5x2x0"},
  }});
}

TEST(InferRecurrent, DirectionsAndLayouts) {
  const char *both = "5x2x3 1x2x3x4x7 1x2x7x4x7 1x2x4x7";
  runCases({{
      {"LSTM", "direction=right2left", "5x2x3 1x1x3x4x7 1x1x7x4x7", "5x2x7"},
      {"LSTM", "direction=bidirectional_sum", both, "5x2x7 1x2x2x7"},
      {"LSTM", "direction=bidirectional_concat", both, "5x2x14 1x2x2x7"},
      {"LSTM", "batch_first=true direction=bidirectional_concat",
       "2x5x3 1x2x3x4x7 1x2x7x4x7", "2x5x14 1x2x2x7 - 1x2x5x2x42"},
      // A layer reads one direction, or both.
      {"RNN", "direction=bidirectional_concat", "5x2x7 3x2x7x1x7 3x2x7x1x7",
       "5x2x14"},
      {"RNN", "direction=bidirectional_sum stacking=concatenated",
       "5x2x14 3x2x14x1x7 3x2x7x1x7", "5x2x7"},
      {"RNN", "stacking=concatenated", "5x2x7 3x1x7x1x7 3x1x7x1x7", "5x2x7"},
  }});
}

TEST(InferRecurrent, OtherCells) {
  runCases({{
      {"RNN", "activation=relu alpha=0.1",
       "5x2x3 1x1x3x1x7 1x1x7x1x7 1x1x1x7 1x1x2x7 2", "5x2x7 - 1x1x5x2x14"},
      {"GRU", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x3x7", "5x2x7 - 1x1x5x2x28"},
      {"GRU", "linear_before_reset=true", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x4x7",
       "5x2x7 1x1x2x7 1x1x5x2x35"},
      {"AUGRU", "batch_first=true", "2x5x3 1x1x3x3x7 1x1x7x3x7 2x5x1 - - 2",
       "2x5x7 1x1x2x7 1x1x5x2x28"},
      {"AUGRU", "linear_before_reset=true",
       "5x2x3 1x1x3x3x7 1x1x7x3x7 5x2x1 1x1x4x7", "5x2x7"},
  }});
}

TEST(InferRecurrent, ElementTypes) {
  runCases({{
      {"LSTM", "",
       "bf16:5x2x3 bf16:1x1x3x4x7 bf16:1x1x7x4x7 f32:1x1x4x7 bf16:1x1x2x7 "
       "f32:1x1x2x7 bf16:1x1x3x7",
       "bf16:5x2x7 bf16:1x1x2x7 f32:1x1x2x7", "bf16:* bf16:* f32:*"},
      {"GRU", "", "f16:5x2x3 f16:1x1x3x3x7 f16:1x1x7x3x7 f16:1x1x3x7", "5x2x7",
       "f16:*"},
      {"LSTM", "data_scale=64 data_shift=128 weights_scales=[100]",
       "u8:5x2x3 s8:1x1x3x4x7 s8:1x1x7x4x7 - f32:1x1x2x7 1x1x2x7",
       "5x2x7 1x1x2x7 1x1x2x7", "f32:* u8:* f32:*"},
      {"LSTM", "projection_scales=[1,2]",
       "u8:5x2x3 s8:1x1x3x4x1 s8:1x1x2x4x1 - - - - s8:1x1x1x2", "5x2x2",
       "u8:*"},
      {"GRU", "weights_scales=[1,2,3]", "u8:5x2x3 s8:1x1x3x3x1 s8:1x1x1x3x1",
       "5x2x1", "u8:*"},
      {"RNNBackward", "",
       "bf16:5x2x3 bf16:1x1x3x1x7 bf16:1x1x7x1x7 1x1x5x2x14 5x2x7 "
       "bf16:1x1x2x7",
       "5x2x3"},
  }});
}

TEST(InferRecurrent, UnknownSizes) {
  runCases({{
      {"LSTM", "", "?x?x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7", "?x?x7 1x1x?x7"},
      {"LSTM", "", "* 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7", "?x2x7"},
      {"LSTM", "", "* * * *", "?x?x? ?x1x?x?"},
      {"LSTM", "", "5x2x3 * * 2x1x4x3", "5x2x3 2x1x2x3"},
      {"LSTM", "", "?x?x3 * * - - - - - 6", "?x6x?"},
      // The bias says how wide the weights are.
      {"LSTM", "", "5x2x3 1x1x?x4x? 1x1x?x4x? 1x1x4x7", "5x2x7"},
      {"LSTM", "", "?x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7", "?x2x7"},
      {"LSTM", "", "?x2x3 ?x1x3x4x? ?x1x?x4x? - - - - 2x1x7x3",
       "?x2x3 2x1x2x3 2x1x2x7"},
      {"LSTM", "direction=bidirectional_concat", "?x?x? * *", "?x?x? ?x2x?x?"},
      {"GRU", "", "* * 1x1x7x3x?", "?x?x7"},
      // Through dst_layer, whose channels are 2 * DHC.
      {"RNNBackward", "direction=bidirectional_concat", "5x2x3 * * * 5x2x14",
       "5x2x3 ?x2x3x1x7 ?x2x7x1x7 ?x2x1x7 ?x2x2x7"},
  }});
}

TEST(InferRecurrent, Errors) {
  runCases({{
      {"LSTM", "", "5x2x3 1x1x3x4x7", "E1201 operands"},
      {"LSTM", "", "5x2x3 - 1x1x7x4x7", "E1201 weights_layer is left out"},
      {"LSTM", "direction=both", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "E1208 left2right"},
      {"LSTM", "", "5x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "E1202 src_layer is 5x3 of rank 2; needed is rank 3: T, N, SLC"},
      {"LSTM", "", "5x2x3 1x1x4x4x7 1x1x7x4x7 1x1x4x7",
       "E1203 weights_layer is 1x1x4x4x7, expected is ?x1x3x4x?: its dims are "
       "L, D = 1, SLC, G = 4, DHC"},
      {"LSTM", "", "5x2x3 1x2x3x4x7 1x2x7x4x7 1x2x4x7", "E1203 D = 1"},
      {"LSTM", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x3x7", "E1203 G = 4"},
      {"GRU", "linear_before_reset=true", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x3x7",
       "E1203 bias is 1x1x3x7, expected is 1x1x4x7: its dims are L, D = 1, Gb "
       "= 4, DHC"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x8 1x1x4x7", "E1203 weights_iter"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x8", "E1203 bias is"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x3x7",
       "E1203 src_iter is 1x1x3x7, expected is 1x1x2x7"},
      {"LSTM", "", "5x2x7 2x1x7x4x7 2x1x7x4x7 - 3x1x2x7",
       "E1203 src_iter is 3x1x2x7, expected is 2x1x2x7"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7 1x1x2x7 1x1x2x6",
       "E1203 src_iter_c"},
      {"LSTM", "", "5x2x3 2x1x3x4x7 2x1x7x4x7 2x1x4x7",
       "E1203 SLC is 3; needed is DIC = 7 with 2 layers"},
      {"RNN", "direction=bidirectional_sum stacking=concatenated",
       "5x2x7 3x2x7x1x7 3x2x7x1x7",
       "E1203 SLC is 7; needed is 2 * DIC = 14 with 3 layers"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x9x4x7 1x1x4x7",
       "E1203 SIC is 9; needed is DIC = 7 with 5 steps"},
      {"LSTM", "", "1x2x3 1x1x3x4x7 1x1x9x4x7 - - - - - 2",
       "E1203 SIC is 9; needed is DIC = 7 with sequence_lengths"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 - - - - - 3",
       "E1203 sequence_lengths is 3, expected is 2"},
      {"GRU", "", "1x2x3 1x1x3x3x7 1x1x9x3x7",
       "E1203 SIC is 9; needed is DHC = 7"},
      {"AUGRU", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 5x2x2",
       "E1203 attention is 5x2x2, expected is 5x2x1"},
      {"LSTM", "", "5x2x3 0x1x3x4x7 0x1x7x4x7 0x1x4x7", "E1209 0 layers"},
      {"LSTM", "", "?x?x9223372036854775807 * 1x1x9223372036854775807x4x?",
       "E1209 larger than any memory"},
  }});
}

TEST(InferRecurrent, ErrorsOfElementTypes) {
  const char *int8 = "u8:5x2x3 s8:1x1x3x4x7 s8:1x1x7x4x7";
  runCases({{
      {"LSTM", "", "bf16:5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x4x7",
       "E1204 weights_layer is f32 but src_layer is bf16, with which it is "
       "bf16"},
      {"LSTM", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 bf16:1x1x4x7",
       "E1204 bias is bf16 but src_layer is f32, with which it is f32"},
      {"LSTM", "", int8,
       "E1204 dst_layer is bf16 but src_layer is u8, with "
       "which it is u8 or f32",
       "bf16:*"},
      {"LSTM", "", "u8:5x2x3 s8:1x1x3x4x7 s8:1x1x7x4x7 - - - 1x1x3x7",
       "E1204 src_layer is u8, with which there is no weights_peephole",
       "u8:*"},
      {"LSTM", "", int8, "E1204 no workspace", "u8:* - - *"},
      {"GRU", "linear_before_reset=true", "u8:5x2x3 s8:1x1x3x3x7 s8:1x1x7x3x7",
       "E1204 no linear_before_reset", "u8:*"},
      {"LSTM", "data_scale=0", int8, "E1208 data_scale: 0", "u8:*"},
      {"LSTM", "weights_scales=[1,0]", int8, "E1208 weights_scales: 0", "u8:*"},
      {"LSTM", "weights_scales=[1,2]", int8,
       "E1208 weights_scales has 2 numbers, needed are 1 or G * DHC = 28",
       "u8:*"},
      {"LSTM", "projection_scales=[1,2]", int8, "E1208 1 or DIC = 7", "u8:*"},
      {"RNNBackward", "",
       "bf16:5x2x3 bf16:1x1x3x1x7 bf16:1x1x7x1x7 1x1x5x2x14 5x2x7 1x1x2x7",
       "E1204 src_iter is f32"},
  }});
}

TEST(InferRecurrent, Gradients) {
  const char *lstm = "5x2x3 1x1x3x4x7 1x1x4x4x7 1x1x5x2x39 5x2x4 - - 1x1x3x7 "
                     "1x1x7x4";
  runCases({{
      {"LSTMBackward", "", lstm,
       "5x2x3 1x1x3x4x7 1x1x4x4x7 1x1x4x7 1x1x2x4 1x1x2x7 1x1x3x7 1x1x7x4"},
      {"LSTMBackward", "", lstm, "- - - 1x1x4x7 - - - 1x1x7x4"},
      {"LSTMBackward", "diff_weights=accumulate",
       "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x5x2x42 5x2x7 - - - - - - - 1x1x3x4x7 "
       "- 1x1x4x7",
       "5x2x3 1x1x3x4x7 - 1x1x4x7"},
      {"GRUBackward", "linear_before_reset=true",
       "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x35 5x2x7",
       "- 1x1x3x3x7 1x1x7x3x7 1x1x4x7 1x1x2x7"},
      {"AUGRUBackward", "batch_first=true",
       "2x5x3 1x1x3x3x7 1x1x7x3x7 2x5x1 1x1x5x2x28 2x5x7 1x1x2x7 2",
       "2x5x3 - - 1x1x3x7 - 2x5x1"},
  }});
}

TEST(InferRecurrent, ErrorsOfGradients) {
  const char *gru = "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x28 5x2x7";
  runCases({{
      // The workspace of linear_before_reset, of other steps, of other layers.
      {"GRUBackward", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x35 5x2x7",
       "E1203 workspace has 35 channels; needed are S * DHC + DIC = 3 * 7 + 7 "
       "= 28"},
      {"GRUBackward", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x4x2x28 5x2x7",
       "E1203 workspace is 1x1x4x2x28, expected is 1x1x5x2x?: its dims are L, "
       "D = 1, T, N, S * DHC + DIC = 3 * 7 + ?"},
      {"GRUBackward", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 2x1x5x2x28 5x2x7",
       "E1203 workspace is 2x1x5x2x28, expected is 1x1x5x2x?"},
      {"GRUBackward", "", "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x28 5x2x14",
       "E1203 DLC is 14; needed is DIC = 7"},
      {"GRUBackward", "diff_weights=accumulate", gru,
       "E1201 diff_bias_before is left out, but diff_bias is accumulated",
       "* - - *"},
      {"GRUBackward", "",
       "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x28 5x2x7 - - - - - 1x1x3x7",
       "E1201 diff_bias_before is given, but diff_bias is not accumulated",
       "* - - *"},
      {"GRUBackward", "diff_weights=accumulate",
       "5x2x3 1x1x3x3x7 1x1x7x3x7 1x1x5x2x28 5x2x7 - - - - - 1x1x3x7",
       "E1201 diff_bias_before is given, but diff_bias is not; hint: leave "
       "both out"},
      {"LSTMBackward", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x5x2x42 5x2x7",
       "E1201 diff_weights_peephole is a result, but weights_peephole is left "
       "out",
       "* - - - - - *"},
      {"LSTMBackward", "", "5x2x3 1x1x3x4x7 1x1x7x4x7 1x1x5x2x42 5x2x7",
       "E1201 weights_projection is left out", "* - - - - - - *"},
  }});
}

} // namespace
} // namespace tenon::graph::test
