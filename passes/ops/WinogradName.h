//===- WinogradName.h - what minimal filtering is called --------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace tenon {

/// "F(2x2, 3x3)" for 2.
std::string winogradName(int64_t outputs);

} // namespace tenon
