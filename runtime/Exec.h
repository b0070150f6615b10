//===-- Exec.h - what the runtime knows about executors --------*- C++ -*-===//
#ifndef TENON_RUNTIME_EXEC_H
#define TENON_RUNTIME_EXEC_H

#include "runtime/tenon_rt.h"

namespace tenon::rt {

/// How often something has failed, ever.  It grows after the status is set:
/// who finds both the number unchanged and the status OK has been spared.
uint64_t failureCount(const tenon_exec &exec);

/// With what it did so last, cleared or not.
tenon_rt_status lastFailure(const tenon_exec &exec);

} // namespace tenon::rt

#endif // TENON_RUNTIME_EXEC_H
