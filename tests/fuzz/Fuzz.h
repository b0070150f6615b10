//===- Fuzz.h - what fuzz targets share ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// What a target defines: one input. Returns 0; a finding aborts.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace tenon::fuzz {

/// Ends the process, as a finding, unless `holds`.
inline void require(bool holds, const char *what, const std::string &detail) {
  if (holds)
    return;
  std::fprintf(stderr, "finding: %s\n%s\n", what, detail.c_str());
  std::abort();
}

/// Errors are fine, but none may say that Tenon itself is at fault.
inline void requireBlameless(const std::vector<Error> &errors) {
  for (const Error &error : errors)
    require(error.code != ErrorCode::Internal, "internal error", error.str());
}

} // namespace tenon::fuzz
