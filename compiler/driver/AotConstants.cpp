//===- AotConstants.cpp - the constants of a file -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Packing at compile time executes the code that would pack when the file is
// loaded, in this process: the layouts are the code's affair.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/AotCode.h"
#include "compiler/driver/SessionImpl.h"
#include "dialects/support/Fail.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdlib>
#include <cstring>
#include <set>

namespace tenon {

namespace {

using codegen::FoldedInfo;

/// What the runtime wants to know of tensors, of values that outlive it.
std::vector<tenon_tensor_info>
describe(const std::vector<codegen::TensorInfo> &tensors) {
  std::vector<tenon_tensor_info> infos;
  for (const codegen::TensorInfo &tensor : tensors) {
    tenon_tensor_info &info = infos.emplace_back();
    info.id = tensor.id;
    info.name = tensor.name.c_str();
    info.dtype = tensor.dtype;
    info.rank = static_cast<int32_t>(tensor.dims.size());
    info.dims = tensor.dims.data();
    info.strides = tensor.strides.empty() ? nullptr : tensor.strides.data();
    info.constant = tensor.constant;
  }
  return infos;
}

/// Memory of zeros: what no kernel writes is the same in all files.
void *allocateZeros(void *, size_t size, size_t align) {
  size_t bytes = llvm::alignTo(size, align);
  void *memory = std::aligned_alloc(align, bytes);
  return memory ? std::memset(memory, 0, bytes) : nullptr;
}
void freeZeros(void *, void *memory) { std::free(memory); }

/// What the runtime has of one model while its constants are packed.
struct Folding {
  tenon_constants *store = nullptr;
  tenon_exec *exec = nullptr;
  tenon_model *model = nullptr;
  tenon_folded *folded = nullptr;

  Folding() = default;
  Folding(const Folding &) = delete;
  Folding &operator=(const Folding &) = delete;
  ~Folding() {
    tenon_folded_release(folded);
    tenon_model_destroy(model);
    tenon_exec_destroy(exec);
    tenon_rt_constants_destroy(store);
  }

  /// `values`: an address for each input.
  tenon_rt_status run(const tenon_model_info &info, const void *const *values) {
    tenon_allocator allocator = {allocateZeros, freeZeros, nullptr};
    tenon_rt_status status = tenon_rt_constants_create(-1, &allocator, &store);
    if (status == TENON_RT_OK)
      status = tenon_exec_create(nullptr, &exec);
    if (status == TENON_RT_OK)
      status = tenon_model_create(&info, nullptr, &model);
    if (status == TENON_RT_OK)
      status = tenon_model_fold(model, exec, store, values, &folded);
    return status;
  }
};

/// Packed buffers, each of which is there once for all codes.
class PackedBuffers {
public:
  /// `values`: an address for each input.
  explicit PackedBuffers(std::vector<const void *> values)
      : values(std::move(values)) {}

  /// Where the buffers of `code`, of a model with these tensors, lie in
  /// `bytes`.
  Expected<std::vector<int64_t>>
  add(const AotCode &code, const std::vector<codegen::TensorInfo> &tensors,
      size_t numInputs) {
    std::vector<int64_t> offsets;
    for (const FoldedInfo &folded : code.info.folded)
      if (auto place = find(folded); place != places.end())
        offsets.push_back(place->second);
    if (offsets.size() == code.info.folded.size())
      return offsets;
    auto jit = linkObject(code.object->getBuffer().str(), /*perf=*/false);
    if (!jit)
      return jit.errors();
    auto symbol = (*jit)->lookup(code.symbol);
    if (!symbol)
      return symbol.errors();
    return execute(code.info, static_cast<const tenon_model_code *>(*symbol),
                   describe(tensors), numInputs);
  }

  std::vector<char> bytes;

private:
  std::vector<std::pair<const FoldedInfo *, int64_t>>::const_iterator
  find(const FoldedInfo &wanted) const {
    return llvm::find_if(places, [&](const auto &place) {
      const FoldedInfo &has = *place.first;
      return has.recipe.low == wanted.recipe.low &&
             has.recipe.high == wanted.recipe.high &&
             has.bytes == wanted.bytes && has.inputs == wanted.inputs;
    });
  }

  Expected<std::vector<int64_t>>
  execute(const codegen::CodeInfo &about, const tenon_model_code *code,
          const std::vector<tenon_tensor_info> &tensors, size_t numInputs) {
    tenon_model_info info = {};
    info.magic = TENON_MODEL_MAGIC;
    info.version = TENON_MODEL_VERSION;
    info.name = "";
    info.tensors = tensors.data();
    info.num_inputs = static_cast<int64_t>(numInputs);
    info.num_outputs = static_cast<int64_t>(tensors.size() - numInputs);
    info.codes = &code;
    info.num_codes = 1;
    Folding folding;
    tenon_rt_status status = folding.run(info, values.data());
    if (status != TENON_RT_OK)
      return runtimeError(status, "packing constants");
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < about.folded.size(); ++i) {
      const FoldedInfo &piece = about.folded[i];
      auto place = find(piece);
      if (place == places.end()) {
        const auto *data = static_cast<const char *>(
            tenon_folded_buffer(folding.folded, static_cast<int64_t>(i)));
        bytes.resize(llvm::alignTo(bytes.size(), 64));
        places.push_back({&piece, static_cast<int64_t>(bytes.size())});
        bytes.insert(bytes.end(), data, data + piece.bytes);
        place = std::prev(places.end());
      }
      offsets.push_back(place->second);
    }
    return offsets;
  }

  std::vector<const void *> values;
  std::vector<std::pair<const FoldedInfo *, int64_t>> places;
};

int64_t bytesOf(const AotRequest &request) {
  int64_t bytes = 0;
  for (const auto &[id, values] : request.constants)
    bytes += static_cast<int64_t>(values.size());
  return bytes;
}

/// Why `code` cannot pack here; empty: it can.
std::string obstacle(const AotRequest &request, const AotCode &code,
                     const graph::Graph &graph) {
  llvm::Triple here(codegen::TargetSpec::host().triple);
  if (llvm::Triple(code.target.spec.triple).getArch() != here.getArch())
    return "this machine does not execute code for " + code.target.spec.triple;
  if (!code.target.executable)
    return "this machine does not execute code for " + code.target.spec.cpu +
           ": it lacks " + code.target.missingFeature;
  for (const FoldedInfo &folded : code.info.folded)
    for (int32_t input : folded.inputs)
      if (uint64_t id = graph.inputPorts[static_cast<size_t>(input)];
          !request.constants.count(id))
        return "constant " + request.nameOf(graph, id) +
               " has no values before";
  return "";
}

/// Why no code packs here; empty: all do.
std::string obstacle(const AotRequest &request,
                     const std::vector<AotCodes> &codes,
                     const graph::Graph &graph) {
  if (request.packing == AotRequest::Packing::automatic &&
      codes.front().size() > 1)
    return "the file has code for several CPUs";
  for (const AotCodes &ofVersion : codes)
    for (const AotCode &code : ofVersion)
      if (std::string why = obstacle(request, code, graph); !why.empty())
        return why;
  return "";
}

/// What is `packed` of the constants, then those that `isRead` as they are.
codegen::WeightsInfo collect(const AotRequest &request,
                             const graph::Graph &graph,
                             std::vector<char> packed,
                             const std::set<size_t> &isRead) {
  codegen::WeightsInfo weights;
  weights.embed = request.embedWeights;
  weights.data = std::move(packed);
  for (size_t i = 0; i < graph.inputPorts.size(); ++i) {
    auto values = request.constants.find(graph.inputPorts[i]);
    if (values == request.constants.end())
      continue;
    auto input = static_cast<int64_t>(i);
    auto size = static_cast<int64_t>(values->second.size());
    if (!isRead.count(i)) {
      weights.places.push_back({input, -1, size});
      continue;
    }
    weights.data.resize(llvm::alignTo(weights.data.size(), 64));
    weights.places.push_back(
        {input, static_cast<int64_t>(weights.data.size()), size});
    weights.data.insert(weights.data.end(), values->second.begin(),
                        values->second.end());
  }
  return weights;
}

} // namespace

Expected<std::string> addConstants(const AotRequest &request,
                                   const std::vector<AotCodes> &codes,
                                   const graph::Graph &graph,
                                   codegen::AotInterface &about) {
  // Smaller ones are packed in less than a millisecond, and the tools can
  // compare the results of a file that has them as they were given.
  constexpr int64_t kWorthPacking = 1 << 20;
  using Packing = AotRequest::Packing;
  std::set<size_t> all;
  for (size_t i = 0; i < graph.inputPorts.size(); ++i)
    all.insert(i);
  bool wanted = request.packing == Packing::compile ||
                (request.packing == Packing::automatic &&
                 bytesOf(request) >= kWorthPacking);
  std::string why = wanted ? obstacle(request, codes, graph) : "";
  if (!why.empty() && request.packing == Packing::compile)
    return fail(ErrorCode::BadOption, "constants cannot be packed: " + why);
  if (!wanted || !why.empty()) {
    about.model.weights = collect(request, graph, {}, all);
    return why.empty() ? why
                       : "constants are packed when the file is loaded: " + why;
  }
  std::vector<const void *> values;
  for (uint64_t id : graph.inputPorts) {
    auto given = request.constants.find(id);
    values.push_back(given == request.constants.end() ? nullptr
                                                      : given->second.data());
  }
  PackedBuffers packed(std::move(values));
  std::set<size_t> isRead;
  for (size_t i = 0; i < codes.size(); ++i) {
    codegen::ModelInfo &model =
        i < about.versions.size() ? about.versions[i] : about.model;
    for (const AotCode &code : codes[i]) {
      isRead.insert(code.info.main.reads.begin(), code.info.main.reads.end());
      auto offsets = packed.add(code, model.tensors, graph.inputPorts.size());
      if (!offsets)
        return offsets.errors();
      model.packed.push_back(std::move(*offsets));
    }
  }
  about.model.weights =
      collect(request, graph, std::move(packed.bytes), isRead);
  return std::string();
}

} // namespace tenon
