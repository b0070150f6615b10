//===- Recipes.h - names for what @fold computes ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tenon::passes {

/// How one result of @fold is computed from its arguments.
struct FoldRecipe {
  /// Equal texts compute the same from the same arguments, in any module:
  /// neither names nor numbers of operations and arguments are in it.
  std::string text;
  /// The arguments it depends on, in the order of the text.
  std::vector<unsigned> arguments;
};

/// For each result. `fold` is to hold no calls.
std::vector<FoldRecipe> recipesOf(mlir::func::FuncOp fold);

} // namespace tenon::passes
