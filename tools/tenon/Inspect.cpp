//===- Inspect.cpp - tenon inspect ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Views of a model and of what the compiler makes of it.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Aot.h"
#include "compiler/driver/Phases.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/Versions.h"
#include "compiler/import/Load.h"
#include "compiler/report/Dot.h"
#include "compiler/report/MemoryPlan.h"
#include "compiler/report/Stats.h"
#include "dialects/support/Text.h"
#include "dialects/support/WriteFile.h"
#include "tools/tenon/Graphviz.h"
#include "tools/tenon/ModelArgs.h"
#include "tools/tenon/ModelText.h"
#include "tools/tenon/Progress.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace tenon::cli {

using graph::Graph;
using nlohmann::ordered_json;

namespace {

struct InspectArgs {
  ModelArgs model;
  std::string phase, compileTo, compileFrom, dumpFolder, report;
  std::string graphForm, memoryForm, kernel;
  bool graph = false, fusion = false, memory = false, stats = false;
  bool assembly = false, locations = false;
};

class InspectCommand {
public:
  explicit InspectCommand(const InspectArgs &args) : args(args) {}
  int run();

private:
  std::vector<Error> checkPhases() const;
  int showIr();
  int showGraph();
  int showAssembly();
  void showStats();
  void showFusion();
  int showMemory();
  int showFile();
  int writeReport();
  int write(const ordered_json &report) const;
  /// Loads the graph; where that fails, shows what the file has.
  int load();
  bool isOnnx() const { return summary.irVersion > 0; }
  /// Whether no view is asked for.
  bool showsDefault() const {
    return args.phase.empty() && args.compileTo.empty() &&
           args.compileFrom.empty() && args.dumpFolder.empty() &&
           args.report.empty() && !args.graph && !args.fusion && !args.memory &&
           !args.assembly;
  }
  /// Compiles when no view has done it yet.
  bool compile();

  const InspectArgs &args;
  graph::PreparedGraph prepared; // none of a compiled file
  Graph graph;
  ModelSummary summary; // of a model of ONNX
  std::unique_ptr<Compiled> compiled;
  CompileReport compileReport;
  std::vector<Error> compileErrors;
};

int print(const Expected<std::string> &text) {
  if (!text)
    return fail(text.errors());
  std::fwrite(text->data(), 1, text->size(), stdout);
  if (!text->empty() && text->back() != '\n')
    std::putchar('\n');
  return 0;
}

std::vector<Error> InspectCommand::checkPhases() const {
  std::string names;
  for (const Phase &phase : allPhases())
    names += (names.empty() ? "" : ", ") + std::string(phase.name);
  std::vector<Error> errors;
  auto check = [&](const char *option, const std::string &name) {
    if (!name.empty() && !findPhase(name))
      errors.push_back(badOption(std::string("--") + option + ": \"" + name +
                                     "\" is no phase",
                                 "phases: " + names));
  };
  check("phase", args.phase);
  check("compile-to", args.compileTo);
  check("compile-from", args.compileFrom);
  return errors;
}

bool InspectCommand::compile() {
  if (compiled || !compileErrors.empty())
    return compiled != nullptr;
  auto made = [&] {
    BusyCompiling busy(args.model.path);
    return Compiled::compile(prepared, args.model.options, &compileReport);
  }();
  if (made)
    compiled = std::move(*made);
  else
    compileErrors = made.errors();
  return compiled != nullptr;
}

int InspectCommand::showIr() {
  const std::string &to = args.phase.empty() ? args.compileTo : args.phase;
  if (args.compileFrom.empty())
    return print(
        lowerToPhase(prepared, args.model.options, to, args.locations));
  constexpr uint64_t kMaxFileSize = uint64_t(1) << 30;
  auto text = readTextFile(args.model.path, kMaxFileSize);
  if (!text)
    return fail(text.errors());
  std::string last(allPhases().back().name);
  return print(lowerText(*text, args.model.options, args.compileFrom,
                         to.empty() ? last : to));
}

int InspectCommand::showGraph() {
  // What does not compile can be looked at all the same.
  bool isCompiled = !isAotFile(args.model.path) && compile();
  const Graph &shown = isCompiled ? compiled->graph() : graph;
  if (args.graphForm == "text")
    return print(report::toText(shown, compileReport.mainGroups));
  std::string dot = report::toDot(shown, compileReport.mainGroups);
  return print(args.graphForm == "dot" ? Expected<std::string>(dot)
                                       : renderSvg(dot));
}

/// The functions whose label holds `name`, from label to the next function.
std::string selectFunctions(const std::string &assembly,
                            const std::string &name) {
  std::string out;
  bool inside = false;
  for (const std::string &line : splitText(assembly, '\n')) {
    bool isLabel = !line.empty() && line[0] != ' ' && line[0] != '\t' &&
                   line[0] != '.' && line[0] != '#' &&
                   line.find(':') != line.npos;
    if (isLabel)
      inside = line.substr(0, line.find(':')).find(name) != line.npos;
    if (inside)
      out += line + "\n";
  }
  return out;
}

int InspectCommand::showAssembly() {
  auto assembly = assemblyOf(prepared, args.model.options);
  if (!assembly)
    return fail(assembly.errors());
  // CLI11 gives an option without a value as "{}" or nothing.
  if (args.kernel.empty() || args.kernel == "all")
    return print(assembly);
  std::string selected = selectFunctions(*assembly, args.kernel);
  if (!selected.empty())
    return print(selected);
  std::string names;
  for (const std::string &line : splitText(*assembly, '\n'))
    if (size_t colon = line.find(':'); colon != line.npos && colon > 0 &&
                                       colon < 120 && line[0] != '.' &&
                                       line[0] != ' ' && line[0] != '\t' &&
                                       line[0] != '#' && names.size() < 1000)
      names += (names.empty() ? "" : ", ") + line.substr(0, colon);
  return fail(
      badOption("--asm: no function has \"" + args.kernel + "\" in its name",
                "functions: " + names));
}

void InspectCommand::showStats() {
  if (isOnnx())
    printSummary(summary);
  report::GraphStats stats = report::statsOf(graph);
  std::printf("operations      %lld\n", static_cast<long long>(stats.ops));
  for (const auto &[kind, count] : stats.opsByKind)
    std::printf("  %-28s %lld\n", kind.c_str(), static_cast<long long>(count));
  std::printf("arithmetic      %.6g MFLOP, %.6g of contractions\n",
              1e-6 * stats.flops, 1e-6 * stats.contractionFlops);
  std::printf("inputs          %s\nconstants       %s\noutputs         %s\n"
              "intermediates   %s\n",
              bytesText(stats.inputBytes).c_str(),
              bytesText(stats.constantBytes).c_str(),
              bytesText(stats.outputBytes).c_str(),
              bytesText(stats.intermediateBytes).c_str());
  if (stats.unknownTensors)
    std::printf("unknown         %s, left out of the sums\n",
                countText(stats.unknownTensors, "tensor").c_str());
  for (const std::string &line : uncompiledLines(graph))
    std::printf("does not compile: %s\n", line.c_str());
  std::fflush(stdout); // compiling takes a while
  if (!compile())
    return;
  const CompileReport &r = compileReport;
  std::printf("groups          %lld, %lld distinct\nsections        %lld\n"
              "microkernels    %lld\ncode            %s\ncompile time    %s\n",
              static_cast<long long>(r.groups),
              static_cast<long long>(r.groupFunctions),
              static_cast<long long>(r.sections),
              static_cast<long long>(r.kernels),
              bytesText(static_cast<double>(r.codeBytes)).c_str(),
              secondsText(r.totalSeconds).c_str());
  for (const PhaseTime &phase : r.phases)
    std::printf("  %-28s %s\n", phase.name.c_str(),
                secondsText(phase.seconds).c_str());
}

void InspectCommand::showFusion() {
  if (!compile())
    return;
  for (size_t i = 0; i < compileReport.mainGroups.size(); ++i)
    std::printf("group %zu: %s (%s)\n", i,
                compileReport.mainGroups[i].label.c_str(),
                compileReport.mainGroups[i].kind.c_str());
  for (const std::string &remark : compileReport.remarks)
    std::printf("note: %s\n", remark.c_str());
}

/// The picture alone, so that it can be written to a file.
int InspectCommand::showMemory() {
  if (!compile())
    return 0;
  bool isKnown = true;
  for (uint64_t id : graph.inputPorts)
    isKnown &= compiled->graph().tensor(id).hasStaticShape();
  if (args.memoryForm == "svg") {
    if (isKnown)
      return print(report::memorySvg(compileReport));
    return fail(badOption("--memory=svg: the arena depends on sizes that are "
                          "not known",
                          "give them with --mb or --in-shapes"));
  }
  report::GraphStats stats = report::statsOf(graph);
  const CompileReport &r = compileReport;
  std::printf("inputs          %s\nconstants       %s\noutputs         %s\n",
              bytesText(stats.inputBytes).c_str(),
              bytesText(stats.constantBytes).c_str(),
              bytesText(stats.outputBytes).c_str());
  if (r.arenaBytes == 0 && r.unsharedBytes == 0 && stats.unknownTensors > 0)
    std::printf("arena           depends on sizes that are not known\n");
  else
    std::printf("arena           %s, %s without sharing\n",
                bytesText(static_cast<double>(r.arenaBytes)).c_str(),
                bytesText(static_cast<double>(r.unsharedBytes)).c_str());
  std::printf("intermediates   %s in the graph as given\n",
              bytesText(stats.intermediateBytes).c_str());
  return isKnown ? print(report::memoryText(r)) : 0;
}

int InspectCommand::writeReport() {
  if (!compile())
    return 0;
  const CompileReport &r = compileReport;
  report::GraphStats stats = report::statsOf(graph);
  ordered_json root;
  root["model"] = args.model.path;
  if (isOnnx())
    root["onnx"] = summaryJson(summary);
  root["target"] = r.targetCpu;
  root["schedule"] = r.schedule;
  root["ops"] = r.ops;
  root["opsByKind"] = stats.opsByKind;
  root["flops"] = stats.flops;
  root["groups"] = ordered_json::array();
  for (const GroupStats &group : r.mainGroups)
    root["groups"].push_back(
        {{"label", group.label}, {"kind", group.kind}, {"types", group.types}});
  root["versions"] = ordered_json::array();
  for (const VersionInfo &version : r.versions)
    root["versions"].push_back({{"sizes", version.name},
                                {"seconds", version.seconds},
                                {"groups", version.groups},
                                {"codeBytes", version.codeBytes}});
  root["groupFunctions"] = r.groupFunctions;
  root["sections"] = r.sections;
  root["kernels"] = r.kernels;
  root["arenaBytes"] = r.arenaBytes;
  root["unsharedBytes"] = r.unsharedBytes;
  root["arena"] = ordered_json::array();
  for (const ArenaBuffer &b : r.arena)
    root["arena"].push_back({{"name", b.name},
                             {"type", b.type},
                             {"offset", b.offset},
                             {"bytes", b.bytes},
                             {"firstStep", b.first},
                             {"lastStep", b.last}});
  root["codeBytes"] = r.codeBytes;
  root["compileSeconds"] = r.totalSeconds;
  root["phases"] = ordered_json::object();
  for (const PhaseTime &phase : r.phases)
    root["phases"][phase.name] = phase.seconds;
  root["remarks"] = r.remarks;
  return write(root);
}

int InspectCommand::write(const ordered_json &report) const {
  std::string text =
      report.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  if (args.report == "-")
    return print(text);
  auto written = writeFile(args.report, text);
  return written ? 0 : fail(written.errors());
}

/// What a compiled file says about itself; --graph shows its graph.
int InspectCommand::showFile() {
  if (args.fusion || args.memory || args.assembly || !args.report.empty() ||
      !args.phase.empty() || !args.compileTo.empty() ||
      !args.compileFrom.empty() || !args.dumpFolder.empty())
    return fail(badOption("this view is one of a compilation",
                          "a compiled file has --graph and --stats"));
  auto file = readAotFile(args.model.path);
  if (!file)
    return fail(file.errors());
  graph = std::move(file->graph);
  if (args.graph && !args.stats)
    return showGraph();
  const codegen::Seal &seal = file->seal;
  std::printf("compiled file   version %u, written by Tenon %s\n"
              "functions       %s_*\nmachine         %s\n"
              "targets        ",
              codegen::kSealVersion, seal.compiler.c_str(), seal.prefix.c_str(),
              seal.triple.c_str());
  for (const std::string &target : seal.targets)
    std::printf(" %s", target.c_str());
  std::printf("\nhash            %016llx%016llx\n",
              static_cast<unsigned long long>(seal.hash.high),
              static_cast<unsigned long long>(seal.hash.low));
  if (auto whole = graph::prepareGraph(graph))
    for (const Version &version : versionsOf(*whole).list)
      std::printf("code of its own %s\n", version.name.c_str());
  for (const auto *ports : {&graph.inputPorts, &graph.outputPorts})
    for (uint64_t id : *ports) {
      const graph::LogicalTensor &tensor = graph.tensor(id);
      std::printf(
          "%-15s %s: %s\n",
          ports == &graph.outputPorts                        ? "output"
          : tensor.property == graph::PropertyType::constant ? "constant"
                                                             : "input",
          describeTensor(graph, id).c_str(), report::typeText(tensor).c_str());
    }
  return 0;
}

int InspectCommand::load() {
  auto loaded = loadForInspection(args.model, &summary);
  if (loaded) {
    prepared = std::move(loaded->graph);
    graph = *prepared;
    return 0;
  }
  int code = 0;
  // What is wrong with an option has nothing to do with the model.
  bool isConverted = summary.sum(&ModelSummary::Operator::failed) +
                         summary.sum(&ModelSummary::Operator::waiting) ==
                     0;
  if (isOnnx() && !isConverted && (args.stats || showsDefault()))
    printSummary(summary);
  if (isOnnx() && !args.report.empty()) {
    ordered_json root{{"model", args.model.path},
                      {"onnx", summaryJson(summary)},
                      {"errors", ordered_json::array()}};
    for (const Error &error : loaded.errors())
      root["errors"].push_back(error.str());
    code = write(root);
  }
  return std::max(code, fail(loaded.errors()));
}

int InspectCommand::run() {
  if (auto errors = checkPhases(); !errors.empty())
    return fail(errors);
  if (isAotFile(args.model.path))
    return showFile();
  if (args.compileFrom.empty()) {
    if (int code = load())
      return code;
  } else if (args.graph || args.fusion || args.memory || args.stats ||
             args.assembly || !args.report.empty() ||
             !args.dumpFolder.empty()) {
    return fail(badOption("--compile-from takes IR, the views take a graph",
                          "it goes with --phase and --compile-to"));
  }
  int code = 0;
  if (!args.dumpFolder.empty())
    if (auto dumped = dumpPhases(prepared, args.model.options, args.dumpFolder);
        !dumped)
      code = std::max(code, fail(dumped.errors()));
  if (!args.phase.empty() || !args.compileTo.empty() ||
      !args.compileFrom.empty())
    code = std::max(code, showIr());
  if (args.graph)
    code = std::max(code, showGraph());
  if (args.fusion)
    showFusion();
  if (args.memory)
    code = std::max(code, showMemory());
  if (args.assembly)
    code = std::max(code, showAssembly());
  if (!args.report.empty())
    code = std::max(code, writeReport());
  if (args.stats || showsDefault())
    showStats();
  // A picture of a graph is complete without compiling; other views are not.
  bool needed = args.fusion || args.memory || args.stats ||
                !args.report.empty() || showsDefault();
  if (needed && !compileErrors.empty())
    code = std::max(code, fail(compileErrors));
  return code;
}

} // namespace

void addInspectCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App *sub = app.add_subcommand(
      "inspect", "views of a model and of its compilation; --stats by default");
  addModelOptions(*sub, args->model, /*required=*/true, kGraphOrCompiledFile);
  const char *views = "Views";
  CLI::Option *graph =
      sub->add_option("--graph", args->graphForm,
                      "operations and groups: text, dot or svg")
          ->expected(0, 1)
          ->default_str("text")
          ->check(CLI::IsMember({"text", "dot", "svg"}))
          ->group(views);
  sub->add_flag("--fusion", args->fusion, "groups, and why not larger ones")
      ->group(views);
  CLI::Option *memory =
      sub->add_option("--memory", args->memoryForm,
                      "bytes by role and the plan of the arena: text or svg")
          ->expected(0, 1)
          ->default_str("text")
          ->check(CLI::IsMember({"text", "svg"}))
          ->group(views);
  sub->add_flag("--stats", args->stats, "counts and times")->group(views);
  CLI::Option *assembly =
      sub->add_option("--asm", args->kernel,
                      "assembly of all functions, or of those named so")
          ->expected(0, 1)
          ->default_str("all")
          ->group(views);
  sub->add_option("--report", args->report,
                  "everything as JSON in this file; - is standard output")
      ->expected(0, 1)
      ->default_str("-")
      ->group(views);
  const char *phases = "Phases";
  CLI::Option *phase =
      sub->add_option("--phase", args->phase, "IR after this phase")
          ->group(phases);
  sub->add_option("--compile-to", args->compileTo, "the same")
      ->excludes(phase)
      ->group(phases);
  sub->add_option("--compile-from", args->compileFrom,
                  "MODEL is IR that went through this phase")
      ->group(phases);
  sub->add_option("--dump-phases", args->dumpFolder,
                  "folder for one numbered file per phase")
      ->envname("TENON_DUMP")
      ->group(phases);
  sub->add_flag("--locations", args->locations,
                "print where IR comes from (--phase)")
      ->group(phases);
  sub->callback([args, graph, memory, assembly, &action] {
    args->graph = graph->count() > 0;
    args->memory = memory->count() > 0;
    args->assembly = assembly->count() > 0;
    action = [args] { return InspectCommand(*args).run(); };
  });
}

} // namespace tenon::cli
