//===- Options.h - what a user may choose ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tenon {

/// See Options.def. A value; equal options and graphs give equal code,
/// whatever compileThreads is.
struct Options {
#define TENON_OPTION(type, name, flag, fallback, help) type name = fallback;
#include "compiler/driver/Options.def"
};

/// The values of `denormals`.
inline constexpr char kAutoDenormals[] = "auto";
inline constexpr char kKeepDenormals[] = "keep";
inline constexpr char kFlushDenormals[] = "flush";

} // namespace tenon
