//===- ModelArgs.h - the model and how to treat it --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The options of every subcommand that works on a model: its file, the
// rewriting overrides, the compiler's options (from Options.def), and where to
// execute.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/import/Load.h"
#include "compiler/import/Overrides.h"
#include "tools/tenon/Cli.h"
#include "tools/tenon/Tensors.h"

namespace tenon::cli {

struct ModelArgs {
  std::string path;
  std::vector<std::string> bound; // NAME=NUMBERS
  OverrideText overrides;
  Options options;
};

struct ExecArgs {
  int threads = 1;
  bool pool = false; // execute in a pool of the caller
  uint64_t seed = 1;
};

inline constexpr const char *kGraphFile =
    "model or graph, an .onnx, .json or .mlir file";
inline constexpr const char *kGraphOrCompiledFile =
    "model or graph, an .onnx, .json or .mlir file, or a file that compile "
    "wrote";

/// `required`: without a file the command line is wrong. `model` says what
/// file that is.
void addModelOptions(CLI::App &app, ModelArgs &args, bool required = true,
                     const char *model = kGraphFile);
/// The overrides alone.
void addOverrideOptions(CLI::App &app, OverrideText &overrides);
/// Flags from Options.def, mirrored in the environment.
void addCompilerOptions(CLI::App &app, Options &options);
void addExecOptions(CLI::App &app, ExecArgs &args);
/// --input, which may be repeated; parseInputs() reads what is given, and the
/// files that it names. Errors: those of parseTensorSpec and openFiles.
void addInputOption(CLI::App &app, std::vector<std::string> &inputs);
Expected<std::vector<TensorSpec>>
parseInputs(const std::vector<std::string> &texts);

/// Every combination of the alternatives that commas separate.  Errors:
/// BadOption when there are more than 10000.
Expected<std::vector<OverrideText>> alternatives(const OverrideText &overrides);

/// `--mb=2 --in-shapes=...`, quoted for a shell; empty without overrides.
std::string overridesText(const OverrideText &overrides);
/// `word` in quotes where a shell would not take it literally.
std::string shellQuote(const std::string &word);

/// `overrides` with ids where it names tensors and operations of `graph`.
/// Errors: UnknownTensor, with names that would do.
Expected<OverrideText> namesToIds(const graph::Graph &graph,
                                  OverrideText overrides);
/// `overrides`, of which one alternative is left, without shapes of inputs that
/// no operation of the model reads.
OverrideText withoutShapesOf(const std::vector<std::string> &unread,
                             OverrideText overrides);
/// The shapes that `--in-shapes` gives, by what it calls the tensors; none when
/// it has several alternatives.
std::map<std::string, graph::Dims, std::less<>>
shapesByName(const OverrideText &overrides);

/// One graph to compile and one to execute, both inferred.
struct Prepared {
  /// With the dims that are unknown until run time.
  graph::PreparedGraph compileGraph;
  /// With the shapes of one execution; the same ids.
  graph::Graph runGraph;
  /// Whether compileGraph serves other shapes as well.
  bool isDynamic = false;
};

/// Applies `overrides` and the shapes of `inputs` to `model`, which was read
/// from `path`.  A model with unknown dims keeps them for compilation when the
/// overrides only say what they are.  Errors: those of the overrides and of the
/// graph, which name the file; UnknownTensor; BadOption.
Expected<Prepared> prepare(const std::string &path, const graph::Graph &model,
                           const OverrideText &overrides,
                           const std::vector<TensorSpec> &inputs = {});

/// What `--bind` says, and the shapes of `inputs` by name. Errors: BadOption.
Expected<LoadOptions> loadOptionsOf(const ModelArgs &args,
                                    const std::vector<TensorSpec> &inputs = {});

/// The input ports with unknown dims, as an error that says how to give them;
/// empty when there are none.
std::vector<Error> unknownInputs(const graph::Graph &graph);

/// readModel, with a sign of life while it takes long, and hints to options.
Expected<Model> readForUser(const std::string &path, LoadOptions options);

/// A model with exactly one set of overrides, unknown dims kept.
struct InspectedModel {
  graph::PreparedGraph graph;
  Constants constants;
  std::vector<std::string> unread; // as Model has them
};
/// For what needs no execution. `summary`, unless null, is filled as
/// LoadOptions says. Errors: those of loadOptionsOf, readModel and overrides.
Expected<InspectedModel> loadForInspection(const ModelArgs &args,
                                           ModelSummary *summary = nullptr);

/// Says on stderr which inputs are ignored.
void printRemarks(const graph::Graph &graph);
/// Whether `name` is the id of an input that no operation reads.
bool isIgnored(const graph::Graph &graph, std::string_view name);
/// Removes what is given for inputs that no operation reads: those of the
/// graph, and `unread` of a model.
void dropIgnored(const graph::Graph &graph,
                 const std::vector<std::string> &unread,
                 std::vector<TensorSpec> &specs);

} // namespace tenon::cli
