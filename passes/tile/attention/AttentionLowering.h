//===- AttentionLowering.h - blocks of attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by LowerAttention.cpp, which cuts attention into blocks and writes
// their products, AttentionSplits.cpp, which does so for few queries,
// AttentionOperands.cpp, which says where queries, keys and values are, and
// AttentionRows.cpp, which writes what happens to a row of scores between the
// products.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/attention/CausalMask.h"
#include "passes/tile/core/Epilogue.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/PackPanels.h"

namespace tenon::tiling {

/// Arguments of the regions of scores and of weights that are epilogue operand
/// 0.
inline constexpr unsigned kFirstEpilogueOperand = 3, kFirstWeightOperand = 2;

/// Whether `operand`, over rows and columns, has one element for a whole
/// matrix.
bool hasOnePerMatrix(const Strided &operand);

class AttentionLowering {
public:
  AttentionLowering(GroupContext &ctx, tile::AttentionOp op)
      : ctx(ctx), op(op), m(ctx.m), epilogue(ctx, op) {}

  void run();

  /// Rows of a block of scores.
  struct Rows {
    Index first, count;
  };
  /// A number that scores are divided by, an argument of their region, and its
  /// reciprocal.
  struct Divisor {
    mlir::Value argument, reciprocal;
  };

private:
  /// Memory of an item: a block of scores, numbers per row, a copy of values;
  /// with narrow types weights apart from scores and, where keys come in steps,
  /// the sums so far and those of one step.
  struct Scratch {
    mlir::Value scores, max, sum, factor, values, weights, result, step;
    mlir::Value packedKeys, packedValues;  // of a head, for all of its blocks
    mlir::Value fusedQueries, fusedValues; // of a block, of a head
    mlir::Value hidden; // with a causal mask: a sum of what it hides
  };
  /// One of these, where it is needed.
  struct ScratchBuffer {
    mlir::Value Scratch::*place;
    int64_t elements;
    bool narrow;
  };
  /// Where a block of queries is: its leading indices and first row.
  struct Block {
    llvm::SmallVector<Index> at;
    Index rows;
    Scratch scratch;
    Index visiblePanels = {}; // with a causal mask: of keys that its rows see
    mlir::Value masked = {};  // and the score of the others
  };
  /// Keys whose scores exist at one time: all, or those of one step.
  struct Keys {
    Index panel; // the first
    Index from;  // the first key
    Index count;
  };
  /// Keys or values that are packed here: tensors that are read, over the
  /// leading dimensions, and where panels go.
  struct PackedHere {
    PanelPacking packing;
    llvm::SmallVector<Strided, 2> sources;
    mlir::Value Scratch::*place;
  };
  /// Queries or values that are computed here, likewise.
  struct FusedInput {
    FusedOperand value;
    llvm::SmallVector<Strided, 2> sources; // and the operand's own dimensions

    void emit(IndexMath &m, llvm::ArrayRef<Index> at,
              llvm::ArrayRef<Index> sizes, mlir::Value to) const;
  };
  /// Epilogue operands that a region reads, along rows of scores.
  struct RowSides {
    llvm::SmallVector<mlir::Value> boxes;
    llvm::SmallVector<mlir::AffineMap> maps;
    llvm::SmallVector<unsigned> arguments; // of the region
  };

  // LowerAttention.cpp
  void chooseBlock();
  llvm::SmallVector<ScratchBuffer> scratchBuffers() const;
  int64_t scratchBytes() const;
  int64_t bytesOf(const ScratchBuffer &split) const;
  Scratch scratchOf(mlir::Value memory) const;
  Grid gridOf(Index blocks) const;
  Block blockOf(const Grid::Item &item, mlir::Value memory) const;
  void placeRows(Block &block, Index number);
  mlir::Value output(Block &block);
  void emitWhole(Block &block);
  void emitSteps(Block &block);
  void emitStep(Block &block, const Keys &part);
  void emitFromLeft(Block &block);
  void findMask();
  void placeMask(Block &block);
  Keys emitVisible(Block &block, const Keys &part,
                   llvm::function_ref<void(Block &, const Keys &)> emit);
  mlir::Value vanishes(Block &block);
  mlir::Value hiddenAreFinite(Block &block, const Keys &part, const Keys &seen);
  void emitScores(Block &block, const Keys &part);
  void emitProduct(Block &block, const Keys &part, bool accumulate);
  void emitWeightedSum(Block &block, mlir::Value a, mlir::Value values,
                       mlir::Value c, bool accumulate, bool packed);
  void emitPanels(Block &block, const Keys &part);
  mlir::Value valuesOf(Block &block, const Keys &part);
  mlir::Value sumsOf(Block &block);
  mlir::Value result(Block &block, mlir::Value scratch);

  // AttentionOperands.cpp
  void mergeRows(llvm::SmallVectorImpl<Index> &lead);
  Strided overLead(Strided s, int64_t own);
  Strided readPacked(mlir::Value value, mlir::Value Scratch::*place);
  Strided over(Strided s, Index first, Index second);
  Strided readOrFuse(mlir::Value value, Index first, Index second,
                     std::optional<FusedInput> &made);
  void readOperands();
  void placeFused();
  void emitOperands(Block &block, Index item);
  void emitQueries(Block &block);
  mlir::Value queriesOf(Block &block);
  mlir::Value baseOf(Block &block, const Strided &s,
                     mlir::Value Scratch::*place) const;

  // AttentionSplits.cpp
  void chooseSplits();
  void runInPlace();
  void emitSplits(int64_t first, int64_t number, int64_t count);
  void emitSplit(Block &block, Index split, const Keys &part);
  void emitDots(Block &block, const Keys &part);
  void emitWeighted(Block &block, const Keys &part, mlir::Value result);
  Index partialOffset(Block &block);
  void emitFactorsOfSplits(Block &block);
  void emitSumOfSplits(Block &block);
  void emitMerge();

  // AttentionRows.cpp
  bool isShared(mlir::BlockArgument argument, unsigned first) const;
  mlir::Value scoresOf(Block &block, const Rows &rows, const Keys &part);
  mlir::Value weightsOf(Block &block, const Rows &rows, const Keys &part);
  mlir::Value numbers(Block &block, mlir::Value scratch);
  RowSides epilogueOperandsOf(Block &block, const Rows &rows, const Keys &part,
                              mlir::Block &region, unsigned first);
  void emitRows(Block &block, const Keys &part);
  mlir::BlockArgument divisorOfMatrix(mlir::Block &region) const;
  void emitScoreRegion(Block &block, const Rows &rows, const Keys &part);
  void emitScoreRegion(Block &block, const Rows &rows, const Keys &part,
                       Divisor exact);
  void emitExponentials(Block &block, const Rows &rows, const Keys &part);
  void emitNormalized(Block &block, const Keys &part);
  void emitFactors(Block &block);
  void emitSums(Block &block);
  void scaleRows(mlir::Value rows, mlir::Value factors);
  void addStep(Block &block);
  void storeSums(Block &block);
  void finishRows(Block &block);
  mlir::Value guarded(mlir::OpBuilder &b, mlir::Location loc, mlir::Value max);

  GroupContext &ctx;
  tile::AttentionOp op;
  IndexMath &m;
  Epilogue epilogue; // reads constants only
  llvm::SmallVector<Index> lead;
  Strided q, k, v, dst; // packed k and v: leading dimensions only
  std::optional<Strided> stats;
  llvm::SmallVector<Strided> epilogueOperands; // over [B.., M, N]
  std::vector<PackedHere> packedHere;
  std::optional<FusedInput> fusedQueries, fusedValues;
  Index rows, depth;
  int64_t keys = 0, panel = 0, columns = 0;
  int64_t span = 0;  // keys of one step, whole panels
  int64_t pitch = 0; // elements between rows of scores
  int64_t weightPitch = 0;
  mlir::Type element;     // of q, k, v, dst, and of weights between products
  bool isNarrow = false;  // that is not f32
  bool sumsApart = false; // dst holds no sums: its type, or an epilogue
  bool inPlace = false;   // keys are read as they lie
  int64_t interleave = 1; // of packed k and v
  int64_t valuePanel = 0; // columns of a panel of v, with interleave
  int64_t queries = 0;
  int64_t splits = 1; // of keys that are read in place
  int64_t splitKeys = 0;
  struct {
    mlir::Value max, sum, result; // over rows and splits
  } partial;
  bool online = false;       // several steps: sums and maxima so far
  bool copiesValues = false; // their rows lie badly: read a copy
  std::optional<CausalMask> mask;
};

} // namespace tenon::tiling
