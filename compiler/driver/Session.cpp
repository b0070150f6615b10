//===- Session.cpp - executing compiled graphs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/ModelInfo.h"
#include "compiler/driver/Artefact.h"
#include "compiler/driver/SessionImpl.h"
#include "compiler/driver/Shapes.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/support/Fail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <dlfcn.h>
#include <set>

namespace tenon {

Expected<std::unique_ptr<codegen::Jit>>
linkObject(const std::string &object, bool perf, const Symbols &symbols) {
  codegen::JitOptions jitOptions;
  jitOptions.perf = perf;
  auto jit = codegen::Jit::create(jitOptions);
  if (!jit)
    return jit.errors();
  Symbols all = {
      {"tenon_rt_run_named_section",
       reinterpret_cast<void *>(&tenon_rt_run_named_section)},
      {"tenon_rt_require", reinterpret_cast<void *>(&tenon_rt_require)}};
  all.insert(all.end(), symbols.begin(), symbols.end());
  for (const auto &[name, address] : all)
    if (auto ok = (*jit)->defineSymbol(name, address); !ok)
      return ok.errors();
  if (auto ok = (*jit)->addObject(
          llvm::MemoryBuffer::getMemBufferCopy(object, "tenon.o"));
      !ok)
    return ok.errors();
  return std::move(*jit);
}

namespace {

/// Links the code of all versions, each on its own: their functions have the
/// same names.
Expected<const tenon_model_info *> link(const Artefact &artefact,
                                        Compiled::Impl &impl) {
  Symbols versions;
  for (const std::string &object : artefact.versions) {
    auto jit = linkObject(object, artefact.perf);
    if (!jit)
      return jit.errors();
    auto symbol = (*jit)->lookup(codegen::kModelInfoSymbol);
    if (!symbol)
      return symbol.errors();
    versions.push_back({codegen::versionSymbol(versions.size()), *symbol});
    impl.versions.push_back(std::move(*jit));
  }
  auto jit = linkObject(artefact.object, artefact.perf, versions);
  if (!jit)
    return jit.errors();
  impl.jit = std::move(*jit);
  auto symbol = impl.jit->lookup(codegen::kModelInfoSymbol);
  if (!symbol)
    return symbol.errors();
  return static_cast<const tenon_model_info *>(*symbol);
}

} // namespace

Error runtimeError(tenon_rt_status status, const std::string &what) {
  ErrorCode code = ErrorCode::Internal;
  switch (status) {
  case TENON_RT_OUT_OF_MEMORY:
    code = ErrorCode::OutOfMemory;
    break;
  case TENON_RT_INVALID_ARGUMENT:
  case TENON_RT_BAD_VALUE:
    code = ErrorCode::BadTensorData;
    break;
  case TENON_RT_FOREIGN_MODEL:
    code = ErrorCode::ForeignArtefact;
    break;
  case TENON_RT_UNSUPPORTED_CPU:
    code = ErrorCode::UnsupportedTarget;
    break;
  case TENON_RT_CANNOT_READ:
    code = ErrorCode::CannotRead;
    break;
  case TENON_RT_DAMAGED:
    code = ErrorCode::DamagedArtefact;
    break;
  default:
    break;
  }
  return fail(code, what + " failed: " + tenon_rt_status_string(status));
}

std::string missingFeatures(const tenon_model_info &info,
                            const std::string &without) {
  llvm::SmallVector<llvm::StringRef> masked;
  llvm::StringRef(without).split(masked, ',');
  std::string text;
  for (int64_t i = 0; i < info.num_codes; ++i) {
    const tenon_model_code &code = *info.codes[i];
    llvm::SmallVector<llvm::StringRef> features;
    llvm::StringRef(code.features).split(features, ',', -1, false);
    std::vector<std::string> lacking;
    for (llvm::StringRef feature : features)
      if (llvm::is_contained(masked, feature) ||
          !tenon_rt_cpu_has(feature.str().c_str()))
        lacking.push_back(feature.str());
    text += (text.empty() ? "" : "; ") + llvm::join(lacking, ", ") + " for " +
            code.target;
  }
  return text;
}

Compiled::Impl::~Impl() {
  tenon_folded_release(folded);
  tenon_model_destroy(model);
  if (library)
    dlclose(library);
}

void Compiled::Impl::setGraph(graph::Graph compiled) {
  graph = std::move(compiled);
  size_t next = 0;
  for (uint64_t id : graph.inputPorts)
    inputs[id] = next++;
  for (uint64_t id : graph.outputPorts)
    outputs[id] = next++;
}

Compiled::Compiled(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Compiled::~Compiled() = default;
const graph::Graph &Compiled::graph() const { return impl->graph; }
const tenon_model *Compiled::model() const { return impl->model; }

bool Compiled::isStatic() const {
  return tenon_model_scratch_bytes(impl->model, nullptr) >= 0;
}

Expected<std::unique_ptr<Compiled>> Compiled::compile(const graph::Graph &graph,
                                                      const Options &options,
                                                      CompileReport *report) {
  auto prepared = graph::prepareGraph(graph);
  if (!prepared)
    return prepared.errors();
  return compile(*prepared, options, report);
}

Expected<std::unique_ptr<Compiled>>
Compiled::compile(const graph::PreparedGraph &graph, const Options &options,
                  CompileReport *report) {
  auto start = std::chrono::steady_clock::now();
  auto target = Target::resolveExecutable(options);
  if (!target)
    return target.errors();
  auto artefact = compileArtefact(graph, options, *target, report);
  if (!artefact)
    return artefact.errors();
  auto compiled = load(std::move(*artefact));
  if (report)
    report->totalSeconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  return compiled;
}

Expected<std::unique_ptr<Compiled>> Compiled::load(Artefact artefact) {
  auto impl = std::make_unique<Impl>();
  auto info = link(artefact, *impl);
  if (!info)
    return info.errors();
  tenon_rt_status status = tenon_model_create(*info, nullptr, &impl->model);
  if (status == TENON_RT_UNSUPPORTED_CPU)
    return fail(ErrorCode::UnsupportedTarget,
                "this machine lacks " + missingFeatures(**info, ""));
  if (status != TENON_RT_OK)
    return runtimeError(status, "loading compiled code");
  impl->setGraph(std::move(artefact.graph));
  return adopt(std::move(impl));
}

std::unique_ptr<Compiled> Compiled::adopt(std::unique_ptr<Impl> impl) {
  return std::unique_ptr<Compiled>(new Compiled(std::move(impl)));
}

const void *Compiled::weight(uint64_t id) const {
  auto input = impl->inputs.find(id);
  return input == impl->inputs.end()
             ? nullptr
             : tenon_model_weight_of(impl->model,
                                     static_cast<int64_t>(input->second));
}

bool Compiled::isPacked(uint64_t id) const { return impl->isPacked(id); }

bool Compiled::Impl::isPacked(uint64_t id) const {
  auto input = inputs.find(id);
  if (input == inputs.end())
    return false;
  const tenon_model_info &info = *tenon_model_get_info(model);
  llvm::ArrayRef weights(info.weights, static_cast<size_t>(info.num_weights));
  return llvm::any_of(weights, [&](const tenon_model_weight &weight) {
    return weight.input == static_cast<int64_t>(input->second) &&
           weight.offset < 0;
  });
}

/// Calls `visit` with the code for all sizes and that of each version.
template <typename Visit>
static void eachVersion(const tenon_model *model, Visit visit) {
  int64_t versions = tenon_model_get_info(model)->num_versions;
  for (int64_t i = 0; i <= versions; ++i)
    visit(*tenon_model_get_code(tenon_model_get_version(model, i)));
}

std::vector<size_t> Compiled::foldedInputs() const {
  std::set<size_t> inputs;
  eachVersion(impl->model, [&](const tenon_model_code &code) {
    for (int64_t i = 0; i < code.fold.num_args; ++i)
      if (const tenon_model_arg &arg = code.fold.args[i]; !arg.folded)
        inputs.insert(static_cast<size_t>(arg.index));
  });
  return {inputs.begin(), inputs.end()};
}

/// Puts buffers of `from` where the model wants them, and says what is wrong
/// with one.
Expected<bool>
Compiled::Impl::place(const HostTensors &from, bool output,
                      std::vector<void *> &buffers,
                      std::vector<const graph::Dims *> &shapes) const {
  for (auto &[id, position] : output ? outputs : inputs) {
    const graph::LogicalTensor &about = graph.tensor(id);
    if (!output && isPacked(id)) {
      shapes[position] = &*about.shape;
      continue;
    }
    auto it = from.find(id);
    if (it == from.end())
      return fail(ErrorCode::UnknownTensor,
                  "no buffer was given for tensor " + std::to_string(id));
    const HostTensor &t = it->second;
    if (t.shape.size() != about.shape->size())
      return fail(ErrorCode::BadRank,
                  "tensor " + std::to_string(id) + " has rank " +
                      std::to_string(about.shape->size()) +
                      ", a buffer of rank " + std::to_string(t.shape.size()) +
                      " was given");
    bool empty = llvm::is_contained(t.shape, 0);
    if (!t.data && !empty)
      return fail(ErrorCode::BadTensorData,
                  "the buffer of tensor " + std::to_string(id) + " is null");
    auto size = static_cast<size_t>(graph::byteSize(about.dtype));
    if (size > 1 && reinterpret_cast<uintptr_t>(t.data) % size)
      return fail(ErrorCode::BadTensorData,
                  "the buffer of tensor " + std::to_string(id) +
                      " is not aligned to its elements of " +
                      std::to_string(size) + " bytes");
    buffers[position] = t.data;
    shapes[position] = &t.shape;
  }
  return true;
}

Expected<bool> Compiled::bindConstants(Executor &exec,
                                       const HostTensors &constants) {
  std::vector<const void *> inputs(impl->inputs.size());
  for (auto &[id, position] : impl->inputs)
    if (auto it = constants.find(id); it != constants.end() && !weight(id))
      inputs[position] = it->second.data;
  for (size_t input : foldedInputs())
    if (uint64_t id = impl->graph.inputPorts[input];
        !constants.count(id) && !weight(id) && !isPacked(id))
      return fail(ErrorCode::UnknownTensor,
                  "no buffer was given for constant " + std::to_string(id));
  tenon_folded *folded = nullptr;
  tenon_rt_status status = tenon_model_fold(impl->model, exec.handle(), nullptr,
                                            inputs.data(), &folded);
  if (status != TENON_RT_OK)
    return runtimeError(status, "folding constants");
  tenon_folded_release(impl->folded);
  impl->folded = folded;
  return true;
}

Expected<std::map<uint64_t, graph::Dims>>
Compiled::Impl::infer(const std::map<uint64_t, graph::Dims> &shapes) const {
  std::map<uint64_t, graph::Dims> results;
  for (auto &[id, dims] : shapes)
    if (inputs.count(id) && !fits(*graph.tensor(id).shape, dims))
      return fail(ErrorCode::ShapeMismatch,
                  "input " + std::to_string(id) + " is " + text(dims) +
                      ", compiled was " + text(*graph.tensor(id).shape));
  graph::Graph inferred;
  bool isStatic = tenon_model_scratch_bytes(model, nullptr) >= 0;
  if (!isStatic) {
    inferred = graph;
    for (auto &[id, dims] : shapes)
      if (inputs.count(id))
        inferred.tensor(id).shape = dims;
    if (auto errors = graph::inferGraph(inferred); !errors.empty())
      return errors;
    if (auto error = graph::findBroadcast(graph, inferred))
      return std::vector<Error>{*error};
  }
  const graph::Graph &g = isStatic ? graph : inferred;
  for (uint64_t id : g.outputPorts) {
    const graph::LogicalTensor &t = g.tensor(id);
    if (!t.hasStaticShape())
      return fail(ErrorCode::UnknownShape,
                  "the shape of output " + std::to_string(id) +
                      " does not follow from the inputs",
                  "give shapes for all inputs");
    results[id] = *t.shape;
  }
  return results;
}

Expected<std::map<uint64_t, graph::Dims>>
Compiled::outputShapes(const std::map<uint64_t, graph::Dims> &inputs) const {
  {
    std::lock_guard lock(impl->mutex);
    if (impl->last && impl->last->inputs == inputs)
      return impl->last->outputs;
  }
  auto outputs = impl->infer(inputs);
  if (outputs) {
    std::lock_guard lock(impl->mutex);
    impl->last = {inputs, *outputs};
  }
  return outputs;
}

Expected<std::string>
Compiled::versionFor(const std::map<uint64_t, graph::Dims> &inputs) const {
  auto outputs = outputShapes(inputs);
  if (!outputs)
    return outputs.errors();
  std::vector<int64_t> dims;
  auto add = [&](const std::vector<uint64_t> &ports,
                 const std::map<uint64_t, graph::Dims> &shapes) {
    for (uint64_t id : ports) {
      auto shape = shapes.find(id);
      const graph::Dims &known =
          shape == shapes.end() ? *impl->graph.tensor(id).shape : shape->second;
      dims.insert(dims.end(), known.begin(), known.end());
    }
  };
  add(impl->graph.inputPorts, inputs);
  add(impl->graph.outputPorts, *outputs);
  const tenon_model_info &info = *tenon_model_get_info(impl->model);
  int64_t version = tenon_model_find_version(impl->model, dims.data());
  return version < 0 || version == info.num_versions
             ? std::string()
             : std::string(info.versions[version]->name);
}

Expected<bool> Compiled::execute(Executor &exec, const HostTensors &inputs,
                                 const HostTensors &outputs) {
  bool needsFolding = false;
  eachVersion(impl->model, [&](const tenon_model_code &code) {
    needsFolding |= code.num_folded != 0;
  });
  if (!impl->folded && needsFolding)
    return fail(ErrorCode::BadTensorData, "constants have not been bound",
                "call bindConstants before execute");
  std::map<uint64_t, graph::Dims> given;
  for (auto &[id, t] : inputs)
    given[id] = t.shape;
  auto expected = outputShapes(given);
  if (!expected)
    return expected.errors();
  for (auto &[id, shape] : *expected) {
    auto it = outputs.find(id);
    if (it != outputs.end() && it->second.shape != shape)
      return fail(ErrorCode::ShapeMismatch,
                  "the buffer of output " + std::to_string(id) + " is " +
                      text(it->second.shape) + ", the result " + text(shape));
  }
  size_t count = impl->inputs.size() + impl->outputs.size();
  std::vector<void *> buffers(count);
  std::vector<const graph::Dims *> shapes(count);
  if (auto ok = impl->place(inputs, false, buffers, shapes); !ok)
    return ok;
  if (auto ok = impl->place(outputs, true, buffers, shapes); !ok)
    return ok;
  for (auto &[id, position] : impl->inputs)
    if (weight(id))
      buffers[position] = nullptr;
  std::vector<int64_t> dims;
  for (const graph::Dims *shape : shapes)
    dims.insert(dims.end(), shape->begin(), shape->end());
  tenon_rt_status status =
      tenon_model_run(impl->model, exec.handle(), impl->folded, buffers.data(),
                      dims.data(), nullptr);
  if (status == TENON_RT_OK)
    return true;
  return runtimeError(status, "execution");
}

} // namespace tenon
