//===- RecurrentCells.cpp - one step of a recurrent cell ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Straight from the formulas of the operation set: the sums of all gates over
// x and h of the step before, then the units one by one.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Functions.h"
#include "dialects/graph/reference/Recurrent.h"

namespace tenon::reference {

void addProduct(const Recurrence &r, const double *weights,
                const double *values, int64_t count, int64_t begin, int64_t end,
                double *sums) {
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = begin * r.hidden; i < end * r.hidden; ++i)
      sums[i] += weights[k * r.info.gates * r.hidden + i] * values[k];
}

namespace {

struct Forward {
  const Recurrence &r;
  const CellWeights &weights;
  const StepOperands &in;
  double *saved;
  std::vector<double> sums; // [gates, hidden]

  Forward(const Recurrence &r, const CellWeights &weights,
          const StepOperands &in, double *saved)
      : r(r), weights(weights), in(in), saved(saved),
        sums(r.info.gates * r.hidden, 0) {
    for (size_t i = 0; weights.bias && i < sums.size(); ++i)
      sums[i] = weights.bias[i];
    addProduct(r, weights.layer, in.x, r.inputs, 0, r.info.gates, sums.data());
  }

  /// Adds the product with h of the step before, of some gates.
  void addState(int64_t begin, int64_t end) {
    addProduct(r, weights.iter, in.hidden, r.states, begin, end, sums.data());
  }
  double sum(int64_t gate, int64_t j) const {
    return sums[gate * r.hidden + j];
  }
  double &value(int64_t number, int64_t j) {
    return saved[number * r.hidden + j];
  }
  double *hidden() const { return r.hiddenOf(saved); }

  void rnn();
  void lstm();
  void gru();

private:
  void project(const std::vector<double> &h);
  std::vector<double> candidateSums();
};

/// h = activation(W x + U h' + b); saved: the derivative.
void Forward::rnn() {
  addState(0, 1);
  for (int64_t j = 0; j < r.hidden; ++j) {
    double s = sum(0, j), h = 0, derivative = 0;
    if (r.activation == "relu") {
      h = s > 0 ? s : r.alpha * s;
      derivative = s > 0 ? 1 : r.alpha;
    } else if (r.activation == "logistic") {
      h = sigmoid(s);
      derivative = h * (1 - h);
    } else {
      h = std::tanh(s);
      derivative = 1 - h * h;
    }
    value(0, j) = derivative;
    hidden()[j] = r.stored(h);
  }
}

/// Saved: i, f, c~, o, c.
void Forward::lstm() {
  addState(0, 4);
  std::vector<double> h(r.hidden);
  auto peephole = [&](int64_t row, int64_t j) {
    return weights.peephole ? weights.peephole[row * r.hidden + j] : 0;
  };
  for (int64_t j = 0; j < r.hidden; ++j) {
    double before = in.cell[j];
    double i = sigmoid(sum(0, j) + peephole(0, j) * before);
    double f = sigmoid(sum(1, j) + peephole(1, j) * before);
    double candidate = std::tanh(sum(2, j));
    double c = f * before + i * candidate;
    double o = sigmoid(sum(3, j) + peephole(2, j) * c);
    const double values[] = {i, f, candidate, o, c};
    for (int64_t v = 0; v < 5; ++v)
      value(v, j) = values[v];
    h[j] = r.stored(o * std::tanh(c));
  }
  project(h);
}

void Forward::project(const std::vector<double> &h) {
  if (!weights.projection) {
    std::ranges::copy(h, hidden());
    return;
  }
  for (int64_t j = 0; j < r.outputs; ++j) {
    double sum = 0;
    for (int64_t k = 0; k < r.hidden; ++k)
      sum += h[k] * weights.projection[k * r.outputs + j];
    hidden()[j] = r.stored(sum);
  }
}

/// The sums of gate o; saved: u, r and, with linear_before_reset, U_o h' +
/// b_u'.
std::vector<double> Forward::candidateSums() {
  addState(0, 2);
  for (int64_t j = 0; j < r.hidden; ++j)
    for (int64_t gate = 0; gate < 2; ++gate)
      value(gate, j) = sigmoid(sum(gate, j));
  int64_t first = 2 * r.hidden;
  if (!r.linearBeforeReset) {
    std::vector<double> reset(r.hidden);
    for (int64_t j = 0; j < r.hidden; ++j)
      reset[j] = r.stored(value(1, j) * in.hidden[j]);
    addProduct(r, weights.iter, reset.data(), r.states, 2, 3, sums.data());
    return {sums.begin() + first, sums.end()};
  }
  std::vector<double> state(3 * r.hidden, 0);
  addProduct(r, weights.iter, in.hidden, r.states, 2, 3, state.data());
  std::vector<double> candidate(r.hidden);
  for (int64_t j = 0; j < r.hidden; ++j) {
    double bias = weights.bias ? weights.bias[3 * r.hidden + j] : 0;
    value(3, j) = state[first + j] + bias;
    candidate[j] = sum(2, j) + value(1, j) * value(3, j);
  }
  return candidate;
}

/// Saved: u, r, o and, with linear_before_reset, U_o h' + b_u'.
void Forward::gru() {
  std::vector<double> candidate = candidateSums();
  for (int64_t j = 0; j < r.hidden; ++j) {
    double o = std::tanh(candidate[j]);
    double v = (1 - in.attention) * value(0, j);
    value(2, j) = o;
    hidden()[j] = r.stored(v * in.hidden[j] + (1 - v) * o);
  }
}

} // namespace

void stepForward(const Recurrence &r, const CellWeights &weights,
                 const StepOperands &in, double *saved) {
  Forward step(r, weights, in, saved);
  switch (r.cell) {
  case Recurrence::Cell::rnn:
    return step.rnn();
  case Recurrence::Cell::lstm:
    return step.lstm();
  case Recurrence::Cell::gru:
    return step.gru();
  }
}

} // namespace tenon::reference
