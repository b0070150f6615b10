//===- Attention.cpp - verifiers of attention and its gradients -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/support/Rounding.h"
#include "dialects/tile/TileDialect.h"
#include "dialects/tile/Verify.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tenon::tile;

static RankedTensorType typeOf(Value v) {
  return cast<RankedTensorType>(v.getType());
}

/// Size `i` of `type`, counted from its end (0: the last).
static int64_t fromEnd(RankedTensorType type, int64_t i) {
  return type.getDimSize(type.getRank() - 1 - i);
}

int64_t AttentionOp::getNumKeys() {
  if (getInterleave() != 1)
    return getKeys().value_or(ShapedType::kDynamic);
  return getFromLeft() ? fromEnd(typeOf(getDst()), 0)
                       : fromEnd(typeOf(getV()), 1);
}

SmallVector<int64_t> AttentionOp::getScoreShape() {
  SmallVector<int64_t> shape(typeOf(getDst()).getShape().drop_back(2));
  shape.append({fromEnd(typeOf(getQ()), 1), getNumKeys()});
  return shape;
}

static bool same(int64_t x, int64_t y) {
  return ShapedType::isDynamic(x) || ShapedType::isDynamic(y) || x == y;
}

/// Whether `shape` broadcasts to `to`, both aligned at their ends.
static bool broadcasts(ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  if (shape.size() > to.size())
    return false;
  to = to.take_back(shape.size());
  for (auto [x, y] : llvm::zip(shape, to))
    if (x != 1 && !same(x, y))
      return false;
  return true;
}

/// Panels of so many columns, or groups of so many rows, in `n`.
static int64_t parts(int64_t n, int64_t size) {
  return ShapedType::isDynamic(n) ? n : tenon::ceilDiv(n, size);
}

/// `type` [.., P, ceil(rows / v), panel, v] as if its rows and columns were
/// [.., rows, columns]; null if it is not that.
static RankedTensorType unpacked(RankedTensorType type, int64_t rows,
                                 int64_t columns, int64_t v) {
  auto shape = type.getShape();
  if (shape.size() < 4 || shape.back() != v)
    return {};
  auto tail = shape.take_back(4);
  if (tail[2] < 1 || tail[1] != parts(rows, v) ||
      tail[0] != parts(columns, tail[2]))
    return {};
  SmallVector<int64_t> plain(shape.drop_back(4));
  plain.append({rows, columns});
  return RankedTensorType::get(plain, type.getElementType());
}

LogicalResult AttentionOp::verify() {
  RankedTensorType q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV()),
                   dst = typeOf(getDst());
  if (getInterleave() != 1) {
    if (getInterleave() < 1 || !getPacked() || getFromLeft())
      return emitOpError("with interleave needs packed, and no from_left");
    auto plainK =
        unpacked(k, q.getShape().back(), getNumKeys(), getInterleave());
    auto plainV =
        unpacked(v, getNumKeys(), dst.getShape().back(), getInterleave());
    if (!plainK || !plainV) {
      InFlightDiagnostic error = emitOpError("k and v are not packed for ");
      if (getKeys())
        error << *getKeys();
      else
        error << "an unknown number of";
      return error << " keys and dst " << dst << ", found " << k << " and "
                   << v;
    }
    k = plainK;
    v = plainV;
  }
  int64_t extra = getPacked() && getInterleave() == 1 ? 1 : 0;
  if (q.getRank() < 2 || k.getRank() < 2 + extra || v.getRank() < 2 ||
      dst.getRank() < 2)
    return emitOpError("q, k, v and dst have ranks ")
           << q.getRank() << ", " << k.getRank() << ", " << v.getRank() << ", "
           << dst.getRank() << "; at least 2, and 3 for packed k, are needed";
  Type element = q.getElementType();
  for (RankedTensorType type : {q, k, v, dst})
    if (type.getElementType() != element ||
        !(element.isF32() || element.isBF16() || element.isF16()))
      return emitOpError("q, k, v and dst are all f32, bf16 or f16, found ")
             << type;
  int64_t kDepth = fromEnd(k, 1);
  if (!same(fromEnd(q, 0), kDepth))
    return emitOpError("q sums over ")
           << fromEnd(q, 0) << " elements, k over " << kDepth;
  if (extra && fromEnd(k, 0) < 1)
    return emitOpError("the panel of packed k is at least 1, k is ") << k;
  int64_t n = getNumKeys();
  bool fits = extra ? same(fromEnd(k, 2), parts(n, fromEnd(k, 0)))
                    : same(fromEnd(k, 0), n);
  if (!fits)
    return emitOpError(getFromLeft() ? "dst has " : "v has ")
           << n << " keys, k is " << k;
  if (ShapedType::isDynamic(n) && (getFromLeft() || getNormalized()))
    return emitOpError("from_left and normalized need a known number of keys");
  // [M, E], or [E, N] from v [E, M].
  int64_t dstRows = fromEnd(getFromLeft() ? v : q, 1);
  int64_t dstColumns = getFromLeft() ? n : fromEnd(v, 0);
  if (!same(fromEnd(dst, 1), dstRows) || !same(fromEnd(dst, 0), dstColumns))
    return emitOpError("dst is ") << dst << ", q and v give [.., " << dstRows
                                  << ", " << dstColumns << "]";
  if (getFromLeft() && !same(fromEnd(v, 0), fromEnd(q, 1)))
    return emitOpError("q has ")
           << fromEnd(q, 1) << " rows, v has " << fromEnd(v, 0) << " columns";
  ArrayRef<int64_t> lead = dst.getShape().drop_back(2);
  if (!broadcasts(q.getShape().drop_back(2), lead) ||
      !broadcasts(k.getShape().drop_back(2 + extra), lead) ||
      !broadcasts(v.getShape().drop_back(2), lead))
    return emitOpError("leading dimensions do not broadcast to those of dst");
  SmallVector<int64_t> scores = getScoreShape();
  for (Value operand : getEpilogueOperands())
    if (!broadcasts(typeOf(operand).getShape(), scores))
      return emitOpError("epilogue operand ")
             << operand.getType() << " does not broadcast to the scores";
  if (getStats()) {
    SmallVector<int64_t> shape = scores;
    shape.back() = 1;
    auto expected =
        RankedTensorType::get(shape, Float32Type::get(getContext()));
    if (getStats().getType() != expected)
      return emitOpError("stats is ")
             << getStats().getType() << ", expected " << expected;
  }
  return success();
}

namespace {

/// What the regions of both operations on attention have in common.
class RegionVerifier {
public:
  RegionVerifier(Operation *op, ValueRange epilogueOperands)
      : op(op), epilogueOperands(epilogueOperands) {}

  /// Checks that `block`, the region `name`, is elementwise. It takes
  /// `expected`, described by `first`, and then the epilogue operands; it
  /// yields `results` values of f32.
  LogicalResult verify(Block &block, StringRef name, StringRef first,
                       SmallVector<Type> expected, unsigned results = 1) {
    for (Value operand : epilogueOperands)
      expected.push_back(storage(typeOf(operand).getElementType()));
    if (block.getArgumentTypes() != TypeRange(expected))
      return op->emitOpError() << name << " arguments must be (" << first
                               << ", epilogue operands..) of types " << expected
                               << ", are " << block.getArgumentTypes();
    bool any = false;
    for (Operation &inner : block.without_terminator())
      verifyScalarOp(inner, name, [&] {
        any = true;
        return op->emitOpError();
      });
    auto yield = dyn_cast<YieldOp>(block.getTerminator());
    if (!yield || yield.getValues().size() != results ||
        !llvm::all_of(yield.getValues().getTypes(),
                      [](Type type) { return type.isF32(); }))
      return op->emitOpError()
             << name << " must end in tile.yield of "
             << (results == 1 ? std::string("an f32")
                              : std::to_string(results) + " values of f32");
    return failure(any);
  }

private:
  /// The type of an element of `element` in registers.
  static Type storage(Type element) {
    auto integer = dyn_cast<IntegerType>(element);
    if (!integer)
      return element;
    return IntegerType::get(element.getContext(),
                            integer.getWidth() == 1 ? 8 : integer.getWidth());
  }

  Operation *op;
  ValueRange epilogueOperands;
};

} // namespace

LogicalResult AttentionOp::verifyRegions() {
  Builder b(getContext());
  RegionVerifier verifier(*this, getEpilogueOperands());
  Type f32 = b.getF32Type(), index = b.getIndexType();
  if (failed(verifier.verify(getScore().front(), "score", "product, m, n",
                             {f32, index, index})))
    return failure();
  if (hasWeights() &&
      failed(verifier.verify(getWeights().front(), "weights", "weight, element",
                             {f32, b.getI64Type()})))
    return failure();
  if (getNormalized() && (!hasWeights() || getFromLeft()))
    return emitOpError("normalized needs weights, and rows to divide: not "
                       "with from_left");
  return success();
}

SmallVector<int64_t> AttentionBackwardOp::getScoreShape() {
  SmallVector<int64_t> shape(typeOf(getQ()).getShape().drop_back());
  shape.push_back(fromEnd(typeOf(getK()), 1));
  return shape;
}

LogicalResult AttentionBackwardOp::verify() {
  RankedTensorType q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV()),
                   diff = typeOf(getDiff());
  Type element = q.getElementType();
  for (RankedTensorType type : {q, k, v, diff}) {
    if (type.getRank() != q.getRank() || type.getRank() < 2)
      return emitOpError("q, k, v and diff have the same rank, at least 2; "
                         "found ")
             << type << " beside " << q;
    if (type.getElementType() != element ||
        !(element.isF32() || element.isBF16() || element.isF16()))
      return emitOpError("q, k, v and diff are all f32, bf16 or f16, found ")
             << type;
  }
  struct Sizes {
    StringRef what;
    int64_t x, y;
  };
  for (const Sizes &each :
       {Sizes{"elements of q and k", fromEnd(q, 0), fromEnd(k, 0)},
        Sizes{"elements of v and diff", fromEnd(v, 0), fromEnd(diff, 0)},
        Sizes{"rows of q and diff", fromEnd(q, 1), fromEnd(diff, 1)},
        Sizes{"rows of k and v", fromEnd(k, 1), fromEnd(v, 1)}})
    if (!same(each.x, each.y))
      return emitOpError("the numbers of ")
             << each.what << " differ: " << each.x << " and " << each.y;
  ArrayRef<int64_t> lead = q.getShape().drop_back(2);
  for (int64_t d = 0, e = lead.size(); d < e; ++d) {
    if (!same(lead[d], diff.getDimSize(d)))
      return emitOpError("leading dimensions of q and diff differ: ")
             << q << " and " << diff;
    if (k.getDimSize(d) != v.getDimSize(d) ||
        (k.getDimSize(d) != 1 && !same(k.getDimSize(d), lead[d])))
      return emitOpError("leading dimensions of k and v are those of q, or 1: ")
             << k << ", " << v << " and " << q;
  }
  SmallVector<int64_t> scores = getScoreShape();
  for (Value operand : getEpilogueOperands())
    if (!broadcasts(typeOf(operand).getShape(), scores))
      return emitOpError("epilogue operand ")
             << operand.getType() << " does not broadcast to the scores";
  return success();
}

LogicalResult AttentionBackwardOp::verifyRegions() {
  Builder b(getContext());
  Type f32 = b.getF32Type(), index = b.getIndexType();
  constexpr unsigned kResults = 2; // w and t
  return RegionVerifier(*this, getEpilogueOperands())
      .verify(getGradient().front(), "gradient", "s, u, m, n, element",
              {f32, f32, index, index, b.getI64Type()}, kResults);
}
