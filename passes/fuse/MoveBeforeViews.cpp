//===- MoveBeforeViews.cpp - elementwise operations before views ----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = tile.matmul %x, %w              %0 = tile.matmul %x, %w
//   %1 = graph.StaticReshape %0          %1 = graph.GELU %0
//   %2 = graph.StaticTranspose %1   ->   %2 = graph.StaticReshape %1
//   %3 = graph.GELU %2                   %3 = graph.StaticTranspose %2
//
// Views end groups: their strides belong to what is in memory. So an operation
// after them passes over the tensor once more, though it could have been
// computed where the tensor is made.
//
// What is packed is computed where it is packed, so there views come first:
//
//   %0 = graph.TypeCast %k               %0 = graph.StaticTranspose %k
//   %1 = graph.StaticTranspose %0   ->   %1 = graph.TypeCast %0
//   %2 = tile.pack %1                    %2 = tile.pack %1
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/fuse/Group.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_MOVEBEFOREVIEWS
#include "passes/Passes.h.inc"

namespace {

/// Readers of a tensor from which on nothing moves for them: each would look at
/// all others.
constexpr unsigned kMostReaders = 64;

/// Whether one operation reads `v`, or elementwise ones alone, as x and its
/// Sigmoid are multiplied: all of them move.
bool isReadTogether(Value v) {
  return v.hasOneUse() || (!v.hasNUsesOrMore(kMostReaders) &&
                           llvm::all_of(v.getUsers(), isScalarOp));
}

using Views = SmallVector<Operation *>; // the one next to the reader first

/// Views after `v`, as long as each tensor has one reader, or elementwise ones
/// alone before and after all of them; none if there are many, which every
/// operation that moves would copy.
Views viewsBehind(Value v) {
  constexpr size_t kMost = 16;
  Views views;
  auto isRead = [&](Value each) {
    return views.empty() ? isReadTogether(each) : each.hasOneUse();
  };
  for (Operation *def = v.getDefiningOp();
       def && graph::isView(def) && isRead(v) && views.size() <= kMost;
       def = v.getDefiningOp()) {
    views.push_back(def);
    v = def->getOperand(0);
  }
  if (views.empty() || views.size() > kMost || v.hasNUsesOrMore(kMostReaders))
    return {};
  bool isOnly = llvm::all_of(v.getUsers(), [&](Operation *user) {
    return llvm::is_contained(views, user) || isScalarOp(user);
  });
  return isOnly ? views : Views();
}

/// Whether an elementwise operation on `v` joins what makes it: a product, rows
/// of a norm, or elementwise operations that did so.
bool joinsMaker(Value last) {
  SmallVector<Value> open = {last};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value v = open.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (!def || graph::isView(def) || isa<arith::ConstantOp>(def))
      continue;
    if (!isScalarOp(def)) {
      if (takesEpilogue(def) || graph::isReductionLike(def))
        return true;
      continue;
    }
    for (Value o : def->getOperands())
      if (rankedType(o).getShape() == rankedType(v).getShape() &&
          isReadTogether(o) && seen.insert(o).second)
        open.push_back(o);
  }
  return false;
}

/// Whether elementwise operations alone stand between `op` and the end.
bool isReturned(Operation *op) {
  do {
    if (!op->hasOneUse())
      return false;
    op = *op->user_begin();
  } while (isScalarOp(op));
  return isa<func::ReturnOp>(op);
}

/// Whether there are views of such elements: f64 is cast where a graph begins
/// and ends, and has no operation but that.
bool hasViews(Type element) { return !element.isF64(); }

/// Whether rows of the operand are rows of the result.
bool keepsLast(Operation *view) {
  if (Order order = orderOf(view->getResult(0)); !order.empty())
    return order.back() == static_cast<int64_t>(order.size()) - 1;
  auto in = rankedType(view->getOperand(0)),
       out = rankedType(view->getResult(0));
  return in.getRank() && out.getRank() && !in.isDynamicDim(in.getRank() - 1) &&
         in.getShape().back() == out.getShape().back();
}

/// The shape of a tensor of `shape`, which broadcasts to `out`, where trailing
/// dims of `out` are one dim of `in`: all of them are there, or none. Empty:
/// that is not so.
SmallVector<int64_t> mergedTrailing(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> in,
                                    ArrayRef<int64_t> out) {
  if (in.empty() || in.size() >= out.size() ||
      !llvm::equal(in.drop_back(), out.take_front(in.size() - 1)))
    return {};
  SmallVector<int64_t> padded(out.size() - shape.size(), 1);
  llvm::append_range(padded, shape);
  ArrayRef<int64_t> trailing = ArrayRef(padded).drop_front(in.size() - 1);
  SmallVector<int64_t> result(ArrayRef(padded).take_front(in.size() - 1));
  result.push_back(llvm::product_of(trailing));
  return result.back() == 1 || result.back() == in.back()
             ? result
             : SmallVector<int64_t>();
}

/// `v`, read beside the result of `view`, for reading beside its operand. Null:
/// no view of `v` has that form.
Value beforeView(OpBuilder &b, Value v, Operation *view) {
  auto type = rankedType(v), in = rankedType(view->getOperand(0)),
       out = rankedType(view->getResult(0));
  // That of an operation without broadcasting stays as large as the result.
  bool whole = type.getShape() == out.getShape();
  bool single = !whole && type.hasStaticShape() && type.getNumElements() == 1;
  if (single && type.getRank() <= in.getRank())
    return v;
  // A transpose asks for no sizes.
  Order order = orderOf(view->getResult(0));
  bool isKnown =
      type.hasStaticShape() && in.hasStaticShape() && out.hasStaticShape();
  if (v.getDefiningOp<arith::ConstantOp>() || (!isKnown && order.empty()))
    return {};
  Location loc = v.getLoc();
  if (single)
    return buildReshape(b, loc, v, {});
  bool alongLast = !whole && keepsLast(view) && type.hasStaticShape() &&
                   type.getNumElements() == type.getShape().back();
  if (alongLast)
    return type.getRank() == 1
               ? v
               : buildReshape(b, loc, v, type.getShape().take_back());
  if (!order.empty()) {
    if (!keepsLast(view))
      return {};
    SmallVector<int64_t> shape(out.getRank() - type.getRank(), 1);
    if (!shape.empty()) {
      if (type.getNumDynamicDims() > 1)
        return {}; // no reshape says which is which
      llvm::append_range(shape, type.getShape());
      v = buildReshape(b, loc, v, shape);
    }
    return buildTranspose(b, loc, v, invertPermutationVector(order));
  }
  if (whole) { // perhaps of something that moved before it
    auto reshape = v.getDefiningOp<graph::StaticReshapeOp>();
    Value from = reshape ? reshape.getSrc() : v;
    return rankedType(from).getShape() == in.getShape()
               ? from
               : buildReshape(b, loc, from, in.getShape());
  }
  SmallVector<int64_t> merged =
      mergedTrailing(type.getShape(), in.getShape(), out.getShape());
  return merged.empty() ? Value() : buildReshape(b, loc, v, merged);
}

/// `what` on other operands, with a result of `shape` and `element`.
Value rebuild(OpBuilder &b, Operation *what, ValueRange operands,
              ArrayRef<int64_t> shape, Type element) {
  Operation *clone = b.clone(*what);
  clone->setOperands(operands);
  clone->getResult(0).setType(RankedTensorType::get(shape, element));
  return clone->getResult(0);
}

/// The operand of `op` that has its shape, where all others are constants of
/// one value; else null.
Value onlyTensorOf(Operation *op) {
  Value only;
  for (Value v : op->getOperands()) {
    if (splatLiteral(v) && rankedType(v).getRank() == 0)
      continue;
    if (only ||
        rankedType(v).getShape() != rankedType(op->getResult(0)).getShape())
      return {};
    only = v;
  }
  return only;
}

/// Brings views of what is packed before elementwise operations.
int64_t moveViewsBefore(OpOperand &read) {
  int64_t moved = 0;
  for (OpOperand *at = &read;;) {
    Views views = viewsBehind(at->get());
    if (views.empty())
      return moved;
    Operation *op = views.back()->getOperand(0).getDefiningOp();
    Value from = op && isScalarOp(op) ? onlyTensorOf(op) : Value();
    // Other readers would compute it again.
    if (!from || !at->get().hasOneUse() || !op->hasOneUse())
      return moved;
    Type element = rankedType(from).getElementType();
    if (!hasViews(element))
      return moved;
    OpBuilder b(views.front());
    Value v = from;
    for (Operation *view : llvm::reverse(views))
      v = rebuild(b, view, v, rankedType(view->getResult(0)).getShape(),
                  element);
    SmallVector<Value> operands(op->getOperands());
    llvm::replace(operands, from, v);
    auto result = rankedType(op->getResult(0));
    at->set(rebuild(b, op, operands, rankedType(v).getShape(),
                    result.getElementType()));
    Operation *clone = at->get().getDefiningOp();
    at = llvm::find_if(clone->getOpOperands(),
                       [&](OpOperand &o) { return o.get() == v; });
    for (Operation *view : views)
      view->erase();
    op->erase();
    ++moved;
  }
}

struct MoveBeforeViewsPass : impl::MoveBeforeViewsBase<MoveBeforeViewsPass> {
  using MoveBeforeViewsBase::MoveBeforeViewsBase;

  /// The operand of `op` that has its shape under views, if `op` is to be
  /// computed before them; else null.
  static OpOperand *operandToUnview(Operation *op) {
    // Dimensions have meaning for those with such an attribute.
    if (op->getNumOperands() > 1 && op->hasAttr("data_format"))
      return nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      Value v = operand.get();
      Views views = viewsBehind(v);
      if (views.empty() ||
          rankedType(v).getShape() != rankedType(op->getResult(0)).getShape())
        continue;
      bool rows = llvm::all_of(views, [](Operation *view) {
        return isa<graph::StaticReshapeOp>(view) || keepsLast(view);
      });
      if (joinsMaker(views.back()->getOperand(0)) && (rows || isReturned(op)))
        return &operand;
    }
    return nullptr;
  }

  /// Whether `op` moved.
  static bool move(Operation *op) {
    OpOperand *viewed = operandToUnview(op);
    Type element = rankedType(op->getResult(0)).getElementType();
    if (!viewed || !hasViews(element))
      return false;
    Views views = viewsBehind(viewed->get());
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      Value v = operand.get();
      if (&operand == viewed)
        v = views.back()->getOperand(0);
      else
        for (Operation *view : views)
          if (v)
            v = beforeView(b, v, view);
      operands.push_back(v);
    }
    if (llvm::is_contained(operands, Value()))
      return false;
    op->emitRemark("computed before its operand is reshaped or transposed");
    Value v =
        rebuild(b, op, operands,
                rankedType(views.back()->getOperand(0)).getShape(), element);
    for (Operation *view : llvm::reverse(views))
      v = rebuild(b, view, v, rankedType(view->getResult(0)).getShape(),
                  element);
    op->replaceAllUsesWith(ValueRange(v));
    op->erase();
    for (Operation *view : views)
      if (view->use_empty())
        view->erase();
    return true;
  }

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        for (Operation &op : f.getBody().front().without_terminator())
          if (isScalarOp(&op))
            ops.push_back(&op);
    for (Operation *op : ops)
      moved += move(op);
    SmallVector<tile::PackOp> packs;
    getOperation().walk([&](tile::PackOp pack) { packs.push_back(pack); });
    for (tile::PackOp pack : packs)
      moved += moveViewsBefore(pack.getWeightsMutable());
    for (auto f : getOperation().getOps<func::FuncOp>())
      eraseDeadOps(f); // views for an operation that did not move
  }
};

} // namespace
} // namespace tenon::passes
