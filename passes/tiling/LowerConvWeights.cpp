//===- LowerConvWeights.cpp - gradients of weights as products ------------===//
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
// Each item owns a piece of dst and sums it in one order, whatever the number
// of threads. It goes through diff in blocks whose panel stays in L1 while all
// rows of dst pass by; what is not packed is copied to scratch block by block,
// since rows of diff that lie a power of two apart evict each other. Of many
// blocks, sums are totals in scratch memory (Totals.h). Positions
// at the ends of a row, where taps are cut, sum over the rows of the image
// instead.
//
//===----------------------------------------------------------------------===//
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/GroupLowering.h"
#include "passes/tiling/Items.h"
#include "passes/tiling/Totals.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::tiling {

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

struct Range {
  Ofr from, count;
};

struct Gradient {
  bool packed; // diff is
  SmallVector<WindowDim> dims;
  Strided src, dst;
  Strided diff; // [batch, spatial.., panel], at the first panel
  int64_t groups, inPerGroup, outPerGroup, panel, panels;
  Ofr panelStride, groupStride; // of diff
  bool merged;                  // rows are (tap of the last dim, channel)
  SmallVector<int64_t> blocks;  // positions per block: batch, outer dims
  int64_t scratch = 0;          // elements of a block, when it is copied

  int64_t last() const { return static_cast<int64_t>(dims.size()) - 1; }
  int64_t rows() const {
    return (merged ? dims.back().kernel : 1) * inPerGroup;
  }
  /// Positions of a block.
  int64_t blockPositions() const {
    return llvm::product_of(blocks) * dims.back().out;
  }
  /// Blocks of all positions; none: the number of images is not known.
  std::optional<int64_t> numBlocks() const {
    auto images = IndexMath::constant(src.sizes[0]);
    if (!images)
      return std::nullopt;
    int64_t count = llvm::divideCeil(*images, blocks[0]);
    for (int64_t i = 1; i <= last(); ++i)
      count *= llvm::divideCeil(dims[i - 1].out, blocks[i]);
    return count;
  }
};

Range positionsOf(IndexMath &m, const WindowDim &d, Ofr tap) {
  auto [from, past] = d.validPositions(m, tap);
  return {from, m.sub(past, from)};
}

/// One item, while its pieces are emitted.
struct Item {
  const Gradient &g;
  Ofr group, panel;
  SmallVector<Ofr> taps;  // of the outer spatial dims
  Ofr firstRow, rowCount; // of dst, within g.rows()
  int64_t columns;
  Value memory; // for a block of diff
  /// Where sums go instead of dst: panels from `firstPanel` on, of each the
  /// taps of the last dim that are no rows, of these `mostRows` rows.
  Value sums;
  Ofr firstPanel;
  int64_t mostRows = 0;

  /// Offset of src for (batch, outer positions), row and position `column` of
  /// the last dimension with the item's taps and tap `tap` of the last one.
  Ofr srcOffset(IndexMath &m, ArrayRef<Ofr> at, Ofr column, Ofr tap,
                Ofr row) const {
    Ofr offset = g.src.offset.value_or(m.attr(0));
    offset = m.add(offset, m.mul(at[0], g.src.strides[0]));
    for (int64_t i = 0; i <= g.last(); ++i) {
      const WindowDim &d = g.dims[i];
      bool isLast = i == g.last();
      Ofr position = m.mul(isLast ? column : at[i + 1], m.attr(d.stride));
      Ofr reach = m.mul(isLast ? tap : taps[i], m.attr(d.dilation));
      position = m.sub(m.add(position, reach), m.attr(d.pad));
      offset = m.add(offset, m.mul(position, g.src.strides[i + 1]));
    }
    Ofr channel = m.add(m.mul(group, m.attr(g.inPerGroup)), row);
    return m.add(offset, m.mul(channel, g.src.strides.back()));
  }

  Ofr diffOffset(IndexMath &m, ArrayRef<Ofr> at, Ofr column) const {
    Ofr offset = g.diff.offset.value_or(m.attr(0));
    offset = m.add(offset, m.mul(group, g.groupStride));
    offset = m.add(offset, m.mul(panel, g.panelStride));
    for (auto [i, position] : llvm::enumerate(at))
      offset = m.add(offset, m.mul(position, g.diff.strides[i]));
    return m.add(offset, m.mul(column, g.diff.strides[g.last() + 1]));
  }

  /// dst for `rows` rows from `row` of tap `tap`.
  Value dstBox(IndexMath &m, Ofr tap, Ofr row, Ofr rows) const {
    if (sums) {
      int64_t taps = g.merged ? 1 : g.dims.back().kernel;
      Ofr at = m.mul(m.sub(panel, firstPanel), m.attr(taps));
      at = m.add(m.mul(m.add(at, tap), m.attr(mostRows)), m.sub(row, firstRow));
      return box(m, sums, m.mul(at, m.attr(g.panel)), {rows, m.attr(columns)},
                 {m.attr(g.panel), m.attr(1)});
    }
    Ofr offset = g.dst.offset.value_or(m.attr(0));
    for (int64_t i = 0; i <= g.last(); ++i)
      offset =
          m.add(offset, m.mul(i == g.last() ? tap : taps[i], g.dst.strides[i]));
    Ofr rowStride = g.dst.strides[g.last() + 1];
    offset = m.add(offset, m.mul(row, rowStride));
    Ofr column = m.add(m.mul(group, m.attr(g.outPerGroup)),
                       m.mul(panel, m.attr(g.panel)));
    offset = m.add(offset, m.mul(column, g.dst.strides.back()));
    return box(m, g.dst.base, offset, {rows, m.attr(columns)},
               {rowStride, m.attr(1)});
  }

  void product(IndexMath &m, Ofr srcAt, Ofr diffAt, ArrayRef<Ofr> batch,
               ArrayRef<Ofr> srcStrides, ArrayRef<Ofr> diffStrides, Ofr k,
               Ofr srcK, Ofr diffK, Ofr rows, Value c, bool accumulate) const {
    SmallVector<Ofr> aSizes(batch), aStrides(srcStrides), bSizes(batch),
        bStrides(diffStrides);
    aSizes.append({rows, k});
    aStrides.append({g.src.strides.back(), srcK});
    bSizes.append({k, m.attr(g.packed ? g.panel : columns)});
    bStrides.append({diffK, m.attr(1)});
    Value a = box(m, g.src.base, srcAt, aSizes, aStrides);
    Value b = box(m, g.diff.base, diffAt, bSizes, bStrides);
    auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, c,
                                          accumulate, g.packed);
    if (!cast<MemRefType>(a.getType()).hasStaticShape())
      product.setMaxTerms(g.blockPositions());
  }

  /// Taps of the last dim; a single one is known.
  void forTaps(IndexMath &m,
               llvm::function_ref<void(IndexMath &, Ofr)> body) const {
    int64_t taps = g.dims.back().kernel;
    if (taps == 1)
      return body(m, m.attr(0));
    emitLoop(m, m.attr(0), m.attr(taps), body);
  }

  /// dst = 0: the sum over nothing.
  void clear(IndexMath &m, Ofr tap) const {
    product(m, m.attr(0), m.attr(0), {}, {}, {}, m.attr(0), m.attr(1),
            m.attr(g.panel), rowCount, dstBox(m, tap, firstRow, rowCount),
            false);
  }

  /// Strides of src and diff along batch and outer positions.
  void strides(IndexMath &m, SmallVectorImpl<Ofr> &srcStrides,
               SmallVectorImpl<Ofr> &diffStrides) const {
    for (int64_t i = 0; i <= g.last(); ++i) {
      int64_t step = i == 0 ? 1 : g.dims[i - 1].stride;
      srcStrides.push_back(m.mul(g.src.strides[i], m.attr(step)));
      diffStrides.push_back(g.diff.strides[i]);
    }
  }

  /// Adds positions `column` of the last dimension through tap `tap`; rows
  /// [row, row + rows) count from that tap.
  void addColumns(IndexMath &m, ArrayRef<Range> block, Range column, Ofr tap,
                  Ofr row, Ofr rows) const {
    SmallVector<Ofr> at, sizes, srcStrides, diffStrides;
    for (const Range &r : block) {
      at.push_back(r.from);
      sizes.push_back(r.count);
    }
    strides(m, srcStrides, diffStrides);
    Ofr srcK =
        m.mul(g.src.strides[g.last() + 1], m.attr(g.dims[g.last()].stride));
    product(m, srcOffset(m, at, column.from, tap, row),
            diffOffset(m, at, column.from), sizes, srcStrides, diffStrides,
            column.count, srcK, g.diff.strides[g.last() + 1], rows,
            dstBox(m, tap, row, rows), true);
  }

  /// Adds position `column`, whose taps outside [lo, hi) are cut: the sum is
  /// over the innermost other dimension.
  void addEdge(IndexMath &m, ArrayRef<Range> block, Ofr column, Ofr lo,
               Ofr hi) const {
    SmallVector<Ofr> at, sizes, srcStrides, diffStrides;
    for (const Range &r : block) {
      at.push_back(r.from);
      sizes.push_back(r.count);
    }
    strides(m, srcStrides, diffStrides);
    Ofr k = sizes.pop_back_val(), srcK = srcStrides.pop_back_val(),
        diffK = diffStrides.pop_back_val();
    Ofr inner = m.attr(g.inPerGroup), end = m.add(firstRow, rowCount);
    Ofr from = m.max(firstRow, m.mul(lo, inner));
    Ofr past = m.max(m.min(end, m.mul(hi, inner)), from);
    Ofr rows = m.sub(past, from), zero = m.attr(0);
    product(m, srcOffset(m, at, column, zero, from), diffOffset(m, at, column),
            sizes, srcStrides, diffStrides, k, srcK, diffK, rows,
            dstBox(m, zero, from, rows), true);
  }

  /// Copies a block of diff to scratch, where its rows follow each other, and
  /// adds it from there.
  void addCopied(IndexMath &m, ArrayRef<Range> block) const {
    Strided copy;
    copy.base = scratchView(m, memory, g.diff.elementType(), m.attr(0),
                            m.attr(g.scratch));
    SmallVector<Ofr> at, sizes;
    for (const Range &r : block) {
      at.push_back(r.from);
      sizes.push_back(r.count);
    }
    sizes.append({m.attr(g.dims.back().out), m.attr(columns)});
    copy.strides.assign(sizes.size(), m.attr(1));
    Ofr stride = m.attr(g.panel);
    for (int64_t i = static_cast<int64_t>(sizes.size()) - 2; i >= 0; --i) {
      copy.strides[i] = stride;
      stride = m.mul(stride, sizes[i]);
    }
    SmallVector<Ofr> strides(g.diff.strides);
    Value from =
        box(m, g.diff.base, diffOffset(m, at, m.attr(0)), sizes, strides);
    Value to = box(m, copy.base, m.attr(0), sizes, copy.strides);
    linalg::CopyOp::create(m.builder(), m.location(), from, to);
    // Positions count from the start of the tensor.
    Ofr start = m.attr(0);
    for (auto [position, step] : llvm::zip(at, copy.strides))
      start = m.add(start, m.mul(position, step));
    copy.offset = m.sub(m.attr(0), start);
    Gradient local = g;
    local.packed = true;
    local.scratch = 0;
    local.diff = copy;
    local.groupStride = local.panelStride = m.attr(0);
    Item{local,   group,   panel, taps,       firstRow, rowCount,
         columns, Value(), sums,  firstPanel, mostRows}
        .addBlock(m, block);
  }

  void addBlock(IndexMath &m, ArrayRef<Range> block) const {
    if (g.scratch)
      return addCopied(m, block);
    const WindowDim &d = g.dims.back();
    if (!g.merged)
      return forTaps(m, [&](IndexMath &km, Ofr tap) {
        addColumns(km, block, positionsOf(km, d, tap), tap, firstRow, rowCount);
      });
    auto [first, past] = d.interior();
    if (past > first)
      addColumns(m, block, {m.attr(first), m.attr(past - first)}, m.attr(0),
                 firstRow, rowCount);
    for (auto [from, to] :
         {std::pair(int64_t(0), first), std::pair(past, d.out)})
      emitLoop(m, m.attr(from), m.attr(to), [&](IndexMath &em, Ofr column) {
        auto [lo, hi] = d.validTaps(em, em.mul(column, em.attr(d.stride)));
        addEdge(em, block, column, lo, hi);
      });
  }

  /// Blocks of batch and outer positions, dimension `i` of them and inwards.
  using BlockBody = llvm::function_ref<void(IndexMath &, ArrayRef<Range>)>;
  void forBlocks(IndexMath &m, ArrayRef<Range> all, SmallVector<Range> block,
                 BlockBody body) const {
    size_t i = block.size();
    if (i == all.size())
      return body(m, block);
    auto known = IndexMath::constant(all[i].count);
    if (i > 0 && !known)
      known = g.dims[i - 1].out; // at most
    if (known && *known <= g.blocks[i]) {
      block.push_back(all[i]);
      return forBlocks(m, all, block, body);
    }
    Ofr size = m.attr(g.blocks[i]);
    emitLoop(m, m.attr(0), m.ceilDiv(all[i].count, size),
             [&](IndexMath &im, Ofr b) {
               Ofr at = im.mul(b, size);
               Ofr count = im.min(size, im.sub(all[i].count, at));
               SmallVector<Range> inner = block;
               inner.push_back({im.add(all[i].from, at), count});
               forBlocks(im, all, inner, body);
             });
  }
};

/// Blocks of about kBlockElements elements of a panel of diff, whole inner
/// dimensions first.
SmallVector<int64_t> chooseBlocks(const Gradient &g) {
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
int64_t scratchElements(const Gradient &g) {
  int64_t elements = g.dims.back().out * g.panel;
  for (int64_t size : g.blocks)
    elements *= size;
  return elements <= kScratchElements ? elements : 0;
}

/// Whether (tap of the last dimension, channel) walk through src and through
/// dst with one stride each.
bool canMerge(IndexMath &m, const Gradient &g) {
  size_t w = g.dims.size(); // dimension of src; of dst one less
  auto steps = [&](Ofr outer, Ofr inner) {
    auto x = IndexMath::constant(outer);
    auto y = IndexMath::constant(m.mul(inner, m.attr(g.inPerGroup)));
    return x && y && *x == *y;
  };
  return g.groups == 1 && g.dims.back().dilation == 1 &&
         g.dims.back().kernel > 1 &&
         steps(g.src.strides[w], g.src.strides[w + 1]) &&
         steps(g.dst.strides[w - 1], g.dst.strides[w]);
}

/// diff as [batch, spatial.., panel] and where groups and panels are in it.
void setDiff(IndexMath &m, Gradient &g, const Strided &diff) {
  g.diff = diff;
  if (!g.packed) {
    g.groupStride = m.attr(g.outPerGroup);
    g.panelStride = m.attr(g.panel);
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
void joinPositions(IndexMath &m, Gradient &g) {
  int64_t spatial = static_cast<int64_t>(g.dims.size()), positions = 1;
  for (const WindowDim &d : g.dims) {
    if (!d.isIdentity())
      return;
    positions *= d.out;
  }
  for (const Strided *s : {&g.src, &g.diff})
    for (int64_t i = 1; i < spatial; ++i)
      if (s->strides[i] != m.mul(s->strides[i + 1], m.attr(g.dims[i].out)))
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
    Ofr step = s->strides[spatial];
    s->strides = {s->strides.front(), m.mul(step, m.attr(row)), step,
                  s->strides.back()};
  }
  ArrayRef<Ofr> matrix = ArrayRef(g.dst.strides).take_back(2);
  g.dst.strides = {m.attr(0), m.attr(0), matrix[0], matrix[1]};
}

void emitGradient(GroupContext &ctx, const Gradient &g) {
  IndexMath &m = ctx.m;
  int64_t pieces = (g.rows() + kRowsOfItem - 1) / kRowsOfItem;
  SmallVector<Ofr> counts{m.attr(g.groups)};
  int64_t others = g.groups * std::max<int64_t>(pieces, 1);
  for (const WindowDim &d : ArrayRef(g.dims).drop_back()) {
    counts.push_back(m.attr(d.kernel));
    others *= d.kernel;
  }
  // A block of src is read from L2 for all panels of an item.
  int64_t shares = std::min((kItems + others - 1) / others, g.panels);
  int64_t together = shares ? (g.panels + shares - 1) / shares : 1;
  shares = (g.panels + together - 1) / together;
  counts.append({m.attr(pieces), m.attr(shares)});
  int64_t blockBytes = g.scratch * static_cast<int64_t>(sizeof(float));
  int64_t mostRows = pieces ? (g.rows() + pieces - 1) / pieces : 0;
  int64_t tapsOfItem = g.merged ? 1 : g.dims.back().kernel;
  Totals totals(together * tapsOfItem * mostRows * g.panel, g.numBlocks());
  emitItems(
      m, ctx.label, m.product(counts), m.attr(blockBytes + totals.bytes()),
      [&](IndexMath &im, Value index, Value memory) {
        SmallVector<Ofr> at = delinearize(im, index, counts);
        Ofr share = at.pop_back_val(), piece = at.pop_back_val();
        Ofr panel = im.mul(share, im.attr(together));
        Ofr past =
            g.panels % together == 0
                ? im.add(panel, im.attr(together))
                : im.min(im.add(panel, im.attr(together)), im.attr(g.panels));
        SmallVector<Range> all{{im.attr(0), g.src.sizes[0]}};
        SmallVector<Ofr> taps(ArrayRef(at).drop_front());
        for (auto [d, tap] : llvm::zip(g.dims, taps))
          all.push_back(positionsOf(im, d, tap));
        // Equal pieces, but for the last.
        Ofr most = im.attr(mostRows), row = im.mul(piece, most);
        Ofr rows = g.rows() == mostRows * pieces
                       ? most
                       : im.min(most, im.sub(im.attr(g.rows()), row));
        Item item{g,       at[0],  panel,   taps,  row,     rows,
                  g.panel, memory, Value(), panel, mostRows};
        using PanelBody = llvm::function_ref<void(IndexMath &, const Item &)>;
        auto forPanels = [&](IndexMath &pm, PanelBody body) {
          auto one = [&](IndexMath &om, Ofr p) {
            withBlockSize(om, p, g.outPerGroup, g.panel,
                          [&](IndexMath &cm, int64_t columns) {
                            Item inner = item;
                            inner.panel = p;
                            inner.columns = columns;
                            body(cm, inner);
                          });
          };
          if (together == 1)
            one(pm, panel);
          else
            emitLoop(pm, panel, past, one);
        };
        // The pieces of dst that a panel has.
        using PieceBody =
            llvm::function_ref<void(IndexMath &, const Item &, Ofr)>;
        auto forPieces = [&](IndexMath &pm, PieceBody body) {
          forPanels(pm, [&](IndexMath &cm, const Item &inner) {
            if (g.merged)
              return body(cm, inner, cm.attr(0));
            inner.forTaps(
                cm, [&](IndexMath &km, Ofr tap) { body(km, inner, tap); });
          });
        };
        forPieces(im, [&](IndexMath &pm, const Item &inner, Ofr tap) {
          inner.clear(pm, tap);
        });
        auto addToDst = [&](IndexMath &am, Value total) {
          forPieces(am, [&](IndexMath &pm, const Item &inner, Ofr tap) {
            Item from = inner;
            from.sums = total;
            addTo(pm, from.dstBox(pm, tap, row, rows),
                  inner.dstBox(pm, tap, row, rows));
          });
        };
        Totals sums = totals;
        if (sums.any())
          sums.begin(im, memory, im.attr(blockBytes));
        item.forBlocks(im, all, {}, [&](IndexMath &bm, ArrayRef<Range> block) {
          Value first = sums.any() ? sums.first(bm) : Value();
          forPanels(bm, [&](IndexMath &cm, const Item &inner) {
            Item target = inner;
            target.sums = first;
            target.addBlock(cm, block);
          });
          sums.added(bm, bm.attr(1), addToDst);
        });
        sums.finish(im, addToDst);
      });
}

} // namespace

LogicalResult lowerConvWeights(GroupContext &ctx, tile::ConvWeightsOp op) {
  IndexMath &m = ctx.m;
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  auto diffType = rankedType(op.getDiff());
  int64_t rank = srcType.getRank(), groups = op.getGroups();
  bool packed = op.getPacked();
  for (auto [type, batch] : {std::pair(srcType, 0), std::pair(dstType, -1),
                             std::pair(diffType, packed ? 2 : 0)})
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      if (static_cast<int>(i) != batch && ShapedType::isDynamic(size))
        return op.emitError("E2003 only the batch may be dynamic");
  Gradient g{packed,
             {},
             ctx.memoryOf(op.getSrc()),
             ctx.outputs.begin()->second.front(),
             {},
             groups,
             dstType.getDimSize(rank - 2),
             dstType.getDimSize(rank - 1) / groups,
             0,
             0,
             {},
             {},
             false,
             {}};
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
  g.panels = (g.outPerGroup + g.panel - 1) / g.panel;
  setDiff(m, g, ctx.memoryOf(op.getDiff()));
  joinPositions(m, g);
  g.merged = canMerge(m, g);
  g.blocks = chooseBlocks(g);
  if (!packed)
    g.scratch = scratchElements(g);
  emitGradient(ctx, g);
  return success();
}

} // namespace tenon::tiling
