//===- WinogradMode.h - when convolutions use minimal filtering -*- C++ -*-===//
//
// For the option of this name, of the driver and of the pass.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tenon {

enum class WinogradMode {
  byCost,
  always, // where it is possible
  never
};

/// The values that parseWinogradMode knows, for messages.
inline constexpr char kWinogradModes[] = "auto, always or never";

std::optional<WinogradMode> parseWinogradMode(llvm::StringRef text);

} // namespace tenon
