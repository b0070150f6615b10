//===-- Exec.h - what the runtime knows about executors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_RUNTIME_EXEC_H
#define TENON_RUNTIME_EXEC_H

#include "runtime/tenon_rt.h"

namespace tenon::rt {

/// Of one moment: who finds the count unchanged and the status OK has been
/// spared.
struct Failures {
  tenon_rt_status status;
  /// What failed last, cleared or not.
  tenon_rt_status last;
  /// How often something has failed, ever.
  uint64_t count;
};
Failures failuresOf(const tenon_exec &exec);

} // namespace tenon::rt

#endif // TENON_RUNTIME_EXEC_H
