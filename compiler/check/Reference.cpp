//===- Reference.cpp - what results are judged by -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Reference.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Reference.h"
#include "dialects/graph/reference/Evaluator.h"

namespace tenon::check {

using reference::Tensor;

Expected<Reference> Reference::create(const graph::Graph &graph,
                                      std::map<uint64_t, Tensor> inputs,
                                      Arithmetic arithmetic, int threads) {
  Reference reference;
  reference.problem = std::make_unique<Problem>();
  Problem &problem = *reference.problem;
  problem.graph = graph;
  problem.inputs = std::move(inputs);
  graph::Graph &whole = problem.graph;
  if (auto errors = topologicalSort(whole); !errors.empty())
    return errors;
  if (auto errors = completePorts(whole); !errors.empty())
    return errors;
  reference::EvalOptions options;
  options.threads = threads;
  options.roundOutputs = false;
  for (uint64_t id : whole.outputPorts)
    if (auto source = roundingSource(whole, id))
      options.keep.push_back(*source);
  auto exact = reference::evaluate(whole, problem.inputs, options);
  if (!exact)
    return exact.errors();
  options.roundEdges = true;
  auto plain = reference::evaluate(whole, problem.inputs, options);
  if (!plain)
    return plain.errors();
  for (uint64_t id : whole.outputPorts) {
    Output &output = reference.outputs[id];
    output.tolerance = toleranceFor(whole, id, &problem.inputs, arithmetic);
    if (auto source = roundingSource(whole, id))
      output.before =
          beforeRounding(whole, id, exact->at(*source), plain->at(*source));
  }
  for (auto &[id, output] : reference.outputs) {
    output.exact = std::move(exact->at(id));
    output.plain = std::move(plain->at(id));
  }
  problem.conditioning.emplace(whole, problem.inputs, arithmetic, threads);
  return reference;
}

Expected<std::vector<Judgement>>
Reference::judge(const std::map<uint64_t, Tensor> &results) const {
  std::vector<Judgement> judgements;
  for (const auto &[id, output] : outputs) {
    auto found = results.find(id);
    if (found == results.end()) {
      Error error;
      error.code = ErrorCode::UnknownTensor;
      error.message = "there is no result for tensor " + std::to_string(id);
      return error;
    }
    Judgement judgement{id, output.tolerance, {}};
    judgement.result =
        compare(found->second, output.exact, &output.plain, output.tolerance,
                output.before ? &*output.before : nullptr,
                [&, id = id](int evaluations) {
                  return problem->conditioning->of(id, evaluations);
                });
    judgements.push_back(std::move(judgement));
  }
  return judgements;
}

Expected<std::vector<Judgement>>
judge(const graph::Graph &graph, const std::map<uint64_t, Tensor> &inputs,
      const std::map<uint64_t, Tensor> &results, int threads) {
  auto reference = Reference::create(graph, inputs, /*arithmetic=*/{}, threads);
  if (!reference)
    return reference.errors();
  return reference->judge(results);
}

} // namespace tenon::check
