//===- EvalRecurrent.cpp - recurrent cells --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Straight from the formulas: for each layer, each entry of the batch and each
// step, the sums of all gates over x and h', then the units one by one.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/OpContext.h"

namespace tenon::reference {
namespace {

/// Sizes of an LSTM; D is 1.
struct Lstm {
  int64_t steps, batch, inputs, layers, states, hidden;
};

/// Shapes of all operands against each other; absent after an error.
std::optional<Lstm> sizesOf(OpContext &c) {
  if (!c.requireRank(0, 3) || !c.requireRank(1, 5) || !c.requireRank(2, 5))
    return std::nullopt;
  const Dims &src = c.in(0).shape, &w = c.in(1).shape, &u = c.in(2).shape;
  Lstm s{src[0], src[1], src[2], w[0], u[2], w[4]};
  if (!c.requireShape(0, {s.steps, s.batch, s.inputs}) ||
      !c.requireShape(1, {s.layers, 1, s.inputs, 4, s.hidden}) ||
      !c.requireShape(2, {s.layers, 1, s.states, 4, s.hidden}) ||
      !c.requireShape(3, {s.layers, 1, 4, s.hidden}) ||
      (c.hasIn(4) && !c.requireShape(4, {s.layers, 1, s.batch, s.states})) ||
      (c.hasIn(5) && !c.requireShape(5, {s.layers, 1, s.batch, s.hidden})))
    return std::nullopt;
  bool stacked = s.layers > 1 && s.inputs != s.hidden;
  if (stacked || (s.steps != 1 && s.states != s.hidden)) {
    c.fail(ErrorCode::ShapeMismatch,
           stacked ? "several layers need SLC = DHC"
                   : "any number of steps but one needs SIC = DHC");
    return std::nullopt;
  }
  return s;
}

/// One layer: `x` [T, N, inputs] in, `y` [T, N, hidden] out.
struct Layer {
  const Lstm &s;
  int64_t inputs;
  const double *w, *u, *bias; // [inputs, 4, H], [states, 4, H], [4, H]

  /// Adds weights [count, 4, H] times `values` to `sums`.
  void addProduct(const double *weights, const double *values, int64_t count,
                  std::vector<double> &sums) const {
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < 4 * s.hidden; ++i)
        sums[i] += weights[k * 4 * s.hidden + i] * values[k];
  }

  /// One step of one batch entry; `h` may be null (zeros), `c` is updated.
  void step(const double *x, const double *h, double *c, double *y) const {
    std::vector<double> sums(bias, bias + 4 * s.hidden);
    addProduct(w, x, inputs, sums);
    if (h)
      addProduct(u, h, s.states, sums);
    for (int64_t j = 0; j < s.hidden; ++j) {
      auto gate = [&](int64_t g) { return sums[g * s.hidden + j]; };
      double candidate = std::tanh(gate(2));
      c[j] = sigmoid(gate(1)) * c[j] + sigmoid(gate(0)) * candidate;
      y[j] = sigmoid(gate(3)) * std::tanh(c[j]);
    }
  }
};

bool evalLstm(OpContext &c) {
  std::optional<Lstm> sizes = sizesOf(c);
  if (!sizes)
    return false;
  const Lstm &s = *sizes;
  Dims state{s.layers, 1, s.batch, s.hidden};
  if (!c.setShape(0, {s.steps, s.batch, s.hidden}))
    return false;
  for (size_t i = 1; i < c.outputs.size(); ++i)
    if (!c.setShape(i, state))
      return false;
  std::vector<double> below = c.in(0).data, y(c.out().data.size());
  int64_t inputs = s.inputs, h = s.hidden;
  for (int64_t l = 0; l < s.layers; ++l) {
    Layer layer{s, inputs, c.in(1).data.data() + l * inputs * 4 * h,
                c.in(2).data.data() + l * s.states * 4 * h,
                c.in(3).data.data() + l * 4 * h};
    auto runEntries = [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        int64_t at = l * s.batch + n;
        const double *hidden =
            c.hasIn(4) ? c.in(4).data.data() + at * s.states : nullptr;
        std::vector<double> cell(h, 0);
        if (c.hasIn(5))
          std::copy_n(c.in(5).data.data() + at * h, h, cell.data());
        for (int64_t t = 0; t < s.steps; ++t) {
          double *out = y.data() + (t * s.batch + n) * h;
          layer.step(below.data() + (t * s.batch + n) * inputs, hidden,
                     cell.data(), out);
          hidden = out;
        }
        for (int64_t j = 0; j < h; ++j) {
          if (c.hasOut(1))
            c.out(1).data[at * h + j] = hidden ? hidden[j] : 0;
          if (c.hasOut(2))
            c.out(2).data[at * h + j] = cell[j];
        }
      }
    };
    parallelFor(c.threads, s.batch, 1, runEntries);
    below = y;
    inputs = h;
  }
  c.out().data = std::move(y);
  return true;
}

} // namespace

std::span<const OpEntry> recurrentOps() {
  static constexpr OpEntry entries[] = {{"LSTM", evalLstm}};
  return entries;
}

} // namespace tenon::reference
