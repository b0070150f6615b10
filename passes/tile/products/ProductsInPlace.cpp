//===- ProductsInPlace.cpp - products with weights that are not packed ----===//
// SPDX-License-Identifier: Apache-2.0
//
// If weights change with every execution and are multiplied with few rows,
// packing would read and write them for one use. An item has some columns of
// dst and reads the weights where they are. There are two cases:
//
//   W is contiguous along N: a few rows of W at a time, read side by side,
//     dst = A[:, 0:k] W[0:k];  dst = dst + A[:, k:2k] W[k:2k];  ..
//   W is contiguous along K: dst = dot products of rows of A and columns of W
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/Totals.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/Products.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Rows of W that are read beside each other; docs/cost-model.md.
constexpr int64_t kStreams = 16;
/// Columns of an item: few enough that threads can share them, but so many that
/// a run of each row of W repays the start of the hardware's prefetching.
/// Longer runs matter more than more items.
constexpr int64_t kMinColumns = 128, kMaxColumns = 1024, kColumnStep = 32;
constexpr int64_t kItems = 4;
/// What counts for an unknown number of columns of dst.
constexpr int64_t kUnknownColumns = 1024;
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
    SmallVector<Index> at; // index in the space, row 0
    Index first, columns;
    Value scratch;
  };

  int64_t weightBytes() const {
    return (p.n * p.k).constant().value_or(0) *
           p.w.elementType().getIntOrFloatBitWidth() / 8;
  }
  bool isDots() const { return p.inPlace->k.isConstant(1); }
  /// Parts of K, each added to sums in memory.
  int64_t numAdditions() const;
  bool hasTotals() const { return totals.any(); }

  /// Where a sum goes, and what its epilogue reads.
  struct Target {
    Strided dst;
    ArrayRef<Strided> epilogueOperands;
    SmallVector<Index> start;
    int64_t rowDim;
  };
  void emitStreams(const Item &item) const;
  /// The same where additions are more than dst may have.
  void emitStreamsToTotals(const Item &item, const Target &dst) const;
  void emitStream(const Item &item, Index from, int64_t count, SumPart part,
                  const Target &to) const;
  void emitDotProducts(const Item &item) const;
  void emitLongDots(const Item &item, Value sums) const;
  /// What `memory` has for the item, as rows of sums.
  Value asRows(Value memory, const Item &item) const;
  /// Sums in scratch memory, after the totals.
  Value sumsOf(const Item &item) const;
  /// A's columns and W's rows [from, from + count).
  std::pair<Value, Value> operands(const Item &item, Index from,
                                   Index count) const;

  bool sumsInDst;
  Totals totals;
};

std::pair<Value, Value> InPlaceSection::operands(const Item &item, Index from,
                                                 Index count) const {
  Index a = offsetOf(p.a, item.at) + from * aK;
  Index w = offsetOf(p.w, item.at) + from * p.inPlace->k;
  w += item.first * p.inPlace->n;
  return {
      box(m, p.a.base, a, {space.rows, count}, {p.a.strides[space.rowDim], aK}),
      box(m, p.w.base, w, {count, item.columns}, {p.inPlace->k, p.inPlace->n})};
}

void InPlaceSection::emitStream(const Item &item, Index from, int64_t count,
                                SumPart part, const Target &to) const {
  auto [a, w] = operands(item, from, count);
  auto product =
      epilogue.emitBrgemm(m, a, w, to.dst, to.epilogueOperands, to.start,
                          to.rowDim, space.rows, item.columns, part);
  product.setPacked(false);
  product.setPrefetchNext(weightBytes() >= kFromMemoryBytes);
  product.setPrefetchOut(false);
}

void InPlaceSection::emitStreams(const Item &item) const {
  Target dst{p.dst, p.epilogueOperands, item.at, space.rowDim};
  dst.start.push_back(item.first);
  int64_t k = *p.k.constant(), parts = k / kStreams;
  if (parts < 2 || !sumsInDst) {
    emitStream(item, 0, k, SumPart::whole, dst);
    return;
  }
  if (hasTotals())
    return emitStreamsToTotals(item, dst);
  emitStream(item, 0, kStreams, SumPart::first, dst);
  emitLoop(m, 1, parts - 1, [&](Index part) {
    emitStream(item, part * kStreams, kStreams, SumPart::middle, dst);
  });
  int64_t from = (parts - 1) * kStreams;
  emitStream(item, from, k - from, SumPart::last, dst);
}

void InPlaceSection::emitStreamsToTotals(const Item &item,
                                         const Target &dst) const {
  int64_t k = *p.k.constant(), parts = k / kStreams;
  Totals sums = totals;
  sums.begin(m, item.scratch, 0);
  Value all = sumsOf(item);
  fill(m, all, 0);
  auto add = [&](Value total) { addTo(m, asRows(total, item), all); };
  auto emitPart = [&](Index from, int64_t count) {
    Target total{stridedOf(m, asRows(sums.first(m), item)),
                 {},
                 {0, 0},
                 /*rowDim=*/0};
    emitStream(item, from, count, SumPart::middle, total);
    sums.added(m, 1, add);
  };
  emitLoop(m, 0, parts - 1,
           [&](Index part) { emitPart(part * kStreams, kStreams); });
  int64_t from = (parts - 1) * kStreams;
  emitPart(from, k - from);
  sums.finish(m, add);
  epilogue.emitElementwise(m, all, dst.dst, dst.epilogueOperands, dst.start,
                           dst.rowDim, space.rows, item.columns);
}

Value InPlaceSection::asRows(Value memory, const Item &item) const {
  Index columns = item.columns;
  return box(m, memory, 0, {space.rows, columns}, {columns, 1});
}

Value InPlaceSection::sumsOf(const Item &item) const {
  Value memory = scratchView(m, item.scratch, m.builder().getF32Type(),
                             totals.bytes(), space.rows * item.columns);
  return asRows(memory, item);
}

void InPlaceSection::emitDotProducts(const Item &item) const {
  SmallVector<Index> start(item.at);
  start.push_back(item.first);
  Index columns = item.columns;
  bool isResult = sumsInDst && epilogue.empty();
  Value sums =
      isResult
          ? box(m, p.dst.base, offsetOf(p.dst, start), {space.rows, columns},
                {p.dst.strides[space.rowDim], p.dst.strides.back()})
          : sumsOf(item);
  fill(m, sums, 0);
  if (numAdditions() < 2) {
    auto [a, w] = operands(item, 0, p.k);
    addDots(m, a, w, sums);
  } else {
    // A column in one piece, as memory has it.
    emitLoop(m, 0, columns, [&](Index column) {
      Item one{item.at, item.first + column, 1, item.scratch};
      emitLongDots(one, subBox(m, sums, {0, column}, {space.rows, 1}));
    });
  }
  if (!isResult)
    epilogue.emitElementwise(m, sums, p.dst, p.epilogueOperands, start,
                             space.rowDim, space.rows, columns);
}

/// sums += rows of A times one column of W, which are cut into parts.
void InPlaceSection::emitLongDots(const Item &item, Value sums) const {
  Totals parts = totals;
  if (parts.any())
    parts.begin(m, item.scratch, 0);
  auto add = [&](Value total) { addTo(m, asRows(total, item), sums); };
  auto emitPart = [&](Index from, Index count) {
    auto [a, w] = operands(item, from, count);
    addDots(m, a, w, parts.any() ? asRows(parts.first(m), item) : sums);
    parts.added(m, 1, add);
  };
  // The last part is the longest.
  int64_t k = *p.k.constant(), last = (numAdditions() - 1) * kDots;
  emitLoop(m, 0, last / kDots,
           [&](Index part) { emitPart(part * kDots, kDots); });
  emitPart(last, k - last);
  parts.finish(m, add);
}

int64_t InPlaceSection::numAdditions() const {
  return p.k.constant().value_or(0) / (isDots() ? kDots : kStreams);
}

void InPlaceSection::emit() {
  Grid grid;
  grid.add("matrix", ArrayRef(space.sizes).drop_back());
  grid.add("matrix", 1); // with all of its rows
  int64_t batch = grid.size().constant().value_or(1);
  int64_t columns = roundUp(
      std::clamp(p.n.constant().value_or(kUnknownColumns) * batch / kItems,
                 kMinColumns, kMaxColumns),
      kColumnStep);
  grid.add("columns", ceilDiv(p.n, columns));
  auto rows = space.rows.constant();
  if (rows && (isDots() || sumsInDst))
    totals = Totals(isDots() ? *rows : *rows * columns, numAdditions());
  // Sums that are not the result.
  Index bytes = totals.bytes();
  if (isDots() ? !(sumsInDst && epilogue.empty()) : totals.any())
    bytes += space.rows * (columns * static_cast<int64_t>(sizeof(float)));
  emitItems(m, ctx.label, grid, bytes,
            [&](const Grid::Item &place, Value scratch) {
              Index number = place["columns"];
              Index first = number * columns;
              withBlockSize(m, number, p.n, columns, [&](Index count) {
                Item item{SmallVector<Index>(place.all("matrix")), first, count,
                          scratch};
                if (isDots())
                  emitDotProducts(item);
                else
                  emitStreams(item);
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

} // namespace tenon::passes
