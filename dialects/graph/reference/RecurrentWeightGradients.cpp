//===- RecurrentWeightGradients.cpp - sums over steps ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of weights, bias, peephole and projection: products of what a
// step read and of the gradients of its gates, summed over steps and batch.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Recurrent.h"

#include <cmath>

namespace tenon::reference {
namespace {

/// The steps of all entries in one layer and direction.
class WeightGradients {
public:
  WeightGradients(const Recurrence &r, int64_t layer, int64_t direction,
                  const std::vector<double> &left)
      : r(r), at(layer * r.directions + direction) {
    std::vector<double> scratch;
    for (int64_t n = 0; n < r.batch; ++n) {
      StepRows<const double> saved =
          r.rowsOf(r.operand("workspace"), r.savedWidth(), n);
      StepRows<const double> rows = r.rowsOf(left.data(), gradientWidth(r), n);
      std::vector<int64_t> order = r.order(n, direction);
      for (size_t s = 0; s < order.size(); ++s) {
        int64_t t = order[s];
        const double *x = r.inputOf(layer, direction, t, n, saved, scratch);
        Step &step = steps.emplace_back();
        step = {{x, x + r.inputs},
                r.statesBefore(layer, direction, n, order, s, saved),
                saved.row(layer, direction, t),
                rows.row(layer, direction, t)};
        for (std::vector<double> *read : {&step.x, &step.before.hidden})
          for (double &value : *read)
            value = r.stored(value);
      }
    }
  }

  void run() const {
    int64_t columns = r.info.gates * r.hidden;
    if (double *to = part("diff_weights_layer", r.inputs * columns))
      parallelFor(r.c.threads, r.inputs, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          for (const Step &step : steps)
            for (int64_t i = 0; i < columns; ++i)
              to[k * columns + i] += step.x[k] * step.gates[i];
      });
    if (double *to = part("diff_weights_iter", r.states * columns))
      parallelFor(r.c.threads, r.states, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          addStateRow(k, to + k * columns);
      });
    if (double *to = part("diff_bias", r.info.biasRows * r.hidden))
      for (const Step &step : steps)
        for (int64_t i = 0; i < r.info.biasRows * r.hidden; ++i)
          to[i] += step.gates[i];
    if (double *to = part("diff_weights_peephole", 3 * r.hidden))
      addPeephole(to);
    if (double *to = part("diff_weights_projection", r.hidden * r.outputs))
      addProjection(to);
  }

private:
  struct Step {
    std::vector<double> x;
    States before;
    const double *saved;
    const double *gates; // their gradients, then that of h
  };

  /// The part of a result that is of this layer and direction.
  double *part(const char *name, int64_t size) const {
    Tensor *result = r.result(name);
    return result ? result->data.data() + at * size : nullptr;
  }

  /// Row k of the gradient of weights_iter, [gates, hidden]. Gate o of GRU
  /// multiplies r * h', or its product is multiplied by r.
  void addStateRow(int64_t k, double *to) const {
    bool isGru = r.cell == Recurrence::Cell::gru;
    for (const Step &step : steps)
      for (int64_t g = 0; g < r.info.gates; ++g) {
        bool isReset = isGru && g == 2;
        double state = step.before.hidden[k];
        if (isReset && !r.linearBeforeReset)
          state = r.stored(state * step.saved[r.hidden + k]);
        int64_t row = isReset && r.linearBeforeReset ? 3 : g;
        for (int64_t j = 0; j < r.hidden; ++j)
          to[g * r.hidden + j] += state * step.gates[row * r.hidden + j];
      }
  }

  void addPeephole(double *to) const {
    for (const Step &step : steps)
      for (int64_t j = 0; j < r.hidden; ++j) {
        const double *gate = step.gates + j;
        double before = step.before.cell[j];
        to[j] += gate[0] * before;
        to[r.hidden + j] += gate[r.hidden] * before;
        to[2 * r.hidden + j] += gate[3 * r.hidden] * r.cellOf(step.saved)[j];
      }
  }

  void addProjection(double *to) const {
    for (const Step &step : steps)
      for (int64_t k = 0; k < r.hidden; ++k) {
        double o = step.saved[3 * r.hidden + k];
        double h = r.stored(o * std::tanh(r.cellOf(step.saved)[k]));
        for (int64_t j = 0; j < r.outputs; ++j)
          to[k * r.outputs + j] +=
              h * r.stored(step.gates[r.info.biasRows * r.hidden + j]);
      }
  }

  const Recurrence &r;
  int64_t at;
  std::vector<Step> steps;
};

} // namespace

void sumWeightGradients(const Recurrence &r, const std::vector<double> &left) {
  for (const char *name : {"weights_layer", "weights_iter", "bias",
                           "weights_peephole", "weights_projection"}) {
    std::string gradient = "diff_" + std::string(name);
    Tensor *result = r.result(gradient);
    const double *before = r.operand(gradient + "_before");
    if (result && before)
      std::copy_n(before, result->data.size(), result->data.begin());
  }
  for (int64_t l = 0; l < r.layers; ++l)
    for (int64_t d = 0; d < r.directions; ++d)
      WeightGradients(r, l, d, left).run();
}

} // namespace tenon::reference
