//===- Aot.cpp - writing files compiled ahead of time ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Aot.h"

#include "codegen/aot/Stubs.h"
#include "codegen/llvm/LowerToLLVM.h"
#include "compiler/driver/AotCode.h"
#include "compiler/driver/Denormals.h"
#include "compiler/driver/Generate.h"
#include "compiler/driver/Version.h"
#include "compiler/driver/Versions.h"
#include "compiler/import/json/Json.h"
#include "dialects/support/Fail.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
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

/// The code of all versions, then the code for all sizes.
Expected<std::vector<AotCodes>> compileAll(const graph::PreparedGraph &graph,
                                           const Versions &versions,
                                           const AotRequest &request,
                                           const std::vector<Target> &targets) {
  size_t count = versions.list.size();
  std::vector<AotCodes> codes(count + 1);
  for (size_t number = 0; number <= count; ++number)
    for (const Target &target : targets) {
      AotCode code{target, codeSymbol(request, target, number, count), {}, {}};
      auto finish = [&](llvm::Module &module, codegen::CodeInfo &info) {
        info.target = target.spec.cpu;
        codegen::finishCode(module, info, code.symbol);
        code.info = info;
      };
      CompileReport report;
      // One object: functions stay private to it.
      auto generated = generateCode(
          number < count ? versions.list[number].graph : graph, request.options,
          target, finish, report, /*inParts=*/false);
      if (!generated)
        return generated.errors();
      code.object = std::move(generated->object);
      codes[number].push_back(std::move(code));
    }
  return codes;
}

/// The object with everything that is not code for a target.
Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileStubs(const codegen::AotInterface &about,
             const std::vector<AotCodes> &codes, const codegen::Seal &seal,
             const std::string &graph) {
  std::vector<std::vector<std::string>> symbols;
  for (const AotCodes &ofVersion : codes) {
    std::vector<std::string> &own = symbols.emplace_back();
    for (const AotCode &code : ofVersion)
      own.push_back(code.symbol);
  }
  codegen::CompileOptions options;
  options.finish = [&](llvm::Module &module) {
    codegen::emitStubs(module, about, symbols);
    codegen::emitSeal(module, seal, graph);
  };
  mlir::DialectRegistry registry;
  codegen::registerLLVMTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  // Any machine of the architecture.
  bool isX86 = llvm::Triple(seal.triple).isX86();
  return codegen::compileToObject(
      *module, {seal.triple, isX86 ? "x86-64" : "generic", ""}, options);
}

} // namespace

static Constants viewsOf(const std::map<uint64_t, std::string> &values) {
  Constants constants;
  for (const auto &[id, bytes] : values)
    constants.add(id, std::as_bytes(std::span(bytes)));
  return constants;
}

Expected<AotFiles> compileAhead(const graph::PreparedGraph &graph,
                                AotRequest request) {
  bool isAuto = request.options.denormals == kAutoDenormals;
  request.options =
      decideDenormals(request.options, *graph, viewsOf(request.constants));
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
  auto codes = compileAll(graph, versions, request, *targets);
  if (!codes)
    return codes.errors();
  auto unpacked = addConstants(request, *codes, *graph, about);
  if (!unpacked)
    return unpacked.errors();
  auto stubs = compileStubs(about, *codes, seal, json::writeJson(*graph));
  if (!stubs)
    return stubs.errors();
  codegen::LinkJob job = request.link;
  job.triple = triple.str();
  for (const AotCodes &ofVersion : *codes)
    for (const AotCode &code : ofVersion)
      job.objects.push_back(code.object->getBuffer());
  job.objects.push_back((*stubs)->getBuffer());
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
  if (!unpacked->empty())
    files.remarks.push_back(*unpacked);
  if (isAuto && request.options.denormals == kFlushDenormals)
    files.remarks.push_back(kFlushedRemark);
  const std::vector<char> &weights = about.model.weights.data;
  if (!request.embedWeights)
    files.weights.assign(weights.begin(), weights.end());
  return files;
}

} // namespace tenon
