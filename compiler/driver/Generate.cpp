//===- Generate.cpp - a graph through all phases --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Generate.h"

#include "compiler/driver/Gather.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Reproducer.h"
#include "compiler/driver/Versions.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <map>

using namespace mlir;

namespace tenon {

namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

} // namespace

codegen::ModelInfo describeModel(const graph::Graph &graph) {
  codegen::ModelInfo info;
  std::map<uint64_t, const graph::Op *> producers, readers;
  for (const graph::Op &op : graph.ops) {
    for (uint64_t id : op.outputs)
      producers[id] = &op;
    for (uint64_t id : op.inputs)
      readers.insert({id, &op});
  }
  auto add = [&](uint64_t id,
                 const std::map<uint64_t, const graph::Op *> &near) {
    const graph::LogicalTensor &t = graph.tensor(id);
    codegen::TensorInfo &tensor = info.tensors.emplace_back();
    tensor.id = id;
    if (auto op = near.find(id); op != near.end())
      tensor.name = op->second->name;
    tensor.dtype = static_cast<int32_t>(t.dtype);
    tensor.dims = *t.shape;
    tensor.strides = t.strides;
    tensor.constant = t.property == graph::PropertyType::constant;
  };
  for (uint64_t id : graph.inputPorts)
    add(id, readers);
  for (uint64_t id : graph.outputPorts)
    add(id, producers);
  info.numInputs = static_cast<int64_t>(graph.inputPorts.size());
  for (const auto &[name, dims] : openSizes(graph)) {
    const graph::SizeFacts &facts = graph.sizeFacts.at(name);
    codegen::SizeInfo &size = info.sizes.emplace_back();
    size.name = name;
    size.min = facts.min;
    size.max = facts.max;
    size.multipleOf = facts.multipleOf;
    for (const OpenDim &at : dims)
      size.dims.push_back(
          {static_cast<int32_t>(at.input), static_cast<int32_t>(at.dim)});
  }
  return info;
}

Expected<Generated> generateCode(const graph::PreparedGraph &graph,
                                 const Options &options, const Target &target,
                                 const FinishCode &finish,
                                 CompileReport &report, bool inParts) {
  Generated result;
  auto start = std::chrono::steady_clock::now();
  Pipeline pipeline(options);
  if (auto errors = pipeline.import(graph, target); !errors.empty())
    return errors;
  report.targetCpu = target.spec.cpu;
  report.schedule = target.schedule;
  report.ops = static_cast<int64_t>(graph->ops.size());
  report.phases.push_back({"setup", secondsSince(start)});
  Gathered gathered(graph, target, report);
  gathered.code.target = options.targetCpu;
  gathered.code.features = llvm::join(target.features, ",");
  gathered.code.flushDenormals = options.denormals == kFlushDenormals;
  std::string_view reached;
  auto errors =
      pipeline.run("", "llvm", [&](const Phase &phase, double seconds) {
        reached = phase.name;
        report.phases.push_back({std::string(phase.name), seconds});
        gatherAfter(phase, pipeline.module(), gathered);
      });
  if (!errors.empty()) {
    keepReproducer(graph, options, target, reached, errors);
    return errors;
  }
  tellPhase("object");
  auto objectStart = std::chrono::steady_clock::now();
  codegen::CompileOptions compileOptions;
  compileOptions.inParts = inParts;
  compileOptions.finish = [&](llvm::Module &module) {
    finish(module, gathered.code);
  };
  auto object =
      codegen::compileToObject(pipeline.module(), target.spec, compileOptions);
  if (!object)
    return object.errors();
  report.codeBytes = static_cast<int64_t>((*object)->getBufferSize());
  report.phases.push_back({"object", secondsSince(objectStart)});
  report.remarks = graph::remarksOnPorts(*graph);
  llvm::append_range(report.remarks, pipeline.remarks());
  result.object = std::move(*object);
  result.inPlace = std::move(gathered.inPlace);
  return result;
}

} // namespace tenon
