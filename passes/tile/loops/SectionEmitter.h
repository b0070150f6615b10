//===- SectionEmitter.h - writes the sections of loop programs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the section that a program and its schedule describe.  Per item there
// are linalg.generic ops on boxes that stay in L1: first what does not need a
// reduction, then the reductions over it, then what needs those, ...  For a
// softmax row:
//
//   m = max(x); s = sum(dst = exp(x - m)); dst = dst / s
//
//   SectionEmitter.cpp   the section, its items, and the passes over one
//   LoopGenerics.cpp     a linalg.generic of a pass
//   LoopMemory.cpp       its prefetches and non-temporal stores
//   DividedRows.cpp      the sections of a split reduction
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/loops/LoopSchedule.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tenon::passes {

/// Rows that are read side by side, so that each of their sums in L1 is loaded
/// and stored once for all of them.
inline constexpr int64_t kStepRows = 8;

/// The program and its schedule, which has no division, must outlive it.
class SectionEmitter {
public:
  SectionEmitter(const LoopProgram &program, const LoopSchedule &schedule);
  void emit();

private:
  using Node = LoopProgram::Node;
  using Kind = LoopProgram::Kind;
  using NodeInfo = LoopProgram::NodeInfo;

  /// What is known inside one item: where it is, and what it has stored.
  struct Item {
    mlir::Value scratch;
    llvm::SmallVector<Index> start;  // per dimension of the space
    llvm::SmallVector<Index> extent; // the same; 1: an item index
    llvm::DenseMap<Node, mlir::Value> scratchViews;
    llvm::DenseSet<Node> available; // nodes whose values are in memory
  };
  /// Where values live: a tensor, or scratch of the item (`full` tells its
  /// dimensions).
  struct Place {
    Strided tensor;
    mlir::Value scratch;
    bool full = false;
    /// Dimensions walked although `tensor` has stride 0 along them.
    llvm::SmallVector<int64_t> shown = {};
  };
  /// Values that a pass stores, and where each goes.
  struct Stores {
    llvm::SmallVector<Node> nodes;
    llvm::SmallVector<Place> places;
    void add(Node node, Place place) {
      nodes.push_back(node);
      places.push_back(std::move(place));
    }
  };
  struct Generic;

  // SectionEmitter.cpp
  Item itemAt(Index number, mlir::Value scratch);
  void emitItem(Item &item);
  void emitPasses(Item &item, int level, bool full);
  void emitRarePasses(Item &item, int level);
  void emitSteps(Item &item, const Stores &results);
  Stores collectStores(Item &item, int level, bool full);
  void startReduction(Item &item, const NodeInfo &n, const Place &accumulator);
  Place placeOf(Item &item, Node node);
  mlir::Value boxOf(const Item &item, const Place &place);
  mlir::Value memoryOf(const Item &item, const Place &place);
  // LoopGenerics.cpp
  void emitGeneric(Item &item, bool full, const Stores &results);
  bool accumulates(const Item &item, Node node) const;
  void addLoops(Generic &g) const;
  void addSources(Item &item, Generic &g);
  void showAllLoops(Generic &g) const;
  mlir::AffineMap mapOf(const Generic &g, const Place &place) const;
  mlir::Value indexAtStart(const Item &item, const NodeInfo &n);
  void emitBody(const Item &item, const Generic &g, mlir::OpBuilder &b,
                mlir::Location loc, mlir::ValueRange args) const;
  // LoopMemory.cpp
  void addMemoryHints(const Item &item, const Generic &g,
                      mlir::linalg::GenericOp generic) const;
  bool storesNontemporally(Node node, const Place &destination) const;
  int64_t distanceToNext(const Place &place,
                         llvm::ArrayRef<Index> extent) const;
  int64_t distanceAhead(const Place &place) const;
  int64_t distanceAcross(const Strided &tensor) const;

  const LoopProgram &program;
  const LoopSchedule &schedule;
  IndexMath &m;
  llvm::ArrayRef<NodeInfo> nodes; // of the program, as these are
  llvm::ArrayRef<Index> sizes;
  llvm::ArrayRef<int> classes;
};

/// One linalg.generic: what it computes, over which loops, from what.
struct SectionEmitter::Generic {
  const Stores &results;
  bool full;                              // walks the reduced dimensions
  bool reducing = false;                  // folds elements into a result
  llvm::SmallVector<int64_t> loopOf = {}; // of each dimension; none: -1
  llvm::SmallVector<mlir::utils::IteratorType> iterators = {};
  llvm::SmallVector<Node> leaves = {}; // inputs and what is stored before
  llvm::SmallVector<std::pair<Node, mlir::Value>> starts = {}; // of index nodes
  llvm::SmallVector<Place> sources = {}; // of the leaves, and what shows loops
};

/// Writes `program` as the sections of which the division of `schedule`
/// consists.
void emitDivided(const LoopProgram &program, const LoopSchedule &schedule);

} // namespace tenon::passes
