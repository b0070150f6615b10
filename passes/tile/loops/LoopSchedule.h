//===- LoopSchedule.h - how a loop program is computed ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What is decided about a program before code is written:
//
//   LoopSchedule.cpp      the order of nodes, which of them are stored, and
//                         where scratch is
//   LoopItems.cpp         items, into which the kept dimensions are cut
//   SplitReductions.cpp   whether rows are divided, and what is kept of them
//
// Constants: docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/loops/LoopProgram.h"

namespace tenon::passes {

class LoopSchedule {
public:
  using Node = LoopProgram::Node;
  /// What is decided about a node.
  struct NodePlan {
    int level = 0;       // number of reductions before it, itself included
    Node condition = -1; // of what is computed for some rows only
    bool stored = false;
    /// The outputs that the program gives the node, and where it is kept.
    llvm::SmallVector<Strided> outputs;
    std::optional<Index> scratchOffset; // of a stored node that is no output
  };
  /// How a reduced dimension is cut into parts.
  struct Division {
    int64_t dim, length;
  };
  /// A computed operand of a reduction of `level` that later ones read from
  /// `place`, an output.
  struct Kept {
    Node node;
    int level;
    Strided place;
  };

  /// Decides about `program`, whose dimensions are merged and which must
  /// outlive the schedule. The code for scratch of dynamic size is written
  /// where the program builds.
  LoopSchedule(const LoopProgram &program, bool mayDivide);

  /// If there is a division, each part is a program with a schedule of its own:
  /// nothing is decided here but levels and what is kept.
  const std::optional<Division> &getDivision() const { return division; }
  const std::optional<Kept> &getKept() const { return kept; }

  const NodePlan &planOf(Node node) const { return plans[node]; }
  int lastLevel() const;
  /// Dimensions walked by items, outermost first.
  llvm::ArrayRef<int64_t> getItemDims() const { return itemDims; }
  /// Elements of an item along `dim`, if that is one of getItemDims() and cut.
  std::optional<Index> chunkOf(int64_t dim) const;
  /// Whether `dim` is walked inside an item.
  bool isInside(int64_t dim) const;
  Index getItems() const { return items; }
  /// The reduced dimension, if it is walked some rows at a time; otherwise -1.
  int64_t getStepDim() const { return stepDim; }
  /// Bytes of scratch memory of one item.
  Index getScratchBytes() const { return scratchBytes; }
  /// Dimensions of values in scratch, outermost first.
  llvm::ArrayRef<int64_t> getScratchOrder() const { return scratchOrder; }
  /// Whether no element is needed again after the first reduction.
  bool readsOnce() const;
  /// An output that can also serve as the place to read a stored node from;
  /// without a base: there is none.
  Strided outputAsBuffer(Node node) const;

private:
  // LoopSchedule.cpp
  void assignLevels();
  void putAfterConditions();
  void decideStores();
  llvm::SmallVector<int64_t> orderOfInput() const;
  void planScratch();
  // LoopItems.cpp
  void chooseItems();
  void chooseRuns();
  void chooseRows();
  void chooseBlock();
  bool chooseTaps(int64_t taps);
  bool canStep() const;
  std::optional<int64_t> heldChunk(int64_t elements) const;
  // SplitReductions.cpp
  std::optional<Division> chooseDivision();
  std::optional<Kept> chooseKept(int64_t minRowBytes) const;
  llvm::SmallVector<bool> readersOfRows(Node except) const;
  llvm::SmallVector<bool> computedOf(Node x) const;
  int64_t rowBytes(const Strided &s) const;

  /// A reduction of fewer elements is not split: one thread has computed it
  /// before a second one has started.
  static constexpr int64_t kMinDivided = 1 << 17;

  const LoopProgram &program;
  llvm::ArrayRef<LoopProgram::NodeInfo> nodes; // of the program, as these are
  llvm::ArrayRef<Index> sizes;
  llvm::ArrayRef<int> classes;

  std::vector<NodePlan> plans;
  std::optional<Division> division;
  std::optional<Kept> kept;
  llvm::SmallVector<int64_t> itemDims;
  llvm::SmallDenseMap<int64_t, Index> chunks;
  int64_t stepDim = -1;
  bool held = false; // one cache holds all inputs, and columns suffice as items
  Index items;
  Index scratchBytes;
  llvm::SmallVector<int64_t> scratchOrder;
};

} // namespace tenon::passes
