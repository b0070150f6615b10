// SPDX-License-Identifier: Apache-2.0
// What the interface costs, counted and not timed: basic blocks of its own code
// and allocations, which do not depend on what else the machine does.
// api_benchmark measures times.
#include "compiler/api/CompiledPartition.h"
#include "compiler/api/TestSupport.h"
#include "dialects/support/Counting.h"

#include <filesystem>

using namespace tenon;
using namespace tenon::test;

namespace {

// Not the one of the compiler.
using Partition = tenon::v1::Partition;

TEST(Cost, OfAnExecution) {
  Engine engine;
  Stream stream(engine);
  auto x = f32(0, {16}), y = f32(1, {16});
  Partition p(Op(0, tenon_op_relu, "relu").input(x).output(y));
  CompiledPartition compiled = p.compile(engine, {x}, {y});
  Values in = ramp(16), out(16);
  Tensor tx(x, engine, in.data()), ty(y, engine, out.data());
  const tenon_tensor *inputs[] = {tx.get()};
  tenon_tensor *outputs[] = {ty.get()};
  tenon_status status = TENON_SUCCESS;
  auto execute = [&] {
    status = tenon_compiled_partition_execute(compiled.get(), stream.get(), 1,
                                              inputs, 1, outputs);
  };
  execute(); // the first one gets memory
  ASSERT_EQ(status, TENON_SUCCESS);
  Cost cost = costOf(execute);
  EXPECT_EQ(status, TENON_SUCCESS);
  EXPECT_EQ(out[7], std::max(0.f, in[7]));
  RecordProperty("blocks", static_cast<int>(cost.blocks));
  EXPECT_EQ(cost.allocations, 0u);
  // Fails where nothing is counted, too.
  EXPECT_GT(cost.blocks, 10u);
  EXPECT_LT(cost.blocks, 400u);
}

TEST(Cost, OfLoadingFromDiskIsAFractionOfCompiling) {
  std::string folder = testing::TempDir() + "/tenon_cost";
  std::filesystem::remove_all(folder);
  check(tenon_set_compiled_cache_folder(folder.c_str()));
  check(tenon_set_compiled_cache_capacity(0));
  Engine engine;
  Dense dense{32, 64, 128};
  auto partitions = dense.graph().partitions();
  auto compile = [&] {
    partitions.at(0).compile(engine, {dense.x, dense.w, dense.b}, {dense.y});
  };
  compile(); // what only the first compilation of a process does
  std::filesystem::remove_all(folder);
  check(tenon_set_compiled_cache_folder(folder.c_str()));
  Cost compiling = costOf(compile);
  auto before = tenon_get_compile_stats();
  Cost loading = costOf(compile);
  EXPECT_EQ(tenon_get_compile_stats().from_disk - before.from_disk, 1u);
  EXPECT_EQ(tenon_get_compile_stats().compiled, before.compiled);
  RecordProperty("allocations_of_compiling",
                 static_cast<int>(compiling.allocations));
  RecordProperty("allocations_of_loading",
                 static_cast<int>(loading.allocations));
  EXPECT_GT(loading.allocations, 0u);
  EXPECT_LT(loading.allocations, compiling.allocations / 4);
  check(tenon_set_compiled_cache_capacity(1024));
  check(tenon_set_compiled_cache_folder(nullptr));
}

/// A chain of `count` operations whose results are all outputs.
void buildChain(uint64_t count) {
  Graph g;
  for (uint64_t i = 0; i < count; ++i) {
    g.add(Op(i, tenon_op_relu, "r").input(f32(i, {4})).output(f32(i + 1, {4})));
    g.output(i + 1);
  }
  g.finalize();
  g.partitions();
}

TEST(Cost, OfAGraphGrowsWithItsOperations) {
  Cost small = costOf([] { buildChain(1000); });
  Cost large = costOf([] { buildChain(10000); });
  RecordProperty("blocks_of_10000_operations", static_cast<int>(large.blocks));
  EXPECT_GT(small.blocks, 1000u);
  // Ten times as much, and a little for deeper maps; each looking at all others
  // would be a hundred times. dialects/graph has a test of its own.
  EXPECT_LT(large.blocks, 15 * small.blocks);
  EXPECT_LT(large.allocations, 15 * small.allocations);
}

} // namespace
