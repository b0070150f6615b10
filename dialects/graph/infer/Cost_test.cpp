// SPDX-License-Identifier: Apache-2.0
// The work on a graph grows with the number of operations, not with its square:
// basic blocks and allocations are counted, which do not depend on the machine.
#include "dialects/graph/infer/Infer.h"
#include "dialects/support/Counting.h"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

using test::Cost;

/// A chain of `count` operations, the last one first; each result is read by
/// the next, and every tenth is an output.
Graph chain(uint64_t count) {
  Graph graph;
  for (uint64_t i = count; i-- > 0;) {
    Op op;
    op.id = i;
    op.name = "op" + std::to_string(i);
    op.kind = "ReLU";
    op.inputs = {i};
    op.outputs = {i + 1};
    graph.ops.push_back(std::move(op));
    if (i % 10 == 0)
      graph.outputPorts.push_back(i + 1);
  }
  for (uint64_t i = 0; i <= count; ++i) {
    LogicalTensor &tensor = graph.tensors[i];
    tensor.id = i;
    tensor.dtype = DType::f32;
    if (i == 0)
      tensor.shape = Dims{4};
  }
  return graph;
}

/// Fails unless `work` on ten times as many operations costs ten times as much,
/// and a little for deeper maps.
void expectLinear(const char *what, void (*work)(Graph &)) {
  Graph small = chain(500), large = chain(5000);
  Cost few = test::costOf([&] { work(small); });
  Cost many = test::costOf([&] { work(large); });
  EXPECT_GT(few.blocks, 500u) << what;
  EXPECT_LT(many.blocks, 20 * few.blocks) << what;
  EXPECT_LT(many.allocations, 20 * few.allocations + 100) << what;
}

TEST(Cost, GrowsWithTheNumberOfOperations) {
  expectLinear("topologicalSort", [](Graph &graph) {
    EXPECT_TRUE(topologicalSort(graph).empty());
  });
  expectLinear("completePorts",
               [](Graph &graph) { EXPECT_TRUE(completePorts(graph).empty()); });
  expectLinear("inferGraph",
               [](Graph &graph) { EXPECT_TRUE(inferGraph(graph).empty()); });
  expectLinear("verifyGraph",
               [](Graph &graph) { EXPECT_TRUE(verifyGraph(graph).empty()); });
}

} // namespace
} // namespace tenon::graph
