//===- LowerInt8Slices.cpp - floats as int8 slices ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The greatest magnitude of a group, times 1.004, is in [2^e, 2^(e+1)), and
//
//   q = round(x * 2^(22 - e))
//
// is at most 0x7f7f7f, which three signed bytes can hold. The lowest byte of q
// is the last slice; q + 128, shifted right by 8 bits, has the others. Scaling
// by a power of two does not round, so numbers of few bits, such as those from
// bf16 or integers, are exact.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/DequantizedPanels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// What so many signed bytes hold: up to `greatest`, below 2 * `unit`.
struct SliceRange {
  explicit SliceRange(int64_t slices) : unit(int64_t(1) << (8 * slices - 2)) {
    for (int64_t d = 0; d < slices; ++d)
      greatest = 256 * greatest + 127;
  }
  double unit; // that stands for 2^e
  double greatest = 0;
};

/// Scalars of a linalg body.
struct Scalars {
  OpBuilder &b;
  Location loc;
  SliceRange range;

  Value number(double v) const {
    return arith::ConstantOp::create(b, loc,
                                     b.getF32FloatAttr(static_cast<float>(v)));
  }
  Value integer(int64_t v) const {
    return arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(v)));
  }
  Value toF32(Value x) const {
    return x.getType().isF32()
               ? x
               : arith::ExtFOp::create(b, loc, b.getF32Type(), x).getResult();
  }

  /// 2^e / 4 of the greatest element: finite for all that are.
  Value quarterOfPower(Value greatest) const {
    constexpr double least = 0x1p-100;
    greatest = arith::MaxNumFOp::create(b, loc, greatest, number(least));
    greatest = arith::MinNumFOp::create(
        b, loc, greatest, number(std::numeric_limits<float>::max()));
    double above = 2 * range.unit / range.greatest;
    greatest = arith::MulFOp::create(b, loc, greatest, number(above / 4));
    constexpr int64_t exponent = 0x7f800000;
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), greatest);
    bits = arith::AndIOp::create(b, loc, bits, integer(exponent));
    return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
  }

  /// What `q` is multiplied by; not finite where the greatest element is not.
  Value scale(Value greatest) const {
    Value s = arith::MulFOp::create(b, loc, quarterOfPower(greatest),
                                    number(4 / range.unit));
    Value finite =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, greatest,
                              number(std::numeric_limits<float>::max()));
    return arith::SelectOp::create(b, loc, finite, s, greatest);
  }

  Value reciprocalOfScale(Value greatest) const {
    return arith::DivFOp::create(b, loc, number(range.unit / 4),
                                 quarterOfPower(greatest));
  }

  Value q(Value x, Value reciprocal) const {
    x = arith::MulFOp::create(b, loc, toF32(x), reciprocal);
    x = arith::MaxNumFOp::create(b, loc, x, number(-range.greatest));
    x = arith::MinNumFOp::create(b, loc, x, number(range.greatest));
    x = math::RoundEvenOp::create(b, loc, x);
    return arith::FPToSIOp::create(b, loc, b.getI32Type(), x);
  }

  /// Signed byte `i` of `q`, the least significant is 0: what is above it takes
  /// what it has of 128 and more.
  Value slice(Value q, int64_t i) const {
    for (; i > 0; --i) {
      q = arith::AddIOp::create(b, loc, q, integer(128));
      q = arith::ShRSIOp::create(b, loc, q, integer(8));
    }
    return arith::TruncIOp::create(b, loc, b.getI8Type(), q);
  }
};

/// One row of src.
class Slices {
public:
  Slices(IndexMath &m, tile::QuantizedWeightsAttr quantized, int64_t k)
      : m(m), quantized(quantized), groups(k / quantized.getGroup()),
        words(quantized.wordsOfSlices(quantized.getGroup())),
        range(quantized.getSlices()) {}

  /// `src` [groups, group]; `greatest` and `reciprocals` are f32 [groups];
  /// `memory`: bytes, of which the row begins with `start`.
  void emit(Value src, Value greatest, Value reciprocals, Value memory,
            Index start) const {
    using Body = llvm::function_ref<Value(Scalars, ValueRange)>;
    auto each = [&](Value in, Value out, Body body) {
      pointwise(m, in, out, [&](OpBuilder &b, Location loc, ValueRange v) {
        return body({b, loc, range}, v);
      });
    };
    fill(m, greatest, 0);
    overGroups(src, Value(), greatest, [](Scalars s, ValueRange v) -> Value {
      Value x = math::AbsFOp::create(s.b, s.loc, s.toF32(v[0]));
      return arith::MaximumFOp::create(s.b, s.loc, v[1], x);
    });
    Index firstWord = start / kWord;
    auto head = [&](Type type, int64_t word) {
      return box(m, wordsOf(m, memory, type), firstWord + word, {groups},
                 {words});
    };
    each(greatest, head(m.builder().getF32Type(), 0),
         [](Scalars s, ValueRange v) { return s.scale(v[0]); });
    each(greatest, reciprocals,
         [](Scalars s, ValueRange v) { return s.reciprocalOfScale(v[0]); });
    // The sum of a slice stands for the zero point, which kernels multiply it
    // by where it is not the same for all columns.
    int64_t zero = quantized.getZeroPoints() ? 1 : quantized.bias();
    for (int64_t d = 0; d < quantized.getSlices(); ++d) {
      int64_t below = quantized.getSlices() - 1 - d;
      Value bytes = slicesAt(memory, start, d);
      overGroups(src, reciprocals, bytes, [&](Scalars s, ValueRange v) {
        return s.slice(s.q(v[0], v[1]), below);
      });
      Value sum = head(m.builder().getI32Type(), 1 + d);
      fill(m, sum, 0);
      if (zero)
        overGroups(bytes, Value(), sum, [&](Scalars s, ValueRange v) -> Value {
          Value x = arith::ExtSIOp::create(s.b, s.loc, s.b.getI32Type(), v[0]);
          x = arith::MulIOp::create(s.b, s.loc, x, s.integer(-zero));
          return arith::AddIOp::create(s.b, s.loc, v[1], x);
        });
    }
  }

private:
  static constexpr int64_t kWord = sizeof(float);

  /// Digit `d` of all groups, [groups, group] of bytes.
  Value slicesAt(Value memory, Index start, int64_t d) const {
    int64_t group = quantized.getGroup();
    int64_t at = kWord * quantized.wordsOfSliceHead() + d * group;
    return box(m, memory, start + at, {groups, group}, {words * kWord, 1});
  }

  /// `body` of [groups, group] elements of `src`, and of `ofGroup` [groups] if
  /// given, to `out`: as many, or one of each group, which it sums up.
  void overGroups(Value src, Value ofGroup, Value out,
                  llvm::function_ref<Value(Scalars, ValueRange)> body) const {
    OpBuilder &b = m.builder();
    AffineMap all = b.getMultiDimIdentityMap(2);
    AffineMap one = AffineMap::get(2, 0, b.getAffineDimExpr(0));
    bool sums = cast<MemRefType>(out.getType()).getRank() == 1;
    SmallVector<Value> ins{src};
    SmallVector<AffineMap> maps{all};
    if (ofGroup) {
      ins.push_back(ofGroup);
      maps.push_back(one);
    }
    maps.push_back(sums ? one : all);
    linalg::GenericOp::create(
        b, m.location(), TypeRange(), ins, out, maps,
        {utils::IteratorType::parallel,
         sums ? utils::IteratorType::reduction : utils::IteratorType::parallel},
        [&](OpBuilder &nb, Location l, ValueRange args) {
          linalg::YieldOp::create(nb, l, body({nb, l, range}, args));
        });
  }

  IndexMath &m;
  tile::QuantizedWeightsAttr quantized;
  int64_t groups, words;
  SliceRange range;
};

} // namespace

LogicalResult lowerToInt8Slices(GroupContext &ctx, tile::ToInt8SlicesOp op) {
  IndexMath &m = ctx.m;
  Strided src = ctx.memoryOf(op.getSrc());
  const Strided &dst = ctx.result();
  tile::QuantizedWeightsAttr quantized = op.getQuantized();
  int64_t k = rankedType(op.getSrc()).getShape().back();
  int64_t group = quantized.getGroup(), groups = k / group;
  Grid grid;
  grid.add("row", ArrayRef(src.sizes).drop_back());
  emitItems(m, ctx.label, grid,
            2 * groups * static_cast<int64_t>(sizeof(float)),
            [&](const Grid::Item &item, Value scratch) {
              ArrayRef<Index> at = item.all("row");
              Index alongK = src.strides.back();
              Value row = box(m, src.base, offsetOf(src, at), {groups, group},
                              {group * alongK, alongK});
              auto statistics = [&](int64_t first) {
                return scratchView(m, scratch, m.builder().getF32Type(),
                                   first * 4, groups);
              };
              Slices(m, quantized, k)
                  .emit(row, statistics(0), statistics(groups), dst.base,
                        offsetOf(dst, at));
            });
  return success();
}

} // namespace tenon::passes
