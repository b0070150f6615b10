//===- Onnx.cpp - fuzz target: bytes as a model of ONNX -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give a graph or errors with a code, and so it is where the inputs
// are known, and shapes and conditions with them. Checking and shape inference
// cope with the graph, and what they accept stays accepted.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "tests/fuzz/Inferred.h"
#include "tests/fuzz/OnnxMutate.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace tenon;

namespace {

void checkImport(const onnx::ModelProto &model,
                 const onnx::ImportOptions &options) {
  auto imported = onnx::importModel(model, options);
  if (!imported) {
    fuzz::require(!imported.errors().empty(), "no errors, and no graph", "");
    return fuzz::requireBlameless(imported.errors());
  }
  fuzz::requireInference(std::move(imported->graph), "");
}

/// Small inputs as ones.
onnx::ImportOptions boundInputs(const onnx::ModelProto &model) {
  onnx::ImportOptions options;
  for (const onnx::ValueInfoProto &input : model.graph.inputs) {
    int64_t count = 1;
    for (const onnx::DimProto &dim :
         input.shape.value_or(std::vector<onnx::DimProto>{}))
      count = std::clamp<int64_t>(dim.value.value_or(1), 0, 65) *
              std::min<int64_t>(count, 65);
    if (input.shape && count <= 64)
      options.numbers[std::string(input.name)] =
          std::vector<double>(static_cast<size_t>(count), 1.0);
  }
  return options;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto model = onnx::parseModel({reinterpret_cast<const char *>(data), size});
  if (!model) {
    fuzz::requireBlameless(model.errors());
    return 0;
  }
  checkImport(*model, {});
  checkImport(*model, boundInputs(*model));
  return 0;
}

/// What libFuzzer does instead of its own changes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned int seed) {
  fuzz::Random random(seed);
  std::string changed =
      fuzz::mutateModel({reinterpret_cast<const char *>(data), size}, random);
  size = std::min(changed.size(), maxSize);
  std::memcpy(data, changed.data(), size);
  return size;
}
