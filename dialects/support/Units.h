//===- Units.h - quantities as text -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// No MLIR, no LLVM.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>

namespace tenon {

/// "12.3 us", "4.56 ms", ...
std::string secondsText(double seconds);
/// "1.5 KiB", ...
std::string bytesText(double bytes);

} // namespace tenon
