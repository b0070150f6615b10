//===- LowerWindow.cpp - pooling and depthwise convolution ----------------===//
//
// Items are rows of dst. A stretch of columns whose windows have the same
// valid taps is one linalg.generic: parallel over columns (and channels, when
// those are contiguous), reduced over the taps inside src. Columns at the ends
// of a row, whose windows are cut by padding, are stretches of one. What
// follows in the group passes over each stretch while it is in L1.
//
// Depthwise with few taps: a stretch is one parallel linalg.generic with the
// taps written out, and the rest of the group in the same body.
//
//===----------------------------------------------------------------------===//
#include "codegen/vector/Attrs.h"
#include "dialects/tile/TileDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/Epilogue.h"
#include "passes/tiling/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {

enum class WindowKind { max, average, depthwise };

struct Window {
  GroupContext &ctx;
  Operation *op;
  WindowKind kind;
  SmallVector<WindowDim> dims;
  Strided src, dst, weights; // channels last; weights [taps.., C]
  bool excludePad = false;
  bool channelsInside = true; // channels are contiguous: part of a stretch
  Epilogue epilogue;
  SmallVector<Strided> sides; // of the epilogue, channels last

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }

  double neutral() const {
    // The search for a maximum starts at the lowest finite value.
    return kind == WindowKind::max
               ? static_cast<double>(std::numeric_limits<float>::lowest())
               : 0.0;
  }

  Value combine(OpBuilder &b, Location loc, ValueRange args) const {
    Value x = args[0], acc = args.back();
    if (kind == WindowKind::max) {
      // Strictly greater: NaN is never selected.
      Value greater =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, acc);
      return arith::SelectOp::create(b, loc, greater, x, acc);
    }
    if (kind == WindowKind::depthwise)
      x = arith::MulFOp::create(b, loc, x, args[1]);
    return arith::AddFOp::create(b, loc, acc, x);
  }

  /// dst[columns] for windows whose taps are taps[i] = (lo, count).
  void emitStretch(IndexMath &m, Ofr image, Ofr channel, ArrayRef<Ofr> outer,
                   Ofr column, Ofr count,
                   ArrayRef<std::pair<Ofr, Ofr>> taps) const {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    MLIRContext *context = b.getContext();
    int64_t s = dims.size();
    Ofr srcAt =
        m.add(m.mul(image, src.strides[0]), m.mul(channel, src.strides.back()));
    Ofr dstAt =
        m.add(m.mul(image, dst.strides[0]), m.mul(channel, dst.strides.back()));
    Ofr weightsAt = m.attr(0);
    if (kind == WindowKind::depthwise)
      weightsAt = m.mul(channel, weights.strides.back());
    // Loops: column, [channel], taps..
    SmallVector<Ofr> srcSizes{count}, dstSizes{count}, weightSizes;
    SmallVector<Ofr> srcStrides{
        m.mul(src.strides[s], m.attr(dims[last()].stride))};
    SmallVector<Ofr> dstStrides{dst.strides[s]}, weightStrides;
    if (channelsInside) {
      srcSizes.push_back(src.sizes.back());
      dstSizes.push_back(src.sizes.back());
      srcStrides.push_back(src.strides.back());
      dstStrides.push_back(dst.strides.back());
    }
    for (int64_t i = 0; i < s; ++i) {
      const WindowDim &d = dims[i];
      auto [lo, n] = taps[i];
      Ofr position = i == last() ? column : outer[i];
      Ofr at = m.add(m.mul(position, m.attr(d.stride)),
                     m.mul(lo, m.attr(d.dilation)));
      at = m.sub(at, m.attr(d.pad));
      srcAt = m.add(srcAt, m.mul(at, src.strides[i + 1]));
      dstAt = m.add(dstAt, m.mul(position, dst.strides[i + 1]));
      srcSizes.push_back(n);
      srcStrides.push_back(m.mul(src.strides[i + 1], m.attr(d.dilation)));
      if (kind == WindowKind::depthwise) {
        weightsAt = m.add(weightsAt, m.mul(lo, weights.strides[i]));
        weightSizes.push_back(n);
        weightStrides.push_back(weights.strides[i]);
      }
    }
    int64_t parallel = channelsInside ? 2 : 1, loops = parallel + s;
    SmallVector<AffineExpr> all, kept, tapExprs;
    for (int64_t i = 0; i < loops; ++i) {
      AffineExpr e = getAffineDimExpr(i, context);
      all.push_back(e);
      (i < parallel ? kept : tapExprs).push_back(e);
    }
    SmallVector<AffineMap> maps{AffineMap::get(loops, 0, all, context)};
    SmallVector<Value> ins{box(m, src.base, srcAt, srcSizes, srcStrides)};
    if (kind == WindowKind::depthwise) {
      if (channelsInside) {
        tapExprs.push_back(getAffineDimExpr(1, context));
        weightSizes.push_back(src.sizes.back());
        weightStrides.push_back(weights.strides.back());
      }
      maps.push_back(AffineMap::get(loops, 0, tapExprs, context));
      ins.push_back(
          box(m, weights.base, weightsAt, weightSizes, weightStrides));
    }
    maps.push_back(AffineMap::get(loops, 0, kept, context));
    Value out = box(m, dst.base, dstAt, dstSizes, dstStrides);
    SmallVector<utils::IteratorType> iterators(loops,
                                               utils::IteratorType::reduction);
    for (int64_t i = 0; i < parallel; ++i)
      iterators[i] = utils::IteratorType::parallel;
    // dst = neutral; dst = dst (+) taps; dst = dst / count.
    pointwise(m, {}, out, [&](OpBuilder &nb, Location nl, ValueRange) -> Value {
      return arith::ConstantOp::create(nb, nl, nb.getF32FloatAttr(neutral()));
    });
    linalg::GenericOp::create(b, loc, TypeRange{}, ins, out, maps, iterators,
                              [&](OpBuilder &nb, Location nl, ValueRange args) {
                                linalg::YieldOp::create(nb, nl,
                                                        combine(nb, nl, args));
                              });
    if (kind == WindowKind::average) {
      Value divisor = divisorOf(m, taps);
      pointwise(m, {}, out,
                [&](OpBuilder &nb, Location nl, ValueRange args) -> Value {
                  return arith::DivFOp::create(nb, nl, args[0], divisor);
                });
    }
    if (!epilogue.empty())
      emitEpilogue(m, out, image, channel, outer, column, count);
  }

  /// Appends the sides of the epilogue on a stretch, and their maps from its
  /// loops.
  void addSides(IndexMath &m, Ofr image, Ofr channel, ArrayRef<Ofr> outer,
                Ofr column, Ofr count, SmallVectorImpl<Value> &ins,
                SmallVectorImpl<AffineMap> &maps) const {
    MLIRContext *context = m.builder().getContext();
    int64_t parallel = channelsInside ? 2 : 1;
    for (const Strided &side : sides) {
      Ofr at = side.offset.value_or(m.attr(0));
      auto move = [&](int64_t dim, Ofr position) {
        at = m.add(at, m.mul(position, side.strides[dim]));
      };
      move(0, image);
      for (auto [i, position] : llvm::enumerate(outer))
        move(i + 1, position);
      move(last() + 1, column);
      move(last() + 2, channel);
      // A side is read along the loops it depends on.
      SmallVector<Ofr> sizes, strides;
      SmallVector<AffineExpr> loops;
      auto loop = [&](int64_t number, int64_t dim, Ofr size) {
        if (IndexMath::isConstant(side.strides[dim], 0))
          return;
        sizes.push_back(size);
        strides.push_back(side.strides[dim]);
        loops.push_back(getAffineDimExpr(number, context));
      };
      loop(0, last() + 1, count);
      if (channelsInside)
        loop(1, last() + 2, src.sizes.back());
      ins.push_back(box(m, side.base, at, sizes, strides));
      maps.push_back(AffineMap::get(parallel, 0, loops, context));
    }
  }

  /// out = epilogue(out, sides) on the same stretch.
  void emitEpilogue(IndexMath &m, Value out, Ofr image, Ofr channel,
                    ArrayRef<Ofr> outer, Ofr column, Ofr count) const {
    int64_t parallel = channelsInside ? 2 : 1;
    SmallVector<Value> ins;
    SmallVector<AffineMap> maps;
    addSides(m, image, channel, outer, column, count, ins, maps);
    maps.push_back(m.builder().getMultiDimIdentityMap(parallel));
    SmallVector<utils::IteratorType> iterators(parallel,
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(
        m.builder(), m.location(), TypeRange{}, ins, out, maps, iterators,
        [&](OpBuilder &nb, Location nl, ValueRange args) {
          Value value = epilogue.apply(nb, nl, args.back(), args.drop_back(),
                                       nb.getF32Type());
          linalg::YieldOp::create(nb, nl, value);
        });
  }

  /// Number of elements an average is taken over, as f32.
  Value divisorOf(IndexMath &m, ArrayRef<std::pair<Ofr, Ofr>> taps) const {
    OpBuilder &b = m.builder();
    Ofr count = m.attr(1);
    for (auto [i, tap] : llvm::enumerate(taps))
      count = m.mul(count, excludePad ? tap.second : m.attr(dims[i].kernel));
    if (auto c = IndexMath::constant(count))
      return arith::ConstantOp::create(
          b, m.location(), b.getF32FloatAttr(static_cast<float>(*c)));
    // A window that lies in the padding alone has the sum 0: 0 / 1.
    Value n = m.value(m.max(count, m.attr(1)));
    n = arith::IndexCastOp::create(b, m.location(), b.getI64Type(), n);
    return arith::SIToFPOp::create(b, m.location(), b.getF32Type(), n);
  }

  //===--- depthwise with known taps --------------------------------------===//
  using Taps = std::pair<int64_t, int64_t>; // [lo, hi) of one dim

  /// Columns [column, column + count) in one pass: a vector of channels keeps
  /// its weights in registers while the columns pass.
  void emitDirect(IndexMath &m, Ofr image, ArrayRef<Ofr> outer, int64_t column,
                  int64_t count, ArrayRef<Taps> taps) const {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    int64_t s = dims.size();
    auto loops = b.getMultiDimIdentityMap(2);
    auto channels = AffineMap::get(2, 0, b.getAffineDimExpr(1), b.getContext());
    Ofr srcAt = m.mul(image, src.strides[0]), dstAt, weightsAt = m.attr(0);
    dstAt = m.mul(image, dst.strides[0]);
    for (int64_t i = 0; i < s; ++i) {
      Ofr position = i == last() ? m.attr(column) : outer[i];
      Ofr at =
          m.sub(m.mul(position, m.attr(dims[i].stride)), m.attr(dims[i].pad));
      srcAt = m.add(srcAt, m.mul(at, src.strides[i + 1]));
      dstAt = m.add(dstAt, m.mul(position, dst.strides[i + 1]));
    }
    Ofr size = src.sizes.back();
    SmallVector<Ofr> srcStrides{
        m.mul(src.strides[s], m.attr(dims[last()].stride)), src.strides.back()};
    SmallVector<Value> ins, weightBoxes;
    auto addTaps = [&](auto &self, int64_t i, Ofr x, Ofr w) -> void {
      if (i == s) {
        ins.push_back(box(m, src.base, x, {m.attr(count), size}, srcStrides));
        weightBoxes.push_back(
            box(m, weights.base, w, {size}, {weights.strides.back()}));
        return;
      }
      for (int64_t tap = taps[i].first; tap < taps[i].second; ++tap)
        self(
            self, i + 1,
            m.add(x, m.mul(m.attr(tap * dims[i].dilation), src.strides[i + 1])),
            m.add(w, m.mul(m.attr(tap), weights.strides[i])));
    };
    addTaps(addTaps, 0, srcAt, weightsAt);
    int64_t n = ins.size();
    SmallVector<AffineMap> maps(n, loops);
    llvm::append_range(ins, weightBoxes);
    maps.append(n, channels);
    addSides(m, image, m.attr(0), outer, m.attr(column), m.attr(count), ins,
             maps);
    maps.push_back(loops);
    Value out = box(m, dst.base, dstAt, {m.attr(count), size},
                    {dst.strides[s], dst.strides.back()});
    SmallVector<utils::IteratorType> iterators(2,
                                               utils::IteratorType::parallel);
    auto contract = arith::FastMathFlagsAttr::get(
        b.getContext(), arith::FastMathFlags::contract);
    auto generic = linalg::GenericOp::create(
        b, loc, TypeRange{}, ins, out, maps, iterators,
        [&](OpBuilder &nb, Location nl, ValueRange args) {
          Value sum = arith::ConstantOp::create(nb, nl, nb.getF32FloatAttr(0));
          for (int64_t i = 0; i < n; ++i) {
            Value product =
                arith::MulFOp::create(nb, nl, args[i], args[n + i], contract);
            sum = i == 0 ? product
                         : arith::AddFOp::create(nb, nl, sum, product, contract)
                               .getResult();
          }
          Value value = epilogue.apply(
              nb, nl, sum, args.drop_front(2 * n).drop_back(), nb.getF32Type());
          linalg::YieldOp::create(nb, nl, value);
        });
    generic->setAttr(codegen::kInnerLoopAttr, b.getI64IntegerAttr(0));
  }

  /// Stretches of neighbouring positions with the same taps.
  struct Segment {
    int64_t from, count;
    Taps taps;
  };
  static SmallVector<Segment> segmentsOf(const WindowDim &d) {
    SmallVector<Segment> segments;
    auto [first, past] = d.interior();
    for (int64_t p = 0; p < d.out; ++p) {
      Taps taps = d.tapsAt(p);
      if (segments.empty() || segments.back().taps != taps)
        segments.push_back({p, 0, taps});
      int64_t next = p == first && past > first ? past : p + 1;
      segments.back().count += next - p;
      p = next - 1;
    }
    return segments;
  }

  /// Whether rows are emitted by emitRow: few enough sums of known taps.
  bool isDirect() const {
    // What 3x3 taps need in nine places, with some room; places with taps cut
    // by padding, per dim.
    constexpr int64_t kMaxProducts = 100, kMaxCut = 8;
    if (kind != WindowKind::depthwise || !channelsInside || dims.size() > 2)
      return false;
    int64_t products = 1;
    for (const WindowDim &d : dims) {
      auto [first, past] = d.interior();
      if (d.out == 0 || d.out - (past - first) > kMaxCut)
        return false;
      int64_t taps = 0;
      for (const Segment &s : segmentsOf(d))
        taps += s.taps.second - s.taps.first;
      products *= taps;
    }
    return products <= kMaxProducts;
  }

  /// A row of dst; with an outer dim one branch per segment of it.
  void emitRow(IndexMath &m, Ofr image, ArrayRef<Ofr> outer) const {
    auto columns = [&](IndexMath &cm, std::optional<Taps> row) {
      for (const Segment &s : segmentsOf(dims[last()])) {
        SmallVector<Taps> taps;
        if (row)
          taps.push_back(*row);
        taps.push_back(s.taps);
        emitDirect(cm, image, outer, s.from, s.count, taps);
      }
    };
    if (outer.empty())
      return columns(m, std::nullopt);
    SmallVector<Segment> rows = segmentsOf(dims[0]);
    auto choose = [&](auto &self, IndexMath &cm, size_t i) -> void {
      if (i + 1 == rows.size())
        return columns(cm, rows[i].taps);
      OpBuilder &b = cm.builder();
      Value inside = arith::CmpIOp::create(
          b, cm.location(), arith::CmpIPredicate::slt, cm.value(outer[0]),
          cm.value(cm.attr(rows[i + 1].from)));
      auto branch = scf::IfOp::create(b, cm.location(), inside, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      IndexMath then(b, cm.location());
      columns(then, rows[i].taps);
      b.setInsertionPointToStart(&branch.getElseRegion().front());
      IndexMath otherwise(b, cm.location());
      self(self, otherwise, i + 1);
    };
    choose(choose, m, 0);
  }

  void emit() const {
    IndexMath &m = ctx.m;
    const WindowDim &w = dims[last()];
    auto [first, past] = w.interior();
    bool direct = isDirect();
    SmallVector<Ofr> counts{src.sizes[0]};
    counts.push_back(channelsInside ? m.attr(1) : src.sizes.back());
    for (int64_t i = 0; i < last(); ++i)
      counts.push_back(m.attr(dims[i].out));
    emitItems(m, ctx.label, m.product(counts), [&](IndexMath &im, Value item) {
      SmallVector<Ofr> at = delinearize(im, item, counts);
      ArrayRef<Ofr> outer = ArrayRef(at).drop_front(2);
      if (direct)
        return emitRow(im, at[0], outer);
      SmallVector<std::pair<Ofr, Ofr>> taps;
      for (int64_t i = 0; i < last(); ++i) {
        auto [lo, hi] =
            dims[i].validTaps(im, im.mul(outer[i], im.attr(dims[i].stride)));
        taps.push_back({lo, im.sub(hi, lo)});
      }
      taps.push_back({im.attr(0), im.attr(w.kernel)});
      if (past > first)
        emitStretch(im, at[0], at[1], outer, im.attr(first),
                    im.attr(past - first), taps);
      for (auto [from, to] :
           {std::pair(int64_t(0), first), std::pair(past, w.out)})
        emitLoop(im, im.attr(from), im.attr(to), [&](IndexMath &em, Ofr c) {
          auto [lo, hi] = w.validTaps(em, em.mul(c, em.attr(w.stride)));
          taps.back() = {lo, em.sub(hi, lo)};
          emitStretch(em, at[0], at[1], outer, c, em.attr(1), taps);
        });
    });
  }
};

LogicalResult staticDims(Operation *op, const Window &w) {
  for (const WindowDim &d : w.dims)
    if (ShapedType::isDynamic(d.in) || ShapedType::isDynamic(d.out))
      return op->emitError("E2003 spatial dimensions must be static");
  if (!rankedType(op->getOperand(0)).getElementType().isF32())
    return op->emitError("E2003 windows are lowered for f32");
  return success();
}

} // namespace

LogicalResult lowerWindow(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  if (auto transposed = dyn_cast<tile::ConvTransposeOp>(op))
    return lowerDepthwiseTranspose(ctx, transposed);
  if (auto gradient = dyn_cast<tile::ConvWeightsOp>(op))
    return lowerDepthwiseWeights(ctx, gradient);
  if (isKind(op, "MaxPoolBackward") || isKind(op, "AvgPoolBackward"))
    return lowerPoolGradient(ctx);
  if (kindOf(op).starts_with("Interpolate"))
    return lowerInterpolate(ctx);
  if (kindOf(op).starts_with("LRN"))
    return lowerLrn(ctx);
  auto conv = dyn_cast<tile::ConvOp>(op);
  auto type = rankedType(op->getOperand(0));
  auto dstType = rankedType(op->getResult(0));
  int64_t spatial = type.getRank() - 2;
  bool ncx = !conv && isNcx(op, type.getRank());
  Window w{ctx,
           op,
           conv                    ? WindowKind::depthwise
           : isKind(op, "MaxPool") ? WindowKind::max
                                   : WindowKind::average,
           {},
           toChannelsLast(ctx.memoryOf(op->getOperand(0)), ncx),
           toChannelsLast(ctx.outputs.begin()->second.front(), ncx),
           {},
           false,
           true,
           Epilogue(ctx, op),
           {}};
  for (const Strided &side : w.epilogue.sides)
    w.sides.push_back(toChannelsLast(side, ncx));
  SmallVector<int64_t> kernel = intsAttr(op, "kernel");
  if (conv)
    for (int64_t i = 0; i < spatial; ++i)
      kernel.push_back(rankedType(conv.getWeights()).getDimSize(i));
  w.dims = windowDims(op, type, dstType, ncx, kernel);
  if (failed(staticDims(op, w)))
    return failure();
  w.excludePad = boolAttr(op, "exclude_pad");
  if (conv) {
    w.weights = ctx.memoryOf(conv.getWeights());
    // [taps.., 1, C]: drop the 1.
    w.weights.sizes.erase(w.weights.sizes.end() - 2);
    w.weights.strides.erase(w.weights.strides.end() - 2);
  }
  w.channelsInside = IndexMath::isConstant(w.dst.strides.back(), 1);
  w.emit();
  return success();
}

} // namespace tenon::tiling
