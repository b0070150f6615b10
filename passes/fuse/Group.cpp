// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse/Group.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

Operation *concatOf(func::FuncOp group) {
  return *group.getOps<graph::ConcatOp>().begin();
}

SmallVector<Value> elidedOperands(func::CallOp call, func::FuncOp group) {
  auto inPlace = call->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
  SmallVector<Value> values;
  if (!inPlace)
    return values;
  Operation *concat = concatOf(group);
  values.resize(concat->getNumOperands());
  for (int64_t i : inPlace.asArrayRef())
    values[i] = call.getOperand(
        cast<BlockArgument>(concat->getOperand(i)).getArgNumber());
  return values;
}

bool sharesRows(Operation *op, const Group &g) {
  return g.kind == GroupKind::reduction && g.rows == reductionSpace(op) &&
         rankedType(op->getOperand(0)).getShape() == ArrayRef(g.space);
}

/// Dimensions as a row group sees a value: those of the space, or the space
/// with reduced dimensions of size 1.
static bool isSpaceShape(ArrayRef<int64_t> shape, const Group &g) {
  return shape == ArrayRef<int64_t>(g.space);
}
static bool isStatShape(ArrayRef<int64_t> shape, const Group &g) {
  if (g.kind != GroupKind::reduction || g.rows.groups ||
      shape.size() != g.space.size())
    return false;
  for (auto [d, size] : llvm::enumerate(g.space))
    if (shape[d] != (g.rows.reduced[d] ? 1 : size))
      return false;
  return true;
}

static std::string sizesText(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") +
            (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text.empty() ? "a scalar" : text;
}

/// "1,2": the reduced dimensions.
static std::string reducedText(const ReductionSpace &rows) {
  std::string text;
  for (auto [d, reduced] : llvm::enumerate(rows.reduced))
    if (reduced)
      text += (text.empty() ? "" : ",") + std::to_string(d);
  if (rows.groups)
    text += " (" + std::to_string(rows.groups) + " groups)";
  return text;
}

namespace {

/// Why an operation does not join a group; empty: it may.
struct Refusal {
  Operation *op;
  const Group &g;
  const llvm::DenseMap<Operation *, int> &groupOf;
  int groupIndex;
  /// Whether what joins runs after the group's first operation, on its tiles.
  bool epilogue = takesEpilogue(g.ops.front());

  bool inGroup(Value v) const {
    Operation *def = v.getDefiningOp();
    return def && groupOf.lookup_or(def, -1) == groupIndex;
  }

  /// Inside a group values are aligned dimension by dimension.
  std::string dropsDimensions(RankedTensorType type) const {
    return "an operand from the group has dropped dimensions: " +
           sizesText(type.getShape()) + " in a group of " + sizesText(g.space);
  }

  std::string ofKinds() const {
    bool indexed = graph::isIndexed(op);
    if (!isScalarOp(op) && !indexed && !graph::isReductionLike(op))
      return ("it starts a group of its own, of kind " +
              tile::stringifyGroupKind(*kindOfGroup(op)))
          .str();
    if (isa<tile::ConvWeightsOp>(g.ops.front()))
      return "a weights gradient is accumulated part by part in memory, so "
             "nothing can be computed before it is complete";
    if (indexed && epilogue)
      return "an epilogue has no index of its element, which this operation "
             "needs";
    return takesMore()
               ? ""
               : ("a group of kind " + tile::stringifyGroupKind(g.kind) +
                  " takes no epilogue")
                     .str();
  }

  bool takesMore() const {
    switch (g.kind) {
    case GroupKind::elementwise:
    case GroupKind::reduction:
    case GroupKind::contraction:
      return true;
    case GroupKind::window:
    case GroupKind::attention:
      return epilogue;
    case GroupKind::chain:
    case GroupKind::concat:
    case GroupKind::pack:
    case GroupKind::recurrence:
    case GroupKind::movement:
      return false;
    }
    return false;
  }

  std::string ofReduction() const {
    ArrayRef<int64_t> src = rankedType(op->getOperand(0)).getShape();
    if (epilogue)
      return ("complete rows are needed, a " + tile::stringifyGroupKind(g.kind))
                 .str() +
             " makes tiles: it reduces dimensions " +
             reducedText(reductionSpace(op)) + " of " + sizesText(src);
    if (llvm::none_of(op->getOperands(), [&](Value v) { return inGroup(v); }))
      return "its operand reaches it through a view";
    if (!isSpaceShape(src, g))
      return "its rows are not those of the group: " + sizesText(src) +
             ", not " + sizesText(g.space);
    for (Value v : op->getOperands())
      if (inGroup(v) && !isSpaceShape(rankedType(v).getShape(), g))
        return dropsDimensions(rankedType(v));
    if (!llvm::is_contained(reductionSpace(op).reduced, true))
      return "it reduces nothing";
    if (g.kind == GroupKind::reduction && !sharesRows(op, g))
      return "it reduces other dimensions than the group: " +
             reducedText(reductionSpace(op)) + ", not " + reducedText(g.rows);
    return "";
  }

  /// Whether dimension `d` of the group is one of `v`, and not of size 1.
  bool spans(Value v, int64_t d) const {
    auto type = rankedType(v);
    int64_t at = d - static_cast<int64_t>(g.space.size()) + type.getRank();
    return at >= 0 && type.getDimSize(at) != 1;
  }

  /// Whether rows of `op` may be longer or shorter than the group's. Two
  /// unknown sizes are the same if both are of a value that the group has or
  /// reads, not if `op` brings another value and takes what is one element per
  /// row.
  bool mayHaveOtherRows() const {
    if (g.kind != GroupKind::reduction)
      return false;
    auto isOfGroup = [&](Value v) {
      return inGroup(v) || llvm::any_of(v.getUsers(), [&](Operation *user) {
               return groupOf.lookup_or(user, -1) == groupIndex;
             });
    };
    for (auto [d, size] : llvm::enumerate(g.space))
      if (g.rows.reduced[d] && ShapedType::isDynamic(size) &&
          llvm::none_of(op->getOperands(), [&, d = d](Value v) {
            return spans(v, d) && isOfGroup(v);
          }))
        return true;
    return false;
  }

  std::string ofElements() const {
    auto shape = rankedType(op->getResult(0)).getShape();
    if (!isSpaceShape(shape, g) && !isStatShape(shape, g))
      return "its shape is not that of the group: " + sizesText(shape) +
             ", not " + sizesText(g.space);
    if (isSpaceShape(shape, g) && mayHaveOtherRows())
      return "its rows and those of the group are of unknown length, which may "
             "differ";
    bool any = false;
    for (Value v : op->getOperands()) {
      auto type = rankedType(v);
      if (inGroup(v)) {
        if (!isSpaceShape(type.getShape(), g) &&
            !isStatShape(type.getShape(), g))
          return dropsDimensions(type);
        any = true;
      } else if (g.kind == GroupKind::attention && !splatLiteral(v)) {
        return "an epilogue of attention reads no tensor but constants of one "
               "value";
      }
    }
    if (!any)
      return "its operands reach it through views";
    if (epilogue && !fitsEpilogue(op))
      return "an epilogue computes in 32 bits, and it has 64-bit values";
    return "";
  }
};

} // namespace

std::string explainRefusal(Operation *op, const Group &g,
                           const llvm::DenseMap<Operation *, int> &groupOf,
                           int groupIndex, int64_t maxOps) {
  if (static_cast<int64_t>(g.ops.size()) >= maxOps)
    return "the group already has " + std::to_string(g.ops.size()) +
           " operations (max-ops)";
  Refusal refusal{op, g, groupOf, groupIndex};
  if (std::string reason = refusal.ofKinds(); !reason.empty())
    return reason;
  return graph::isReductionLike(op) ? refusal.ofReduction()
                                    : refusal.ofElements();
}

SmallVector<Value> escaping(const Group &group, size_t n) {
  llvm::DenseSet<Operation *> inside(group.ops.begin(), group.ops.begin() + n);
  SmallVector<Value> values;
  for (size_t i = 0; i < n; ++i)
    for (Value v : group.ops[i]->getResults())
      if (isState(v) || llvm::any_of(v.getUsers(), [&](Operation *u) {
            return !inside.contains(u);
          }))
        values.push_back(v);
  return values;
}

} // namespace tenon::passes
