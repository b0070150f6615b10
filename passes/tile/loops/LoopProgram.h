//===- LoopProgram.h - elementwise and row-wise groups as loops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One iteration space, some of whose dimensions are reduced (softmax: the
// axis; none for elementwise work).  Nodes are inputs, scalar computations and
// reductions; a computation may use the result of a reduction.  A softmax row,
// for example, is
//
//   m = max(x); e = exp(x - m); s = sum(e); dst = e / s
//
// A program says what is computed. Two classes, in this order, make code of it:
//
//   LoopSchedule     decides: items of the space, what is stored, where
//   SectionEmitter   writes the section that the program and the schedule
//                    describe; emitDivided, several for few or long rows
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/tile/core/Strided.h"

#include <functional>
#include <string>
#include <vector>

namespace tenon::passes {

class LoopProgram {
public:
  using Node = int;
  using Body = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                         mlir::ValueRange)>;
  /// `greatest` is a cheaper maximum that may miss a NaN. It suffices where a
  /// sum of the same elements becomes NaN in any case.
  enum class Reduction { sum, product, max, min, greatest };

  /// A space of `sizes`, of which `reduced[i]` are reduced.  `m` builds at the
  /// place where the section is to be; `l2Bytes`: of the core it is for.
  LoopProgram(IndexMath &m, llvm::StringRef label, int64_t l2Bytes,
              llvm::ArrayRef<Index> sizes, llvm::ArrayRef<bool> reduced);

  /// A tensor, broadcast to the space (broadcastTo).
  Node input(Strided s);
  /// `first` plus the sum of index times stride over the dimensions, as an
  /// integer: with one stride of 1 the index along a dimension, with those of a
  /// dense tensor the number of the element. No `first`: 0.
  Node index(llvm::ArrayRef<Index> strides, mlir::Type type,
             std::optional<Index> first = std::nullopt);
  /// A value computed from scalars; no operands: a constant.
  Node compute(llvm::ArrayRef<Node> operands, mlir::Type type, Body body);
  /// `kind` over the reduced dimensions; operands are f32 (or integers).
  Node reduce(Reduction kind, Node operand);
  /// The same, only for rows whose `condition`, an f32 for each row, is not 0;
  /// the result is undefined for others. Such rows should be rare: if an item
  /// is one row, they need one more pass.
  Node reduceIf(Node condition, Reduction kind, Node operand);
  /// The value `rare`, which is computed from results of reduceIf, for rows
  /// whose `condition` is not 0, and `other` for the rest. Both are an f32 per
  /// row.
  Node chooseIf(Node condition, Node rare, Node other);
  /// Stores `node`; `dst` is broadcast to the space: stride 0 along the
  /// reduced dimensions if and only if the node does not vary along them.
  void output(Node node, Strided dst);

  /// Writes the section or, if `mayDivide` is set and rows are few or long, the
  /// sections of a split reduction. Merges dimensions first, so that nothing
  /// can be added to the program afterwards.
  void emit(bool mayDivide = true);

  enum class Kind { input, index, compute, reduce };
  struct NodeInfo {
    Kind kind;
    mlir::Type type;
    llvm::SmallVector<Node> operands; // stand before it
    Body body;
    Reduction reduction = Reduction::sum;
    Node condition = -1;  // of what is for some rows only
    bool full = false;    // varies along the reduced dimensions
    bool indexed = false; // computed from an index
    Strided memory;       // of an input; of an index: its strides, no base
    llvm::SmallVector<Strided> outputs;

    bool isConstant() const {
      return kind == Kind::compute && operands.empty();
    }
  };

  IndexMath &getIndexMath() const { return m; }
  llvm::StringRef getLabel() const { return label; }
  int64_t getL2Bytes() const { return l2Bytes; }
  llvm::ArrayRef<Index> getSizes() const { return sizes; }
  /// For each dimension 1, if it is reduced, or 0.
  llvm::ArrayRef<int> getClasses() const { return classes; }
  /// In an order in which operands stand before what reads them.
  llvm::ArrayRef<NodeInfo> getNodes() const { return nodes; }

  bool hasReduced() const { return llvm::is_contained(classes, 1); }
  /// Whether `s` has more than one element per row.
  bool variesAlong(const Strided &s) const;
  /// Bytes of the elements of `tensor` in the space; 0 if a size is not known.
  int64_t bytesOf(const Strided &tensor) const;
  /// Whether an input is contiguous along `dim`, not along the last dimension.
  bool readsAcross(int64_t dim) const;
  /// The first of the last dims that all tensors have as one run of elements.
  int64_t lastRun() const;

private:
  Node add(NodeInfo n);
  void mergeDims();

  IndexMath &m;
  std::string label;
  int64_t l2Bytes;
  llvm::SmallVector<Index> sizes;
  llvm::SmallVector<int> classes;
  std::vector<NodeInfo> nodes;
};

} // namespace tenon::passes
