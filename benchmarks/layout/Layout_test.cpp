//===- Layout_test.cpp - no copies where the compiler chooses layouts -----===//
// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/layout/Chain.h"
#include "benchmarks/layout/EdgeOrders.h"

#include <gtest/gtest.h>

namespace tenon::benchmarks {
namespace {

using When = ReorderInfo::When;

struct Counts {
  size_t ends = 0;   // copies at the input and the output of the whole graph
  size_t inside = 0; // of everything else
  size_t saved = 0;
};

/// Per execution.
Counts countsOf(const Chain &chain) {
  Counts counts;
  EXPECT_EQ(chain.graphs().size(), 2u);
  for (const std::string &graph : chain.graphs()) {
    auto orders = edgeOrders(graph);
    EXPECT_TRUE(bool(orders)) << str(orders.errors());
    if (!orders)
      continue;
    for (const EdgeOrder &order : *orders) {
      bool isEnd = order.port == Chain::kInput || order.port == Chain::kOutput;
      if (order.order.info.when == When::run)
        ++(isEnd ? counts.ends : counts.inside);
      counts.saved += order.order.info.when == When::never;
    }
  }
  return counts;
}

/// By Winograd, and of too few channels for it.
TEST(Layout, AWildcardCostsNoCopyWhereTheCompilerChoosesItsEdges) {
  for (const ChainShape &shape :
       {ChainShape{32, 16, 2}, ChainShape{8, 14, 1}}) {
    SCOPED_TRACE(shape.channels);
    Chain plain(shape, Edges::plain), any(shape, Edges::any);
    Counts plainCounts = countsOf(plain), anyCounts = countsOf(any);
    EXPECT_GT(plainCounts.inside, 0u);
    EXPECT_EQ(anyCounts.inside, 0u);
    EXPECT_EQ(anyCounts.ends, plainCounts.ends);
    EXPECT_GT(anyCounts.saved, plainCounts.saved);
    plain.run();
    any.run();
    float largest = 0;
    for (size_t i = 0; i < plain.result().size(); ++i) {
      ASSERT_NEAR(plain.result()[i], any.result()[i], 1e-5) << "element " << i;
      largest = std::max(largest, plain.result()[i]);
    }
    EXPECT_GT(largest, 0.1f);
  }
}

} // namespace
} // namespace tenon::benchmarks
