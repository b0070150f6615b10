//===-- Model.cpp - executing compiled graphs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model.h"
#include "runtime/Exec.h"
#include "runtime/Team.h"

#include <alloca.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xxhash.h>

using namespace tenon::rt;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

void tenon_model_options_init(tenon_model_options *options) {
  *options = tenon_model_options{};
  options->struct_size = sizeof(tenon_model_options);
}

/// Calls `visit(word, length)` for each word of a list with commas until it
/// returns false; whether it never did.
template <typename Visit> static bool eachWord(const char *list, Visit visit) {
  while (list && *list) {
    size_t length = strcspn(list, ",");
    if (length && !visit(list, length))
      return false;
    list += length + (list[length] == ',');
  }
  return true;
}

static bool cpuRuns(const tenon_model_code &code, const char *without) {
  return eachWord(code.features, [&](const char *word, size_t length) {
    char name[32];
    if (length >= sizeof name)
      return false;
    memcpy(name, word, length);
    name[length] = 0;
    bool masked = !eachWord(without, [&](const char *other, size_t n) {
      return n != length || memcmp(word, other, n) != 0;
    });
    return !masked && tenon_rt_cpu_has(name);
  });
}

tenon_constant_key tenon::rt::hashOf(const void *data, int64_t bytes) {
  XXH128_hash_t hash = XXH3_128bits(data, size_t(bytes));
  return {hash.low64, hash.high64};
}

static bool equal(tenon_constant_key a, tenon_constant_key b) {
  return a.low == b.low && a.high == b.high;
}

/// Maps the weights, so that processes share them.
static tenon_rt_status mapWeights(tenon_model &model, const char *path) {
  const tenon_model_info &info = *model.info;
  model.weights = static_cast<const char *>(info.weight_data);
  if (model.weights || info.weight_bytes == 0)
    return TENON_RT_OK;
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return TENON_RT_CANNOT_READ;
  struct stat about;
  tenon_rt_status status = TENON_RT_OK;
  if (fstat(file, &about) != 0)
    status = TENON_RT_CANNOT_READ;
  else if (about.st_size != info.weight_bytes)
    status = TENON_RT_DAMAGED;
  if (status == TENON_RT_OK) {
    void *data = mmap(nullptr, size_t(info.weight_bytes), PROT_READ,
                      MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
      status = TENON_RT_CANNOT_READ;
    else
      model.mapped = data;
  }
  close(file);
  if (status != TENON_RT_OK)
    return status;
  model.weights = static_cast<const char *>(model.mapped);
  return equal(hashOf(model.mapped, info.weight_bytes), info.weight_hash)
             ? TENON_RT_OK
             : TENON_RT_DAMAGED;
}

/// Number of sizes of all buffers of an entry.
static int64_t countDims(const tenon_model &model,
                         const tenon_model_entry &entry) {
  int64_t count = 0;
  for (int64_t i = 0; i < entry.num_args; ++i) {
    const tenon_model_arg &arg = entry.args[i];
    count += arg.folded ? model.code->folded[arg.index].rank
                        : model.info->tensors[arg.index].rank;
  }
  return count;
}

/// The sizes of an entry's buffers as far as the description has them.
static bool initEntry(const tenon_model &model, const tenon_model_entry &entry,
                      PreparedEntry &prepared) {
  prepared.entry = &entry;
  prepared.numDims = countDims(model, entry);
  prepared.dims = static_cast<int64_t *>(
      tenon_rt_alloc(nullptr, prepared.numDims * int64_t(sizeof(int64_t))));
  if (!prepared.dims)
    return false;
  int64_t *to = prepared.dims;
  for (int64_t i = 0; i < entry.num_args; ++i) {
    const tenon_model_arg &arg = entry.args[i];
    const int64_t *dims = arg.folded ? model.code->folded[arg.index].dims
                                     : model.info->tensors[arg.index].dims;
    int64_t rank = arg.folded ? model.code->folded[arg.index].rank
                              : model.info->tensors[arg.index].rank;
    for (int64_t d = 0; d < rank; ++d)
      *to++ = dims[d];
  }
  return true;
}

static bool allKnown(const PreparedEntry &entry) {
  for (int64_t i = 0; i < entry.numDims; ++i)
    if (entry.dims[i] == TENON_UNKNOWN_DIM)
      return false;
  return true;
}

/// Chooses code; what executions need to know of it.
static tenon_rt_status initCode(tenon_model &model,
                                const tenon_model_options *options) {
  const tenon_model_info &info = *model.info;
  if (info.magic != TENON_MODEL_MAGIC || info.version != TENON_MODEL_VERSION)
    return TENON_RT_FOREIGN_MODEL;
  for (int64_t i = 0; i < info.num_codes && !model.code; ++i)
    if (cpuRuns(*info.codes[i],
                options ? options->without_features : nullptr)) {
      model.code = info.codes[i];
      model.packed = info.packed ? info.packed[i] : nullptr;
    }
  if (!model.code)
    return TENON_RT_UNSUPPORTED_CPU;
  if (!initEntry(model, model.code->main, model.main) ||
      !initEntry(model, model.code->fold, model.fold))
    return TENON_RT_OUT_OF_MEMORY;
  model.isStatic = allKnown(model.main);
  model.staticScratch =
      model.isStatic ? model.code->main.scratch(model.main.dims) : -1;
  return TENON_RT_OK;
}

static tenon_model *newModel(const tenon_model_info *info) {
  void *memory = tenon_rt_alloc(nullptr, sizeof(tenon_model));
  if (!memory)
    return nullptr;
  auto *model = new (memory) tenon_model;
  model->info = info;
  return model;
}

static tenon_rt_status initVersions(tenon_model &model,
                                    const tenon_model_options *options) {
  int64_t count = model.info->num_versions;
  if (!count)
    return TENON_RT_OK;
  int64_t bytes = count * int64_t(sizeof(tenon_model *));
  model.versions = static_cast<tenon_model **>(tenon_rt_alloc(nullptr, bytes));
  if (!model.versions)
    return TENON_RT_OUT_OF_MEMORY;
  memset(static_cast<void *>(model.versions), 0, size_t(bytes));
  for (int64_t i = 0; i < count; ++i) {
    tenon_model *version = newModel(model.info->versions[i]);
    if (!version)
      return TENON_RT_OUT_OF_MEMORY;
    model.versions[i] = version;
    version->general = &model;
    tenon_rt_status status = initCode(*version, options);
    if (status != TENON_RT_OK)
      return status;
  }
  return TENON_RT_OK;
}

static tenon_rt_status initModel(tenon_model &model,
                                 const tenon_model_options *options) {
  tenon_rt_status status = initCode(model, options);
  if (status == TENON_RT_OK)
    status = mapWeights(model, options ? options->weights_file : nullptr);
  return status == TENON_RT_OK ? initVersions(model, options) : status;
}

tenon_rt_status tenon_model_create(const tenon_model_info *info,
                                   const tenon_model_options *options,
                                   tenon_model **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  if (!info || (options && options->struct_size != sizeof(tenon_model_options)))
    return TENON_RT_INVALID_ARGUMENT;
  tenon_model *model = newModel(info);
  if (!model)
    return TENON_RT_OUT_OF_MEMORY;
  tenon_rt_status status = initModel(*model, options);
  if (status == TENON_RT_OK)
    *out = model;
  else
    tenon_model_destroy(model);
  return status;
}

void tenon_model_destroy(tenon_model *model) {
  if (!model)
    return;
  for (int64_t i = 0; model->versions && i < model->info->num_versions; ++i)
    tenon_model_destroy(model->versions[i]);
  tenon_rt_free(nullptr, static_cast<void *>(model->versions));
  tenon_rt_free(nullptr, model->main.dims);
  tenon_rt_free(nullptr, model->fold.dims);
  if (model->mapped)
    munmap(model->mapped, size_t(model->info->weight_bytes));
  tenon_rt_free(nullptr, model);
}

const tenon_model_info *tenon_model_get_info(const tenon_model *model) {
  return model->info;
}

const tenon_model_code *tenon_model_get_code(const tenon_model *model) {
  return model->code;
}

const void *tenon_model_weight_of(const tenon_model *model, int64_t input) {
  if (model->general)
    model = model->general;
  for (int64_t i = 0; i < model->info->num_weights; ++i)
    if (const tenon_model_weight &weight = model->info->weights[i];
        weight.input == input)
      return weight.offset < 0 ? nullptr : model->weights + weight.offset;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Where the sizes of each tensor begin in the caller's list is the sum of the
/// ranks before it; `dims` moves along as the tensors are checked.
static bool sizesFit(const tenon_model_info &info, const int64_t *dims) {
  int64_t tensors = info.num_inputs + info.num_outputs;
  for (int64_t i = 0; i < tensors; ++i) {
    const tenon_tensor_info &t = info.tensors[i];
    for (int32_t d = 0; d < t.rank; ++d, ++dims)
      if (*dims < 0 || (t.dims[d] != TENON_UNKNOWN_DIM && t.dims[d] != *dims))
        return false;
  }
  return true;
}

static bool sizesAreAsDeclared(const tenon_model_info &info,
                               const int64_t *dims) {
  auto valueOf = [&](const tenon_model_dim &at) {
    const int64_t *from = dims + at.dim;
    for (int32_t t = 0; t < at.input; ++t)
      from += info.tensors[t].rank;
    return *from;
  };
  for (int64_t i = 0; i < info.num_sizes; ++i) {
    const tenon_model_size &size = info.sizes[i];
    for (int64_t d = 0; d < size.num_dims; ++d) {
      int64_t value = valueOf(size.dims[d]);
      if (value < size.min || value > size.max || value % size.multiple_of ||
          value != valueOf(size.dims[0]))
        return false;
    }
  }
  return true;
}

int64_t tenon_model_find_version(const tenon_model *model,
                                 const int64_t *dims) {
  int64_t count = model->info->num_versions;
  if (!dims)
    return model->isStatic ? count : -1;
  if (!sizesFit(*model->info, dims) || !sizesAreAsDeclared(*model->info, dims))
    return -1;
  for (int64_t i = 0; i < count; ++i)
    if (sizesFit(*model->info->versions[i], dims))
      return i;
  return count;
}

const tenon_model *tenon_model_get_version(const tenon_model *model,
                                           int64_t version) {
  int64_t count = model->info->num_versions;
  if (version < 0 || version > count)
    return nullptr;
  return version == count ? model : model->versions[version];
}

/// `dims` of the caller in the order of the entry's buffers.
static void orderDims(const tenon_model &model, const PreparedEntry &entry,
                      const int64_t *dims, int64_t *to) {
  memcpy(to, entry.dims, size_t(entry.numDims) * sizeof(int64_t));
  const tenon_model_info &info = *model.info;
  for (int64_t i = 0; i < entry.entry->num_args; ++i) {
    const tenon_model_arg &arg = entry.entry->args[i];
    if (arg.folded) {
      to += model.code->folded[arg.index].rank;
      continue;
    }
    const int64_t *from = dims;
    for (int32_t t = 0; t < arg.index; ++t)
      from += info.tensors[t].rank;
    for (int32_t d = 0; d < info.tensors[arg.index].rank; ++d)
      *to++ = from[d];
  }
}

static bool isEmpty(const int64_t *dims, int32_t rank) {
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] == 0)
      return true;
  return false;
}

/// Whether `input` is a constant that is among the weights in packed form only:
/// no code reads it otherwise.
static bool isPackedOnly(const tenon_model &model, int64_t input) {
  const tenon_model_info &info =
      model.general ? *model.general->info : *model.info;
  for (int64_t i = 0; i < info.num_weights; ++i)
    if (info.weights[i].input == input)
      return info.weights[i].offset < 0;
  return false;
}

/// The addresses in the order of the entry's buffers; false if one cannot be.
/// `dims` are the entry's.
static bool orderBuffers(const tenon_model &model,
                         const tenon_model_entry &entry, const int64_t *dims,
                         void *const *tensors, void *const *folded, void **to) {
  for (int64_t i = 0; i < entry.num_args; ++i) {
    const tenon_model_arg &arg = entry.args[i];
    if (arg.folded) {
      to[i] = folded[arg.index];
      dims += model.code->folded[arg.index].rank;
      continue;
    }
    const tenon_tensor_info &t = model.info->tensors[arg.index];
    void *address = tensors ? tensors[arg.index] : nullptr;
    if (!address && t.constant)
      address = const_cast<void *>(tenon_model_weight_of(&model, arg.index));
    if (!address && !isPackedOnly(model, arg.index) && !isEmpty(dims, t.rank))
      return false;
    int64_t bits = elementBits(t.dtype);
    if (bits > 8 && uintptr_t(address) % uintptr_t(bits / 8))
      return false;
    to[i] = address;
    dims += t.rank;
  }
  return true;
}

/// Runs an entry whose buffers and sizes are in order.
static tenon_rt_status runEntry(tenon_exec *exec,
                                const tenon_model_entry &entry,
                                void *const *buffers, const int64_t *dims,
                                int64_t scratchBytes, void *scratch) {
  Failures before = failuresOf(*exec);
  // Another thread's failure, which that thread has yet to collect: sections
  // of this executor do nothing until then.
  if (before.status != TENON_RT_OK)
    return before.status;
  if (scratchBytes < 0)
    return TENON_RT_INVALID_ARGUMENT;
  void *own = nullptr;
  if (!scratch && scratchBytes > 0)
    scratch = own = tenon_rt_arena_acquire(exec, scratchBytes);
  if (scratch || scratchBytes == 0)
    entry.run(exec, buffers, dims, scratch);
  tenon_rt_arena_release(exec, own);
  Failures after = failuresOf(*exec);
  if (after.status != TENON_RT_OK)
    tenon_exec_clear_status(exec);
  else if (after.count != before.count)
    return after.last;
  return after.status;
}

int64_t tenon_model_scratch_bytes(const tenon_model *model,
                                  const int64_t *dims) {
  if (model->isStatic)
    return model->staticScratch;
  model = tenon_model_get_version(model, tenon_model_find_version(model, dims));
  if (!model)
    return -1;
  if (model->isStatic)
    return model->staticScratch;
  int64_t stackDims[256];
  int64_t *ordered = stackDims;
  bool large = model->main.numDims > 256;
  if (large)
    ordered = static_cast<int64_t *>(tenon_rt_alloc(
        nullptr, model->main.numDims * int64_t(sizeof(int64_t))));
  if (!ordered)
    return -1;
  orderDims(*model, model->main, dims, ordered);
  int64_t bytes = model->code->main.scratch(ordered);
  if (large)
    tenon_rt_free(nullptr, ordered);
  return bytes;
}

tenon_rt_status tenon::rt::runPrepared(const tenon_model &model,
                                       const PreparedEntry &entry,
                                       tenon_exec *exec, void *const *folded,
                                       void *const *tensors,
                                       const int64_t *dims, void *scratch) {
  int64_t args = entry.entry->num_args;
  int64_t words = args + (dims ? entry.numDims : 0);
  // Small lists on the stack: an execution of few operations takes less time
  // than an allocation.
  constexpr int64_t kOnStack = 512;
  void *heap = nullptr;
  void **buffers;
  if (words <= kOnStack) {
    buffers = static_cast<void **>(alloca(size_t(words) * sizeof(void *)));
  } else {
    heap = tenon_rt_alloc(exec, words * int64_t(sizeof(void *)));
    if (!heap)
      return TENON_RT_OUT_OF_MEMORY;
    buffers = static_cast<void **>(heap);
  }
  const int64_t *ordered = entry.dims;
  if (dims) {
    auto *to = reinterpret_cast<int64_t *>(buffers + args);
    orderDims(model, entry, dims, to);
    ordered = to;
  }
  tenon_rt_status status = TENON_RT_INVALID_ARGUMENT;
  if (orderBuffers(model, *entry.entry, ordered, tensors, folded, buffers)) {
    bool known = model.isStatic && entry.entry == &model.code->main;
    int64_t bytes = known ? model.staticScratch : entry.entry->scratch(ordered);
    status = runEntry(exec, *entry.entry, buffers, ordered, bytes, scratch);
  }
  tenon_rt_free(exec, heap);
  return status;
}

tenon_rt_status tenon_model_run(const tenon_model *model, tenon_exec *exec,
                                tenon_folded *folded, void *const *tensors,
                                const int64_t *dims, void *scratch) {
  if (!model || !exec ||
      (!tensors && model->info->num_inputs + model->info->num_outputs) ||
      uintptr_t(scratch) % kCacheLine)
    return TENON_RT_INVALID_ARGUMENT;
  int64_t number = tenon_model_find_version(model, dims);
  const tenon_model *version = tenon_model_get_version(model, number);
  if (!version || (!folded && version->code->num_folded))
    return TENON_RT_INVALID_ARGUMENT;
  // Threads that help take the mode of the one that calls.
  uint32_t control = readFloatControl();
  FloatControlScope scope(
      version->code->flush_denormals ? flushingDenormals(control) : control);
  return runPrepared(*version, version->main, exec,
                     foldedBuffers(folded, number), tensors,
                     version->isStatic ? nullptr : dims, scratch);
}
