//===- Entry.h - the functions of a module between phases ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A module holds @main, called for every execution, and, when constants allow,
// @fold, called once. Arguments of @main: the graph's inputs in port order,
// then what @fold returns. From the tile phase on, results are arguments too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/PlainOp.h"
#include "dialects/support/LinkNames.h"
#include "dialects/tile/AttrNames.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::passes {

inline bool isConstantArg(mlir::func::FuncOp f, unsigned i) {
  auto property = f.getArgAttrOfType<mlir::StringAttr>(i, graph::kPropertyAttr);
  return property && property.getValue() == "constant";
}
/// The kind of the group whose function `f` is; none: it is that of no group.
inline std::optional<tile::GroupKind> groupKindOf(mlir::func::FuncOp f) {
  auto kind = f->getAttrOfType<tile::GroupKindAttr>(kGroupAttr);
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}
/// The role of argument `i` of an entry on buffers; none before the tile phase.
inline std::optional<tile::ArgRole> roleOf(mlir::func::FuncOp f, unsigned i) {
  auto role = f.getArgAttrOfType<tile::ArgRoleAttr>(i, kRoleAttr);
  return role ? std::optional(role.getValue()) : std::nullopt;
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

} // namespace tenon::passes
