//===- TileDialect.h - the tile dialect ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// `tile`: operations inside one cache tile. See TileOps.td for the operations
// and Rationale.md for why they are what they are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/tile/TileDialect.h.inc"
#include "dialects/tile/TileEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tile/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/tile/TileOps.h.inc"

namespace tenon::tile {

/// Over which of (m, n) an epilogue's side operand runs.
enum class EpilogueBroadcast { Scalar, PerRow, PerColumn, PerElement };

/// The kind of an epilogue operand map; nothing when `map` is not one of `(d0,
/// d1) -> ()`,
/// `(d0)`, `(d1)`, `(d0, d1)`.
std::optional<EpilogueBroadcast> getEpilogueBroadcast(mlir::AffineMap map);
/// The map of a kind.
mlir::AffineMap getEpilogueMapOf(EpilogueBroadcast kind,
                                 mlir::MLIRContext *context);

} // namespace tenon::tile
