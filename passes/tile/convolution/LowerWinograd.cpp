//===- LowerWinograd.cpp - 3x3 Winograd convolutions ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// F(m x m, 3x3): a tile is m x m elements of dst, computed from m+2 x m+2 of
// src. Tiles of all images, row by row, are cut into blocks of T:
//
//   V[x, t, c] = B^T src B            (m+2)^2 points x of T tiles, channels as
//                                     lanes
//   M[x, t, k] = sum over c of V[x, t, c] * weights[x, c, k]   one tile.brgemm
//                                                              for each point
//   dst        = epilogue(A^T M A)    channels as lanes
//
// The matrices are in WinogradTransforms.cpp.
//
// With many blocks an item is a block, and V and M are its scratch. With few,
// a first section writes V to a temporary, and items of the second are (block,
// panel): else a small image would leave one thread all the work.
//
// Tiles whose elements of src all exist are transformed from where they are;
// others from a copy between zeros.
//
//===----------------------------------------------------------------------===//
#include "passes/support/Diagnose.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/convolution/WinogradTransforms.h"
#include "passes/tile/core/Epilogue.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

using namespace winograd;

namespace {

/// As many blocks leave no thread without work; they need no second section.
constexpr int64_t kEnoughBlocks = 8;
/// So few blocks are a multiple of kSharedBy: 2 or 4 threads have equal shares.
constexpr int64_t kManyBlocks = 32;
constexpr int64_t kSharedBy = 4;
/// Tiles of an item that only transforms: some microseconds.
constexpr int64_t kMinPiece = 8;
/// Elements of a cache line, and those of a power of two of bytes whose
/// multiples meet few sets of L1.
constexpr int64_t kLine = kLineBytes / sizeof(float);
constexpr int64_t kBadPitch = 128;

/// Elements from one row of `columns` to the next.
int64_t pitchOf(int64_t columns) {
  int64_t pitch = roundUp(columns, kLine);
  return pitch % kBadPitch == 0 ? pitch + kLine : pitch;
}

/// Elements from one point to the next: all of them are read or written at once
/// and must not meet in one set of the cache, so they are an odd number of
/// lines apart.
int64_t slabOf(int64_t rows, int64_t pitch) {
  return oddPitch(rows * pitch, sizeof(float));
}

/// x where `a` and `b` compare so, else y.
Index choose(IndexMath &m, arith::CmpIPredicate predicate, Index a, Index b,
             Index x, Index y) {
  Value holds = arith::CmpIOp::create(m.builder(), m.location(), predicate,
                                      m.value(a), m.value(b));
  return m(arith::SelectOp::create(m.builder(), m.location(), holds, m.value(x),
                                   m.value(y)));
}

/// The tiles of one row of tiles that are in a block, or in a part of one.
struct RowPart {
  Index image, row;
  Index from, to; // columns of tiles
  Index slot;     // of column 0 in the block; negative where that is not in it
};

struct Winograd {
  GroupContext &ctx;
  const Epilogue &epilogue;
  Tile tile;
  Strided src, dst;          // [N, H, W, C]
  Value packed;              // [1, P, edge, edge, C, panel]
  SizedWindow rows, columns; // of tiles over src
  Index outRows, outColumns;
  int64_t channels, outputs, panel;
  bool isUnsigned;       // src, if it is bytes
  Index tiles = {};      // in all
  int64_t block = 0;     // tiles of a block, at most
  Index step = {};       // tiles of each block but the last
  bool sharesV = false;  // with all items of a second section
  int64_t pitch = 0;     // of V
  int64_t slab = 0;      // of a point of V
  int64_t panelSlab = 0; // of a point of M

  int64_t panels() const { return ceilDiv(outputs, panel); }
  bool streams() const {
    return tile.points() * channels * outputs >= kMaxCachedWeights;
  }

  void chooseBlock(int64_t l2Bytes);

  //===--- Where things are -----------------------------------------------===//

  Value boxOfPoints(IndexMath &m, Value base, Index offset, int64_t slabSize,
                    int64_t rowPitch, Index slot, Index count,
                    int64_t width) const {
    offset += slot * rowPitch;
    return box(m, base, offset, {tile.points(), count, width},
               {slabSize, rowPitch, 1});
  }

  /// Calls `body` for each row of tiles that meets tiles [first, first +
  /// count); slots count from `start`.
  void overRows(IndexMath &m, Index first, Index count, Index start,
                llvm::function_ref<void(const RowPart &)> body) const {
    Index perRow = columns.out, end = first + count;
    emitLoop(m, first / perRow, ceilDiv(end, perRow), [&](Index r) {
      RowPart part;
      part.image = r / rows.out;
      part.row = r % rows.out;
      Index origin = r * perRow;
      part.from = max(first - origin, 0);
      part.to = min(end - origin, perRow);
      part.slot = origin - start;
      body(part);
    });
  }

  //===--- src ------------------------------------------------------------===//

  /// v = B^T d B of a row of tiles. `in` is [edge, columns, C], and a tile
  /// begins `tile.outputs` columns after the one before it.
  void transform(IndexMath &m, Value in, Value v) const {
    Coordinates at{m.builder().getContext()};
    int64_t edge = tile.edge(), points = tile.points();
    SmallVector<AffineMap> maps;
    for (int64_t x = 0; x < points; ++x)
      maps.push_back(
          at.map({at.number(x / edge), at.outer() * tile.outputs + x % edge,
                  at.inner()}));
    for (int64_t x = 0; x < points; ++x)
      maps.push_back(at.map({at.number(x), at.outer(), at.inner()}));
    SmallVector<Value> ins(points, in), outs(points, v);
    emitLoops(
        m, ins, outs, maps, [&](OpBuilder &b, Location loc, ValueRange args) {
          Transforms a{b, loc, tile};
          auto apply = [&](ArrayRef<Value> d) { return a.src(d); };
          auto d = llvm::map_to_vector(args.take_front(points), [&](Value x) {
            return toFloat(b, loc, x);
          });
          return a.both(d, edge, apply, apply);
        });
  }

  Value toFloat(OpBuilder &b, Location loc, Value x) const {
    Type f32 = b.getF32Type();
    if (x.getType() == f32)
      return x;
    return isUnsigned ? arith::UIToFPOp::create(b, loc, f32, x).getResult()
                      : arith::SIToFPOp::create(b, loc, f32, x);
  }

  /// The tile at column `at`, of which some of src is padding.
  void transformEdge(IndexMath &m, const RowPart &p, Index at, Value v,
                     Index vOffset, Value patch) const {
    Index edge = tile.edge();
    SmallVector<Index> strides{tile.edge() * pitch, pitch, 1};
    SmallVector<Index> sizes{edge, edge, channels};
    Value whole = box(m, patch, 0, sizes, strides);
    fill(m, whole, 0);
    Index from = p.image * src.strides[0], to = 0;
    for (int64_t i = 0; i < 2; ++i) {
      const SizedWindow &window = i == 0 ? rows : columns;
      Index start = (i == 0 ? p.row : at) * tile.outputs;
      auto [lo, hi] = window.validTaps(start);
      sizes[i] = hi - lo;
      Index position = start + lo - window.pad;
      from += position * src.strides[i + 1];
      to += lo * strides[i];
    }
    Value there =
        box(m, src.base, from, sizes, ArrayRef(src.strides).drop_front());
    linalg::CopyOp::create(m.builder(), m.location(), there,
                           box(m, patch, to, sizes, strides));
    transform(
        m, whole,
        boxOfPoints(m, v, vOffset, slab, pitch, p.slot + at, 1, channels));
  }

  /// V of tiles [first, first + count), whose slots count from `start`.
  void transformTiles(IndexMath &m, Index first, Index count, Index start,
                      Value v, Index vOffset, Value patch) const {
    overRows(m, first, count, start, [&](const RowPart &p) {
      auto [lo, hi] = inside(m, p);
      // One loop over both ends of the row.
      Index before = lo - p.from, after = p.to - hi;
      Index skipped = hi - lo;
      emitLoop(m, 0, before + after, [&](Index i) {
        Index at = p.from + i;
        at = choose(m, arith::CmpIPredicate::slt, at, lo, at, at + skipped);
        transformEdge(m, p, at, v, vOffset, patch);
      });
      auto [first, past] = columns.interior();
      if ((past - first).constant().value_or(1) > 0) {
        Index n = hi - lo, step = tile.outputs;
        Index offset = p.image * src.strides[0];
        for (auto [i, window, at] :
             {std::tuple(1, rows, p.row), std::tuple(2, columns, lo)})
          offset += (at * step - window.pad) * src.strides[i];
        Value in = box(m, src.base, offset,
                       {tile.edge(), n * step + (kTaps - 1), channels},
                       ArrayRef(src.strides).drop_front());
        transform(
            m, in,
            boxOfPoints(m, v, vOffset, slab, pitch, p.slot + lo, n, channels));
      }
    });
  }

  /// Columns [lo, hi) of the part whose tiles lie in src; both are the end of
  /// the part where there are none.
  std::pair<Index, Index> inside(IndexMath &m, const RowPart &p) const {
    auto [firstRow, pastRow] = rows.interior();
    auto [first, past] = columns.interior();
    Index lo = min(max(p.from, first), p.to);
    Index hi = max(min(p.to, past), lo);
    if (firstRow.isConstant(0) && pastRow == rows.out)
      return {lo, hi};
    for (auto [predicate, limit] :
         {std::pair(arith::CmpIPredicate::sge, firstRow),
          std::pair(arith::CmpIPredicate::slt, pastRow)}) {
      lo = choose(m, predicate, p.row, limit, lo, p.to);
      hi = choose(m, predicate, p.row, limit, hi, p.to);
    }
    return {lo, hi};
  }

  //===--- Products -------------------------------------------------------===//

  void multiply(IndexMath &m, Index count, Index p, int64_t width, Value v,
                Index vOffset, Value sums) const {
    emitLoop(m, 0, tile.points(), [&](Index x) {
      Value a = box(m, v, vOffset + x * slab, {count, channels}, {pitch, 1});
      Index which = p * tile.points() + x;
      Value b = box(m, packed, which * (channels * panel), {channels, panel},
                    {panel, 1});
      Value c = box(m, sums, x * panelSlab, {count, width}, {panel, 1});
      auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, c);
      product.setPrefetchNext(streams());
    });
  }

  //===--- dst ------------------------------------------------------------===//

  /// epilogue(A^T M A) of tiles [from, to) of a row, of which `height` rows and
  /// `width` columns of dst exist; `n` columns of panel `p`.
  void store(IndexMath &m, const RowPart &part, Index from, Index to,
             int64_t height, int64_t width, Index p, int64_t n,
             Value sums) const;

  void storeTiles(IndexMath &m, Index first, Index count, Index p, int64_t n,
                  Value sums) const;

  /// All that follows V for one panel of the block at `first`.
  void finishPanel(IndexMath &m, Index which, Index first, Index count, Index p,
                   Value v, Index vOffset, Value sums) const {
    withBlockSize(m, p, outputs, panel, [&](int64_t n) {
      auto total = tiles.constant();
      if (total)
        withBlockSize(m, which, *total, block, [&](int64_t t) {
          multiply(m, t, p, n, v, vOffset, sums);
        });
      else
        multiply(m, count, p, n, v, vOffset, sums);
      storeTiles(m, first, count, p, n, sums);
    });
  }

  //===--- Sections -------------------------------------------------------===//

  void emit();
  void emitBlocks(Index blocks) const;
  void emitTransforms(int64_t blocks, Value v) const;
  void emitPanels(int64_t blocks, Value v) const;

  Index countOf(Index which) const {
    Index first = which * step;
    auto total = tiles.constant();
    if (total && *total % block == 0)
      return block;
    return min(step, tiles - first);
  }
  Index bytes(int64_t elements) const {
    return elements * static_cast<int64_t>(sizeof(float));
  }
  Value scratch(IndexMath &m, Value memory, int64_t from,
                int64_t elements) const {
    return scratchView(m, memory, m.builder().getF32Type(), bytes(from),
                       elements);
  }
  Value patchAt(IndexMath &m, Value memory, int64_t from) const {
    return scratchView(m, memory, src.elementType(), bytes(from),
                       patchElements());
  }
  int64_t patchElements() const { return tile.points() * pitch; }
};

/// V and M of a block take a quarter of L2, or, where blocks are so few that V
/// is shared, half of it: then weights pass by fewer times. Blocks are as equal
/// as they can be. Where the number of tiles is not known, small images have
/// smaller blocks.
void Winograd::chooseBlock(int64_t l2Bytes) {
  pitch = pitchOf(channels);
  int64_t perTile = tile.points() * (pitch + panel);
  auto total = tiles.constant();
  block = rowBlock(total, perTile, l2Bytes / 2);
  if (total) {
    auto blocksOf = [&] { return ceilDiv(*total, block); };
    int64_t blocks =
        std::max(blocksOf(), std::min(kEnoughBlocks, *total / kMinRowBlock));
    sharesV = blocks < kEnoughBlocks;
    if (sharesV) {
      block = rowBlock(total, perTile, l2Bytes);
      blocks = blocksOf();
    } else if (blocks < kManyBlocks) {
      blocks = roundUp(blocks, kSharedBy);
    }
    block = blocks ? ceilDiv(*total, blocks) : 1;
  }
  step = total ? Index(block)
               : min(max(ceilDiv(tiles, kEnoughBlocks), kMinRowBlock), block);
  slab = slabOf(block, pitch);
  panelSlab = slabOf(block, panel);
}

/// Operands of the loop that writes dst: points, epilogue operands, elements of
/// dst.
struct DstLoop {
  const Winograd &w;
  IndexMath &m;
  SmallVector<Index> start; // in dst
  SmallVector<Index> sizes; // of the part: rows, columns, channels
  int64_t height, width;    // of a tile
  Coordinates at;
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  /// Of each element of a tile, the operands that are its epilogue operands.
  SmallVector<SmallVector<unsigned>> epilogueOperands;

  // Which of rows, columns and channels a tensor has.
  using Has = std::array<bool, 3>;

  int64_t elements() const { return height * width; }

  Value boxOf(const Strided &s, const Has &has) const {
    Index offset = s.offset.value_or(0);
    for (auto [position, stride] : llvm::zip(start, s.strides))
      offset += position * stride;
    SmallVector<Index> boxSizes, boxStrides;
    for (int64_t d = 0; d < 3; ++d) {
      if (!has[d])
        continue;
      boxSizes.push_back(sizes[d]);
      boxStrides.push_back(s.strides[d + 1]);
    }
    return box(m, s.base, offset, boxSizes, boxStrides);
  }

  /// Element `e` of each tile.
  AffineMap mapOf(const Has &has, int64_t e) const {
    const std::array<AffineExpr, 3> all{at.number(e / width),
                                        at.outer() * w.tile.outputs + e % width,
                                        at.inner()};
    SmallVector<AffineExpr> results;
    for (int64_t d = 0; d < 3; ++d)
      if (has[d])
        results.push_back(all[d]);
    return at.map(results);
  }

  void addPoints(Value points) {
    for (int64_t i = 0; i < w.tile.pointsFor(height); ++i)
      for (int64_t j = 0; j < w.tile.pointsFor(width); ++j) {
        ins.push_back(points);
        maps.push_back(
            at.map({at.number(i * w.tile.edge() + j), at.outer(), at.inner()}));
      }
  }

  /// One operand for each element of a tile, or for all of them.
  void addSide(const Strided &operand) {
    Has has;
    for (int64_t d = 0; d < 3; ++d)
      has[d] = !operand.strides[d + 1].isConstant(0);
    Value memory = boxOf(operand, has);
    bool shared = !has[0] && !has[1];
    for (int64_t e = 0; e < elements(); ++e) {
      if (!shared || e == 0) {
        ins.push_back(memory);
        maps.push_back(mapOf(has, e));
      }
      epilogueOperands[e].push_back(ins.size() - 1);
    }
  }

  void addDst() {
    constexpr Has whole{true, true, true};
    outs.assign(elements(), boxOf(w.dst, whole));
    for (int64_t e = 0; e < elements(); ++e)
      maps.push_back(mapOf(whole, e));
  }

  SmallVector<Value> compute(OpBuilder &b, Location loc,
                             ValueRange args) const {
    Transforms a{b, loc, w.tile};
    int64_t rows = w.tile.pointsFor(height), columns = w.tile.pointsFor(width);
    auto points = llvm::to_vector(args.take_front(rows * columns));
    SmallVector<Value> stored = a.both(
        points, rows, [&](ArrayRef<Value> m) { return a.dst(m, height); },
        [&](ArrayRef<Value> m) { return a.dst(m, width); });
    for (auto [y, beside] : llvm::zip(stored, epilogueOperands)) {
      SmallVector<Value> values;
      for (unsigned arg : beside)
        values.push_back(args[arg]);
      y = w.epilogue.apply(b, loc, y, values, w.dst.elementType());
    }
    return stored;
  }
};

void Winograd::store(IndexMath &m, const RowPart &part, Index from, Index to,
                     int64_t height, int64_t width, Index p, int64_t n,
                     Value sums) const {
  Index count = to - from, step = tile.outputs;
  DstLoop loop{*this,
               m,
               {part.image, part.row * step, from * step, p * panel},
               {height, count * step, n},
               height,
               width,
               {m.builder().getContext()},
               {},
               {},
               {},
               {}};
  loop.epilogueOperands.resize(loop.elements());
  loop.addPoints(
      boxOfPoints(m, sums, 0, panelSlab, panel, part.slot + from, count, n));
  for (const Strided &operand : epilogue.epilogueOperands)
    loop.addSide(operand);
  loop.addDst();
  emitLoops(m, loop.ins, loop.outs, loop.maps,
            [&](OpBuilder &b, Location loc, ValueRange args) {
              return loop.compute(b, loc, args);
            });
}

void Winograd::storeTiles(IndexMath &m, Index first, Index count, Index p,
                          int64_t n, Value sums) const {
  Index outputs = tile.outputs, wholeColumns = outColumns / outputs;
  // Where they are not known a tile has two outputs: what is left is one.
  int64_t lastColumns = (outColumns % outputs).constant().value_or(1);
  int64_t lastRows = (outRows % outputs).constant().value_or(1);
  overRows(m, first, count, first, [&](const RowPart &part) {
    auto columnsOf = [&](int64_t height) {
      Index middle = part.to;
      if (lastColumns > 0) {
        middle = max(min(part.to, wholeColumns), part.from);
        store(m, part, middle, part.to, height, lastColumns, p, n, sums);
      }
      if (!wholeColumns.isConstant(0))
        store(m, part, part.from, middle, height, tile.outputs, p, n, sums);
    };
    if (lastRows == 0)
      return columnsOf(tile.outputs);
    Index wholeRows = outRows / outputs;
    if (wholeRows.isConstant(0))
      return columnsOf(lastRows);
    emitIfBelow(
        m, part.row, wholeRows, [&] { columnsOf(tile.outputs); },
        [&] { columnsOf(lastRows); });
  });
}

/// Blocks as items: each has V and M to itself.
void Winograd::emitBlocks(Index blocks) const {
  IndexMath &m = ctx.m;
  int64_t vElements = tile.points() * slab;
  int64_t sumElements = tile.points() * panelSlab;
  Index total = bytes(vElements + sumElements + patchElements());
  emitItems(m, ctx.label, blocks, total, [&](Index item, Value memory) {
    Value v = scratch(m, memory, 0, vElements);
    Value sums = scratch(m, memory, vElements, sumElements);
    Value patch = patchAt(m, memory, vElements + sumElements);
    Index which = item, first = which * step;
    Index count = countOf(which);
    transformTiles(m, first, count, first, v, 0, patch);
    emitLoop(m, 0, panels(), [&](Index p) {
      finishPanel(m, which, first, count, p, v, 0, sums);
    });
  });
}

/// V of all blocks, for emitPanels.
void Winograd::emitTransforms(int64_t blocks, Value v) const {
  IndexMath &m = ctx.m;
  int64_t piece = std::min(block, std::max(*columns.out.constant(), kMinPiece));
  Grid grid{{"block", blocks}, {"piece", ceilDiv(block, piece)}};
  emitItems(m, ctx.label, grid, bytes(patchElements()),
            [&](const Grid::Item &item, Value memory) {
              Index which = item["block"], start = which * block;
              Index from = item["piece"] * piece;
              Index count = min(piece, max(countOf(which) - from, 0));
              transformTiles(m, start + from, count, start, v,
                             which * (tile.points() * slab),
                             patchAt(m, memory, 0));
            });
}

void Winograd::emitPanels(int64_t blocks, Value v) const {
  IndexMath &m = ctx.m;
  Grid grid{{"block", blocks}, {"panel", panels()}};
  int64_t elements = tile.points() * panelSlab;
  emitItems(m, ctx.label, grid, bytes(elements),
            [&](const Grid::Item &item, Value memory) {
              Index which = item["block"];
              finishPanel(m, which, which * block, countOf(which),
                          item["panel"], v, which * (tile.points() * slab),
                          scratch(m, memory, 0, elements));
            });
}

void Winograd::emit() {
  IndexMath &m = ctx.m;
  tiles = src.sizes[0] * (rows.out * columns.out);
  chooseBlock(ctx.target.getL2Bytes());
  Index blocks = ceilDiv(tiles, step);
  auto known = blocks.constant();
  if (known && *known == 0)
    return; // no images
  if (!sharesV)
    return emitBlocks(blocks);
  OpBuilder &b = m.builder();
  Value v = memref::AllocOp::create(
      b, m.location(),
      MemRefType::get(*known * tile.points() * slab, b.getF32Type()));
  emitTransforms(*known, v);
  emitPanels(*known, v);
}

} // namespace

LogicalResult lowerWinograd(GroupContext &ctx, tile::WinogradOp op) {
  Epilogue epilogue(ctx, op);
  Tile tile{static_cast<int64_t>(op.getOutputs())};
  auto srcType = rankedType(op.getSrc()), dstType = rankedType(op.getDst());
  ArrayRef<Index> in = ctx.sizes[op.getSrc()], out = ctx.sizes[op.getDst()];
  bool isKnown = out[1].constant() && out[2].constant();
  if (srcType.isDynamicDim(3) || dstType.isDynamicDim(3) ||
      (!isKnown && tile.outputs > 2))
    return emitError(op, ErrorCode::UnsupportedForm,
                     "channels may not be dynamic, nor sizes of large tiles");
  auto window = [&](int64_t d) {
    Index tiles = ceilDiv(out[d], tile.outputs);
    return SizedWindow{
        in[d], tiles, tile.edge(), tile.outputs, op.getPadsBegin()[d - 1], 1};
  };
  Winograd{ctx,
           epilogue,
           tile,
           ctx.memoryOf(op.getSrc()),
           ctx.result(),
           ctx.memoryOf(op.getWeights()).base,
           window(1),
           window(2),
           out[1],
           out[2],
           srcType.getDimSize(3),
           dstType.getDimSize(3),
           rankedType(op.getWeights()).getDimSize(5),
           srcType.getElementType().isUnsignedInteger(8)}
      .emit();
  return success();
}

} // namespace tenon::passes
