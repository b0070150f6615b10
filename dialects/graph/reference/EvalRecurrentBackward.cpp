//===- EvalRecurrentBackward.cpp - gradients of recurrent operations ------===//
// SPDX-License-Identifier: Apache-2.0
//
// First back through all steps, which gives the gradients of gates, of states
// and of src_layer; then the gradients of weights, sums over steps and over the
// batch of products of the former.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Recurrent.h"

namespace tenon::reference {
namespace {

class BackwardWalk {
public:
  BackwardWalk(const Recurrence &r, std::vector<double> &left)
      : r(r), left(left), diffSrc(r.result("diff_src_layer")),
        diffAttention(r.result("diff_attention")) {}

  void runEntry(int64_t n) const {
    StepRows<const double> saved =
        r.rowsOf(r.operand("workspace"), r.savedWidth(), n);
    Gradients above = gradientsOfResults(n);
    for (int64_t l = r.layers; l-- > 0;) {
      Gradients below(r.directions,
                      std::vector<double>(r.steps * r.outputs, 0));
      for (int64_t d = 0; d < r.directions; ++d)
        runLayer(l, d, n, saved, above[d], below);
      above = std::move(below);
    }
  }

private:
  /// Of h of one layer, [directions][steps, outputs].
  using Gradients = std::vector<std::vector<double>>;

  Gradients gradientsOfResults(int64_t n) const {
    const double *given = r.operand("diff_dst_layer");
    int64_t width = r.outputs * (r.concatenatesResults ? 2 : 1);
    Gradients all;
    for (int64_t d = 0; d < r.directions; ++d) {
      std::vector<double> &one = all.emplace_back();
      for (int64_t t = 0; t < r.steps; ++t) {
        const double *row = given + r.dataRow(t, n) * width +
                            (r.concatenatesResults ? d * r.outputs : 0);
        one.insert(one.end(), row, row + r.outputs);
      }
    }
    return all;
  }

  std::vector<double> stateGradient(const char *name, int64_t row,
                                    int64_t width) const {
    const double *given = r.operand(name);
    if (!given)
      return std::vector<double>(width, 0);
    return {given + row * width, given + (row + 1) * width};
  }

  void runLayer(int64_t l, int64_t d, int64_t n,
                const StepRows<const double> &saved,
                const std::vector<double> &above, Gradients &below) const {
    CellWeights weights = r.weights(l, d);
    int64_t state = r.stateRow(l, d, n);
    std::vector<double> dh = stateGradient("diff_dst_iter", state, r.outputs);
    std::vector<double> dc = stateGradient("diff_dst_iter_c", state, r.hidden);
    StepRows<double> rows = r.rowsOf(left.data(), gradientWidth(r), n);
    std::vector<int64_t> order = r.order(n, d);
    for (size_t s = order.size(); s-- > 0;) {
      int64_t t = order[s];
      for (int64_t j = 0; j < r.outputs; ++j)
        dh[j] += above[t * r.outputs + j];
      States before = r.statesBefore(l, d, n, order, s, saved);
      std::vector<double> hiddenBefore(r.states, 0);
      double *row = rows.row(l, d, t);
      StepGradients out{dh.data(), dc.data(), row, hiddenBefore.data(), 0};
      stepBackward(r, weights,
                   {nullptr, before.hidden.data(), before.cell.data(),
                    r.attention(t, n)},
                   saved.row(l, d, t), out);
      std::ranges::copy(dh, row + r.info.biasRows * r.hidden);
      if (diffAttention)
        diffAttention->data[r.dataRow(t, n)] += out.attention;
      addInput(l, d, t, n, weights, row, below);
      dh = std::move(hiddenBefore);
    }
    if (Tensor *result = r.result("diff_src_iter"))
      std::ranges::copy(dh, result->data.begin() + state * r.states);
    if (Tensor *result = r.result("diff_src_iter_c"))
      std::ranges::copy(dc, result->data.begin() + state * r.hidden);
  }

  /// Adds the gradient of x to that of what x was.
  void addInput(int64_t l, int64_t d, int64_t t, int64_t n,
                const CellWeights &weights, const double *gateGradients,
                Gradients &below) const {
    if (l == 0 && !diffSrc)
      return;
    int64_t columns = r.info.gates * r.hidden;
    for (int64_t k = 0; k < r.inputs; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < columns; ++i)
        sum += weights.layer[k * columns + i] * gateGradients[i];
      if (l == 0)
        diffSrc->data[r.dataRow(t, n) * r.inputs + k] += sum;
      else if (r.concatenatesLayers)
        below[k / r.outputs][t * r.outputs + k % r.outputs] += sum;
      else
        below[d][t * r.outputs + k] += sum;
    }
  }

  const Recurrence &r;
  std::vector<double> &left; // of all steps, as sumWeightGradients takes it
  Tensor *diffSrc, *diffAttention;
};

} // namespace

bool evalRecurrentBackward(OpContext &c) {
  Recurrence r(c);
  if (!r.read() || !r.setShapes())
    return false;
  int64_t width = gradientWidth(r);
  Dims shape{r.layers, r.directions, r.steps, r.batch, width};
  if (!c.checkSize(shape))
    return false;
  std::vector<double> left(elementCount(shape), 0);
  BackwardWalk walk(r, left);
  parallelFor(c.threads, r.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      walk.runEntry(n);
  });
  sumWeightGradients(r, left);
  return true;
}

} // namespace tenon::reference
