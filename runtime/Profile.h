//===-- Profile.h - time per section name ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_RUNTIME_PROFILE_H
#define TENON_RUNTIME_PROFILE_H

#include "runtime/Memory.h"

namespace tenon::rt {

/// Sums per section name.  Thread-safe.  Names that do not fit into memory are
/// dropped: a profile never fails a computation.
class Profile {
public:
  void init(const Allocator *from) { allocator = from; }

  void record(const char *name, int64_t items, int64_t ns);
  size_t read(tenon_profile_entry *out, size_t capacity);
  void reset();

private:
  /// Enough for any program, little enough when names are generated endlessly.
  static constexpr size_t kMaxNames = 1 << 16;

  void lockTable();
  tenon_profile_entry *find(const char *name);
  bool grow();

  const Allocator *allocator = nullptr;
  GenLock lock;
  uint64_t generation = forkGeneration();
  /// Open addressing; free places have no name.
  tenon_profile_entry *table = nullptr;
  size_t places = 0;
  size_t used = 0;
};

} // namespace tenon::rt

#endif // TENON_RUNTIME_PROFILE_H
