//===- WinogradName.h - what a Winograd convolution is called --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tenon::passes {

/// "F(2x2, 3x3)" for 2.
std::string winogradName(int64_t outputs);

} // namespace tenon::passes
