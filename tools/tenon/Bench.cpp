//===- Bench.cpp - tenon bench --------------------------------------------===//
//
// Times executions, and the groups within them.  Cold, the default: before
// every execution the caches hold other data, as they would in a program that
// does more than this one graph.  Without constants the executions rotate over
// buffers that together exceed the last-level cache.  Folded constants exist
// once, inside the compiled object, so with constants a sweep over other memory
// (not timed) pushes everything out.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Fill.h"
#include "compiler/report/Stats.h"
#include "tools/devinfo/DevInfo.h"
#include "tools/tenon/Loading.h"
#include "tools/tenon/Timing.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>

namespace tenon::cli {

using graph::Graph;
using nlohmann::ordered_json;

namespace {

struct BenchArgs {
  ModelArgs model;
  AotLoadOptions loading;
  ExecArgs exec;
  bool warm = false;
  double minSeconds = 1;
  size_t minRuns = 5, maxRuns = 10000;
  int compileRepeat = 1;
  std::string format;
};

struct BenchResult {
  std::vector<double> times; // of executions, sorted
  double flops = 0;
  double ioBytes = 0;
  double peakGflops = 0; // of all threads in use
  CompileReport compile; // phases: medians
  double bindSeconds = 0;
  std::vector<Executor::SectionTime> sections;
  int64_t profiledRuns = 0;
  double profiledSeconds = 0;
  std::string caches;

  double median() const { return times.empty() ? 0 : times[times.size() / 2]; }
  double p90() const {
    return times.empty() ? 0 : times[(times.size() - 1) * 9 / 10];
  }
  double gflops() const { return median() > 0 ? 1e-9 * flops / median() : 0; }
  double peakShare() const {
    return peakGflops > 0 ? 100 * gflops() / peakGflops : 0;
  }
};

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

class BenchCommand {
public:
  explicit BenchCommand(const BenchArgs &args) : args(args) {}
  int run();

private:
  Expected<Prepared> load();
  std::vector<Error> compile(const Prepared &prepared);
  std::vector<Error> execute(const Graph &graph);
  std::vector<Error> makeBuffers(const Graph &graph);
  std::vector<Error> timeRuns();
  std::vector<Error> profileRuns();
  void printTable() const;
  void printCsv() const;
  void printJson() const;

  const BenchArgs &args;
  LoadedModel model;
  std::unique_ptr<Compiled> compiled;
  std::deque<Buffers> buffers;
  std::unique_ptr<Sweep> sweep;
  BenchResult result;
};

Expected<Prepared> BenchCommand::load() {
  auto loaded = loadModel(args.model.path);
  if (!loaded)
    return loaded.errors();
  model = std::move(*loaded);
  auto prepared = prepareLoaded(model, args.model.knobs);
  if (!prepared)
    return prepared;
  if (auto unknown = unknownInputs(prepared->runGraph); !unknown.empty())
    return unknown;
  return prepared;
}

std::vector<Error> BenchCommand::compile(const Prepared &prepared) {
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
  result.compile.totalSeconds = quantile(totals, 0.5);
  for (size_t p = 0; p < phases.size(); ++p)
    result.compile.phases[p].seconds = quantile(phases[p], 0.5);
  return {};
}

std::vector<Error> BenchCommand::makeBuffers(const Graph &graph) {
  auto values = check::fillInputs(graph, args.exec.seed);
  if (!values)
    return values.errors();
  if (auto taken = takeWeights(*compiled, graph, *values); !taken)
    return taken.errors();
  int64_t cache = lastLevelBytes();
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    auto made = Buffers::create(*compiled, graph, *values);
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
  result.caches = args.warm ? "warm"
                  : sweep   ? "cold, swept between runs"
                            : "cold, rotating over " + std::to_string(count) +
                                  " sets of buffers";
  return {};
}

std::vector<Error> BenchCommand::timeRuns() {
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
    const Buffers &use = buffers[i % buffers.size()];
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

/// Separate from the timed executions: taking times costs time.
std::vector<Error> BenchCommand::profileRuns() {
  auto execution = Execution::create(args.exec.threads, args.exec.pool, true);
  if (!execution)
    return execution.errors();
  Executor &executor = *execution->executor;
  if (auto bound = bindConstants(*compiled, executor, buffers[0]); !bound)
    return bound.errors();
  executor.resetProfile();
  size_t runs = std::clamp<size_t>(result.times.size(), 1, 100);
  for (size_t i = 0; i < runs; ++i) {
    if (sweep)
      sweep->run();
    const Buffers &use = buffers[i % buffers.size()];
    double start = secondsNow();
    auto done = compiled->execute(executor, use.inputs(), use.outputs());
    result.profiledSeconds += secondsNow() - start;
    if (!done)
      return done.errors();
  }
  result.profiledRuns = static_cast<int64_t>(runs);
  result.sections = executor.profile();
  return {};
}

std::vector<Error> BenchCommand::execute(const Graph &graph) {
  report::GraphStats stats = report::statsOf(graph);
  result.flops = stats.flops;
  result.ioBytes = stats.inputBytes + stats.constantBytes + stats.outputBytes;
  devinfo::DevInfo machine = devinfo::measureMachine(/*quick=*/true);
  result.peakGflops = std::max(machine.fmaGflopsYmm, machine.fmaGflopsZmm) *
                      std::min(args.exec.threads, machine.allowedCpus);
  if (auto errors = makeBuffers(graph); !errors.empty())
    return errors;
  if (auto errors = timeRuns(); !errors.empty())
    return errors;
  return profileRuns();
}

void BenchCommand::printTable() const {
  const BenchResult &r = result;
  std::printf("%s, %d thread%s, %s\n", args.model.path.c_str(),
              args.exec.threads, args.exec.threads == 1 ? "" : "s",
              r.caches.c_str());
  std::printf("time      min %s  median %s  p90 %s  (%zu runs)\n",
              secondsText(r.times.empty() ? 0 : r.times[0]).c_str(),
              secondsText(r.median()).c_str(), secondsText(r.p90()).c_str(),
              r.times.size());
  std::printf("rate      %.1f GFLOP/s, %.1f%% of %.1f measured FMA peak; "
              "%.1f GB/s of inputs, constants and outputs\n",
              r.gflops(), r.peakShare(), r.peakGflops,
              r.median() > 0 ? 1e-9 * r.ioBytes / r.median() : 0);
  if (!model.file) {
    std::printf("compile   %s", secondsText(r.compile.totalSeconds).c_str());
    for (const PhaseTime &phase : r.compile.phases)
      std::printf("%s %s %s", &phase == &r.compile.phases.front() ? ":" : ",",
                  phase.name.c_str(), secondsText(phase.seconds).c_str());
    std::printf("\n");
  }
  if (r.bindSeconds > 0 && !buffers.front().constants().empty())
    std::printf("constants %s\n", secondsText(r.bindSeconds).c_str());
  if (r.sections.empty())
    return;
  std::printf("%10s %7s %6s  %s\n", "time/run", "share", "calls", "group");
  double sum = 0;
  for (const Executor::SectionTime &section : r.sections) {
    double perRun = section.seconds / static_cast<double>(r.profiledRuns);
    sum += section.seconds;
    std::printf("%10s %6.1f%% %6.3g  %s\n", secondsText(perRun).c_str(),
                100 * section.seconds / r.profiledSeconds,
                static_cast<double>(section.calls) /
                    static_cast<double>(r.profiledRuns),
                section.name.c_str());
  }
  double outside = std::max(r.profiledSeconds - sum, 0.0);
  std::printf(
      "%10s %6.1f%% %6s  (between groups)\n",
      secondsText(outside / static_cast<double>(r.profiledRuns)).c_str(),
      100 * outside / r.profiledSeconds, "");
}

void BenchCommand::printCsv() const {
  const BenchResult &r = result;
  std::printf("model,threads,caches,runs,min_s,median_s,p90_s,gflops,"
              "peak_percent,compile_s\n");
  std::string quoted;
  for (char c : args.model.path)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  std::printf("\"%s\",%d,%s,%zu,%.9g,%.9g,%.9g,%.6g,%.4g,%.6g\n",
              quoted.c_str(), args.exec.threads, args.warm ? "warm" : "cold",
              r.times.size(), r.times.empty() ? 0 : r.times[0], r.median(),
              r.p90(), r.gflops(), r.peakShare(), r.compile.totalSeconds);
}

void BenchCommand::printJson() const {
  const BenchResult &r = result;
  ordered_json root;
  root["model"] = args.model.path;
  root["threads"] = args.exec.threads;
  root["cold"] = !args.warm;
  root["runs"] = r.times.size();
  root["seconds"] = {{"min", r.times.empty() ? 0 : r.times[0]},
                     {"median", r.median()},
                     {"p90", r.p90()}};
  root["flops"] = r.flops;
  root["gflops"] = r.gflops();
  root["peakGflops"] = r.peakGflops;
  root["peakPercent"] = r.peakShare();
  root["bindSeconds"] = r.bindSeconds;
  root["compileSeconds"] = r.compile.totalSeconds;
  root["phases"] = ordered_json::object();
  for (const PhaseTime &phase : r.compile.phases)
    root["phases"][phase.name] = phase.seconds;
  root["groups"] = ordered_json::array();
  for (const Executor::SectionTime &section : r.sections)
    root["groups"].push_back(
        {{"name", section.name},
         {"calls", section.calls},
         {"seconds", section.seconds / static_cast<double>(r.profiledRuns)},
         {"percent", 100 * section.seconds / r.profiledSeconds}});
  std::printf(
      "%s\n",
      root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

int BenchCommand::run() {
  auto prepared = load();
  if (!prepared)
    return fail(prepared.errors());
  if (auto errors = compile(*prepared); !errors.empty())
    return fail(errors);
  if (auto errors = execute(prepared->runGraph); !errors.empty())
    return fail(errors);
  if (args.format == "csv")
    printCsv();
  else if (args.format == "json")
    printJson();
  else
    printTable();
  return 0;
}

} // namespace

void addBenchCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App *sub = app.add_subcommand("bench", "measure time and rate");
  addModelOptions(*sub, args->model);
  addArtefactOptions(*sub, args->loading);
  addExecOptions(*sub, args->exec);
  const char *group = "Measuring";
  sub->add_flag("--warm,!--cold", args->warm,
                "caches may hold the data of the last run; --cold, the "
                "default: they hold other data")
      ->group(group);
  sub->add_option("--min-time", args->minSeconds, "seconds of measured work")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(group);
  sub->add_option("--max-runs", args->maxRuns, "most executions")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str()
      ->group(group);
  sub->add_option("--compile-repeat", args->compileRepeat,
                  "compilations; the times are medians")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str()
      ->group(group);
  addFormatOption(*sub, args->format, {"table", "csv", "json"});
  sub->callback([args, &action] {
    args->minRuns = std::min(args->minRuns, args->maxRuns);
    action = [args] { return BenchCommand(*args).run(); };
  });
}

} // namespace tenon::cli
