//===- AttrNames.h - attributes that passes leave for others ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The discardable attributes of the tile dialect. Its verifier knows where each
// may stand and of which type it is (VerifyAttrs.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tenon {

//===--- on modules -------------------------------------------------------===//
/// `#tile.target`.
inline constexpr llvm::StringLiteral kTargetAttr = "tile.target";

//===--- on functions of groups -------------------------------------------===//
/// `#tile.group`: the kind of work.
inline constexpr llvm::StringLiteral kGroupAttr = "tile.group";
/// Of chains: rows of the result that are computed at a time.
inline constexpr llvm::StringLiteral kBandAttr = "tile.band";

//===--- on calls of groups -----------------------------------------------===//
/// The names of the operations in it.
inline constexpr llvm::StringLiteral kLabelAttr = "tile.label";
/// Of a Concat: its operands, by number, that are computed where they are
/// joined.
inline constexpr llvm::StringLiteral kInPlaceAttr = "tile.in_place";

//===--- on arguments and results of entries ------------------------------===//
/// `#tile.role`, on arguments from the tile phase on.
inline constexpr llvm::StringLiteral kRoleAttr = "tile.role";
/// On arguments of @main: it is the result of @fold of the same ordinal.
inline constexpr llvm::StringLiteral kFoldedAttr = "tile.folded";
/// On arguments whose type has another rank than the caller's tensor: how many
/// sizes the caller gives.
inline constexpr llvm::StringLiteral kRankAttr = "tile.rank";
/// On arguments and results: strides of the caller's buffer, in elements.
inline constexpr llvm::StringLiteral kStridesAttr = "tile.strides";

//===--- on operations of the graph ---------------------------------------===//
/// On a convolution that was a transposed one: of an empty src the result is
/// empty, whatever the window says.
inline constexpr llvm::StringLiteral kEmptyLikeSrcAttr = "tile.empty_like_src";
/// On a TypeCast to a narrower float: it is an edge, not a rounding.
inline constexpr llvm::StringLiteral kImplicitCastAttr = "tile.implicit_cast";
/// On an operation that ends what its first operand begins: without fusion,
/// too, they are one.
inline constexpr llvm::StringLiteral kPartAttr = "tile.part";
/// On an operation that computes in f32 what the graph has in a narrower type:
/// the element type that its result had.
inline constexpr llvm::StringLiteral kWidenedAttr = "tile.widened";

} // namespace tenon
