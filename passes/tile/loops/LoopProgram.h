//===- LoopProgram.h - elementwise and row-wise groups as loops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One iteration space, some of whose dimensions are reduced (softmax: the
// axis; none for elementwise work).  Nodes are inputs, scalar computations and
// reductions; a computation may use the result of a reduction.  Emission cuts
// the space into items over the kept dimensions, one section for all, and per
// item writes linalg.generic ops on boxes that stay in L1: first what does not
// need a reduction, then the reductions over it, then what needs those, ...
//
// A softmax row, for example, becomes
//
//   m = max(x); s = sum(dst = exp(x - m)); dst = dst / s
//
// Rows that are few or long are divided first, into several sections
// (SplitReductions.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Strided.h"

#include <functional>
#include <string>

namespace tenon::tiling {

/// Rows between two visits of a sum in L1; as many streams are read at once.
inline constexpr int64_t kStepRows = 8;

class LoopProgram {
public:
  using Node = int;
  using Body = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                         mlir::ValueRange)>;
  /// `greatest` is a maximum that may miss a NaN: cheaper, where a sum of the
  /// same elements becomes NaN, too.
  enum class Reduction { sum, product, max, min, greatest };

  /// A space of `sizes`, of which `reduced[i]` are reduced.  `m` builds at the
  /// place where the section is to be; `l2Bytes`: of the core it is for.
  LoopProgram(IndexMath &m, llvm::StringRef label, int64_t l2Bytes,
              llvm::ArrayRef<Index> sizes, llvm::ArrayRef<bool> reduced);

  /// A tensor, broadcast to the space (broadcastTo).
  Node input(Strided s);
  /// The sum of index times stride over the dimensions, as an integer: with
  /// one stride of 1 the index along a dimension, with those of a dense tensor
  /// the number of the element.
  Node index(llvm::ArrayRef<Index> strides, mlir::Type type);
  /// A value computed from scalars; no operands: a constant.
  Node compute(llvm::ArrayRef<Node> operands, mlir::Type type, Body body);
  /// `kind` over the reduced dimensions; operands are f32 (or integers).
  Node reduce(Reduction kind, Node operand);
  /// The same, for rows of which `condition`, an f32 for each row, is not 0;
  /// others have any number. Such rows should be rare: where an item is one
  /// row, they are passed once more for it.
  Node reduceIf(Node condition, Reduction kind, Node operand);
  /// `rare`, computed from such reductions, where `condition` is not 0, `other`
  /// elsewhere; both f32 for each row.
  Node chooseIf(Node condition, Node rare, Node other);
  /// Stores `node`; `dst` is broadcast to the space: stride 0 along the
  /// reduced dimensions if and only if the node does not vary along them.
  void output(Node node, Strided dst);

  /// Writes the section or sections.
  void emit();

private:
  /// How a reduced dimension is cut into parts.
  struct Division {
    int64_t dim, length;
  };
  struct Divided;
  /// A computed operand of a reduction of `level` that later ones read from
  /// `place`, an output.
  struct Kept {
    int node, level;
    Strided place;
  };
  enum class Kind { input, index, compute, reduce };
  struct NodeInfo {
    Kind kind;
    mlir::Type type;
    llvm::SmallVector<Node> operands;
    Body body;
    Reduction reduction = Reduction::sum;
    Node condition = -1;  // of what is for some rows only
    int level = 0;        // number of reductions before it
    bool full = false;    // varies along the reduced dimensions
    bool indexed = false; // computed from an index
    bool stored = false;
    Strided memory; // of an input; of an index: its strides, no base
    llvm::SmallVector<Strided> outputs;
    std::optional<Index> scratchOffset; // of a stored node that is no output
  };
  struct Item;
  /// Where values live: a tensor, or scratch of the item (`full` tells its
  /// dimensions).
  struct Place {
    Strided tensor;
    mlir::Value scratch;
    bool full = false;
    /// Dimensions walked although `tensor` has stride 0 along them.
    llvm::SmallVector<int64_t> shown = {};
  };

  bool isConstant(const NodeInfo &n) const {
    return n.kind == Kind::compute && n.operands.empty();
  }
  void emitSection();
  std::optional<Division> chooseDivision();
  void emitDivided(Division by);
  llvm::SmallVector<bool> readersOfRows(Node except) const;
  llvm::SmallVector<bool> computedOf(Node x) const;
  int64_t rowBytes(const Strided &s) const;
  std::optional<Kept> chooseKept(int64_t minRowBytes) const;
  void emitParts(Divided &divided, int level, int64_t first, int64_t count,
                 int64_t length);
  void emitCombination(Divided &divided, int level);
  Node copyTo(LoopProgram &to, Node node, Divided &divided,
              llvm::DenseMap<Node, Node> &copies,
              llvm::function_ref<Strided(const Strided &)> view);
  bool variesAlong(const Strided &s) const;
  void putBehindConditions();
  void decideStores();
  bool readsAcross(int64_t dim) const;
  bool readsOnce() const;
  int64_t lastRun() const;
  bool chooseTaps(int64_t taps);
  void chooseBlock();
  void chooseChunks();
  bool canStep() const;
  std::optional<int64_t> heldChunk(int64_t elements) const;
  void planScratch();
  llvm::SmallVector<int64_t> orderOfInput() const;
  Strided outputAsBuffer(const NodeInfo &n) const;
  mlir::Value boxOf(Item &item, const Strided &s,
                    llvm::ArrayRef<int64_t> shown);
  void emitItem(Item &item);
  void emitPasses(Item &item, int level, bool full);
  void emitRarePasses(Item &item, int level);
  void emitSteps(Item &item, llvm::ArrayRef<Node> results,
                 llvm::ArrayRef<Place> destinations);
  void collectStores(Item &item, int level, bool full,
                     llvm::SmallVectorImpl<Node> &results,
                     llvm::SmallVectorImpl<Place> &places);
  void startReduction(Item &item, const NodeInfo &n, const Place &accumulator);
  bool storesNontemporally(Node node, const Place &destination) const;
  bool accumulates(const Item &item, Node node) const;
  int64_t bytesOf(const Strided &tensor) const;
  int64_t distanceToNext(const Place &place,
                         llvm::ArrayRef<Index> extent) const;
  int64_t distanceAcross(const Strided &tensor) const;
  int64_t distanceAhead(const Place &place) const;
  void emitGeneric(Item &item, bool full, llvm::ArrayRef<Node> results,
                   llvm::ArrayRef<Place> destinations);
  /// The value of an index node where the item starts.
  mlir::Value indexAtStart(Item &item, const NodeInfo &n);
  /// ... and the steps from there, inside a generic.
  mlir::Value indexInside(mlir::OpBuilder &b, mlir::Location loc,
                          const NodeInfo &n, mlir::Value start,
                          llvm::ArrayRef<int64_t> loopOf);
  Place placeOf(Item &item, Node node);
  mlir::Value memoryOf(Item &item, const Place &place);
  mlir::AffineMap mapOf(Item &item, const Place &place,
                        llvm::ArrayRef<int64_t> loopOf, int64_t loops);
  void showAllLoops(Item &item, llvm::ArrayRef<int64_t> loopOf, int64_t loops,
                    llvm::SmallVectorImpl<Place> &sources,
                    llvm::ArrayRef<Place> destinations);
  bool isInside(int64_t d) const;

  IndexMath &m;
  std::string label;
  int64_t l2Bytes;
  llvm::SmallVector<Index> sizes;
  llvm::SmallVector<int> classes; // 1: reduced
  std::vector<NodeInfo> nodes;
  bool divisible = true;

  /// Fewer elements are one item: it is done before a second thread has
  /// started.
  static constexpr int64_t kMinDivided = 1 << 17;

  // Decided by chooseChunks.
  llvm::SmallVector<int64_t> itemDims; // walked by items, outermost first
  /// Of itemDims: elements of an item.
  llvm::SmallDenseMap<int64_t, Index> chunks;
  int64_t stepDim = -1; // the reduced dimension, if walked some rows at a time
  bool held = false;    // by one cache, all that it reads; and it is cut enough
  Index items;
  Index scratchBytes;
  llvm::SmallVector<int64_t> scratchOrder; // dimensions, outermost first
};

} // namespace tenon::tiling
