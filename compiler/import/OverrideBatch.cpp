//===- OverrideBatch.cpp - changing the batch size ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dim 0 of an input is the batch when every operation the input reaches, up to
// where dim 0 is consumed, treats it as rows that do not interact: the input
// is data there and not a weight, a parameter or a statistic.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OverridesImpl.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <set>

namespace tenon::overrides {

using graph::Dims;
using graph::Graph;
using graph::LogicalTensor;
using graph::Op;
using graph::OpInfo;

/// Their shape attributes pin the batch.
static bool pinsBatch(const Op &op) {
  const OpInfo &info = graph::factsOf(op.kind);
  return info.opClass == graph::OpClass::contraction &&
         (info.attr("dst_shape") || info.attr("weights_shape"));
}

static int64_t rankOf(const LogicalTensor &t) {
  return t.shape ? static_cast<int64_t>(t.shape->size()) : -1;
}

static int64_t dim0(const LogicalTensor &t) {
  return rankOf(t) > 0 ? (*t.shape)[0] : -1;
}

/// Whether dim 0 leaves its place: the tensor behind has no batch in front.
static bool movesDim0(const Graph &graph, const Op &op) {
  int64_t rank = op.inputs.empty() ? -1 : rankOf(graph.tensor(op.inputs[0]));
  auto isDim0 = [rank](int64_t dim) {
    return dim == 0 || (rank > 0 && dim == -rank);
  };
  if (op.kind == "StaticTranspose") {
    Dims order = op.attrOr<Dims>("order", {});
    return order.empty() ? rank > 1 : !isDim0(order[0]); // empty: reversed
  }
  return op.kind == "Concat" && isDim0(op.attrOr<int64_t>("axis", 1));
}

/// Statistics are of channels, over the batch.
static bool isBatchNorm(const OpInfo &info) {
  return info.typeRule == "statistics" && info.attr("data_format") &&
         !info.attr("groups");
}

/// Whether operand `index` of `op` is data whose dim 0 may be the batch.
static bool isBatchOperand(const Graph &graph, const Op &op, size_t index) {
  const OpInfo *info = graph::lookupOp(op.kind);
  if (!info || info->operands.empty())
    return false;
  std::string_view role =
      info->operands[std::min(op.inputSlot(index), info->operands.size() - 1)]
          .name;
  const LogicalTensor &t = graph.tensor(op.inputs[index]);
  const LogicalTensor &first = graph.tensor(op.inputs[0]);
  if (rankOf(t) < 1 || t.property == graph::PropertyType::host_scalar)
    return false;
  // Parameters that come one per batch have its rank and dim 0: the weights of
  // a batched product, statistics of rows, scales of dynamic quantisation.
  if (info->shapeRule == "layer_norm_backward" &&
      (role == "mean" || role == "variance"))
    return dim0(t) == dim0(first);
  if (role == "weights" || role == "mean" || role == "variance" ||
      role == "scales" || role == "zps" || role == "slope")
    return rankOf(t) >= 3 && rankOf(t) == rankOf(first) &&
           dim0(t) == dim0(first) && !info->attr("weights_format") &&
           !isBatchNorm(*info);
  for (std::string_view no :
       {"bias", "gamma", "beta", "sizes", "axes", "seed", "offset",
        "probability", "src_shape", "dst_shape", "weights_shape"})
    if (role == no)
      return false;
  // A vector has no rows, and those of a transposed matrix are not in front.
  if (info->shapeRule == "matmul")
    return rankOf(t) > 2 ||
           (rankOf(t) == 2 && !op.attrOr<bool>("transpose_a", false));
  if (role != "src_0" && role != "src_1" && role != "cond")
    return true;
  // Operands of a broadcast: one that is spread over the batch stays as it is.
  for (uint64_t id : op.inputs) {
    const LogicalTensor &other = graph.tensor(id);
    if (rankOf(other) > rankOf(t))
      return false;
    if (rankOf(other) < rankOf(t))
      continue;
    bool isSpread = dim0(t) == 1 && dim0(other) > 1;
    bool isPoint = t.hasStaticShape() && t.numElements() == 1 &&
                   other.hasStaticShape() && other.numElements() > 1;
    if (isSpread || isPoint)
      return false;
  }
  return true;
}

std::vector<uint64_t> findBatchInputs(Graph graph) {
  // Ranks in between decide; what inference cannot tell is reported later.
  (void)graph::inferGraph(graph);
  // Backwards: a tensor is not batched when one of its readers needs it as a
  // parameter, directly or after operations that keep dim 0.
  std::set<uint64_t> fixed, data;
  for (auto op = graph.ops.rbegin(); op != graph.ops.rend(); ++op) {
    bool isFixed = movesDim0(graph, *op);
    for (uint64_t id : op->outputs)
      isFixed |= fixed.count(id) != 0;
    for (size_t i = 0; i < op->inputs.size(); ++i)
      (isFixed || !isBatchOperand(graph, *op, i) ? fixed : data)
          .insert(op->inputs[i]);
  }
  std::vector<uint64_t> found;
  for (uint64_t id : graph.inputPorts)
    if (data.count(id) && !fixed.count(id) &&
        graph.tensor(id).property != graph::PropertyType::constant)
      found.push_back(id);
  return found;
}

void applyBatch(Graph &graph, int64_t mb, Errors &errors) {
  for (const Op &op : graph.ops)
    if (pinsBatch(op))
      errors.push_back(badOverride(
          op, "has the batch size in its attributes: --mb cannot change it",
          "use --in-shapes together with --op-attrs"));
  if (!errors.empty())
    return;
  std::vector<uint64_t> inputs = findBatchInputs(graph);
  if (inputs.empty())
    errors.push_back(badOverride("--mb: no input of the graph has a batch dim",
                                 "use --in-shapes"));
  for (uint64_t id : inputs) {
    LogicalTensor &t = graph.tensor(id);
    Dims order = axisOrder(t);
    (*t.shape)[0] = mb;
    setOrder(t, order);
  }
}

} // namespace tenon::overrides
