// SPDX-License-Identifier: Apache-2.0
//
// If and Loop. A branch that is known to be taken is part of the graph. Where
// the data decides, both are, and Select chooses between their results. Where
// the data decides how many steps a loop has, all that may be are there, and
// from one on they change nothing.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Steps.h"

#include <algorithm>

namespace tenon::onnx {

/// Results of a branch that is taken where `condition` holds; kNone: always.
static std::vector<Named> branchOf(NodeContext &n, const GraphProto &graph,
                                   Value condition = kNone) {
  if (graph.outputs.size() < n.numOutputs())
    n.fail(ErrorCode::OperandCount,
           "a branch has " + std::to_string(graph.outputs.size()) +
               " outputs, not " + std::to_string(n.numOutputs()));
  std::vector<Named> results = n.convertGraph(graph, {}, condition);
  results.resize(n.numOutputs());
  return results;
}

static void ifElse(NodeContext &n) {
  const GraphProto *yes = n.graph("then_branch"), *no = n.graph("else_branch");
  if (!yes || !no)
    return;
  if (std::optional<bool> known = truthOf(n, n.in(0))) {
    std::vector<Named> results = branchOf(n, *known ? *yes : *no);
    for (size_t i = 0; i < results.size(); ++i)
      n.outNamed(i, results[i]);
    return;
  }
  Value condition = scalarOf(n, n.in(0), n.kBool, "the condition");
  Value otherwise = n.op("Not", {condition});
  std::vector<Named> a = branchOf(n, *yes, condition),
                     b = branchOf(n, *no, otherwise);
  for (size_t i = 0; i < n.numOutputs() && !n.failed(); ++i) {
    std::string what = "result " + std::to_string(i);
    if (n.wants(i))
      n.out(i, choose(n, condition, whole(n, a[i], what), whole(n, b[i], what),
                      what));
  }
}

namespace {

/// Whether a node of `graph`, or of a graph in it, has an operand of this name.
bool reads(const GraphProto &graph, std::string_view name) {
  for (const NodeProto &node : graph.nodes) {
    if (std::ranges::count(node.inputs, name))
      return true;
    for (const AttributeProto &attribute : node.attributes)
      for (const GraphProto &inner : attribute.graphs)
        if (reads(inner, name))
          return true;
  }
  return false;
}

/// Operands are the trip count, the condition, the carried values.
class Loop {
public:
  Loop(NodeContext &n, const GraphProto &body)
      : n(n), body(body), steps(n, body, 1, carriedOf(n)) {}

  void run() {
    if (n.failed())
      return;
    readTripCount();
    readCondition();
    if (n.failed() || !writeOut())
      return;
    for (size_t i = 0; i < steps.numCarried(); ++i)
      n.out(i, steps.carriedValue(i));
    Value count = kNone;
    for (size_t j = 0; j < steps.numEntries() && !n.failed(); ++j) {
      size_t i = steps.numCarried() + j;
      if (!n.wants(i))
        continue;
      Value all = steps.stacked(j, 0);
      if (count == kNone)
        count = steps.count();
      n.outCounted(i, all, count, 0);
    }
  }

private:
  static Values carriedOf(NodeContext &n) {
    Values carried;
    for (size_t i = 2; i < n.numInputs(); ++i)
      carried.push_back(n.in(i));
    return carried;
  }

  void readTripCount() {
    if (n.in(0) == kNone)
      return;
    if (auto known = n.known(n.in(0)); known && known->size() == 1)
      most = std::max<int64_t>(known->front(), 0);
    else
      limit = scalarOf(n, n.in(0), DType::s64, "the trip count");
  }

  void readCondition() {
    if (n.in(1) == kNone)
      return;
    if (auto known = truthOf(n, n.in(1))) {
      if (!*known)
        most = 0;
    } else {
      steps.restrictTo(scalarOf(n, n.in(1), n.kBool, "the condition"));
    }
  }

  /// A scalar that the body gets, of rank 1 where it says so.
  Value argument(size_t i, reference::Tensor value) {
    if (i < body.inputs.size() && body.inputs[i].shape &&
        body.inputs[i].shape->size() == 1)
      value.shape = {1};
    return n.constant(std::move(value));
  }

  Values argumentsOf(int64_t step) {
    return {argument(0, {DType::s64, {}, {}, {step}}), goesOn};
  }

  bool writeOut() {
    // A step that is executed has a condition that holds.
    goesOn = argument(1, {n.kBool, {}, {1}});
    bool isBounded = most && *most <= kMaxSteps;
    bool readsStep = !body.inputs.empty() && reads(body, body.inputs[0].name);
    Value last = kNone;
    for (int64_t i = 0; !most || i < *most; ++i) {
      if (i == kMaxSteps)
        return refuse(last != kNone && !truthOf(n, last));
      if (limit != kNone)
        steps.restrictTo(
            n.greater(limit, n.scalar(static_cast<double>(i), DType::s64)));
      Value condition = steps.add(argumentsOf(i), {});
      if (n.failed())
        return false;
      std::optional<bool> known = truthOf(n, condition);
      if (known == false)
        return true;
      // Without a bound, only one that counts can end it. One that stays the
      // same tensor stays true.
      bool mayEnd = known ? condition != last && condition != goesOn
                          : readsStep || steps.counts();
      if (!isBounded && !mayEnd)
        return refuse(!known);
      if (!known)
        steps.restrictTo(
            scalarOf(n, condition, n.kBool, "the condition of the body"));
      last = condition;
    }
    if (most == 0)
      steps.measure(argumentsOf(0), {});
    return !n.failed();
  }

  bool refuse(bool byData) {
    std::string limits =
        ", and a loop is written out up to " + std::to_string(kMaxSteps);
    if (most)
      n.refuse("runs up to " + std::to_string(*most) + " steps" + limits,
               "a smaller trip count, by --bind or --input");
    else if (limit != kNone)
      n.refuse("its trip count is not known when the model is read" + limits +
                   " steps",
               kKnownSizes);
    else if (byData)
      n.refuse("runs until the data ends it" + limits + " steps",
               "a trip count in the model, or --bind for what the condition "
               "depends on");
    else
      n.refuse("its condition does not end it" + limits + " steps",
               "a trip count in the model");
    return false;
  }

  NodeContext &n;
  const GraphProto &body;
  Steps steps;
  std::optional<int64_t> most; // steps; none: not known, or not bounded
  Value limit = kNone;         // the trip count where it is not known
  Value goesOn = kNone;        // the condition that the body gets
};

} // namespace

static void loop(NodeContext &n) {
  if (const GraphProto *body = n.graph("body"))
    Loop(n, *body).run();
}

std::span<const OpConversion> controlFlowConversions() {
  static constexpr OpConversion table[] = {
      {"If", 1, ifElse},
      {"Loop", 1, loop},
  };
  return table;
}

} // namespace tenon::onnx
