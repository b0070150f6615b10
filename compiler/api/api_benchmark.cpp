//===- api_benchmark.cpp - what the interface adds to the work ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   execute: one ReLU of 16 elements through the interface, and the same
//   code called through the runtime alone; the difference is the interface's.
//   load: compiling what the cache has on disk and memory has not.
//
//===----------------------------------------------------------------------===//
#include "compiler/api/CompiledPartition.h"
#include "tenon.hpp"

#include <benchmark/benchmark.h>

#include <filesystem>

namespace {

using namespace tenon;
// Not the one of the compiler.
using Partition = tenon::v1::Partition;

struct Relu {
  LogicalTensor x{0, TENON_F32, {16}}, y{1, TENON_F32, {16}};
  Engine engine;
  Stream stream{engine};
  CompiledPartition compiled;
  alignas(64) float in[16] = {-1, 2}, out[16] = {};
  Tensor tx{x, engine, in}, ty{y, engine, out};

  Relu() {
    Op op(0, tenon_op_relu, "relu");
    op.input(x).output(y);
    compiled = Partition(op).compile(engine, {x}, {y});
  }
};

void execute(benchmark::State &state) {
  Relu relu;
  const tenon_tensor *inputs[] = {relu.tx.get()};
  tenon_tensor *outputs[] = {relu.ty.get()};
  for (auto _ : state)
    if (tenon_compiled_partition_execute(relu.compiled.get(), relu.stream.get(),
                                         1, inputs, 1, outputs))
      return state.SkipWithError(tenon_last_error()->text);
  if (relu.out[0] != 0 || relu.out[1] != 2)
    state.SkipWithError("wrong result");
}

void executeByRuntime(benchmark::State &state) {
  Relu relu;
  const tenon_model *model = relu.compiled.get()->code->compiled->model();
  tenon_exec *exec = tenon_stream_get_exec(relu.stream.get());
  void *tensors[] = {relu.in, relu.out};
  for (auto _ : state)
    if (tenon_model_run(model, exec, nullptr, tensors, nullptr, nullptr))
      return state.SkipWithError("execution failed");
}

/// Compiles `make()` once for the disk, then loads it again and again.
template <typename Make> void load(benchmark::State &state, Make make) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / "tenon_api_benchmark";
  check(tenon_set_compiled_cache_folder(folder.c_str()));
  check(tenon_set_compiled_cache_capacity(0));
  Engine engine;
  Partition partition = make();
  std::vector<LogicalTensor> in = partition.inputs(), out = partition.outputs();
  partition.compile(engine, in, out);
  tenon_compile_stats before = tenon_get_compile_stats();
  for (auto _ : state)
    benchmark::DoNotOptimize(partition.compile(engine, in, out));
  if (tenon_get_compile_stats().compiled != before.compiled)
    state.SkipWithError("compiled, not loaded");
  check(tenon_set_compiled_cache_capacity(1024));
  check(tenon_set_compiled_cache_folder(nullptr));
  fs::remove_all(folder);
}

void loadRelu(benchmark::State &state) {
  load(state, [] {
    Op op(0, tenon_op_relu, "relu");
    op.input({0, TENON_F32, {16}}).output({1, TENON_F32, {16}});
    return Partition(op);
  });
}

/// A chain of dense layers, as much code as a small net has.
void loadLayers(benchmark::State &state) {
  load(state, [&] {
    Graph graph;
    auto edge = [](int64_t id, std::vector<int64_t> dims) {
      return LogicalTensor(static_cast<uint64_t>(id), TENON_F32, dims);
    };
    for (int64_t i = 0, n = state.range(0); i < n; ++i) {
      Op matmul(static_cast<uint64_t>(2 * i), tenon_op_matmul, "fc");
      Op relu(static_cast<uint64_t>(2 * i + 1), tenon_op_relu, "activation");
      // Widths differ, so that every layer has code of its own.
      matmul.input(edge(3 * i, {64, 64 + 16 * i}))
          .input(edge(3 * i + 1, {64 + 16 * i, 80 + 16 * i}))
          .output(edge(3 * i + 2, {64, 80 + 16 * i}));
      relu.input(edge(3 * i + 2, {64, 80 + 16 * i}))
          .output(edge(3 * i + 3, {64, 80 + 16 * i}));
      graph.add(matmul).add(relu);
    }
    graph.finalize();
    return std::move(graph.partitions().at(0));
  });
}

BENCHMARK(execute);
BENCHMARK(executeByRuntime);
BENCHMARK(loadRelu)->Unit(benchmark::kMillisecond);
BENCHMARK(loadLayers)->Arg(4)->Arg(12)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
