//===- ExpandQuantize.cpp - quantisation as arithmetic --------------------===//
//
//   Quantize(x) {scales = [s], zps = [z]}
//       ->  TypeCast(Round(Add(Multiply(x, 1/s), z)))
//   Dequantize(q) {per_channel, axis = 1}    (q of rank 4)
//       ->  Multiply(Subtract(TypeCast(q), z), s)    s, z: tensor<Cx1x1xf32>
//   DynamicDequantize(q, s, z) {per_group, group_shape = [1, 32]}
//       ->  the same on q and s reshaped to [.., n, 32] and [.., n, 1]
//
// All arithmetic is f32. A product with the rounded reciprocal of a known scale
// is at most 1.5 units in the last place from the exact quotient, a quotient
// 0.5: either changes a level only so close to the middle of two. Divisions
// took a quarter of the time of a quantised convolution (docs/cost-model.md).
// TypeCast saturates and makes 0 of NaN, which is what
// quantisation does; it drops fractions, of which Round leaves none.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/graph/Decompose.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_EXPANDQUANTIZE
#include "passes/Passes.h.inc"

namespace {

class Expansion {
public:
  explicit Expansion(Operation *op)
      : op(op), b(op), loc(op->getLoc()),
        shape(rankedType(op->getOperand(0)).getShape()) {}

  void run() {
    bool dequantizes = kindOf(op).ends_with("Dequantize");
    Value src = op->getOperand(0), scale, zp;
    if (kindOf(op).starts_with("Dynamic")) {
      scale = parameter(op->getOperand(1));
      if (op->getNumOperands() > 2)
        zp = parameter(op->getOperand(2));
      if (stringAttr(op, "qtype") == "per_group")
        src = splitGroups(src);
    } else {
      SmallVector<float> scales(
          op->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef());
      if (!dequantizes && llvm::all_of(scales, hasReciprocal)) {
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
    }
    auto dst = rankedType(op->getResult(0));
    Value result = dequantizes ? dequantize(src, scale, zp)
                               : quantize(src, scale, zp, dst.getElementType());
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

  Value quantize(Value x, Value scale, Value zp, Type to) {
    Type f32 = b.getF32Type();
    x = build(division, {x, scale}, f32);
    if (zp)
      x = build("Add", {x, zp}, f32);
    return build("TypeCast", build("Round", x, f32), to);
  }

  Value dequantize(Value q, Value scale, Value zp) {
    Type f32 = b.getF32Type();
    q = build("TypeCast", q, f32);
    if (zp)
      q = build("Subtract", {q, zp}, f32);
    return build("Multiply", {q, scale}, f32);
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
    if (ArrayRef<int64_t>(dims) != type.getShape())
      v = buildReshape(b, loc, v, dims);
    if (type.getElementType().isF32())
      return v;
    return build("TypeCast", v, b.getF32Type());
  }

  /// A dim that has more than one scale, each for more than one index.
  bool isSplit(int64_t d) {
    int64_t group = intsAttr(op, "group_shape")[d];
    return group != 1 && group != shape[d];
  }

  /// `counts` of scales, with a 1 behind where src gets a dim.
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
  Location loc;
  SmallVector<int64_t> shape;    // of src
  StringRef division = "Divide"; // what quantises
};

} // namespace

void expandQuantize(Operation *op) { Expansion(op).run(); }

namespace {

struct ExpandQuantizePass : impl::ExpandQuantizeBase<ExpandQuantizePass> {
  using ExpandQuantizeBase::ExpandQuantizeBase;
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      StringRef kind = kindOf(op);
      kind.consume_front("Dynamic");
      if (kind == "Quantize" || kind == "Dequantize")
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expandQuantize(op);
    expanded += ops.size();
  }
};

} // namespace
} // namespace tenon
