//===- FormQuantizedMatMuls.cpp - products with quantised weights ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   MatMul(%x, Dequantize(%w) {scales [N]})        %w: constant bytes
//       ->  Multiply(tile.matmul(%x, pack_quantized(%w)), scales)
//   MatMul(%x, DynamicDequantize(%w, %s) {per_group, group_shape = [32, 1]})
//       ->  tile.matmul(%x, pack_quantized(%w, %s))
//
// Where the target multiplies int8 operands in fours, src becomes bytes, too:
//
//       ->  tile.matmul(tile.to_int8_slices(%x), pack_quantized(%w, scales))
//
// With few rows a product waits for its weights, and quantized weights are a
// quarter or an eighth of the bytes of f32. With many, weights are made of them
// a panel at a time, and memory is what is saved.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/TargetIsa.h"
#include "dialects/graph/GraphDialect.h"
#include "passes/Passes.h"
#include "passes/ops/Costs.h"
#include "passes/ops/Packing.h"
#include "passes/ops/Quantised.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_FORMQUANTIZEDMATMULS
#include "passes/Passes.h.inc"

namespace {

/// Fewer stay in the cache as f32.
constexpr int64_t kMinWeights = 1 << 16;
/// Int8 slices of an element of src: 23 bits of the greatest of a group, or 15,
/// where elements have 8, or may be rounded to 11.
constexpr int64_t kSlices = 3, kSlicesOfNarrow = 2;
/// Elements that share an exponent: of more, few have many bits; with less,
/// scales take as long as products.
constexpr int64_t kMinSliceGroup = 16, kMaxSliceGroup = 256;
constexpr int64_t kUnknownRows = std::numeric_limits<int64_t>::max();

class QuantizedMatMul {
public:
  QuantizedMatMul(Operation *op, const microkernel::VectorIsa &vectors,
                  bool multipliesInt8)
      : op(op), vectors(vectors), multipliesInt8(multipliesInt8), b(op),
        loc(op->getLoc()), type(rankedType(op->getOperand(1))) {}

  /// Whether the weights are constants that are dequantised.
  bool find() {
    weights = traceQuantised(op->getOperand(1));
    if (!weights.dequantize ||
        !isa<FloatType>(rankedType(op->getOperand(0)).getElementType()))
      return false;
    return llvm::all_of(weights.dequantize->getOperands(), isKnownOnce);
  }

  /// Why they become f32; empty: they need not.
  std::string explainRefusal() {
    if (type.getRank() != 2 || !type.hasStaticShape())
      return "the weights are not one matrix of known size";
    if (ShapedType::isDynamic(rankedType(op->getOperand(0)).getShape().back()))
      return "the last dimension of src is unknown";
    if (!weights.axisBehind(0) ||
        !(element().isInteger(8) && isa<IntegerType>(element())))
      return "the weights are not a matrix of integers, as it is or transposed";
    if (k() * n() < kMinWeights)
      return "there are only " + std::to_string(k() * n()) +
             " weights, of the " + std::to_string(kMinWeights) +
             " from which fewer bytes pay";
    if (std::string reason = findGroups(); !reason.empty())
      return reason;
    if (!quantized().divides(k()))
      return "K is no multiple of the quantization group, or odd with 4 bits";
    return weights.hasZeroPoint() ? findZeroPoints() : "";
  }

  void form() {
    auto dst = rankedType(op->getResult(0));
    if (int64_t sliceGroup = groupOfSlices())
      repeatScales(sliceGroup);
    else if (group)
      scales = weights.viewed(b, givenScales());
    tell();
    Value src = op->getOperand(0);
    if (slices)
      src = tile::ToInt8SlicesOp::create(b, loc, src, quantized());
    // Dequantized weights are f32.
    else if (rowsOfMatrix(dst, type).value_or(kUnknownRows) > kMaxQuantizedRows)
      src = buildCast(b, loc, src, b.getF32Type());
    int64_t lanes = vectors.lanes(/*elementBits=*/32);
    int64_t vectors = ceilDiv(n(), lanes);
    int64_t wide =
        slices ? microkernel::kSlicesVectors : microkernel::kQuantizedVectors;
    int64_t panel = std::min(wide, vectors) * lanes;
    Value packed = tile::PackQuantizedOp::create(
        b, loc, weights.viewed(b), scales, zeroPoints, panel, quantized());
    auto sumType = RankedTensorType::get(dst.getShape(), b.getF32Type());
    Value sum =
        tile::MatMulOp::create(b, loc, sumType, src, packed,
                               b.getI64IntegerAttr(1), UnitAttr(), quantized());
    if (!group)
      sum = buildBinary(b, loc, "Multiply", sum, scaleOfSum());
    op->getResult(0).replaceAllUsesWith(
        buildImplicitCast(b, loc, sum, dst.getElementType()));
    op->erase();
  }

private:
  void tell() {
    InFlightDiagnostic remark =
        op->emitRemark("weights stay quantized to ")
        << weights.bits() << " bits: " << quantized().rows(k()) * n()
        << " bytes of memory, as f32 " << k() * n() * sizeof(float);
    if (slices)
      remark << "; int8 products, " << slices << " for each element of src";
  }

  int64_t k() const { return type.getDimSize(0); }
  int64_t n() const { return type.getDimSize(1); }
  Type element() const { return rankedType(weights.bytes()).getElementType(); }

  tile::QuantizedWeightsAttr quantized() const {
    return tile::QuantizedWeightsAttr::get(op->getContext(), weights.bits(),
                                           element().isSignedInteger(), group,
                                           weights.hasZeroPoint(), slices);
  }

  /// Elements of K that share an exponent where src becomes int8 slices; 0: it
  /// does not.
  int64_t groupOfSlices() const {
    int64_t whole = group ? group : k();
    int64_t step = 4 * quantized().perRow();
    if (!multipliesInt8 || !zeroPointsLoseTheirSign())
      return 0;
    int64_t size = std::min(whole, kMaxSliceGroup) / step * step;
    while (size >= kMinSliceGroup && whole % size)
      size -= step;
    return size >= kMinSliceGroup ? size : 0;
  }

  /// Those of 4 bits become 8 more, and a byte may be less than -8.
  bool zeroPointsLoseTheirSign() const {
    return !weights.hasZeroPoint() || weights.bits() == 8 ||
           !element().isSignedInteger() ||
           (weights.isDynamic() &&
            bitsOf(weights.dequantize->getOperand(2)) == weights.bits());
  }

  bool roundsTo11Bits() const {
    auto mode = op->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(
        graph::kFpmathAttr);
    return mode && mode != "strict";
  }

  /// Groups of `size`, all of which have scales, and zero points.
  void repeatScales(int64_t size) {
    int64_t times = (group ? group : k()) / size;
    scales =
        repeat(group ? weights.viewed(b, givenScales()) : scaleOfSum(), times);
    if (zeroPoints)
      zeroPoints = repeat(zeroPoints, times);
    group = size;
    bool hasFewBits = rankedType(op->getOperand(0)).getElementType().isBF16();
    slices = hasFewBits || roundsTo11Bits() ? kSlicesOfNarrow : kSlices;
  }

  /// Each row of `v`, [rows, columns] or one row or element, so many times:
  /// [rows * times, N].
  Value repeat(Value v, int64_t times) {
    auto from = rankedType(v);
    int64_t columns = from.getRank() ? from.getShape().back() : 1;
    int64_t rows = from.getRank() == 2 ? from.getDimSize(0) : 1;
    if (times == 1 && columns == n() && from.getRank() == 2)
      return v;
    Type element = from.getElementType();
    v = buildReshape(b, loc, v, {rows, 1, columns});
    v = buildCast(b, loc, v, b.getF32Type());
    auto shape = RankedTensorType::get({1, times, n()}, b.getF32Type());
    Value ones =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shape, 1.0f));
    v = buildBinary(b, loc, "Multiply", v, ones);
    v = buildReshape(b, loc, v, {rows * times, n()});
    return buildCast(b, loc, v, element);
  }

  /// Which weights share a scale: all, those of a column, or of a group of K.
  std::string findGroups() {
    std::string qtype = stringAttr(weights.dequantize, "qtype");
    if (qtype == "per_group") {
      SmallVector<int64_t> shape = intsAttr(weights.dequantize, "group_shape");
      int64_t alongK = shape[*weights.axisBehind(0) == 0 ? 0 : 1],
              alongN = shape[*weights.axisBehind(0) == 0 ? 1 : 0];
      if (alongN != 1)
        return "several columns of weights share a scale";
      perColumn = true;
      group = alongK == k() ? 0 : alongK;
      return "";
    }
    if (weights.scaleCount() == 1)
      return "";
    auto axis = weights.axisBehind(
        normalizedAxis(intAttr(weights.dequantize, "axis", 1), 2));
    perColumn = qtype == "per_channel" && axis == 1;
    return perColumn ? "" : "there is not one scale per column of the weights";
  }

  /// One for each column and group, as bytes.
  std::string findZeroPoints() {
    if (!weights.isDynamic()) {
      SmallVector<int64_t> zps = intsAttr(weights.dequantize, "zps");
      bool isSigned = element().isSignedInteger();
      if (llvm::any_of(zps, [&](int64_t z) {
            return isSigned ? z < -128 || z > 127 : z < 0 || z > 255;
          }))
        return "a zero point does not fit the 8 bits of the weights";
      zps.resize(n(), zps.front());
      SmallVector<APInt> bytes;
      for (int64_t z : zps)
        bytes.push_back(APInt(8, z, isSigned));
      auto literal = RankedTensorType::get({1, n()}, element());
      zeroPoints = arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(literal, bytes));
      return "";
    }
    Value v = weights.dequantize->getOperand(2);
    if (rankedType(v).getElementType() != element())
      return "zero points have another type than the weights";
    if (!perColumn && n() != 1)
      return "one zero point that is computed applies to all columns, where "
             "each column needs its own";
    if (stringAttr(weights.dequantize, "qtype") == "per_group")
      zeroPoints = weights.viewed(b, v);
    else
      zeroPoints = buildReshape(b, loc, v, {1, n()});
    return "";
  }

  /// What multiplies the sum: of all columns, or of each.
  Value scaleOfSum() {
    SmallVector<int64_t> shape;
    if (perColumn)
      shape.push_back(n());
    auto scaleType = RankedTensorType::get(shape, b.getF32Type());
    if (!weights.isDynamic())
      return arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(scaleType, weights.scales()));
    return parameterInF32(b, loc, weights.dequantize->getOperand(1), shape);
  }

  /// The operand of scales in f32, of whatever type it is.
  Value givenScales() {
    return buildCast(b, loc, weights.dequantize->getOperand(1), b.getF32Type());
  }

  Operation *op;
  const microkernel::VectorIsa &vectors;
  bool multipliesInt8; // in fours
  OpBuilder b;
  Location loc;
  RankedTensorType type; // [K, N]
  Quantised weights;
  int64_t group = 0; // elements of K that share a scale; 0: all
  int64_t slices = 0;
  bool perColumn = false;
  Value scales; // of groups
  Value zeroPoints;
};

struct FormQuantizedMatMulsPass
    : impl::FormQuantizedMatMulsBase<FormQuantizedMatMulsPass> {
  using FormQuantizedMatMulsBase::FormQuantizedMatMulsBase;
  void runOnOperation() override {
    tile::TargetAttr target = tile::targetOf(getOperation());
    microkernel::VectorIsa vectors = microkernel::isaOf(target);
    SmallVector<Operation *> ops;
    getOperation().walk([&](graph::MatMulOp op) { ops.push_back(op); });
    for (Operation *op : ops) {
      QuantizedMatMul product(op, vectors,
                              /*multipliesInt8=*/target.getInt8DotWidth() ==
                                  kFullInt8DotWidth);
      if (!product.find())
        continue;
      if (std::string reason = product.explainRefusal(); !reason.empty()) {
        op->emitRemark("quantised weights become f32: " + reason);
        continue;
      }
      product.form();
      ++formed;
    }
    eraseDeadOps(getOperation()); // what dequantised for them alone
  }
};

} // namespace
} // namespace tenon::passes
