//===- Windows.h - what lowerings of windows share -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Pooling, its gradients, resampling and local response normalisation all walk
// rows of [batch, spatial.., channels] tensors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/WindowGeometry.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"

namespace tenon::passes {

/// `s` of NCX order with the channel dimension last; NXC as it is.
Strided toChannelsLast(const Strided &s, bool ncx);

/// Neighbouring columns of one row of a tensor with channels last.
struct ColumnRange {
  Index image, channel; // the first
  llvm::ArrayRef<Index> outer;
  Index column, count;
  std::optional<Index> channels; // that a loop passes; none: there is one
};
/// Taps [lo, hi) of one dimension, known when code is written.
using KnownTaps = std::pair<int64_t, int64_t>;
/// What the padding before src (after it) leaves inside src of the taps of
/// windows along `d`, for each position whose window it cuts; none where it is
/// not known.
llvm::SmallVector<KnownTaps> cutBefore(const SizedWindow &d);
llvm::SmallVector<KnownTaps> cutAfter(const SizedWindow &d);
/// Calls `body` with that of `ways` that `taps` are when the code runs, or
/// `otherwise`.
void withKnownTaps(IndexMath &m, std::pair<Index, Index> taps,
                   llvm::ArrayRef<KnownTaps> ways,
                   llvm::function_ref<void(KnownTaps)> body,
                   llvm::function_ref<void()> otherwise);

/// Appends the box of each of `epilogue_operands` on `range`, and its map from
/// the loops over columns and channels.
void addEpilogueOperands(IndexMath &m, llvm::ArrayRef<Strided> epilogueOperands,
                         const ColumnRange &range,
                         llvm::SmallVectorImpl<mlir::Value> &ins,
                         llvm::SmallVectorImpl<mlir::AffineMap> &maps);

/// The lowest finite number of the type of dst of `pool`, with which the search
/// for a maximum starts.
double lowestOf(mlir::Operation *pool);

/// What the sum over a window of an average is divided by.
enum class PoolDivisor {
  window,   // the number of its elements
  clipped,  // of those that are in src or its padding
  elements, // of those that are in src
};
PoolDivisor divisorOf(mlir::Operation *pool);

/// `small` and `big`, both with channels last, over one space, in which each
/// position of small is repeated in big: `times[i]` neighbours along spatial
/// dim i. The dims of the space are batch, then channels if they are strided,
/// position and repetition of each spatial dim, and channels if contiguous.
std::pair<Strided, Strided> asRepetition(const Strided &small,
                                         const Strided &big,
                                         llvm::ArrayRef<int64_t> times);

/// The channels of one item: a block of neighbours or, if channels are strided,
/// a single one.
struct ChannelBlocks {
  Index block, count;
  ChannelBlocks(Index channels, bool inside, int64_t block);
  /// Channels of block `i`.
  Index extent(Index channels, Index i) const;
};

} // namespace tenon::passes
