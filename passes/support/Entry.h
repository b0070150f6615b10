//===- Entry.h - the functions of a module between phases ------*- C++ -*-===//
//
// A module holds @main, called for every execution, and, when constants allow,
// @fold, called once. Arguments of @main: the graph's inputs in port order,
// then what @fold returns. From the tile phase on, results are arguments too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon {

inline constexpr llvm::StringLiteral kMainName = "main";
inline constexpr llvm::StringLiteral kFoldName = "fold";
inline constexpr llvm::StringLiteral kArenaSuffix = "_arena";
/// On arguments of @main: the result of @fold of the same ordinal.
inline constexpr llvm::StringLiteral kFoldedAttr = "tile.folded";
/// On arguments and results: strides of the caller's buffer, in elements.
inline constexpr llvm::StringLiteral kStridesAttr = "tile.strides";
/// On arguments whose type has another rank than the caller's tensor: how many
/// sizes the caller gives.
inline constexpr llvm::StringLiteral kRankAttr = "tile.rank";
/// On group functions: the kind of work, as in GroupKind.
inline constexpr llvm::StringLiteral kGroupAttr = "tile.group";
/// On group functions of chains: rows of the result that are computed at a
/// time.
inline constexpr llvm::StringLiteral kBandAttr = "tile.band";
/// On calls of group functions: the names of the operations in it.
inline constexpr llvm::StringLiteral kLabelAttr = "tile.label";
/// On calls of groups of a Concat: its operands, by number, that are computed
/// where they are joined.
inline constexpr llvm::StringLiteral kInPlaceAttr = "tile.in_place";
/// On arguments of entries from the tile phase on: "input", "output",
/// "folded" or "arena".
inline constexpr llvm::StringLiteral kRoleAttr = "tile.role";

inline bool isConstantArg(mlir::func::FuncOp f, unsigned i) {
  auto property = f.getArgAttrOfType<mlir::StringAttr>(i, "graph.property");
  return property && property.getValue() == "constant";
}
inline bool isFoldedArg(mlir::func::FuncOp f, unsigned i) {
  return static_cast<bool>(f.getArgAttr(i, kFoldedAttr));
}
inline bool isEntryName(llvm::StringRef name) {
  return name == kMainName || name == kFoldName;
}
inline bool isEntry(mlir::func::FuncOp f) { return isEntryName(f.getName()); }
/// From the bufferize phase on: whether `f` computes the bytes of an entry's
/// arena.
inline bool isArenaSize(mlir::func::FuncOp f) {
  llvm::StringRef name = f.getName();
  return name.consume_back(kArenaSuffix) && isEntryName(name);
}

} // namespace tenon
