//===- BenchRun.cpp - times of one partition ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cold, the default: before every execution the caches hold other data, as they
// would in a program that does more than this one graph.  Without constants the
// executions rotate over buffers that together exceed the last-level cache.
// Folded constants exist once, inside the compiled object, so with constants a
// sweep over other memory (not timed) pushes everything out.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/BenchRun.h"

#include "compiler/check/Fill.h"
#include "compiler/driver/Denormals.h"
#include "compiler/report/Stats.h"
#include "tools/tenon/Timing.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

namespace tenon::cli {

using graph::Graph;

namespace {

/// Memory that is read and written to push other data out of the caches.
class Sweep {
public:
  explicit Sweep(int64_t bytes) : words(static_cast<size_t>(bytes / 8), 1) {}
  void run() {
    // One word of each cache line.
    for (size_t i = 0; i < words.size(); i += 8)
      ++words[i];
  }

private:
  std::vector<uint64_t> words;
};

int64_t lastLevelBytes() {
  devinfo::DevInfo info = devinfo::describeMachine();
  constexpr int64_t kFallback = int64_t{32} << 20;
  for (int level : {4, 3, 2})
    if (int64_t bytes = info.cacheBytes(level))
      return bytes;
  return kFallback;
}

/// Times of the labels of one compiled graph, execution by execution.
struct Profiled {
  Compiled *compiled = nullptr;
  Execution execution;
  std::vector<double> totals;
  std::vector<double> between; // what no section took
  struct Label {
    std::vector<double> times;
    int64_t sections = 0;
  };
  std::map<std::string, Label> labels;

  std::vector<Error> create(Compiled &of, const BenchArgs &args,
                            const Buffers &buffers) {
    compiled = &of;
    auto made = Execution::create(args.exec.threads, args.exec.pool, true);
    if (!made)
      return made.errors();
    execution = std::move(*made);
    if (auto ok = bindConstants(of, *execution.executor, buffers); !ok)
      return ok.errors();
    return run(buffers, /*count=*/false); // touches pages, starts threads
  }

  std::vector<Error> run(const Buffers &buffers, bool count = true) {
    Executor &executor = *execution.executor;
    executor.resetProfile();
    double start = secondsNow();
    auto done =
        compiled->execute(executor, buffers.inputs(), buffers.outputs());
    double seconds = secondsNow() - start;
    if (!done)
      return done.errors();
    if (!count)
      return {};
    totals.push_back(seconds);
    for (const Executor::SectionTime &section : executor.profile()) {
      seconds -= section.seconds;
      Label &label = labels[section.name];
      label.times.push_back(section.seconds);
      label.sections += section.calls;
    }
    between.push_back(std::max(seconds, 0.0));
    return {};
  }
};

/// Groups of one label as one, with times.
std::vector<GroupTime> groupTimes(Profiled &profiled,
                                  const std::vector<GroupStats> &stats) {
  std::map<std::string, GroupTime> byLabel;
  for (auto &[name, label] : profiled.labels) {
    GroupTime &group = byLabel[name];
    group.label = name;
    group.seconds = quantile(label.times, 0.5);
    group.sections = static_cast<double>(label.sections) /
                     static_cast<double>(profiled.totals.size());
  }
  for (const GroupStats &f : stats) {
    auto it = byLabel.find(f.label);
    if (it == byLabel.end())
      continue;
    GroupTime &group = it->second;
    group.counted = group.kind.empty() ? f.sized : group.counted && f.sized;
    if (group.kind.find(f.kind) == group.kind.npos)
      group.kind += (group.kind.empty() ? "" : "+") + f.kind;
    group.ops.insert(group.ops.end(), f.ops.begin(), f.ops.end());
    group.flops += f.flops;
    group.bytes +=
        f.memory.read + f.memory.written + f.reused.read + f.reused.written;
  }
  std::vector<GroupTime> groups;
  for (auto &[name, group] : byLabel)
    groups.push_back(std::move(group));
  std::sort(groups.begin(), groups.end(),
            [](auto &a, auto &b) { return a.seconds > b.seconds; });
  return groups;
}

/// Which groups, fused and not, do the work of the same operations.
class Classes {
public:
  explicit Classes(size_t groups) : parent(groups) {
    std::iota(parent.begin(), parent.end(), size_t(0));
  }
  void add(size_t group, const GroupTime &time) {
    // All copies share a label: they would join everything.
    if (time.label == "copy")
      return;
    for (size_t op : time.ops) {
      auto [it, isNew] = firstOf.try_emplace(op, group);
      if (!isNew)
        parent[find(group)] = find(it->second);
    }
  }
  size_t find(size_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  }

private:
  std::vector<size_t> parent;
  std::map<size_t, size_t> firstOf; // by operation
};

/// Fills what groups cost together, and what the same work costs unfused.
void compare(std::vector<GroupTime> &fused, const Profiled &fusedTimes,
             const std::vector<GroupTime> &unfused,
             const Profiled &unfusedTimes) {
  Classes classes(fused.size() + unfused.size());
  for (size_t i = 0; i < fused.size(); ++i)
    classes.add(i, fused[i]);
  for (size_t i = 0; i < unfused.size(); ++i)
    classes.add(fused.size() + i, unfused[i]);
  auto least = [](const Profiled &times, const std::string &label) {
    const std::vector<double> &t = times.labels.at(label).times;
    return *std::min_element(t.begin(), t.end());
  };
  struct Sum {
    double fused = 0, unfused = 0, leastFused = 0, leastUnfused = 0;
    bool both = false;
  };
  std::map<size_t, Sum> sums;
  for (size_t i = 0; i < fused.size(); ++i) {
    Sum &sum = sums[classes.find(i)];
    sum.fused += fused[i].seconds;
    sum.leastFused += least(fusedTimes, fused[i].label);
  }
  for (size_t i = 0; i < unfused.size(); ++i)
    if (auto it = sums.find(classes.find(fused.size() + i)); it != sums.end()) {
      it->second.unfused += unfused[i].seconds;
      it->second.leastUnfused += least(unfusedTimes, unfused[i].label);
      it->second.both = true;
    }
  for (size_t i = 0; i < fused.size(); ++i) {
    const Sum &sum = sums[classes.find(i)];
    fused[i].togetherSeconds = sum.fused;
    if (!sum.both)
      continue;
    fused[i].unfusedSeconds = sum.unfused;
    fused[i].slower = sum.unfused < kLeastRatio * sum.fused &&
                      sum.leastUnfused < kLeastRatio * sum.leastFused;
  }
}

class BenchRun {
public:
  BenchRun(const LoadedModel &model, const Prepared &prepared,
           const BenchArgs &args, const Peaks &peaks)
      : model(model), prepared(prepared), args(args), peaks(peaks) {}

  std::vector<Error> run();
  BenchResult result;

private:
  std::vector<Error> compile();
  std::vector<Error> compileUnfused();
  std::vector<Error> makeBuffers();
  std::vector<Error> timeRuns();
  std::vector<Error> profileRuns();
  Constants constants;
  void findBounds();
  const Buffers &buffersOf(size_t run) const {
    return buffers[run % buffers.size()];
  }

  const LoadedModel &model;
  const Prepared &prepared;
  const BenchArgs &args;
  const Peaks &peaks;
  std::unique_ptr<Compiled> compiled, unfused;
  CompileReport unfusedReport;
  std::deque<Buffers> buffers;
  std::unique_ptr<Sweep> sweep;
};

std::vector<Error> BenchRun::compile() {
  std::vector<double> totals;
  std::vector<std::vector<double>> phases;
  for (int i = 0; i < args.compileRepeat; ++i) {
    CompileReport report;
    compiled.reset();
    auto made = compileOrLoad(model, prepared, args.model.options, args.loading,
                              &report);
    if (!made)
      return made.errors();
    compiled = std::move(*made);
    totals.push_back(report.totalSeconds);
    phases.resize(report.phases.size());
    for (size_t p = 0; p < phases.size(); ++p)
      phases[p].push_back(report.phases[p].seconds);
    result.compile = std::move(report);
  }
  result.compiled = !model.file;
  result.compile.totalSeconds = quantile(totals, 0.5);
  for (size_t p = 0; p < phases.size(); ++p)
    result.compile.phases[p].seconds = quantile(phases[p], 0.5);
  return {};
}

/// A file has been compiled with options that are not known here.
std::vector<Error> BenchRun::compileUnfused() {
  if (!args.unfused || !args.model.options.fuse || model.file)
    return {};
  Options options = decideDenormals(args.model.options, *prepared.compileGraph,
                                    model.constants);
  options.fuse = false;
  auto made = Compiled::compile(prepared.compileGraph, options, &unfusedReport);
  if (!made)
    return made.errors();
  unfused = std::move(*made);
  return {};
}

std::vector<Error> BenchRun::makeBuffers() {
  const Graph &graph = prepared.runGraph;
  constants = model.constants;
  addWeights(*compiled, graph, constants);
  auto values = makeInputs(graph, args.exec.seed, {}, constants);
  if (!values)
    return values.errors();
  int64_t cache = lastLevelBytes();
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    auto made = Buffers::create(*compiled, graph, *values, constants);
    if (!made)
      return made.errors();
    buffers.push_back(std::move(*made));
    if (i > 0 || args.warm)
      continue;
    if (!buffers.front().constants().empty()) {
      sweep = std::make_unique<Sweep>(2 * cache);
      continue;
    }
    constexpr int64_t kMostBuffers = 4096;
    auto bytes = static_cast<int64_t>(buffers.front().bytes());
    count = static_cast<size_t>(
        std::min(2 * cache / std::max<int64_t>(bytes, 64) + 2, kMostBuffers));
  }
  result.hasConstants = !buffers.front().constants().empty();
  result.caches = args.warm ? "warm"
                  : sweep   ? "cold, swept between runs"
                            : "cold, rotating over " + std::to_string(count) +
                                  " sets of buffers";
  return {};
}

std::vector<Error> BenchRun::timeRuns() {
  auto execution = Execution::create(args.exec.threads, args.exec.pool);
  if (!execution)
    return execution.errors();
  Executor &executor = *execution->executor;
  double start = secondsNow();
  if (auto bound = bindConstants(*compiled, executor, buffers[0]); !bound)
    return bound.errors();
  result.bindSeconds = secondsNow() - start;
  std::vector<Error> errors;
  auto run = [&](size_t i) {
    const Buffers &use = buffersOf(i);
    auto done = compiled->execute(executor, use.inputs(), use.outputs());
    if (!done)
      errors = done.errors();
    return bool(done);
  };
  // Threads start, pages are touched.
  for (size_t i = 0; i < std::max<size_t>(buffers.size(), 2); ++i)
    if (!run(i))
      return errors;
  result.times = measure(
      args.minRuns, args.maxRuns, args.minSeconds,
      [&](size_t) {
        if (sweep)
          sweep->run();
      },
      run);
  std::sort(result.times.begin(), result.times.end());
  return errors;
}

/// Separate from the timed executions: taking times costs time. Fused and
/// unfused executions take turns, so that what disturbs one disturbs both.
std::vector<Error> BenchRun::profileRuns() {
  Profiled with, without;
  if (auto errors = with.create(*compiled, args, buffers[0]); !errors.empty())
    return errors;
  if (unfused)
    if (auto errors = without.create(*unfused, args, buffers[0]);
        !errors.empty())
      return errors;
  // Emptying caches takes longer than small graphs.
  double deadline = secondsNow() + 2 * args.minSeconds + 1;
  size_t most = std::clamp<size_t>(result.times.size(), 1, 100);
  size_t used = 0;
  for (size_t i = 0; i < most && (i < args.minRuns || secondsNow() < deadline);
       ++i)
    for (bool second : {false, true}) {
      Profiled &next = second == (i % 2 == 0) ? without : with;
      if (!next.compiled)
        continue;
      if (sweep)
        sweep->run();
      if (auto errors = next.run(buffersOf(used++)); !errors.empty())
        return errors;
    }
  result.profiledRuns = with.totals.size();
  result.profiledSeconds = quantile(with.totals, 0.5);
  result.betweenSeconds = quantile(with.between, 0.5);
  result.groups = groupTimes(with, result.compile.mainGroups);
  if (!unfused)
    return {};
  result.unfusedSeconds = quantile(without.totals, 0.5);
  std::vector<GroupTime> plain = groupTimes(without, unfusedReport.mainGroups);
  compare(result.groups, with, plain, without);
  return {};
}

/// At best data come from the smallest cache that holds what the group moves,
/// the caller's from memory when caches are cold.
void BenchRun::findBounds() {
  if (peaks.levels.empty())
    return;
  auto seconds = [](const Traffic &t, const Peaks::Level &level) {
    return level.seconds(t.read, t.written);
  };
  auto moving = [&](const GroupStats &stats) {
    const Traffic &far = stats.memory, &near = stats.reused;
    double reused = near.read + near.written;
    if (!args.warm)
      return seconds(far, peaks.levels.back()) +
             seconds(near, peaks.levelFor(reused));
    const Peaks::Level &level = peaks.levelFor(reused + far.read + far.written);
    return seconds(far, level) + seconds(near, level);
  };
  for (GroupTime &group : result.groups) {
    if (!group.counted)
      continue;
    double arithmetic = peaks.flops > 0 ? group.flops / peaks.flops : 0;
    double transfer = 0;
    for (const GroupStats &stats : result.compile.mainGroups)
      if (stats.label == group.label)
        transfer += moving(stats);
    group.boundByMemory = transfer > arithmetic;
    group.boundSeconds = std::max(transfer, arithmetic);
  }
}

std::vector<Error> BenchRun::run() {
  if (auto unknown = unknownInputs(prepared.runGraph); !unknown.empty())
    return unknown;
  report::GraphStats stats = report::statsOf(prepared.runGraph);
  result.ops = prepared.runGraph.ops.size();
  result.flops = stats.flops;
  result.ioBytes = stats.inputBytes + stats.constantBytes + stats.outputBytes;
  for (auto step :
       {&BenchRun::compile, &BenchRun::compileUnfused, &BenchRun::makeBuffers,
        &BenchRun::timeRuns, &BenchRun::profileRuns})
    if (auto errors = (this->*step)(); !errors.empty())
      return errors;
  findBounds();
  return {};
}

} // namespace

Expected<BenchResult> benchPartition(const LoadedModel &model,
                                     const Prepared &prepared,
                                     const BenchArgs &args,
                                     const Peaks &peaks) {
  BenchRun bench(model, prepared, args, peaks);
  if (auto errors = bench.run(); !errors.empty())
    return errors;
  return std::move(bench.result);
}

} // namespace tenon::cli
