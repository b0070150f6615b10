//===- SinkTransposes.cpp - one layout along a chain of convolutions ------===//
//
//   %c = graph.Convolution ..               %c = graph.Convolution ..
//   %t = graph.StaticTranspose %c           %r = graph.ReLU %c
//   %r = graph.ReLU %t                 ->   %t = graph.StaticTranspose %r
//   %u = graph.StaticTranspose %r           (%u is %r)
//
// Products write channels last. Where the user's tensors are NCX each stands
// between two transposes, and what is elementwise would be computed in the
// user's order: not in the epilogue of the product, and the next one would read
// channels that lie far apart. So transposes move behind elementwise operations
// and pools, until they meet their inverse or a result of the graph. What is
// read without its transpose is marked with the order of the graph's tensor,
// for reports.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/support/Build.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"
#include "passes/tiling/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "passes/Passes.h.inc"

namespace {

/// What the transpose that makes `v` reads, which somebody is to read instead.
Value readBefore(Value v) {
  Value source = v.getDefiningOp()->getOperand(0);
  if (Operation *def = source.getDefiningOp())
    def->setAttr(kOrderAttr,
                 DenseI64ArrayAttr::get(v.getContext(), orderOf(v)));
  return source;
}

/// At most one dimension has more than one element: its order in memory is the
/// same wherever that dimension is.
bool isVector(ArrayRef<int64_t> shape) {
  return llvm::count_if(shape, [](int64_t d) { return d != 1; }) <= 1;
}

/// `v`, which broadcasts to a tensor in `order`, as it broadcasts to that
/// tensor before; null where that costs a copy.
Value before(OpBuilder &b, Value v, ArrayRef<int64_t> order) {
  auto type = rankedType(v);
  if (orderOf(v) == Order(order))
    return readBefore(v);
  if (!isVector(type.getShape()))
    return {};
  SmallVector<int64_t> shape(order.size() - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  SmallVector<int64_t> old(order.size());
  for (auto [i, o] : llvm::enumerate(order))
    old[o] = shape[i];
  if (auto literal = v.getDefiningOp<arith::ConstantOp>()) {
    auto values = cast<DenseElementsAttr>(literal.getValue());
    if (type.getNumElements() == 1)
      return v;
    auto moved =
        values.reshape(RankedTensorType::get(old, type.getElementType()));
    return arith::ConstantOp::create(b, v.getLoc(), moved);
  }
  return old == type.getShape() ? v : buildReshape(b, v.getLoc(), v, old);
}

bool isPool(Operation *op) {
  return (isKind(op, "MaxPool") || isKind(op, "AvgPool")) &&
         op->getNumResults() == 1;
}

/// Whether a pool of channels first reads what lies channels last.
bool isPoolOf(Operation *op, ArrayRef<int64_t> order) {
  if (!isPool(op) || stringAttr(op, "data_format") != "NCX")
    return false;
  int64_t rank = order.size();
  for (int64_t i = 0; i < rank; ++i)
    if (order[i] != (i == 0 ? 0 : i == 1 ? rank - 1 : i - 1))
      return false;
  return rank > 2;
}

struct Sinking {
  int64_t sunk = 0;
  /// Convolutions and what is computed in the order in which they write, be it
  /// that it stood there before a transpose (scales of bytes) or was moved.
  llvm::DenseSet<Operation *> inOrder;

  void note(Operation *op) {
    bool reads = llvm::any_of(op->getOperands(), [&](Value v) {
      return v.getDefiningOp() && inOrder.contains(v.getDefiningOp());
    });
    if (kindOf(op).starts_with("Conv") || isa<tile::ConvOp>(op) ||
        (tiling::isScalarOp(op) && reads))
      inOrder.insert(op);
  }

  /// The order in which `op` reads what a convolution, or something behind one,
  /// wrote channels last. Other transposes are as well read by a loop.
  Order orderAbove(Operation *op) {
    int64_t rank = rankedType(op->getResult(0)).getRank();
    for (Value v : op->getOperands()) {
      Order order = orderOf(v);
      if (order.empty() || static_cast<int64_t>(order.size()) != rank)
        continue;
      Operation *source = v.getDefiningOp()->getOperand(0).getDefiningOp();
      if (source && inOrder.contains(source))
        return order;
    }
    return {};
  }

  /// Computes `op` before the transpose of its operands.
  void sink(Operation *op) {
    Order order = orderAbove(op);
    bool pool = !order.empty() && isPoolOf(op, order);
    bool scalar = tiling::isScalarOp(op) && op->getNumResults() == 1 &&
                  !isKind(op, "Reorder") && !isKind(op, "PReLU");
    if (order.empty() || (!pool && !scalar))
      return;
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (Value v : op->getOperands()) {
      Value source = before(b, v, order);
      if (!source)
        return;
      operands.push_back(source);
    }
    auto type = rankedType(op->getResult(0));
    Order back = invertPermutationVector(order);
    SmallVector<int64_t> shape;
    for (int64_t o : back)
      shape.push_back(type.getDimSize(o));
    Operation *clone = b.clone(*op);
    clone->setOperands(operands);
    clone->getResult(0).setType(
        RankedTensorType::get(shape, type.getElementType()));
    if (pool)
      clone->setAttr("data_format", b.getStringAttr("NXC"));
    op->getResult(0).replaceAllUsesWith(
        buildTranspose(b, op->getLoc(), clone->getResult(0), order));
    inOrder.erase(op);
    op->erase();
    inOrder.insert(clone);
    ++sunk;
  }

  /// A transpose of a transpose that leaves nothing transposed.
  void cancel(Operation *op) {
    Order outer = orderOf(op->getResult(0)), inner = orderOf(op->getOperand(0));
    if (!outer.empty() && outer == invertPermutationVector(inner))
      op->getResult(0).replaceAllUsesWith(readBefore(op->getOperand(0)));
  }

  void run(func::FuncOp f) {
    for (Operation &op :
         llvm::make_early_inc_range(f.getBody().front().without_terminator())) {
      note(&op);
      if (isKind(&op, "StaticTranspose"))
        cancel(&op);
      else if (!kindOf(&op).empty())
        sink(&op);
    }
    eraseDeadOps(f);
  }
};

struct SinkTransposesPass : impl::SinkTransposesBase<SinkTransposesPass> {
  void runOnOperation() override {
    Sinking sinking;
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (isEntry(f))
        sinking.run(f);
    sunk += sinking.sunk;
  }
};

} // namespace
} // namespace tenon
