//===- RecurrentCell.h - recurrent operations as one description -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What DecomposeRecurrent and the cells (ForwardCells.cpp, BackwardCells.cpp)
// share: operands by name, sizes, and one layer of one direction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/RecurrentCell.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::passes {

enum class CellKind { rnn, lstm, gru, linearBeforeReset };

/// A recurrent operation or a gradient of one.
class RecurrentOp {
public:
  RecurrentOp(mlir::OpBuilder &b, mlir::Operation *op);

  mlir::OpBuilder &b;
  mlir::Operation *const op;
  mlir::Location loc;
  CellKind kind;
  graph::CellInfo info;
  bool isInt8, isBackward;
  // Sizes as the table of the graph dialect names them; steps and batch may be
  // dynamic.
  int64_t steps, batch, layers, directions;
  int64_t inputs, states, hidden, outputs; // SLC, SIC, DHC, DIC

  int64_t gates() const { return info.gates; }
  int64_t biasRows() const { return info.biasRows; }
  /// Values per unit in the workspace, before h.
  int64_t savedValues() const { return info.valuesOfUnit; }
  int64_t workspaceColumns() const { return savedValues() * hidden + outputs; }

  /// The operand or result of this name; null if it is left out.
  mlir::Value operand(llvm::StringRef name) const;
  mlir::Value result(llvm::StringRef name) const;
  /// Whether anything reads this result.
  bool isWanted(llvm::StringRef name) const;
  mlir::Type elementType() const; // of src_layer
  bool isReverse(int64_t direction) const;
  /// Whether src_iter has another width than h, so that there is one step.
  bool hasOwnStates() const { return states != outputs; }
  bool isConcat() const;
  bool concatenatesLayers() const;
  float dataScale() const;
  float dataShift() const;

  /// Entry (layer, direction) of weights [L, D, K, G, H]: [K, G * H].
  mlir::Value weightsOf(llvm::StringRef name, int64_t layer,
                        int64_t direction) const;
  /// src_layer, or what has its shape, as steps x batch x channels.
  mlir::Value stepsFirst(mlir::Value v) const;
  /// The opposite.
  mlir::Value asCaller(mlir::Value v) const;
};

// Pieces that decompositions are made of.

/// The box of `v` from `offsets` on with these sizes; dims of unknown size are
/// whole. `v` itself where it is all of it. Of first dims that `sizes` lack, it
/// has one element.
mlir::Value buildSlice(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       llvm::ArrayRef<int64_t> offsets,
                       llvm::ArrayRef<int64_t> sizes);
/// Columns [from, from + count) of the last dim.
mlir::Value buildColumns(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                         int64_t from, int64_t count);
/// x [.., K] times w [K, N], or a transpose of it, in f32.
mlir::Value buildProduct(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                         mlir::Value w, bool transposeX = false,
                         bool transposeW = false);
/// Weights [K, G * H] as [count, K, H]: gates `first` and later.
mlir::Value buildGates(mlir::OpBuilder &b, mlir::Location loc, mlir::Value w,
                       int64_t hidden, int64_t first, int64_t count);
/// The concatenation along `axis`; a single one is itself.
mlir::Value buildConcat(mlir::OpBuilder &b, mlir::Location loc,
                        llvm::ArrayRef<mlir::Value> parts, int64_t axis);

/// What one layer of one direction gives; absent ones are null.
struct ForwardLayer {
  mlir::Value y;         // [T, N, DIC], of the type of src_layer
  mlir::Value h, c;      // [1, 1, N, DIC], [1, 1, N, DHC]: last states
  mlir::Value workspace; // [1, 1, T, N, workspaceColumns()]
};
ForwardLayer buildForwardLayer(const RecurrentOp &r, mlir::Value x,
                               int64_t layer, int64_t direction);

/// Gradients of one layer of one direction; those nobody wants are null.
struct BackwardLayer {
  mlir::Value x;            // [T, N, SLC], f32
  mlir::Value weightsLayer; // [SLC, G * DHC]
  mlir::Value weightsIter;  // [SIC, G * DHC]
  mlir::Value bias;         // [Gb * DHC]
  mlir::Value h, c;         // [1, 1, N, SIC], [1, 1, N, DHC]
  mlir::Value peephole;     // [3 * DHC]
  mlir::Value projection;   // [DHC, DIC]
  mlir::Value attention;    // [T, N, 1]
};
/// `x` is what the layer has read; `dy` has its DIC columns from `offset` on.
BackwardLayer buildBackwardLayer(const RecurrentOp &r, mlir::Value x,
                                 mlir::Value dy, int64_t offset, int64_t layer,
                                 int64_t direction);

} // namespace tenon::passes
