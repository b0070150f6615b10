// SPDX-License-Identifier: Apache-2.0
// Cuts are compared with the best of all ways to put nodes on two sides.
#include "passes/layout/MinCut.h"

#include "gtest/gtest.h"

#include <bit>
#include <random>

using namespace tenon;
using namespace tenon::passes;

namespace {

struct Edge {
  size_t a, b;
  int64_t cost;
};

struct Network {
  std::vector<int64_t> first, second;
  std::vector<Edge> edges;

  int64_t cost(uint32_t onSecond) const {
    int64_t sum = 0;
    for (size_t i = 0; i < first.size(); ++i)
      sum += onSecond >> i & 1 ? second[i] : first[i];
    for (const Edge &e : edges)
      if ((onSecond >> e.a & 1) != (onSecond >> e.b & 1))
        sum += e.cost;
    return sum;
  }

  std::vector<bool> cut() const {
    MinCut cut(first.size());
    for (size_t i = 0; i < first.size(); ++i)
      cut.addCosts(i, first[i], second[i]);
    for (const Edge &e : edges)
      cut.addEdge(e.a, e.b, e.cost);
    return cut.solve();
  }
};

TEST(MinCut, IsTheBestOfAll) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    size_t nodes = 1 + random() % 9;
    Network network;
    for (size_t i = 0; i < nodes; ++i) {
      network.first.push_back(random() % 10);
      network.second.push_back(random() % 10);
    }
    for (size_t i = random() % 20; i > 0; --i)
      network.edges.push_back({random() % nodes, random() % nodes,
                               static_cast<int64_t>(random() % 6)});
    int64_t least = network.cost(0), most = 0;
    for (uint32_t sides = 0; sides < 1u << nodes; ++sides)
      least = std::min(least, network.cost(sides));
    for (uint32_t sides = 0; sides < 1u << nodes; ++sides)
      if (network.cost(sides) == least)
        most = std::max<int64_t>(most, std::popcount(sides));
    uint32_t found = 0;
    std::vector<bool> cut = network.cut();
    for (size_t i = 0; i < nodes; ++i)
      found |= uint32_t(cut[i]) << i;
    EXPECT_EQ(network.cost(found), least);
    EXPECT_EQ(std::popcount(found), most) << "of equal cuts, most are second";
  }
}

TEST(MinCut, KeepsWhatMustBe) {
  Network network{
      {0, 0, MinCut::kNever}, {MinCut::kNever, 0, 0}, {{0, 1, 3}, {1, 2, 2}}};
  EXPECT_EQ(network.cut(), (std::vector<bool>{false, false, true}));
}

TEST(MinCut, TakesLongChains) {
  const size_t n = 100000;
  MinCut cut(n);
  cut.addCosts(0, 0, MinCut::kNever);
  cut.addCosts(n - 1, MinCut::kNever, 0);
  for (size_t i = 1; i < n; ++i)
    cut.addEdge(i - 1, i, i == n / 2 ? 1 : 2);
  std::vector<bool> sides = cut.solve();
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(sides[i], i >= n / 2) << i;
}

} // namespace
