//===- DecomposeMovement.cpp - parts and repetitions of tensors -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   Slice                 tile.slice, a view where no step is negative
//   Add(Expand(x), y)     Add(x, y), where that has the same shape
//   Expand, otherwise     tile.expand, a view
//   Reshape               StaticReshape to the shape of its result or, where
//                         several sizes are not known, tile.reshape
//   Shape                 a literal
//   Concat(a, b) * y      Concat(a * y[..], b * y[..])
//
// The last one is a rotary embedding: nothing is joined before it is computed,
// and ElideConcat lets the parts write where they are joined.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/Slice.h"
#include "dialects/tile/TileDialect.h"
#include "passes/graph/Decompose.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// The indices that `v`, an optional operand or attribute, holds.
std::optional<SmallVector<int64_t>> listOf(Operation *op, StringRef attr,
                                           Value v) {
  if (op->hasAttr(attr))
    return intsAttr(op, attr);
  auto literal = v ? v.getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  if (!literal)
    return std::nullopt;
  SmallVector<int64_t> list;
  for (APInt i : cast<DenseElementsAttr>(literal.getValue()).getValues<APInt>())
    list.push_back(i.getSExtValue());
  return list;
}

void replace(Operation *op, Value v) {
  op->getResult(0).replaceAllUsesWith(v);
  op->erase();
}

bool decomposeSlice(graph::SliceOp op, OpBuilder &b) {
  std::optional<SliceBox> box = sliceBoxOf(op);
  assert(box && "CheckSupported refuses others");
  auto src = rankedType(op.getSrc()), dst = rankedType(op.getDst());
  bool isWhole = src.getShape() == dst.getShape() && box->ends.empty() &&
                 box->sizes.empty() &&
                 llvm::all_of(box->offsets, [](int64_t o) { return o == 0; });
  if (isWhole && llvm::all_of(box->steps, [](int64_t s) { return s == 1; })) {
    replace(op, op.getSrc());
    return true;
  }
  auto ends = box->ends.empty() ? DenseI64ArrayAttr()
                                : b.getDenseI64ArrayAttr(box->ends);
  SmallVector<StringRef> texts(box->sizes.begin(), box->sizes.end());
  auto sizes = texts.empty() ? ArrayAttr() : b.getStrArrayAttr(texts);
  replace(op, tile::SliceOp::create(b, op.getLoc(), dst, op.getSrc(),
                                    b.getDenseI64ArrayAttr(box->offsets),
                                    b.getDenseI64ArrayAttr(box->steps), ends,
                                    sizes));
  return true;
}

/// The sizes of the result of `op` that are not known, as expressions of named
/// ones. Null unless each of them is one.
ArrayAttr sizesOfResult(Operation *op) {
  ArrayAttr sizes = graph::sizesOf(op->getResult(0));
  ArrayRef<int64_t> shape = rankedType(op->getResult(0)).getShape();
  if (!sizes || sizes.size() != shape.size())
    return {};
  SmallVector<Attribute> texts;
  for (auto [d, text] : llvm::zip(shape, sizes)) {
    bool isUnknown = ShapedType::isDynamic(d);
    if (isUnknown && cast<StringAttr>(text).empty())
      return {};
    texts.push_back(isUnknown ? text : StringAttr::get(op->getContext()));
  }
  return ArrayAttr::get(op->getContext(), texts);
}

/// Whether the type and the attributes of `reshape` tell all sizes.
bool tellsSizes(Operation *reshape) {
  ArrayRef<int64_t> shape = rankedType(reshape->getResult(0)).getShape();
  int64_t unknown = llvm::count_if(shape, ShapedType::isDynamic);
  if (unknown < 2 || !isa<graph::StaticReshapeOp>(reshape))
    return unknown < 2;
  SmallVector<int64_t> wanted = intsAttr(reshape, "shape");
  int64_t copied =
      boolAttr(reshape, "special_zero") ? llvm::count(wanted, 0) : 0;
  return unknown - copied < 2 &&
         !llvm::is_contained(wanted, ShapedType::kDynamic);
}

bool decomposeReshape(Operation *op, OpBuilder &b) {
  Value src = op->getOperand(0);
  auto dst = rankedType(op->getResult(0));
  if (isa<graph::StaticReshapeOp>(op) && tellsSizes(op))
    return false;
  if (tellsSizes(op))
    replace(op, buildReshape(b, op->getLoc(), src, dst.getShape()));
  else
    replace(op, tile::ReshapeOp::create(b, op->getLoc(), dst, src,
                                        sizesOfResult(op)));
  return true;
}

/// The shape of numpy's broadcasting of all `shapes`; a dim that is not known
/// is as large as those it meets.
SmallVector<int64_t> broadcastShape(ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes)
    for (auto [i, d] : llvm::enumerate(shape)) {
      int64_t &r = result[rank - shape.size() + i];
      if (r == 1)
        r = d;
    }
  return result;
}

/// Whether the elementwise `user` has the same result if it reads `src` instead
/// of its expansion.
bool readsAsWell(OpOperand &use, Value src) {
  Operation *user = use.getOwner();
  if (!isScalarOp(user) || user->getNumResults() != 1 ||
      stringAttr(user, "auto_broadcast") != "numpy")
    return false;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (OpOperand &operand : user->getOpOperands()) {
    // A condition can not enlarge the result.
    if (isa<graph::SelectOp>(user) && operand.getOperandNumber() == 0)
      continue;
    shapes.push_back(
        rankedType(operand.get() == use.get() ? src : operand.get())
            .getShape());
  }
  return ArrayRef(broadcastShape(shapes)) ==
         rankedType(user->getResult(0)).getShape();
}

bool decomposeExpand(graph::ExpandOp op, OpBuilder &b) {
  Value src = op.getSrc(), dst = op.getDst();
  auto type = rankedType(dst);
  if (rankedType(src).getShape() == type.getShape()) {
    replace(op, src);
    return true;
  }
  for (OpOperand &use : llvm::make_early_inc_range(dst.getUses()))
    if (readsAsWell(use, src))
      use.set(src);
  if (!dst.use_empty())
    dst.replaceAllUsesWith(
        tile::ExpandOp::create(b, op.getLoc(), type, src, sizesOfResult(op))
            .getDst());
  op->erase();
  return true;
}

bool decomposeShape(graph::ShapeOp op, OpBuilder &b) {
  auto src = rankedType(op.getSrc()), dst = rankedType(op.getDst());
  if (!src.hasStaticShape())
    return false;
  int64_t rank = src.getRank();
  int64_t first = intAttr(op, "start");
  first = std::clamp<int64_t>(first < 0 ? first + rank : first, 0, rank);
  SmallVector<APInt> sizes;
  unsigned width = dst.getElementType().getIntOrFloatBitWidth();
  for (int64_t i = 0; i < dst.getDimSize(0); ++i)
    sizes.emplace_back(width, src.getDimSize(first + i));
  replace(op, arith::ConstantOp::create(b, op.getLoc(),
                                        DenseElementsAttr::get(dst, sizes)));
  return true;
}

//===----------------------------------------------------------------------===//
// Through Concat
//===----------------------------------------------------------------------===//

/// `op` on other operands, with a result of `shape`.
Value rebuild(OpBuilder &b, Operation *op, ValueRange operands,
              ArrayRef<int64_t> shape) {
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  Value result = clone->getResult(0);
  result.setType(
      RankedTensorType::get(shape, rankedType(result).getElementType()));
  return result;
}

/// Whether elements of `op` are computed from those of its operands at the same
/// place, counted from the last dim.
bool isPlaceByPlace(Operation *op) {
  return op && isScalarOp(op) && op->getNumResults() == 1 &&
         !op->hasAttr("data_format");
}

/// `count` elements of dims from `at` on, the dim `fromLast` before the last.
struct PartOfDim {
  int64_t fromLast, at, count;

  /// This part of `v`, computed from parts where nobody else reads `v`.
  Value of(OpBuilder &b, Location loc, Value v) const {
    auto type = rankedType(v);
    int64_t dim = type.getRank() - 1 - fromLast;
    if (dim < 0 || type.getDimSize(dim) == 1)
      return v;
    SmallVector<int64_t> offsets(type.getRank(), 0), sizes(type.getShape());
    offsets[dim] = at;
    sizes[dim] = count;
    if (Operation *def = v.getDefiningOp();
        isPlaceByPlace(def) && v.hasOneUse()) {
      SmallVector<Value> operands;
      for (Value operand : def->getOperands())
        operands.push_back(of(b, loc, operand));
      return rebuild(b, def, operands, sizes);
    }
    return tile::SliceOp::create(
        b, loc, RankedTensorType::get(sizes, type.getElementType()), v, offsets,
        /*steps=*/DenseI64ArrayAttr());
  }
};

/// Each part is a group of its own.
constexpr unsigned kMostParts = 8;

/// Whether `v` is computed, element by element, from a part of a tensor, as in
/// a rotary embedding, whose parts are those of one tensor.
bool isOfPart(Value v, int depth = 8) {
  Operation *def = v.getDefiningOp();
  if (!def || depth == 0)
    return false;
  return isa<tile::SliceOp>(def) ||
         (isScalarOp(def) && llvm::any_of(def->getOperands(), [&](Value o) {
            return isOfPart(o, depth - 1);
          }));
}

/// The elementwise `op` reads a Concat that nobody else reads: it is computed
/// for each operand of that. Where the Concat is computed in place anyway, this
/// saves a pass over it.
bool computeBeforeConcat(Operation *op, OpBuilder &b) {
  auto result = rankedType(op->getResult(0));
  graph::ConcatOp concat;
  for (Value v : op->getOperands())
    if (auto found = v.getDefiningOp<graph::ConcatOp>())
      if (v.hasOneUse() && rankedType(v).getShape() == result.getShape())
        concat = found;
  if (!concat || !isPlaceByPlace(op) || !result.hasStaticShape() ||
      op->getNumOperands() < 2)
    return false;
  if (concat->getNumOperands() > kMostParts ||
      !llvm::any_of(concat->getOperands(), [](Value v) { return isOfPart(v); }))
    return false;
  int64_t axis = normalizedAxis(intAttr(concat, "axis"), result.getRank());
  PartOfDim where{result.getRank() - 1 - axis, 0, 0};
  SmallVector<Value> parts;
  for (Value part : concat->getOperands()) {
    where.count = rankedType(part).getDimSize(axis);
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(
          v == concat->getResult(0) ? part : where.of(b, op->getLoc(), v));
    SmallVector<int64_t> shape(result.getShape());
    shape[axis] = where.count;
    parts.push_back(rebuild(b, op, operands, shape));
    where.at += where.count;
  }
  Operation *joined = b.clone(*concat.getOperation());
  joined->setOperands(parts);
  joined->getResult(0).setType(result);
  replace(op, joined->getResult(0));
  concat->erase();
  return true;
}

} // namespace

/// Lets the size of the result of `slice` say where `box` ends, or begins,
/// along `axis`. Whether it has one that is computed.
static bool takeNamed(graph::SliceOp slice, int64_t axis, SliceBox &box) {
  ArrayAttr sizes = graph::sizesOf(slice.getDst());
  auto rank = static_cast<size_t>(rankedType(slice.getSrc()).getRank());
  if (!sizes || sizes.size() != rank)
    return false;
  StringRef text = cast<StringAttr>(sizes[axis]).getValue();
  box.sizes.resize(rank);
  box.sizes[axis] = text.str();
  return !text.empty();
}

std::optional<SliceBox> sliceBoxOf(Operation *slice) {
  auto op = cast<graph::SliceOp>(slice);
  auto src = rankedType(op.getSrc());
  auto begins = listOf(op, "begins", op.getBeginsTensor());
  auto ends = listOf(op, "ends", op.getEndsTensor());
  if (!begins || !ends)
    return std::nullopt;
  SmallVector<int64_t> axes = intsAttr(op, "axes"),
                       steps = intsAttr(op, "steps");
  SliceBox box;
  box.offsets.assign(src.getRank(), 0);
  box.steps.assign(src.getRank(), 1);
  for (auto [i, begin] : llvm::enumerate(*begins)) {
    int64_t axis = axes.empty() ? static_cast<int64_t>(i)
                                : normalizedAxis(axes[i], src.getRank());
    int64_t step = steps.empty() ? 1 : steps[i], end = (*ends)[i];
    bool isBound = end != graph::kUnknownDim && begin != graph::kUnknownDim;
    if (src.isDynamicDim(axis) || !isBound) {
      bool isWhole = isBound && begin == 0 && step == 1 &&
                     end >= std::numeric_limits<int32_t>::max();
      if (step < 0 || (!isBound && !takeNamed(op, axis, box)))
        return std::nullopt;
      if (!isWhole && box.ends.empty())
        box.ends.assign(src.getRank(), std::numeric_limits<int64_t>::max());
      if (!isWhole && end != graph::kUnknownDim)
        box.ends[axis] = end;
      box.offsets[axis] = begin;
      box.steps[axis] = step;
      continue;
    }
    graph::SliceRange range =
        graph::sliceRange(src.getDimSize(axis), begin, end, step);
    // Of no elements the first one need not exist.
    box.offsets[axis] = range.count ? range.first : 0;
    box.steps[axis] = range.count > 1 ? step : 1;
  }
  // A copy is made by a group, which does not know names.
  bool isView = llvm::all_of(box.steps, [](int64_t step) { return step > 0; });
  if (!isView && !box.sizes.empty())
    return std::nullopt;
  return box;
}

bool canComputeSizes(Operation *op) {
  if (sizesOfResult(op))
    return true;
  if (!isa<graph::ExpandOp>(op))
    return tellsSizes(op);
  // Sizes that are not known are those of src.
  ArrayRef<int64_t> src = rankedType(op->getOperand(0)).getShape(),
                    dst = rankedType(op->getResult(0)).getShape();
  size_t lead = dst.size() - src.size();
  for (auto [i, d] : llvm::enumerate(dst))
    if (ShapedType::isDynamic(d) && (i < lead || src[i - lead] == 1))
      return false;
  return true;
}

bool decomposeMovement(Operation *op, OpBuilder &b) {
  if (isScalarOp(op))
    return computeBeforeConcat(op, b);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](graph::SliceOp slice) { return decomposeSlice(slice, b); })
      .Case([&](graph::ExpandOp expand) { return decomposeExpand(expand, b); })
      .Case([&](graph::ShapeOp shape) { return decomposeShape(shape, b); })
      .Case<graph::ReshapeOp, graph::StaticReshapeOp>(
          [&](auto reshape) { return decomposeReshape(reshape, b); })
      .Default([](Operation *) { return false; });
}

} // namespace tenon::passes
