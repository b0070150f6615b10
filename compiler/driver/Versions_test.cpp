// SPDX-License-Identifier: Apache-2.0
// Which versions a graph has.
#include "compiler/driver/Versions.h"

#include <gtest/gtest.h>

using namespace tenon;

namespace {

using Likely = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// r = a + b, [n, m] each.
graph::PreparedGraph sum(const Likely &likely,
                         const graph::Dims &shape = {graph::kUnknownDim,
                                                     graph::kUnknownDim},
                         const std::vector<std::string> &sizes = {"n", "m"}) {
  graph::Graph g;
  for (uint64_t id : {0, 1, 2}) {
    graph::LogicalTensor t;
    t.id = id;
    t.dtype = graph::DType::f32;
    t.shape = id == 2 ? graph::Dims(2, graph::kUnknownDim) : shape;
    if (id == 0)
      t.sizes = {"n", "m"};
    if (id == 1)
      t.sizes = sizes;
    g.tensors[id] = t;
  }
  g.ops.push_back({0, "sum", "Add", {}, {0, 1}, {2}});
  g.inputPorts = {0, 1};
  g.outputPorts = {2};
  for (const auto &[name, values] : likely)
    g.sizeFacts[name].likely = values;
  auto prepared = graph::prepareGraph(std::move(g));
  EXPECT_TRUE(prepared) << str(prepared.errors());
  return prepared ? *prepared : graph::PreparedGraph();
}

std::vector<std::string> namesOf(const Versions &versions) {
  std::vector<std::string> names;
  for (const Version &version : versions.list)
    names.push_back(version.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Versions, NoLikelySizesNoVersions) {
  EXPECT_TRUE(versionsOf(sum({})).list.empty());
  EXPECT_TRUE(versionsOf(sum({{"n", {}}})).list.empty());
  // What is known is not likely.
  EXPECT_TRUE(versionsOf(sum({{"n", {4}}}, {4, 4})).list.empty());
}

TEST(Versions, SizesAreThoseOfAllTensors) {
  Versions versions = versionsOf(sum({{"n", {4, 7}}}));
  EXPECT_EQ(namesOf(versions), (Names{"n=4", "n=7"}));
  EXPECT_TRUE(versions.remarks.empty());
  const graph::Graph &g = *versions.list[1].graph;
  for (uint64_t id : {0, 1, 2})
    EXPECT_EQ(g.tensor(id).shape, (graph::Dims{7, graph::kUnknownDim})) << id;
  EXPECT_TRUE(g.sizeFacts.at("n").likely.empty());
  EXPECT_TRUE(versionsOf(versions.list[1].graph).list.empty());
}

TEST(Versions, CombinationsOfLikelierValuesComeFirst) {
  EXPECT_EQ(namesOf(versionsOf(sum({{"n", {4, 7}}, {"m", {1, 2}}}))),
            (Names{"m=1, n=4", "m=1, n=7", "m=2, n=4", "m=2, n=7"}));
  Versions many = versionsOf(sum({{"n", {1, 2, 3, 4}}, {"m", {1, 2, 3, 4}}}));
  ASSERT_EQ(many.list.size(), kMostVersions);
  EXPECT_EQ(many.list[0].name, "m=1, n=1");
  EXPECT_EQ(many.list[3].name, "m=1, n=3");
  EXPECT_EQ(many.list[5].name, "m=3, n=1");
  ASSERT_EQ(many.remarks.size(), 1u);
  EXPECT_EQ(many.remarks[0], "sizes: there are 16 combinations of likely "
                             "values; the first 8 get code of their own");
}

TEST(Versions, CombinationsThatDoNotFitHaveNone) {
  // The second operand has n - 2 rows, which does not broadcast.
  Versions versions =
      versionsOf(sum({{"n", {1, 3}}}, {graph::kUnknownDim, graph::kUnknownDim},
                     {"n - 2", "m"}));
  EXPECT_EQ(namesOf(versions), Names{"n=3"});
  ASSERT_EQ(versions.remarks.size(), 1u);
  EXPECT_NE(versions.remarks[0].find("no code for n=1: E1209"),
            std::string::npos)
      << versions.remarks[0];
}

} // namespace
