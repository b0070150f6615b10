//===- WinogradMode.h - when convolutions use minimal filtering -*- C++ -*-===//
//
// For the option of this name, of the driver and of the pass; and for reports.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace tenon {

enum class WinogradMode {
  byCost,
  always, // where it is possible
  never
};

/// The values that parseWinogradMode knows, for messages.
inline constexpr char kWinogradModes[] = "auto, always or never";

/// "F(2x2, 3x3)" for 2.
std::string winogradName(int64_t outputs);

std::optional<WinogradMode> parseWinogradMode(llvm::StringRef text);

} // namespace tenon
