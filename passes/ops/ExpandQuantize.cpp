//===- ExpandQuantize.cpp - quantisation as arithmetic --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   Quantize(x) {scales = [s], zps = [z]}
//       ->  TypeCast(Round(Add(Multiply(x, 1/s), z)))
//   Dequantize(q) {per_channel, axis = 1}    (q of rank 4)
//       ->  Multiply(Subtract(TypeCast(q), z), s)    s, z: tensor<Cx1x1xf32>
//   DynamicDequantize(q, s, z) {per_group, group_shape = [1, 32]}
//       ->  the same on q and s reshaped to [.., n, 32] and [.., n, 1]
//   Dequantize(TypeCast(x)), x numbers of 4 bits in f32
//       ->  Multiply(Subtract(x, z), s)
//   MaxPool(Dequantize(q))
//       ->  Multiply(Subtract(MaxPool(TypeCast(q)), z), s)
//   Quantize(MaxPool(Dequantize(q))) with the same s and z
//       ->  TypeCast(MaxPool(TypeCast(q)))
//   Quantize(x) to a float of 8 bits {scales = [s]}
//       ->  TypeCast(Divide(x, s))
//   Quantize(Clamp(x)), which saturates where Clamp does  ->  Quantize(x)
//
// All arithmetic is f32. A product with the rounded reciprocal of a known scale
// is at most 1.5 units in the last place from the exact quotient, a quotient
// 0.5: either changes a level only so close to the middle of two. Divisions
// took a quarter of the time of a quantised convolution (docs/cost-model.md).
// TypeCast saturates and makes 0 of NaN, which is what
// quantisation does; it drops fractions, of which Round leaves none.
//
//===----------------------------------------------------------------------===//
#include "passes/ops/ExpandQuantize.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/Quantised.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

namespace {

//===----------------------------------------------------------------------===//
// Pooling of quantized weights
//===----------------------------------------------------------------------===//

/// Whether every window of `pool` meets src, and, if `whole`, no padding.
bool meetsSrc(Operation *pool, bool whole) {
  auto src = rankedType(pool->getOperand(0)),
       dst = rankedType(pool->getResult(0));
  if (!src.hasStaticShape() || !dst.hasStaticShape())
    return false;
  return meetSrc(windowDims(pool, src, dst, isNcx(pool, src.getRank()),
                            intsAttr(pool, "kernel")),
                 whole);
}

} // namespace

bool commutesWithPooling(Operation *dequantize, Operation *pool) {
  if (!isa<graph::DequantizeOp>(dequantize) || !dequantize->hasOneUse() ||
      !graph::isPooling(pool) || graph::isBackward(pool))
    return false;
  ArrayRef<float> scales =
      dequantize->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef();
  SmallVector<int64_t> zps = intsAttr(dequantize, "zps");
  // What lies along a dimension that windows pass is not theirs.
  int64_t rank = rankedType(pool->getOperand(0)).getRank();
  int64_t axis = normalizedAxis(intAttr(dequantize, "axis", 1), rank);
  bool along = !llvm::all_equal(scales) || !llvm::all_equal(zps);
  if (along && axis != channelDim(pool, rank))
    return false;
  bool shifts = llvm::any_of(zps, [](int64_t z) { return z != 0; });
  if (isa<graph::AvgPoolOp>(pool))
    return meetsSrc(pool, shifts && !boolAttr(pool, "exclude_pad"));
  return llvm::all_of(scales,
                      [](float s) { return s > 0 && std::isnormal(s); }) &&
         meetsSrc(pool, false);
}

namespace {

class Expansion {
public:
  explicit Expansion(Operation *op)
      : op(op), b(op), loc(op->getLoc()), first(loc),
        shape(rankedType(op->getOperand(0)).getShape()) {}

  void run() {
    bool dequantizes = isa<graph::DequantizeOp, graph::DynamicDequantizeOp>(op);
    Value src = op->getOperand(0);
    if (op->getNumOperands() > 1) { // DynamicQuantize, DynamicDequantize
      scale = parameter(op->getOperand(1));
      if (op->getNumOperands() > 2)
        zp = parameter(op->getOperand(2));
      if (stringAttr(op, "qtype") == "per_group")
        src = splitGroups(src);
    } else {
      SmallVector<float> scales(
          op->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef());
      if (!dequantizes && makesIntegers() &&
          llvm::all_of(scales, hasReciprocal)) {
        for (float &s : scales)
          s = 1 / s;
        division = "Multiply";
      }
      scale = literal(scales);
      SmallVector<float> zps;
      for (int64_t z : intsAttr(op, "zps"))
        zps.push_back(static_cast<float>(z));
      if (llvm::any_of(zps, [](float z) { return z != 0; }))
        zp = literal(zps);
      if (!dequantizes && saturatesLike(src.getDefiningOp(), scales, zps)) {
        // It stays part of the first operation's name.
        Operation *bound = src.getDefiningOp();
        first = FusedLoc::get(op->getContext(), {bound->getLoc(), loc});
        src = bound->getOperand(0);
      }
    }
    auto dst = rankedType(op->getResult(0));
    Value result =
        dequantizes ? dequantize(src) : quantize(src, dst.getElementType());
    if (rankedType(result).getShape() != dst.getShape())
      result = buildReshape(b, loc, result, dst.getShape());
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

private:
  /// Of a scale that keeps its precision.
  static bool hasReciprocal(float scale) {
    return std::isnormal(scale) && std::isnormal(1 / scale);
  }

  Value build(StringRef kind, ValueRange operands, Type element) {
    auto type = rankedType(operands[0]).clone(element);
    return buildGraphOp(b, loc, kind, operands, cast<RankedTensorType>(type));
  }

  /// Whether `bound`, which nothing else reads, changes no level that factors
  /// `scales` give: what it cuts off is beyond the least and the greatest.
  bool saturatesLike(Operation *bound, ArrayRef<float> scales,
                     ArrayRef<float> zps) const {
    auto to =
        dyn_cast<IntegerType>(rankedType(op->getResult(0)).getElementType());
    if (!isa_and_nonnull<graph::ReLUOp, graph::ClampOp>(bound) ||
        !bound->hasOneUse() || division != "Multiply" || !to ||
        to.getWidth() != bitsOf(op->getResult(0)))
      return false;
    bool relu = isa<graph::ReLUOp>(bound);
    double low = relu ? 0 : floatAttr(bound, "min");
    double high = relu ? HUGE_VAL : floatAttr(bound, "max");
    double least = to.isUnsigned() ? 0 : -128, most = least + 255;
    for (auto [i, scale] : llvm::enumerate(scales)) {
      double z = zps.empty() ? 0 : zps[zps.size() == 1 ? 0 : i];
      if (!(scale > 0 && low * scale + z <= least && high * scale + z >= most))
        return false;
    }
    return true;
  }

  Value quantize(Value x, Type to) {
    Type f32 = b.getF32Type();
    x = buildGraphOp(b, first, division, {x, scale},
                     cast<RankedTensorType>(rankedType(x).clone(f32)));
    if (zp)
      x = build("Add", {x, zp}, f32);
    if (makesIntegers())
      x = build("Round", x, f32);
    if (std::optional<std::pair<float, float>> range = rangeBesideCast(to))
      x = buildGraphOp(
          b, loc, "Clamp", x, rankedType(x),
          {b.getNamedAttr("min", b.getF32FloatAttr(range->first)),
           b.getNamedAttr("max", b.getF32FloatAttr(range->second))});
    return build("TypeCast", x, to);
  }

  /// Between which numbers results lie that the cast to `to` does not bound.
  std::optional<std::pair<float, float>> rangeBesideCast(Type to) const {
    if (auto integer = dyn_cast<IntegerType>(to)) {
      if (bitsOf(op->getResult(0)) == integer.getWidth())
        return std::nullopt;
      return integer.isUnsigned() ? std::pair(0.f, 15.f) : std::pair(-8.f, 7.f);
    }
    if (!boolAttr(op, "saturate"))
      return std::nullopt;
    float largest =
        llvm::APFloat::getLargest(cast<FloatType>(to).getFloatSemantics())
            .convertToDouble();
    return std::pair(-largest, largest);
  }

  /// Not floats of 8 bits, whose steps are as small as the number.
  bool makesIntegers() const {
    return isa<IntegerType>(rankedType(op->getResult(0)).getElementType());
  }

  Value dequantize(Value q) {
    Value quantized = beforeCast(q);
    if (!quantized)
      quantized = build("TypeCast", q, b.getF32Type());
    if (!op->use_empty() && commutesWithPooling(op, *op->user_begin()))
      poolQuantized(*op->user_begin(), quantized);
    return scaled(quantized);
  }

  /// The f32 numbers that became the bytes `q` of fewer bits, as `q` shows
  /// them; null: there are none, or `q` has other readers as well.
  Value beforeCast(Value q) {
    SmallVector<Operation *> views;
    Operation *def = q.getDefiningOp();
    auto isReadHere = [&] {
      return llvm::all_of(def->getUsers(), [&](Operation *user) {
        return user == op || llvm::is_contained(views, user);
      });
    };
    for (; def && graph::isView(def) && isReadHere();
         def = def->getOperand(0).getDefiningOp())
      views.push_back(def);
    bool isKnown =
        isa_and_nonnull<graph::TypeCastOp>(def) && isReadHere() &&
        rankedType(def->getOperand(0)).getElementType().isF32() &&
        (def->hasAttr(kBitsAttr) || llvm::any_of(views, [](Operation *view) {
           return view->hasAttr(kBitsAttr);
         }));
    if (!isKnown)
      return {};
    Value v = def->getOperand(0);
    for (Operation *view : llvm::reverse(views)) {
      auto shape = rankedType(view->getResult(0)).getShape();
      Order order = orderOf(view->getResult(0));
      v = order.empty() ? buildReshape(b, loc, v, shape)
                        : buildTranspose(b, loc, v, order);
    }
    return v;
  }

  Value scaled(Value quantized) {
    Type f32 = b.getF32Type();
    if (zp)
      quantized = build("Subtract", {quantized, zp}, f32);
    return build("Multiply", {quantized, scale}, f32);
  }

  /// `pool` of quantized weights, which are scaled after it.
  void poolQuantized(Operation *pool, Value quantized) {
    OpBuilder::InsertionGuard guard(b);
    pool->setOperand(0, quantized);
    b.setInsertionPointAfter(pool);
    Value pooled = pool->getResult(0), result = scaled(pooled);
    llvm::SmallPtrSet<Operation *, 2> made;
    for (Operation *at = result.getDefiningOp(); at != pool;
         at = at->getOperand(0).getDefiningOp())
      made.insert(at);
    pooled.replaceAllUsesExcept(result, made);
  }

  /// The dims that make a vector of `count` broadcast along the channel dim.
  SmallVector<int64_t> alongAxis(int64_t count) {
    int64_t rank = shape.size();
    SmallVector<int64_t> dims(
        rank - normalizedAxis(intAttr(op, "axis", 1), rank), 1);
    dims[0] = count;
    return dims;
  }

  Value literal(ArrayRef<float> values) {
    SmallVector<int64_t> dims;
    // No channel at all: any value will do.
    const float one = 1;
    if (values.empty())
      values = one;
    else if (llvm::all_equal(values))
      values = values.take_front();
    else
      dims = alongAxis(values.size());
    auto type = RankedTensorType::get(dims, b.getF32Type());
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, values));
  }

  /// Scales or zero points that are tensors, as f32 that broadcasts to src.
  Value parameter(Value v) {
    auto type = rankedType(v);
    std::string qtype = stringAttr(op, "qtype");
    SmallVector<int64_t> dims;
    if (qtype == "per_group")
      dims = groupCounts(type.getShape());
    else if (qtype == "per_channel" && type.getRank() == 1 &&
             type.getDimSize(0) != 1)
      dims = alongAxis(type.getDimSize(0));
    Value number = beforeCast(v);
    return parameterInF32(b, loc, number ? number : v, dims);
  }

  /// A dim that has more than one scale, each for more than one index.
  bool isSplit(int64_t d) {
    int64_t group = intsAttr(op, "group_shape")[d];
    return group != 1 && group != shape[d];
  }

  /// `counts` of scales, with a 1 after where src gets a dim.
  SmallVector<int64_t> groupCounts(ArrayRef<int64_t> counts) {
    SmallVector<int64_t> dims;
    for (auto [d, count] : llvm::enumerate(counts)) {
      dims.push_back(count);
      if (isSplit(d))
        dims.push_back(1);
    }
    return dims;
  }

  Value splitGroups(Value src) {
    SmallVector<int64_t> dims;
    for (auto [d, group] : llvm::enumerate(intsAttr(op, "group_shape"))) {
      if (isSplit(d))
        dims.append({shape[d] / group, group});
      else
        dims.push_back(shape[d]);
    }
    return ArrayRef<int64_t>(dims) == ArrayRef<int64_t>(shape)
               ? src
               : buildReshape(b, loc, src, dims);
  }

  Operation *op;
  OpBuilder b;
  Location loc, first;           // of what is made, of the first of it
  SmallVector<int64_t> shape;    // of src
  StringRef division = "Divide"; // what quantises
  Value scale, zp;               // zp: null where it is 0
};

} // namespace

void expandQuantize(Operation *op) { Expansion(op).run(); }

} // namespace tenon::passes
