//===- Target.h - what code is generated for -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The target is an attribute of the module (`#tile.target` in TileBase.td). The
// driver puts it there before the first phase, and whoever needs to know of the
// machine asks for it here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/AttrNames.h"
#include "dialects/tile/TileDialect.h"

namespace tenon::tile {

/// The target of the module that `op` is or lies in. A module without the
/// attribute is for the target with all defaults.
TargetAttr targetOf(mlir::Operation *op);

/// `#tile.target<FIELDS>`; null, with a diagnostic in `context`, when that is
/// no such attribute.
TargetAttr parseTarget(llvm::StringRef fields, mlir::MLIRContext *context);

} // namespace tenon::tile
