// SPDX-License-Identifier: Apache-2.0
// Threads change how long compilation takes and nothing else: neither the IR
// nor the bytes of the code nor results.
#include "compiler/driver/Artefact.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tenon;
using graph::LogicalTensor;

namespace {

constexpr int kLayers = 10;
constexpr uint64_t kWeights = 100;

int64_t widthOf(int layer) { return 16 + 13 * layer; }

/// relu(... relu(x . w0) ... . w9); no two layers have the same size, so that
/// none share code.
graph::Graph manyLayers(int64_t rows) {
  graph::Graph g;
  auto add = [&](uint64_t id, graph::Dims shape, bool constant) {
    LogicalTensor t;
    t.id = id;
    t.dtype = graph::DType::f32;
    t.shape = std::move(shape);
    if (constant)
      t.property = graph::PropertyType::constant;
    g.tensors[id] = t;
  };
  add(0, {rows, widthOf(0)}, false);
  g.inputPorts = {0};
  uint64_t last = 0;
  for (int i = 0; i < kLayers; ++i) {
    uint64_t weights = kWeights + i, product = 2 * i + 1, result = 2 * i + 2;
    add(weights, {widthOf(i), widthOf(i + 1)}, true);
    add(product, {rows, widthOf(i + 1)}, false);
    add(result, {rows, widthOf(i + 1)}, false);
    std::string n = std::to_string(i);
    g.ops.push_back(
        {product, "fc" + n, "MatMul", {}, {last, weights}, {product}});
    g.ops.push_back({result,
                     "act" + n,
                     i % 2 ? "GELU" : "Sigmoid",
                     {},
                     {product},
                     {result}});
    g.inputPorts.push_back(weights);
    last = result;
  }
  g.outputPorts = {last};
  return g;
}

Options withThreads(int64_t threads) {
  Options options;
  options.compileThreads = threads;
  return options;
}

std::vector<float> values(int64_t count, int seed) {
  std::vector<float> v(count);
  for (int64_t i = 0; i < count; ++i)
    v[i] = static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 256;
  return v;
}

Expected<std::vector<float>> execute(Artefact artefact, int64_t rows) {
  auto model = Compiled::load(std::move(artefact));
  if (!model)
    return model.errors();
  auto exec = Executor::create({});
  if (!exec)
    return exec.errors();
  std::vector<std::vector<float>> data = {values(rows * widthOf(0), 1)};
  HostTensors in, constants;
  for (int i = 0; i < kLayers; ++i)
    data.push_back(values(widthOf(i) * widthOf(i + 1), i));
  in[0] = {data[0].data(), {rows, widthOf(0)}};
  for (int i = 0; i < kLayers; ++i)
    in[kWeights + i] = constants[kWeights + i] = {data[i + 1].data(),
                                                  {widthOf(i), widthOf(i + 1)}};
  std::vector<float> out(rows * widthOf(kLayers));
  if (auto ok = (*model)->bindConstants(**exec, constants); !ok)
    return ok.errors();
  HostTensors outputs = {{2 * kLayers, {out.data(), {rows, widthOf(kLayers)}}}};
  if (auto ok = (*model)->execute(**exec, in, outputs); !ok)
    return ok.errors();
  return out;
}

Expected<Artefact> artefactOf(int64_t rows, const Options &options,
                              CompileReport *report = nullptr) {
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  return compileArtefact(*graph::prepareGraph(manyLayers(rows)), options,
                         *target, report);
}

TEST(CompileThreads, SameBytesAndSameResults) {
  constexpr int64_t rows = 19;
  CompileReport reports[3];
  std::vector<Artefact> made;
  for (int64_t threads : {1, 4, 0}) {
    auto artefact =
        artefactOf(rows, withThreads(threads), &reports[made.size()]);
    ASSERT_TRUE(artefact) << str(artefact.errors());
    made.push_back(std::move(*artefact));
  }
  // Large enough for parts; otherwise this tests nothing.
  EXPECT_EQ(made[0].object.substr(0, 8), "!<arch>\n");
  for (int i : {1, 2}) {
    EXPECT_TRUE(made[i].object == made[0].object) << i;
    EXPECT_TRUE(serialise(made[i]) == serialise(made[0])) << i;
    EXPECT_EQ(reports[i].kernels, reports[0].kernels);
    EXPECT_EQ(reports[i].sections, reports[0].sections);
    EXPECT_EQ(reports[i].codeBytes, reports[0].codeBytes);
  }
  EXPECT_GT(reports[0].kernels, 0);
  auto first = execute(made[0], rows);
  auto second = execute(made[1], rows);
  ASSERT_TRUE(first) << str(first.errors());
  ASSERT_TRUE(second) << str(second.errors());
  EXPECT_EQ(memcmp(first->data(), second->data(), 4 * first->size()), 0);
  // A sigmoid or GELU of something: not what the buffer held before.
  float sum = 0;
  for (float v : *first)
    sum += v * v;
  EXPECT_GT(sum, 0);
}

TEST(CompileThreads, SameIr) {
  for (int64_t rows : {int64_t(19), graph::kUnknownDim}) {
    auto one = lowerToPhase(*graph::prepareGraph(manyLayers(rows)),
                            withThreads(1), "llvm");
    auto four = lowerToPhase(*graph::prepareGraph(manyLayers(rows)),
                             withThreads(4), "llvm");
    ASSERT_TRUE(one) << str(one.errors());
    ASSERT_TRUE(four) << str(four.errors());
    EXPECT_TRUE(*one == *four) << rows;
  }
}

TEST(CompileThreads, ArtefactsOfSeveralObjectsAreRead) {
  auto artefact = artefactOf(3, withThreads(2));
  ASSERT_TRUE(artefact) << str(artefact.errors());
  auto read = deserialise(serialise(*artefact));
  ASSERT_TRUE(read) << str(read.errors());
  auto before = execute(*artefact, 3), after = execute(*read, 3);
  ASSERT_TRUE(before) << str(before.errors());
  ASSERT_TRUE(after) << str(after.errors());
  EXPECT_EQ(*before, *after);
}

TEST(CompileThreads, NumbersOutOfRangeAreRefused) {
  for (int64_t threads : {int64_t(-1), int64_t(1025)}) {
    auto made = artefactOf(3, withThreads(threads));
    ASSERT_FALSE(made) << threads;
    EXPECT_EQ(made.errors().front().code, ErrorCode::BadOption);
  }
}

} // namespace
