//===- Transformers_test.cpp - compiled once, executed at many sizes ------===//
// SPDX-License-Identifier: Apache-2.0
#include "examples/transformers/Transformers.h"

#include "dialects/graph/infer/Infer.h"
#include "tests/e2e/Harness.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::test;

namespace {

using Names = std::map<std::string, int64_t, std::less<>>;

/// `graph` with inputs of these sizes; the rest follows.
graph::Graph withSizes(graph::Graph graph, const Names &names) {
  for (uint64_t id : graph.inputPorts) {
    graph::LogicalTensor &t = graph.tensor(id);
    for (size_t d = 0; d < t.sizes.size(); ++d)
      if (auto it = names.find(t.sizes[d]); it != names.end()) {
        (*t.shape)[d] = it->second;
        t.strides.clear();
      }
  }
  std::vector<Error> errors = graph::inferGraph(graph);
  EXPECT_TRUE(errors.empty()) << str(errors);
  return graph;
}

void checkSizes(const Expected<graph::Graph> &graph,
                const std::vector<Names> &sizes) {
  ASSERT_TRUE(graph) << str(graph.errors());
  auto model = Compiled::compile(*graph, {});
  ASSERT_TRUE(model) << str(model.errors());
  for (const Names &names : sizes) {
    std::string text;
    for (const auto &[name, size] : names)
      text += name + " " + std::to_string(size) + " ";
    auto oracle = Oracle::make(withSizes(*graph, names));
    ASSERT_TRUE(oracle) << text << str(oracle.errors());
    RunConfig config;
    config.threads = 2;
    auto results = execute(**model, *oracle, config);
    ASSERT_TRUE(results) << text << str(results.errors());
    EXPECT_TRUE(agrees(*oracle, *results)) << text;
  }
}

std::vector<Names> withCache() {
  std::vector<Names> all;
  for (auto [batch, tokens, past] : {std::tuple{1, 1, 0},
                                     {1, 1, 1},
                                     {1, 1, 30},
                                     {2, 1, 7},
                                     {5, 1, 12},
                                     {1, 2, 0},
                                     {1, 17, 0},
                                     {3, 5, 4},
                                     {2, 16, 16},
                                     {1, 31, 1}})
    all.push_back({{"batch", batch},
                   {"tokens", tokens},
                   {"total", past + tokens},
                   {"capacity", 32}});
  return all;
}

TEST(Transformers, Bert) {
  std::vector<Names> sizes;
  for (auto [batch, tokens] : {std::pair{1, 1},
                               {1, 2},
                               {1, 17},
                               {1, 64},
                               {1, 97},
                               {2, 7},
                               {3, 16},
                               {4, 5},
                               {8, 3},
                               {16, 1}})
    sizes.push_back({{"batch", batch}, {"tokens", tokens}});
  checkSizes(examples::bert(1), sizes);
}

TEST(Transformers, Gpt2) { checkSizes(examples::gpt2(1), withCache()); }

TEST(Transformers, Llama) { checkSizes(examples::llama(1), withCache()); }

} // namespace
