//===- EvalRecurrent_test.cpp - recurrent cells ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/reference/RecurrentProblem.h"

using namespace tenon;
using namespace tenon::reference;

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

//===----------------------------------------------------------------------===//
// Each cell by hand: one unit, one step.
//===----------------------------------------------------------------------===//

/// x = 0.5, h' = 0.7, and weights and biases of each gate; returns h.
double unitOf(const char *kind, graph::AttrMap attrs, std::vector<double> w,
              std::vector<double> u, std::vector<double> bias,
              std::optional<double> attention = {}) {
  auto gates = static_cast<int64_t>(w.size());
  auto rows = static_cast<int64_t>(bias.size());
  OneOp op{kind,
           {make({1, 1, 1}, {0.5}), make({1, 1, 1, gates, 1}, std::move(w)),
            make({1, 1, 1, gates, 1}, std::move(u)),
            make({1, 1, rows, 1}, std::move(bias)), make({1, 1, 1, 1}, {0.7})},
           std::move(attrs)};
  if (attention)
    op.inputs.insert(op.inputs.begin() + 3, make({1, 1, 1}, {*attention}));
  return op.run()[0].data[0];
}

TEST(Rnn, OneUnitByHand) {
  auto run = [](const char *activation, double bias) {
    return unitOf("RNN",
                  {{"activation", std::string(activation)}, {"alpha", 0.25f}},
                  {2}, {-1}, {bias}); // 1 - 0.7 + bias
  };
  EXPECT_NEAR(run("tanh", 0.1), std::tanh(0.4), 1e-12);
  EXPECT_NEAR(run("logistic", 0.1), logistic(0.4), 1e-12);
  EXPECT_NEAR(run("relu", 0.1), 0.4, 1e-12);
  EXPECT_NEAR(run("relu", -0.5), -0.05, 1e-12);
}

TEST(Gru, OneUnitByHand) {
  std::vector<double> w{1, 2, 3}, w2{0.3, 0.2, -0.4};
  double u = logistic(1 * 0.5 + 0.3 * 0.7 + 0.1);
  double r = logistic(2 * 0.5 + 0.2 * 0.7 - 0.2);
  double o = std::tanh(3 * 0.5 - 0.4 * (r * 0.7) + 0.05);
  double linear = std::tanh(3 * 0.5 + 0.05 + r * (-0.4 * 0.7 + 0.6));
  auto mixed = [](double gate, double o) {
    return gate * 0.7 + (1 - gate) * o;
  };
  const graph::AttrMap before{{"linear_before_reset", true}};
  EXPECT_NEAR(unitOf("GRU", {}, w, w2, {0.1, -0.2, 0.05}), mixed(u, o), 1e-12);
  EXPECT_NEAR(unitOf("GRU", before, w, w2, {0.1, -0.2, 0.05, 0.6}),
              mixed(u, linear), 1e-12);
  EXPECT_NEAR(unitOf("AUGRU", {}, w, w2, {0.1, -0.2, 0.05}, 0.25),
              mixed(0.75 * u, o), 1e-12);
  EXPECT_NEAR(unitOf("AUGRU", before, w, w2, {0.1, -0.2, 0.05, 0.6}, 0.25),
              mixed(0.75 * u, linear), 1e-12);
}

TEST(Lstm, PeepholeAndProjectionByHand) {
  OneOp op{"LSTM",
           {make({1, 1, 1}, {0.5}), make({1, 1, 1, 4, 1}, {1, 2, 3, 4}),
            make({1, 1, 2, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 0}), Tensor{}, Tensor{},
            make({1, 1, 1, 1}, {0.8}), make({1, 1, 3, 1}, {0.3, -0.2, 0.6}),
            make({1, 1, 1, 2}, {2, -3})},
           {},
           three};
  double c = logistic(1 - 0.2 * 0.8) * 0.8 +
             logistic(0.5 + 0.3 * 0.8) * std::tanh(1.5);
  double h = logistic(2 + 0.6 * c) * std::tanh(c);
  auto results = op.run();
  expectNear(results[0], {1, 1, 2}, {2 * h, -3 * h});
  expectNear(results[1], {1, 1, 1, 2}, {2 * h, -3 * h});
  expectNear(results[2], {1, 1, 1, 1}, {c});
}

//===----------------------------------------------------------------------===//
// Layers, directions and lengths, from single layers of one direction.
//===----------------------------------------------------------------------===//

/// The elements of a tensor at some indices of one dim.
Tensor take(const Tensor &tensor, size_t dim, std::vector<int64_t> indices) {
  if (tensor.dtype == DType::undef)
    return tensor;
  Tensor taken = tensor;
  taken.shape[dim] = static_cast<int64_t>(indices.size());
  taken.data.clear();
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < dim; ++d)
    outer *= tensor.shape[d];
  for (size_t d = dim + 1; d < tensor.shape.size(); ++d)
    inner *= tensor.shape[d];
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t index : indices)
      for (int64_t k = 0; k < inner; ++k)
        taken.data.push_back(
            tensor.data[(i * tensor.shape[dim] + index) * inner + k]);
  return taken;
}

/// Two tensors that differ in the last dim at most, side by side.
Tensor joined(const Tensor &a, const Tensor &b) {
  Tensor all = a;
  int64_t left = a.shape.back(), right = b.shape.back();
  all.shape.back() = left + right;
  all.data.clear();
  for (int64_t row = 0; row * left < a.numElements(); ++row) {
    auto add = [&](const Tensor &part, int64_t width) {
      auto begin = part.data.begin() + row * width;
      all.data.insert(all.data.end(), begin, begin + width);
    };
    add(a, left);
    add(b, right);
  }
  return all;
}

/// One layer and direction of a problem of several, which reads `src`.
std::vector<Tensor> runSingle(const Problem &problem, const Tensor &src,
                              int64_t layer, int64_t direction) {
  OneOp op = problem.forward();
  std::span<const graph::ValueInfo> values = graph::factsOf(op.kind).operands;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    std::string_view name = values[i].name;
    if (name == "src_layer")
      op.inputs[i] = src;
    else if (name != "attention" && name != "sequence_lengths")
      op.inputs[i] = take(take(op.inputs[i], 0, {layer}), 1, {direction});
  }
  if (problem.D == 2)
    op.attrs["direction"] =
        std::string(direction == 0 ? "left2right" : "right2left");
  op.attrs["stacking"] = std::string("independent");
  return op.run();
}

void checkComposition(const Cell &cell, const Variant &variant) {
  Problem problem(cell, variant);
  std::vector<Tensor> whole = problem.forward().run();
  bool concatenates = variant.stacking == "concatenated" && problem.D == 2;
  std::vector<Tensor> below(problem.D, problem.operand("src_layer"));
  for (int64_t l = 0; l < problem.L; ++l) {
    std::vector<Tensor> above;
    for (int64_t d = 0; d < problem.D; ++d) {
      std::vector<Tensor> single = runSingle(problem, below[d], l, d);
      for (size_t i = 1; i < whole.size(); ++i) // states and workspace
        EXPECT_EQ(take(take(whole[i], 0, {l}), 1, {d}).data, single[i].data);
      above.push_back(single[0]);
    }
    if (concatenates && l + 1 < problem.L)
      above.assign(2, joined(above[0], above[1]));
    below = above;
  }
  Tensor top = below[0];
  if (variant.direction == "bidirectional_concat")
    top = joined(below[0], below[1]);
  if (variant.direction == "bidirectional_sum")
    for (size_t i = 0; i < top.data.size(); ++i)
      top.data[i] += below[1].data[i];
  EXPECT_EQ(top.shape, whole[0].shape);
  EXPECT_EQ(top.data, whole[0].data);
}

TEST(Recurrent, LayersAndDirectionsAreSingleOnes) {
  for (const Cell &cell : cells)
    for (const char *direction : {"left2right", "right2left",
                                  "bidirectional_concat", "bidirectional_sum"})
      for (const char *stacking : {"independent", "concatenated"})
        for (bool lengths : {false, true}) {
          SCOPED_TRACE(std::string(cell.kind) + " " + direction + " " +
                       stacking);
          checkComposition(cell, {direction, stacking, 2,
                                  /*batchFirst=*/lengths, lengths});
        }
}

constexpr int64_t T = Problem::T, N = Problem::N;

TEST(Recurrent, RightToLeftReversesSteps) {
  for (const Cell &cell : cells) {
    SCOPED_TRACE(cell.kind);
    Problem problem(cell, {});
    OneOp op = problem.forward();
    std::vector<Tensor> forward = op.run();
    op.attrs["direction"] = std::string("right2left");
    for (size_t i : {problem.slot("src_layer"), problem.slot("attention")})
      if (i < op.inputs.size())
        op.inputs[i] = take(op.inputs[i], 0, {2, 1, 0});
    std::vector<Tensor> backward = op.run();
    EXPECT_EQ(take(backward[0], 0, {2, 1, 0}).data, forward[0].data);
    EXPECT_EQ(backward[1].data, forward[1].data);
    EXPECT_EQ(take(backward.back(), 2, {2, 1, 0}).data, forward.back().data);
  }
}

TEST(Recurrent, BatchFirstTransposes) {
  auto transposed = [](const Tensor &tensor) { // T, N, C
    Tensor result = tensor;
    result.shape = {N, T, tensor.shape[2]};
    result.data.clear();
    for (int64_t n = 0; n < N; ++n) {
      Tensor row = take(tensor, 1, {n});
      result.data.insert(result.data.end(), row.data.begin(), row.data.end());
    }
    return result;
  };
  for (const Cell &cell : cells) {
    Problem problem(cell, {});
    OneOp op = problem.forward();
    std::vector<Tensor> expected = op.run();
    op.attrs["batch_first"] = true;
    for (size_t i : {problem.slot("src_layer"), problem.slot("attention")})
      if (i < op.inputs.size())
        op.inputs[i] = transposed(op.inputs[i]);
    std::vector<Tensor> results = op.run();
    EXPECT_EQ(results[0].shape, transposed(expected[0]).shape);
    EXPECT_EQ(results[0].data, transposed(expected[0]).data);
    for (size_t i = 1; i < results.size(); ++i)
      EXPECT_EQ(results[i].data, expected[i].data);
  }
}

/// The entries have two steps and none: as if run alone for so many.
TEST(Recurrent, LengthsEndSequences) {
  for (const Cell &cell : cells)
    for (const char *direction : {"left2right", "right2left"}) {
      SCOPED_TRACE(std::string(cell.kind) + " " + direction);
      Problem problem(cell, {direction, "independent", 1, false, true});
      OneOp op = problem.forward();
      std::vector<Tensor> results = op.run();
      OneOp alone = op;
      alone.inputs[problem.slot("sequence_lengths")] = Tensor{};
      for (std::string_view name :
           {"src_layer", "attention", "src_iter", "src_iter_c"})
        if (size_t i = problem.slot(name); i < op.inputs.size()) {
          bool isState = name.starts_with("src_iter");
          Tensor &tensor = alone.inputs[i];
          tensor = take(tensor, isState ? 2 : 1, {0});
          if (!isState)
            tensor = take(tensor, 0, {0, 1});
        }
      std::vector<Tensor> first = alone.run();
      Tensor counted = take(take(results[0], 1, {0}), 0, {0, 1});
      EXPECT_EQ(counted.data, first[0].data);
      EXPECT_EQ(take(results[1], 2, {0}).data, first[1].data);
      for (double value : take(results[0], 1, {1}).data) // no steps
        EXPECT_EQ(value, 0);
      for (double value : take(results[0], 0, {2}).data) // step 2
        EXPECT_EQ(value, 0);
      EXPECT_EQ(take(results[1], 2, {1}).data,
                take(problem.operand("src_iter"), 2, {1}).data);
    }
}

//===----------------------------------------------------------------------===//
// int8
//===----------------------------------------------------------------------===//

double code(double x) { // of scale 64 and shift 100
  return std::min(255.0, std::max(0.0, std::nearbyint(x * 64 + 100)));
}
double number(double code) { return (code - 100) / 64; }

const graph::AttrMap int8Attrs{{"data_scale", 64.0f},
                               {"data_shift", 100.0f},
                               {"weights_scales", std::vector<float>{50}}};

/// r * h' and h are rounded to codes; an absent state is the code of 0.
TEST(Int8, GruByHand) {
  OneOp op{"GRU",
           {make({2, 1, 1}, {130, 60}, DType::u8),
            make({1, 1, 1, 3, 1}, {20, -30, 70}, DType::s8),
            make({1, 1, 1, 3, 1}, {40, 10, 90}, DType::s8)},
           int8Attrs,
           {DType::u8, DType::f32}};
  double h = 0;
  std::vector<double> expected;
  for (double x : {number(130), number(60)}) {
    double u = logistic(0.4 * x + 0.8 * h), r = logistic(-0.6 * x + 0.2 * h);
    double reset = number(code(r * h));
    double o = std::tanh(1.4 * x + 1.8 * reset);
    h = number(code(u * h + (1 - u) * o));
    expected.push_back(code(h));
  }
  auto results = op.run();
  expectNear(results[0], {2, 1, 1}, expected);
  expectNear(results[1], {1, 1, 1, 1}, {h}); // what the code stands for
}

/// h is rounded before the projection, and its sum with the other direction
/// saturates as codes.
TEST(Int8, ProjectedLstmSumByHand) {
  const std::vector<double> w{50, 50, 100, 100, 25, 60, 90, 127};
  OneOp op{"LSTM",
           {make({1, 1, 1}, {180}, DType::u8),
            make({1, 2, 1, 4, 1}, w, DType::s8),
            make({1, 2, 1, 4, 1}, std::vector<double>(8, 0), DType::s8),
            Tensor{}, make({1, 2, 1, 1}, {0.3, -0.2}), Tensor{}, Tensor{},
            make({1, 2, 1, 1}, {30, 100}, DType::s8)},
           int8Attrs,
           {DType::u8, DType::u8}};
  op.attrs["direction"] = std::string("bidirectional_sum");
  op.attrs["projection_scales"] = std::vector<float>{20};
  double codes[2];
  for (int d = 0; d < 2; ++d) {
    auto gate = [&](int g) { return w[d * 4 + g] / 50 * number(180); };
    double c = logistic(gate(0)) * std::tanh(gate(2));
    double h = number(code(logistic(gate(3)) * std::tanh(c)));
    codes[d] = code(h * (d ? 5 : 1.5));
  }
  auto results = op.run();
  expectNear(results[0], {1, 1, 1}, {std::min(255.0, codes[0] + codes[1])});
  EXPECT_EQ(results[0].data[0], 255); // saturated
  expectNear(results[1], {1, 2, 1, 1}, {codes[0], codes[1]});
  op.results = {DType::f32};
  expectNear(op.run()[0], {1, 1, 1}, {(255.0 - 200) / 64});
}

TEST(Recurrent, Errors) {
  Problem problem(cells[3], {"left2right", "independent", 2, false, true});
  const OneOp good = problem.forward();
  auto withInput = [&](std::string_view name, Tensor tensor) {
    OneOp op = good;
    op.inputs[problem.slot(name)] = std::move(tensor);
    return op.error();
  };
  EXPECT_EQ(withInput("sequence_lengths", make({2}, {1, 4}, DType::s32)),
            ErrorCode::BadTensorData);
  EXPECT_EQ(withInput("sequence_lengths", make({2}, {-1, 3}, DType::s32)),
            ErrorCode::BadTensorData);
  EXPECT_EQ(withInput("src_iter", take(problem.operand("src_iter"), 0, {0})),
            ErrorCode::ShapeMismatch);
  EXPECT_EQ(withInput("bias", take(problem.operand("bias"), 2, {0, 1, 2})),
            ErrorCode::ShapeMismatch);
  OneOp stacked = good; // two layers that read five channels
  stacked.inputs[0] = make({T, N, 5}, ramp(T * N * 5));
  stacked.inputs[1] = make({2, 1, 5, 4, 2}, ramp(80));
  EXPECT_EQ(stacked.error(), ErrorCode::ShapeMismatch);
  OneOp int8{"GRU",
             {make({1, 1, 1}, {130}, DType::u8),
              make({1, 1, 1, 3, 1}, {20, -30, 70}, DType::s8),
              make({1, 1, 1, 3, 1}, {40, 10, 90}, DType::s8)},
             {{"data_scale", 0.0f}},
             {DType::u8}};
  EXPECT_EQ(int8.error(), ErrorCode::AttrValue);
  int8.attrs = {{"weights_scales", std::vector<float>{1, 2}}};
  EXPECT_EQ(int8.error(), ErrorCode::AttrValue);
  int8.attrs = {{"weights_scales", std::vector<float>{1, 0, 1}}};
  EXPECT_EQ(int8.error(), ErrorCode::AttrValue);
  int8.attrs = {};
  int8.results = {DType::u8, DType::undef, DType::f32}; // workspace
  EXPECT_EQ(int8.error(), ErrorCode::BadDType);
}

} // namespace
