//===- Loading.cpp - a graph or a file compiled from one ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Loading.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Loading.h"

#include "compiler/driver/Denormals.h"
#include "compiler/report/Stats.h"
#include "tools/tenon/Progress.h"

#include <CLI/CLI.hpp>

namespace tenon::cli {

using graph::Graph;

void addArtefactOptions(CLI::App &app, AotLoadOptions &options) {
  const char *group = "Compiled files";
  app.add_option("--weights", options.weightsFile,
                 "file of weights that MODEL was compiled with")
      ->group(group);
  app.add_option("--without-features", options.withoutFeatures,
                 "features of the CPU to do without: avx512f,avx2")
      ->group(group);
}

Expected<LoadedModel> loadModel(const ModelArgs &args,
                                const std::vector<TensorSpec> &inputs) {
  LoadedModel model;
  model.path = args.path;
  if (isAotFile(args.path)) {
    auto file = readAotFile(args.path);
    if (!file)
      return file.errors();
    model.graph = file->graph;
    model.file = std::move(*file);
    printRemarks(model.graph);
    return model;
  }
  auto options = loadOptionsOf(args, inputs);
  if (!options)
    return options.errors();
  auto read = readForUser(args.path, *options);
  if (!read)
    return read.errors();
  model.graph = std::move(read->graph);
  model.constants = std::move(read->constants);
  model.unread = std::move(read->unread);
  model.counted = std::move(read->counted);
  printRemarks(model.graph);
  return model;
}

Expected<Prepared> prepareLoaded(const LoadedModel &model,
                                 const OverrideText &overrides,
                                 const std::vector<TensorSpec> &inputs) {
  auto prepared = prepare(model.path, model.graph,
                          withoutShapesOf(model.unread, overrides), inputs);
  if (!prepared || !model.file)
    return prepared;
  OverrideText structural = overrides;
  structural.mb.clear();
  structural.inShapes.clear();
  constexpr const char *kHint = "compile the model with these options";
  if (!overridesText(structural).empty())
    return badOption("a compiled file cannot be changed", kHint);
  for (uint64_t id : model.graph.inputPorts) {
    const graph::LogicalTensor &is = model.graph.tensor(id);
    const graph::LogicalTensor &wanted = prepared->runGraph.tensor(id);
    if (!prepared->isDynamic && is.shape != wanted.shape)
      return badOption("a compiled file cannot be changed: its " +
                           describeTensor(model.graph, id) + " is " +
                           report::typeText(is) + ", not " +
                           report::typeText(wanted),
                       kHint);
  }
  return prepared;
}

Expected<std::unique_ptr<Compiled>>
compileOrLoad(const LoadedModel &model, const Prepared &prepared,
              const Options &options, const AotLoadOptions &loadOptions,
              CompileReport *report) {
  if (!model.file) {
    BusyCompiling busy(model.path);
    Options decided =
        decideDenormals(options, *prepared.compileGraph, model.constants);
    if (decided.denormals != options.denormals &&
        decided.denormals == kFlushDenormals)
      std::fprintf(stderr, "remark: %s\n", kFlushedRemark);
    return Compiled::compile(prepared.compileGraph, decided, report);
  }
  return loadAotFile(*model.file, loadOptions);
}

void addWeights(const Compiled &compiled, const Graph &graph,
                Constants &constants) {
  for (uint64_t id : graph.inputPorts) {
    if (compiled.isPacked(id)) {
      constants.add(id, std::span<const std::byte>());
      continue;
    }
    const void *weight = compiled.weight(id);
    if (!weight)
      continue;
    const graph::LogicalTensor &tensor = graph.tensor(id);
    int64_t bytes = reference::spannedBytes(tensor.dtype, *tensor.shape,
                                            stridesFor(tensor, *tensor.shape));
    constants.add(id, {static_cast<const std::byte *>(weight),
                       static_cast<size_t>(bytes)});
  }
}

} // namespace tenon::cli
