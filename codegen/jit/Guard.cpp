//===- Guard.cpp - what LLVM does not return from -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/Guard.h"

#include "dialects/support/Fail.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <new>
#include <string>

namespace tenon::codegen {

namespace {

/// Where a fatal error of this thread continues.
struct Landing {
  explicit Landing(Landing *&innermost)
      : innermost(innermost), outer(innermost) {
    innermost = this;
  }
  ~Landing() { innermost = outer; }

  Landing *&innermost;
  Landing *outer;
  std::jmp_buf place;
  std::string reason;
  bool outOfMemory = false;
};

thread_local Landing *innermost = nullptr;

void onFatalError(void *, const char *reason, bool) {
  if (Landing *landing = innermost) {
    landing->reason = reason;
    std::longjmp(landing->place, 1);
  }
  // Somebody else's use of LLVM: what it does without a handler. The caller
  // ends the process.
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
}

/// An exception would have to pass frames of LLVM and MLIR that know none, and
/// is lost in the tasks of MLIR's thread pools.
void onBadAlloc(void *, const char *, bool) {
  if (Landing *landing = innermost) {
    landing->outOfMemory = true; // and no allocation here
    std::longjmp(landing->place, 1);
  }
  throw std::bad_alloc(); // what LLVM does without a handler
}

void installHandlers() {
  static const bool once = [] {
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(onFatalError);
    llvm::remove_bad_alloc_error_handler();
    llvm::install_bad_alloc_error_handler(onBadAlloc);
    return true;
  }();
  (void)once;
}

} // namespace

std::optional<Error> runGuarded(llvm::function_ref<void()> work) {
  installHandlers();
  Landing landing(innermost);
  if (setjmp(landing.place) == 0) {
    work();
    return std::nullopt;
  }
  if (landing.outOfMemory)
    return fail(ErrorCode::OutOfMemory, "memory is exhausted");
  return fail(ErrorCode::Internal,
              "LLVM cannot go on: " + std::string(landing.reason));
}

} // namespace tenon::codegen
