//===- WorkItems.h - sections written item by item --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/Costs.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/tile/core/Strided.h"

namespace tenon::passes {

/// A section over `items`; `body` gets the item's index.
void emitItems(IndexMath &m, llvm::StringRef label, Index items,
               llvm::function_ref<void(Index)> body);

/// The same with `scratchBytes` of memory that are an item's own while it runs.
void emitItems(IndexMath &m, llvm::StringRef label, Index items,
               Index scratchBytes,
               llvm::function_ref<void(Index, mlir::Value)> body);

/// The items of a section as a grid of named dimensions, of which the last
/// varies fastest. Several may share a name if they are added one after the
/// other, as spatial dimensions do.
class Grid {
public:
  Grid() = default;
  Grid(std::initializer_list<std::pair<llvm::StringRef, Index>> dims);
  /// Adds a dimension that varies faster than those before it.
  void add(llvm::StringRef name, Index count);
  void add(llvm::StringRef name, llvm::ArrayRef<Index> counts);
  /// The number of items.
  Index size() const { return product(counts); }

  /// Where an item is.
  class Item {
  public:
    Item(const Grid &grid, Index number);
    /// The position along the only dimension of this name.
    Index operator[](llvm::StringRef name) const;
    /// The positions along all dimensions of this name, which may be none.
    llvm::ArrayRef<Index> all(llvm::StringRef name) const;

    const Index number; // counted over the grid

  private:
    const Grid &grid;
    llvm::SmallVector<Index> positions;
  };

private:
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<Index> counts;
};

/// A section over all items of `grid`.
void emitItems(IndexMath &m, llvm::StringRef label, const Grid &grid,
               llvm::function_ref<void(const Grid::Item &)> body);
void emitItems(IndexMath &m, llvm::StringRef label, const Grid &grid,
               Index scratchBytes,
               llvm::function_ref<void(const Grid::Item &, mlir::Value)> body);

/// The first work item of the range that the thread of `item` executes. All
/// items of a range share one scratch buffer.
mlir::Value firstOfRange(Index item);

/// Calls `body` in the first item of that range, and where `number` is 0: what
/// it leaves in scratch memory is there for the items that follow.
void emitIfFirst(IndexMath &m, Index item, Index number,
                 llvm::function_ref<void()> body);

/// `count` elements of the scratch memory of an item, as a vector.
mlir::Value scratchView(IndexMath &m, mlir::Value scratch, mlir::Type element,
                        Index byteOffset, Index count);

/// Memory for `count` elements that sections leave to later ones.
mlir::Value allocateBetween(IndexMath &m, mlir::Type element, Index count);

/// Rows of a block whose `k` columns take half of L2, beside a panel of
/// weights; a multiple of `multiple`.
int64_t rowBlock(std::optional<int64_t> rows, std::optional<int64_t> k,
                 int64_t l2Bytes, int64_t elementBytes = 4,
                 int64_t multiple = kMinRowBlock);

/// The height of the blocks if `rows` are cut into equal ones of about `block`
/// rows. A much lower one at the end would read all weights for few rows.
int64_t evenRows(int64_t rows, int64_t block);

/// The height of the blocks into which `rows` are cut: `block` or, if blocks
/// times `others` were fewer than kMinItems, less, but about `least` rows.
int64_t shareRows(int64_t rows, int64_t block, int64_t others, int64_t least);

/// The height `block`, or that of one block more, if blocks times `others` are
/// few items and odd in number: one of two threads would wait for the other.
int64_t evenItems(int64_t rows, int64_t block, int64_t others);

/// A loop over [from, to).
void emitLoop(IndexMath &m, Index from, Index to,
              llvm::function_ref<void(Index)> body);
/// A loop over [0, count) or, if that is one iteration, its body alone.
void emitLoop(IndexMath &m, int64_t count,
              llvm::function_ref<void(Index)> body);

/// Calls `below` where `number` is less than `bound`.
void emitIfBelow(IndexMath &m, Index number, Index bound,
                 llvm::function_ref<void()> below,
                 llvm::function_ref<void()> otherwise);

/// Calls `body` with the size of block `number` of `total` elements: `block`,
/// or what the last one has.
void withBlockSize(IndexMath &m, Index number, int64_t total, int64_t block,
                   llvm::function_ref<void(int64_t)> body);
/// The same for sizes that need not be known: that of the last block is a
/// constant only where both are known, and none is where `block` is not.
void withBlockSize(IndexMath &m, Index number, Index total, Index block,
                   llvm::function_ref<void(Index)> body);

} // namespace tenon::passes
