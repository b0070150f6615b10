//===- Graphviz.h - pictures through graphviz -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/support/Error.h"

#include <string>

namespace tenon::cli {

/// The picture that graphviz' program `dot` draws, as SVG.  Errors: CannotRead
/// when the program is not on PATH or fails, CannotWrite without temporary
/// files.
Expected<std::string> renderSvg(const std::string &dot);

} // namespace tenon::cli
