//===-- section_benchmark.cpp - what starting and ending a section costs --===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/tenon_rt.h"

#include <benchmark/benchmark.h>

#include <atomic>

namespace {

void emptyBody(void *const *, int64_t, int64_t, void *) {}

/// About a microsecond per item that no compiler removes.
void microsecondBody(void *const *, int64_t begin, int64_t end, void *) {
  for (int64_t i = begin; i < end; ++i)
    for (int k = 0; k < 2400; ++k)
      benchmark::DoNotOptimize(k);
}

/// Two ranges that meet: the worker really takes part, so this measures the way
/// to it and back.  (Real bodies never wait for each other.)
void meetBody(void *const *args, int64_t, int64_t, void *) {
  auto &arrived = *static_cast<std::atomic<int64_t> *>(args[0]);
  int64_t both = (arrived.fetch_add(1) & ~int64_t(1)) + 2;
  while (arrived.load(std::memory_order_acquire) < both)
    ;
}

void runSections(benchmark::State &state, tenon_section_fn fn, int64_t items,
                 int64_t scratch) {
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  options.threading = TENON_THREADS_TEAM;
  options.threads = int32_t(state.range(0));
  tenon_exec *exec = nullptr;
  if (tenon_exec_create(&options, &exec) != TENON_RT_OK)
    return state.SkipWithError("no executor");
  std::atomic<int64_t> arrived{0};
  void *args[] = {&arrived};
  for (auto _ : state)
    tenon_rt_run_section(exec, fn, args, items, scratch);
  tenon_exec_destroy(exec);
}

void emptySection(benchmark::State &state) {
  runSections(state, emptyBody, 64, 0);
}
void emptySectionWithScratch(benchmark::State &state) {
  runSections(state, emptyBody, 64, 4096);
}
void sectionThatMeets(benchmark::State &state) {
  runSections(state, meetBody, 2, 0);
}
void sectionOf20us(benchmark::State &state) {
  runSections(state, microsecondBody, 20, 0);
}

BENCHMARK(emptySection)->Arg(1)->Arg(2)->Arg(8)->UseRealTime();
BENCHMARK(emptySectionWithScratch)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(sectionThatMeets)->Arg(2)->UseRealTime();
BENCHMARK(sectionOf20us)->Arg(1)->Arg(2)->Arg(8)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
