//===-- Model.h - a description with the code that suits this CPU -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_RUNTIME_MODEL_H
#define TENON_RUNTIME_MODEL_H

#include "runtime/Memory.h"
#include "runtime/tenon_model.h"

namespace tenon::rt {

/// An entry and the sizes of its buffers, as far as they are known.
struct PreparedEntry {
  const tenon_model_entry *entry = nullptr;
  int64_t *dims = nullptr;
  int64_t numDims = 0;
};

/// Bits of an element in memory.
constexpr int64_t elementBits(int32_t dtype) {
  switch (dtype) {
  case TENON_S4:
  case TENON_U4:
    return 4;
  case TENON_F16:
  case TENON_BF16:
    return 16;
  case TENON_F32:
  case TENON_S32:
    return 32;
  case TENON_S64:
  case TENON_F64:
    return 64;
  default:
    return 8;
  }
}

tenon_constant_key hashOf(const void *data, int64_t bytes);

/// Runs an entry. `tensors` and `dims` (null: all known) in the order of the
/// description.
tenon_rt_status runPrepared(const tenon_model &model,
                            const PreparedEntry &entry, tenon_exec *exec,
                            void *const *folded, void *const *tensors,
                            const int64_t *dims, void *scratch);

/// Of version `version`, a number as of tenon_model_find_version. Null for
/// null.
void *const *foldedBuffers(const tenon_folded *folded, int64_t version);

} // namespace tenon::rt

struct tenon_model {
  const tenon_model_info *info = nullptr;
  const tenon_model_code *code = nullptr;
  const int64_t *packed = nullptr; // of info->packed, for `code`
  const char *weights = nullptr;
  void *mapped = nullptr; // weight_bytes of a file, or null
  tenon::rt::PreparedEntry main, fold;
  /// Whether all sizes are known, and then the scratch they need.
  bool isStatic = false;
  int64_t staticScratch = 0;
  /// One for each of info->versions.
  tenon_model **versions = nullptr;
  /// Of a version: the model that has it, and its weights.
  const tenon_model *general = nullptr;
};

#endif // TENON_RUNTIME_MODEL_H
