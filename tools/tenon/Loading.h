//===- Loading.h - a graph or a file compiled from one ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What MODEL is for the commands that execute: a graph, which they compile, or
// a file that tenon compile wrote.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Aot.h"
#include "tools/tenon/Execution.h"
#include "tools/tenon/ModelArgs.h"

#include <optional>

namespace tenon::cli {

/// `--weights` and `--without-features`.
void addArtefactOptions(CLI::App &app, AotLoadOptions &options);

struct LoadedModel {
  std::string path;
  graph::Graph graph;
  /// Values of its constants, if it has them.
  Constants constants;
  std::vector<std::string> unread; // as Model has them
  std::vector<CountedOutput> counted;
  /// What it was read from, when it is compiled already.
  std::optional<AotFile> file;
};

/// Errors: those of loadOptionsOf, readModel and readAotFile.
Expected<LoadedModel> loadModel(const ModelArgs &args,
                                const std::vector<TensorSpec> &inputs = {});

/// As prepare; BadOption for changes that a compiled file cannot follow.
Expected<Prepared> prepareLoaded(const LoadedModel &model,
                                 const OverrideText &overrides,
                                 const std::vector<TensorSpec> &inputs = {});

/// Compiles the graph, or loads the file.
Expected<std::unique_ptr<Compiled>>
compileOrLoad(const LoadedModel &model, const Prepared &prepared,
              const Options &options, const AotLoadOptions &loadOptions,
              CompileReport *report);

/// Adds the values of constants that came with the code, as views of it; no
/// bytes where the code has them in packed form only.
void addWeights(const Compiled &compiled, const graph::Graph &graph,
                Constants &constants);

} // namespace tenon::cli
