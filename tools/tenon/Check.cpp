//===- Check.cpp - tenon check --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compares compiled results with the reference evaluator, for one model or for
// lists of runs.  Each run has a process of its own (Children.h) and evaluates
// the reference once for all configurations.  A run passes when every
// configuration does; a failed one outweighs an unsupported one.
//
//===----------------------------------------------------------------------===//
#include "dialects/support/Text.h"
#include "tools/tenon/CheckRun.h"
#include "tools/tenon/Children.h"
#include "tools/tenon/ModelArgs.h"
#include "tools/tenon/Progress.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <unistd.h>

namespace tenon::cli {

namespace {

struct CheckArgs {
  ModelArgs model;
  std::vector<std::string> inputs;
  std::string caseFile, cases, filter;
  std::vector<std::string> runs;
  std::string schedules, threadsList = "1", pools = "own";
  uint64_t seed = 1;
  double timeout = 600;
  double memoryGiB = 0;
  int jobs = 1;
  int evalThreads = 1;
  bool inProcess = false, verbose = false;
};

class CheckCommand {
public:
  explicit CheckCommand(const CheckArgs &args) : args(args) {}
  int run();

private:
  std::vector<Error> collectConfigurations();
  std::vector<Error> collectRuns();
  std::vector<Error> readList(const std::string &path);
  void addRun(CheckRun run);
  void finished(size_t index, const ChildResult &result);
  std::string repeatLine(const CheckRun &run, const std::string &config) const;
  int summarize();

  struct Reason {
    int64_t runs = 0;
    std::string example;
  };

  const CheckArgs &args;
  std::vector<Configuration> configurations;
  CheckSettings settings;
  std::vector<CheckRun> runs;
  Progress progress;
  int64_t done = 0, passed = 0, failed = 0, unsupported = 0;
  std::map<std::string, Reason> reasons;
  int code = 0;
};

/// The items of a comma-separated option, each one of `allowed`.
std::vector<Error> checkItems(const char *option, const std::string &text,
                              const std::vector<std::string> &allowed) {
  std::string names;
  for (const std::string &name : allowed)
    names += (names.empty() ? "" : ", ") + name;
  std::vector<Error> errors;
  std::vector<std::string> items = splitText(text, ',');
  if (items.empty())
    items.emplace_back();
  for (const std::string &item : items)
    if (std::find(allowed.begin(), allowed.end(), item) == allowed.end())
      errors.push_back(badOption(std::string("--") + option + ": \"" + item +
                                     "\" is not allowed",
                                 "allowed: " + names));
  return errors;
}

std::vector<Error> CheckCommand::collectConfigurations() {
  std::string schedules =
      args.schedules.empty() ? args.model.options.schedule : args.schedules;
  std::vector<Error> errors =
      checkItems("schedules", schedules, {"auto", "avx512", "avx2", "generic"});
  for (Error &error : checkItems("pools", args.pools, {"own", "caller"}))
    errors.push_back(std::move(error));
  std::vector<int> threads;
  for (const std::string &item : splitText(args.threadsList, ',')) {
    constexpr int64_t kMost = 1024;
    std::optional<int64_t> count = parseInteger(item);
    if (count && *count >= 1 && *count <= kMost)
      threads.push_back(static_cast<int>(*count));
    else
      errors.push_back(
          badOption("--threads-list: \"" + item + "\" is no number of threads",
                    "1 to 1024, separated by commas"));
  }
  if (!errors.empty())
    return errors;
  for (const std::string &schedule : splitText(schedules, ','))
    for (int count : threads)
      for (const std::string &pool : splitText(args.pools, ','))
        configurations.push_back({schedule, count, pool == "caller"});
  if (configurations.empty())
    errors.push_back(badOption("there is no configuration to check"));
  return errors;
}

void CheckCommand::addRun(CheckRun run) {
  std::string text = run.path + " " + overridesText(run.overrides);
  if (args.filter.empty() || text.find(args.filter) != text.npos)
    runs.push_back(std::move(run));
}

std::vector<Error> CheckCommand::readList(const std::string &path) {
  constexpr uint64_t kMaxFileSize = uint64_t(1) << 28;
  auto text = readTextFile(path, kMaxFileSize);
  if (!text)
    return text.errors();
  int64_t number = 0;
  for (std::string line : splitText(*text, '\n')) {
    ++number;
    while (!line.empty() &&
           std::isspace(static_cast<unsigned char>(line.back())))
      line.pop_back();
    if (line.empty() || line[0] == '#')
      continue;
    CheckRun run;
    auto parsed = parseRunLine(line);
    if (parsed) {
      run.caseFile = parsed->caseFile;
      run.path = (std::filesystem::path(args.cases) / run.caseFile).string();
      run.overrides = parsed->text;
    } else {
      // Counts as a failed run: lists are input too, one line spoils nothing.
      run.path = path + ":" + std::to_string(number);
      run.broken = parsed.errors();
    }
    addRun(std::move(run));
  }
  return {};
}

std::vector<Error> CheckCommand::collectRuns() {
  int sources =
      !args.model.path.empty() + !args.caseFile.empty() + !args.runs.empty();
  if (sources != 1)
    return {badOption("what to check is not clear",
                      "give one of MODEL, --case=FILE, --runs FILE...")};
  if (!args.runs.empty() && !overridesText(args.model.overrides).empty())
    return {badOption("--runs: each line has its own changes to the model",
                      "leave out " + overridesText(args.model.overrides))};
  if (!args.runs.empty() && !args.inputs.empty())
    return {badOption("--runs: each line has a model of its own",
                      "leave out --input")};
  std::vector<Error> errors;
  for (const std::string &list : args.runs)
    for (Error &error : readList(list))
      errors.push_back(std::move(error));
  if (!args.runs.empty())
    return errors;
  auto variants = alternatives(args.model.overrides);
  if (!variants)
    return variants.errors();
  for (OverrideText &overrides : *variants) {
    CheckRun run;
    run.caseFile = args.caseFile;
    run.path =
        args.caseFile.empty()
            ? args.model.path
            : (std::filesystem::path(args.cases) / args.caseFile).string();
    run.overrides = std::move(overrides);
    addRun(std::move(run));
  }
  return {};
}

std::string CheckCommand::repeatLine(const CheckRun &run,
                                     const std::string &config) const {
  std::string line = "tenon check";
  if (run.caseFile.empty())
    line += " " + shellQuote(run.path);
  else if (!args.cases.empty())
    line += " " + shellQuote("--cases=" + args.cases);
  if (std::string overrides = overridesText(run.overrides); !overrides.empty())
    line += " " + overrides;
  if (!run.caseFile.empty())
    line += " " + shellQuote("--case=" + run.caseFile);
  Options defaults;
#define TENON_OPTION(type, name, flag, fallback, help)                         \
  if (args.model.options.name != defaults.name)                                \
    line += optionText(flag, args.model.options.name);
#include "compiler/driver/Options.def"
  for (const std::string &input : args.inputs)
    line += " " + shellQuote("--input=" + input);
  if (args.seed != CheckArgs().seed)
    line += " --seed=" + std::to_string(args.seed);
  return line + config;
}

void CheckCommand::finished(size_t index, const ChildResult &result) {
  const CheckRun &run = runs[index];
  progress.show(++done, static_cast<int64_t>(runs.size()), run.path);
  CheckOutcome outcome;
  if (result.state == ChildResult::State::finished) {
    outcome = parseOutcome(result.output);
  } else if (result.state == ChildResult::State::timedOut &&
             result.note == kEvaluatingNote) {
    // Says nothing about the compiler, which has done its part.
    outcome.verdict = CheckOutcome::unsupported;
    outcome.reasons.emplace("reference takes longer than --timeout-per-run",
                            shellQuote(run.path) + " " +
                                overridesText(run.overrides));
  } else {
    outcome.verdict = CheckOutcome::failed;
    outcome.exitCode = static_cast<int>(ErrorCategory::internal);
    outcome.message = result.state == ChildResult::State::timedOut
                          ? "took longer than --timeout-per-run"
                          : "crashed: " + result.reason;
    if (!result.note.empty())
      outcome.message += ", while " + result.note;
    outcome.config =
        configurations.size() == 1
            ? configurations.front().flags()
            : allFlags(args.schedules, args.threadsList, args.pools);
  }
  if (outcome.verdict == CheckOutcome::passed) {
    ++passed;
  } else if (outcome.verdict == CheckOutcome::failed) {
    ++failed;
    code = std::max(code, outcome.exitCode);
    progress.clear();
    std::printf("FAILED %s\n  %s\n  repeat: %s\n", run.path.c_str(),
                outcome.message.c_str(),
                repeatLine(run, outcome.config).c_str());
  } else {
    ++unsupported;
    for (const auto &[reason, message] : outcome.reasons) {
      Reason &entry = reasons[reason];
      if (entry.runs++ == 0)
        entry.example = message;
    }
  }
  if (args.verbose && outcome.verdict != CheckOutcome::failed) {
    progress.clear();
    std::printf("%s %s %s\n",
                outcome.verdict == CheckOutcome::passed ? "passed"
                                                        : "unsupported",
                run.path.c_str(), overridesText(run.overrides).c_str());
  }
  std::fflush(stdout);
}

int CheckCommand::summarize() {
  progress.clear();
  if (!reasons.empty())
    std::printf("unsupported:\n");
  std::vector<std::pair<std::string, Reason>> sorted(reasons.begin(),
                                                     reasons.end());
  std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) {
    return std::pair(-a.second.runs, a.first) <
           std::pair(-b.second.runs, b.first);
  });
  for (const auto &[reason, entry] : sorted)
    std::printf("  %s: %s, such as: %s\n", reason.c_str(),
                countText(entry.runs, "run").c_str(), entry.example.c_str());
  if (configurations.size() > 1)
    std::printf("%s in %zu configurations each\n",
                countText(static_cast<int64_t>(runs.size()), "run").c_str(),
                configurations.size());
  std::printf("%lld passed, %lld failed, %lld unsupported\n",
              static_cast<long long>(passed), static_cast<long long>(failed),
              static_cast<long long>(unsupported));
  if (code == 0 && unsupported > 0)
    code = static_cast<int>(ErrorCategory::unsupported);
  return code;
}

int CheckCommand::run() {
  std::vector<Error> errors = collectConfigurations();
  for (Error &error : collectRuns())
    errors.push_back(std::move(error));
  auto inputs = parseInputs(args.inputs);
  if (inputs)
    settings.inputs = std::move(*inputs);
  else
    errors.insert(errors.end(), inputs.errors().begin(), inputs.errors().end());
  if (errors.empty() && runs.empty())
    errors.push_back(badOption("there is nothing to check"));
  if (!errors.empty())
    return fail(errors);
  double physical = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                    static_cast<double>(sysconf(_SC_PAGESIZE));
  double memory = args.memoryGiB > 0 ? args.memoryGiB * 0x1p30
                                     : 0.75 * physical / args.jobs;
  settings.options = args.model.options;
  if (auto loading = loadOptionsOf(args.model, settings.inputs))
    settings.loading = std::move(*loading);
  else
    return fail(loading.errors());
  settings.seed = args.seed;
  settings.evalThreads = args.evalThreads;
  settings.memory = memory;
  ChildOptions children;
  children.jobs = args.jobs;
  children.timeout = args.timeout;
  // Code, stacks and arenas of the allocator take address space as well.
  children.memory = static_cast<uint64_t>(memory + 0x1p32);
  children.inProcess = args.inProcess;
  if (showsProgress())
    children.waiting = [&](const std::string &note) {
      std::filesystem::path path = runs[static_cast<size_t>(done)].path;
      progress.show(done, static_cast<int64_t>(runs.size()),
                    path.filename().string() + ": " + note);
    };
  runInChildren(
      runs.size(), children,
      [&](size_t i, const Note &note) {
        return formatOutcome(checkRun(runs[i], configurations, settings, note));
      },
      [&](size_t i, const ChildResult &result) { finished(i, result); });
  return summarize();
}

} // namespace

void addCheckCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<CheckArgs>();
  CLI::App *sub = app.add_subcommand(
      "check", "compare compiled results with the reference evaluator");
  addModelOptions(*sub, args->model, /*required=*/false);
  const char *what = "What to check";
  sub->add_option("--case", args->caseFile, "model, relative to --cases")
      ->group(what);
  sub->add_option("--runs", args->runs, "files with one run per line")
      ->group(what);
  sub->add_option("--cases", args->cases, "folder of the models of runs")
      ->group(what);
  sub->add_option("--filter", args->filter, "only runs with this text")
      ->group(what);
  addInputOption(*sub, args->inputs);
  const char *how = "Configurations";
  sub->add_option("--schedules", args->schedules,
                  "list of auto, avx512, avx2, generic (default: --schedule)")
      ->group(how);
  sub->add_option("--threads-list", args->threadsList, "numbers of threads")
      ->capture_default_str()
      ->group(how);
  sub->add_option("--pools", args->pools,
                  "list of own (Tenon's threads) and caller (a caller's pool)")
      ->capture_default_str()
      ->group(how);
  sub->add_option("--seed", args->seed, "of the data of inputs")
      ->check(anySeed())
      ->capture_default_str()
      ->group(how);
  const char *limits = "Limits";
  constexpr double kMostSeconds = 1e6, kMostGiB = 1e6;
  sub->add_option("--timeout-per-run", args->timeout, "seconds; 0: none")
      ->check(numberIn(0, kMostSeconds))
      ->capture_default_str()
      ->group(limits);
  sub->add_option("--memory-limit", args->memoryGiB,
                  "GiB for each run (default: three quarters of the machine, "
                  "divided by --jobs)")
      ->check(numberIn(0, kMostGiB))
      ->group(limits);
  sub->add_option("--jobs", args->jobs, "runs at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group(limits);
  sub->add_option("--eval-threads", args->evalThreads,
                  "threads of the reference evaluator")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group(limits);
  sub->add_flag("--in-process", args->inProcess,
                "no process for each run: for debuggers");
  sub->add_flag("--verbose", args->verbose, "name every run");
  sub->callback([args, &action] {
    action = [args] { return CheckCommand(*args).run(); };
  });
}

} // namespace tenon::cli
