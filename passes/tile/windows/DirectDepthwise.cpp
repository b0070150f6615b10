// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/windows/DirectDepthwise.h"

#include "codegen/vector/Attrs.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::tiling {

Strided depthwiseWeights(Strided weights) {
  weights.sizes.erase(weights.sizes.end() - 2);
  weights.strides.erase(weights.strides.end() - 2);
  return weights;
}

bool DirectDepthwise::fits(ArrayRef<WindowDim> dims) {
  // What 3x3 taps need in nine places, with some room; places with taps cut
  // by padding, per dim.
  constexpr int64_t kMaxProducts = 100, kMaxCut = 8;
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
void DirectDepthwise::emitColumns(IndexMath &m, Ofr image, ArrayRef<Ofr> outer,
                                  int64_t column, int64_t count,
                                  ArrayRef<Taps> taps, bool jams) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  int64_t s = dims.size();
  auto loops = b.getMultiDimIdentityMap(2);
  auto channels = AffineMap::get(2, 0, b.getAffineDimExpr(1), b.getContext());
  Ofr srcAt =
          m.add(src.offset.value_or(m.attr(0)), m.mul(image, src.strides[0])),
      dstAt =
          m.add(dst.offset.value_or(m.attr(0)), m.mul(image, dst.strides[0]));
  for (int64_t i = 0; i < s; ++i) {
    Ofr position = i == s - 1 ? m.attr(column) : outer[i];
    Ofr at =
        m.sub(m.mul(position, m.attr(dims[i].stride)), m.attr(dims[i].pad));
    srcAt = m.add(srcAt, m.mul(at, src.strides[i + 1]));
    dstAt = m.add(dstAt, m.mul(position, dst.strides[i + 1]));
  }
  Ofr size = src.sizes.back();
  SmallVector<Ofr> srcStrides{m.mul(src.strides[s], m.attr(dims[s - 1].stride)),
                              src.strides.back()};
  SmallVector<Value> ins, weightBoxes;
  auto addTaps = [&](auto &self, int64_t i, Ofr x, Ofr w) -> void {
    if (i == s) {
      ins.push_back(box(m, src.base, x, {m.attr(count), size}, srcStrides));
      weightBoxes.push_back(
          box(m, weights.base, w, {size}, {weights.strides.back()}));
      return;
    }
    for (int64_t tap = taps[i].first; tap < taps[i].second; ++tap)
      self(self, i + 1,
           m.add(x, m.mul(m.attr(tap * dims[i].dilation), src.strides[i + 1])),
           m.add(w, m.mul(m.attr(tap), weights.strides[i])));
  };
  addTaps(addTaps, 0, srcAt, m.attr(0));
  int64_t n = ins.size();
  SmallVector<AffineMap> maps(n, loops);
  llvm::append_range(ins, weightBoxes);
  maps.append(n, channels);
  addEpilogueOperands(
      m, epilogue.epilogueOperands,
      {image, m.attr(0), outer, m.attr(column), m.attr(count), size}, ins,
      maps);
  maps.push_back(loops);
  Value out = box(m, dst.base, dstAt, {m.attr(count), size},
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
  auto row = IndexMath::constant(src.strides[1]);
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

/// With an outer dim, one branch per segment of it.
void DirectDepthwise::emitRow(IndexMath &m, Ofr image,
                              ArrayRef<Ofr> outer) const {
  // One in so many rows is not worth the code.
  constexpr int64_t kRareRow = 20;
  auto columns = [&](IndexMath &cm, std::optional<WindowSegment> row) {
    for (const WindowSegment &s : segmentsOf(dims.back())) {
      SmallVector<Taps> taps;
      if (row)
        taps.push_back(row->taps);
      taps.push_back(s.taps);
      emitColumns(cm, image, outer, s.from, s.count, taps,
                  !row || row->count * kRareRow > dims[0].out);
    }
  };
  if (outer.empty())
    return columns(m, std::nullopt);
  SmallVector<WindowSegment> rows = segmentsOf(dims[0]);
  auto choose = [&](auto &self, IndexMath &cm, size_t i) -> void {
    if (i + 1 == rows.size())
      return columns(cm, rows[i]);
    OpBuilder &b = cm.builder();
    Value inside = arith::CmpIOp::create(
        b, cm.location(), arith::CmpIPredicate::slt, cm.value(outer[0]),
        cm.value(cm.attr(rows[i + 1].from)));
    auto branch = scf::IfOp::create(b, cm.location(), inside, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    IndexMath then(b, cm.location());
    columns(then, rows[i]);
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    IndexMath otherwise(b, cm.location());
    self(self, otherwise, i + 1);
  };
  choose(choose, m, 0);
}

} // namespace tenon::tiling
