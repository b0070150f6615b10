//===- LowerConvWeights.cpp - gradients of weights as products ------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   dst[tap, c, o] = sum over images and positions p of
//                    src[p * stride + tap * dilation - pad, c] * diff[p, o]
//
// is a product: rows c, columns o, summed over positions. Neighbouring taps of
// the last spatial dimension shift src by one position, so that with dilation 1
// (tap, c) together are the rows, read with unit stride: 11 taps of an RGB
// image are 33 rows instead of 11 products of 3.
//
//   %0 = tile.conv_weights %x, %d          rt.parallel (group, taps, rows,
//   panels)
//     {packed}                       ->      dst = 0
//                                            for block of images and rows
//                                              for panel
//                                                tile.brgemm accumulate
//
// Each item owns a part of dst and sums it in one order, whatever the number of
// threads. It goes through diff in blocks whose panel stays in L1 while all
// rows of dst are computed. If diff is not packed, it is copied to scratch
// block by block, since rows that lie a power of two apart evict each other. If
// there are many blocks, totals in scratch memory take the sums (Totals.h).
// Positions at the ends of a row, where taps are cut, sum over the rows of the
// image instead.
//
// An item has one tap of the outer dims, so diff is read once for each of these
// taps. With few rows that takes longer than the products. Then the images are
// cut into `parts`, and an item is a part with all taps.
//
//===----------------------------------------------------------------------===//
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/convolution/WeightsGradient.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/Totals.h"
#include "passes/tile/core/WorkItems.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Elements of diff in one block: 16 KiB, half of L1.
constexpr int64_t kBlockElements = 4 << 10;
/// Elements of a block that is copied: 256 KiB, what stays in L2. Larger ones,
/// of very long rows, are read in place.
constexpr int64_t kScratchElements = 64 << 10;
/// Rows of dst in one item: enough to use a block of diff often, few enough
/// to leave items for all threads.
constexpr int64_t kRowsOfItem = 96;
/// Items from which each has all panels; fewer share them out.
constexpr int64_t kItems = 6;

/// Blocks of about kBlockElements elements of a panel of diff, whole inner
/// dimensions first.
SmallVector<int64_t> chooseBlocks(const WeightsGradient &g) {
  int64_t left =
      kBlockElements / std::max<int64_t>(1, g.dims.back().out * g.panel);
  SmallVector<int64_t> blocks(g.dims.size(), 1);
  for (int64_t i = g.last(); i >= 0; --i) {
    left = std::max<int64_t>(1, left);
    if (i == 0) {
      blocks[0] = left;
      break;
    }
    blocks[i] = std::min(left, std::max<int64_t>(1, g.dims[i - 1].out));
    left = blocks[i] == g.dims[i - 1].out ? left / blocks[i] : 1;
  }
  return blocks;
}

/// Elements of one block of diff; 0 where it is too large for L2.
int64_t scratchElements(const WeightsGradient &g) {
  int64_t elements = g.dims.back().out * g.panel;
  for (int64_t size : g.blocks)
    elements *= size;
  return elements <= kScratchElements ? elements : 0;
}

/// Whether (tap of the last dimension, channel) walk through src and through
/// dst with one stride each.
bool canMerge(const WeightsGradient &g) {
  size_t w = g.dims.size(); // dimension of src; of dst one less
  auto steps = [&](Index outer, Index inner) {
    auto x = outer.constant();
    auto y = (inner * g.inPerGroup).constant();
    return x && y && *x == *y;
  };
  return g.groups == 1 && g.dims.back().dilation == 1 &&
         g.dims.back().kernel > 1 &&
         steps(g.src.strides[w], g.src.strides[w + 1]) &&
         steps(g.dst.strides[w - 1], g.dst.strides[w]);
}

/// diff as [batch, spatial.., panel] and where groups and panels are in it.
void setDiff(WeightsGradient &g, const Strided &diff) {
  g.diff = diff;
  if (!g.packed) {
    g.groupStride = g.outPerGroup;
    g.panelStride = g.panel;
    return;
  }
  g.groupStride = diff.strides[0];
  g.panelStride = diff.strides[1];
  g.diff.sizes.erase(g.diff.sizes.begin(), g.diff.sizes.begin() + 2);
  g.diff.strides.erase(g.diff.strides.begin(), g.diff.strides.begin() + 2);
  g.diff.dense = false;
}

/// One tap: the positions of an image are one dim where they follow each other,
/// cut into rows whose panel of diff is a block. Sums over short rows would
/// begin again and again.
void joinPositions(WeightsGradient &g) {
  int64_t spatial = static_cast<int64_t>(g.dims.size()), positions = 1;
  for (const WindowDim &d : g.dims) {
    if (!d.isIdentity())
      return;
    positions *= d.out;
  }
  for (const Strided *s : {&g.src, &g.diff})
    for (int64_t i = 1; i < spatial; ++i)
      if (s->strides[i] != s->strides[i + 1] * g.dims[i].out)
        return;
  int64_t most = std::max<int64_t>(kBlockElements / g.panel, 1), row = 1;
  for (int64_t size = 2; size <= std::min(most, positions); ++size)
    if (positions % size == 0)
      row = size;
  // Not where there is no such length, as for primes.
  if (row < std::min(g.dims.back().out, most))
    return;
  auto dim = [](int64_t size) { return WindowDim{size, size, 1, 1, 0, 1}; };
  g.dims = {dim(positions / row), dim(row)};
  for (Strided *s : {&g.src, &g.diff}) {
    Index step = s->strides[spatial];
    s->strides = {s->strides.front(), step * row, step, s->strides.back()};
  }
  ArrayRef<Index> matrix = ArrayRef(g.dst.strides).take_back(2);
  g.dst.strides = {0, 0, matrix[0], matrix[1]};
}

/// The section that computes a gradient: items are shares of the panels, for
/// some rows and some taps or images.
class GradientSection {
public:
  GradientSection(GroupContext &ctx, const WeightsGradient &g);
  void emit();

private:
  using PanelBody = llvm::function_ref<void(const GradientItem &)>;
  using PieceBody = llvm::function_ref<void(const GradientItem &, Index)>;

  void emitItem(const Grid::Item &at, Value memory);
  GradientItem itemAt(const Grid::Item &at, Value memory,
                      SmallVectorImpl<PositionRange> &all);
  void forPanels(const GradientItem &item, Index past, PanelBody body);
  void forPieces(const GradientItem &item, Index past, PieceBody body);

  GroupContext &ctx;
  IndexMath &m;
  const WeightsGradient &g;
  Grid grid;
  int64_t pieces;       // of the rows of dst
  int64_t mostRows = 0; // of a piece; the last one may have less
  int64_t together = 1; // panels of a share, but for the last
  int64_t blockBytes;
  std::optional<Totals> totals;
};

GradientSection::GradientSection(GroupContext &ctx, const WeightsGradient &g)
    : ctx(ctx), m(ctx.m), g(g), grid{{"group", g.groups}},
      pieces(ceilDiv(g.rows(), kRowsOfItem)),
      blockBytes(g.scratch * static_cast<int64_t>(sizeof(float))) {
  int64_t others = g.groups * std::max<int64_t>(pieces, 1);
  if (g.parts)
    grid.add("part", g.parts);
  others *= std::max<int64_t>(g.parts, 1);
  for (const WindowDim &d : g.outer()) {
    if (g.parts)
      break;
    grid.add("tap", d.kernel);
    others *= d.kernel;
  }
  // A block of src is read from L2 for all panels of an item.
  int64_t shares = std::min(ceilDiv(kItems, others), g.panels);
  if (shares)
    together = ceilDiv(g.panels, shares);
  grid.add("piece", pieces);
  grid.add("share", ceilDiv(g.panels, together));
  if (pieces)
    mostRows = ceilDiv(g.rows(), pieces);
  totals.emplace(together * g.tapsOfItem() * mostRows * g.panel, g.numBlocks());
}

void GradientSection::emit() {
  emitItems(m, ctx.label, grid, blockBytes + totals->bytes(),
            [&](const Grid::Item &at, Value memory) { emitItem(at, memory); });
}

/// What is computed at `at`; `all` are the positions that it sums over.
GradientItem GradientSection::itemAt(const Grid::Item &at, Value memory,
                                     SmallVectorImpl<PositionRange> &all) {
  Index panel = at["share"] * together, part = 0;
  all.assign({{0, g.src.sizes[0]}});
  SmallVector<Index> taps;
  if (g.parts) {
    part = at["part"];
    Index images = g.src.sizes[0] / g.parts;
    all[0] = {part * images, images};
    for (const WindowDim &d : g.outer())
      all.push_back({0, d.out});
  } else {
    llvm::append_range(taps, at.all("tap"));
    for (auto [d, tap] : llvm::zip(g.dims, taps))
      all.push_back(positionsOf(d, tap));
  }
  // Equal pieces, but for the last.
  Index row = at["piece"] * mostRows;
  Index rows =
      g.rows() == mostRows * pieces ? mostRows : min(mostRows, g.rows() - row);
  return {g,    at["group"], panel,  taps,    0,     part,    row,
          rows, g.panel,     memory, Value(), panel, mostRows};
}

/// The panels [item.panel, past).
void GradientSection::forPanels(const GradientItem &item, Index past,
                                PanelBody body) {
  auto one = [&](Index p) {
    withBlockSize(m, p, g.outPerGroup, g.panel, [&](int64_t columns) {
      GradientItem inner = item;
      inner.panel = p;
      inner.columns = columns;
      body(inner);
    });
  };
  if (together == 1)
    one(item.panel);
  else
    emitLoop(m, item.panel, past, one);
}

/// The pieces of dst that these panels have: one for each tap.
void GradientSection::forPieces(const GradientItem &item, Index past,
                                PieceBody body) {
  forPanels(item, past, [&](const GradientItem &all) {
    all.forOuterTaps(m, {},
                     [&](const GradientItem &inner, ArrayRef<PositionRange>) {
                       if (g.merged)
                         return body(inner, 0);
                       inner.forTaps(m, [&](Index tap) { body(inner, tap); });
                     });
  });
}

void GradientSection::emitItem(const Grid::Item &at, Value memory) {
  Index end = at["share"] * together + together;
  Index past = g.panels % together == 0 ? end : min(end, g.panels);
  SmallVector<PositionRange> all;
  GradientItem item = itemAt(at, memory, all);
  forPieces(item, past,
            [&](const GradientItem &inner, Index tap) { inner.clear(m, tap); });
  auto addToDst = [&](Value total) {
    forPieces(item, past, [&](const GradientItem &inner, Index tap) {
      GradientItem from = inner;
      from.sums = total;
      addTo(m, from.dstBox(m, tap, item.firstRow, item.rowCount),
            inner.dstBox(m, tap, item.firstRow, item.rowCount));
    });
  };
  Totals sums = *totals;
  if (sums.any())
    sums.begin(m, memory, blockBytes);
  item.forBlocks(m, all, {}, [&](ArrayRef<PositionRange> block) {
    Value first = sums.any() ? sums.first(m) : Value();
    forPanels(item, past, [&](const GradientItem &inner) {
      GradientItem target = inner;
      target.sums = first;
      target.forOuterTaps(
          m, block, [&](const GradientItem &one, ArrayRef<PositionRange> seen) {
            one.addBlock(m, seen);
          });
    });
    sums.added(m, 1, addToDst);
  });
  sums.finish(m, addToDst);
}

} // namespace

LogicalResult lowerConvWeights(GroupContext &ctx, tile::ConvWeightsOp op) {
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto diffType = rankedType(op.getDiff());
  int64_t rank = srcType.getRank(), groups = op.getGroups();
  bool packed = op.getPacked();
  if (op.getParts()) // of the gradient of one
    dstType = RankedTensorType::get(dstType.getShape().drop_front(),
                                    dstType.getElementType());
  for (auto [type, batch] : {std::pair(srcType, 0), std::pair(dstType, -1),
                             std::pair(diffType, packed ? 2 : 0)})
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      if (static_cast<int>(i) != batch && ShapedType::isDynamic(size))
        return emitError(op, ErrorCode::UnsupportedForm,
                         "only the batch may be dynamic");
  WeightsGradient g{packed,
                    {},
                    ctx.memoryOf(op.getSrc()),
                    ctx.result(),
                    {},
                    groups,
                    dstType.getDimSize(rank - 2),
                    dstType.getDimSize(rank - 1) / groups,
                    0,
                    0,
                    {},
                    {},
                    false,
                    static_cast<int64_t>(op.getParts().value_or(0)),
                    {},
                    {}};
  if (g.parts) {
    g.partStride = g.dst.strides.front();
    g.dst.strides.erase(g.dst.strides.begin());
    g.dst.sizes.erase(g.dst.sizes.begin());
  }
  int64_t firstDim = packed ? 3 : 1;
  for (int64_t i = 0; i < rank - 2; ++i)
    g.dims.push_back({srcType.getDimSize(i + 1),
                      diffType.getDimSize(firstDim + i), dstType.getDimSize(i),
                      op.getStrides()[i], op.getPadsBegin()[i],
                      op.getDilations()[i]});
  // Three vectors of 16 lanes or twice three of 8; fewer columns are whole
  // vectors, too.
  constexpr int64_t kPlainPanel = 48;
  g.panel =
      packed ? diffType.getDimSize(rank + 1)
             : std::min(kPlainPanel,
                        (std::max<int64_t>(1, g.outPerGroup) + 15) / 16 * 16);
  g.panels = ceilDiv(g.outPerGroup, g.panel);
  setDiff(g, ctx.memoryOf(op.getDiff()));
  joinPositions(g);
  g.merged = canMerge(g);
  g.blocks = chooseBlocks(g);
  if (!packed)
    g.scratch = scratchElements(g);
  GradientSection(ctx, g).emit();
  return success();
}

} // namespace tenon::passes
