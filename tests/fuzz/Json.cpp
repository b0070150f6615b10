//===- Json.cpp - fuzz target: bytes as a graph in JSON -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give a graph or errors with a code.  A graph that reads is written
// to a text that reads back as the same, checking and shape inference cope with
// it, and what they accept stays accepted.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/Json.h"
#include "tests/fuzz/Inferred.h"

#include <string_view>
#include <utility>

using namespace tenon;

namespace {

void checkGraph(graph::Graph graph) {
  std::string text = json::writeJson(graph);
  auto again = json::readJson(text, "written");
  fuzz::require(bool(again), "what was written does not read", text);
  fuzz::require(json::writeJson(*again) == text,
                "reading and writing changes the text", text);
  fuzz::requireInference(std::move(graph), text);
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
