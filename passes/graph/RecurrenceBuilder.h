//===- RecurrenceBuilder.h - builds tile.recurrence ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A cell is written as arithmetic on scalars:
//
//   StageBuilder s = r.stage(hidden, {weights, /*products=*/4, h});
//   Scalar c = sigmoid(s.sum(1) + s.operand(gates, hidden)) * s.state(c0) + ..
//   s.store(result, 0, c);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/tile/TileDialect.h"

#include "mlir/IR/Builders.h"

#include <memory>

namespace tenon::passes {

class StageBuilder;

/// An f32 of the block of a stage; operators create operations there.
class Scalar {
public:
  Scalar() = default;
  Scalar(StageBuilder &stage, mlir::Value value)
      : stage(&stage), value(value) {}

  mlir::Value get() const { return value; }
  explicit operator bool() const { return bool(value); }

  friend Scalar operator+(Scalar x, Scalar y);
  friend Scalar operator-(Scalar x, Scalar y);
  friend Scalar operator*(Scalar x, Scalar y);
  friend Scalar operator/(Scalar x, Scalar y);
  friend Scalar operator-(double x, Scalar y);
  friend Scalar operator*(Scalar x, double y);
  friend Scalar operator/(Scalar x, double y);
  friend Scalar operator+(Scalar x, double y);
  friend Scalar sigmoid(Scalar x);
  friend Scalar tanh(Scalar x);
  /// x > 0 ? a : b.
  friend Scalar ifPositive(Scalar x, Scalar a, Scalar b);
  /// `condition`, an i1, ? a : b.
  friend Scalar select(mlir::Value condition, Scalar a, Scalar b);

private:
  StageBuilder *stage = nullptr;
  mlir::Value value;
};

/// What the products of a stage read: a state, or columns of a result that an
/// earlier stage of the step has stored; see tile::StageAttr.
struct ProductSource {
  int64_t weights = -1, products = 0;
  int64_t state = -1;
  int64_t result = -1, offset = 0, depth = 0;
};

class RecurrenceBuilder;

class StageBuilder {
public:
  StageBuilder(RecurrenceBuilder &recurrence, int64_t width,
               ProductSource source);

  /// Sum `i` of the products, in f32.
  Scalar sum(int64_t i);
  // Reads; see tile::ReadKind.
  Scalar operand(int64_t number, int64_t offset = 0);
  Scalar state(int64_t number, int64_t offset = 0);
  Scalar result(int64_t number, int64_t offset = 0);
  /// `otherwise`: -1 for 0.
  Scalar following(int64_t number, int64_t offset, int64_t otherwise);
  /// Whether the number of the step, or of the one after it in the operands, is
  /// less than the s32 operand `lengths`.
  mlir::Value isBefore(int64_t lengths, bool next = false);
  Scalar constant(double value);
  /// Stores to columns of a result of the recurrence.
  void store(int64_t result, int64_t offset, Scalar value);

  mlir::OpBuilder &builder() { return b; }
  mlir::Location location() const { return loc; }

private:
  friend class RecurrenceBuilder;
  mlir::Value read(tile::ReadKind kind, int64_t index, int64_t offset,
                   int64_t otherwise, mlir::Type type);

  RecurrenceBuilder &recurrence;
  int64_t width;
  ProductSource source;
  std::unique_ptr<mlir::Region> region;
  mlir::OpBuilder b;
  mlir::Location loc;
  llvm::SmallVector<tile::ReadAttr> reads;
  llvm::SmallVector<int64_t> targets, columns;
  llvm::SmallVector<mlir::Value> yields;
};

/// Builds one recurrence over `steps` steps of `batch` rows, which may be
/// ShapedType::kDynamic.
class RecurrenceBuilder {
  friend class StageBuilder;

public:
  RecurrenceBuilder(mlir::OpBuilder &b, mlir::Location loc, int64_t steps,
                    int64_t batch, bool reverse)
      : b(b), loc(loc), steps(steps), batch(batch), reverse(reverse) {}

  // Operands; each call adds one. `lead` fixes the first dims.
  int64_t perStep(mlir::Value v, llvm::ArrayRef<int64_t> lead = {}) {
    return operand(v, lead, /*hasSteps=*/true, /*hasBatch=*/true);
  }
  int64_t perRow(mlir::Value v, llvm::ArrayRef<int64_t> lead = {}) {
    return operand(v, lead, /*hasSteps=*/false, /*hasBatch=*/true);
  }
  int64_t vector(mlir::Value v, llvm::ArrayRef<int64_t> lead = {}) {
    return operand(v, lead, /*hasSteps=*/false, /*hasBatch=*/false);
  }
  /// Weights [products, K, width].
  int64_t weights(mlir::Value v) { return vector(v); }

  /// A result of `columns` columns; `ring` as in the operation; with `lead`
  /// dims of size 1 before the steps.
  int64_t sequence(mlir::Type element, int64_t columns, int64_t ring = 0,
                   int64_t lead = 0);
  /// Columns of a result as a state that begins as operand `initial`, or as 0
  /// if that is -1.
  int64_t state(int64_t result, int64_t offset, int64_t width, int64_t initial);

  /// A stage; it stays valid until build().
  StageBuilder &stage(int64_t width, ProductSource source = {});

  /// The value of a final state; valid after build().
  void wantFinal(int64_t state) { finals.push_back(state); }

  void build();
  mlir::Value resultOf(int64_t sequence) { return op->getResult(sequence); }
  /// [1, 1, batch, width]; the state must be wanted.
  mlir::Value finalOf(int64_t state);

private:
  int64_t operand(mlir::Value v, llvm::ArrayRef<int64_t> lead, bool hasSteps,
                  bool hasBatch);

  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t steps, batch;
  bool reverse;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Attribute> forms, states;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int64_t> rings, finals;
  int64_t lengths = -1; // operand; -1: there are none
  llvm::SmallVector<std::unique_ptr<StageBuilder>> stages;
  tile::RecurrenceOp op;
};

} // namespace tenon::passes
