//===- FusedPrologue.h - operands that their readers compute ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Operands that a product packs or computes where it reads them are not written
// to memory and read again; nor are conversions of what a pooling reads. Costs:
// docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/TileDialect.h"

namespace tenon::passes {

struct FusedPrologue {
  int64_t l2Bytes;

  /// Whether `user` packs what `pack` does. Rows stay in L2 while one panel
  /// after the other is made.
  bool packs(mlir::Operation *user, tile::PackOp pack) const;

  /// Whether the owner of `read` computes what it reads there, the result of
  /// the last of `ops`, which are elementwise; with views between and after
  /// them for attention, or what is packed for it.
  bool makes(mlir::OpOperand &read,
             llvm::ArrayRef<mlir::Operation *> ops) const;

private:
  /// Keys or values of a head that each thread has a copy of.
  int64_t headBytes() const { return 2 * l2Bytes; }
  /// Whether each thread makes keys or values `v` of a head for itself: few, or
  /// a number that is not known.
  bool fitsThreads(tile::AttentionOp op, mlir::Value v) const;
  bool makesSrc(tile::MatMulOp op, llvm::ArrayRef<mlir::Operation *> ops) const;
  bool makesPart(tile::AttentionOp op, mlir::OpOperand &read,
                 llvm::ArrayRef<mlir::Operation *> ops) const;
};

} // namespace tenon::passes
