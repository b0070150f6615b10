//===- main.cpp - random graphs, compiled against evaluated ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   differential [--seed S] [--count N] [--jobs J] [--output DIR] [--kind K]
//                [--unknown-sizes] [--no-reduce] [--write]
//
// Judges the graphs of the seeds S .. S + N - 1, each in a process of its own,
// or, with --write, writes them to DIR/SEED.json. Two of five graphs, or all of
// them with --unknown-sizes, are compiled without some of their sizes.
// A failure is reduced and written to DIR as JSON, with the line that repeats
// it. The last lines count; the exit code is 0 when nothing failed.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/Json.h"
#include "tests/differential/Generate.h"
#include "tests/differential/Judge.h"
#include "tests/differential/Reduce.h"
#include "tests/differential/Unknown.h"
#include "tools/tenon/Children.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

using namespace tenon;
using namespace tenon::test;

namespace {

struct Settings {
  uint64_t seed = 1;
  uint64_t count = 100;
  int jobs = 1;
  std::string output = ".";
  std::string kind; // only graphs that hold it
  bool reduce = true;
  bool write = false;   // only the graphs
  bool unknown = false; // sizes, of all graphs
};

/// Graphs that reduction may spend on one failure, and failures it is spent on.
constexpr int kMaxCandidates = 300;
constexpr int kMaxReduced = 10;

bool holds(const graph::Graph &graph, const std::string &kind) {
  for (const graph::Op &op : graph.ops)
    if (kind.empty() || op.kind == kind)
      return true;
  return false;
}

/// The operations of a graph in a line: "MatMul ReLU Add".
std::string kindsOf(const graph::Graph &graph) {
  std::string text;
  for (const graph::Op &op : graph.ops)
    text += (text.empty() ? "" : " ") + op.kind;
  return text;
}

class Run {
public:
  explicit Run(const Settings &settings) : settings(settings) {}

  int judgeAll();
  int writeAll();

private:
  std::vector<uint64_t> seeds() const;
  void record(uint64_t seed, const Verdict &verdict);
  void report(uint64_t seed, const Verdict &verdict);
  void writeSmall(const std::string &path, const graph::Graph &small,
                  const JudgeConfig &config);
  JudgeConfig configOf(uint64_t seed) const;

  const Settings &settings;
  std::map<std::string, int> reasons;  // of what does not compile
  std::map<std::string, int> refusals; // rows of docs/unknown-sizes.md
  std::map<std::string, int> failures;
  std::set<std::string> kinds; // operations in graphs that passed
  std::vector<std::pair<uint64_t, Verdict>> failed;
  int passed = 0, unsupported = 0, unstable = 0, outputs = 0, loose = 0;
  int unknown = 0; // passed with unknown sizes
};

JudgeConfig Run::configOf(uint64_t seed) const {
  JudgeConfig config = configFor(seed);
  if (settings.unknown)
    config.unknown = seed;
  return config;
}

void Run::record(uint64_t seed, const Verdict &verdict) {
  outputs += verdict.outputs;
  loose += verdict.loose;
  if (verdict.state != Verdict::unsupported && !verdict.refusal.empty())
    ++refusals[verdict.refusal];
  switch (verdict.state) {
  case Verdict::passed:
    ++passed;
    unknown += verdict.unknown;
    for (const graph::Op &op : generateGraph(seed).ops)
      kinds.insert(op.kind);
    return;
  case Verdict::unsupported:
    ++unsupported;
    ++reasons[verdict.message.substr(0, verdict.message.find(';'))];
    return;
  case Verdict::unstable:
    ++unstable;
    std::printf("seed %llu: once, not again: %s\n",
                static_cast<unsigned long long>(seed), verdict.message.c_str());
    return;
  case Verdict::failed:
    ++failures[verdict.kind];
    failed.emplace_back(seed, verdict);
    std::printf("seed %llu: FAILED, %s: %s\n  under %s\n  operations: %s\n",
                static_cast<unsigned long long>(seed), verdict.kind.c_str(),
                verdict.message.c_str(), describe(configOf(seed)).c_str(),
                kindsOf(generateGraph(seed)).c_str());
    std::fflush(stdout);
  }
}

void Run::report(uint64_t seed, const Verdict &verdict) {
  JudgeConfig config = configOf(seed);
  auto stillFails = [&](const graph::Graph &graph) {
    Verdict again = judgeApart(graph, config);
    return again.state == Verdict::failed && again.kind == verdict.kind;
  };
  graph::Graph small =
      reduceGraph(generateGraph(seed), stillFails, kMaxCandidates);
  std::string path =
      settings.output + "/failure-" + std::to_string(seed) + ".json";
  writeSmall(path, small, config);
  std::printf(
      "seed %llu reduces to: %s\n  %s\n"
      "  repeat with tests/differential/run.sh --seed %llu --count 1%s\n",
      static_cast<unsigned long long>(seed), kindsOf(small).c_str(),
      path.c_str(), static_cast<unsigned long long>(seed),
      settings.unknown ? " --unknown-sizes" : "");
  std::fflush(stdout);
}

/// As it was compiled; sizes that it has been executed with are printed.
void Run::writeSmall(const std::string &path, const graph::Graph &small,
                     const JudgeConfig &config) {
  std::optional<UnknownSizes> sizes;
  if (config.unknown)
    sizes = withUnknownSizes(small, *config.unknown);
  std::ofstream(path) << json::writeJson(sizes ? sizes->general : small)
                      << "\n";
  if (sizes)
    for (const graph::Graph &known : sizes->known)
      std::printf("  tenon check %s --in-shapes=%s\n", path.c_str(),
                  shapesText(known).c_str());
}

std::vector<uint64_t> Run::seeds() const {
  std::vector<uint64_t> chosen;
  for (uint64_t i = 0; i < settings.count; ++i)
    if (settings.kind.empty() ||
        holds(generateGraph(settings.seed + i), settings.kind))
      chosen.push_back(settings.seed + i);
  return chosen;
}

int Run::writeAll() {
  for (uint64_t seed : seeds()) {
    std::string path = settings.output + "/" + std::to_string(seed) + ".json";
    std::ofstream file(path);
    file << json::writeJson(generateGraph(seed)) << "\n";
    if (!file.flush()) {
      std::fprintf(stderr, "%s: cannot write\n", path.c_str());
      return 1;
    }
  }
  return 0;
}

int Run::judgeAll() {
  const std::vector<uint64_t> seeds = this->seeds();
  cli::ChildOptions options;
  options.jobs = settings.jobs;
  options.timeout = 60;
  cli::runInChildren(
      seeds.size(), options,
      [&](size_t i, const cli::Note &) {
        return judgeGraph(generateGraph(seeds[i]), configOf(seeds[i])).str();
      },
      [&](size_t i, const cli::ChildResult &result) {
        using State = cli::ChildResult::State;
        Verdict verdict;
        if (result.state == State::finished) {
          verdict = Verdict::parse(result.output);
        } else {
          verdict.state = Verdict::failed;
          verdict.kind = result.state == State::crashed ? "crash" : "timeout";
          verdict.message = result.reason;
        }
        record(seeds[i], verdict);
      });
  for (size_t i = 0; i < failed.size() && i < kMaxReduced && settings.reduce;
       ++i)
    report(failed[i].first, failed[i].second);
  for (const auto &[reason, count] : reasons)
    std::printf("%4d not supported: %s\n", count, reason.c_str());
  for (const auto &[row, count] : refusals)
    std::printf("%4d need known sizes: %s\n", count, row.c_str());
  for (const auto &[kind, count] : failures)
    std::printf("%4d FAILED: %s\n", count, kind.c_str());
  std::printf("%zu kinds of operations in graphs that passed\n", kinds.size());
  std::printf("%d outputs judged, %d of them loosely\n", outputs, loose);
  std::printf("%d graphs passed with unknown sizes\n", unknown);
  std::printf("%d passed, %zu failed, %d not supported, %d unstable\n", passed,
              failed.size(), unsupported, unstable);
  return failed.empty() && passed > 0 ? 0 : 1;
}

bool parse(int argc, char **argv, Settings &settings) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--no-reduce") {
      settings.reduce = false;
      continue;
    }
    if (flag == "--unknown-sizes") {
      settings.unknown = true;
      continue;
    }
    if (flag == "--write") {
      settings.write = true;
      continue;
    }
    if (i + 1 == argc)
      return false;
    const char *value = argv[++i];
    if (flag == "--seed")
      settings.seed = std::strtoull(value, nullptr, 10);
    else if (flag == "--count")
      settings.count = std::strtoull(value, nullptr, 10);
    else if (flag == "--jobs")
      settings.jobs = std::max(1, std::atoi(value));
    else if (flag == "--output")
      settings.output = value;
    else if (flag == "--kind")
      settings.kind = value;
    else
      return false;
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (const char *directory = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR"))
    settings.output = directory;
  if (!parse(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: %s [--seed S] [--count N] [--jobs J] "
                 "[--output DIR] [--kind K] [--unknown-sizes] [--no-reduce] "
                 "[--write]\n",
                 argv[0]);
    return 2;
  }
  return settings.write ? Run(settings).writeAll() : Run(settings).judgeAll();
}
