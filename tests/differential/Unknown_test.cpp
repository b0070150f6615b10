// SPDX-License-Identifier: Apache-2.0
// Sizes are left out, and what remains is the same graph with other sizes.
#include "tests/differential/Unknown.h"

#include "dialects/graph/infer/Infer.h"
#include "tests/differential/Generate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

using namespace tenon;
using namespace tenon::test;
using graph::Graph;

namespace {

bool isUnknown(const graph::LogicalTensor &tensor) {
  return !tensor.hasStaticShape();
}

/// As it is executed: inputs have their sizes, results what follows.
Graph withInputsOf(Graph general, const Graph &known) {
  for (uint64_t id : general.inputPorts)
    general.tensor(id).shape = known.tensor(id).shape;
  EXPECT_EQ(str(graph::inferGraph(general)), "");
  return general;
}

/// Kinds of which all sizes are known in each graph, and why.
const std::map<std::string_view, std::string_view> kAlwaysKnown = {
    {"AvgPoolBackward", "src_shape is a list of numbers"},
    {"RandomUniform", "operands have one element, and shape lists numbers"},
};

TEST(UnknownSizes, AreThoseOfTheSameGraph) {
  size_t found = 0, named = 0, empty = 0, different = 0;
  std::set<std::string> kinds;
  constexpr uint64_t kGraphs = 3000;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    auto sizes = withUnknownSizes(generateGraph(seed), seed);
    if (!sizes)
      continue;
    ++found;
    for (const Graph &known : sizes->known) {
      Graph executed = withInputsOf(sizes->general, known);
      for (const auto &[id, tensor] : known.tensors) {
        ASSERT_EQ(tensor.shape, executed.tensor(id).shape) << seed;
        empty += tensor.numElements() == 0;
      }
      EXPECT_EQ(str(graph::verifyGraph(known)), "") << seed;
    }
    Graph general = sizes->general;
    ASSERT_EQ(str(graph::inferGraph(general)), "") << seed;
    for (const graph::Op &op : general.ops) {
      for (const auto *ids : {&op.inputs, &op.outputs})
        for (uint64_t id : *ids)
          if (isUnknown(general.tensor(id)))
            kinds.insert(op.kind);
    }
    for (uint64_t id : general.inputPorts) {
      named += !general.tensor(id).sizes.empty();
      different +=
          sizes->known[0].tensor(id).shape != sizes->known[1].tensor(id).shape;
    }
  }
  EXPECT_GT(found, kGraphs * 3 / 4);
  for (size_t count : {named, empty, different})
    EXPECT_GT(count, kGraphs / 10);
  for (const graph::OpInfo *info : compilingOps())
    EXPECT_NE(kinds.count(std::string(info->kind)),
              kAlwaysKnown.count(info->kind))
        << info->kind;
}

/// The first column of the last table of the document.
std::set<std::string> rowsOfDocument() {
  std::ifstream file("docs/unknown-sizes.md");
  EXPECT_TRUE(file);
  std::set<std::string> rows;
  bool isTable = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## What needs a known size"))
      isTable = true;
    else if (isTable && line.starts_with("| ") &&
             !line.starts_with("| operation "))
      rows.insert(line.substr(2, line.find(" |", 2) - 2));
  }
  return rows;
}

TEST(UnknownSizes, ReasonsAreDocumented) {
  std::set<std::string> known;
  for (std::string_view row : documentedRows())
    known.insert(std::string(row));
  EXPECT_EQ(known, rowsOfDocument());

  Error documented, other;
  documented.message = "the columns of constant weights are not known";
  other.message = "an address is not known";
  EXPECT_EQ(documentedReason({documented}), "MatMul with constant weights");
  EXPECT_EQ(documentedReason({documented, other}), std::nullopt);
}

} // namespace
