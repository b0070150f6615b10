// SPDX-License-Identifier: Apache-2.0
// The generator makes what it promises, and the reducer finds planted bugs.
#include "tests/differential/Generate.h"

#include "dialects/graph/forms/OpForms.h"
#include "dialects/graph/infer/Infer.h"
#include "tests/differential/Reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace tenon;
using namespace tenon::test;
using namespace tenon::forms;
using graph::Graph;

namespace {

/// Whether `info` has so many results only in graphs that are not finished.
bool isUnfinished(const graph::OpInfo &info, int count) {
  return info.kind == "BatchNormTrainingBackward" && count == 2;
}

TEST(OpForms, EveryOperationHasForms) {
  FormOptions options;
  options.onlyCompiling = false;
  for (const graph::OpInfo &info : graph::allOps()) {
    int found = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      found += makeForm(info, random, options).has_value();
    }
    EXPECT_GE(found, 19) << info.kind
                         << ": guess better shapes in OpShapes.cpp";
  }
}

TEST(OpForms, EveryWordAndEveryCountIsGuessed) {
  std::set<std::string> seen;
  FormOptions options;
  options.onlyCompiling = false;
  Random random(1);
  for (const graph::OpInfo &info : graph::allOps())
    for (int i = 0; i < 300; ++i) {
      std::optional<OpForm> form = makeForm(info, random, options);
      if (!form)
        continue;
      std::string kind(info.kind);
      seen.insert(kind + " " + std::to_string(form->outputs.size()) +
                  " results");
      for (auto &[name, value] : form->op.attrs)
        if (auto *word = std::get_if<std::string>(&value))
          seen.insert(kind + " " + name + "=" + *word);
    }
  for (const graph::OpInfo &info : graph::allOps()) {
    for (int count : info.resultCounts)
      if (!isUnfinished(info, count))
        EXPECT_TRUE(seen.count(std::string(info.kind) + " " +
                               std::to_string(count) + " results"))
            << info.kind << ", " << count << " results";
    for (const graph::AttrInfo &attr : info.attrs)
      for (std::string_view word : attr.allowed)
        EXPECT_TRUE(seen.count(std::string(info.kind) + " " +
                               std::string(attr.name) + "=" +
                               std::string(word)))
            << info.kind << " " << attr.name << "=" << word;
  }
}

TEST(Generate, GraphsVerifyAndCoverTheTable) {
  constexpr uint64_t kGraphs = 2000;
  std::set<std::string> kinds;
  std::set<size_t> ranks;
  std::set<int64_t> sizes;
  size_t largest = 0, strided = 0, constants = 0, shared = 0, outputs = 0;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    Graph g = generateGraph(seed);
    ASSERT_FALSE(g.ops.empty()) << seed;
    ASSERT_EQ(str(graph::verifyGraph(g)), "") << seed;
    Graph complete = g;
    ASSERT_EQ(str(graph::completePorts(complete)), "") << seed;
    EXPECT_EQ(complete.inputPorts, g.inputPorts) << seed;
    EXPECT_EQ(complete.outputPorts, g.outputPorts) << seed;
    std::multiset<uint64_t> reads;
    for (const graph::Op &op : g.ops) {
      kinds.insert(op.kind);
      reads.insert(op.inputs.begin(), op.inputs.end());
    }
    for (auto &[id, tensor] : g.tensors) {
      ASSERT_TRUE(tensor.hasStaticShape()) << seed;
      ranks.insert(tensor.shape->size());
      sizes.insert(tensor.shape->begin(), tensor.shape->end());
      strided += !tensor.strides.empty();
      constants += tensor.property == graph::PropertyType::constant;
      shared += reads.count(id) > 1;
    }
    largest = std::max(largest, g.ops.size());
    outputs += g.outputPorts.size() > 1;
  }
  for (const graph::OpInfo *info : compilingOps())
    EXPECT_TRUE(kinds.count(std::string(info->kind))) << info->kind;
  for (size_t rank = 0; rank <= 5; ++rank)
    EXPECT_TRUE(ranks.count(rank)) << rank;
  for (int64_t size : {0, 1, 7, 8, 9, 15, 16, 17, 31})
    EXPECT_TRUE(sizes.count(size)) << size;
  EXPECT_EQ(largest, 30u);
  for (size_t count : {strided, constants, shared, outputs})
    EXPECT_GT(count, kGraphs / 10);
}

/// Kinds that no random graph has, and why.
const std::map<std::string_view, std::string_view> kNotMade = {
    {"Wildcard", "says nothing of what it computes"},
};

TEST(Generate, KindsThatDoNotCompileHaveAReason) {
  for (const graph::OpInfo &info : graph::allOps())
    EXPECT_EQ(info.compiles.empty(), kNotMade.contains(info.kind)) << info.kind;
  for (const auto &[kind, reason] : kNotMade)
    EXPECT_TRUE(graph::lookupOp(kind)) << kind;
}

/// What a graph has of `kind`: " f32" for each type of an operand or result,
/// and " 2 results".
void noteForms(const Graph &g, std::string_view kind,
               std::set<std::string> &seen) {
  for (const graph::Op &op : g.ops) {
    if (op.kind != kind)
      continue;
    seen.insert(" " + std::to_string(op.outputs.size()) + " results");
    for (const auto *ids : {&op.inputs, &op.outputs})
      for (uint64_t id : *ids)
        seen.insert(" " + std::string(graph::name(g.tensor(id).dtype)));
  }
}

/// Each kind in each type that compiles, and with each number of results.
TEST(Generate, EveryTypeOfEveryKindIsMade) {
  const std::vector<const graph::OpInfo *> kinds = compilingOps();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const graph::OpInfo &info = *kinds[i];
    std::set<std::string> wanted, seen;
    for (std::string_view type : info.compiles)
      wanted.insert(" " + std::string(type));
    for (int count : info.resultCounts)
      if (!isUnfinished(info, count))
        wanted.insert(" " + std::to_string(count) + " results");
    auto missing = [&] {
      std::string text;
      for (const std::string &form : wanted)
        if (!seen.count(form))
          text += form;
      return text;
    };
    // Graphs whose first operation is of the kind.
    for (uint64_t round = 1; round < 600 && !missing().empty(); ++round)
      noteForms(generateGraph(i + round * kinds.size()), info.kind, seen);
    EXPECT_EQ(missing(), "") << info.kind;
  }
}

TEST(Generate, SeedsRepeat) {
  for (uint64_t seed : {1, 7, 99}) {
    Graph a = generateGraph(seed), b = generateGraph(seed);
    ASSERT_EQ(a.ops.size(), b.ops.size());
    for (size_t i = 0; i < a.ops.size(); ++i) {
      EXPECT_EQ(a.ops[i].kind, b.ops[i].kind);
      EXPECT_EQ(a.ops[i].attrs, b.ops[i].attrs);
      EXPECT_EQ(a.ops[i].inputs, b.ops[i].inputs);
    }
  }
}

/// A planted bug: an operation of `kind` on a dim of at least `size`.
bool hasBug(const Graph &g, std::string_view kind, int64_t size) {
  for (const graph::Op &op : g.ops)
    if (op.kind == kind)
      for (int64_t dim : *g.tensor(op.inputs[0]).shape)
        if (dim >= size)
          return true;
  return false;
}

TEST(Reduce, FindsThePlantedBug) {
  int found = 0;
  for (const char *kind : {"MatMul", "Concat", "StaticReshape", "Add", "Tanh"})
    for (uint64_t seed = 1; seed < 400; ++seed) {
      Graph g = generateGraph(seed);
      if (g.ops.size() < 8 || !hasBug(g, kind, 3))
        continue;
      int candidates = 0;
      Graph small = reduceGraph(g, [&](const Graph &candidate) {
        ++candidates;
        EXPECT_EQ(str(graph::verifyGraph(candidate)), "");
        return hasBug(candidate, kind, 3);
      });
      ++found;
      EXPECT_TRUE(hasBug(small, kind, 3));
      ASSERT_EQ(small.ops.size(), 1u) << kind << ", seed " << seed;
      EXPECT_EQ(small.ops[0].kind, kind);
      EXPECT_LE(small.outputPorts.size(), 1u);
      EXPECT_LE(candidates, 400);
      for (uint64_t id : small.inputPorts) {
        EXPECT_TRUE(small.tensor(id).strides.empty());
        EXPECT_NE(small.tensor(id).property, graph::PropertyType::constant);
      }
    }
  EXPECT_GT(found, 50);
}

/// Two operations are needed: neither may go.
TEST(Reduce, KeepsWhatTheFailureNeeds) {
  auto fails = [](const Graph &g) {
    std::set<uint64_t> products;
    for (const graph::Op &op : g.ops)
      if (op.kind == "MatMul")
        products.insert(op.outputs[0]);
    for (const graph::Op &op : g.ops)
      if (op.kind == "Add" || op.kind == "ReLU")
        for (uint64_t id : op.inputs)
          if (products.count(id))
            return true;
    return false;
  };
  int found = 0;
  // Such pairs are rare: one in several hundred graphs.
  for (uint64_t seed = 1; seed < 40000 && found < 10; ++seed) {
    Graph g = generateGraph(seed);
    if (!fails(g))
      continue;
    ++found;
    Graph small = reduceGraph(g, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_EQ(small.ops.size(), 2u) << seed;
  }
  EXPECT_EQ(found, 10);
}

} // namespace
