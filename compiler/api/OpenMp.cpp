//===- OpenMp.cpp - the threads of a framework ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"

#include <dlfcn.h>

using namespace tenon;
using namespace tenon::api;

namespace {

/// What compilers call for "#pragma omp parallel": body(data) is run by each of
/// the threads. LLVM's libomp has it, too.
using Parallel = void (*)(void (*body)(void *), void *data, unsigned threads,
                          unsigned flags);

/// Of the library that the process has loaded; null without one.
Parallel findParallel() {
  return reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
}

struct Loop {
  int64_t n;
  void (*body)(void *arg, int64_t i);
  void *arg;
  std::atomic<int64_t> next{0};
};

/// One thread of the team: a team may have fewer than were asked for.
void work(void *data) {
  auto &loop = *static_cast<Loop *>(data);
  for (int64_t i; (i = loop.next.fetch_add(1)) < loop.n;)
    loop.body(loop.arg, i);
}

void parallelFor(void *pool, int64_t n, void (*body)(void *arg, int64_t i),
                 void *arg) {
  Loop loop{n, body, arg};
  reinterpret_cast<Parallel>(pool)(work, &loop, static_cast<unsigned>(n), 0);
}

} // namespace

tenon_status tenon_exec_options_use_openmp(tenon_exec_options *options,
                                           int32_t threads) {
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"options", options}}); !e.empty())
      return e;
    if (threads < 1 || threads > TENON_RT_MAX_THREADS)
      return errorList(ErrorCode::BadOption,
                       std::to_string(threads) + " threads are not 1 to " +
                           std::to_string(TENON_RT_MAX_THREADS));
    Parallel parallel = findParallel();
    if (!parallel)
      return errorList(ErrorCode::BadOption,
                       "the process has no OpenMP library",
                       "use TENON_THREADS_TEAM");
    options->threading = TENON_THREADS_POOL;
    options->concurrency = threads;
    options->parallel_for = parallelFor;
    options->pool = reinterpret_cast<void *>(parallel);
    return {};
  });
}
