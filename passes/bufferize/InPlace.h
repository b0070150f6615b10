//===- InPlace.h - inputs that may share memory with outputs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <utility>
#include <vector>

namespace tenon::passes {

/// Argument and result of `main`, after the fuse phase, of one type: results
/// are right even if the caller gives both the same memory. Either every read
/// of the argument comes before the group that writes the result, or that group
/// reads it element by element, where it writes. Of more than kMostInPlace
/// arguments for one result there are those that are read last.
inline constexpr size_t kMostInPlace = 64;
std::vector<std::pair<unsigned, unsigned>>
inPlacePairs(mlir::func::FuncOp main);

} // namespace tenon::passes
