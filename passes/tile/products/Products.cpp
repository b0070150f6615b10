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

namespace tenon::passes {

namespace {

constexpr int64_t kTileRows = 32; // two tiles of a matrix unit
/// Up to so many rows, a product waits for memory; small panels arrive in time.
constexpr int64_t kFewRows = 64;
constexpr int64_t kFewRowsShare = 8; // of L2, for a panel: one in so many
/// With fewer rows a whole panel streams better from memory, on some machines
/// much better (docs/cost-model.md).
constexpr int64_t kMinRowsOfParts = 9;
/// With so many panels at most, the first of them, for which rows of A come
/// from beyond L2, takes a share of the time that pays to prefetch them ahead.
constexpr int64_t kFewPanels = 32;
/// What counts for an unknown number of panels.
constexpr int64_t kUnknownPanels = 8;
/// Multiplications that are worth an item of their own.
constexpr int64_t kMinItemProducts = 1 << 17;

void dropDim(Strided &s) {
  s.sizes.pop_back();
  s.strides.pop_back();
}

/// A copy of a block of rows of A, which is written at the first panel and at
/// the beginning of each range of items. There is one if the items compute src
/// themselves, or if there are many panels and src has strided columns or rows
/// so far apart that those of a register tile share few sets of the cache.
struct RowCopy {
  int64_t bytes = 0; // 0: there is none
  int64_t pitch = 0;
  int64_t columns = 0;
  Type element;

  /// For the columns of `sum`, a part of K.
  static RowCopy of(const MatMulProblem &p, Index sum, Index alongK,
                    int64_t rowDim, Index numPanels, int64_t block) {
    constexpr int64_t kMinPanels = 8;
    int64_t panels = numPanels.constant().value_or(kUnknownPanels);
    auto k = sum.constant();
    if (p.made)
      return {*k, p.made->elementType(), block};
    int64_t size = p.elementOfA().getIntOrFloatBitWidth() / 8;
    if (k && copiesRowsAcross(alongK.constant(), size, *k, panels) &&
        block >= kMinRowBlock)
      return {*k, p.elementOfA(), block};
    RowCopy copy;
    auto stride = p.a.strides[rowDim].constant();
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
  Value emit(IndexMath &m, Index length, Value scratch, Index item, Index panel,
             llvm::function_ref<void(Value)> write) const {
    Value rows = scratchView(m, scratch, element, 0, bytes / bytesOf(element));
    Value to = box(m, rows, 0, {length, columns}, {pitch, 1});
    emitIfFirst(m, item, panel, [&] { write(to); });
    return to;
  }
};

/// Copies rows whose columns have the stride `stride`: some columns at a time,
/// whose lines stay in L1 until all rows have read them. Prefetches the next
/// ones.
void copyAcross(IndexMath &m, Value rows, Value to, Index stride) {
  constexpr int64_t kColumns = 32;
  int64_t columns = cast<MemRefType>(to.getType()).getShape().back();
  Index length = m(memref::getMixedSize(m.builder(), m.location(), rows, 0));
  auto known = stride.constant();
  auto copy = [&](Index from, int64_t count) {
    OpBuilder &b = m.builder();
    auto part = [&](Value whole) {
      return subBox(m, whole, {0, from}, {length, count});
    };
    auto copied = linalg::CopyOp::create(
        b, m.location(), ValueRange(part(rows)), ValueRange(part(to)));
    if (known)
      copied->setAttr(codegen::kPrefetchAttr,
                      b.getDenseI64ArrayAttr({*known * kColumns}));
  };
  emitLoop(m, 0, ceilDiv(columns, kColumns), [&](Index chunk) {
    withBlockSize(m, chunk, columns, kColumns,
                  [&](int64_t count) { copy(chunk * kColumns, count); });
  });
}

class PackedMatMulEmitter : ProductSections {
public:
  PackedMatMulEmitter(GroupContext &ctx, const Epilogue &epilogue,
                      MatMulProblem product)
      : ProductSections(ctx, epilogue, std::move(product)),
        panels(ceilDiv(p.n, p.panel)), times(1) {}

  void emit() {
    auto r = space.rows.constant();
    makesWeights =
        p.quantized && !p.isSliced() && (!r || *r > kMaxQuantizedRows);
    if (!makesWeights || r)
      return emitParts();
    Index isMany = atLeast(kMaxQuantizedRows + 1);
    times = isMany;
    if (!times.isConstant(0))
      emitParts();
    makesWeights = false;
    times = 1 - isMany;
    if (!times.isConstant(0))
      emitParts();
  }

private:
  /// 1 if there are so many rows, else 0. Of sections for either case one has
  /// no items.
  Index atLeast(int64_t rows) const { return min(space.rows, rows) / rows; }

  /// The number of rows for partsOfSum, which tells few from many.
  std::optional<int64_t> rowsForParts() const {
    IndexFacts rows = space.rows.facts();
    return rows.max <= kFewRows  ? std::optional(rows.max)
           : rows.min > kFewRows ? std::optional(rows.min)
                                 : std::nullopt;
  }

  void emitParts() {
    auto k = p.k.constant(), r = rowsForParts();
    bool inParts = k && p.interleave == 1 && (!p.quantized || makesWeights) &&
                   p.elementOfA().isF32() && p.dst.elementType().isF32();
    if (!inParts)
      return emitSection(0, p.k, SumPart::whole);
    int64_t step = p.quantized && p.quantized->hasScales()
                       ? std::lcm(kPartStep, p.quantized->getGroup())
                       : kPartStep;
    SmallVector<int64_t> parts =
        partsOfSum(*k, r, p.panel, ctx.target.getL2Bytes(), step);
    Index all = times;
    Index isFew = parts.size() > 1 && !makesWeights
                      ? 1 - atLeast(kMinRowsOfParts)
                      : Index(0);
    if (!isFew.isConstant(0)) {
      times = all * isFew;
      emitSection(0, p.k, SumPart::whole);
      times = all * atLeast(kMinRowsOfParts);
    }
    int64_t from = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      emitSection(from, part, partOf(i, parts.size()));
      from += part;
    }
  }

  /// The items of a section: blocks of rows, and panels.
  struct Cut {
    int64_t block;  // rows
    bool panelLast; // innermost; otherwise rows are
    Grid grid;
  };
  /// For `k` columns of A.
  Cut cut(Index k) const;
  Index rowsOfBlock(Index first, int64_t block) const;
  /// The sum over [from, from + k) of K.
  void emitSection(Index from, Index k, SumPart part);
  Index bytesOfWeights(Index k) const;
  Value emitWeights(const Grid::Item &place, ArrayRef<Index> at, Index from,
                    Index k, Value scratch, int64_t offset) const;
  /// Item (batch and first row at `at`, panel): `length` rows.
  void emitItem(ArrayRef<Index> at, Index panel, Index length, Index from,
                Index k, SumPart part, Value weights,
                llvm::function_ref<Value()> rowsOfA) const;
  /// `length` rows of A from `at` on, and their columns from `from` on.
  Value boxOfA(ArrayRef<Index> at, Index length, Index from, Index k) const;
  /// Computes them.
  void emitRows(ArrayRef<Index> at, Index length, Index from, Index k,
                Value to) const;
  /// Packs rows [from, from + k) of `panel` to `memory`.
  void emitPanel(ArrayRef<Index> at, Index panel, Index from, Index k,
                 Value memory) const;

  Index panels;
  Index times;               // 0: there are no items
  bool makesWeights = false; // of quantized weights, for many rows
  bool streams = false;      // panels come from beyond L2
  bool rowsStream = false;   // rows do, and few panels share what that costs
};

void PackedMatMulEmitter::emitItem(ArrayRef<Index> at, Index panel,
                                   Index length, Index from, Index k,
                                   SumPart part, Value weights,
                                   llvm::function_ref<Value()> rowsOfA) const {
  int64_t rowDim = space.rowDim;
  bool readsQuantized = p.quantized && !makesWeights;
  Index rowsOfW = readsQuantized
                      ? p.quantized->rows(p.quantized->kOf(*p.k.constant()))
                      : p.k;
  Index whole = panelSize(rowsOfW, p.panel, p.interleave);
  Index wOffset = 0;
  if (!p.packing && !makesWeights) {
    wOffset = offsetOf(p.w, at) + panel * whole;
    wOffset += panelSize(from, p.panel, p.interleave);
  }
  Value a = rowsOfA();
  Value w = panelBox(m, weights, wOffset, {}, {}, readsQuantized ? rowsOfW : k,
                     p.panel, p.interleave);
  withBlockSize(m, panel, p.n, p.panel, [&](Index columns) {
    SmallVector<Index> start(at);
    start.push_back(panel * p.panel);
    auto product = epilogue.emitBrgemm(m, a, w, p.dst, p.epilogueOperands,
                                       start, rowDim, length, columns, part);
    IndexFacts rows = length.facts();
    if (!length.constant() && rows.hasMax())
      product.setMaxRows(rows.max);
    if (!length.constant() && rows.multipleOf > 1)
      product.setRowMultiple(rows.multipleOf);
    product.setPrefetchNext(streams);
    product.setPrefetchRows(rowsStream);
    if (streams && part != SumPart::whole)
      product.setNextPanel(whole.constant());
    product.setUnsignedA(p.unsignedA);
    if (readsQuantized)
      product.setQuantizedAttr(*p.quantized);
  });
}

Value PackedMatMulEmitter::boxOfA(ArrayRef<Index> at, Index length, Index from,
                                  Index k) const {
  Index offset = offsetOf(p.a, at) + from * aK;
  Value base = p.isSliced() ? wordsOf(m, p.a.base, p.elementOfA()) : p.a.base;
  return box(m, base, offset, {length, k}, {p.a.strides[space.rowDim], aK});
}

void PackedMatMulEmitter::emitRows(ArrayRef<Index> at, Index length, Index from,
                                   Index k, Value to) const {
  SmallVector<FusedOperand::Place> places;
  for (auto [src, whole] : llvm::zip(p.fusedFrom, p.made->tensors())) {
    Index alongK = whole.strides.back();
    places.push_back({offsetOf(src, at) + from * alongK,
                      {src.strides[space.rowDim], alongK}});
  }
  p.made->emitBox(m, places, {length, k}, to);
}

void PackedMatMulEmitter::emitPanel(ArrayRef<Index> at, Index panel, Index from,
                                    Index k, Value memory) const {
  SmallVector<Index> starts;
  for (const Strided &src : p.unpacked)
    starts.push_back(offsetOf(src, at));
  withBlockSize(m, panel, p.n, p.panel, [&](Index columns) {
    p.packing->emitPanel(m, starts, panel, columns, from, k, memory, 0);
  });
}

/// Scratch for a panel of weights that items make or pack.
Index PackedMatMulEmitter::bytesOfWeights(Index k) const {
  if (makesWeights)
    return k * p.panel * sizeof(float);
  return p.packing ? p.packing->panelSize(k) *
                         RowCopy::bytesOf(p.packing->elementType())
                   : 0;
}

/// Where the weights of the item `place`, whose matrix is at `at`, are read:
/// in memory, or in scratch from byte `offset` on, where the first item of a
/// panel puts them.
Value PackedMatMulEmitter::emitWeights(const Grid::Item &place,
                                       ArrayRef<Index> at, Index from, Index k,
                                       Value scratch, int64_t offset) const {
  Index panel = place["panel"];
  if (makesWeights) {
    DequantizedPanels panels{*p.quantized, *p.k.constant(), p.panel};
    Value weights =
        scratchView(m, scratch, m.builder().getF32Type(), offset, k * p.panel);
    emitIfFirst(m, place.number, place["rows"], [&] {
      panels.emit(m, p.w.base, panel * panels.bytes(), *from.constant(),
                  *k.constant(), weights);
    });
    return weights;
  }
  if (!p.packing)
    return p.w.base;
  Type element = p.packing->elementType();
  Value weights =
      scratchView(m, scratch, element, offset, p.packing->panelSize(k));
  emitIfFirst(m, place.number, place["rows"],
              [&] { emitPanel(at, panel, from, k, weights); });
  return weights;
}

PackedMatMulEmitter::Cut PackedMatMulEmitter::cut(Index k) const {
  auto r = space.rows.constant();
  int64_t l2Bytes = std::min(ctx.target.getL2Bytes(), kMostOfL2);
  bool inTiles = ctx.target.multipliesInTiles(p.interleave);
  int64_t block = rowBlock(r, k.constant(), l2Bytes,
                           p.elementOfA().getIntOrFloatBitWidth() / 8,
                           inTiles ? kTileRows : kMinRowBlock);
  int64_t step = inTiles ? kTileRows : 1;
  int64_t most = space.rows.facts().max;
  if (r && *r > block)
    block = roundUp(evenRows(*r, block), step);
  else if (!r && most <= block + block / 8) // one block, as in evenRows
    block = roundUp(std::max<int64_t>(most, 1), step);
  // What lies still is read once: a block of rows while panels pass, or, where
  // rows are so long that few of them fit, a panel while rows pass.
  bool panelLast = !p.packing && !makesWeights &&
                   (p.made || !r || *r <= block || block >= p.panel);
  Grid grid;
  grid.add("matrix", ArrayRef(space.sizes).drop_back());
  auto batch = grid.size().constant();
  auto sum = k.constant();
  if (r && batch && sum) {
    int64_t columns = std::min(p.n.constant().value_or(p.panel), p.panel);
    int64_t perRow = std::max<int64_t>(1, *sum * columns);
    int64_t least = std::max(kMinRowBlock, kMinItemProducts / perRow);
    // Of panels whose number is not known there may be one.
    int64_t others = *batch * panels.constant().value_or(1);
    block = shareRows(*r, block, others, least);
    block = roundUp(evenItems(*r, block, others), step);
  }
  if (p.packing && p.made) // rows are there for all panels
    block = std::max<int64_t>(*r, 1);
  if (!panelLast)
    grid.add("panel", panels);
  grid.add("rows", ceilDiv(space.rows, block));
  if (panelLast)
    grid.add("panel", panels);
  return {block, panelLast, std::move(grid)};
}

/// Rows from `first` on, at most `block`, of a number that is not known.
Index PackedMatMulEmitter::rowsOfBlock(Index first, int64_t block) const {
  Index length = min(block, space.rows - first);
  if (IndexFacts rows = space.rows.facts(); !rows.empty())
    length.learn({IndexFacts::kLeast, std::min(block, rows.max),
                  std::gcd(block, rows.multipleOf)});
  return length;
}

void PackedMatMulEmitter::emitSection(Index from, Index k, SumPart part) {
  auto [block, panelLast, grid] = cut(k);
  auto r = space.rows.constant();
  int64_t l2Bytes = std::min(ctx.target.getL2Bytes(), kMostOfL2);
  auto weights = (p.k * p.panel * panels).constant();
  streams = panelLast && weights && *weights >= kMaxCachedWeights;
  auto bytesOfA =
      (product(space.sizes) * k * RowCopy::bytesOf(p.elementOfA())).constant();
  RowCopy copy;
  bool across = !aK.isConstant(1);
  if (p.made || (panelLast && (ctx.target.getMatrixUnit() || across)))
    copy = RowCopy::of(p, k, aK, space.rowDim, panels, block);
  auto few = panels.constant();
  rowsStream = few && *few <= kFewPanels && !streams && !copy.bytes &&
               bytesOfA.value_or(l2Bytes + 1) > l2Bytes;
  auto section = [&](Index item, Value scratch) {
    Grid::Item place(grid, item);
    Index panel = place["panel"], rowBlockAt = place["rows"];
    SmallVector<Index> at(place.all("matrix"));
    at.push_back(rowBlockAt * block);
    Value weights = emitWeights(place, at, from, k, scratch, copy.bytes);
    auto emit = [&](Index length) {
      emitItem(at, panel, length, from, k, part, weights, [&] {
        if (!copy.bytes)
          return boxOfA(at, length, from, k);
        return copy.emit(m, length, scratch, item, panel, [&](Value to) {
          if (p.made)
            return emitRows(at, length, from, k, to);
          Value rows = boxOfA(at, length, from, k);
          if (across)
            return copyAcross(m, rows, to, aK);
          linalg::CopyOp::create(m.builder(), m.location(), rows, to);
        });
      });
    };
    // A known number of rows needs kernels of one or two heights only.
    if (r)
      withBlockSize(m, rowBlockAt, *r, block,
                    [&](int64_t length) { emit(length); });
    else
      emit(rowsOfBlock(at.back(), block));
  };
  Index bytes = copy.bytes + bytesOfWeights(k);
  emitItems(m, ctx.label, times * grid.size(), bytes, section);
}

} // namespace

RowDims mergeRows(MatMulProblem &p) {
  Index dstN = p.dst.strides.back();
  SmallVector<Index> operandN;
  dropDim(p.a);
  dropDim(p.dst);
  llvm::for_each(p.fusedFrom, dropDim);
  for (Strided &s : p.epilogueOperands) {
    operandN.push_back(s.strides.back());
    dropDim(s);
  }
  SmallVector<Index> sizes = p.dst.sizes;
  SmallVector<int> classes(sizes.size(), 0);
  SmallVector<Strided *> operands{&p.a, &p.w, &p.dst};
  for (Strided &s : p.epilogueOperands)
    operands.push_back(&s);
  for (auto *list : {&p.unpacked, &p.fusedFrom})
    for (Strided &s : *list)
      operands.push_back(&s);
  coalesce(sizes, classes, operands);
  auto isShared = [](const Strided &w) {
    return w.strides.back().isConstant(0);
  };
  // The last dim is the rows, unless each has weights of its own.
  if (sizes.empty() || !isShared(p.w) || !llvm::all_of(p.unpacked, isShared)) {
    sizes.push_back(1);
    for (Strided *s : operands) {
      s->sizes.push_back(1);
      s->strides.push_back(0);
    }
  }
  p.dst.sizes.push_back(p.n);
  p.dst.strides.push_back(dstN);
  for (auto [s, n] : llvm::zip(p.epilogueOperands, operandN)) {
    s.sizes.push_back(p.n);
    s.strides.push_back(n);
  }
  Index rows = sizes.back();
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
    part = roundUp(ceilDiv(k, count), step);
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

} // namespace tenon::passes
