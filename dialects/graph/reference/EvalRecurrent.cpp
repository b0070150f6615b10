//===- EvalRecurrent.cpp - recurrent operations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The walk over layers, directions and steps. Entries of the batch do not know
// each other.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Recurrent.h"

namespace tenon::reference {
namespace {

class ForwardWalk {
public:
  explicit ForwardWalk(const Recurrence &r)
      : r(r), dstLayer(*r.result("dst_layer")), dstIter(r.result("dst_iter")),
        dstCell(r.result("dst_iter_c")), workspace(r.result("workspace")) {}

  void runEntry(int64_t n) const {
    int64_t width = r.savedWidth();
    std::vector<double> own;
    StepRows<double> saved{nullptr, r.directions, r.steps, width};
    if (workspace) {
      saved = r.rowsOf(workspace->data.data(), width, n);
    } else {
      own.resize(r.layers * r.directions * r.steps * width);
      saved.data = own.data();
    }
    for (int64_t l = 0; l < r.layers; ++l)
      for (int64_t d = 0; d < r.directions; ++d)
        runLayer(l, d, n, saved);
    for (int64_t t = 0; t < r.steps; ++t)
      writeLayer(t, n, saved);
  }

private:
  void runLayer(int64_t l, int64_t d, int64_t n,
                const StepRows<double> &saved) const {
    CellWeights weights = r.weights(l, d);
    std::vector<int64_t> order = r.order(n, d);
    std::vector<double> scratch;
    for (size_t s = 0; s < order.size(); ++s) {
      int64_t t = order[s];
      States before = r.statesBefore(l, d, n, order, s, saved);
      StepOperands in{r.inputOf(l, d, t, n, saved, scratch),
                      before.hidden.data(), before.cell.data(),
                      r.attention(t, n)};
      stepForward(r, weights, in, saved.row(l, d, t));
    }
    States last = r.statesBefore(l, d, n, order, order.size(), saved);
    const std::vector<double> &h = last.hidden, &c = last.cell;
    int64_t state = r.stateRow(l, d, n);
    for (int64_t j = 0; dstIter && j < r.outputs; ++j)
      dstIter->data[state * r.outputs + j] =
          dstIter->dtype == DType::u8 ? r.codes.codeOf(h[j]) : h[j];
    for (int64_t j = 0; dstCell && j < r.hidden; ++j)
      dstCell->data[state * r.hidden + j] = c[j];
  }

  /// The results of all directions at one step.
  void writeLayer(int64_t t, int64_t n,
                  const StepRows<const double> &saved) const {
    auto hidden = [&](int64_t d, int64_t j) {
      return r.counts(t, n) ? r.hiddenOf(saved.row(r.layers - 1, d, t))[j]
                            : r.codes.rounded(0);
    };
    int64_t parts = r.concatenatesResults ? 2 : 1;
    double *to = dstLayer.data.data() + r.dataRow(t, n) * parts * r.outputs;
    for (int64_t j = 0; j < r.outputs; ++j)
      if (r.addsResults)
        to[j] = sum(hidden(0, j), hidden(1, j));
      else
        for (int64_t part = 0; part < parts; ++part)
          to[part * r.outputs + j] = single(hidden(part, j));
  }

  double single(double h) const {
    return dstLayer.dtype == DType::u8 ? r.codes.codeOf(h) : h;
  }

  /// Codes are added, saturated, and have twice the shift then.
  double sum(double a, double b) const {
    if (!r.codes.used)
      return a + b;
    double code = roundTo(DType::u8, r.codes.codeOf(a) + r.codes.codeOf(b));
    return dstLayer.dtype == DType::u8
               ? code
               : (code - 2 * r.codes.shift) / r.codes.scale;
  }

  const Recurrence &r;
  Tensor &dstLayer;
  Tensor *dstIter, *dstCell, *workspace;
};

bool evalRecurrent(OpContext &c) {
  Recurrence r(c);
  if (!r.read() || !r.setShapes())
    return false;
  ForwardWalk walk(r);
  parallelFor(c.threads, r.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      walk.runEntry(n);
  });
  return true;
}

} // namespace

std::span<const OpEntry> recurrentOps() {
  static constexpr OpEntry entries[] = {
      {"RNN", evalRecurrent},   {"RNNBackward", evalRecurrentBackward},
      {"LSTM", evalRecurrent},  {"LSTMBackward", evalRecurrentBackward},
      {"GRU", evalRecurrent},   {"GRUBackward", evalRecurrentBackward},
      {"AUGRU", evalRecurrent}, {"AUGRUBackward", evalRecurrentBackward}};
  return entries;
}

} // namespace tenon::reference
