//===- Mode.h - options that are decided by cost or by the user -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tenon::passes {

enum class Mode {
  byCost,
  always, // where it is possible
  never
};

/// The values that parseMode knows, for messages.
inline constexpr char kModes[] = "auto, always or never";

std::optional<Mode> parseMode(llvm::StringRef text);

} // namespace tenon::passes
