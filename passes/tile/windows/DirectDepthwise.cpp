// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/windows/DirectDepthwise.h"

#include "codegen/vector/Attrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

Strided depthwiseWeights(Strided weights) {
  weights.sizes.erase(weights.sizes.end() - 2);
  weights.strides.erase(weights.strides.end() - 2);
  return weights;
}

/// What 3x3 taps need in nine places, with some room; and what 5x5 taps need in
/// 25 where the sizes that are not known leave no better way.
static constexpr int64_t kMaxProducts = 100, kMaxSizedProducts = 400;

bool DirectDepthwise::fitsInside(ArrayRef<SizedWindow> dims) {
  int64_t products = 1;
  for (const SizedWindow &d : dims)
    products *= d.kernel;
  return dims.size() <= 2 && products <= kMaxProducts;
}

bool DirectDepthwise::fits(ArrayRef<WindowDim> dims) {
  constexpr int64_t kMaxCut = 8; // places with taps cut by padding, per dim
  if (dims.size() > 2)
    return false;
  int64_t products = 1;
  for (const WindowDim &d : dims) {
    if (!d.isKnown())
      return false;
    auto [first, past] = d.interior();
    if (d.out == 0 || d.out - (past - first) > kMaxCut)
      return false;
    int64_t taps = 0;
    for (const WindowSegment &s : segmentsOf(d))
      taps += s.taps.second - s.taps.first;
    products *= taps;
  }
  return products <= kMaxProducts;
}

bool DirectDepthwise::fits(tile::ConvOp op) {
  return op.getDepthwise() && !op.hasGroupsAsLanes() && fits(windowDims(op));
}

/// Columns [column, column + count) in one pass: several at a time, which share
/// weights and what their windows have in common.
void DirectDepthwise::emitColumns(IndexMath &m, Index image,
                                  ArrayRef<Index> outer, Index column,
                                  Index count, ArrayRef<Taps> taps,
                                  bool jams) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  int64_t s = dims.size();
  auto loops = b.getMultiDimIdentityMap(2);
  auto channels = AffineMap::get(2, 0, b.getAffineDimExpr(1), b.getContext());
  Index srcAt = src.offset.value_or(0) + image * src.strides[0],
        dstAt = dst.offset.value_or(0) + image * dst.strides[0];
  for (int64_t i = 0; i < s; ++i) {
    Index position = i == s - 1 ? column : outer[i];
    Index at = position * dims[i].stride - dims[i].pad;
    srcAt += at * src.strides[i + 1];
    dstAt += position * dst.strides[i + 1];
  }
  Index size = src.sizes.back();
  SmallVector<Index> srcStrides{src.strides[s] * dims[s - 1].stride,
                                src.strides.back()};
  SmallVector<Value> ins, weightBoxes;
  auto addTaps = [&](auto &self, int64_t i, Index x, Index w) -> void {
    if (i == s) {
      ins.push_back(box(m, src.base, x, {count, size}, srcStrides));
      weightBoxes.push_back(
          box(m, weights.base, w, {size}, {weights.strides.back()}));
      return;
    }
    for (int64_t tap = taps[i].first; tap < taps[i].second; ++tap)
      self(self, i + 1, x + tap * dims[i].dilation * src.strides[i + 1],
           w + tap * weights.strides[i]);
  };
  addTaps(addTaps, 0, srcAt, 0);
  int64_t n = ins.size();
  SmallVector<AffineMap> maps(n, loops);
  llvm::append_range(ins, weightBoxes);
  maps.append(n, channels);
  addEpilogueOperands(m, epilogue.epilogueOperands,
                      {image, 0, outer, column, count, size}, ins, maps);
  maps.push_back(loops);
  Value out = box(m, dst.base, dstAt, {count, size},
                  {dst.strides[s], dst.strides.back()});
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto contract = arith::FastMathFlagsAttr::get(b.getContext(),
                                                arith::FastMathFlags::contract);
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
            nb, nl, sum, args.drop_front(2 * n).drop_back(), dst.elementType());
        linalg::YieldOp::create(nb, nl, value);
      });
  if (jams)
    generic->setAttr(codegen::kJamAttr, b.getI64IntegerAttr(0));
  auto row = src.strides[1].constant();
  if (!prefetches || s != 2 || !row)
    return;
  // The taps that the next row, or column, is the first to read.
  SmallVector<int64_t> distances(generic.getInputs().size(), 0);
  auto [rows, columns] =
      std::pair(taps[0].second - taps[0].first, taps[1].second - taps[1].first);
  for (int64_t i = std::max<int64_t>(rows - dims[0].stride, 0); i < rows; ++i)
    for (int64_t j = 0; j < std::min(columns, dims[1].stride); ++j)
      distances[i * columns + j] = *row * dims[0].stride;
  generic->setAttr(codegen::kPrefetchAttr, b.getDenseI64ArrayAttr(distances));
}

SmallVector<SmallVector<DirectDepthwise::Taps>>
DirectDepthwise::waysToCut() const {
  SmallVector<SmallVector<Taps>> ways;
  for (const SizedWindow &d : dims)
    ways.push_back({{0, d.kernel}});
  int64_t products = 1;
  for (const SizedWindow &d : dims)
    products *= d.kernel;
  // Those of columns first: each row has some.
  for (size_t i = dims.size(); i-- > 0;) {
    const SizedWindow &d = dims[i];
    auto before = d.pad.constant(), after = d.padEnd.constant();
    if (!before || !after)
      return ways;
    auto cut = [&](int64_t pad) {
      return std::clamp<int64_t>(ceilDiv(pad, d.dilation), 0, d.kernel - 1);
    };
    SmallVector<Taps> all(ways[i]);
    for (int64_t n = 1; n <= cut(*before); ++n)
      all.push_back({n, d.kernel});
    for (int64_t n = 1; n <= cut(*after); ++n)
      all.push_back({0, d.kernel - n});
    int64_t taps = 0;
    for (auto [lo, hi] : all)
      taps += hi - lo;
    products = products / d.kernel * taps;
    if (products > kMaxSizedProducts)
      return ways;
    ways[i] = std::move(all);
  }
  return ways;
}

/// Calls `body` with that of `ways` that `taps` is when the code runs, or
/// `otherwise`.
static void choose(IndexMath &m, std::pair<Index, Index> taps,
                   ArrayRef<std::pair<int64_t, int64_t>> ways,
                   llvm::function_ref<void(std::pair<int64_t, int64_t>)> body,
                   llvm::function_ref<void()> otherwise) {
  if (ways.empty())
    return otherwise();
  OpBuilder &b = m.builder();
  Location loc = m.location();
  auto equals = [&](Index x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, m.value(x),
                                 m.value(y));
  };
  Value isFirst =
      arith::AndIOp::create(b, loc, equals(taps.first, ways.front().first),
                            equals(taps.second, ways.front().second));
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body(ways.front());
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  choose(m, taps, ways.drop_front(), body, otherwise);
}

void DirectDepthwise::emitSizedRow(
    IndexMath &m, Index image, ArrayRef<Index> outer,
    llvm::function_ref<void()> otherwise,
    llvm::function_ref<void(Index)> otherwiseColumn) const {
  SmallVector<SmallVector<Taps>> ways = waysToCut();
  const SizedWindow &d = dims.back();
  auto [first, past] = d.interior();
  auto columns = [&](std::optional<Taps> row) {
    auto emit = [&](Index column, Index count, Taps columnTaps, bool jams) {
      SmallVector<Taps> taps;
      if (row)
        taps.push_back(*row);
      taps.push_back(columnTaps);
      emitColumns(m, image, outer, column, count, taps, jams);
    };
    emit(first, past - first, ways.back().front(),
         !row || *row == ways[0].front());
    for (auto [from, to] : {std::pair(Index(0), first), {past, d.out}})
      emitLoop(m, from, to, [&](Index column) {
        choose(
            m, d.validTaps(column * d.stride),
            ArrayRef(ways.back()).drop_front(),
            [&](Taps cut) { emit(column, 1, cut, /*jams=*/false); },
            [&] { otherwiseColumn(column); });
      });
  };
  if (outer.empty())
    return columns(std::nullopt);
  choose(m, dims[0].validTaps(outer[0] * dims[0].stride), ways[0], columns,
         otherwise);
}

/// With an outer dim, one branch per segment of it.
void DirectDepthwise::emitRow(IndexMath &m, Index image,
                              ArrayRef<Index> outer) const {
  // One in so many rows is not worth the code.
  constexpr int64_t kRareRow = 20;
  auto columns = [&](std::optional<WindowSegment> row) {
    for (const WindowSegment &s : segmentsOf(*known(dims.back()))) {
      SmallVector<Taps> taps;
      if (row)
        taps.push_back(row->taps);
      taps.push_back(s.taps);
      emitColumns(m, image, outer, s.from, s.count, taps,
                  !row || row->count * kRareRow > known(dims[0])->out);
    }
  };
  if (outer.empty())
    return columns(std::nullopt);
  SmallVector<WindowSegment> rows = segmentsOf(*known(dims[0]));
  auto choose = [&](auto &self, size_t i) -> void {
    if (i + 1 == rows.size())
      return columns(rows[i]);
    OpBuilder &b = m.builder();
    Value inside =
        arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::slt,
                              m.value(outer[0]), m.value(rows[i + 1].from));
    auto branch = scf::IfOp::create(b, m.location(), inside, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    columns(rows[i]);
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    self(self, i + 1);
  };
  choose(choose, 0);
}

} // namespace tenon::passes
