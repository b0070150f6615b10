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

/// What 3x3 taps need in nine places, with some room.
static constexpr int64_t kMaxProducts = 100;

/// All taps, and those that padding leaves.
static SmallVector<KnownTaps> waysToCut(const SizedWindow &d) {
  SmallVector<KnownTaps> ways{{0, d.kernel}};
  llvm::append_range(ways, cutBefore(d));
  llvm::append_range(ways, cutAfter(d));
  return ways;
}

bool DirectDepthwise::fits(ArrayRef<SizedWindow> dims) {
  int64_t products = 1;
  for (const SizedWindow &d : dims) {
    int64_t taps = 0;
    for (auto [lo, hi] : waysToCut(d))
      taps += hi - lo;
    products *= taps;
  }
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
                                  Index count, ArrayRef<KnownTaps> taps,
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

void DirectDepthwise::emitSizedRow(
    IndexMath &m, Index image, ArrayRef<Index> outer,
    llvm::function_ref<void()> otherwise,
    llvm::function_ref<void(Index)> otherwiseColumn) const {
  const SizedWindow &d = dims.back();
  auto [first, past] = d.interior();
  auto columns = [&](std::optional<KnownTaps> row) {
    auto emit = [&](Index column, Index count, KnownTaps columnTaps,
                    bool jams) {
      SmallVector<KnownTaps> taps;
      if (row)
        taps.push_back(*row);
      taps.push_back(columnTaps);
      emitColumns(m, image, outer, column, count, taps, jams);
    };
    auto emitEnd = [&](Index from, Index to, ArrayRef<KnownTaps> ways) {
      emitLoop(m, from, to, [&](Index column) {
        withKnownTaps(
            m, d.validTaps(column * d.stride), ways,
            [&](KnownTaps cut) { emit(column, 1, cut, /*jams=*/false); },
            [&] { otherwiseColumn(column); });
      });
    };
    emitEnd(0, first, cutBefore(d));
    emit(first, past - first, {0, d.kernel},
         !row || *row == KnownTaps(0, dims[0].kernel));
    emitEnd(past, d.out, cutAfter(d));
  };
  if (outer.empty())
    return columns(std::nullopt);
  withKnownTaps(m, dims[0].validTaps(outer[0] * dims[0].stride),
                waysToCut(dims[0]), columns, otherwise);
}

/// With an outer dim, one branch per segment of it.
void DirectDepthwise::emitRow(IndexMath &m, Index image,
                              ArrayRef<Index> outer) const {
  // One in so many rows is not worth the code.
  constexpr int64_t kRareRow = 20;
  auto columns = [&](std::optional<WindowSegment> row) {
    for (const WindowSegment &s : segmentsOf(*known(dims.back()))) {
      SmallVector<KnownTaps> taps;
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
