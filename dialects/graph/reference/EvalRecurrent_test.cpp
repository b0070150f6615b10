//===- EvalRecurrent_test.cpp - recurrent cells ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/TestOps.h"

using namespace tenon;
using namespace tenon::reference;
using graph::Dims;
using graph::DType;

namespace {

const std::vector<DType> three(3, DType::f32);

double logistic(double x) { return 0.5 * (1 + std::tanh(x / 2)); }

/// One unit, one input, zero states: all four gates see 2 * x + bias.
TEST(Lstm, OneUnitByHand) {
  OneOp op{"LSTM",
           {make({1, 1, 1}, {0.5}), make({1, 1, 1, 4, 1}, {1, 2, 3, 4}),
            make({1, 1, 1, 4, 1}, {9, 9, 9, 9}),
            make({1, 1, 4, 1}, {0.1, 0.2, 0.3, 0.4})},
           {},
           three};
  double c = logistic(0.6) * std::tanh(1.8), h = logistic(2.4) * std::tanh(c);
  auto results = op.run();
  expectNear(results[0], {1, 1, 1}, {h});
  expectNear(results[1], {1, 1, 1, 1}, {h});
  expectNear(results[2], {1, 1, 1, 1}, {c});
}

/// Large biases make gates 0 or 1, so that states can be followed by eye.
TEST(Lstm, GateOrder) {
  auto run = [](double i, double f, double o) {
    OneOp op{"LSTM",
             {make({1, 1, 1}, {1}), make({1, 1, 1, 4, 1}, {0, 0, 0.5, 0}),
              make({1, 1, 1, 4, 1}, {0, 0, 0.25, 0}),
              make({1, 1, 4, 1}, {i, f, 0, o}), make({1, 1, 1, 1}, {2}),
              make({1, 1, 1, 1}, {0.75})},
             {},
             three};
    return op.run();
  };
  double candidate = std::tanh(0.5 * 1 + 0.25 * 2);
  auto keep = run(-1e3, 1e3, 1e3);
  expectNear(keep[2], {1, 1, 1, 1}, {0.75});
  expectNear(keep[0], {1, 1, 1}, {std::tanh(0.75)});
  auto take = run(1e3, -1e3, 1e3);
  expectNear(take[2], {1, 1, 1, 1}, {candidate});
  auto both = run(1e3, 1e3, -1e3);
  expectNear(both[2], {1, 1, 1, 1}, {0.75 + candidate});
  expectNear(both[0], {1, 1, 1}, {0});
}

/// Two layers of two units over three steps against loops that spell out every
/// index of every operand.
TEST(Lstm, LayersStepsAndBatch) {
  constexpr int64_t T = 3, N = 2, L = 2, H = 2;
  std::vector<double> x = ramp(T * N * H), w = ramp(L * H * 4 * H, 0.11);
  std::vector<double> u = ramp(L * H * 4 * H, 0.23), b = ramp(L * 4 * H, 0.3);
  std::vector<double> h0 = ramp(L * N * H, 0.7), c0 = ramp(L * N * H, 0.9);
  OneOp op{"LSTM",
           {make({T, N, H}, x), make({L, 1, H, 4, H}, w),
            make({L, 1, H, 4, H}, u), make({L, 1, 4, H}, b),
            make({L, 1, N, H}, h0), make({L, 1, N, H}, c0)},
           {},
           three};
  double h[L][N][H], c[L][N][H];
  std::vector<double> dst;
  for (int64_t l = 0; l < L; ++l)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t j = 0; j < H; ++j) {
        h[l][n][j] = h0[(l * N + n) * H + j];
        c[l][n][j] = c0[(l * N + n) * H + j];
      }
  for (int64_t t = 0; t < T; ++t) { // steps outside: the other loop order
    for (int64_t l = 0; l < L; ++l) {
      double gates[N][4][H];
      for (int64_t n = 0; n < N; ++n)
        for (int64_t g = 0; g < 4; ++g)
          for (int64_t j = 0; j < H; ++j) {
            gates[n][g][j] = b[(l * 4 + g) * H + j];
            for (int64_t k = 0; k < H; ++k) {
              int64_t at = ((l * H + k) * 4 + g) * H + j;
              double in = l ? h[l - 1][n][k] : x[(t * N + n) * H + k];
              gates[n][g][j] += w[at] * in + u[at] * h[l][n][k];
            }
          }
      for (int64_t n = 0; n < N; ++n)
        for (int64_t j = 0; j < H; ++j) {
          c[l][n][j] = logistic(gates[n][1][j]) * c[l][n][j] +
                       logistic(gates[n][0][j]) * std::tanh(gates[n][2][j]);
          h[l][n][j] = logistic(gates[n][3][j]) * std::tanh(c[l][n][j]);
        }
    }
    dst.insert(dst.end(), &h[L - 1][0][0], &h[L - 1][0][0] + N * H);
  }
  auto results = op.run();
  expectNear(results[0], {T, N, H}, dst);
  expectNear(results[1], {L, 1, N, H}, {&h[0][0][0], &h[0][0][0] + L * N * H});
  expectNear(results[2], {L, 1, N, H}, {&c[0][0][0], &c[0][0][0] + L * N * H});
  // Without states they are zeros.
  std::vector<double> zero(L * N * H, 0);
  op.inputs[4].data = zero;
  op.inputs[5].data = zero;
  auto explicitZeros = op.run();
  op.inputs.resize(4);
  auto absent = op.run();
  for (int i = 0; i < 3; ++i)
    expectNear(absent[i], explicitZeros[i].shape, explicitZeros[i].data);
}

TEST(Lstm, StatesOfAnotherWidthAndNoSteps) {
  // One step: states have three channels, the unit one.
  OneOp op{"LSTM",
           {make({1, 1, 1}, {0}), make({1, 1, 1, 4, 1}, {0, 0, 0, 0}),
            make({1, 1, 3, 4, 1}, {0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0}),
            make({1, 1, 4, 1}, {1e3, 0, 0, 1e3}),
            make({1, 1, 1, 3}, {0.5, -0.25, 0.125})}};
  expectNear(op.run()[0], {1, 1, 1}, {std::tanh(std::tanh(0.375))});
  // No steps: the states pass.
  OneOp none{"LSTM",
             {make({0, 1, 1}, {}), make({1, 1, 1, 4, 1}, {1, 1, 1, 1}),
              make({1, 1, 1, 4, 1}, {1, 1, 1, 1}),
              make({1, 1, 4, 1}, {1, 1, 1, 1}), make({1, 1, 1, 1}, {7}),
              make({1, 1, 1, 1}, {8})},
             {},
             three};
  auto results = none.run();
  expectNear(results[0], {0, 1, 1}, {});
  expectNear(results[1], {1, 1, 1, 1}, {7});
  expectNear(results[2], {1, 1, 1, 1}, {8});
}

TEST(Lstm, Errors) {
  OneOp op{"LSTM",
           {make({2, 1, 1}, {0, 0}), make({1, 1, 1, 4, 1}, {0, 0, 0, 0}),
            make({1, 1, 1, 4, 1}, {0, 0, 0, 0}),
            make({1, 1, 4, 1}, {0, 0, 0, 0})}};
  OneOp bad = op;
  bad.inputs[3] = make({1, 1, 3, 1}, {0, 0, 0});
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
  bad = op;
  bad.inputs[1] = make({1, 4, 1}, {0, 0, 0, 0});
  EXPECT_EQ(bad.error(), ErrorCode::BadRank);
  bad = op; // two steps, states of two channels
  bad.inputs[2] = make({1, 1, 2, 4, 1}, std::vector<double>(8, 0));
  EXPECT_EQ(bad.error(), ErrorCode::ShapeMismatch);
}

} // namespace
