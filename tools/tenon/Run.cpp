//===- Run.cpp - tenon run ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes a model once per set of shapes, shows and checks what comes out.
// A model with unknown dims is compiled once for all of them.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Versions.h"
#include "compiler/report/Stats.h"
#include "dialects/graph/reference/Entries.h"
#include "dialects/support/Text.h"
#include "dialects/support/WriteFile.h"
#include "runtime/tenon_model.h"
#include "tools/tenon/Execution.h"
#include "tools/tenon/Loading.h"
#include "tools/tenon/Npy.h"
#include "tools/tenon/Npz.h"
#include "tools/tenon/Progress.h"
#include "tools/tenon/Timing.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace tenon::cli {

using graph::Graph;
using reference::Tensor;

namespace {

// Evaluating more by default would keep the user waiting.
constexpr double kAffordableFlops = 4e9;
constexpr double kAffordableBytes = 0x1p31;

struct RunArgs {
  ModelArgs model;
  AotLoadOptions loading;
  ExecArgs exec;
  std::vector<std::string> inputs, outputs, expects;
  int repeat = 11;
  bool check = true;
  bool forceCheck = false;
};

class RunCommand {
public:
  explicit RunCommand(const RunArgs &args) : args(args) {}
  int run();

private:
  bool parseSpecs();
  bool compile(const Prepared &prepared);
  void runOnce(const Prepared &prepared);
  void printVersion(const Graph &graph) const;
  void writeOutputs(const Graph &graph, const TensorMap &results);
  void compareExpected(const Graph &graph, const TensorMap &results);
  void checkResults(const Graph &graph, TensorMap values,
                    const TensorMap &results);
  TensorMap withoutTails(TensorMap results) const;
  void report(std::vector<Error> found) { code = std::max(code, fail(found)); }

  const RunArgs &args;
  std::vector<TensorSpec> inputs, outputs, expects;
  LoadedModel model;
  std::unique_ptr<Compiled> compiled;
  bool compiledIsDynamic = false;
  int compilations = 0;
  Execution execution;
  int code = 0;
};

/// Indices of the smallest and largest number; 0 where all are NaN.
std::pair<int64_t, int64_t> extremesOf(const Tensor &tensor) {
  // As integers: doubles may round two of them to the same.
  auto isLess = [&](int64_t i, int64_t j) {
    return tensor.isS64() ? tensor.integers[i] < tensor.integers[j]
                          : tensor.data[i] < tensor.data[j];
  };
  std::optional<int64_t> low, high;
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    if (std::isnan(tensor.at(i)))
      continue;
    if (!low || isLess(i, *low))
      low = i;
    if (!high || isLess(*high, i))
      high = i;
  }
  return {low.value_or(0), high.value_or(0)};
}

void printTensor(const Graph &graph, uint64_t id, const Tensor &tensor) {
  graph::LogicalTensor type;
  type.dtype = tensor.dtype;
  type.shape = tensor.shape;
  std::printf("  %s: %s [", describeTensor(graph, id).c_str(),
              report::typeText(type).c_str());
  constexpr int64_t kShown = 6;
  constexpr int kSlices = 6; // of floats
  int64_t count = tensor.numElements();
  for (int64_t i = 0; i < count && i < kShown; ++i)
    std::printf("%s%s", i ? ", " : "", tensor.text(i, kSlices).c_str());
  std::printf("%s]", count > kShown ? ", ..." : "");
  if (count > 0) {
    int64_t nans = 0;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += tensor.at(i);
      nans += std::isnan(tensor.at(i));
    }
    auto [low, high] = extremesOf(tensor);
    std::printf(" min %s max %s mean %.6g", tensor.text(low, kSlices).c_str(),
                tensor.text(high, kSlices).c_str(),
                sum / static_cast<double>(count));
    if (nans)
      std::printf(" NaN %lld", static_cast<long long>(nans));
  }
  std::printf("\n");
}

/// Code for likely sizes, and why there is none for some.
void printVersions(const std::vector<VersionInfo> &versions,
                   const std::vector<std::string> &remarks) {
  for (const VersionInfo &version : versions)
    std::printf("  and code for %s in %s\n", version.name.c_str(),
                secondsText(version.seconds).c_str());
  for (const std::string &remark : remarks)
    if (remark.starts_with(kVersionRemark))
      std::printf("  %s\n", remark.c_str());
}

bool RunCommand::parseSpecs() {
  constexpr const char *kExpect = "expect";
  std::vector<Error> errors;
  auto parseAll = [&](const std::vector<std::string> &texts,
                      std::vector<TensorSpec> &specs, const char *option) {
    for (const std::string &text : texts) {
      auto spec = parseFileSpec(text, option, option == kExpect);
      if (spec)
        specs.push_back(std::move(*spec));
      else
        errors.push_back(spec.errors().front());
    }
  };
  if (auto parsed = parseInputs(args.inputs))
    inputs = std::move(*parsed);
  else
    errors = parsed.errors();
  parseAll(args.outputs, outputs, "output");
  parseAll(args.expects, expects, kExpect);
  if (errors.empty())
    return true;
  report(errors);
  return false;
}

bool RunCommand::compile(const Prepared &prepared) {
  if (compiled && compiledIsDynamic && prepared.isDynamic)
    return true;
  CompileReport compileReport;
  auto result = compileOrLoad(model, prepared, args.model.options, args.loading,
                              &compileReport);
  if (!result) {
    report(result.errors());
    return false;
  }
  compiled = std::move(*result);
  compiledIsDynamic = prepared.isDynamic;
  ++compilations;
  if (model.file) {
    std::printf("loaded code for %s\n",
                tenon_model_get_code(compiled->model())->target);
    return true;
  }
  std::printf("compiled %s to %s in %s%s\n",
              countText(compileReport.ops, "operation").c_str(),
              countText(compileReport.groups, "group").c_str(),
              secondsText(compileReport.totalSeconds).c_str(),
              prepared.isDynamic ? ", sizes left open until it runs" : "");
  printVersions(compileReport.versions, compileReport.remarks);
  return true;
}

/// Which code was executed, if there is some for likely sizes.
void RunCommand::printVersion(const Graph &graph) const {
  if (!tenon_model_get_info(compiled->model())->num_versions)
    return;
  std::map<uint64_t, graph::Dims> shapes;
  for (uint64_t id : graph.inputPorts)
    shapes[id] = *graph.tensor(id).shape;
  if (auto version = compiled->versionFor(shapes))
    std::printf("  executed: the code for %s\n",
                version->empty() ? "all sizes" : version->c_str());
}

/// All results, by the names that --input and --expect take.
std::vector<NpzMember> arraysOf(const Graph &graph, const TensorMap &results) {
  std::vector<NpzMember> arrays;
  std::set<std::string> names;
  for (uint64_t id : graph.outputPorts) {
    std::string name = plainName(graph, id);
    auto named = resolveTensor(graph, name);
    if (!named || *named != id || !names.insert(name).second)
      name = std::to_string(id);
    arrays.push_back({name, formatNpy(results.at(id))});
  }
  return arrays;
}

Expected<bool> writeArchive(const std::string &path,
                            const std::vector<NpzMember> &arrays) {
  auto bytes = formatNpz(arrays);
  if (!bytes)
    return bytes.errors();
  return writeFile(path, *bytes);
}

/// Whether all that `--output` names are outputs.
std::vector<Error> checkOutputs(const Graph &graph,
                                const std::vector<TensorSpec> &specs) {
  std::vector<Error> errors;
  for (const TensorSpec &spec : specs) {
    if (spec.name.empty())
      continue;
    auto id = resolveTensor(graph, spec.name);
    if (!id)
      errors.push_back(id.errors().front());
    else if (!std::ranges::count(graph.outputPorts, *id))
      errors.push_back(badOption("--output: " + describeTensor(graph, *id) +
                                 " is no output of the graph"));
  }
  return errors;
}

/// Writes what `spec` asks for: one output, or all.
Expected<bool> writeOutput(const TensorSpec &spec, const Graph &graph,
                           const TensorMap &results) {
  if (spec.name.empty())
    return writeArchive(spec.path, arraysOf(graph, results));
  auto id = resolveTensor(graph, spec.name);
  if (!id)
    return id.errors();
  if (!spec.isArchive())
    return writeNpy(spec.path, results.at(*id));
  return writeArchive(spec.path, {{spec.name, formatNpy(results.at(*id))}});
}

void RunCommand::writeOutputs(const Graph &graph, const TensorMap &results) {
  for (const TensorSpec &spec : outputs)
    if (auto written = writeOutput(spec, graph, results); !written)
      report(written.errors());
    else
      std::printf("  wrote %s\n", spec.path.c_str());
}

void RunCommand::compareExpected(const Graph &graph, const TensorMap &results) {
  // Not before: this run may have written them.
  auto opened = openFiles(expects);
  if (!opened)
    return report(opened.errors());
  for (const TensorSpec &spec : *opened) {
    auto id = resolveTensor(graph, spec.name);
    if (!id) {
      report(id.errors());
      continue;
    }
    if (!results.count(*id)) {
      report({badOption("--expect: " + describeTensor(graph, *id) +
                        " is no output of the graph")});
      continue;
    }
    graph::LogicalTensor type = graph.tensor(*id);
    type.shape = results.at(*id).shape;
    auto expected = makeTensor(spec, type);
    if (!expected) {
      report(expected.errors());
      continue;
    }
    check::CompareResult result = check::compare(
        results.at(*id), *expected, nullptr,
        check::toleranceFor(graph, *id, nullptr,
                            arithmeticOf(args.model.options, *compiled)));
    if (result.passed()) {
      std::printf("  expected: as in %s, largest error %.3g\n",
                  spec.path.c_str(), result.maxError);
      continue;
    }
    Error error;
    error.code = ErrorCode::Mismatch;
    error.message = "output " + describeTensor(graph, *id) + " against " +
                    spec.path + ": " + result.str();
    report({error});
  }
}

void RunCommand::checkResults(const Graph &graph, TensorMap values,
                              const TensorMap &results) {
  if (!args.check)
    return;
  if (std::ranges::any_of(graph.inputPorts, [&](uint64_t id) {
        return compiled->isPacked(id);
      })) {
    constexpr const char *kWhy =
        "the file has its constants as they were packed";
    constexpr const char *kHint = "compile it with --pack-constants=load";
    if (args.forceCheck)
      return report({badOption(std::string("--check: ") + kWhy, kHint)});
    std::printf("  check: not possible, %s; %s\n", kWhy, kHint);
    return;
  }
  double flops = report::statsOf(graph).flops, bytes = oracleBytes(graph);
  if (!args.forceCheck &&
      (flops > kAffordableFlops || bytes > kAffordableBytes)) {
    std::printf("  check: skipped, the reference would take %.1f GFLOP and %s; "
                "--check does it\n",
                2e-9 * flops, bytesText(bytes).c_str());
    return;
  }
  if (auto errors = addValues(graph, model.constants, values); !errors.empty())
    return report(errors);
  auto oracle = [&] {
    Busy busy("evaluating the reference");
    return Oracle::create(graph, std::move(values),
                          arithmeticOf(args.model.options, *compiled),
                          args.exec.threads);
  }();
  if (!oracle) {
    std::printf("  check: not possible, %s\n",
                oracle.errors().front().str().c_str());
    return;
  }
  auto errors = oracle->check(results);
  if (!errors.empty())
    return report(errors);
  double worst = 0;
  bool exact = true;
  int64_t illConditioned = 0;
  if (auto judgements = oracle->judge(results))
    for (const check::Judgement &judgement : *judgements) {
      worst = std::max(worst, judgement.result.maxError);
      exact &= judgement.tolerance.exact;
      illConditioned += judgement.result.illConditioned;
    }
  std::printf("  check: passed against the reference%s, largest error %.3g",
              exact ? " (exact arithmetic, must be equal)" : "", worst);
  if (illConditioned)
    std::printf(", %s ill-conditioned",
                countText(illConditioned, "element").c_str());
  std::printf("\n");
}

/// `results` as a user means them: what has as many entries as the data says
/// with these alone.
TensorMap RunCommand::withoutTails(TensorMap results) const {
  for (const CountedOutput &output : model.counted) {
    Tensor &tensor = results.at(output.id);
    int64_t most = tensor.shape.at(static_cast<size_t>(output.axis));
    tensor = reference::firstEntries(
        tensor, output.axis,
        std::clamp<int64_t>(results.at(output.count).integers.at(0), 0, most));
  }
  return results;
}

void RunCommand::runOnce(const Prepared &prepared) {
  const Graph &graph = prepared.runGraph;
  if (auto unknown = unknownInputs(graph); !unknown.empty())
    return report(unknown);
  // A library has its weights, and is loaded at once. Compiling takes a while:
  // what is given is looked at before.
  if (model.file && !compile(prepared))
    return;
  if (model.file)
    addWeights(*compiled, graph, model.constants);
  auto values = makeInputs(graph, args.exec.seed, inputs, model.constants);
  if (!values)
    return report(values.errors());
  if (auto errors = checkOutputs(graph, outputs); !errors.empty())
    return report(errors);
  if (!model.file && !compile(prepared))
    return;
  auto buffers = Buffers::create(*compiled, graph, *values, model.constants);
  if (!buffers)
    return report(buffers.errors());
  Executor &executor = *execution.executor;
  double bindStart = secondsNow();
  if (auto bound = bindConstants(*compiled, executor, *buffers); !bound)
    return report(bound.errors());
  double bindSeconds = secondsNow() - bindStart;
  auto results = executeOnce(*compiled, executor, *buffers);
  if (!results)
    return report(results.errors());
  TensorMap shown = withoutTails(*results);
  for (const auto &[id, tensor] : shown)
    printTensor(graph, id, tensor);
  printVersion(graph);
  std::vector<double> times = measure(
      std::min(args.repeat, 3), static_cast<size_t>(args.repeat), 0.5,
      [](size_t) {},
      [&](size_t) {
        return bool(
            compiled->execute(executor, buffers->inputs(), buffers->outputs()));
      });
  if (!buffers->constants().empty())
    std::printf("  constants: folded in %s\n",
                secondsText(bindSeconds).c_str());
  if (!times.empty())
    std::printf("  time: median %s of %s, %s%s\n",
                secondsText(quantile(times, 0.5)).c_str(),
                countText(static_cast<int64_t>(times.size()), "run").c_str(),
                countText(args.exec.threads, "thread").c_str(),
                args.exec.pool ? " of the caller's pool" : "");
  writeOutputs(graph, shown);
  compareExpected(graph, shown);
  checkResults(graph, std::move(*values), *results);
}

int RunCommand::run() {
  if (!parseSpecs())
    return code;
  auto loaded = loadModel(args.model, inputs);
  if (!loaded)
    return fail(loaded.errors());
  model = std::move(*loaded);
  dropIgnored(model.graph, model.unread, inputs);
  auto variants = alternatives(args.model.overrides);
  if (!variants)
    return fail(variants.errors());
  auto created = Execution::create(args.exec.threads, args.exec.pool);
  if (!created)
    return fail(created.errors());
  execution = std::move(*created);
  std::string compiledOverrides;
  for (size_t i = 0; i < variants->size(); ++i) {
    const OverrideText &overrides = (*variants)[i];
    auto prepared = prepareLoaded(model, overrides, inputs);
    if (!prepared) {
      report(prepared.errors());
      continue;
    }
    // Only shapes may differ between runs of one compiled object.
    OverrideText structural = overrides;
    structural.mb.clear();
    structural.inShapes.clear();
    if (overridesText(structural) != compiledOverrides)
      compiled.reset();
    compiledOverrides = overridesText(structural);
    if (variants->size() > 1)
      std::printf("run %zu of %zu: %s\n", i + 1, variants->size(),
                  overridesText(overrides).c_str());
    runOnce(*prepared);
  }
  if (variants->size() > 1)
    std::printf("%zu runs, compiled %s\n", variants->size(),
                countText(compilations, "time").c_str());
  return code;
}

} // namespace

void addRunCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<RunArgs>();
  CLI::App *sub =
      app.add_subcommand("run", "compile a model, execute it, check it");
  addModelOptions(*sub, args->model, /*required=*/true, kGraphOrCompiledFile);
  addArtefactOptions(*sub, args->loading);
  addExecOptions(*sub, args->exec);
  addInputOption(*sub, args->inputs);
  sub->add_option("--output", args->outputs,
                  "NAME=@FILE.npy: write an output, or @FILE.npz: all of them")
      ->allow_extra_args(false)
      ->group("Data");
  sub->add_option("--expect", args->expects,
                  "NAME=@FILE.npy, or NAME=cast:@FILE.npy: compare an output "
                  "with a file; @FILE.npz: all that are in one")
      ->allow_extra_args(false)
      ->group("Data");
  sub->add_option("--repeat", args->repeat, "most timed executions")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->group("Execution");
  CLI::Option *check = sub->add_flag(
      "--check", args->forceCheck,
      "compare with the reference evaluator also when that takes long");
  sub->add_flag("!--no-check", args->check, "do not compare")->excludes(check);
  sub->callback(
      [args, &action] { action = [args] { return RunCommand(*args).run(); }; });
}

} // namespace tenon::cli
