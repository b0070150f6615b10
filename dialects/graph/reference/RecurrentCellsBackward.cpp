//===- RecurrentCellsBackward.cpp - back through one step -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Straight from the formulas of the operation set, with the gates of the
// forward step as the workspace has them.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Recurrent.h"

#include <cmath>

namespace tenon::reference {
namespace {

struct Backward {
  const Recurrence &r;
  const CellWeights &weights;
  const StepOperands &in;
  const double *saved;
  StepGradients &out;

  double value(int64_t number, int64_t j) const {
    return saved[number * r.hidden + j];
  }
  double gate(int64_t row, int64_t j) const {
    return out.gates[row * r.hidden + j];
  }
  void setGate(int64_t row, int64_t j, double gradient) const {
    out.gates[row * r.hidden + j] = r.stored(gradient);
  }

  /// to[k] += sum over j of weights_iter[k, g, j] * gates[row, j].
  void addTransposed(int64_t g, int64_t row, double *to) const {
    for (int64_t k = 0; k < r.states; ++k)
      for (int64_t j = 0; j < r.hidden; ++j)
        to[k] +=
            weights.iter[(k * r.info.gates + g) * r.hidden + j] * gate(row, j);
  }

  void rnn() const;
  void lstm() const;
  void gru() const;

private:
  std::vector<double> unprojected() const;
};

void Backward::rnn() const {
  for (int64_t j = 0; j < r.hidden; ++j)
    setGate(0, j, out.hidden[j] * value(0, j));
  addTransposed(0, 0, out.hiddenBefore);
}

/// The gradient of h before the projection.
std::vector<double> Backward::unprojected() const {
  if (!weights.projection)
    return {out.hidden, out.hidden + r.hidden};
  std::vector<double> dh(r.hidden, 0);
  for (int64_t k = 0; k < r.hidden; ++k)
    for (int64_t j = 0; j < r.outputs; ++j)
      dh[k] += weights.projection[k * r.outputs + j] * r.stored(out.hidden[j]);
  return dh;
}

void Backward::lstm() const {
  std::vector<double> dh = unprojected();
  auto peephole = [&](int64_t row, int64_t j) {
    return weights.peephole ? weights.peephole[row * r.hidden + j] : 0;
  };
  for (int64_t j = 0; j < r.hidden; ++j) {
    double i = value(0, j), f = value(1, j), candidate = value(2, j);
    double o = value(3, j), tanhCell = std::tanh(value(4, j));
    setGate(3, j, tanhCell * dh[j] * o * (1 - o));
    double dc = out.cell[j] + (1 - tanhCell * tanhCell) * o * dh[j] +
                peephole(2, j) * gate(3, j);
    setGate(0, j, candidate * dc * i * (1 - i));
    setGate(1, j, in.cell[j] * dc * f * (1 - f));
    setGate(2, j, i * dc * (1 - candidate * candidate));
    out.cell[j] =
        f * dc + peephole(1, j) * gate(1, j) + peephole(0, j) * gate(0, j);
  }
  for (int64_t g = 0; g < 4; ++g)
    addTransposed(g, g, out.hiddenBefore);
}

void Backward::gru() const {
  for (int64_t j = 0; j < r.hidden; ++j) {
    double dh = out.hidden[j], u = value(0, j), o = value(2, j);
    double v = (1 - in.attention) * u;
    double dv = (in.hidden[j] - o) * dh;
    setGate(0, j, (1 - in.attention) * dv * u * (1 - u));
    setGate(2, j, (1 - v) * dh * (1 - o * o));
    out.hiddenBefore[j] += v * dh;
    out.attention -= u * dv;
  }
  if (r.linearBeforeReset) {
    for (int64_t j = 0; j < r.hidden; ++j) {
      double reset = value(1, j);
      setGate(1, j, value(3, j) * gate(2, j) * reset * (1 - reset));
      setGate(3, j, reset * gate(2, j));
    }
    addTransposed(2, 3, out.hiddenBefore);
  } else {
    std::vector<double> e(r.hidden, 0); // of r * h'
    addTransposed(2, 2, e.data());
    for (int64_t j = 0; j < r.hidden; ++j) {
      double reset = value(1, j);
      setGate(1, j, in.hidden[j] * e[j] * reset * (1 - reset));
      out.hiddenBefore[j] += reset * e[j];
    }
  }
  addTransposed(0, 0, out.hiddenBefore);
  addTransposed(1, 1, out.hiddenBefore);
}

} // namespace

void stepBackward(const Recurrence &r, const CellWeights &weights,
                  const StepOperands &in, const double *saved,
                  StepGradients &gradients) {
  Backward step{r, weights, in, saved, gradients};
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
