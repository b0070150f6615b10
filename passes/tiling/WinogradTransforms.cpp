//===- WinogradTransforms.cpp - arithmetic of F(2x2, 3x3) -----------------===//
//
//         1  0 -1  0                              1    0    0
//   B^T = 0  1  1  0      A^T = 1  1  1  0    G = 1/2  1/2  1/2
//         0 -1  1  0            0  1 -1 -1        1/2 -1/2  1/2
//         0  1  0 -1                              0    0    1
//
//===----------------------------------------------------------------------===//
#include "passes/tiling/WinogradTransforms.h"

#include "passes/support/GraphAttrs.h"
#include "passes/tiling/GroupLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::tiling {

namespace winograd {

Value Transforms::add(Value x, Value y) const {
  return arith::AddFOp::create(b, loc, x, y);
}

Value Transforms::sub(Value x, Value y) const {
  return arith::SubFOp::create(b, loc, x, y);
}

Value Transforms::half(Value x) const {
  Value c = arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), 0.5));
  return arith::MulFOp::create(b, loc, x, c);
}

Four Transforms::src(const Four &d) const {
  return {sub(d[0], d[2]), add(d[1], d[2]), sub(d[2], d[1]), sub(d[1], d[3])};
}

SmallVector<Value, 2> Transforms::dst(const Four &m, int64_t count) const {
  SmallVector<Value, 2> y{add(add(m[0], m[1]), m[2])};
  if (count > 1)
    y.push_back(sub(sub(m[1], m[2]), m[3]));
  return y;
}

Four Transforms::weights(Value g0, Value g1, Value g2) const {
  Value ends = add(g0, g2);
  return {g0, half(add(ends, g1)), half(sub(ends, g1)), g2};
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
  const Strided &src = ctx.memoryOf(op.getWeights());
  const Strided &dst = ctx.outputs.begin()->second.front();
  Coordinates at{op.getContext()};
  emitItems(ctx.m, ctx.label, src.sizes[2], [&](IndexMath &m, Value channel) {
    auto row = [&](const Strided &s, int64_t taps) {
      Ofr offset = m.add(s.offset.value_or(m.attr(0)),
                         m.mul(Ofr(channel), s.strides[2]));
      return box(m, s.base, offset,
                 {m.attr(taps), m.attr(taps), m.attr(1), s.sizes[3]},
                 {s.strides[0], s.strides[1], s.strides[2], s.strides[3]});
    };
    SmallVector<AffineMap> maps;
    for (int64_t taps : {kTaps, kEdge})
      for (int64_t x = 0; x < taps * taps; ++x)
        maps.push_back(at.map({at.number(x / taps), at.number(x % taps),
                               at.outer(), at.inner()}));
    SmallVector<Value> ins(kTaps * kTaps, row(src, kTaps));
    SmallVector<Value> outs(kPoints, row(dst, kEdge));
    emitLoops(m, ins, outs, maps,
              [&](OpBuilder &b, Location loc, ValueRange args) {
                Transforms a{b, loc};
                std::array<Value, kTaps * kTaps> g;
                for (int64_t x = 0; x < kTaps * kTaps; ++x)
                  g[x] = arith::ExtFOp::create(b, loc, b.getF64Type(), args[x]);
                std::array<Four, kTaps> half;
                for (int64_t j = 0; j < kTaps; ++j)
                  half[j] = a.weights(g[j], g[kTaps + j], g[2 * kTaps + j]);
                SmallVector<Value> points;
                for (int64_t i = 0; i < kEdge; ++i)
                  for (Value u : a.weights(half[0][i], half[1][i], half[2][i]))
                    points.push_back(
                        arith::TruncFOp::create(b, loc, b.getF32Type(), u));
                return points;
              });
  });
  return success();
}

} // namespace tenon::tiling
