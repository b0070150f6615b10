//===- Products.cpp - matrices times packed matrices ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Items are (batch, block of rows, panel), panels innermost, so that a block of
// rows stays in L2 while the panels of the weights pass by. Where K is so long
// that the panel in use and the next, which is prefetched meanwhile, do not fit
// beside it, K is cut in parts, a section for each:
//
//   dst = A[:, 0:k] W[0:k]            panels of 4096 x 48 floats, 768 KiB:
//   dst = dst + A[:, k:2k] W[k:2k]    four parts of 192 KiB
//
// Each part is summed on its own and then added.
//
// Weights that change with every execution may be packed by the items: panels
// are outermost then, and the first item of one packs it. Quantized weights are
// dequantized panel by panel in the same way if there are many rows; with few
// rows the kernels read them directly.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/products/Products.h"

#include "passes/tile/core/Totals.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/DequantizedPanels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace tenon::tiling {

namespace {

constexpr int64_t kTileRows = 32; // two tiles of a matrix unit
/// Up to so many rows, memory bounds a product: panels come from there in time
/// if they are small.
constexpr int64_t kFewRows = 64;
constexpr int64_t kFewRowsShare = 8; // of L2, for a panel: one in so many
/// With fewer rows a whole panel streams better from memory, on some machines
/// much better (docs/cost-model.md).
constexpr int64_t kMinRowsOfParts = 9;
/// With so many panels at most, the first of them, for which rows of A come
/// from beyond L2, takes a share of the time that pays to prefetch them ahead.
constexpr int64_t kFewPanels = 32;
/// With so many panels and columns at least, A whose columns lie apart is
/// brought into rows first: each panel would find the elements of a row in as
/// many lines.
constexpr int64_t kMinPanelsAcross = 6, kMinColumnsAcross = 288;
/// Multiplications that are worth an item of their own.
constexpr int64_t kMinItemProducts = 1 << 17;

void dropDim(Strided &s) {
  s.sizes.pop_back();
  s.strides.pop_back();
}

/// Where columns of src lie apart, or rows so far apart that those of a tile
/// meet few sets of the cache, and many panels pass by, or src is computed
/// here: a copy of a block of rows, made at its first panel and wherever a
/// range of items begins.
struct RowCopy {
  int64_t bytes = 0; // 0: there is none
  int64_t pitch = 0;
  int64_t columns = 0;
  Type element;

  /// For the columns of `sum`, a part of K.
  static RowCopy of(const MatMulProblem &p, Ofr sum, bool across,
                    int64_t rowDim, int64_t panels, int64_t block) {
    constexpr int64_t kMinPanels = 8;
    auto k = IndexMath::constant(sum);
    if (p.made)
      return {*k, p.made->elementType(), block};
    if (across && k && *k >= kMinColumnsAcross && panels >= kMinPanelsAcross &&
        block >= kMinRowBlock)
      return {*k, p.elementOfA(), block};
    RowCopy copy;
    int64_t size = p.elementOfA().getIntOrFloatBitWidth() / 8;
    auto stride = IndexMath::constant(p.a.strides[rowDim]);
    if (p.interleave == 1 || !k || !stride || *stride * size % kBadStride ||
        panels < kMinPanels || block < kTileRows)
      return copy;
    return {*k, p.elementOfA(), block};
  }

  RowCopy() = default;
  RowCopy(int64_t columns, Type element, int64_t block)
      : pitch(oddPitch(columns, bytesOf(element))), columns(columns),
        element(element) {
    bytes = roundUp(pitch * bytesOf(element) * block, kLineBytes);
  }

  static int64_t bytesOf(Type element) {
    return element.getIntOrFloatBitWidth() / 8;
  }

  /// The copy of `length` rows, which `write` makes if it is not there yet.
  Value emit(IndexMath &m, Ofr length, Value scratch, Value item, Ofr panel,
             llvm::function_ref<void(IndexMath &, Value)> write) const {
    Value rows = scratchView(m, scratch, element, m.attr(0),
                             m.attr(bytes / bytesOf(element)));
    Value to = box(m, rows, m.attr(0), {length, m.attr(columns)},
                   {m.attr(pitch), m.attr(1)});
    emitIfFirst(m, item, panel, [&](IndexMath &fm) { write(fm, to); });
    return to;
  }
};

/// Copies rows whose columns lie `stride` apart: some columns at a time, whose
/// lines stay in L1 until all rows have read them, and asks for the next ones.
void copyAcross(IndexMath &m, Value rows, Value to, Ofr stride) {
  constexpr int64_t kColumns = 32;
  int64_t columns = cast<MemRefType>(to.getType()).getShape().back();
  Ofr length = memref::getMixedSize(m.builder(), m.location(), rows, 0);
  auto known = IndexMath::constant(stride);
  auto copy = [&](IndexMath &im, Ofr from, int64_t count) {
    OpBuilder &b = im.builder();
    Ofr at[] = {im.attr(0), from}, sizes[] = {length, im.attr(count)};
    Ofr steps[] = {im.attr(1), im.attr(1)};
    auto part = [&](Value whole) -> Value {
      return memref::SubViewOp::create(b, im.location(), whole, at, sizes,
                                       steps);
    };
    auto copied = linalg::CopyOp::create(
        b, im.location(), ValueRange(part(rows)), ValueRange(part(to)));
    if (known)
      copied->setAttr(codegen::kPrefetchAttr,
                      b.getDenseI64ArrayAttr({*known * kColumns}));
  };
  emitLoop(m, m.attr(0), m.attr(llvm::divideCeil(columns, kColumns)),
           [&](IndexMath &lm, Ofr chunk) {
             withBlockSize(lm, chunk, columns, kColumns,
                           [&](IndexMath &im, int64_t count) {
                             copy(im, im.mul(chunk, im.attr(kColumns)), count);
                           });
           });
}

class PackedMatMulEmitter : ProductSections {
public:
  PackedMatMulEmitter(GroupContext &ctx, const Epilogue &epilogue,
                      MatMulProblem product)
      : ProductSections(ctx, epilogue, std::move(product)),
        panels((p.n + p.panel - 1) / p.panel), times(m.attr(1)) {}

  void emit() {
    auto r = IndexMath::constant(space.rows);
    makesWeights =
        p.quantized && !p.isSliced() && (!r || *r > kMaxQuantizedRows);
    if (!makesWeights || r)
      return emitParts();
    // One of the two has no items.
    Ofr most = m.attr(kMaxQuantizedRows + 1);
    Ofr isMany = m.floorDiv(m.min(space.rows, most), most);
    times = isMany;
    emitParts();
    makesWeights = false;
    times = m.sub(m.attr(1), isMany);
    emitParts();
  }

private:
  void emitParts() {
    auto k = IndexMath::constant(p.k), r = IndexMath::constant(space.rows);
    bool inParts = k && p.interleave == 1 && (!p.quantized || makesWeights) &&
                   p.elementOfA().isF32() && p.dst.elementType().isF32();
    if (!inParts)
      return emitSection(m.attr(0), p.k, SumPart::whole);
    int64_t step = p.quantized && p.quantized->hasScales()
                       ? std::lcm(kPartStep, p.quantized->getGroup())
                       : kPartStep;
    SmallVector<int64_t> parts =
        partsOfSum(*k, r, p.panel, ctx.target.getL2Bytes(), step);
    int64_t from = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      emitSection(m.attr(from), m.attr(part), partOf(i, parts.size()));
      from += part;
    }
  }

  /// The sum over [from, from + k) of K.
  void emitSection(Ofr from, Ofr k, SumPart part);
  /// Item (batch and first row at `at`, panel): `length` rows.
  void emitItem(IndexMath &im, ArrayRef<Ofr> at, Ofr panel, Ofr length,
                Ofr from, Ofr k, SumPart part, Value weights,
                llvm::function_ref<Value(IndexMath &)> rowsOfA) const;
  /// `length` rows of A from `at` on, and their columns from `from` on.
  Value boxOfA(IndexMath &im, ArrayRef<Ofr> at, Ofr length, Ofr from,
               Ofr k) const;
  /// Computes them.
  void emitRows(IndexMath &im, ArrayRef<Ofr> at, Ofr length, Ofr from, Ofr k,
                Value to) const;
  /// Packs rows [from, from + k) of `panel` to `memory`.
  void emitPanel(IndexMath &im, ArrayRef<Ofr> at, Ofr panel, Ofr from, Ofr k,
                 Value memory) const;

  int64_t panels;
  Ofr times;                 // 0: there are no items
  bool makesWeights = false; // of quantized weights, for many rows
  bool streams = false;      // panels come from beyond L2
  bool rowsStream = false;   // rows do, and few panels share what that costs
};

void PackedMatMulEmitter::emitItem(
    IndexMath &im, ArrayRef<Ofr> at, Ofr panel, Ofr length, Ofr from, Ofr k,
    SumPart part, Value weights,
    llvm::function_ref<Value(IndexMath &)> rowsOfA) const {
  int64_t rowDim = space.rowDim;
  bool readsQuantized = p.quantized && !makesWeights;
  Ofr rowsOfW = readsQuantized ? im.attr(p.quantized->rows(p.quantized->kOf(
                                     *IndexMath::constant(p.k))))
                               : p.k;
  Ofr whole = panelSize(im, rowsOfW, p.panel, p.interleave);
  Ofr wOffset = im.attr(0);
  if (!p.packing && !makesWeights) {
    wOffset = im.add(offsetOf(im, p.w, at), im.mul(panel, whole));
    wOffset = im.add(wOffset, panelSize(im, from, p.panel, p.interleave));
  }
  Value a = rowsOfA(im);
  Value w = panelBox(im, weights, wOffset, {}, {}, readsQuantized ? rowsOfW : k,
                     p.panel, p.interleave);
  withBlockSize(im, panel, p.n, p.panel, [&](IndexMath &cm, int64_t columns) {
    SmallVector<Ofr> start(at);
    start.push_back(cm.mul(panel, cm.attr(p.panel)));
    auto product =
        epilogue.emitBrgemm(cm, a, w, p.dst, p.epilogueOperands, start, rowDim,
                            length, cm.attr(columns), part);
    product.setPrefetchNext(streams);
    product.setPrefetchRows(rowsStream);
    if (streams && part != SumPart::whole)
      product.setNextPanel(IndexMath::constant(whole));
    product.setUnsignedA(p.unsignedA);
    if (readsQuantized)
      product.setQuantizedAttr(*p.quantized);
  });
}

Value PackedMatMulEmitter::boxOfA(IndexMath &im, ArrayRef<Ofr> at, Ofr length,
                                  Ofr from, Ofr k) const {
  Ofr offset = im.add(offsetOf(im, p.a, at), im.mul(from, aK));
  Value base = p.isSliced() ? wordsOf(im, p.a.base, p.elementOfA()) : p.a.base;
  return box(im, base, offset, {length, k}, {p.a.strides[space.rowDim], aK});
}

void PackedMatMulEmitter::emitRows(IndexMath &im, ArrayRef<Ofr> at, Ofr length,
                                   Ofr from, Ofr k, Value to) const {
  SmallVector<FusedOperand::Place> places;
  for (auto [src, whole] : llvm::zip(p.fusedFrom, p.made->tensors())) {
    Ofr alongK = whole.strides.back();
    places.push_back({im.add(offsetOf(im, src, at), im.mul(from, alongK)),
                      {src.strides[space.rowDim], alongK}});
  }
  p.made->emitBox(im, places, {length, k}, to);
}

void PackedMatMulEmitter::emitPanel(IndexMath &im, ArrayRef<Ofr> at, Ofr panel,
                                    Ofr from, Ofr k, Value memory) const {
  SmallVector<Ofr> starts;
  for (const Strided &src : p.unpacked)
    starts.push_back(offsetOf(im, src, at));
  withBlockSize(im, panel, p.n, p.panel, [&](IndexMath &cm, int64_t columns) {
    p.packing->emitPanel(cm, starts, panel, columns, from, k, memory,
                         cm.attr(0));
  });
}

void PackedMatMulEmitter::emitSection(Ofr from, Ofr k, SumPart part) {
  auto r = IndexMath::constant(space.rows), allK = IndexMath::constant(p.k);
  int64_t l2Bytes = std::min(ctx.target.getL2Bytes(), kMostOfL2);
  bool inTiles = ctx.target.multipliesInTiles(p.interleave);
  int64_t block = rowBlock(r, IndexMath::constant(k), l2Bytes,
                           p.elementOfA().getIntOrFloatBitWidth() / 8,
                           inTiles ? kTileRows : kMinRowBlock);
  int64_t step = inTiles ? kTileRows : 1;
  if (r && *r > block)
    block = roundUp(evenRows(*r, block), step);
  // What lies still is read once: a block of rows while panels pass, or, where
  // rows are so long that few of them fit, a panel while rows pass.
  bool panelLast = !p.packing && !makesWeights &&
                   (p.made || !r || *r <= block || block >= p.panel);
  SmallVector<Ofr> counts(ArrayRef(space.sizes).drop_back());
  auto batch = IndexMath::constant(m.product(counts));
  auto sum = IndexMath::constant(k);
  if (r && batch && sum) {
    int64_t perRow = std::max<int64_t>(1, *sum * std::min(p.n, p.panel));
    int64_t least = std::max(kMinRowBlock, kMinItemProducts / perRow);
    block = shareRows(*r, block, *batch * panels, least);
    block = roundUp(evenItems(*r, block, *batch * panels), step);
  }
  if (p.packing && p.made) // rows are there for all panels
    block = std::max<int64_t>(*r, 1);
  counts.push_back(m.ceilDiv(space.rows, m.attr(block)));
  counts.insert(counts.end() - !panelLast, m.attr(panels));
  streams = panelLast && allK && *allK * p.panel * panels >= kMaxCachedWeights;
  auto bytesOfA =
      IndexMath::constant(m.mul(m.mul(m.product(space.sizes), k),
                                m.attr(RowCopy::bytesOf(p.elementOfA()))));
  RowCopy copy;
  bool across = !IndexMath::isConstant(aK, 1);
  if (p.made || (panelLast && (ctx.target.getMatrixUnit() || across)))
    copy = RowCopy::of(p, k, across, space.rowDim, panels, block);
  rowsStream = panels <= kFewPanels && !streams && !copy.bytes &&
               bytesOfA.value_or(l2Bytes + 1) > l2Bytes;
  auto section = [&](IndexMath &im, Value item, Value scratch) {
    SmallVector<Ofr> at = delinearize(im, item, counts);
    auto panelAt = at.end() - 1 - !panelLast;
    Ofr panel = *panelAt;
    at.erase(panelAt);
    Ofr rowBlockAt = at.back();
    at.back() = im.mul(rowBlockAt, im.attr(block));
    Value weights = p.w.base;
    if (makesWeights) {
      DequantizedPanels panels{*p.quantized, *allK, p.panel};
      weights = scratchView(im, scratch, im.builder().getF32Type(),
                            im.attr(copy.bytes), im.attr(*sum * p.panel));
      emitIfFirst(im, item, rowBlockAt, [&](IndexMath &fm) {
        panels.emit(fm, p.w.base, fm.mul(panel, fm.attr(panels.bytes())),
                    *IndexMath::constant(from), *sum, weights);
      });
    } else if (p.packing) {
      Type element = p.packing->elementType();
      weights = scratchView(im, scratch, element, im.attr(copy.bytes),
                            p.packing->panelSize(im, k));
      emitIfFirst(im, item, rowBlockAt, [&](IndexMath &fm) {
        emitPanel(fm, at, panel, from, k, weights);
      });
    }
    auto emit = [&](IndexMath &rm, Ofr length) {
      emitItem(
          rm, at, panel, length, from, k, part, weights, [&](IndexMath &am) {
            if (!copy.bytes)
              return boxOfA(am, at, length, from, k);
            return copy.emit(
                am, length, scratch, item, panel, [&](IndexMath &fm, Value to) {
                  if (p.made)
                    return emitRows(fm, at, length, from, k, to);
                  Value rows = boxOfA(fm, at, length, from, k);
                  if (across)
                    return copyAcross(fm, rows, to, aK);
                  linalg::CopyOp::create(fm.builder(), fm.location(), rows, to);
                });
          });
    };
    // A known number of rows needs kernels of one or two heights only.
    if (r)
      withBlockSize(
          im, rowBlockAt, *r, block,
          [&](IndexMath &rm, int64_t length) { emit(rm, rm.attr(length)); });
    else
      emit(im, im.min(im.attr(block), im.sub(space.rows, at.back())));
  };
  Ofr bytes = m.attr(copy.bytes);
  if (p.packing)
    bytes =
        m.add(bytes, m.mul(p.packing->panelSize(m, k),
                           m.attr(RowCopy::bytesOf(p.packing->elementType()))));
  if (makesWeights)
    bytes = m.add(bytes, m.attr(*sum * p.panel * sizeof(float)));
  emitItems(m, ctx.label, m.mul(times, m.product(counts)), bytes, section);
}

} // namespace

RowDims mergeRows(IndexMath &m, MatMulProblem &p) {
  Ofr dstN = p.dst.strides.back();
  SmallVector<Ofr> operandN;
  dropDim(p.a);
  dropDim(p.dst);
  llvm::for_each(p.fusedFrom, dropDim);
  for (Strided &s : p.epilogueOperands) {
    operandN.push_back(s.strides.back());
    dropDim(s);
  }
  SmallVector<Ofr> sizes = p.dst.sizes;
  SmallVector<int> classes(sizes.size(), 0);
  SmallVector<Strided *> operands{&p.a, &p.w, &p.dst};
  for (Strided &s : p.epilogueOperands)
    operands.push_back(&s);
  for (auto *list : {&p.unpacked, &p.fusedFrom})
    for (Strided &s : *list)
      operands.push_back(&s);
  coalesce(m, sizes, classes, operands);
  auto isShared = [](const Strided &w) {
    return IndexMath::isConstant(w.strides.back(), 0);
  };
  // The last dim is the rows, unless each has weights of its own.
  if (sizes.empty() || !isShared(p.w) || !llvm::all_of(p.unpacked, isShared)) {
    sizes.push_back(m.attr(1));
    for (Strided *s : operands) {
      s->sizes.push_back(m.attr(1));
      s->strides.push_back(m.attr(0));
    }
  }
  p.dst.sizes.push_back(m.attr(p.n));
  p.dst.strides.push_back(dstN);
  for (auto [s, n] : llvm::zip(p.epilogueOperands, operandN)) {
    s.sizes.push_back(m.attr(p.n));
    s.strides.push_back(n);
  }
  Ofr rows = sizes.back();
  return {sizes, static_cast<int64_t>(sizes.size()) - 1, rows};
}

SmallVector<int64_t> partsOfSum(int64_t k, std::optional<int64_t> rows,
                                int64_t panel, int64_t l2Bytes, int64_t step) {
  auto fits = [&](int64_t part) {
    int64_t row = part * static_cast<int64_t>(sizeof(float));
    if (rows.value_or(0) <= kFewRows && row * panel > l2Bytes / kFewRowsShare)
      return false;
    int64_t shared = std::min(l2Bytes, kMostOfL2);
    return (2 * panel + rowBlock(rows, part, shared)) * row <= shared;
  };
  if (k == 0)
    return {0};
  int64_t part = k;
  bool cut = !rows || *rows >= kMinRowsOfParts;
  for (int64_t count = 2;
       cut && count <= kMostAdditions && !fits(part) && part > step; ++count)
    part = roundUp((k + count - 1) / count, step);
  SmallVector<int64_t> parts;
  for (int64_t left = k; left > 0; left -= part)
    parts.push_back(std::min(left, part));
  return parts;
}

void emitProduct(GroupContext &ctx, const Epilogue &epilogue,
                 MatMulProblem product) {
  if (product.inPlace)
    emitProductInPlace(ctx, epilogue, std::move(product));
  else
    PackedMatMulEmitter(ctx, epilogue, std::move(product)).emit();
}

} // namespace tenon::tiling
