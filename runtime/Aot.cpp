//===-- Aot.cpp - what files compiled ahead of time call ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model.h"
#include "runtime/tenon_aot.h"

#include <alloca.h>
#include <cstring>
#include <new>

struct tenon_aot {
  tenon_model *model = nullptr;
  tenon_exec *alone = nullptr; // of calls that give none
  tenon_folded *folded = nullptr;
  const void **constants = nullptr; // one for each input; may be null
  int64_t numDims = 0;              // of all tensors
};

static int64_t countTensors(const tenon_model_info &info) {
  return info.num_inputs + info.num_outputs;
}

/// Keeps the addresses of constants that the caller gives.
static bool keepConstants(tenon_aot &aot, const tenon_model_info &info,
                          const void *const *constants) {
  int64_t bytes = info.num_inputs * int64_t(sizeof(void *));
  aot.constants = static_cast<const void **>(tenon_rt_alloc(nullptr, bytes));
  if (!aot.constants)
    return false;
  for (int64_t i = 0; i < info.num_inputs; ++i)
    aot.constants[i] =
        constants && info.tensors[i].constant ? constants[i] : nullptr;
  return true;
}

static tenon_rt_status init(tenon_aot &aot, const tenon_model_info *info,
                            const tenon_model_options *options,
                            tenon_exec *exec, const void *const *constants) {
  tenon_rt_status status = tenon_model_create(info, options, &aot.model);
  if (status == TENON_RT_OK)
    status = tenon_exec_create(nullptr, &aot.alone);
  if (status != TENON_RT_OK)
    return status;
  if (!keepConstants(aot, *info, constants))
    return TENON_RT_OUT_OF_MEMORY;
  for (int64_t i = 0; i < countTensors(*info); ++i)
    aot.numDims += info->tensors[i].rank;
  return tenon_model_fold(aot.model, exec ? exec : aot.alone, nullptr,
                          aot.constants, &aot.folded);
}

tenon_rt_status tenon_aot_create(const tenon_model_info *info,
                                 const tenon_model_options *options,
                                 tenon_exec *exec, const void *const *constants,
                                 tenon_aot **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  void *memory = tenon_rt_alloc(nullptr, sizeof(tenon_aot));
  if (!memory)
    return TENON_RT_OUT_OF_MEMORY;
  auto *aot = new (memory) tenon_aot;
  tenon_rt_status status = init(*aot, info, options, exec, constants);
  if (status == TENON_RT_OK)
    *out = aot;
  else
    tenon_aot_destroy(aot);
  return status;
}

void tenon_aot_destroy(tenon_aot *aot) {
  if (!aot)
    return;
  tenon_folded_release(aot->folded);
  tenon_rt_free(nullptr, aot->constants);
  tenon_exec_destroy(aot->alone);
  tenon_model_destroy(aot->model);
  tenon_rt_free(nullptr, aot);
}

const tenon_model *tenon_aot_get_model(const tenon_aot *aot) {
  return aot->model;
}

/// The sizes of all tensors in one list; false if one is unknown.
static bool listDims(const tenon_model_info &info, const int64_t *const *dims,
                     int64_t *to) {
  for (int64_t i = 0; i < countTensors(info); ++i) {
    const tenon_tensor_info &t = info.tensors[i];
    const int64_t *from = dims && dims[i] ? dims[i] : t.dims;
    for (int32_t d = 0; d < t.rank; ++d)
      if ((*to++ = from[d]) == TENON_UNKNOWN_DIM)
        return false;
  }
  return true;
}

// Ranks are small, graphs have few inputs: lists of thousands go to the heap.
static constexpr int64_t kOnStack = 2048;

int64_t tenon_aot_scratch_bytes(const tenon_aot *aot,
                                const int64_t *const *dims) {
  if (!dims || aot->model->isStatic)
    return tenon_model_scratch_bytes(aot->model, nullptr);
  bool small = aot->numDims <= kOnStack;
  int64_t size = aot->numDims * int64_t(sizeof(int64_t));
  void *list = small ? alloca(size_t(size)) : tenon_rt_alloc(nullptr, size);
  int64_t bytes = -1;
  auto *words = static_cast<int64_t *>(list);
  if (words && listDims(*aot->model->info, dims, words))
    bytes = tenon_model_scratch_bytes(aot->model, words);
  if (!small)
    tenon_rt_free(nullptr, list);
  return bytes;
}

tenon_rt_status tenon_aot_run(const tenon_aot *aot, tenon_exec *exec,
                              void *const *tensors, const int64_t *const *dims,
                              void *scratch) {
  if (!aot || !tensors)
    return TENON_RT_INVALID_ARGUMENT;
  const tenon_model_info &info = *aot->model->info;
  int64_t count = countTensors(info);
  int64_t words = count + (dims ? aot->numDims : 0);
  bool small = words <= kOnStack;
  int64_t size = words * int64_t(sizeof(void *));
  void *memory = small ? alloca(size_t(size)) : tenon_rt_alloc(exec, size);
  if (!memory)
    return TENON_RT_OUT_OF_MEMORY;
  auto **all = static_cast<void **>(memory);
  for (int64_t i = 0; i < count; ++i)
    all[i] = i < info.num_inputs && info.tensors[i].constant
                 ? const_cast<void *>(aot->constants[i])
                 : tensors[i];
  auto *sizes = dims ? reinterpret_cast<int64_t *>(all + count) : nullptr;
  tenon_rt_status status = TENON_RT_INVALID_ARGUMENT;
  if (!sizes || listDims(info, dims, sizes))
    status = tenon_model_run(aot->model, exec ? exec : aot->alone, aot->folded,
                             all, sizes, scratch);
  if (!small)
    tenon_rt_free(exec, memory);
  return status;
}
