// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Session.h"

#include "dialects/support/Fail.h"
#include "runtime/tenon_rt.h"

namespace tenon {

Expected<std::unique_ptr<Executor>> Executor::create(const Config &config) {
  tenon_exec_options options;
  tenon_exec_options_init(&options);
  if (config.parallelFor) {
    options.threading = TENON_THREADS_POOL;
    options.parallel_for = config.parallelFor;
    options.pool = config.pool;
    options.concurrency = config.concurrency;
  } else if (config.threads > 1) {
    options.threading = TENON_THREADS_TEAM;
    options.threads = config.threads;
  }
  options.profile = config.profile;
  tenon_exec *exec = nullptr;
  tenon_rt_status status = tenon_exec_create(&options, &exec);
  if (status != TENON_RT_OK)
    return fail(ErrorCode::BadOption,
                "cannot create an executor with " +
                    std::to_string(config.threads) +
                    " threads: " + tenon_rt_status_string(status));
  return std::unique_ptr<Executor>(new Executor(exec));
}

Executor::~Executor() { tenon_exec_destroy(exec); }

std::vector<Executor::SectionTime> Executor::profile() const {
  std::vector<tenon_profile_entry> entries(
      tenon_exec_profile_read(exec, nullptr, 0));
  entries.resize(tenon_exec_profile_read(exec, entries.data(), entries.size()));
  std::vector<SectionTime> times;
  for (const tenon_profile_entry &e : entries)
    times.push_back({e.name, static_cast<int64_t>(e.count),
                     static_cast<double>(e.total_ns) * 1e-9});
  return times;
}

void Executor::resetProfile() { tenon_exec_profile_reset(exec); }

} // namespace tenon
