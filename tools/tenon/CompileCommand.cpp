//===- CompileCommand.cpp - tenon compile ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a model as an object, a library or an archive for C programs.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Fill.h"
#include "compiler/driver/AotPaths.h"
#include "tools/tenon/Execution.h"
#include "tools/tenon/ModelArgs.h"
#include "tools/tenon/Progress.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace tenon::cli {

using graph::Graph;

namespace {

struct CompileArgs {
  ModelArgs model;
  AotPaths paths;
  std::string targets, triple, linker;
  std::vector<std::string> linked, constants;
  std::string constantsFolder;
  bool fill = false;
  std::string packing = "auto";
  uint64_t seed = 1;
};

const std::map<std::string, AotRequest::Packing> kPackings = {
    {"auto", AotRequest::Packing::automatic},
    {"compile", AotRequest::Packing::compile},
    {"load", AotRequest::Packing::load}};

/// "fc1.weights", or "t7" for a tensor that has no name.
std::string nameOf(const Graph &graph, uint64_t id) {
  std::string name = plainName(graph, id);
  return name == std::to_string(id) && graph.tensor(id).name.empty()
             ? "t" + name
             : name;
}

class CompileCommand {
public:
  explicit CompileCommand(const CompileArgs &args) : args(args) {}
  int run();

private:
  Expected<bool> chooseOutput();
  Expected<bool> loadGraph();
  Expected<bool> addConstants();
  Expected<bool> addAll(const std::vector<std::string> &texts,
                        const char *option);
  Expected<bool> addConstant(const TensorSpec &spec, const char *option);
  Expected<bool> addValue(uint64_t id, const reference::Tensor &value);
  void tell(const AotFiles &files) const;

  const CompileArgs &args;
  graph::PreparedGraph graph;
  Constants constants; // of the model
  AotRequest request;
};

Expected<bool> CompileCommand::chooseOutput() {
  request.link.files = args.linked;
  request.link.linker = args.linker;
  return planFiles(args.paths, request);
}

Expected<bool> CompileCommand::addValue(uint64_t id,
                                        const reference::Tensor &value) {
  auto buffer = bufferOf(graph->tensor(id), value);
  if (!buffer)
    return buffer.errors();
  request.constants[id] =
      std::string(static_cast<const char *>(buffer->data()), buffer->bytes());
  return true;
}

Expected<bool> CompileCommand::addConstant(const TensorSpec &spec,
                                           const char *option) {
  if (isIgnored(*graph, spec.name))
    return true;
  auto id = resolveTensor(*graph, spec.name);
  if (!id)
    return id.errors();
  const graph::LogicalTensor &tensor = graph->tensor(*id);
  std::string what = std::string(option) + ": " + describeTensor(*graph, *id);
  if (std::find(graph->inputPorts.begin(), graph->inputPorts.end(), *id) ==
          graph->inputPorts.end() ||
      tensor.property != graph::PropertyType::constant)
    return badOption(what + " is no constant input of the graph");
  if (!tensor.hasStaticShape())
    return badOption(what + " has unknown sizes");
  if (spec.source == TensorSpec::Source::fill)
    return badOption(what + " is given no values");
  auto value = makeTensor(spec, tensor);
  if (!value)
    return value.errors();
  return addValue(*id, *value);
}

Expected<bool> CompileCommand::addConstants() {
  for (uint64_t id : graph->inputPorts)
    if (const auto *bytes = constants.find(id))
      request.constants[id] = std::string(
          reinterpret_cast<const char *>(bytes->data()), bytes->size());
  if (args.fill) {
    auto values = check::fillInputs(*graph, args.seed);
    if (!values)
      return values.errors();
    for (uint64_t id : graph->inputPorts)
      if (graph->tensor(id).property == graph::PropertyType::constant)
        if (auto ok = addValue(id, values->at(id)); !ok)
          return ok;
  }
  if (args.constantsFolder.ends_with(".npz")) {
    if (auto ok = addAll({"@" + args.constantsFolder}, "--constants"); !ok)
      return ok;
  } else if (!args.constantsFolder.empty()) {
    std::error_code error;
    std::filesystem::directory_iterator folder(args.constantsFolder, error);
    if (error) {
      Error e;
      e.code = ErrorCode::CannotRead;
      e.message = args.constantsFolder + ": " + error.message();
      return e;
    }
    for (const auto &entry : folder) {
      if (entry.path().extension() != ".npy")
        continue;
      TensorSpec spec;
      spec.name = entry.path().stem().string();
      spec.source = TensorSpec::Source::file;
      spec.path = entry.path().string();
      if (auto ok = addConstant(spec, "--constants"); !ok)
        return ok;
    }
  }
  return addAll(args.constants, "--constant");
}

Expected<bool> CompileCommand::addAll(const std::vector<std::string> &texts,
                                      const char *option) {
  auto specs = parseInputs(texts);
  if (!specs)
    return specs.errors();
  for (const TensorSpec &spec : *specs)
    if (auto ok = addConstant(spec, option); !ok)
      return ok;
  return true;
}

void CompileCommand::tell(const AotFiles &files) const {
  std::string targets;
  for (const std::string &target : files.targets)
    targets += (targets.empty() ? "" : ", ") + target;
  std::printf("wrote %s, %s, for %s\n", args.paths.output.c_str(),
              bytesText(static_cast<double>(files.code.size())).c_str(),
              targets.c_str());
  for (const std::string &version : files.versions)
    std::printf("with code of its own for %s\n", version.c_str());
  for (const std::string &remark : files.remarks)
    std::fprintf(stderr, "remark: %s\n", remark.c_str());
  if (!args.paths.weights.empty())
    std::printf("wrote %s, %s\n", args.paths.weights.c_str(),
                bytesText(static_cast<double>(files.weights.size())).c_str());
}

Expected<bool> CompileCommand::loadGraph() {
  auto loaded = loadForInspection(args.model);
  if (!loaded)
    return loaded.errors();
  graph = std::move(loaded->graph);
  constants = std::move(loaded->constants);
  for (const std::string &name : loaded->unread)
    std::fprintf(stderr,
                 "remark: no operation reads the input %s, for which there is "
                 "no argument\n",
                 name.c_str());
  return true;
}

int CompileCommand::run() {
  for (auto step : {&CompileCommand::chooseOutput, &CompileCommand::loadGraph,
                    &CompileCommand::addConstants})
    if (auto ok = (this->*step)(); !ok)
      return fail(ok.errors());
  request.options = args.model.options;
  request.targets = splitText(args.targets, ',');
  request.triple = args.triple;
  request.nameOf = nameOf;
  request.packing = kPackings.at(args.packing);
  auto files = [&] {
    BusyCompiling busy(args.model.path);
    return compileAhead(graph, std::move(request));
  }();
  if (!files)
    return fail(files.errors());
  if (auto written = writeAotFiles(args.paths, *files); !written)
    return fail(written.errors());
  tell(*files);
  return 0;
}

void addOptions(CLI::App &sub, CompileArgs &args) {
  const char *files = "Files";
  sub.add_option("-o,--output", args.paths.output,
                 "object (.o), library (.so) or archive (.a) to write")
      ->required()
      ->group(files);
  sub.add_option("--header", args.paths.header, "C header to write")
      ->group(files);
  sub.add_option("--weights", args.paths.weights,
                 "file for the values of constants, which are otherwise part "
                 "of the code")
      ->group(files);
  sub.add_option("--name", args.paths.name,
                 "begins the names of all functions; that of the output by "
                 "default")
      ->group(files);
  sub.add_option("--linker", args.linker,
                 "a linker like ld; ld.lld or ld by default")
      ->group(files);
  sub.add_option("--link", args.linked,
                 "further file of a library: libtenon_rt.so for it to load, or "
                 "libtenon_rt.a and libgcc.a to be part of it")
      ->allow_extra_args(false)
      ->group(files);
  const char *targets = "Targets";
  CLI::Option *cpu = sub.get_option("--target-cpu");
  sub.add_option("--targets", args.targets,
                 "several CPUs, separated by commas; the best one that the "
                 "CPU implements is used")
      ->excludes(cpu)
      ->group(targets);
  sub.add_option("--target-triple", args.triple,
                 "another machine: aarch64-linux-gnu")
      ->group(targets);
  const char *values = "Constants";
  sub.add_option("--constants", args.constantsFolder,
                 "folder with a file NAME.npy for each constant, or a file "
                 ".npz; the caller of the code gives the others")
      ->group(values);
  sub.add_option("--constant", args.constants,
                 "NAME=SPEC, where SPEC is @w.npy, cast:@w.npy, rand:SEED, "
                 "ones, zeros or iota; or @w.npz: all arrays of a file")
      ->allow_extra_args(false)
      ->group(values);
  sub.add_flag("--fill-constants", args.fill,
               "the values that tenon run takes for constants")
      ->group(values);
  sub.add_option("--pack-constants", args.packing,
                 "when they are arranged for the code: compile, for each of "
                 "the targets; load, each time the file is loaded, which lets "
                 "tenon run check it; auto: compile from 1 MiB on, where there "
                 "is one target and this machine executes it")
      ->check(CLI::IsMember(kPackings))
      ->capture_default_str()
      ->group(values);
  sub.add_option("--seed", args.seed, "of those values")
      ->check(anySeed())
      ->capture_default_str()
      ->group(values);
}

} // namespace

void addCompileCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<CompileArgs>();
  CLI::App *sub = app.add_subcommand(
      "compile", "write a model as code that C programs link");
  addModelOptions(*sub, args->model);
  addOptions(*sub, *args);
  sub->callback([args, &action] {
    action = [args] { return CompileCommand(*args).run(); };
  });
}

} // namespace tenon::cli
