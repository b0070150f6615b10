//===- OpExample.h - a program that executes one operation -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/OpTable.h"

namespace tenon::cli {

/// A program in C++17, includes and main() alone, that builds `info` with
/// small sizes, compiles it, executes it, and returns 0 if results are those
/// that the reference evaluator computes.  It follows from the operation table
/// and is the same on every machine.
///
/// Errors: UnsupportedOp, where no element type of the operation compiles.
/// Thread-safe.
Expected<std::string> exampleOf(const graph::OpInfo &info);

} // namespace tenon::cli
