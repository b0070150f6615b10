//===- Items.h - sections written item by item -----------------*- C++ -*-===//
#pragma once

#include "codegen/vector/Attrs.h"
#include "passes/tiling/Strided.h"

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

/// The least multiple of `step` that is not below `n` >= 0.
inline int64_t roundUp(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/// Elements of weights that do not stay in L2: panels come from beyond it each
/// time, and are asked for one ahead.
inline constexpr int64_t kStreamedWeights = 256 << 10;

/// Bytes of L2 that products use: with twice as many those with long sums took
/// 1.02 to 1.05 times as long (docs/cost-model.md).
inline constexpr int64_t kMostOfL2 = 1 << 20;

/// Bytes that no cache holds when they are read: they are asked for ahead. What
/// is in the last cache takes a quarter longer so.
inline constexpr int64_t kFromMemoryBytes = 32 << 20;

/// Results of so many bytes are stored past the caches: 4 MiB gain a tenth, 16
/// MiB half (docs/cost-model.md), but what is smaller may be read soon.
inline constexpr int64_t kStreamedBytes = 16 << 20;

using codegen::kLineBytes;

/// Rows a multiple of it apart share few sets of the cache.
inline constexpr int64_t kBadStride = 1024; // bytes

/// Elements of `bytes` each between rows of `elements`: an odd number of lines,
/// so that rows beside each other use all sets of the cache.
inline int64_t oddPitch(int64_t elements, int64_t bytes) {
  int64_t lines = roundUp(elements * bytes, kLineBytes) / kLineBytes;
  return (lines | 1) * kLineBytes / bytes;
}

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

/// Items that threads can share evenly.
inline constexpr int64_t kMinItems = 8;

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

/// A sliding window along one spatial dimension; all sizes known, but for
/// `isKnown`.
struct WindowDim {
  int64_t in, out, kernel, stride, pad, dilation;

  bool isKnown() const {
    return !mlir::ShapedType::isDynamic(in) &&
           !mlir::ShapedType::isDynamic(out) &&
           !mlir::ShapedType::isDynamic(kernel);
  }
  /// Whether position i of dst needs position i of src.
  bool isIdentity() const {
    return kernel == 1 && stride == 1 && pad == 0 && in == out;
  }
  /// Elements from the first of the padding before src to the last that a
  /// window reaches.
  int64_t paddedSize() const {
    return std::max<int64_t>(out - 1, 0) * stride + (kernel - 1) * dilation + 1;
  }
  /// Positions of dst [first, past) whose window lies inside src.
  std::pair<int64_t, int64_t> interior() const;
  /// Taps [lo, hi) of the window at a known position of dst that lie in src.
  std::pair<int64_t, int64_t> tapsAt(int64_t position) const;
  /// Taps [lo, hi) of the window at position `start` = stride * index that
  /// fall inside src; lo <= hi.
  std::pair<Ofr, Ofr> validTaps(IndexMath &m, Ofr start) const;
  /// Positions [from, past) of dst whose tap `k` falls inside src.
  std::pair<Ofr, Ofr> validPositions(IndexMath &m, Ofr k) const;
};

/// One spatial dimension of a transposed convolution, from `in` positions of
/// src to `out` of dst. Position o of dst and tap k meet position
/// (o + pad - k * dilation) / stride of src where that divides.
///
/// Positions c, c + stride, c + 2 * stride, .. are a class: they use the same
/// taps first, first + step, .., and within it the operation is a convolution
/// of stride 1 whose taps go backwards through src, `back` positions each.
struct SpreadDim {
  SpreadDim(int64_t in, int64_t out, int64_t kernel, int64_t stride,
            int64_t pad, int64_t dilation);

  int64_t in, out, kernel, stride, pad, dilation;
  int64_t step; // from one tap of a class to the next
  int64_t back; // positions of src between these

  struct Class {
    Ofr first; // tap
    Ofr taps;  // their number
    Ofr shift; // position q of the class and its first tap meet q + shift
    Ofr count; // positions
  };
  /// The class of position `c` < stride.
  Class classOf(IndexMath &m, Ofr c) const;
  /// Positions [first, past) of a class all of whose taps lie inside src.
  std::pair<Ofr, Ofr> interior(IndexMath &m, const Class &c) const;
  /// Taps [lo, hi) of the class that position `q` of it finds inside src.
  std::pair<Ofr, Ofr> validTaps(IndexMath &m, const Class &c, Ofr q) const;

private:
  int64_t divisor; // of stride and dilation
  int64_t inverse; // of dilation / divisor modulo step
};

} // namespace tenon::tiling
