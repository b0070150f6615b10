//===- WinogradTransforms.cpp - arithmetic of F(m x m, 3x3) ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Toom and Cook's algorithm: polynomials are multiplied by their values at
// points. With those at 0, infinity and pairs +-p, for 2 outputs one pair, for
// 4 two, and i, j numbering pairs:
//
//   P(x)  = product of (x^2 - p_i^2)       Q_i = the same without factor i
//
//   B^T d:  at 0         +- P              sign (-1)^pairs
//           at +- p_i    x^2 Q_i +- p_i x Q_i
//           at infinity  +- x P            where x^k stands for d[k]
//   G g:    at 0         g0 / |P(0)|
//           at +- p_i    (g0 + p_i^2 g2 +- p_i g1) / (2 p_i^2 Q_i(p_i))
//           at infinity  g2
//   A^T m:  y[r] = sum of p_i^r (m[p_i] + (-1)^r m[-p_i])
//                  (r = 0: + m[0]; the last r: +- m[infinity])
//
// One pair is +-1, hence F(2x2, 3x3):
//
//         1  0 -1  0                              1    0    0
//   B^T = 0  1  1  0      A^T = 1  1  1  0    G = 1/2  1/2  1/2
//         0 -1  1  0            0  1 -1 -1        1/2 -1/2  1/2
//         0  1  0 -1                              0    0    1
//
// Two pairs are +-5/8 and +-3/2: f32 holds their powers exactly, and errors
// grow hardly less with any others of few bits (docs/cost-model.md). Both
// points of a pair share their even and odd parts.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/convolution/WinogradTransforms.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/GroupLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cmath>

using namespace mlir;

namespace tenon::passes {

namespace winograd {

namespace {

/// p of each pair of points.
ArrayRef<double> pairs(Tile tile) {
  static constexpr double one[] = {1}, two[] = {5.0 / 8, 3.0 / 2};
  return tile.outputs == 2 ? ArrayRef(one) : ArrayRef(two);
}

/// Coefficients of the product of (x^2 - p^2) in x^2 over all p but `skipped`.
SmallVector<double> productOf(ArrayRef<double> ps, size_t skipped) {
  SmallVector<double> c{1};
  for (auto [i, p] : llvm::enumerate(ps)) {
    if (i == skipped)
      continue;
    c.push_back(0);
    for (size_t k = c.size() - 1; k > 0; --k)
      c[k] = c[k - 1] - p * p * c[k];
    c[0] *= -p * p;
  }
  return c;
}

double evaluate(ArrayRef<double> c, double x) {
  double y = 0;
  for (double factor : llvm::reverse(c))
    y = y * x + factor;
  return y;
}

/// Of P, which is positive at 0.
double signOf(ArrayRef<double> ps) { return ps.size() % 2 ? -1 : 1; }

} // namespace

/// A product and the sum around it may become one instruction.
Value Transforms::scale(Value x, double factor) const {
  if (factor == 1)
    return x;
  Value c =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), factor));
  return arith::MulFOp::create(b, loc, x, c, arith::FastMathFlags::contract);
}

Value Transforms::add(Value sum, const Term &term) const {
  double size = std::fabs(term.factor);
  Value x = scale(term.value, size);
  auto flags =
      size == 1 ? arith::FastMathFlags::none : arith::FastMathFlags::contract;
  if (term.factor < 0)
    return arith::SubFOp::create(b, loc, sum, x, flags);
  return arith::AddFOp::create(b, loc, sum, x, flags);
}

/// Begins with a term that needs no multiplication, if there is one.
Value Transforms::sum(ArrayRef<Term> terms) const {
  const Term *first =
      llvm::find_if(terms, [](const Term &t) { return t.factor == 1; });
  if (first == terms.end())
    first = terms.begin();
  Value sum = scale(first->value, first->factor);
  for (const Term &term : terms)
    if (&term != first)
      sum = add(sum, term);
  return sum;
}

Values Transforms::src(ArrayRef<Value> d) const {
  ArrayRef<double> ps = pairs(tile);
  /// `sign` times the polynomial in x^2, times x^from.
  auto apply = [&](ArrayRef<double> c, double sign, size_t from) {
    Terms terms;
    for (auto [k, factor] : llvm::enumerate(c))
      terms.push_back({sign * factor, d[from + 2 * k]});
    return sum(terms);
  };
  SmallVector<double> all = productOf(ps, ps.size());
  Values v{apply(all, signOf(ps), 0)};
  for (auto [i, p] : llvm::enumerate(ps)) {
    SmallVector<double> others = productOf(ps, i);
    Value even = apply(others, 1, 2), odd = apply(others, 1, 1);
    v.push_back(add(even, {p, odd}));
    v.push_back(add(even, {-p, odd}));
  }
  v.push_back(apply(all, signOf(ps), 1));
  return v;
}

Values Transforms::dst(ArrayRef<Value> m, int64_t count) const {
  ArrayRef<double> ps = pairs(tile);
  // Sums and differences of pairs, each used by every other row.
  SmallVector<Value, 2> sums, differences;
  for (size_t i = 1; i <= 2 * ps.size(); i += 2) {
    if (count > 2)
      sums.push_back(add(m[i], {1, m[i + 1]}));
    if (count > 1)
      differences.push_back(add(m[i], {-1, m[i + 1]}));
  }
  Values y;
  for (int64_t r = 0; r < count; ++r) {
    Terms terms;
    if (r == 0)
      terms.push_back({1, m[0]});
    for (auto [i, p] : llvm::enumerate(ps)) {
      double power = std::pow(p, r);
      if (r % 2)
        terms.push_back({power, differences[i]});
      else if (count > 2)
        terms.push_back({power, sums[i]});
      else // used once
        terms.append({{power, m[2 * i + 1]}, {power, m[2 * i + 2]}});
    }
    if (r == tile.outputs - 1)
      terms.push_back({signOf(ps), m.back()});
    y.push_back(sum(terms));
  }
  return y;
}

Values Transforms::weights(ArrayRef<Value> g) const {
  ArrayRef<double> ps = pairs(tile);
  double atZero = evaluate(productOf(ps, ps.size()), 0);
  Values u{scale(g[0], signOf(ps) / atZero)};
  for (auto [i, p] : llvm::enumerate(ps)) {
    Value ends = add(g[0], {p * p, g[2]});
    double divisor = 2 * p * p * evaluate(productOf(ps, i), p * p);
    for (double x : {p, -p})
      u.push_back(scale(add(ends, {x, g[1]}), 1 / divisor));
  }
  u.push_back(g[2]);
  return u;
}

SmallVector<Value> Transforms::both(ArrayRef<Value> matrix, int64_t rows,
                                    Apply ofColumn, Apply ofRow) {
  int64_t columns = static_cast<int64_t>(matrix.size()) / rows;
  SmallVector<Values> half; // of each column
  for (int64_t j = 0; j < columns; ++j) {
    Values column;
    for (int64_t i = 0; i < rows; ++i)
      column.push_back(matrix[i * columns + j]);
    half.push_back(ofColumn(column));
  }
  SmallVector<Value> result;
  for (size_t i = 0; i < half.front().size(); ++i) {
    Values row;
    for (const Values &column : half)
      row.push_back(column[i]);
    llvm::append_range(result, ofRow(row));
  }
  return result;
}

void emitLoops(IndexMath &m, ValueRange ins, ValueRange outs,
               ArrayRef<AffineMap> maps, ElementsBody body) {
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange{}, ins, outs, maps, loops,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        linalg::YieldOp::create(b, loc, body(b, loc, args));
      });
}

} // namespace winograd

using namespace winograd;

/// Items are input channels: G g G^T of a row of output channels each.
LogicalResult lowerWinogradWeights(GroupContext &ctx,
                                   tile::WinogradWeightsOp op) {
  IndexMath &m = ctx.m;
  Tile tile{static_cast<int64_t>(op.getOutputs())};
  const Strided &src = ctx.memoryOf(op.getWeights());
  const Strided &dst = ctx.result();
  Coordinates at{op.getContext()};
  emitItems(m, ctx.label, src.sizes[2], [&](Index channel) {
    auto row = [&](const Strided &s, int64_t taps) {
      Index offset = s.offset.value_or(0) + channel * s.strides[2];
      return box(m, s.base, offset, {taps, taps, 1, s.sizes[3]},
                 {s.strides[0], s.strides[1], s.strides[2], s.strides[3]});
    };
    SmallVector<AffineMap> maps;
    for (int64_t taps : {kTaps, tile.edge()})
      for (int64_t x = 0; x < taps * taps; ++x)
        maps.push_back(at.map({at.number(x / taps), at.number(x % taps),
                               at.outer(), at.inner()}));
    SmallVector<Value> ins(kTaps * kTaps, row(src, kTaps));
    SmallVector<Value> outs(tile.points(), row(dst, tile.edge()));
    emitLoops(
        m, ins, outs, maps, [&](OpBuilder &b, Location loc, ValueRange args) {
          Transforms a{b, loc, tile};
          auto apply = [&](ArrayRef<Value> g) { return a.weights(g); };
          SmallVector<Value> g;
          for (Value tap : args.take_front(kTaps * kTaps))
            g.push_back(arith::ExtFOp::create(b, loc, b.getF64Type(), tap));
          SmallVector<Value> points = a.both(g, kTaps, apply, apply);
          for (Value &u : points)
            u = arith::TruncFOp::create(b, loc, b.getF32Type(), u);
          return points;
        });
  });
  return success();
}

} // namespace tenon::passes
