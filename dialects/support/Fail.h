//===- Fail.h - errors about no operation ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

namespace tenon {

/// An error that is not about one operation.
inline Error fail(ErrorCode code, std::string message, std::string hint = {}) {
  Error e;
  e.code = code;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

} // namespace tenon
