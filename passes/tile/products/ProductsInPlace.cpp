//===- ProductsInPlace.cpp - matrices times matrices as they lie ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Where few rows meet weights that change with every execution, packing would
// move them three times for one reading. An item has some columns of dst:
//
//   N together in memory: K a few rows of W at a time, each a stream,
//     dst = A[:, 0:k] W[0:k];  dst = dst + A[:, k:2k] W[k:2k];  ..
//   K together: dst = dots of rows of A and columns of W
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/Totals.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/Products.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::tiling {

namespace {

/// Rows of W that are read beside each other; docs/cost-model.md.
constexpr int64_t kStreams = 16;
/// Columns of an item: few enough that threads share them, so many that a
/// stream is worth its beginning. Longer ones matter more than more items.
constexpr int64_t kMinColumns = 128, kMaxColumns = 1024, kColumnStep = 32;
constexpr int64_t kItems = 4;
/// Columns of A and W in one dot, in chains of one lane each. Longer ones are
/// added up, which costs more the shorter they are.
constexpr int64_t kDots = 16384;

class InPlaceSection : ProductSections {
public:
  InPlaceSection(GroupContext &ctx, const Epilogue &epilogue,
                 MatMulProblem product)
      : ProductSections(ctx, epilogue, std::move(product)),
        sumsInDst(p.dst.elementType().isF32()) {}

  void emit();

private:
  /// Columns [first, first + columns) of dst.
  struct Item {
    SmallVector<Ofr> at; // index in the space, row 0
    Ofr first;
    int64_t columns;
    Value scratch;
  };

  int64_t weightBytes() const {
    return p.n * IndexMath::constant(p.k).value_or(0) *
           p.w.elementType().getIntOrFloatBitWidth() / 8;
  }
  bool isDots() const { return IndexMath::isConstant(p.inPlace->k, 1); }
  /// Parts of K, each added to sums in memory.
  int64_t numAdditions() const;
  bool hasTotals() const { return totals.any(); }

  /// Where a sum goes, and what its epilogue reads.
  struct Target {
    Strided dst;
    ArrayRef<Strided> epilogueOperands;
    SmallVector<Ofr> start;
    int64_t rowDim;
  };
  void emitStreams(IndexMath &im, const Item &item) const;
  /// The same where additions are more than dst may have.
  void emitStreamsToTotals(IndexMath &im, const Item &item,
                           const Target &dst) const;
  void emitStream(IndexMath &im, const Item &item, Ofr from, int64_t count,
                  SumPart part, const Target &to) const;
  void emitDotProducts(IndexMath &im, const Item &item) const;
  void emitLongDots(IndexMath &im, const Item &item, Value sums) const;
  /// What `memory` has for the item, as rows of sums.
  Value asRows(IndexMath &im, Value memory, const Item &item) const;
  /// Sums in scratch memory, after the totals.
  Value sumsOf(IndexMath &im, const Item &item) const;
  /// A's columns and W's rows [from, from + count).
  std::pair<Value, Value> operands(IndexMath &im, const Item &item, Ofr from,
                                   Ofr count) const;

  bool sumsInDst;
  Totals totals;
};

std::pair<Value, Value> InPlaceSection::operands(IndexMath &im,
                                                 const Item &item, Ofr from,
                                                 Ofr count) const {
  Ofr a = im.add(offsetOf(im, p.a, item.at), im.mul(from, aK));
  Ofr w = im.add(offsetOf(im, p.w, item.at), im.mul(from, p.inPlace->k));
  w = im.add(w, im.mul(item.first, p.inPlace->n));
  return {box(im, p.a.base, a, {space.rows, count},
              {p.a.strides[space.rowDim], aK}),
          box(im, p.w.base, w, {count, im.attr(item.columns)},
              {p.inPlace->k, p.inPlace->n})};
}

void InPlaceSection::emitStream(IndexMath &im, const Item &item, Ofr from,
                                int64_t count, SumPart part,
                                const Target &to) const {
  auto [a, w] = operands(im, item, from, im.attr(count));
  auto product =
      epilogue.emitBrgemm(im, a, w, to.dst, to.epilogueOperands, to.start,
                          to.rowDim, space.rows, im.attr(item.columns), part);
  product.setPacked(false);
  product.setPrefetchNext(weightBytes() >= kFromMemoryBytes);
  product.setPrefetchOut(false);
}

void InPlaceSection::emitStreams(IndexMath &im, const Item &item) const {
  Target dst{p.dst, p.epilogueOperands, item.at, space.rowDim};
  dst.start.push_back(item.first);
  int64_t k = *IndexMath::constant(p.k), parts = k / kStreams;
  if (parts < 2 || !sumsInDst) {
    emitStream(im, item, im.attr(0), k, SumPart::whole, dst);
    return;
  }
  if (hasTotals())
    return emitStreamsToTotals(im, item, dst);
  emitStream(im, item, im.attr(0), kStreams, SumPart::first, dst);
  emitLoop(im, im.attr(1), im.attr(parts - 1), [&](IndexMath &km, Ofr part) {
    emitStream(km, item, km.mul(part, km.attr(kStreams)), kStreams,
               SumPart::middle, dst);
  });
  int64_t from = (parts - 1) * kStreams;
  emitStream(im, item, im.attr(from), k - from, SumPart::last, dst);
}

void InPlaceSection::emitStreamsToTotals(IndexMath &im, const Item &item,
                                         const Target &dst) const {
  int64_t k = *IndexMath::constant(p.k), parts = k / kStreams;
  Totals sums = totals;
  sums.begin(im, item.scratch, im.attr(0));
  Value all = sumsOf(im, item);
  fill(im, all, 0);
  auto add = [&](IndexMath &am, Value total) {
    addTo(am, asRows(am, total, item), all);
  };
  auto emitPart = [&](IndexMath &km, Ofr from, int64_t count) {
    Ofr zero = km.attr(0);
    Target total{stridedOf(km, asRows(km, sums.first(km), item)),
                 {},
                 {zero, zero},
                 /*rowDim=*/0};
    emitStream(km, item, from, count, SumPart::middle, total);
    sums.added(km, km.attr(1), add);
  };
  emitLoop(im, im.attr(0), im.attr(parts - 1), [&](IndexMath &km, Ofr part) {
    emitPart(km, km.mul(part, km.attr(kStreams)), kStreams);
  });
  int64_t from = (parts - 1) * kStreams;
  emitPart(im, im.attr(from), k - from);
  sums.finish(im, add);
  epilogue.emitElementwise(im, all, dst.dst, dst.epilogueOperands, dst.start,
                           dst.rowDim, space.rows, im.attr(item.columns));
}

Value InPlaceSection::asRows(IndexMath &im, Value memory,
                             const Item &item) const {
  Ofr columns = im.attr(item.columns);
  return box(im, memory, im.attr(0), {space.rows, columns},
             {columns, im.attr(1)});
}

Value InPlaceSection::sumsOf(IndexMath &im, const Item &item) const {
  Value memory = scratchView(im, item.scratch, im.builder().getF32Type(),
                             im.attr(totals.bytes()),
                             im.mul(space.rows, im.attr(item.columns)));
  return asRows(im, memory, item);
}

void InPlaceSection::emitDotProducts(IndexMath &im, const Item &item) const {
  SmallVector<Ofr> start(item.at);
  start.push_back(item.first);
  Ofr columns = im.attr(item.columns);
  bool isResult = sumsInDst && epilogue.empty();
  Value sums = isResult
                   ? box(im, p.dst.base, offsetOf(im, p.dst, start),
                         {space.rows, columns},
                         {p.dst.strides[space.rowDim], p.dst.strides.back()})
                   : sumsOf(im, item);
  fill(im, sums, 0);
  if (numAdditions() < 2) {
    auto [a, w] = operands(im, item, im.attr(0), p.k);
    addDots(im, a, w, sums);
  } else {
    // A column in one piece, as memory has it.
    emitLoop(im, im.attr(0), columns, [&](IndexMath &cm, Ofr column) {
      Item one{item.at, cm.add(item.first, column), 1, item.scratch};
      Ofr from[] = {cm.attr(0), column}, sizes[] = {space.rows, cm.attr(1)};
      Ofr steps[] = {cm.attr(1), cm.attr(1)};
      emitLongDots(cm, one,
                   memref::SubViewOp::create(cm.builder(), cm.location(), sums,
                                             from, sizes, steps));
    });
  }
  if (!isResult)
    epilogue.emitElementwise(im, sums, p.dst, p.epilogueOperands, start,
                             space.rowDim, space.rows, columns);
}

/// sums += rows of A times one column of W, which are cut into parts.
void InPlaceSection::emitLongDots(IndexMath &im, const Item &item,
                                  Value sums) const {
  Totals parts = totals;
  if (parts.any())
    parts.begin(im, item.scratch, im.attr(0));
  auto add = [&](IndexMath &am, Value total) {
    addTo(am, asRows(am, total, item), sums);
  };
  auto emitPart = [&](IndexMath &km, Ofr from, Ofr count) {
    auto [a, w] = operands(km, item, from, count);
    addDots(km, a, w, parts.any() ? asRows(km, parts.first(km), item) : sums);
    parts.added(km, km.attr(1), add);
  };
  // The last part is the longest.
  int64_t k = *IndexMath::constant(p.k), last = (numAdditions() - 1) * kDots;
  emitLoop(im, im.attr(0), im.attr(last / kDots), [&](IndexMath &km, Ofr part) {
    emitPart(km, km.mul(part, km.attr(kDots)), km.attr(kDots));
  });
  emitPart(im, im.attr(last), im.attr(k - last));
  parts.finish(im, add);
}

int64_t InPlaceSection::numAdditions() const {
  return IndexMath::constant(p.k).value_or(0) / (isDots() ? kDots : kStreams);
}

void InPlaceSection::emit() {
  SmallVector<Ofr> counts(ArrayRef(space.sizes).drop_back());
  counts.push_back(m.attr(1));
  int64_t batch = IndexMath::constant(m.product(counts)).value_or(1);
  int64_t columns = roundUp(
      std::clamp(p.n * batch / kItems, kMinColumns, kMaxColumns), kColumnStep);
  counts.push_back(m.ceilDiv(m.attr(p.n), m.attr(columns)));
  auto rows = IndexMath::constant(space.rows);
  if (rows && (isDots() || sumsInDst))
    totals = Totals(isDots() ? *rows : *rows * columns, numAdditions());
  // Sums that are not the result.
  Ofr bytes = m.attr(totals.bytes());
  if (isDots() ? !(sumsInDst && epilogue.empty()) : totals.any())
    bytes = m.add(bytes,
                  m.mul(space.rows,
                        m.attr(columns * static_cast<int64_t>(sizeof(float)))));
  emitItems(m, ctx.label, m.product(counts), bytes,
            [&](IndexMath &im, Value index, Value scratch) {
              SmallVector<Ofr> at = delinearize(im, index, counts);
              Ofr number = at.pop_back_val();
              Ofr first = im.mul(number, im.attr(columns));
              withBlockSize(im, number, p.n, columns,
                            [&](IndexMath &cm, int64_t count) {
                              Item item{at, first, count, scratch};
                              if (isDots())
                                emitDotProducts(cm, item);
                              else
                                emitStreams(cm, item);
                            });
            });
}

} // namespace

void emitProductInPlace(GroupContext &ctx, const Epilogue &epilogue,
                        MatMulProblem p) {
  InPlaceSection(ctx, epilogue, std::move(p)).emit();
}

static void addSums(IndexMath &m, Value a, Value b, Value c,
                    ArrayRef<AffineMap> maps) {
  constexpr auto parallel = utils::IteratorType::parallel;
  linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange(), ValueRange{a, b}, c, maps,
      {parallel, parallel, utils::IteratorType::reduction},
      [](OpBuilder &nb, Location l, ValueRange args) {
        Value sum = math::FmaOp::create(nb, l, args[0], args[1], args[2]);
        linalg::YieldOp::create(nb, l, sum);
      });
}

void emitSums(IndexMath &m, Value a, Value b, Value c,
              ArrayRef<AffineMap> maps) {
  fill(m, c, 0);
  addSums(m, a, b, c, maps);
}

void addDots(IndexMath &m, Value a, Value b, Value c) {
  OpBuilder &builder = m.builder();
  AffineExpr column = builder.getAffineDimExpr(0),
             row = builder.getAffineDimExpr(1), k = builder.getAffineDimExpr(2);
  auto map = [&](AffineExpr x, AffineExpr y) {
    return AffineMap::get(3, 0, {x, y}, builder.getContext());
  };
  // A column of b is read once.
  addSums(m, a, b, c, {map(row, k), map(k, column), map(row, column)});
}

void emitDots(IndexMath &m, Value a, Value b, Value c) {
  fill(m, c, 0);
  addDots(m, a, b, c);
}

} // namespace tenon::tiling
