// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Error.h"

namespace tenon {

ErrorCategory categoryOf(ErrorCode code) {
  switch (code) {
#define TENON_ERROR(number, name, category, text)                              \
  case ErrorCode::name:                                                        \
    return ErrorCategory::category;
#include "dialects/support/ErrorCodes.def"
  }
  return ErrorCategory::internal;
}

const char *describe(ErrorCode code) {
  switch (code) {
#define TENON_ERROR(number, name, category, text)                              \
  case ErrorCode::name:                                                        \
    return text;
#include "dialects/support/ErrorCodes.def"
  }
  return "unknown error";
}

std::string Error::str() const {
  std::string s = "E" + std::to_string(static_cast<int>(code));
  if (!opKind.empty())
    s += " " + opKind;
  if (!opName.empty())
    s += " \"" + opName + "\"";
  if (opId)
    s += " (id " + std::to_string(*opId) + ")";
  s += ": " + (message.empty() ? describe(code) : message);
  if (!hint.empty())
    s += "; hint: " + hint;
  return s;
}

std::string str(const std::vector<Error> &errors) {
  std::string s;
  for (const Error &e : errors) {
    if (!s.empty())
      s += "\n";
    s += e.str();
  }
  return s;
}

} // namespace tenon
