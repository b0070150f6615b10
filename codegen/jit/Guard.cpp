//===- Guard.cpp - what LLVM does not return from -------------------------===//
#include "codegen/jit/Guard.h"

#include "dialects/support/Fail.h"

#include "llvm/Support/ErrorHandling.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
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

void onBadAlloc(void *, const char *reason, bool) {
  if (innermost)
    throw std::bad_alloc();
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
  std::abort();
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
  return fail(ErrorCode::Internal,
              "LLVM cannot go on: " + std::string(landing.reason));
}

} // namespace tenon::codegen
