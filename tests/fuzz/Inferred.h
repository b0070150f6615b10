//===- Inferred.h - shape inference of any graph ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/infer/Infer.h"
#include "tests/fuzz/Fuzz.h"

#include <string>

namespace tenon::fuzz {

/// Checking and shape inference cope with the graph, and what they accept stays
/// accepted; `text` tells a finding what the graph is.
inline void requireInference(graph::Graph graph, const std::string &text) {
  requireBlameless(graph::verifyGraph(graph));
  std::vector<Error> errors = graph::inferGraph(graph);
  requireBlameless(errors);
  if (!errors.empty())
    return;
  errors = graph::verifyGraph(graph);
  require(errors.empty(), "an inferred graph does not verify",
          str(errors) + "\n" + text);
}

} // namespace tenon::fuzz
