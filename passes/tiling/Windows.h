//===- Windows.h - what lowerings of windows share -------------*- C++ -*-===//
//
// Pooling, its gradients, resampling and local response normalisation all walk
// rows of [batch, spatial.., channels] tensors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/TileDialect.h"
#include "passes/tiling/Items.h"

namespace tenon::tiling {

/// `s` of NCX order with the channel dimension last; NXC as it is.
Strided toChannelsLast(const Strided &s, bool ncx);

/// Whether `op` says that its tensors of `rank` have their channels second.
bool isNcx(mlir::Operation *op, int64_t rank);

/// The windows of `op`, whose attributes are those of a pooling, between
/// tensors of these types: `big` is what forward pooling reads. `in` is the
/// size that windows see.
llvm::SmallVector<WindowDim> windowDims(mlir::Operation *op, mlir::Type big,
                                        mlir::Type small, bool ncx,
                                        llvm::ArrayRef<int64_t> kernel);

/// The windows of `op`; sizes may be dynamic.
llvm::SmallVector<WindowDim> windowDims(tile::ConvOp op);

/// Whether `op` is a product of each position with one matrix.
bool isPointwise(tile::ConvOp op);

/// Neighbouring columns of one row of a tensor with channels last.
struct Stretch {
  Ofr image, channel; // the first
  llvm::ArrayRef<Ofr> outer;
  Ofr column, count;
  std::optional<Ofr> channels; // that a loop passes; none: there is one
};
/// Appends the box of each of `sides` on `stretch`, and its map from the loops
/// over columns and channels.
void addSides(IndexMath &m, llvm::ArrayRef<Strided> sides,
              const Stretch &stretch, llvm::SmallVectorImpl<mlir::Value> &ins,
              llvm::SmallVectorImpl<mlir::AffineMap> &maps);

/// `small` and `big`, both with channels last, over one space, in which each
/// position of small is repeated in big: `times[i]` neighbours along spatial
/// dim i. Dims are batch, channels if they lie apart, position and repetition
/// of each spatial dim, channels if they lie together.
std::pair<Strided, Strided> asRepetition(IndexMath &m, const Strided &small,
                                         const Strided &big,
                                         llvm::ArrayRef<int64_t> times);

using ElementBody = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
using ElementsBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// outs = body(ins.., outs..): one linalg.generic over memrefs of one shape.
mlir::Operation *pointwise(IndexMath &m, mlir::ValueRange ins,
                           mlir::ValueRange outs, ElementsBody body);
/// out = body(ins.., out).
mlir::Operation *pointwise(IndexMath &m, mlir::ValueRange ins, mlir::Value out,
                           ElementBody body);
/// out = value.
void fill(IndexMath &m, mlir::Value out, double value);

/// What channels one item covers: a block of neighbours, or one where they are
/// apart in memory.
struct ChannelBlocks {
  Ofr block, count;
  ChannelBlocks(IndexMath &m, Ofr channels, bool inside, int64_t block);
  /// Channels of block `i`.
  Ofr extent(IndexMath &m, Ofr channels, Ofr i) const;
};

/// Taps [first, past) that meet src at some position; others see only padding.
std::pair<int64_t, int64_t> usefulTaps(const WindowDim &d);

/// Neighbouring positions of dst whose windows have the same taps inside src.
struct WindowSegment {
  int64_t from, count;
  std::pair<int64_t, int64_t> taps; // [lo, hi)
};
llvm::SmallVector<WindowSegment> segmentsOf(const WindowDim &d);

/// Whether at least one tap of each window meets src; if `whole`, all taps.
bool meetSrc(llvm::ArrayRef<WindowDim> dims, bool whole = false);

} // namespace tenon::tiling
