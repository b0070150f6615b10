// What the interface may cost: an execution less than a microsecond more than
// the code itself, a compiled partition from the disk cache less than 5 ms.
// The least of many measurements, so that a busy machine does not matter;
// api_benchmark gives distributions.
#include "compiler/api/CompiledPartition.h"
#include "compiler/api/TestSupport.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

using namespace tenon;
using namespace tenon::test;

namespace {

// Not the one of the compiler.
using Partition = tenon::v1::Partition;

template <typename Work> double leastMicroseconds(int times, Work work) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

TEST(Cost, OfAnExecutionIsLessThanAMicrosecond) {
  Engine engine;
  Stream stream(engine);
  auto x = f32(0, {16}), y = f32(1, {16});
  Partition p(Op(0, tenon_op_relu, "relu").input(x).output(y));
  CompiledPartition compiled = p.compile(engine, {x}, {y});
  Values in = ramp(16), out(16);
  Tensor tx(x, engine, in.data()), ty(y, engine, out.data());
  const tenon_tensor *inputs[] = {tx.get()};
  tenon_tensor *outputs[] = {ty.get()};
  void *buffers[] = {in.data(), out.data()};
  const tenon_model *model = compiled.get()->code->compiled->model();
  tenon_exec *exec = tenon_stream_get_exec(stream.get());

  constexpr int kBatch = 100;
  int failed = 0;
  double api = leastMicroseconds(500, [&] {
    for (int i = 0; i < kBatch; ++i)
      failed += tenon_compiled_partition_execute(compiled.get(), stream.get(),
                                                 1, inputs, 1, outputs) != 0;
  });
  double code = leastMicroseconds(500, [&] {
    for (int i = 0; i < kBatch; ++i)
      failed += tenon_model_run(model, exec, nullptr, buffers, nullptr,
                                nullptr) != TENON_RT_OK;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(out[7], std::max(0.f, in[7]));
  EXPECT_LT((api - code) / kBatch, 1) << "microseconds";
}

TEST(Cost, OfLoadingFromDiskIsLessThanFiveMilliseconds) {
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
  compile();
  auto before = tenon_get_compile_stats();
  double least = leastMicroseconds(50, compile);
  EXPECT_EQ(tenon_get_compile_stats().from_disk - before.from_disk, 50u);
  EXPECT_LT(least, 5000) << "microseconds";
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
}

TEST(Cost, OfAGraphGrowsWithItsOperations) {
  double small = leastMicroseconds(10, [] { buildChain(1000); });
  double large = leastMicroseconds(3, [] { buildChain(10000); });
  RecordProperty("microseconds_of_10000_operations", static_cast<int>(large));
  // Ten times as much, and room for caches; each looking at all others would
  // be a hundred times.
  EXPECT_LT(large / small, 30);
}

} // namespace
