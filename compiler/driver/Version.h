//===- Version.h - which compiler this is ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tenon {

/// The release of Tenon. The C API reports it in three numbers.
inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 4;
inline constexpr int kVersionPatch = 0;

/// "0.4.0 (LLVM 22.1.2, build 8f3a...)": differs between any two builds that
/// may generate different code, so that no cache serves one the other's.
const std::string &compilerVersion();

} // namespace tenon
