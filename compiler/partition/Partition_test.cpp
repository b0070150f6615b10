// SPDX-License-Identifier: Apache-2.0
// Regions are convex, as large as they can be, and complete.
#include "compiler/partition/Partition.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace tenon;
using graph::Graph;

namespace {

struct Builder {
  Graph graph;
  uint64_t nextOp = 100;

  void tensor(uint64_t id) {
    graph::LogicalTensor t;
    t.id = id;
    t.dtype = graph::DType::f32;
    t.shape = graph::Dims{4};
    graph.tensors.insert({id, t});
  }
  Builder &op(const std::string &kind, std::vector<uint64_t> in,
              std::vector<uint64_t> out) {
    for (uint64_t id : in)
      tensor(id);
    for (uint64_t id : out)
      tensor(id);
    graph.ops.push_back({nextOp,
                         kind + std::to_string(nextOp),
                         kind,
                         {},
                         std::move(in),
                         std::move(out)});
    ++nextOp;
    return *this;
  }
  std::vector<Partition> cut(PartitionPolicy p = PartitionPolicy::fusion) {
    EXPECT_TRUE(graph::topologicalSort(graph).empty());
    EXPECT_TRUE(graph::completePorts(graph).empty());
    return partition(graph, p);
  }
};

std::vector<uint64_t> idsOf(const Graph &g, const Partition &p) {
  std::vector<uint64_t> ids;
  for (size_t i : p.ops)
    ids.push_back(g.ops[i].id);
  return ids;
}

using Ids = std::vector<uint64_t>;

/// Sizes of results have names that an input gives which the operation does not
/// read, in one partition or in several.
TEST(Partition, InputsThatGiveSizes) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("Expand", {2}, {3});
  b.tensor(8);
  b.tensor(9);
  auto name = [&](uint64_t id, std::string size) {
    graph::LogicalTensor &t = b.graph.tensors.at(id);
    t.shape = graph::Dims{graph::kUnknownDim};
    t.sizes = {std::move(size)};
  };
  name(3, "tokens * 2");
  name(8, "unused");
  name(9, "tokens");
  b.graph.inputPorts = {1, 8, 9};
  b.graph.outputPorts = {3};
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].inputs, (Ids{1, 9}));
  EXPECT_EQ(extract(b.graph, parts[0]).tensor(9).sizes,
            std::vector<std::string>{"tokens"});
  parts = b.cut(PartitionPolicy::debug);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].inputs, Ids{1});
  EXPECT_EQ(parts[1].inputs, (Ids{2, 9}));
}

TEST(Partition, KnownOperationsAreOne) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("Abs", {2}, {3}).op("Tanh", {9}, {10});
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].supported);
  EXPECT_EQ(parts[0].inputs, (Ids{1, 9}));
  EXPECT_EQ(parts[0].outputs, (Ids{3, 10}));
}

TEST(Partition, NoPathLeavesAndComesBack) {
  // A -> Wildcard -> B beside A -> B.
  Builder b;
  b.op("ReLU", {1}, {2}).op("Wildcard", {2}, {3}).op("Add", {2, 3}, {4});
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(idsOf(b.graph, parts[0]), Ids{100});
  EXPECT_EQ(parts[0].outputs, Ids{2});
  EXPECT_FALSE(parts[1].supported);
  EXPECT_EQ(parts[1].reason, "Wildcard does not compile");
  EXPECT_EQ(idsOf(b.graph, parts[2]), Ids{102});
  EXPECT_EQ(parts[2].inputs, (Ids{2, 3}));
}

TEST(Partition, ABranchBesideTheWildcardStaysWithItsProducer) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("Wildcard", {2}, {3}).op("Tanh", {2}, {4});
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(idsOf(b.graph, parts[0]), (Ids{100, 102}));
  EXPECT_EQ(parts[0].outputs, (Ids{2, 4}));
}

TEST(Partition, APieceThatFeedsALaterRegionJoinsIt) {
  Builder b;
  b.op("ReLU", {1}, {2})
      .op("Wildcard", {2}, {3})
      .op("Tanh", {5}, {6})
      .op("Add", {3, 6}, {7});
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(idsOf(b.graph, parts[0]), Ids{100});
  EXPECT_EQ(idsOf(b.graph, parts[2]), (Ids{102, 103}));
  EXPECT_EQ(parts[2].inputs, (Ids{5, 3}));
}

TEST(Partition, APieceThatAnUnsupportedOperationReadsStays) {
  Builder b;
  b.op("ReLU", {1}, {2})
      .op("Wildcard", {2}, {3})
      .op("Tanh", {5}, {6})
      .op("Wildcard", {6}, {8})
      .op("Add", {3, 6}, {7});
  auto parts = b.cut();
  EXPECT_EQ(idsOf(b.graph, parts[0]), (Ids{100, 102}));
}

TEST(Partition, UnknownKindsAndTypesAreAlone) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("MyOperation", {2}, {3}).op("ReLU", {3}, {4});
  b.op("ReLU", {5}, {6});
  b.graph.tensor(5).dtype = b.graph.tensor(6).dtype = graph::DType::f8_e4m3;
  auto parts = b.cut();
  ASSERT_EQ(parts.size(), 4u);
  std::set<std::string> reasons;
  for (auto &p : parts)
    if (!p.supported)
      reasons.insert(p.reason);
  EXPECT_EQ(reasons,
            (std::set<std::string>{"the kind MyOperation is not known",
                                   "ReLU does not compile for f8_e4m3"}));
}

TEST(Partition, DebugPolicyIsOneEach) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("Abs", {2}, {3}).op("End", {3}, {});
  auto parts = b.cut(PartitionPolicy::debug);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].outputs, Ids{2});
  EXPECT_EQ(parts[1].inputs, Ids{2});
  EXPECT_EQ(parts[1].outputs, Ids{3});
}

TEST(Partition, ExtractedRegionIsAGraph) {
  Builder b;
  b.op("ReLU", {1}, {2}).op("Wildcard", {2}, {3}).op("Add", {2, 3}, {4});
  auto parts = b.cut();
  Graph g = extract(b.graph, parts[2]);
  EXPECT_EQ(g.ops.size(), 1u);
  EXPECT_EQ(g.tensors.size(), 3u);
  EXPECT_TRUE(graph::topologicalSort(g).empty());
  EXPECT_TRUE(graph::completePorts(g).empty());
  EXPECT_EQ(g.inputPorts, (Ids{2, 3}));
  EXPECT_EQ(g.outputPorts, Ids{4});
}

/// Whether the partitions can run one after the other, and hold each op once.
void expectExecutable(const Graph &g, const std::vector<Partition> &parts) {
  std::set<uint64_t> ready(g.inputPorts.begin(), g.inputPorts.end());
  std::set<size_t> done;
  for (const Partition &p : parts) {
    for (uint64_t id : p.inputs)
      EXPECT_TRUE(ready.count(id)) << "tensor " << id << " is not there yet";
    ready.insert(p.outputs.begin(), p.outputs.end());
    for (size_t op : p.ops)
      EXPECT_TRUE(done.insert(op).second);
  }
  EXPECT_EQ(done.size(), g.ops.size());
  for (uint64_t id : g.outputPorts)
    EXPECT_TRUE(ready.count(id));
}

TEST(Partition, RandomGraphsExecuteInOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Builder b;
    uint64_t ops = 2 + random() % 40;
    for (uint64_t i = 0; i < ops; ++i) {
      uint64_t x = random() % (i + 2), y = random() % (i + 2);
      bool wild = random() % 4 == 0;
      b.op(wild ? "Wildcard" : "Add", {x, y}, {i + 2});
    }
    for (auto policy : {PartitionPolicy::fusion, PartitionPolicy::debug}) {
      auto parts = b.cut(policy);
      expectExecutable(b.graph, parts);
    }
  }
}

} // namespace
