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
  bool shared; // belongs to the store
};
} // namespace

struct tenon_folded {
  std::atomic<int64_t> references{1};
  tenon_constants *store = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  Piece *pieces = nullptr; // after the object
  void **buffers = nullptr;
};

void *const *tenon::rt::foldedBuffers(const tenon_folded *folded) {
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

static tenon_folded *newFolded(int64_t count) {
  int64_t size = int64_t(sizeof(tenon_folded)) +
                 count * int64_t(sizeof(Piece) + sizeof(void *));
  void *memory = tenon_rt_alloc(nullptr, size);
  if (!memory)
    return nullptr;
  memset(memory, 0, size_t(size));
  auto *folded = new (memory) tenon_folded;
  folded->count = count;
  folded->pieces = reinterpret_cast<Piece *>(folded + 1);
  folded->buffers = reinterpret_cast<void **>(folded->pieces + count);
  return folded;
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
    if (!folded.pieces[i].shared ||
        folded.pieces[i].state != TENON_CONSTANT_READY)
      return false;
  return true;
}

static tenon_rt_status fill(const tenon_model &model, tenon_exec *exec,
                            tenon_folded &folded, const void *const *inputs) {
  for (int64_t i = 0; i < folded.count; ++i) {
    const tenon_model_folded &about = model.code->folded[i];
    for (int64_t k = 0; k < about.num_inputs; ++k)
      if (!valuesOf(model, inputs, about.inputs[k]) &&
          spanOf(model.info->tensors[about.inputs[k]]) > 0)
        return TENON_RT_INVALID_ARGUMENT;
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

tenon_rt_status tenon_model_fold(const tenon_model *model, tenon_exec *exec,
                                 tenon_constants *store,
                                 const void *const *inputs,
                                 tenon_folded **out) {
  if (!out)
    return TENON_RT_INVALID_ARGUMENT;
  *out = nullptr;
  if (!model || !exec)
    return TENON_RT_INVALID_ARGUMENT;
  tenon_folded *folded = newFolded(model->code->num_folded);
  if (!folded)
    return TENON_RT_OUT_OF_MEMORY;
  folded->store = store;
  tenon_rt_status status = TENON_RT_OK;
  if (folded->count)
    status = fill(*model, exec, *folded, inputs);
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
  for (int64_t i = 0; i < folded->count; ++i) {
    Piece &piece = folded->pieces[i];
    if (!piece.data)
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
  return folded ? folded->bytes : 0;
}
