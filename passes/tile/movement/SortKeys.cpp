// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/movement/Search.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::passes {

namespace {

Value integer(OpBuilder &b, Location loc, Type type, int64_t v) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
}

Value compare(OpBuilder &b, Location loc, arith::CmpIPredicate predicate,
              Value x, Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}

/// An i32 in the order of the f32 `x`: NaN last, and one for both zeros.
Value orderOf(OpBuilder &b, Location loc, Value x) {
  Type i32 = b.getI32Type();
  auto c = [&](int64_t v) { return integer(b, loc, i32, v); };
  constexpr int64_t kAllButSign = 0x7fffffff, kInfinity = 0x7f800000;
  using P = arith::CmpIPredicate;
  Value bits = arith::BitcastOp::create(b, loc, i32, x);
  Value size = arith::AndIOp::create(b, loc, bits, c(kAllButSign));
  // Of negative numbers larger bits are less.
  Value sign = arith::ShRSIOp::create(b, loc, bits, c(31));
  Value flipped = arith::AndIOp::create(b, loc, sign, c(kAllButSign));
  Value order = arith::XOrIOp::create(b, loc, bits, flipped);
  order = arith::SelectOp::create(b, loc, compare(b, loc, P::eq, size, c(0)),
                                  size, order);
  Value isNaN = compare(b, loc, P::ugt, size, c(kInfinity));
  return arith::SelectOp::create(b, loc, isNaN, c(kAllButSign), order);
}

} // namespace

SortKeys::SortKeys(IndexMath &m, Type element, bool largest)
    : m(m), element(element), largest(largest) {
  unsigned bits = storageType(element).getIntOrFloatBitWidth();
  bytes = bits > 32 ? 16 : 8;
  type = m.builder().getIntegerType(bytes * 8);
}

Value SortKeys::view(Value scratch, Index byteOffset, Index count) const {
  return scratchView(m, scratch, type, byteOffset, count);
}

Value SortKeys::keyOf(OpBuilder &b, Location loc, Value value,
                      Value number) const {
  Value order = value;
  if (isa<FloatType>(element))
    order = orderOf(b, loc, value);
  Type half = b.getIntegerType(bytes * 4);
  order = convertScalar(b, loc, order, half, !element.isUnsignedInteger());
  if (largest)
    order = arith::XOrIOp::create(b, loc, order, integer(b, loc, half, -1));
  Value upper = arith::ExtSIOp::create(b, loc, type, order);
  upper =
      arith::ShLIOp::create(b, loc, upper, integer(b, loc, type, bytes * 4));
  Value lower = arith::IndexCastOp::create(b, loc, half, number);
  lower = arith::ExtUIOp::create(b, loc, type, lower);
  return arith::OrIOp::create(b, loc, upper, lower);
}

Index SortKeys::numberOf(Value key) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Type half = b.getIntegerType(bytes * 4);
  Value lower = arith::TruncIOp::create(b, loc, half, key);
  return m(arith::IndexCastUIOp::create(b, loc, b.getIndexType(), lower));
}

Value SortKeys::last() const {
  return arith::ConstantOp::create(
      m.builder(), m.location(),
      IntegerAttr::get(type, APInt::getSignedMaxValue(bytes * 8)));
}

Value SortKeys::isBefore(Value x, Value y) const {
  return compare(m.builder(), m.location(), arith::CmpIPredicate::slt, x, y);
}

Value SortKeys::isLast(Value key) const {
  return compare(m.builder(), m.location(), arith::CmpIPredicate::eq, key,
                 last());
}

void SortKeys::fill(Value line, Value keys) const {
  pointwise(m, line, keys, [&](OpBuilder &nb, Location loc, ValueRange x) {
    Value number = linalg::IndexOp::create(nb, loc, 0);
    return keyOf(nb, loc, x[0], number);
  });
}

/// The binary logarithm of `count`, rounded up.
static Index passesOf(IndexMath &m, Index count) {
  if (auto known = count.constant())
    return *known < 2 ? 0 : llvm::Log2_64_Ceil(*known);
  OpBuilder &b = m.builder();
  Value rest = m.value(max(count, 1) - 1);
  Value zeros = math::CountLeadingZerosOp::create(b, m.location(), rest);
  return Index(64) - m(zeros);
}

/// A merge sort from the bottom: pass by pass, runs of twice the length are
/// made of pairs of runs, from one half of `keys` to the other.
Index SortKeys::sort(Value keys, Index count) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  Index passes = passesOf(m, count);
  auto load = [&](Index from, Value i) -> Value {
    return memref::LoadOp::create(b, loc, keys, m.value(from + m(i)));
  };
  using P = arith::CmpIPredicate;
  Value one = m.value(1);
  emitLoop(m, 0, passes, [&](Index pass) {
    Index from = pass % 2 * count, to = count - from;
    Index length = m(arith::ShLIOp::create(b, loc, one, m.value(pass)));
    emitLoop(m, 0, ceilDiv(count, length * 2), [&](Index pair) {
      Index begin = pair * length * 2, middle = min(begin + length, count),
            end = min(middle + length, count);
      Value left = m.value(middle), right = m.value(end);
      emitCarried(
          m, begin, end, {m.value(begin), left},
          [&](Index place, ValueRange x) {
            // What lies behind a run is read and not taken.
            Value u = load(from, x[0]), v = load(from, x[1]);
            Value isLeft = arith::OrIOp::create(
                b, loc, compare(b, loc, P::sge, x[1], right), isBefore(u, v));
            isLeft = arith::AndIOp::create(
                b, loc, compare(b, loc, P::slt, x[0], left), isLeft);
            Value key = arith::SelectOp::create(b, loc, isLeft, u, v);
            memref::StoreOp::create(b, loc, key, keys, m.value(to + place));
            Value step =
                arith::IndexCastUIOp::create(b, loc, b.getIndexType(), isLeft);
            return SmallVector<Value>{
                arith::AddIOp::create(b, loc, x[0], step),
                arith::AddIOp::create(
                    b, loc, x[1], arith::SubIOp::create(b, loc, one, step))};
          });
    });
  });
  return passes % 2 * count;
}

} // namespace tenon::passes
