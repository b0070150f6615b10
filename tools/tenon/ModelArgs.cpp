//===- ModelArgs.cpp - the model and how to treat it ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See ModelArgs.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/ModelArgs.h"

#include "compiler/driver/Session.h"
#include "compiler/report/Stats.h"
#include "tools/tenon/Progress.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tenon::cli {

using graph::Graph;
using graph::LogicalTensor;

namespace {

struct OverrideOption {
  const char *flag;
  std::string OverrideText::*text;
  const char *help;
};

constexpr OverrideOption kOverrides[] = {
    {"mb", &OverrideText::mb, "batch size N, or several: N,N"},
    {"in-shapes", &OverrideText::inShapes,
     "NAME:SHAPE[*LAYOUT]+...: shapes and strides of inputs, x:2x16*ba; here "
     "and below an id does instead of a name"},
    {"op-attrs", &OverrideText::opAttrs,
     "OPERATION:ATTRIBUTE:VALUE[*ATTRIBUTE:VALUE]+...: attributes of "
     "operations"},
    {"op-kind", &OverrideText::opKind,
     "OPERATION:KIND+...: kinds of operations"},
    {"dt", &OverrideText::dt, "DT or NAME:DT+...: data types"},
    {"attr-fpmath", &OverrideText::attrFpmath, "MODE[:true|false]"},
    {"tensor-property", &OverrideText::tensorProperty,
     "NAME:PROPERTY+...: variable, constant, host_scalar or undef"},
    {"likely", &OverrideText::likely,
     "SIZE:VALUE[*VALUE]+...: values of named sizes that get code of their "
     "own"},
};

void addOption(CLI::App &app, const char *flag, bool &value, const char *help) {
  std::string name = "--" + std::string(flag);
  app.add_flag(name + ",!--no-" + flag, value, help)
      ->envname(environmentName(flag))
      ->group("Compiler");
}

template <typename T>
void addOption(CLI::App &app, const char *flag, T &value, const char *help) {
  app.add_option("--" + std::string(flag), value, help)
      ->envname(environmentName(flag))
      ->capture_default_str()
      ->group("Compiler");
}

} // namespace

void addOverrideOptions(CLI::App &app, OverrideText &overrides) {
  for (const OverrideOption &override : kOverrides)
    app.add_option("--" + std::string(override.flag), overrides.*override.text,
                   override.help)
        ->group("Changes to the model");
}

void addCompilerOptions(CLI::App &app, Options &options) {
#define TENON_OPTION(type, name, flag, fallback, help)                         \
  addOption(app, flag, options.name, help);
#include "compiler/driver/Options.def"
}

void addModelOptions(CLI::App &app, ModelArgs &args, bool required,
                     const char *model) {
  app.add_option("model", args.path, model)->required(required);
  app.add_option("--bind", args.bound,
                 "NAME=NUMBERS: an input of a model that is the same in all "
                 "executions, so that what depends on it is computed now")
      ->allow_extra_args(false)
      ->group("Changes to the model");
  addOverrideOptions(app, args.overrides);
  addCompilerOptions(app, args.options);
}

void addExecOptions(CLI::App &app, ExecArgs &args) {
  constexpr int kMostThreads = 1024;
  app.add_option("--threads", args.threads, "threads to execute with")
      ->check(CLI::Range(1, kMostThreads))
      ->envname("TENON_THREADS")
      ->capture_default_str()
      ->group("Execution");
  app.add_flag("--pool", args.pool,
               "execute in a thread pool of the caller, not Tenon's own")
      ->group("Execution");
  app.add_option("--seed", args.seed, "of the data of inputs")
      ->check(anySeed())
      ->capture_default_str()
      ->group("Execution");
}

void addInputOption(CLI::App &app, std::vector<std::string> &inputs) {
  app.add_option("--input", inputs,
                 "NAME=SPEC, where SPEC is 4x16xf32=@x.npy, @x.npy, "
                 "cast:@x.npy, rand:SEED, ones, zeros or iota; or @x.npz: all "
                 "arrays of a file by their names")
      ->allow_extra_args(false)
      ->group("Data");
}

Expected<std::vector<TensorSpec>>
parseInputs(const std::vector<std::string> &texts) {
  std::vector<TensorSpec> specs;
  std::vector<Error> errors;
  for (const std::string &text : texts) {
    auto spec = parseTensorSpec(text);
    if (spec)
      specs.push_back(std::move(*spec));
    else
      errors.push_back(spec.errors().front());
  }
  if (!errors.empty())
    return errors;
  return openFiles(std::move(specs));
}

Expected<std::vector<OverrideText>>
alternatives(const OverrideText &overrides) {
  constexpr size_t kMost = 10000;
  std::vector<OverrideText> all = {overrides};
  for (const OverrideOption &override : kOverrides) {
    std::vector<std::string> values = splitText(overrides.*override.text, ',');
    if (values.size() < 2)
      continue;
    if (values.size() > kMost / all.size())
      return badOption("the overrides ask for more than " +
                       std::to_string(kMost) + " combinations");
    std::vector<OverrideText> more;
    for (const OverrideText &text : all)
      for (const std::string &value : values) {
        more.push_back(text);
        more.back().*override.text = value;
      }
    all = std::move(more);
  }
  return all;
}

std::string shellQuote(const std::string &word) {
  bool isPlain = !word.empty();
  for (char c : word)
    isPlain &= std::isalnum(static_cast<unsigned char>(c)) ||
               std::strchr("-_=:+,./@%", c);
  if (isPlain)
    return word;
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string overridesText(const OverrideText &overrides) {
  std::string text;
  for (const OverrideOption &override : kOverrides)
    if (const std::string &value = overrides.*override.text; !value.empty())
      text += (text.empty() ? "" : " ") +
              shellQuote("--" + std::string(override.flag) + "=" + value);
  return text;
}

//===----------------------------------------------------------------------===//
// Preparing graphs
//===----------------------------------------------------------------------===//

static void append(std::vector<Error> &errors, std::vector<Error> more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

/// Adds the shapes of `inputs` to `overrides`.
static std::vector<Error> addShapes(const Graph &graph,
                                    const std::vector<TensorSpec> &inputs,
                                    Overrides &overrides) {
  std::vector<Error> errors;
  for (const TensorSpec &spec : inputs) {
    Expected<uint64_t> id = resolveTensor(graph, spec.name);
    if (!id) {
      append(errors, id.errors());
      continue;
    }
    if (std::find(graph.inputPorts.begin(), graph.inputPorts.end(), *id) ==
        graph.inputPorts.end()) {
      errors.push_back(badOption("--input: " + describeTensor(graph, *id) +
                                 " is no input of the graph"));
      continue;
    }
    const LogicalTensor &tensor = graph.tensor(*id);
    if (spec.dtype && *spec.dtype != tensor.dtype)
      errors.push_back(badOption(
          "--input: " + describeTensor(graph, *id) + " has the data type " +
              std::string(graph::name(tensor.dtype)) + ", not " +
              std::string(graph::name(*spec.dtype)),
          "leave the type out, or change that of the model with --dt=" +
              plainName(graph, *id) + ":" +
              std::string(graph::name(*spec.dtype))));
    // The file of an input has the sizes that the model leaves open.
    std::optional<graph::Dims> shape = spec.shape;
    if (!shape && !tensor.hasStaticShape())
      shape = spec.fileShape;
    if (!shape || tensor.shape == shape)
      continue;
    Overrides::Tensor change;
    change.id = *id;
    change.shape = shape;
    overrides.tensors.push_back(std::move(change));
  }
  return errors;
}

static bool hasUnknownInputs(const Graph &graph) {
  return std::any_of(
      graph.inputPorts.begin(), graph.inputPorts.end(),
      [&](uint64_t id) { return !graph.tensor(id).hasStaticShape(); });
}

/// Whether code for `general` executes with the inputs of `special`.
static bool isInstanceOf(const Graph &special, const Graph &general) {
  if (special.inputPorts != general.inputPorts ||
      special.ops.size() != general.ops.size())
    return false;
  for (uint64_t id : general.inputPorts) {
    const LogicalTensor &g = general.tensor(id), &s = special.tensor(id);
    if (g.dtype != s.dtype || g.property != s.property || !s.hasStaticShape())
      return false;
    if (!g.shape)
      continue;
    if (g.shape->size() != s.shape->size())
      return false;
    for (size_t i = 0; i < g.shape->size(); ++i)
      if ((*g.shape)[i] != graph::kUnknownDim && (*g.shape)[i] != (*s.shape)[i])
        return false;
    graph::Dims strides = s.effectiveStrides();
    graph::Dims wanted =
        g.strides.empty() ? graph::denseStrides(*s.shape) : g.strides;
    for (size_t i = 0; i < wanted.size() && i < strides.size(); ++i)
      if (wanted[i] != graph::kUnknownDim && wanted[i] != strides[i] &&
          (*s.shape)[i] > 1)
        return false;
  }
  return true;
}

static Expected<Overrides> parseFor(const Graph &graph,
                                    const OverrideText &text) {
  Expected<OverrideText> ids = namesToIds(graph, text);
  if (!ids)
    return ids.errors();
  return parseOverrides(*ids);
}

/// applyOverrides, with errors that name the file of the graph.
static Expected<graph::PreparedGraph>
applyTo(const std::string &path, Graph model, const Overrides &overrides) {
  auto applied = applyOverrides(std::move(model), overrides);
  if (applied)
    return applied;
  std::vector<Error> errors = applied.errors();
  for (Error &error : errors)
    error.message =
        path + ": " +
        (error.message.empty() ? describe(error.code) : error.message);
  return errors;
}

Expected<Prepared> prepare(const std::string &path, const Graph &model,
                           const OverrideText &overrides,
                           const std::vector<TensorSpec> &inputs) {
  Expected<Overrides> parsed = parseFor(model, overrides);
  if (!parsed)
    return parsed.errors();
  Overrides structural = *parsed;
  structural.mb = 0;
  structural.tensors.clear();
  if (auto errors = addShapes(model, inputs, *parsed); !errors.empty())
    return errors;

  auto run = applyTo(path, model, *parsed);
  if (!run)
    return run.errors();
  Prepared prepared;
  prepared.runGraph = **run;
  if (hasUnknownInputs(model)) {
    // Errors here only mean that the shapes are needed to compile.
    auto general = applyOverrides(model, structural);
    prepared.isDynamic = general && isInstanceOf(**run, **general);
    if (prepared.isDynamic)
      prepared.compileGraph = std::move(*general);
  }
  if (!prepared.isDynamic)
    prepared.compileGraph = std::move(*run);
  return prepared;
}

std::vector<Error> unknownInputs(const Graph &graph) {
  std::vector<Error> errors;
  for (uint64_t id : graph.inputPorts) {
    if (graph.tensor(id).hasStaticShape())
      continue;
    Error error;
    error.code = ErrorCode::UnknownShape;
    const LogicalTensor &tensor = graph.tensor(id);
    error.message = "input " + describeTensor(graph, id) + " is " +
                    report::typeText(tensor);
    std::string name = tensor.name.empty() ? std::to_string(id) : tensor.name;
    std::string shape;
    for (int64_t dim : tensor.shape.value_or(graph::Dims{}))
      shape += (shape.empty() ? "" : "x") +
               std::to_string(dim == graph::kUnknownDim ? 1 : dim);
    if (shape.empty())
      shape = "SHAPE";
    error.hint = "give its sizes, such as --in-shapes=" + name + ":" + shape +
                 " or --input " + name + "=" + shape + "x" +
                 std::string(graph::name(tensor.dtype)) + ", or with --mb=N";
    errors.push_back(std::move(error));
  }
  return errors;
}

void printRemarks(const Graph &graph) {
  for (const std::string &remark : graph::remarksOnPorts(graph))
    std::fprintf(stderr, "remark: %s\n", remark.c_str());
}

bool isIgnored(const Graph &graph, std::string_view name) {
  std::optional<int64_t> id = parseInteger(name);
  return id &&
         std::find(graph.ignoredInputs.begin(), graph.ignoredInputs.end(),
                   static_cast<uint64_t>(*id)) != graph.ignoredInputs.end();
}

void dropIgnored(const Graph &graph, const std::vector<std::string> &unread,
                 std::vector<TensorSpec> &specs) {
  std::erase_if(specs, [&](const TensorSpec &spec) {
    return isIgnored(graph, spec.name) ||
           std::find(unread.begin(), unread.end(), spec.name) != unread.end();
  });
}

Expected<LoadOptions> loadOptionsOf(const ModelArgs &args,
                                    const std::vector<TensorSpec> &inputs) {
  LoadOptions options;
  options.shapes = shapesByName(args.overrides);
  for (const TensorSpec &spec : inputs)
    if (auto shape = spec.shape ? spec.shape : spec.fileShape)
      options.shapes[spec.name] = *shape;
  for (const std::string &text : args.bound) {
    size_t equals = text.find('=');
    bool isGood = equals != text.npos && equals > 0;
    std::vector<double> numbers;
    for (const std::string &piece :
         splitText(isGood ? text.substr(equals + 1) : "", ',')) {
      char *end = nullptr;
      numbers.push_back(std::strtod(piece.c_str(), &end));
      isGood &= !piece.empty() && *end == 0;
    }
    if (!isGood || numbers.empty())
      return badOption("--bind: \"" + text + "\" is no name with numbers",
                       "--bind=sr=16000, --bind=axes=1,2");
    options.bound[text.substr(0, equals)] = std::move(numbers);
  }
  return options;
}

Expected<Model> readForUser(const std::string &path, LoadOptions options) {
  ModelSummary own;
  if (!options.summary)
    options.summary = &own;
  Busy busy("reading " + std::filesystem::path(path).filename().string());
  auto model = readModel(path, options);
  if (model && model->hasDoubles)
    std::fprintf(stderr,
                 "remark: the model computes with double, Tenon does so "
                 "in f32\n");
  if (model)
    return model;
  // Many a node is refused for sizes that its users know.
  std::string shapes;
  for (const ModelSummary::Port &input : options.summary->inputs)
    if (input.isOpen && !options.shapes.contains(input.name))
      shapes += (shapes.empty() ? "" : "+") + input.name + ":SHAPE";
  std::vector<Error> errors = model.errors();
  auto lacksSize = [](const Error &error) {
    return error.code == ErrorCode::UnsupportedForm && error.hint.empty() &&
           error.message.find("known") != error.message.npos;
  };
  if (auto found = std::ranges::find_if(errors, lacksSize);
      found != errors.end() && !shapes.empty())
    found->hint = "known sizes may help, --in-shapes=" + shapes;
  return errors;
}

Expected<InspectedModel> loadForInspection(const ModelArgs &args,
                                           ModelSummary *summary) {
  Expected<LoadOptions> options = loadOptionsOf(args);
  if (!options)
    return options.errors();
  options->summary = summary;
  Expected<Model> model = readForUser(args.path, *options);
  if (!model)
    return model.errors();
  printRemarks(model->graph);
  Expected<Overrides> overrides =
      parseFor(model->graph, withoutShapesOf(model->unread, args.overrides));
  if (!overrides)
    return overrides.errors();
  auto graph = applyTo(args.path, std::move(model->graph), *overrides);
  if (!graph)
    return graph.errors();
  return InspectedModel{std::move(*graph), std::move(model->constants),
                        std::move(model->unread)};
}

} // namespace tenon::cli
