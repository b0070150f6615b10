//===- ProductsInPlace.cpp - matrices times matrices as they lie ----------===//
//
// Where few rows meet weights that change with every execution, packing would
// move them three times for one reading. An item has some columns of dst:
//
//   N together in memory: K a few rows of W at a time, each a stream,
//     dst = A[:, 0:k] W[0:k];  dst = dst + A[:, k:2k] W[k:2k];  ..
//   K together: dst = dots of rows of A and columns of W
//
//===----------------------------------------------------------------------===//
#include "passes/tiling/Items.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Windows.h"

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

class InPlaceSection : ProductSections {
public:
  InPlaceSection(GroupContext &ctx, const Epilogue &epilogue, Product product)
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
  void emitStreams(IndexMath &im, const Item &item) const;
  void emitDotProducts(IndexMath &im, const Item &item) const;
  /// A's columns and W's rows [from, from + count).
  std::pair<Value, Value> operands(IndexMath &im, const Item &item, Ofr from,
                                   Ofr count) const;

  bool sumsInDst;
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

void InPlaceSection::emitStreams(IndexMath &im, const Item &item) const {
  auto emitPart = [&](IndexMath &km, Ofr from, int64_t count, SumPart part) {
    auto [a, w] = operands(km, item, from, km.attr(count));
    SmallVector<Ofr> start(item.at);
    start.push_back(item.first);
    auto product =
        epilogue.emitBrgemm(km, a, w, p.dst, p.sides, start, space.rowDim,
                            space.rows, km.attr(item.columns), part);
    product.setPacked(false);
    product.setPrefetchNext(weightBytes() >= kFromMemoryBytes);
    product.setFetchOut(false);
  };
  int64_t k = *IndexMath::constant(p.k), parts = k / kStreams;
  if (parts < 2 || !sumsInDst)
    return emitPart(im, im.attr(0), k, SumPart::whole);
  emitPart(im, im.attr(0), kStreams, SumPart::first);
  emitLoop(im, im.attr(1), im.attr(parts - 1), [&](IndexMath &km, Ofr part) {
    emitPart(km, km.mul(part, km.attr(kStreams)), kStreams, SumPart::middle);
  });
  int64_t from = (parts - 1) * kStreams;
  emitPart(im, im.attr(from), k - from, SumPart::last);
}

void InPlaceSection::emitDotProducts(IndexMath &im, const Item &item) const {
  auto [a, w] = operands(im, item, im.attr(0), p.k);
  SmallVector<Ofr> start(item.at);
  start.push_back(item.first);
  Ofr columns = im.attr(item.columns);
  if (sumsInDst && epilogue.empty()) {
    Value c =
        box(im, p.dst.base, offsetOf(im, p.dst, start), {space.rows, columns},
            {p.dst.strides[space.rowDim], p.dst.strides.back()});
    return emitDots(im, a, w, c);
  }
  Value sums = box(im, item.scratch, im.attr(0), {space.rows, columns},
                   {columns, im.attr(1)});
  emitDots(im, a, w, sums);
  epilogue.emitElementwise(im, sums, p.dst, p.sides, start, space.rowDim,
                           space.rows, columns);
}

void InPlaceSection::emit() {
  SmallVector<Ofr> counts(ArrayRef(space.sizes).drop_back());
  counts.push_back(m.attr(1));
  int64_t batch = IndexMath::constant(m.product(counts)).value_or(1);
  int64_t columns = roundUp(
      std::clamp(p.n * batch / kItems, kMinColumns, kMaxColumns), kColumnStep);
  counts.push_back(m.ceilDiv(m.attr(p.n), m.attr(columns)));
  // Dots whose sums are not the result.
  Ofr bytes = m.attr(0);
  if (isDots() && !(sumsInDst && epilogue.empty()))
    bytes = m.mul(space.rows,
                  m.attr(columns * static_cast<int64_t>(sizeof(float))));
  emitItems(m, ctx.label, m.product(counts), bytes,
            [&](IndexMath &im, Value index, Value scratch) {
              SmallVector<Ofr> at = delinearize(im, index, counts);
              Ofr number = at.pop_back_val();
              Ofr first = im.mul(number, im.attr(columns));
              withBlockSize(
                  im, number, p.n, columns, [&](IndexMath &cm, int64_t count) {
                    Item item{at, first, count, nullptr};
                    if (!isDots())
                      return emitStreams(cm, item);
                    Type f32 = cm.builder().getF32Type();
                    if (scratch)
                      item.scratch =
                          scratchView(cm, scratch, f32, cm.attr(0),
                                      cm.mul(space.rows, cm.attr(count)));
                    emitDotProducts(cm, item);
                  });
            });
}

} // namespace

void emitProductInPlace(GroupContext &ctx, const Epilogue &epilogue,
                        Product p) {
  InPlaceSection(ctx, epilogue, std::move(p)).emit();
}

void emitSums(IndexMath &m, Value a, Value b, Value c,
              ArrayRef<AffineMap> maps) {
  constexpr auto parallel = utils::IteratorType::parallel;
  fill(m, c, 0);
  linalg::GenericOp::create(
      m.builder(), m.location(), TypeRange(), ValueRange{a, b}, c, maps,
      {parallel, parallel, utils::IteratorType::reduction},
      [](OpBuilder &nb, Location l, ValueRange args) {
        Value sum = math::FmaOp::create(nb, l, args[0], args[1], args[2]);
        linalg::YieldOp::create(nb, l, sum);
      });
}

void emitDots(IndexMath &m, Value a, Value b, Value c) {
  OpBuilder &builder = m.builder();
  AffineExpr column = builder.getAffineDimExpr(0),
             row = builder.getAffineDimExpr(1), k = builder.getAffineDimExpr(2);
  auto map = [&](AffineExpr x, AffineExpr y) {
    return AffineMap::get(3, 0, {x, y}, builder.getContext());
  };
  // A column of b is read once.
  emitSums(m, a, b, c, {map(row, k), map(k, column), map(row, column)});
}

} // namespace tenon::tiling
