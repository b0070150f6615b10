//===- Quantised.cpp - operands of products that are dequantised ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/Quantised.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "passes/ops/Packing.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

using namespace mlir;

namespace tenon::passes {

/// Rows for which weights of u8 are made s8 in each execution
/// (docs/cost-model.md).
static constexpr int64_t kFewRows = 16, kFewRowsOfInt16 = 64;

unsigned bitsOf(Value bytes) {
  Operation *def = bytes.getDefiningOp();
  auto attr = def ? def->getAttrOfType<IntegerAttr>(kBitsAttr) : IntegerAttr();
  return attr ? attr.getInt() : 8;
}

bool Quantised::isDynamic() const {
  return isa<graph::DynamicDequantizeOp>(dequantize);
}

bool Quantised::hasZeroPoint() const {
  if (isDynamic())
    return dequantize->getNumOperands() > 2;
  return llvm::any_of(intsAttr(dequantize, "zps"),
                      [](int64_t z) { return z != 0; });
}

std::optional<int64_t> Quantised::zeroPoint() const {
  if (isDynamic())
    return hasZeroPoint() ? std::nullopt : std::optional<int64_t>(0);
  SmallVector<int64_t> zps = intsAttr(dequantize, "zps");
  if (zps.empty())
    return 0;
  return llvm::all_equal(zps) ? std::optional(zps.front()) : std::nullopt;
}

ArrayRef<float> Quantised::scales() const {
  return dequantize->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef();
}

int64_t Quantised::scaleCount() const {
  if (!isDynamic())
    return scales().size();
  auto type = rankedType(dequantize->getOperand(1));
  return type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
}

Value Quantised::viewed(OpBuilder &b, Value v) const {
  for (Operation *view : llvm::reverse(views)) {
    auto shape = rankedType(view->getResult(0)).getShape();
    Order order = orderOf(view->getResult(0));
    v = order.empty() ? buildReshape(b, view->getLoc(), v, shape)
                      : buildTranspose(b, view->getLoc(), v, order);
  }
  return v;
}

std::optional<int64_t> Quantised::axisBehind(int64_t axis) const {
  for (Operation *view : llvm::reverse(views)) {
    Order order = orderOf(view->getResult(0));
    if (order.empty()) // a reshape
      return std::nullopt;
    axis = llvm::find(order, axis) - order.begin();
  }
  return axis;
}

Value parameterInF32(OpBuilder &b, Location loc, Value v,
                     ArrayRef<int64_t> dims) {
  auto type = rankedType(v);
  if (isa<Float8E8M0FNUType>(type.getElementType()))
    v = buildCast(b, loc, v, b.getF32Type());
  if (type.getShape() != dims)
    v = buildReshape(b, loc, v, dims);
  return buildCast(b, loc, v, b.getF32Type());
}

bool widensToInt16(Operation *product, int64_t int8DotWidth) {
  // Few channels are joined with taps, which bytes fill better.
  constexpr int64_t kWords = 2, kMinChannels = 16;
  auto type = rankedType(product->getOperand(1));
  return int8DotWidth == kWords &&
         type.getDimSize(type.getRank() - 2) >= kMinChannels &&
         widensOften(product);
}

std::string whyNoInt8Product(Operation *product, const Quantised &src,
                             const Quantised &weights, int64_t int8DotWidth) {
  bool isMatMul = isa<graph::MatMulOp>(product);
  auto element = [](const Quantised &q) {
    return rankedType(q.bytes()).getElementType();
  };
  bool isSigned = element(weights).isSignedInteger(8);
  if (!element(src).isInteger(8) || !element(weights).isInteger(8))
    return "only int8 times int8 is an int8 product";
  if (src.scaleCount() != 1)
    return "src has a scale per channel";
  if (!isMatMul && weights.hasZeroPoint())
    return "the weights have a zero point";
  if (!isMatMul && !isSigned)
    return "a convolution multiplies u8 or s8 by s8 only, and its weights are "
           "u8";
  if (!weights.zeroPoint())
    return "the zero points of the weights are a tensor, or differ";
  if ((!isSigned || weights.hasZeroPoint()) && !src.zeroPoint())
    return "the weights have a zero point, that of src is not known";
  auto dst = rankedType(product->getResult(0));
  int64_t few = int8DotWidth >= kFullInt8DotWidth ? kFewRows : kFewRowsOfInt16;
  int64_t rows = isMatMul ? dst.getDimSize(dst.getRank() - 2) : few;
  if (!isSigned && !isKnownOnce(weights.bytes()) &&
      !ShapedType::isDynamic(rows) && rows < few)
    return "the weights are u8 and change with each execution, and only " +
           std::to_string(rows) + " rows, fewer than " + std::to_string(few) +
           ", are multiplied by them";
  return "";
}

Quantised traceQuantised(Value v) {
  Quantised q;
  Operation *def = v.getDefiningOp();
  for (; def; def = def->getOperand(0).getDefiningOp()) {
    if (graph::isView(def)) {
      q.views.push_back(def);
      continue;
    }
    bool casts =
        graph::isCast(def) &&
        isa<FloatType>(rankedType(def->getOperand(0)).getElementType());
    if (!casts)
      break;
  }
  if (!isa_and_nonnull<graph::DequantizeOp, graph::DynamicDequantizeOp>(def))
    return q;
  q.dequantize = def;
  return q;
}

} // namespace tenon::passes
