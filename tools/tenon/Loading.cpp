//===- Loading.cpp - a graph or a file compiled from one ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Loading.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/Loading.h"

#include <CLI/CLI.hpp>

#include <cstring>

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

Expected<LoadedModel> loadModel(const std::string &path) {
  LoadedModel model;
  model.path = path;
  if (isAotFile(path)) {
    auto file = readAotFile(path);
    if (!file)
      return file.errors();
    model.graph = file->graph;
    model.file = std::move(*file);
    printRemarks(model.graph);
    return model;
  }
  auto graph = loadGraph(path);
  if (!graph)
    return graph.errors();
  model.graph = std::move(*graph);
  printRemarks(model.graph);
  return model;
}

Expected<Prepared> prepareLoaded(const LoadedModel &model,
                                 const OverrideText &overrides,
                                 const std::vector<TensorSpec> &inputs) {
  auto prepared = prepare(model.path, model.graph, overrides, inputs);
  if (!prepared || !model.file)
    return prepared;
  OverrideText structural = overrides;
  structural.mb.clear();
  structural.inShapes.clear();
  bool sameShapes = prepared->isDynamic;
  if (!sameShapes) {
    sameShapes = true;
    for (uint64_t id : model.graph.inputPorts)
      sameShapes &=
          model.graph.tensor(id).shape == prepared->runGraph.tensor(id).shape;
  }
  if (!overridesText(structural).empty() || !sameShapes)
    return badOption("a compiled file cannot be changed",
                     "compile the model with these options");
  return prepared;
}

Expected<std::unique_ptr<Compiled>>
compileOrLoad(const LoadedModel &model, const Prepared &prepared,
              const Options &options, const AotLoadOptions &loadOptions,
              CompileReport *report) {
  if (!model.file)
    return Compiled::compile(prepared.compileGraph, options, report);
  return loadAotFile(*model.file, loadOptions);
}

Expected<bool> takeWeights(const Compiled &compiled, const Graph &graph,
                           TensorMap &values) {
  for (uint64_t id : graph.inputPorts) {
    const void *weight = compiled.weight(id);
    if (!weight)
      continue;
    const graph::LogicalTensor &tensor = graph.tensor(id);
    auto buffer = TensorBuffer::allocate(tensor.dtype, *tensor.shape,
                                         stridesFor(tensor, *tensor.shape));
    if (!buffer)
      return buffer.errors();
    std::memcpy(buffer->data(), weight, buffer->bytes());
    auto value = buffer->read();
    if (!value)
      return value.errors();
    values[id] = std::move(*value);
  }
  return true;
}

} // namespace tenon::cli
