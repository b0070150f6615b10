//===- WindowTaps.cpp - sums and maxima of what windows see ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One linalg.generic folds the taps of a range of windows. See
// LowerWindow.cpp.
//
//===----------------------------------------------------------------------===//
#include "codegen/vector/Attrs.h"
#include "passes/tile/windows/LowerWindow.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// The box that windows read of src or of the weights: at one tap of the last
/// dimension if these are unrolled, otherwise at all of them.
struct TapBox {
  const Strided &tensor;
  Index offset;
  SmallVector<Index> sizes, strides;
  SmallVector<AffineExpr> loops;

  TapBox(const Strided &tensor, Index channel)
      : tensor(tensor), offset(channel * tensor.strides.back()) {}
  void loop(AffineExpr number, Index size, Index stride) {
    loops.push_back(number);
    sizes.push_back(size);
    strides.push_back(stride);
  }
  Value at(IndexMath &m, Index step) const {
    return box(m, tensor.base, offset + step, sizes, strides);
  }
};

} // namespace

/// What the body of emitTaps has as arguments: for each of `terms` an element
/// of src, and then, depthwise, a weight.
struct Window::Terms {
  int64_t terms = 0, loops = 0, parallel = 0;
  SmallVector<Value> ins;
  SmallVector<AffineMap> maps;

  void add(Value operand, ArrayRef<AffineExpr> indices) {
    ins.push_back(operand);
    maps.push_back(AffineMap::get(loops, 0, indices, operand.getContext()));
  }
};

/// `acc` with the tap `x`, whose weight is `weight` (depthwise).
Value Window::combine(OpBuilder &b, Location loc, Value acc, Value x,
                      Value weight) const {
  constexpr auto contract = arith::FastMathFlags::contract;
  if (bytes && bytes.isSignedInteger())
    return arith::MaxSIOp::create(b, loc, x, acc);
  if (bytes)
    return arith::MaxUIOp::create(b, loc, x, acc);
  if (kind == WindowKind::max) {
    // Strictly greater: NaN is never selected, but one that is there stays.
    Value greater =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, acc);
    Value most = arith::SelectOp::create(b, loc, greater, x, acc);
    if (!propagatesNan)
      return most;
    Value isNan =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    return arith::SelectOp::create(b, loc, isNan, x, most);
  }
  if (kind == WindowKind::average) {
    // One instruction in a loop. Not where taps are written out, each waiting
    // for the sum before: an addition has its result earlier than a product
    // and a sum (3x3 on rows of 26: 1.18).
    auto flags = dims[last()].kernel > kMaxWritten ? contract
                                                   : arith::FastMathFlags::none;
    if (!folded && part != 1)
      x = arith::MulFOp::create(
          b, loc, x,
          arith::ConstantOp::create(
              b, loc, b.getF32FloatAttr(static_cast<float>(part))),
          flags);
    return arith::AddFOp::create(b, loc, acc, x, flags);
  }
  x = arith::MulFOp::create(b, loc, x, weight, contract);
  return arith::AddFOp::create(b, loc, acc, x, contract);
}

/// Loops: column, [channel], taps..; those of the last dimension are terms
/// where they are few.
Window::Terms Window::termsAt(IndexMath &m, const ColumnRange &at,
                              Taps taps) const {
  int64_t s = dims.size(), parallel = at.channels ? 2 : 1;
  auto lastTaps = taps.back().second.constant();
  bool writesOut = lastTaps && *lastTaps <= kMaxWritten;
  int64_t written = writesOut ? *lastTaps : 1;
  bool weighted = kind == WindowKind::depthwise;
  Terms result{written * perGroup, parallel + s - writesOut, parallel, {}, {}};
  auto number = [&](int64_t i) {
    return getAffineDimExpr(i, m.builder().getContext());
  };
  assert((perGroup == 1 || at.channels) && "groups are copied otherwise");
  TapBox x(src, at.channel), w(weighted ? weights : src, at.channel);
  x.offset += at.image * src.strides[0];
  x.loop(number(0), at.count, src.strides[s] * dims[last()].stride);
  if (at.channels) {
    x.loop(number(1), *at.channels, src.strides.back());
    w.loop(number(1), *at.channels, w.tensor.strides.back());
  }
  for (int64_t i = 0; i < s; ++i) {
    const SizedWindow &d = dims[i];
    auto [lo, n] = taps[i];
    Index first = (i == last() ? at.column : at.outer[i]) * d.stride;
    first += lo * d.dilation;
    first -= d.pad;
    x.offset += first * src.strides[i + 1];
    w.offset += lo * w.tensor.strides[i];
    if (i == last() && writesOut)
      continue;
    x.loop(number(parallel + i), n, src.strides[i + 1] * d.dilation);
    w.loop(number(parallel + i), n, w.tensor.strides[i]);
  }
  // A channel of the group after the other: what neighbouring columns have in
  // common stays in registers that long.
  for (int64_t i = 0; i < perGroup; ++i)
    for (int64_t tap = 0; tap < written; ++tap) {
      SmallVector<AffineExpr> indices(x.loops);
      if (perGroup > 1)
        indices[1] = number(1).floorDiv(perGroup) * perGroup + i;
      result.add(x.at(m, tap * src.strides[s] * dims[last()].dilation),
                 indices);
    }
  for (int64_t i = 0; weighted && i < perGroup; ++i)
    for (int64_t tap = 0; tap < written; ++tap)
      result.add(
          w.at(m, tap * weights.strides[last()] + i * weights.strides[s]),
          w.loops);
  return result;
}

/// out = out (+) taps of windows.
void Window::emitTaps(IndexMath &m, const ColumnRange &at, Taps taps,
                      Value out) const {
  OpBuilder &b = m.builder();
  Terms t = termsAt(m, at, taps);
  if (t.terms == 0)
    return;
  t.maps.push_back(
      b.getMultiDimIdentityMap(t.loops).getMajorSubMap(t.parallel));
  SmallVector<utils::IteratorType> iterators(t.loops,
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), t.parallel, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, m.location(), TypeRange{}, t.ins, out, t.maps, iterators,
      [&](OpBuilder &nb, Location nl, ValueRange args) {
        Value acc = args.back();
        bool weighted = kind == WindowKind::depthwise;
        for (int64_t i = 0; i < t.terms; ++i) {
          Value x = bytes || folded ? args[i] : made.elementOf(nb, nl, args[i]);
          acc = combine(nb, nl, acc, x, weighted ? args[t.terms + i] : Value());
        }
        linalg::YieldOp::create(nb, nl, acc);
      });
  if (int64_t distance = distanceToNextRow()) {
    SmallVector<int64_t> prefetches(t.ins.size(), 0);
    // The columns that the next one is the first to read.
    std::fill_n(prefetches.begin(),
                std::min(t.terms / perGroup, dims[last()].stride), distance);
    generic->setAttr(codegen::kPrefetchAttr,
                     b.getDenseI64ArrayAttr(prefetches));
  }
}

/// Averages over many elements are sums of sums: a long chain of additions
/// loses digits. Where channels are apart, lanes of a vector are chains of
/// their own.
std::optional<Window::Cut> Window::cutOfTaps() const {
  const int64_t longest = channelsInside ? 256 : 2048;
  int64_t all = 1, behind = 1, d = last();
  for (const SizedWindow &w : dims)
    all *= w.kernel;
  if (kind != WindowKind::average || all <= longest)
    return std::nullopt;
  for (; d > 0 && behind * dims[d].kernel <= longest; --d)
    behind *= dims[d].kernel;
  return Cut{d, std::max<int64_t>(longest / behind, 1)};
}

/// sums = sums + taps of windows, those of `dim` and after it in parts, which
/// are summed in `partial`.
void Window::emitCutTaps(IndexMath &m, const ColumnRange &at,
                         SmallVector<Tap> taps, int64_t dim, Value partial,
                         Value sums) const {
  Cut cut = *cutOfTaps();
  if (dim > cut.dim) {
    fill(m, partial, 0);
    emitTaps(m, at, taps, partial);
    pointwise(m, partial, sums,
              [&](OpBuilder &nb, Location nl, ValueRange args) -> Value {
                return arith::AddFOp::create(nb, nl, args[0], args[1]);
              });
    return;
  }
  auto [lo, n] = taps[dim];
  int64_t block = dim == cut.dim ? cut.block : 1;
  auto count = n.constant();
  bool even = block == 1 || (count && *count % block == 0);
  emitLoop(m, 0, ceilDiv(n, block), [&, lo = lo, n = n](Index number) {
    Index first = number * block;
    Index size = block;
    taps[dim] = {lo + first, even ? size : min(size, n - first)};
    emitCutTaps(m, at, taps, dim + 1, partial, sums);
  });
}

/// Elements of src between a row and the one that the next row of dst has in
/// its place, where L2 does not hold them; 0: they are not prefetched.
int64_t Window::distanceToNextRow() const {
  bool prefetches = perGroup > 1 && dims.size() == 2 &&
                    bytesOf(src) > ctx.target.getL2Bytes();
  auto row = src.strides[1].constant();
  return prefetches && row ? *row * dims[0].stride : 0;
}

} // namespace tenon::passes
