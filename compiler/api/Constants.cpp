//===- Constants.cpp - what partitions share of constants -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/CompiledPartition.h"
#include "compiler/import/json/Json.h"
#include "dialects/graph/OpTable.h"

using namespace tenon;
using namespace tenon::api;

namespace {
struct Store {
  std::mutex mutex;
  tenon_constants *constants = nullptr; // made when first wanted
  int64_t capacity = 0;
};
} // namespace

/// Never destroyed: compiled partitions refer to it until the process ends.
static Store &store() {
  static auto *s = new Store;
  return *s;
}

tenon_constants *tenon::api::sharedConstants() {
  std::lock_guard lock(store().mutex);
  return store().capacity == 0 ? nullptr : store().constants;
}

tenon_status tenon_set_constant_cache_capacity(int64_t bytes) {
  return guarded([&]() -> std::vector<Error> {
    Store &s = store();
    std::lock_guard lock(s.mutex);
    if (!s.constants && bytes != 0 &&
        tenon_rt_constants_create(bytes, nullptr, &s.constants) != TENON_RT_OK)
      return errorList(ErrorCode::OutOfMemory, "no memory for a cache");
    if (s.constants)
      tenon_rt_constants_set_capacity(s.constants, bytes);
    s.capacity = bytes;
    return {};
  });
}

int64_t tenon_get_constant_cache_capacity() {
  std::lock_guard lock(store().mutex);
  return store().capacity;
}

tenon_constants_stats tenon_get_constant_cache_stats() {
  std::lock_guard lock(store().mutex);
  tenon_constants_stats stats = {};
  if (store().constants)
    tenon_rt_constants_get_stats(store().constants, &stats);
  return stats;
}

//===----------------------------------------------------------------------===//
// Conversion of layouts
//===----------------------------------------------------------------------===//

/// One Reorder from the one layout to the other; ids 0 and 1.
static graph::Graph reorderGraph(const tenon_tensor &from,
                                 const tenon_tensor &to) {
  graph::Graph g;
  uint64_t id = 0;
  for (const tenon_tensor *t : {&from, &to}) {
    graph::LogicalTensor tensor = t->about;
    tensor.id = id;
    tensor.property = graph::PropertyType::variable;
    g.tensors[id++] = tensor;
  }
  g.ops.push_back({0, "convert", "Reorder", {}, {0}, {1}});
  g.inputPorts = {0};
  g.outputPorts = {1};
  return g;
}

tenon_status tenon_tensor_convert(tenon_stream *stream,
                                  const tenon_tensor *from, tenon_tensor *to) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = checkHandle(stream, "stream"); !e.empty())
      return e;
    if (auto e = checkHandle(from, "from"); !e.empty())
      return e;
    if (auto e = checkHandle(to, "to"); !e.empty())
      return e;
    if (from->about.dtype != to->about.dtype)
      return errorList(ErrorCode::BadDType,
                       "tensors of different element types: conversion "
                       "changes layouts only");
    if (from->about.shape != to->about.shape)
      return errorList(ErrorCode::ShapeMismatch,
                       "tensors of different sizes: conversion changes "
                       "layouts only");
    if (from->about.numElements() == 0)
      return {};
    if (!from->data || !to->data)
      return errorList(ErrorCode::BadTensorData, "a tensor has no data");
    auto graph = graph::prepareGraph(reorderGraph(*from, *to));
    if (!graph)
      return graph.errors();
    auto code = compileCached(*graph, stream->engine->currentOptions());
    if (!code)
      return code.errors();
    void *tensors[] = {from->data, to->data};
    tenon_rt_status status =
        tenon_model_run((*code)->compiled->model(), stream->exec, nullptr,
                        tensors, nullptr, nullptr);
    if (status == TENON_RT_OK)
      return {};
    return errorList(ErrorCode::Internal, std::string("conversion failed: ") +
                                              tenon_rt_status_string(status));
  });
}
