//===- InterpolationTaps.cpp - what resampling reads ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Coordinates and weights are computed in f64, in the order of the reference
// evaluator, so that weights are 0 in both or in none.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/windows/InterpolationTaps.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// Writes code along one dim.
struct Sampler {
  IndexMath &m;
  const Sampling &sampling;
  const SizedDim &dim;
  OpBuilder &b = m.builder();
  Location loc = m.location();

  Value c(double v) {
    return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(v));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value real(Index x) {
    if (auto known = x.constant())
      return c(static_cast<double>(*known));
    Value n = arith::IndexCastOp::create(b, loc, b.getI64Type(), x.dynamic());
    return arith::SIToFPOp::create(b, loc, b.getF64Type(), n);
  }
  /// `x` where dst has one element, otherwise `y`.
  Value ifSingle(Value x, llvm::function_ref<Value()> y) {
    if (auto known = dim.out.constant())
      return *known > 1 ? y() : x;
    Value isSingle =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle,
                              dim.out.dynamic(), m.value(Index(1)));
    return select(isSingle, x, y());
  }
  Value floor(Value x) { return math::FloorOp::create(b, loc, x); }
  Value narrow(Value x) {
    return arith::TruncFOp::create(b, loc, b.getF32Type(), x);
  }
  Value isLess(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }

  /// AVX2 converts vectors of 32-bit integers only.
  Type integer() {
    auto most = max(dim.in, dim.out).constant();
    bool narrow = most && *most <= std::numeric_limits<int32_t>::max();
    return narrow ? b.getI32Type() : b.getI64Type();
  }
  Value last() { return real(dim.in - 1); }

  /// The element nearest to `v` that src has.
  Index clamped(Value v) {
    Value low = arith::MaxNumFOp::create(b, loc, v, c(0));
    Value x = arith::MinNumFOp::create(b, loc, low, last());
    Value i = arith::FPToSIOp::create(b, loc, integer(), x);
    return m(arith::IndexCastOp::create(b, loc, b.getIndexType(), i));
  }

  /// (p + shift) / scale; by a given scale in f32.
  Value scaled(Value p, double shift) {
    if (!dim.facts.scale)
      return ratio(shift == 0 ? p : add(p, c(shift)), dim.in, dim.out);
    auto f32 = [&](double v) -> Value {
      return arith::ConstantOp::create(
          b, loc, b.getF32FloatAttr(static_cast<float>(v)));
    };
    Value x = div(add(narrow(p), f32(shift)), f32(*dim.facts.scale));
    return arith::ExtFOp::create(b, loc, b.getF64Type(), x);
  }
  Value ratio(Value v, Index over, Index under) {
    return div(mul(v, real(over)), real(under));
  }

  Value coordinate(Index at) {
    Value p = arith::IndexCastOp::create(b, loc, integer(), m.value(at));
    p = arith::SIToFPOp::create(b, loc, b.getF64Type(), p);
    StringRef mode = sampling.coordinates;
    if (mode == "align_corners")
      return ifSingle(c(0), [&] { return ratio(p, dim.in - 1, dim.out - 1); });
    if (mode == "asymmetric")
      return scaled(p, 0);
    if (mode == "tf_half_pixel_for_nn")
      return scaled(p, 0.5);
    auto half = [&] { return sub(scaled(p, 0.5), c(0.5)); };
    if (mode == "pytorch_half_pixel")
      return ifSingle(c(0), half);
    if (mode != "half_pixel_symmetric" || !dim.facts.scale)
      return half();
    // size / 2 * (1 - out / (size * scale))
    Value size = real(dim.in);
    Value part =
        div(real(dim.out), mul(size, c(static_cast<double>(*dim.facts.scale))));
    return add(half(), mul(div(size, c(2)), sub(c(1), part)));
  }

  /// The nearest element, but for a fraction, which conversion to an integer
  /// drops after negative numbers have become 0.
  Value nearest(Value x) {
    StringRef mode = sampling.nearestMode;
    if (mode == "floor")
      return x;
    if (mode == "ceil")
      return math::CeilOp::create(b, loc, x);
    if (mode == "round_prefer_floor")
      return math::CeilOp::create(b, loc, sub(x, c(0.5)));
    // Halves go up: negative coordinates, where that is not away from zero,
    // are clamped to 0 in any case.
    return add(x, c(0.5));
  }

  /// The weight of an element at distance `t`, in units of the filter.
  Value weight(Value t) {
    t = math::AbsFOp::create(b, loc, t);
    if (sampling.mode != Sampling::Mode::cubic)
      return arith::MaxNumFOp::create(b, loc, sub(c(1), t), c(0));
    double a = sampling.cubicCoeff;
    Value inner = sub(mul(c(a + 2), t), c(a + 3));
    inner = add(mul(mul(inner, t), t), c(1));
    Value outer = sub(mul(c(a), t), c(5 * a));
    outer = add(mul(outer, t), c(8 * a));
    outer = sub(mul(outer, t), c(4 * a));
    outer = select(isLess(t, c(2)), outer, c(0));
    return select(isLess(c(1), t), outer, inner);
  }

  InterpolationTap linear(Value x) {
    InterpolationTap tap;
    Value low = floor(x);
    tap.index = {clamped(low), clamped(add(low, c(1)))};
    Value rest = sub(x, low);
    tap.weight = {narrow(sub(c(1), rest)), narrow(rest)};
    return tap;
  }

  InterpolationTap filtered(Value x) {
    InterpolationTap tap;
    double unit = dim.facts.unit(sampling);
    auto radius = static_cast<double>(sampling.radius());
    Value first = unit < 1 ? floor(sub(x, c(radius / unit))) : floor(x);
    first = add(first, c(unit < 1 ? 1 : 1 - radius));
    SmallVector<Value> weights;
    Value sum;
    for (int64_t k = 0; k < dim.facts.taps(sampling); ++k) {
      Value i = add(first, c(static_cast<double>(k)));
      tap.index.push_back(clamped(i));
      Value distance = sub(i, x);
      if (unit < 1)
        distance = mul(c(unit), distance);
      Value w = weight(distance);
      if (sampling.excludesOutside) {
        w = select(isLess(i, c(0)), c(0), w);
        w = select(isLess(last(), i), c(0), w);
      }
      weights.push_back(w);
      sum = sum ? add(sum, w) : w;
    }
    bool divides = unit < 1 || sampling.excludesOutside;
    for (Value w : weights)
      tap.weight.push_back(narrow(divides ? div(w, sum) : w));
    return tap;
  }

  InterpolationTap at(Index position) {
    if (dim.facts.isCopied)
      return {{position}, {}};
    Value x = coordinate(position);
    if (sampling.isNearest())
      return {{clamped(nearest(x))}, {}};
    if (sampling.mode == Sampling::Mode::linear &&
        dim.facts.unit(sampling) == 1)
      return linear(x);
    return filtered(x);
  }
};

} // namespace

InterpolationTap tapOf(IndexMath &m, const Sampling &sampling,
                       const SizedDim &dim, Index at) {
  return Sampler{m, sampling, dim}.at(at);
}

int64_t cornersOf(ArrayRef<InterpolationTap> taps) {
  int64_t corners = 1;
  for (const InterpolationTap &tap : taps)
    corners *= static_cast<int64_t>(tap.index.size());
  return corners;
}

int64_t elementAt(ArrayRef<InterpolationTap> taps, int64_t dim,
                  int64_t corner) {
  return corner / cornersOf(taps.take_front(dim)) %
         static_cast<int64_t>(taps[dim].index.size());
}

Value cornerWeight(OpBuilder &b, Location loc, ArrayRef<InterpolationTap> taps,
                   int64_t corner) {
  Value weight;
  for (auto [d, tap] : llvm::enumerate(taps)) {
    if (tap.weight.empty())
      continue;
    Value w = tap.weight[elementAt(taps, static_cast<int64_t>(d), corner)];
    weight = weight ? arith::MulFOp::create(b, loc, weight, w) : w;
  }
  return weight;
}

Value weighted(OpBuilder &b, Location loc, Value weight, Value x) {
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value none =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, weight, zero);
  return arith::SelectOp::create(b, loc, none, zero,
                                 arith::MulFOp::create(b, loc, weight, x));
}

Value blend(OpBuilder &b, Location loc, ArrayRef<InterpolationTap> taps,
            ValueRange parts) {
  Value sum;
  for (int64_t i = 0; i < cornersOf(taps); ++i) {
    Value w = cornerWeight(b, loc, taps, i);
    if (!w)
      return parts[0];
    Value x = weighted(b, loc, w, parts[i]);
    sum = sum ? arith::AddFOp::create(b, loc, sum, x) : x;
  }
  return sum;
}

} // namespace tenon::passes
