#include "passes/fusion/Group.h"

#include "dialects/tile/TileDialect.h"
#include "passes/support/Entry.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon::fusion {

StringRef name(GroupKind kind) {
  switch (kind) {
  case GroupKind::elementwise:
    return "elementwise";
  case GroupKind::rows:
    return "rows";
  case GroupKind::contraction:
    return "contraction";
  case GroupKind::chain:
    return "chain";
  case GroupKind::attention:
    return "attention";
  case GroupKind::window:
    return "window";
  case GroupKind::concat:
    return "concat";
  case GroupKind::pack:
    return "pack";
  case GroupKind::recurrence:
    return "recurrence";
  }
  return "";
}

bool isView(Operation *op) {
  return isKind(op, "StaticReshape") || isKind(op, "StaticTranspose");
}

Value behindViews(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!isView(def))
      break;
    v = def->getOperand(0);
  }
  return v;
}

bool isRowOp(Operation *op) {
  static const llvm::StringSet<> kinds = {
      "BatchNormForwardTraining",
      "BatchNormTrainingBackward",
      "GroupNorm",
      "LayerNorm",
      "LayerNormBackward",
      "LogSoftmax",
      "LogSoftmaxBackward",
      "PReLUBackward",
      "RMSNorm",
      "SoftMax",
      "SoftMaxBackward",
  };
  StringRef kind = kindOf(op);
  return kinds.contains(kind) || kind.starts_with("Reduce");
}

bool isState(Value v) {
  auto rnn = v.getDefiningOp<tile::RnnOp>();
  return rnn && v != rnn.getH();
}

std::optional<GroupKind> kindOfGroup(Operation *op) {
  if (isView(op) || isa<arith::ConstantOp>(op))
    return std::nullopt;
  if (auto conv = dyn_cast<tile::ConvOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (auto conv = dyn_cast<tile::ConvTransposeOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (auto conv = dyn_cast<tile::ConvWeightsOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (isa<tile::MatMulOp, tile::WinogradOp>(op))
    return GroupKind::contraction;
  if (isa<tile::AttentionOp>(op))
    return GroupKind::attention;
  if (isa<tile::FlipOp, tile::PackOp, tile::PackGatesOp, tile::PackLevelsOp,
          tile::ToDigitsOp, tile::WinogradWeightsOp>(op))
    return GroupKind::pack;
  if (isa<tile::RnnOp>(op))
    return GroupKind::recurrence;
  if (isRowOp(op))
    return GroupKind::rows;
  StringRef kind = kindOf(op);
  if (kind.starts_with("MaxPool") || kind.starts_with("AvgPool") ||
      kind.starts_with("Interpolate") || kind.starts_with("LRN"))
    return GroupKind::window;
  if (kind == "Concat")
    return GroupKind::concat;
  if (tiling::isScalarOp(op) || tiling::isIndexedOp(op))
    return GroupKind::elementwise;
  return std::nullopt;
}

Operation *concatOf(func::FuncOp group) {
  return &*llvm::find_if(group.getBody().front(),
                         [](Operation &op) { return isKind(&op, "Concat"); });
}

SmallVector<Value> joinedInPlace(func::CallOp call, func::FuncOp group) {
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

int64_t channelDim(Operation *op, int64_t rank) {
  return rank > 2 && stringAttr(op, "data_format") == "NCX" ? 1 : rank - 1;
}

SmallVector<int64_t> slopeDims(Operation *op) {
  ArrayRef<int64_t> src = rankedType(op->getOperand(0)).getShape();
  ArrayRef<int64_t> slope = rankedType(op->getOperand(1)).getShape();
  int64_t rank = src.size();
  if (slope.size() == 1 && slope[0] != 1)
    return {channelDim(op, rank)};
  SmallVector<int64_t> dims;
  for (int64_t i = rank - slope.size(); i < rank; ++i)
    dims.push_back(i);
  return dims;
}

RowSpace rowSpace(Operation *op) {
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  RowSpace rows;
  rows.reduced.assign(rank, false);
  StringRef kind = kindOf(op);
  if (kind.contains("SoftMax") || kind.contains("LogSoftmax")) {
    if (rank > 0)
      rows.reduced[normalizedAxis(intAttr(op, "axis"), rank)] = true;
  } else if (kind.starts_with("LayerNorm") || kind == "RMSNorm") {
    for (int64_t d = normalizedAxis(intAttr(op, "begin_norm_axis", -1), rank);
         d < rank; ++d)
      rows.reduced[d] = true;
  } else if (kind.starts_with("BatchNorm")) {
    rows.reduced.assign(rank, true);
    rows.reduced[channelDim(op, rank)] = false;
  } else if (kind == "GroupNorm") {
    rows.groups = intAttr(op, "groups");
    rows.channel = channelDim(op, rank);
    rows.reduced.assign(rank + 1, true);
    rows.reduced[0] = rows.reduced[rows.channel] = false;
  } else if (kind == "PReLUBackward") {
    rows.reduced.assign(rank, true);
    auto slope = rankedType(op->getOperand(1));
    for (auto [i, d] : llvm::enumerate(slopeDims(op)))
      rows.reduced[d] = slope.getDimSize(i) == 1;
  } else {
    for (int64_t a : intsAttr(op, "axes"))
      rows.reduced[normalizedAxis(a, rank)] = true;
  }
  return rows;
}

bool sharesRows(Operation *op, const Group &g) {
  return g.kind == GroupKind::rows && g.rows == rowSpace(op) &&
         rankedType(op->getOperand(0)).getShape() == ArrayRef(g.space);
}

/// Dimensions as a row group sees a value: those of the space, or the space
/// with reduced dimensions of size 1.
static bool isSpaceShape(ArrayRef<int64_t> shape, const Group &g) {
  return shape == ArrayRef<int64_t>(g.space);
}
static bool isStatShape(ArrayRef<int64_t> shape, const Group &g) {
  if (g.kind != GroupKind::rows || g.rows.groups ||
      shape.size() != g.space.size())
    return false;
  for (auto [d, size] : llvm::enumerate(g.space))
    if (shape[d] != (g.rows.reduced[d] ? 1 : size))
      return false;
  return true;
}

bool takesEpilogue(Operation *first) {
  auto conv = dyn_cast<tile::ConvOp>(first);
  if (auto attention = dyn_cast<tile::AttentionOp>(first))
    return !attention.getFromLeft() && !attention.getStats();
  return kindOfGroup(first) == GroupKind::contraction ||
         (conv && conv.getDepthwise()) || isKind(first, "MaxPool") ||
         isKind(first, "AvgPool");
}

/// Whether an epilogue's vectors, of as many lanes as sums have, hold it.
static bool fits(Value v) {
  return rankedType(v).getElementTypeBitWidth() <= 32;
}

bool fitsEpilogue(Operation *op) {
  return llvm::all_of(op->getOperands(), fits) &&
         llvm::all_of(op->getResults(), fits);
}

static std::string sizesText(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") +
            (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text.empty() ? "a scalar" : text;
}

/// "1,2": the reduced dimensions.
static std::string reducedText(const RowSpace &rows) {
  std::string text;
  for (auto [d, reduced] : llvm::enumerate(rows.reduced))
    if (reduced)
      text += (text.empty() ? "" : ",") + std::to_string(d);
  if (rows.groups)
    text += " (" + std::to_string(rows.groups) + " groups)";
  return text;
}

std::string whyNot(Operation *op, const Group &g,
                   const llvm::DenseMap<Operation *, int> &groupOf,
                   int groupIndex, int64_t maxOps) {
  if (static_cast<int64_t>(g.ops.size()) >= maxOps)
    return "the group already has " + std::to_string(g.ops.size()) +
           " operations (max-ops)";
  auto inGroup = [&](Value v) {
    Operation *def = v.getDefiningOp();
    return def && groupOf.lookup_or(def, -1) == groupIndex;
  };
  bool indexed = tiling::isIndexedOp(op), row = isRowOp(op);
  if (!tiling::isScalarOp(op) && !indexed && !row)
    return ("it starts a group of its own, of kind " + name(*kindOfGroup(op)))
        .str();
  if (isa<tile::ConvWeightsOp>(g.ops.front()))
    return "a gradient of weights is summed piece by piece in memory";
  bool epilogue = takesEpilogue(g.ops.front());
  if (indexed && epilogue)
    return "epilogues know no indices";
  switch (g.kind) {
  case GroupKind::window:
  case GroupKind::attention:
    if (epilogue)
      break;
    [[fallthrough]];
  case GroupKind::chain:
  case GroupKind::concat:
  case GroupKind::pack:
  case GroupKind::recurrence:
    return ("a group of kind " + name(g.kind) + " takes no epilogue").str();
  case GroupKind::elementwise:
  case GroupKind::rows:
  case GroupKind::contraction:
    break;
  }
  ArrayRef<int64_t> space(g.space);
  // Inside a group values are aligned dimension by dimension.
  auto dropped = [&](RankedTensorType type) {
    return "an operand from the group has dropped dimensions: " +
           sizesText(type.getShape()) + " in a group of " + sizesText(space);
  };
  if (row) {
    if (epilogue)
      return ("complete rows are needed, a " + name(g.kind)).str() +
             " makes tiles: it reduces dimensions " +
             reducedText(rowSpace(op)) + " of " +
             sizesText(rankedType(op->getOperand(0)).getShape());
    if (llvm::none_of(op->getOperands(), inGroup))
      return "its operand reaches it through a view";
    if (!isSpaceShape(rankedType(op->getOperand(0)).getShape(), g))
      return "its rows are not those of the group: " +
             sizesText(rankedType(op->getOperand(0)).getShape()) + ", not " +
             sizesText(space);
    for (Value v : op->getOperands())
      if (inGroup(v) && !isSpaceShape(rankedType(v).getShape(), g))
        return dropped(rankedType(v));
    if (!llvm::is_contained(rowSpace(op).reduced, true))
      return "it reduces nothing";
    if (g.kind == GroupKind::rows && !sharesRows(op, g))
      return "it reduces other dimensions than the group: " +
             reducedText(rowSpace(op)) + ", not " + reducedText(g.rows);
    return "";
  }
  auto shape = rankedType(op->getResult(0)).getShape();
  bool stat = isStatShape(shape, g);
  if (!isSpaceShape(shape, g) && !stat)
    return "its shape is not that of the group: " + sizesText(shape) +
           ", not " + sizesText(space);
  bool any = false;
  for (Value v : op->getOperands()) {
    auto type = rankedType(v);
    if (inGroup(v)) {
      if (!isSpaceShape(type.getShape(), g) && !isStatShape(type.getShape(), g))
        return dropped(type);
      any = true;
    } else if (g.kind == GroupKind::attention && !splatLiteral(v)) {
      return "epilogues of attention read constants of one value only";
    }
  }
  if (!any)
    return "its operands reach it through views";
  if (epilogue && !fitsEpilogue(op))
    return "epilogues know no 64-bit integers";
  return "";
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

} // namespace tenon::fusion
