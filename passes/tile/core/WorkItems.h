//===- WorkItems.h - sections written item by item --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/Costs.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/tile/core/Strided.h"

namespace tenon::tiling {

/// A section over `items`; `body` gets the item's index.
void emitItems(IndexMath &m, llvm::StringRef label, Ofr items,
               llvm::function_ref<void(IndexMath &, mlir::Value)> body);

/// The same with `scratchBytes` of memory that are an item's own while it runs.
void emitItems(
    IndexMath &m, llvm::StringRef label, Ofr items, Ofr scratchBytes,
    llvm::function_ref<void(IndexMath &, mlir::Value, mlir::Value)> body);

/// The first item of the range that `item`, of a section above, is in: it has
/// the scratch memory of those before it.
mlir::Value firstOfRange(mlir::Value item);

/// Calls `body` in the first item of that range, and where `number` is 0: what
/// it leaves in scratch memory is there for the items that follow.
void emitIfFirst(IndexMath &m, mlir::Value item, Ofr number,
                 llvm::function_ref<void(IndexMath &)> body);

/// `count` elements of the scratch memory of an item, as a vector.
mlir::Value scratchView(IndexMath &m, mlir::Value scratch, mlir::Type element,
                        Ofr byteOffset, Ofr count);

/// A multiple of the heights of register tiles, 4, 6, 8 and 12.
inline constexpr int64_t kMinRowBlock = 24;

/// Rows of a block whose `k` columns take half of L2, beside a panel of
/// weights; a multiple of `multiple`.
int64_t rowBlock(std::optional<int64_t> rows, std::optional<int64_t> k,
                 int64_t l2Bytes, int64_t elementBytes = 4,
                 int64_t multiple = kMinRowBlock);

/// Rows of blocks of about `block`, as equal as they can be: a low one at the
/// end passes all weights for few rows.
int64_t evenRows(int64_t rows, int64_t block);

/// Rows of the blocks into which `rows` are cut: `block`, or so few that blocks
/// times `others` are kMinItems, if those are `least` or more.
int64_t shareRows(int64_t rows, int64_t block, int64_t others, int64_t least);

/// `block`, or the rows of one block more where blocks times `others` are few
/// items and odd in number: of two threads one would wait for the other.
int64_t evenItems(int64_t rows, int64_t block, int64_t others);

/// Splits `index` by `counts`, the last varying fastest.
llvm::SmallVector<Ofr> delinearize(IndexMath &m, mlir::Value index,
                                   llvm::ArrayRef<Ofr> counts);

/// A loop over [from, to).
void emitLoop(IndexMath &m, Ofr from, Ofr to,
              llvm::function_ref<void(IndexMath &, Ofr)> body);

/// Calls `below` where `number` is less than `bound`.
void emitIfBelow(IndexMath &m, Ofr number, int64_t bound,
                 llvm::function_ref<void(IndexMath &)> below,
                 llvm::function_ref<void(IndexMath &)> otherwise);

/// Calls `body` with the size of block `number` of `total` elements: `block`,
/// or what the last one has.
void withBlockSize(IndexMath &m, Ofr number, int64_t total, int64_t block,
                   llvm::function_ref<void(IndexMath &, int64_t)> body);

} // namespace tenon::tiling
