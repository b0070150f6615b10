//===- Error.h - coded errors ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every failure a user can meet is one of these: a stable code, the operation
// it is about, the numbers that clash, and what to do.  No MLIR, no LLVM.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

enum class ErrorCode : uint16_t {
#define TENON_ERROR(number, name, category, text) name = number,
#include "dialects/support/ErrorCodes.def"
};

/// Who has to act; also the exit code of the command line tools.
enum class ErrorCategory : int {
  user = 1,
  unsupported = 2,
  mismatch = 3,
  internal = 4
};

ErrorCategory categoryOf(ErrorCode code);
/// The one-line meaning of `code` from the list of codes.
const char *describe(ErrorCode code);

/// One error.  `opKind` is empty when the error is not about an operation.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::string opKind;
  std::string opName;
  std::optional<uint64_t> opId;
  std::string hint;

  /// `E1203 MatMul "fc1" (id 7): message; hint: ...`
  std::string str() const;
};

/// A value, or at least one error.
template <typename T> class Expected {
public:
  Expected(T value) : state(std::move(value)) {}
  Expected(Error error) : state(std::vector<Error>{std::move(error)}) {}
  Expected(std::vector<Error> errors) : state(std::move(errors)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  /// Only when the value is absent; never empty then.
  const std::vector<Error> &errors() const { return std::get<1>(state); }

private:
  std::variant<T, std::vector<Error>> state;
};

/// All errors, one per line.
std::string str(const std::vector<Error> &errors);

} // namespace tenon
