//===- Aot.cpp - writing files compiled ahead of time ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Aot.h"

#include "codegen/aot/Stubs.h"
#include "compiler/driver/Generate.h"
#include "compiler/driver/Version.h"
#include "compiler/driver/Versions.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/Fail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <tuple>

namespace tenon {

namespace {

Expected<std::vector<Target>> resolveAll(const AotRequest &request,
                                         const llvm::Triple &triple) {
  std::vector<std::string> cpus = request.targets;
  if (cpus.empty())
    cpus = {request.options.targetCpu};
  std::vector<Target> targets;
  for (const std::string &cpu : cpus) {
    auto target = Target::resolveAhead(request.options, cpu, triple.str());
    if (!target)
      return target.errors();
    for (const Target &other : targets)
      if (other.spec.cpu == target->spec.cpu)
        return fail(ErrorCode::BadOption,
                    "the target '" + target->spec.cpu + "' is given twice");
    targets.push_back(std::move(*target));
  }
  // A target whose features include another's comes before it.
  auto rank = [](const Target &t) {
    return std::tuple(-t.vectorBits, -static_cast<int64_t>(t.features.size()),
                      t.spec.cpu);
  };
  std::sort(
      targets.begin(), targets.end(),
      [&](const Target &a, const Target &b) { return rank(a) < rank(b); });
  return targets;
}

codegen::WeightsInfo collectWeights(const graph::Graph &graph,
                                    const AotRequest &request) {
  codegen::WeightsInfo weights;
  weights.embed = request.embedWeights;
  for (size_t i = 0; i < graph.inputPorts.size(); ++i) {
    auto values = request.constants.find(graph.inputPorts[i]);
    if (values == request.constants.end())
      continue;
    weights.data.resize(llvm::alignTo(weights.data.size(), 64));
    weights.places.push_back({static_cast<int64_t>(i),
                              static_cast<int64_t>(weights.data.size()),
                              static_cast<int64_t>(values->second.size())});
    weights.data.insert(weights.data.end(), values->second.begin(),
                        values->second.end());
  }
  return weights;
}

codegen::AotInterface describeInterface(const graph::Graph &graph,
                                        const Versions &versions,
                                        const AotRequest &request) {
  codegen::AotInterface about;
  about.prefix = request.prefix;
  auto describe = [&](const graph::Graph &of, const std::string &name) {
    codegen::ModelInfo model = describeModel(of);
    model.name = name;
    for (codegen::TensorInfo &tensor : model.tensors)
      tensor.name = request.nameOf(graph, tensor.id);
    return model;
  };
  about.model = describe(graph, request.prefix);
  std::vector<std::string> names;
  for (const codegen::TensorInfo &tensor : about.model.tensors)
    names.push_back(tensor.name);
  about.arguments = codegen::identifiersFor(names);
  about.model.weights = collectWeights(graph, request);
  for (const Version &version : versions.list)
    about.versions.push_back(describe(*version.graph, version.name));
  return about;
}

/// Of version `number`, or of the code for all sizes.
std::string codeSymbol(const AotRequest &request, const Target &target,
                       size_t number, size_t versions) {
  std::string symbol =
      request.prefix + "_code_" + codegen::identifierFor(target.spec.cpu);
  return number < versions ? symbol + "_version_" + std::to_string(number)
                           : symbol;
}

/// The objects of all versions, then of the code for all sizes, for all
/// targets; the last one holds what they share.
Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
compileAll(const graph::PreparedGraph &graph, const Versions &versions,
           const AotRequest &request, const std::vector<Target> &targets,
           const codegen::AotInterface &about, const codegen::Seal &seal) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  size_t count = versions.list.size();
  std::vector<std::vector<std::string>> symbols(count + 1);
  for (size_t number = 0; number <= count; ++number)
    for (const Target &target : targets) {
      std::vector<std::string> &own = symbols[number];
      own.push_back(codeSymbol(request, target, number, count));
      auto finish = [&](llvm::Module &module, codegen::CodeInfo &code) {
        code.target = target.spec.cpu;
        codegen::finishCode(module, code, own.back());
        if (number < count || own.size() < targets.size())
          return;
        bool isX86 = llvm::Triple(target.spec.triple).isX86();
        codegen::emitStubs(module, about, symbols,
                           isX86 ? "x86-64" : "generic");
        codegen::emitSeal(module, seal, json::writeJson(*graph));
      };
      CompileReport report;
      // One object: functions stay private to it.
      auto code = generateCode(
          number < count ? versions.list[number].graph : graph, request.options,
          target, finish, report, /*inParts=*/false);
      if (!code)
        return code.errors();
      objects.push_back(std::move(code->object));
    }
  return objects;
}

} // namespace

Expected<AotFiles> compileAhead(const graph::PreparedGraph &graph,
                                const AotRequest &request) {
  llvm::Triple triple(llvm::Triple::normalize(
      request.triple.empty() ? codegen::TargetSpec::host().triple
                             : request.triple));
  if (auto ok = codegen::checkTarget({triple.str(), "generic", ""}); !ok)
    return ok.errors();
  auto targets = resolveAll(request, triple);
  if (!targets)
    return targets.errors();
  for (const auto *ports : {&graph->inputPorts, &graph->outputPorts})
    for (uint64_t id : *ports)
      if (!graph->tensor(id).shape)
        return fail(ErrorCode::UnknownShape, "the rank of tensor " +
                                                 std::to_string(id) +
                                                 " is not known");
  Versions versions = versionsOf(graph);
  codegen::AotInterface about = describeInterface(*graph, versions, request);
  codegen::Seal seal = {
      compilerVersion(), triple.str(), request.prefix, {}, {}};
  for (const Target &target : *targets)
    seal.targets.push_back(target.spec.cpu);
  auto objects = compileAll(graph, versions, request, *targets, about, seal);
  if (!objects)
    return objects.errors();
  codegen::LinkJob job = request.link;
  job.triple = triple.str();
  for (const auto &object : *objects)
    job.objects.push_back(object->getBuffer());
  auto linked = codegen::linkObjects(job);
  if (!linked)
    return linked.errors();
  AotFiles files;
  files.code = std::move(*linked);
  if (auto ok = codegen::applySeal(files.code); !ok)
    return ok.errors();
  files.header = codegen::headerText(about, seal.targets);
  files.targets = seal.targets;
  for (const Version &version : versions.list)
    files.versions.push_back(version.name);
  files.remarks = versions.remarks;
  const std::vector<char> &weights = about.model.weights.data;
  if (!request.embedWeights)
    files.weights.assign(weights.begin(), weights.end());
  return files;
}

} // namespace tenon
