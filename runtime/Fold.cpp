//===-- Fold.cpp - what depends on constants only -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Model.h"

#include <cstring>
#include <new>

using namespace tenon::rt;

namespace {
/// A buffer computed from constants.
struct Piece {
  void *data;     // what executions read
  void *computed; // where fold writes: data, or memory for the time of it
  tenon_constant_key key;
  tenon_constant_state state;
  bool shared;   // belongs to the store
  bool borrowed; // belongs to what was folded for another version
};
} // namespace

struct tenon_folded {
  std::atomic<int64_t> references{1};
  tenon_constants *store = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  Piece *pieces = nullptr; // after the object
  void **buffers = nullptr;
  /// One for each version.
  tenon_folded **versions = nullptr;
  int64_t numVersions = 0;
};

void *const *tenon::rt::foldedBuffers(const tenon_folded *folded,
                                      int64_t version) {
  if (folded && version < folded->numVersions)
    folded = folded->versions[version];
  return folded ? folded->buffers : nullptr;
}

/// Bytes from the first to the last element of a tensor of known shape.
static int64_t spanOf(const tenon_tensor_info &t) {
  int64_t last = 0, elements = 1;
  for (int32_t i = 0; i < t.rank; ++i) {
    elements *= t.dims[i];
    if (t.strides)
      last += (t.dims[i] - 1) * t.strides[i];
  }
  int64_t count = elements == 0 ? 0 : t.strides ? last + 1 : elements;
  return (count * elementBits(t.dtype) + 7) / 8;
}

static const void *valuesOf(const tenon_model &model, const void *const *inputs,
                            int64_t input) {
  const void *given = inputs ? inputs[input] : nullptr;
  return given ? given : tenon_model_weight_of(&model, input);
}

/// A name for the content of a buffer: its recipe and the values it reads.
static tenon_constant_key keyOf(const tenon_model &model,
                                const tenon_model_folded &piece,
                                const void *const *inputs) {
  tenon_constant_key chain[2] = {piece.recipe, {}};
  for (int64_t i = 0; i < piece.num_inputs; ++i) {
    int32_t input = piece.inputs[i];
    chain[1] = hashOf(valuesOf(model, inputs, input),
                      spanOf(model.info->tensors[input]));
    chain[0] = hashOf(chain, sizeof chain);
  }
  return chain[0];
}

static tenon_folded *newFolded(int64_t count, int64_t versions) {
  int64_t size = int64_t(sizeof(tenon_folded)) +
                 count * int64_t(sizeof(Piece) + sizeof(void *)) +
                 versions * int64_t(sizeof(tenon_folded *));
  void *memory = tenon_rt_alloc(nullptr, size);
  if (!memory)
    return nullptr;
  memset(memory, 0, size_t(size));
  auto *folded = new (memory) tenon_folded;
  folded->count = count;
  folded->pieces = reinterpret_cast<Piece *>(folded + 1);
  folded->buffers = reinterpret_cast<void **>(folded->pieces + count);
  folded->versions = reinterpret_cast<tenon_folded **>(folded->buffers + count);
  return folded;
}

/// Whether both are computed in the same way from the same constants.
static bool isSame(const tenon_model_folded &a, const tenon_model_folded &b) {
  if (a.recipe.low != b.recipe.low || a.recipe.high != b.recipe.high ||
      a.bytes != b.bytes || a.num_inputs != b.num_inputs)
    return false;
  for (int64_t i = 0; i < a.num_inputs; ++i)
    if (a.inputs[i] != b.inputs[i])
      return false;
  return true;
}

/// Takes the piece from what was folded before, if it is there.
static bool borrow(const tenon_model_folded &about, Piece &piece,
                   const tenon_model &otherModel, const tenon_folded &other) {
  for (int64_t i = 0; i < other.count; ++i) {
    if (!isSame(otherModel.code->folded[i], about))
      continue;
    piece.data = other.pieces[i].data;
    piece.state = TENON_CONSTANT_READY;
    return piece.borrowed = true;
  }
  return false;
}

/// Memory for a piece, the store's where it has room.
static tenon_rt_status acquire(tenon_folded &folded, Piece &piece,
                               int64_t bytes) {
  piece.state = TENON_CONSTANT_NEW;
  if (folded.store) {
    tenon_rt_status status = tenon_rt_constants_acquire(
        folded.store, piece.key, bytes, &piece.data, &piece.state);
    piece.shared = status == TENON_RT_OK;
    if (!piece.shared && status != TENON_RT_OVER_CAPACITY)
      return status;
  }
  if (!piece.shared)
    piece.data = tenon_rt_alloc(nullptr, bytes);
  return piece.data ? TENON_RT_OK : TENON_RT_OUT_OF_MEMORY;
}

/// Runs the fold entry; what the store has already goes to waste.
static tenon_rt_status compute(const tenon_model &model, tenon_exec *exec,
                               tenon_folded &folded,
                               const void *const *inputs) {
  tenon_rt_status status = TENON_RT_OK;
  for (int64_t i = 0; i < folded.count && status == TENON_RT_OK; ++i) {
    Piece &piece = folded.pieces[i];
    piece.computed = piece.state == TENON_CONSTANT_NEW
                         ? piece.data
                         : tenon_rt_alloc(nullptr, model.code->folded[i].bytes);
    if (!piece.computed)
      status = TENON_RT_OUT_OF_MEMORY;
    folded.buffers[i] = piece.computed;
  }
  if (status == TENON_RT_OK)
    status = runPrepared(model, model.fold, exec, folded.buffers,
                         const_cast<void *const *>(
                             reinterpret_cast<const void *const *>(inputs)),
                         nullptr, nullptr);
  return status;
}

/// Tells the store what is filled and waits for what others fill.
static tenon_rt_status settle(const tenon_model &model, tenon_folded &folded) {
  tenon_rt_status status = TENON_RT_OK;
  for (int64_t i = 0; i < folded.count; ++i) {
    Piece &piece = folded.pieces[i];
    if (!piece.shared || piece.state != TENON_CONSTANT_NEW)
      continue;
    status = tenon_rt_constants_publish(folded.store, piece.key);
    if (status != TENON_RT_OK)
      return status;
    piece.state = TENON_CONSTANT_READY;
  }
  for (int64_t i = 0; i < folded.count; ++i) {
    Piece &piece = folded.pieces[i];
    if (!piece.shared || piece.state != TENON_CONSTANT_PENDING)
      continue;
    status = tenon_rt_constants_wait(folded.store, piece.key, &piece.state);
    if (status != TENON_RT_OK)
      return status;
    if (piece.state != TENON_CONSTANT_NEW)
      continue;
    // Its filler gave up; we have it anyway.
    memcpy(piece.data, piece.computed, size_t(model.code->folded[i].bytes));
    status = tenon_rt_constants_publish(folded.store, piece.key);
    if (status != TENON_RT_OK)
      return status;
    piece.state = TENON_CONSTANT_READY;
  }
  return status;
}

static bool allReady(const tenon_folded &folded) {
  for (int64_t i = 0; i < folded.count; ++i)
    if (folded.pieces[i].state != TENON_CONSTANT_READY)
      return false;
  return true;
}

/// What one of the others has already: the general code first, then versions
/// in order.
static bool borrowFromAny(const tenon_model &model,
                          const tenon_model_folded &about, Piece &piece,
                          const tenon_folded *general) {
  if (!general)
    return false;
  const tenon_model &owner = *model.general;
  if (borrow(about, piece, owner, *general))
    return true;
  for (int64_t i = 0; i < general->numVersions; ++i)
    if (borrow(about, piece, *owner.versions[i], *general->versions[i]))
      return true;
  return false;
}

/// Takes all pieces from the weights.
static void takePacked(const tenon_model &model, tenon_folded &folded) {
  const tenon_model &owner = model.general ? *model.general : model;
  for (int64_t i = 0; i < folded.count; ++i) {
    Piece &piece = folded.pieces[i];
    // Nobody writes to what is folded.
    piece.data = const_cast<char *>(owner.weights) + model.packed[i];
    piece.state = TENON_CONSTANT_READY;
    piece.borrowed = true;
    folded.buffers[i] = piece.data;
  }
}

/// `general`: what was folded before, of the model that has this version.
static tenon_rt_status fill(const tenon_model &model, tenon_exec *exec,
                            tenon_folded &folded, const void *const *inputs,
                            const tenon_folded *general) {
  for (int64_t i = 0; i < folded.count; ++i) {
    const tenon_model_folded &about = model.code->folded[i];
    for (int64_t k = 0; k < about.num_inputs; ++k)
      if (!valuesOf(model, inputs, about.inputs[k]) &&
          spanOf(model.info->tensors[about.inputs[k]]) > 0)
        return TENON_RT_INVALID_ARGUMENT;
    if (borrowFromAny(model, about, folded.pieces[i], general))
      continue;
    if (folded.store)
      folded.pieces[i].key = keyOf(model, about, inputs);
    tenon_rt_status status = acquire(folded, folded.pieces[i], about.bytes);
    if (status != TENON_RT_OK)
      return status;
    folded.bytes += about.bytes;
  }
  tenon_rt_status status = TENON_RT_OK;
  if (!allReady(folded)) {
    status = compute(model, exec, folded, inputs);
    if (status == TENON_RT_OK)
      status = settle(model, folded);
  }
  for (int64_t i = 0; i < folded.count; ++i) {
    Piece &piece = folded.pieces[i];
    if (piece.computed != piece.data)
      tenon_rt_free(nullptr, piece.computed);
    piece.computed = nullptr;
    folded.buffers[i] = piece.data;
  }
  return status;
}

/// Folds for one version, or for the general code, where `general` is null.
static tenon_rt_status foldOne(const tenon_model &model, tenon_exec *exec,
                               tenon_constants *store,
                               const void *const *inputs,
                               const tenon_folded *general,
                               tenon_folded **out) {
  tenon_folded *folded =
      newFolded(model.code->num_folded, model.info->num_versions);
  if (!folded)
    return TENON_RT_OUT_OF_MEMORY;
  folded->store = store;
  tenon_rt_status status = TENON_RT_OK;
  if (model.packed)
    takePacked(model, *folded);
  else if (folded->count)
    status = fill(model, exec, *folded, inputs, general);
  if (status == TENON_RT_OK)
    *out = folded;
  else
    tenon_folded_release(folded);
  return status;
}

tenon_rt_status tenon_model_fold(const tenon_model *model, tenon_exec *exec,
                                 tenon_constants *store,
                                 const void *const *inputs,
                                 tenon_folded **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  if (!model || !exec)
    return TENON_RT_INVALID_ARGUMENT;
  tenon_folded *folded = nullptr;
  tenon_rt_status status =
      foldOne(*model, exec, store, inputs, nullptr, &folded);
  for (int64_t i = 0; status == TENON_RT_OK && i < model->info->num_versions;
       ++i) {
    status = foldOne(*model->versions[i], exec, store, inputs, folded,
                     &folded->versions[i]);
    if (status == TENON_RT_OK)
      ++folded->numVersions;
  }
  if (status == TENON_RT_OK)
    *out = folded;
  else
    tenon_folded_release(folded);
  return status;
}

void tenon_folded_retain(tenon_folded *folded) {
  folded->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_folded_release(tenon_folded *folded) {
  if (!folded ||
      folded->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  for (int64_t i = 0; i < folded->numVersions; ++i)
    tenon_folded_release(folded->versions[i]);
  for (int64_t i = 0; i < folded->count; ++i) {
    Piece &piece = folded->pieces[i];
    if (!piece.data || piece.borrowed)
      continue;
    if (piece.shared)
      tenon_rt_constants_release(folded->store, piece.key,
                                 piece.state == TENON_CONSTANT_NEW);
    else
      tenon_rt_free(nullptr, piece.data);
  }
  tenon_rt_free(nullptr, folded);
}

int64_t tenon_folded_bytes(const tenon_folded *folded) {
  int64_t bytes = folded ? folded->bytes : 0;
  for (int64_t i = 0; folded && i < folded->numVersions; ++i)
    bytes += folded->versions[i]->bytes;
  return bytes;
}

const void *tenon_folded_buffer(const tenon_folded *folded, int64_t index) {
  return folded->buffers[index];
}
