// SPDX-License-Identifier: Apache-2.0
//
// Losses of classes given by number.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

/// Of log probabilities N, C, d.. and classes N, d..: the negative one of the
/// class, times its weight. Those of class ignore_index are 0 and do not count
/// in the mean, which is the sum by the sum of weights.
static Value negativeLogLikelihood(NodeContext &n, Value logProbabilities) {
  Value classes = n.cast(n.in(1), DType::s64), weights = n.in(2);
  Value ignored = kNone;
  if (n.has("ignore_index")) {
    Value index =
        n.scalar(static_cast<double>(n.integer("ignore_index", 0)), DType::s64);
    ignored = n.equal(classes, index);
    classes = n.select(ignored, n.like(classes, 0), classes);
  }
  Value picked =
      n.op("GatherElements", {logProbabilities, n.unsqueeze(classes, {1})},
           {{"axis", int64_t{1}}});
  Value loss = n.reshape(picked, n.shape(classes));
  loss = n.op("Multiply", {loss, n.like(loss, -1)});
  if (weights != kNone)
    weights = n.op("Gather", {weights, classes}, {{"axis", int64_t{0}}});
  else if (ignored != kNone)
    weights = n.expandLike(n.like(loss, 1), loss);
  if (ignored != kNone)
    weights = n.select(ignored, n.like(weights, 0), weights);
  if (weights != kNone)
    loss = n.op("Multiply", {loss, weights});
  std::string reduction = n.text("reduction", "mean");
  if (reduction == "none")
    return loss;
  Dims all;
  for (int64_t i = 0; i < n.rank(loss); ++i)
    all.push_back(i);
  if (reduction == "mean" && weights == kNone)
    return n.reduce("ReduceMean", loss, all, false);
  Value sum = n.reduce("ReduceSum", loss, all, false);
  return reduction == "sum"
             ? sum
             : n.op("Divide",
                    {sum, n.reduce("ReduceSum", weights, all, false)});
}

static void nllLoss(NodeContext &n) {
  n.out(0, negativeLogLikelihood(n, n.in(0)));
}

static void softmaxCrossEntropy(NodeContext &n) {
  Value logProbabilities =
      n.op("LogSoftmax", {n.in(0)}, {{"axis", int64_t{1}}});
  n.out(0, negativeLogLikelihood(n, logProbabilities));
  n.out(1, logProbabilities);
}

std::span<const OpConversion> lossConversions() {
  static constexpr OpConversion table[] = {
      {"NegativeLogLikelihoodLoss", 12, nllLoss},
      {"SoftmaxCrossEntropyLoss", 12, softmaxCrossEntropy},
  };
  return table;
}

} // namespace tenon::onnx
