//===- Counting.h - what work costs, without a clock -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// For one file of a test: counts the allocations of the process, and the basic
// blocks that code compiled with -fsanitize-coverage=trace-pc executes.  Both
// are the same on a busy machine and on an idle one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace tenon::test {

inline thread_local uint64_t executedBlocks = 0;
inline thread_local uint64_t allocations = 0;

struct Cost {
  uint64_t blocks = 0, allocations = 0;
};

/// What the calling thread does in `work`.
template <typename Work> Cost costOf(Work work) {
  Cost before = {executedBlocks, allocations};
  work();
  return {executedBlocks - before.blocks, allocations - before.allocations};
}

} // namespace tenon::test

extern "C" void __sanitizer_cov_trace_pc() { ++tenon::test::executedBlocks; }

void *operator new(size_t size) {
  ++tenon::test::allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
