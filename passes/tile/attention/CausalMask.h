//===- CausalMask.h - scores that a comparison of indices hides -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include <optional>

namespace tenon::passes {

/// In a region (%score, %row, %column, epilogue operands..) of tile.attention:
///
///   %c = %column <= %row + offset      in any spelling
///   %s = select %c, .., masked
///   yield f(%s)                        with nothing else that varies
///
/// Each element after column row + offset is one number, f(masked).
class CausalMask {
public:
  /// `isUniform` tells the epilogue operands that have one element for a whole
  /// matrix.
  static std::optional<CausalMask>
  find(mlir::Block &region,
       llvm::function_ref<bool(mlir::BlockArgument)> isUniform);

  /// Values for one matrix, whose epilogue operands `map` has: `offset`, an
  /// index, and f(masked), of the type that is yielded.
  mlir::Value emitOffset(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::IRMapping &map) const;
  mlir::Value emitMasked(mlir::OpBuilder &b, mlir::IRMapping &map) const;

private:
  using IsUniform = llvm::function_ref<bool(mlir::BlockArgument)>;
  /// row * `row` + column * `column` + `constant` +- `term`.
  struct Sum {
    int64_t row = 0, column = 0, constant = 0;
    mlir::Value term;
    bool subtracted = false;
  };
  bool add(Sum &sum, mlir::Value v, bool subtract, IsUniform isUniform);
  bool isConstantOfMatrix(mlir::Value v, IsUniform isUniform);
  bool readCondition(mlir::Value condition, bool hides, IsUniform isUniform);
  mlir::Value emit(mlir::OpBuilder &b, mlir::Value v,
                   mlir::IRMapping &map) const;

  mutable mlir::arith::SelectOp select; // handles of MLIR have no const methods
  mlir::Value masked, yielded;
  Sum visible; // >= 0 where the score stays: row - column + offset
};

} // namespace tenon::passes
