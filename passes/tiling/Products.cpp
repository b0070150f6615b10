//===- Products.cpp - matrices times packed matrices ----------------------===//
//
// Items are (batch, block of rows, panel), panels innermost, so that a block of
// rows stays in L2 while the panels of the weights pass by. Where K is so long
// that the panel in use and the next, which is fetched meanwhile, do not fit
// beside it, K is cut in parts, a section for each:
//
//   dst = A[:, 0:k] W[0:k]            panels of 4096 x 48 floats, 768 KiB:
//   dst = dst + A[:, k:2k] W[k:2k]    four parts of 192 KiB
//
//===----------------------------------------------------------------------===//
#include "passes/tiling/Products.h"

#include "passes/tiling/Items.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::tiling {

namespace {

constexpr int64_t kTileRows = 32; // two tiles of a matrix unit
/// Parts of K are multiples of it: whole steps of kernels.
constexpr int64_t kPartStep = 16;
/// Up to so many rows, memory bounds a product: panels come from there in time
/// if they are small.
constexpr int64_t kFewRows = 64;
constexpr int64_t kFewRowsShare = 8; // of L2, for a panel: one in so many
/// With fewer rows a whole panel streams better from memory, on some machines
/// much better (docs/cost-model.md).
constexpr int64_t kMinRowsOfParts = 9;
/// Multiplications that are worth an item of their own.
constexpr int64_t kMinItemProducts = 1 << 17;

void dropDim(Strided &s) {
  s.sizes.pop_back();
  s.strides.pop_back();
}

/// Where rows of src lie so far apart that those of a tile meet few sets of the
/// cache, and many panels pass by: a copy of a block of rows, made at its first
/// panel and wherever a range of items begins.
struct RowCopy {
  int64_t bytes = 0; // 0: there is none
  int64_t pitch = 0;
  int64_t columns = 0;

  static RowCopy of(const Product &p, int64_t rowDim, int64_t panels,
                    int64_t block) {
    constexpr int64_t kMinPanels = 8;
    RowCopy copy;
    int64_t size = p.a.elementType().getIntOrFloatBitWidth() / 8;
    auto k = IndexMath::constant(p.k);
    auto stride = IndexMath::constant(p.a.strides[rowDim]);
    if (p.interleave == 1 || !k || !stride || *stride * size % kBadStride ||
        panels < kMinPanels || block < kTileRows)
      return copy;
    copy.columns = *k;
    copy.pitch = oddPitch(*k, size);
    copy.bytes = copy.pitch * size * block;
    return copy;
  }

  /// The copy of `a`, a block of rows.
  Value emit(IndexMath &m, Value a, Value scratch, Value item,
             Ofr panel) const {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    auto type = cast<MemRefType>(a.getType());
    int64_t size = type.getElementTypeBitWidth() / 8;
    Value rows = scratchView(m, scratch, type.getElementType(), m.attr(0),
                             m.attr(bytes / size));
    Ofr length = memref::getMixedSize(b, loc, a, 0);
    Value to = box(m, rows, m.attr(0), {length, m.attr(columns)},
                   {m.attr(pitch), m.attr(1)});
    auto isFirst = [&](Value x, Value first) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, first);
    };
    Value wanted =
        arith::OrIOp::create(b, loc, isFirst(item, firstOfRange(item)),
                             isFirst(m.value(panel), m.value(m.attr(0))));
    scf::IfOp::create(b, loc, wanted, [&](OpBuilder &nb, Location l) {
      linalg::CopyOp::create(nb, l, a, to);
      scf::YieldOp::create(nb, l);
    });
    return to;
  }
};

class Sections {
public:
  Sections(GroupContext &ctx, const Epilogue &epilogue, Product product)
      : ctx(ctx), m(ctx.m), epilogue(epilogue), p(std::move(product)),
        aK(p.a.strides.back()), space(mergeRows(m, p)) {
    panels = (p.n + p.panel - 1) / p.panel;
  }

  void emit() {
    auto k = IndexMath::constant(p.k), r = IndexMath::constant(space.rows);
    bool inParts = k && p.interleave == 1 && p.a.elementType().isF32() &&
                   p.dst.elementType().isF32();
    if (!inParts)
      return emitSection(m.attr(0), p.k, SumPart::whole);
    SmallVector<int64_t> parts = partsOfSum(*k, r, p.panel, ctx.core.l2Bytes);
    int64_t from = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      bool first = i == 0, last = i + 1 == parts.size();
      emitSection(m.attr(from), m.attr(part),
                  first && last ? SumPart::whole
                  : first       ? SumPart::first
                  : last        ? SumPart::last
                                : SumPart::middle);
      from += part;
    }
  }

private:
  /// The sum over [from, from + k) of K.
  void emitSection(Ofr from, Ofr k, SumPart part);
  /// Item (batch and first row at `at`, panel): `length` rows.
  void emitItem(IndexMath &im, ArrayRef<Ofr> at, Ofr panel, Ofr length,
                Ofr from, Ofr k, SumPart part,
                llvm::function_ref<Value(IndexMath &, Value)> copied) const;

  GroupContext &ctx;
  IndexMath &m;
  const Epilogue &epilogue;
  Product p;
  Ofr aK; // stride of A along K
  RowSpace space;
  int64_t panels = 0;
  bool streams = false; // panels come from beyond L2
};

void Sections::emitItem(
    IndexMath &im, ArrayRef<Ofr> at, Ofr panel, Ofr length, Ofr from, Ofr k,
    SumPart part, llvm::function_ref<Value(IndexMath &, Value)> copied) const {
  int64_t rowDim = space.rowDim;
  Ofr whole = panelSize(im, p.k, p.panel, p.interleave);
  Ofr aOffset = im.add(offsetOf(im, p.a, at), im.mul(from, aK));
  Ofr wOffset = im.add(offsetOf(im, p.w, at), im.mul(panel, whole));
  wOffset = im.add(wOffset, panelSize(im, from, p.panel, p.interleave));
  Value a = copied(
      im, box(im, p.a.base, aOffset, {length, k}, {p.a.strides[rowDim], aK}));
  Value w = panelBox(im, p.w.base, wOffset, {}, {}, k, p.panel, p.interleave);
  withBlockSize(im, panel, p.n, p.panel, [&](IndexMath &cm, int64_t columns) {
    SmallVector<Ofr> start(at);
    start.push_back(cm.mul(panel, cm.attr(p.panel)));
    auto product = epilogue.emitBrgemm(cm, a, w, p.dst, p.sides, start, rowDim,
                                       length, cm.attr(columns), part);
    product.setPrefetchNext(streams);
    if (streams && part != SumPart::whole)
      product.setNextPanel(IndexMath::constant(whole));
    product.setUnsignedA(p.unsignedA);
  });
}

void Sections::emitSection(Ofr from, Ofr k, SumPart part) {
  auto r = IndexMath::constant(space.rows), allK = IndexMath::constant(p.k);
  int64_t block = rowBlock(r, IndexMath::constant(k), ctx.core.l2Bytes,
                           p.a.elementType().getIntOrFloatBitWidth() / 8,
                           p.interleave > 1 ? kTileRows : kMinRowBlock);
  int64_t step = p.interleave > 1 ? kTileRows : 1;
  // What lies still is read once: a block of rows while panels pass, or, where
  // rows are so long that few of them fit, a panel while rows pass.
  bool panelLast = !r || *r <= block || block >= p.panel;
  SmallVector<Ofr> counts(ArrayRef(space.sizes).drop_back());
  auto batch = IndexMath::constant(m.product(counts));
  auto sum = IndexMath::constant(k);
  if (r && batch && sum) {
    int64_t perRow = std::max<int64_t>(1, *sum * std::min(p.n, p.panel));
    int64_t least = std::max(kMinRowBlock, kMinItemProducts / perRow);
    block = roundUp(shareRows(*r, block, *batch * panels, least), step);
  }
  counts.push_back(m.ceilDiv(space.rows, m.attr(block)));
  counts.insert(counts.end() - !panelLast, m.attr(panels));
  streams = panelLast && allK && *allK * p.panel * panels >= kStreamedWeights;
  RowCopy copy;
  if (ctx.core.matrixUnit && panelLast)
    copy = RowCopy::of(p, space.rowDim, panels, block);
  auto section = [&](IndexMath &im, Value item, Value scratch) {
    SmallVector<Ofr> at = delinearize(im, item, counts);
    auto panelAt = at.end() - 1 - !panelLast;
    Ofr panel = *panelAt;
    at.erase(panelAt);
    Ofr rowBlockAt = at.back();
    at.back() = im.mul(rowBlockAt, im.attr(block));
    auto copied = [&](IndexMath &cm, Value a) {
      return copy.bytes ? copy.emit(cm, a, scratch, item, panel) : a;
    };
    auto emit = [&](IndexMath &rm, Ofr length) {
      emitItem(rm, at, panel, length, from, k, part, copied);
    };
    // A known number of rows needs kernels of one or two heights only.
    if (r)
      withBlockSize(
          im, rowBlockAt, *r, block,
          [&](IndexMath &rm, int64_t length) { emit(rm, rm.attr(length)); });
    else
      emit(im, im.min(im.attr(block), im.sub(space.rows, at.back())));
  };
  emitItems(m, ctx.label, m.product(counts), m.attr(copy.bytes), section);
}

} // namespace

RowSpace mergeRows(IndexMath &m, Product &p) {
  Ofr dstN = p.dst.strides.back();
  SmallVector<Ofr> sideN;
  dropDim(p.a);
  dropDim(p.dst);
  for (Strided &s : p.sides) {
    sideN.push_back(s.strides.back());
    dropDim(s);
  }
  SmallVector<Ofr> sizes = p.dst.sizes;
  SmallVector<int> classes(sizes.size(), 0);
  SmallVector<Strided *> operands{&p.a, &p.w, &p.dst};
  for (Strided &s : p.sides)
    operands.push_back(&s);
  coalesce(m, sizes, classes, operands);
  // The last dim is the rows, unless each has weights of its own.
  if (sizes.empty() || !IndexMath::isConstant(p.w.strides.back(), 0)) {
    sizes.push_back(m.attr(1));
    for (Strided *s : operands) {
      s->sizes.push_back(m.attr(1));
      s->strides.push_back(m.attr(0));
    }
  }
  p.dst.sizes.push_back(m.attr(p.n));
  p.dst.strides.push_back(dstN);
  for (auto [s, n] : llvm::zip(p.sides, sideN)) {
    s.sizes.push_back(m.attr(p.n));
    s.strides.push_back(n);
  }
  Ofr rows = sizes.back();
  return {sizes, static_cast<int64_t>(sizes.size()) - 1, rows};
}

SmallVector<int64_t> partsOfSum(int64_t k, std::optional<int64_t> rows,
                                int64_t panel, int64_t l2Bytes) {
  auto fits = [&](int64_t part) {
    int64_t row = part * static_cast<int64_t>(sizeof(float));
    if (rows.value_or(0) <= kFewRows && row * panel > l2Bytes / kFewRowsShare)
      return false;
    return (2 * panel + rowBlock(rows, part, l2Bytes)) * row <= l2Bytes;
  };
  if (k == 0)
    return {0};
  int64_t part = k;
  bool cut = !rows || *rows >= kMinRowsOfParts;
  for (int64_t count = 2; cut && !fits(part) && part > kPartStep; ++count)
    part = roundUp((k + count - 1) / count, kPartStep);
  SmallVector<int64_t> parts;
  for (int64_t left = k; left > 0; left -= part)
    parts.push_back(std::min(left, part));
  return parts;
}

void emitProduct(GroupContext &ctx, const Epilogue &epilogue, Product product) {
  if (product.inPlace)
    emitProductInPlace(ctx, epilogue, std::move(product));
  else
    Sections(ctx, epilogue, std::move(product)).emit();
}

} // namespace tenon::tiling
