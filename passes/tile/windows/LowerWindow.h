//===- LowerWindow.h - pooling and depthwise convolution -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// LowerWindow.cpp walks rows of dst, WindowTaps.cpp folds what windows see.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/products/PackPanels.h"
#include "passes/tile/windows/DirectDepthwise.h"
#include "passes/tile/windows/Windows.h"

namespace tenon::passes {

enum class WindowKind { max, average, depthwise };

/// Taps of the last dimension that are written out.
inline constexpr int64_t kMaxWritten = 11;

struct Window {
  GroupContext &ctx;
  mlir::Operation *op;
  WindowKind kind;
  FusedOperand made; // a tap, computed from elements of src
  llvm::SmallVector<SizedWindow> dims;
  Strided src, dst, weights; // channels last; weights [taps.., I, C]
  PoolDivisor divisor = PoolDivisor::window;
  bool channelsInside = true; // channels are contiguous: part of a range
  Epilogue epilogue;
  llvm::SmallVector<Strided> epilogueOperands; // of the epilogue, channels last
  /// The 8-bit type in which maxima are computed; null: sums are f32.
  mlir::Type bytes;
  /// Whether dst holds sums before it holds results.
  bool sumsInDst = true;
  /// Whether src is a row of sums over the other dimensions.
  bool folded = false;
  /// Channels of src that one channel of dst reads: I.
  int64_t perGroup = 1;
  /// A power of two by which terms of an average are multiplied, so that no
  /// sum of finite numbers overflows.
  double part = 1;
  /// Whether a maximum is NaN where an element is.
  bool propagatesNan = false;

  void emit() const;

private:
  using Tap = std::pair<Index, Index>; // lo, count
  using Taps = llvm::ArrayRef<Tap>;    // of each dim

  struct Terms;
  /// How a sum of many taps is cut: into blocks of `block` taps along `dim`,
  /// with all taps of the dims after it.
  struct Cut {
    int64_t dim, block;
  };

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  mlir::Type sumType() const {
    return bytes ? storageType(bytes) : ctx.m.builder().getF32Type();
  }
  int64_t sumBytes() const { return bytes ? 1 : sizeof(float); }
  double neutral() const;
  int64_t groupedBlock(int64_t channels) const;
  int64_t channelBlock() const;
  int64_t distanceToNextRow() const;

  /// The column ranges of a row that are written out, also those at its ends;
  /// none where they are many or not known.
  llvm::SmallVector<WindowSegment> writtenSegments() const;

  // Memory.
  Index columnRangeBytes(Index channels) const;
  mlir::Value boxOfDst(IndexMath &m, const ColumnRange &at) const;
  mlir::Value sumsOf(IndexMath &m, mlir::Value scratch, const ColumnRange &at,
                     Index before = 0) const;
  mlir::Value scratchOf(IndexMath &m, mlir::Value scratch,
                        const ColumnRange &at, Index offset) const;

  // Taps.
  mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, mlir::Value acc,
                      mlir::Value x, mlir::Value weight) const;
  Terms termsAt(IndexMath &m, const ColumnRange &at, Taps taps) const;
  void emitTaps(IndexMath &m, const ColumnRange &at, Taps taps,
                mlir::Value out) const;

  std::optional<Cut> cutOfTaps() const;
  void emitCutTaps(IndexMath &m, const ColumnRange &at,
                   llvm::SmallVector<Tap> taps, int64_t dim,
                   mlir::Value partial, mlir::Value sums) const;

  // Column ranges of dst.
  void emitColumns(IndexMath &m, mlir::Value scratch, Index partialAt,
                   const ColumnRange &at, Taps taps) const;
  Index countOf(int64_t dim, const ColumnRange &at, Taps taps) const;
  mlir::Value divisorOf(IndexMath &m, const ColumnRange &at, Taps taps) const;
  void divide(IndexMath &m, mlir::Value sums, const ColumnRange &at,
              Taps taps) const;
  void finish(IndexMath &m, mlir::Value sums, const ColumnRange &at) const;
  void emitEpilogue(IndexMath &m, mlir::Value sums,
                    const ColumnRange &at) const;

  // Rows that are folded first.
  bool folds() const;
  /// Where the folded row begins in the scratch memory of an item, in bytes:
  /// after the sums, unless these are in dst.
  Index foldedAt() const {
    return sumsInDst ? 0
                     : ceilDiv(dims[last()].out * sumBytes(), kLineBytes) *
                           kLineBytes;
  }
  Index foldedBytes() const {
    return foldedAt() + dims[last()].paddedSize() * sumBytes();
  }
  /// Divides the sums of all of row `at`, whose taps of the last dim are not
  /// given.
  void divideRow(IndexMath &m, mlir::Value scratch, ColumnRange at,
                 llvm::SmallVector<Tap> taps) const;
  void emitFolded(IndexMath &m, mlir::Value scratch, ColumnRange row,
                  llvm::SmallVector<Tap> taps) const;

  void emitRow(IndexMath &m, mlir::Value scratch, Index partialAt,
               ColumnRange range, llvm::ArrayRef<Tap> outerTaps) const;
  void emitCut(IndexMath &m, mlir::Value scratch, Index partialAt,
               ColumnRange range, llvm::ArrayRef<Tap> outerTaps, Index column,
               llvm::ArrayRef<KnownTaps> ways) const;
  DirectDepthwise asDirect() const;
  void emitDirect() const;
  void emitMostlyDirect(IndexMath &m, mlir::Value scratch, Index partialAt,
                        const ColumnRange &range,
                        llvm::ArrayRef<Tap> taps) const;
};

} // namespace tenon::passes
