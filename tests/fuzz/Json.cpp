//===- Json.cpp - fuzz target: bytes as a graph in JSON -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give a graph or errors with a code.  A graph that reads is written
// to a text that reads back as the same, checking and shape inference cope with
// it, and what they accept stays accepted.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/Json.h"
#include "dialects/graph/infer/Infer.h"
#include "tests/fuzz/Fuzz.h"

#include <string_view>

using namespace tenon;

namespace {

void checkGraph(graph::Graph graph) {
  std::string text = json::writeJson(graph);
  auto again = json::readJson(text, "written");
  fuzz::require(bool(again), "what was written does not read", text);
  fuzz::require(json::writeJson(*again) == text,
                "reading and writing changes the text", text);
  fuzz::requireBlameless(graph::verifyGraph(graph));
  std::vector<Error> errors = graph::inferGraph(graph);
  fuzz::requireBlameless(errors);
  if (!errors.empty())
    return;
  errors = graph::verifyGraph(graph);
  fuzz::require(errors.empty(), "an inferred graph does not verify",
                str(errors) + "\n" + json::writeJson(graph));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  for (bool strict : {false, true}) {
    json::JsonOptions options;
    options.strict = strict;
    auto graph = json::readJson(text, "input", options);
    if (graph)
      checkGraph(std::move(*graph));
    else
      fuzz::requireBlameless(graph.errors());
  }
  return 0;
}
