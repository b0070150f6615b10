//===- MemoryPlan.h - the arena as text and as a picture --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/report/CompileReport.h"

#include <string>

namespace tenon::report {

struct MemoryPlan {
  int64_t size = 0;    // of the arena
  int64_t sum = 0;     // of all buffers
  int64_t live = 0;    // most bytes in use at once: no plan needs less
  size_t liveStep = 0; // when that is
};

/// Requires sizes that are all known.
MemoryPlan summarize(const CompileReport &report);

/// One line for each buffer: steps, offset, bytes, name.
std::string memoryText(const CompileReport &report);

/// SVG: steps from left to right, addresses from bottom to top, a rectangle
/// for each buffer with its name and bytes.
std::string memorySvg(const CompileReport &report);

} // namespace tenon::report
