//===- Text.h - words of messages -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What messages and reports of every layer need: a number with its noun, and
// the known word that was meant.  No MLIR, no LLVM.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// "1 group", "3 groups". `many` is the plural where it is not `one` and an s.
std::string countText(int64_t count, std::string_view one,
                      std::string_view many = {});

/// Of `known`, the one spelled most like `word` if upper and lower case are
/// equal; empty when none is close.
std::string closest(std::string_view word,
                    const std::vector<std::string> &known);

} // namespace tenon
