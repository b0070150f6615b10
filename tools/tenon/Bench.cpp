//===- Bench.cpp - tenon bench --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Times the partitions of a model, one after the other, and the groups within
// them. Most models are one partition.
//
//===----------------------------------------------------------------------===//
#include "compiler/partition/Partition.h"
#include "tools/tenon/BenchRun.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace tenon::cli {

namespace {

struct Part {
  Prepared prepared;
  size_t ops = 0;
  std::string reason; // why it is not compiled
};

/// The whole model where that compiles or nothing does: the compiler says what
/// is wrong with it.
Expected<std::vector<Part>> partsOf(const LoadedModel &model,
                                    Prepared prepared) {
  std::vector<Partition> partitions;
  if (!model.file)
    partitions = partition(prepared.runGraph, PartitionPolicy::fusion);
  bool any = std::any_of(partitions.begin(), partitions.end(),
                         [](const Partition &p) { return p.supported; });
  std::vector<Part> parts;
  if (partitions.size() < 2 || !any) {
    parts.push_back({std::move(prepared), 0, {}});
    return parts;
  }
  for (const Partition &p : partitions) {
    Part part{{}, p.ops.size(), p.reason};
    if (p.supported) {
      auto extracted = graph::prepareGraph(extract(*prepared.compileGraph, p));
      if (!extracted)
        return extracted.errors();
      part.prepared = {std::move(*extracted), extract(prepared.runGraph, p),
                       prepared.isDynamic};
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

int bench(const BenchArgs &args) {
  auto model = loadModel(args.model);
  if (!model)
    return fail(model.errors());
  auto prepared = prepareLoaded(*model, args.model.overrides);
  if (!prepared)
    return fail(prepared.errors());
  auto parts = partsOf(*model, std::move(*prepared));
  if (!parts)
    return fail(parts.errors());
  Peaks peaks =
      Peaks::of(devinfo::measureMachine(/*quick=*/true), args.exec.threads);
  std::vector<BenchResult> results;
  for (const Part &part : *parts) {
    BenchResult &result = results.emplace_back();
    result.ops = part.ops;
    result.reason = part.reason;
    if (!part.reason.empty())
      continue;
    auto measured = benchPartition(*model, part.prepared, args, peaks);
    if (!measured)
      return fail(measured.errors());
    result = std::move(*measured);
  }
  if (args.format == "csv")
    printBenchCsv(args, peaks, results);
  else if (args.format == "json")
    printBenchJson(args, peaks, results);
  else
    printBenchTable(args, peaks, results);
  return 0;
}

} // namespace

void addBenchCommand(CLI::App &app, Action &action) {
  constexpr double kMostSeconds = 1e6;
  auto args = std::make_shared<BenchArgs>();
  CLI::App *sub = app.add_subcommand(
      "bench", "measure time and rate of a model and of its groups");
  addModelOptions(*sub, args->model, /*required=*/true, kGraphOrCompiledFile);
  addArtefactOptions(*sub, args->loading);
  addExecOptions(*sub, args->exec);
  const char *group = "Measuring";
  sub->add_flag("--warm,!--cold", args->warm,
                "caches may hold the data of the last run; --cold, the "
                "default: they hold other data")
      ->group(group);
  sub->add_flag("--unfused,!--no-unfused", args->unfused,
                "compare groups with the same model compiled without fusion, "
                "the default")
      ->group(group);
  sub->add_option("--min-time", args->minSeconds, "seconds of measured work")
      ->check(numberIn(0, kMostSeconds))
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
    action = [args] { return bench(*args); };
  });
}

} // namespace tenon::cli
