//===- Loops.h - what the inner loops of assembly do ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::test {

/// One innermost loop of a function of x86-64 assembly, AT&T syntax.
struct Loop {
  std::string function;
  int instructions = 0;
  int vectorLoads = 0;      // of 32 or 64 bytes
  int vectorStores = 0;     // of 32 or 64 bytes, but to the stack
  int vectorArithmetic = 0; // on registers of 32 or 64 bytes, moves excluded
};

/// The innermost loops of `assembly`: from the target of a backward jump to the
/// jump, where no other such range lies inside. A function without loops that
/// is called in there counts as part of it.
std::vector<Loop> innermostLoops(std::string_view assembly);

} // namespace tenon::test
