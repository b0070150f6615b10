// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"
#include "tests/ops/RecurrentText.h"

namespace tenon::test {

/// `LSTM` with these sizes; `weights` is "c" for constants; `states` is how
/// many of src_iter and src_iter_c are given.
static std::string lstm(int t, int n, int slc, int dhc, int layers = 1,
                        int states = 0, const std::string &weights = "c") {
  auto dims = [](std::initializer_list<int> sizes) {
    std::string text;
    for (int size : sizes)
      text += (text.empty() ? "" : "x") + std::to_string(size);
    return " " + text;
  };
  std::string text = "LSTM" + dims({t, n, slc}) +
                     dims({layers, 1, slc, 4, dhc}) + weights +
                     dims({layers, 1, dhc, 4, dhc}) + weights +
                     dims({layers, 1, 4, dhc}) + weights;
  for (int i = 0; i < states; ++i)
    text += dims({layers, 1, n, dhc});
  return text;
}

/// Every cell in every direction, forward and with its gradient.
static void addCells(Cases &cases) {
  for (const char *cell : {"RNN", "LSTM", "GRU", "AUGRU"})
    for (const char *direction : {"left2right", "right2left",
                                  "bidirectional_concat", "bidirectional_sum"})
      for (bool backward : {false, true}) {
        RecurrentChoice c;
        c.cell = cell;
        c.direction = direction;
        c.backward = c.accumulate = backward;
        c.layers = 2;
        c.concatenated = true;
        c.lengths = c.peephole = backward;
        cases.push_back(textOf(legal(c)));
      }
  RecurrentChoice c;
  c.cell = "RNN";
  for (const char *activation : {"tanh", "relu", "logistic"})
    for (bool backward : {false, true}) {
      c.activation = activation;
      c.backward = backward;
      cases.push_back(textOf(legal(c)));
    }
}

static Cases writtenCases() {
  const std::string all = "y,h,c = ";
  return {
      lstm(5, 3, 7, 16),
      lstm(5, 3, 7, 16) + " direction=left2right",
      all + lstm(5, 3, 7, 16, 1, 2),
      "y,h = " + lstm(4, 2, 5, 11, 1, 1),
      "y,h,c = " + lstm(3, 2, 5, 13) + "; out c",
      all + lstm(3, 5, 17, 17, 2),
      all + lstm(4, 2, 24, 24, 3, 2),
      all + lstm(3, 5, 16, 16, 2, 2, ""), // weights of every execution
      // Sizes of one and none.
      all + lstm(1, 1, 1, 1, 1, 2),
      all + lstm(1, 2, 3, 8),
      all + lstm(0, 2, 3, 8, 1, 2),
      all + lstm(0, 2, 8, 8, 2),
      all + lstm(3, 0, 3, 8, 1, 2),
      all + lstm(3, 2, 3, 0, 1, 2),
      all + lstm(3, 2, 0, 8),
      ("y,h,c,w/f32 = LSTM 2x1x1 1x1x1x4x1 1x1x0x4x1 1x1x4x1 1x1x1x0 1x1x1x1 "
       "1x1x3x1 1x1x1x0 direction=right2left"),
      "y = LSTM 1x3x5 1x1x5x4x16c 1x1x9x4x16c 1x1x4x16c 1x1x3x9",
      // Several items, rows in several blocks, tails of both.
      all + lstm(3, 16, 64, 128, 1, 2),
      all + lstm(3, 37, 31, 131, 1, 2),
      lstm(2, 401, 16, 40),
      // Long: states decide.
      all + lstm(100, 2, 8, 16, 1, 2),
      // Strides of the caller's buffers.
      ("y<48,1,3>,h<128,128,1,4>,c<256,256,2,8> = LSTM 5x3x7<1,35,5> "
       "1x1x7x4x16c 1x1x16x4x16c 1x1x4x16c 1x1x3x16<48,48,1,3> "
       "1x1x3x16<96,96,32,2>"),
      ("y<200,20,1> = LSTM 4x3x6 1x1x6x4x16<1,1,64,1,4>c 1x1x16x4x16c "
       "1x1x4x16<64,64,1,4>"),
      // What is around it.
      "x = ReLU 4x3x8; y = LSTM x 1x1x8x4x16c 1x1x16x4x16c 1x1x4x16c; Tanh y",
      ("a,h,c = LSTM 4x3x8 1x1x8x4x16c 1x1x16x4x16c 1x1x4x16c; "
       "LSTM a 1x1x16x4x16c 1x1x16x4x16c 1x1x4x16c h c"),
      // A last block of one unit, beside an operand of one column.
      "y,_ = RNN 2x3x4 1x1x4x1x33c 1x1x33x1x33c _ _ 3/s32",
      // Gradients with any numbers in the workspace.
      "x,w,u,b,h = RNNBackward 3x2x5 1x1x5x1x5 1x1x5x1x5 1x1x3x2x10 3x2x5",
      "x,w,u,b,h = LSTMBackward 3x2x5 1x1x5x4x5 1x1x5x4x5 1x1x3x2x30 3x2x5",
      "x,w,u,b,h = GRUBackward 3x2x5 1x1x5x3x5 1x1x5x3x5 1x1x3x2x20 3x2x5",
      ("x,w,u,b,h,a = AUGRUBackward 3x2x5 1x1x5x3x5 1x1x5x3x5 3x2x1 "
       "1x1x3x2x20 3x2x5"),
  };
}

Cases recurrentCases() {
  Cases cases = writtenCases();
  addCells(cases);
  return cases;
}

} // namespace tenon::test
