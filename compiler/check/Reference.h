//===- Reference.h - what results are judged by ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The oracle's results for one graph and one set of inputs, kept for any number
// of comparisons.  What an element may be off (Compare.h) is
//
//   * the bound b from the graph, or of narrow floats three times the error of
//     the plain evaluation, or where that is not enough
//   * three times what errors of rounding size on the way move it, if that is
//     more (Conditioning.h).  It takes some evaluations more, and as many again
//     if elements are left that are off by little more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/check/Compare.h"
#include "compiler/check/Conditioning.h"

#include <memory>

namespace tenon::check {

/// Not thread-safe: conditioning is measured when it is needed first.
class Reference {
public:
  /// `inputs` as for reference::evaluate.  `arithmetic` is that of the code
  /// whose results are judged.  Errors: those of reference::evaluate.
  static Expected<Reference>
  create(const graph::Graph &graph,
         std::map<uint64_t, reference::Tensor> inputs,
         Arithmetic arithmetic = {}, int threads = 1);

  /// Judges every output (`results` by tensor id).  Errors: UnknownTensor.
  Expected<std::vector<Judgement>>
  judge(const std::map<uint64_t, reference::Tensor> &results) const;

private:
  struct Output {
    Tolerance tolerance;
    reference::Tensor exact, plain;
    std::optional<BeforeRounding> before;
  };
  /// In one place, as Conditioning refers to them.
  struct Problem {
    graph::Graph graph;
    std::map<uint64_t, reference::Tensor> inputs;
    std::optional<Conditioning> conditioning;
  };

  std::unique_ptr<Problem> problem;
  std::map<uint64_t, Output> outputs;
};

/// Reference::create and Reference::judge.
Expected<std::vector<Judgement>>
judge(const graph::Graph &graph,
      const std::map<uint64_t, reference::Tensor> &inputs,
      const std::map<uint64_t, reference::Tensor> &results, int threads = 1);

} // namespace tenon::check
