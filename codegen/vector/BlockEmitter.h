//===- BlockEmitter.h - the body on one block of elements ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/vector/TransposeTile.h"
#include "codegen/vector/VectorPlan.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tenon::codegen {

/// A position in the iteration space: where the first element of a vector is.
struct Point {
  /// Per loop dim; null while the loop is not entered.
  llvm::SmallVector<mlir::Value> ivs;
  /// Per operand: element number in the operand's buffer.
  llvm::SmallVector<mlir::Value> address;
  /// Per operand: a value that need not be loaded (a scalar, or a whole
  /// vector), or null.
  llvm::SmallVector<mlir::Value> known;
};

/// Emits loads, body and stores at given points.  Every operand is addressed
/// through a one-dimensional view of its buffer, whatever its strides: the
/// address is the number of an element.
class BlockEmitter {
public:
  /// Emits the views and the dynamic strides and sizes at `builder`'s position.
  BlockEmitter(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
               const LoopAccess &access, const VectorPlan &plan);

  /// The first element of everything.
  Point origin();
  /// `point` with the loop over `dim` at `iv`; it must not have been set.
  Point enter(const Point &point, unsigned dim, mlir::Value iv);
  /// `point` moved by `count` elements along `dim`.
  Point shift(const Point &point, unsigned dim, int64_t count);
  mlir::Value size(unsigned dim);
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Location loc() { return op.getLoc(); }
  mlir::OpBuilder &builder() { return b; }
  mlir::Block *body() { return op.getBlock(); }

  /// Operand `number` at `point`: a scalar for lanes == 0.  `mask` may be null.
  mlir::Value load(unsigned number, const Point &point, int64_t lanes,
                   mlir::Value mask);
  /// Brings what plan.prefetches asks for, of `elements` from `point` on, to
  /// L2.
  void prefetch(const Point &point, int64_t elements);
  void store(mlir::Value value, unsigned number, const Point &point,
             int64_t lanes, mlir::Value mask);
  /// A contiguous vector of operand `number` along `dim`.
  mlir::Value loadAlong(unsigned number, const Point &point, int64_t lanes);

  /// The rows of operand `number` that begin along `dim` at `point`.
  TileRows rows(unsigned number, const Point &point, unsigned dim) const {
    return {buffers[number].view, point.address[number],
            buffers[number].stride[dim]};
  }

  /// Loads of operands that do not depend on the vector dim nor on `inner`
  /// loops, done now and kept in the point.
  void hoistLoads(Point &point, llvm::ArrayRef<unsigned> inner);

  /// The body at each of `points`, which differ along the vector dim only.
  /// `accumulators` holds for each point the value of every accumulator;
  /// returns the new ones.  Other outputs are stored.  Masked-off lanes of
  /// accumulators keep their value.
  llvm::SmallVector<mlir::Value> emit(llvm::ArrayRef<Point> points,
                                      int64_t lanes, mlir::Value mask,
                                      mlir::ValueRange accumulators);

  /// The body for all members of plan.groupDim, which `point` has not entered,
  /// and one store of their groups side by side.
  void emitGroups(const Point &point, int64_t lanes);
  /// Copies the group of an input to the output; both lie together.
  void copyGroup(const Point &point);

  /// Whether streamed outputs begin with a line; null if there are none.
  mlir::Value startsWithLines();
  /// From now on, whole vectors of streamed outputs go past the caches.
  void setNontemporal(bool value) { allowNontemporal = value; }

  /// `value` in every lane; itself for lanes == 0.
  mlir::Value splat(mlir::Value value, int64_t lanes);

private:
  struct Buffer {
    mlir::Value view;
    mlir::Value base;
    llvm::SmallVector<mlir::Value> stride;
  };

  Buffer makeBuffer(const OperandAccess &operand);
  void storeAlong(mlir::Value value, unsigned number, const Point &point,
                  int64_t lanes);
  /// The body at each of `points`: what its values have become there.
  llvm::SmallVector<mlir::IRMapping> evaluate(llvm::ArrayRef<Point> points,
                                              int64_t lanes, mlir::Value mask,
                                              mlir::ValueRange accumulators);
  mlir::Value addressOf(unsigned number, const Point &point,
                        std::optional<unsigned> vectorDim = std::nullopt);
  mlir::Value loadRuns(unsigned number, const Point &point, int64_t lanes,
                       mlir::Value mask);
  mlir::Value loadWhole(unsigned number, const Point &point, int64_t lanes,
                        mlir::Value mask);
  mlir::Value resultOf(mlir::Value yielded, const mlir::IRMapping &map,
                       int64_t lanes);
  mlir::Value interleaved(llvm::ArrayRef<mlir::Value> members);
  mlir::Value shuffle(mlir::Value x, mlir::Value y,
                      llvm::ArrayRef<int64_t> order);
  bool isNearby(const OperandAccess &operand, int64_t lanes) const;
  mlir::Value loadNearby(unsigned number, const Point &point, int64_t lanes);
  void mapArguments(llvm::ArrayRef<Point> points, int64_t lanes,
                    mlir::Value mask, mlir::ValueRange accumulators,
                    llvm::MutableArrayRef<mlir::IRMapping> maps);
  mlir::Value indexValue(unsigned dim, const Point &point, int64_t lanes);
  mlir::Value castIndex(mlir::Operation &bodyOp, const Point &point,
                        int64_t lanes);
  bool isUniform(mlir::Value value, unsigned depth);
  mlir::Value laneOf(mlir::Value value, const Point &point, int64_t lane,
                     mlir::IRMapping &map);
  mlir::Value vectorLoad(mlir::memref::LoadOp load, const Point &point,
                         int64_t lanes, mlir::IRMapping &map);
  void cloneOp(mlir::Operation &bodyOp, const Point &point, int64_t lanes,
               mlir::IRMapping &map);

  mlir::OpBuilder &b;
  mlir::linalg::LinalgOp op;
  const LoopAccess &access;
  const VectorPlan &plan;
  llvm::SmallVector<Buffer> buffers;
  bool allowNontemporal = false;
};

} // namespace tenon::codegen
