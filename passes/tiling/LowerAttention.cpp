//===- LowerAttention.cpp - attention, a block of queries at a time -------===//
//
//   rt.parallel items(batch x blocks of queries) scratch(S, max, sum) {
//     for each panel of keys:  S[:, panel] = tile.brgemm Q, K[panel]
//     for each row r:          S[r] = score(S[r]); max[r] = max(S[r])
//                              S[r] = exp(S[r] - max[r]); sum[r] = sum(S[r])
//     sum = 1 / sum
//     dst = tile.brgemm S, V  epilogue { acc * sum[row] }
//   }
//
// Whole rows of scores stay in L2 with the keys and values of their head, so
// nothing is computed twice and the order of summation is that of the plain
// graph. Dividing rows of dst instead of rows of S saves a pass.
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/TileDialect.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tiling/GroupLowering.h"
#include "passes/tiling/Items.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

namespace {

/// Bytes of scores that stay in L2 beside a head's keys and values: half of the
/// 512 KiB that the smallest current server cores have.
constexpr int64_t kScoreBytes = 256 << 10;
/// Rows of queries that share one pass over keys and values.
constexpr int64_t kMinQueries = 8;
constexpr int64_t kMaxQueries = 96;
/// Blocks are multiples of the heights of register tiles.
constexpr int64_t kQueryStep = 8;
constexpr int64_t kLine = 64;
constexpr int64_t kPage = 4096;
/// Rows of values so many bytes apart share few sets of the cache.
constexpr int64_t kBadStride = 1024;
constexpr int64_t kFloatBytes = 4;

int64_t roundUp(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

class AttentionLowering {
public:
  AttentionLowering(GroupContext &ctx, tile::AttentionOp op)
      : ctx(ctx), op(op), m(ctx.m) {}

  void run();

private:
  /// Where a block of queries is: its leading indices and first row.
  struct Block {
    IndexMath &m;
    SmallVector<Ofr> at;
    Ofr rows;
    Value scores, max, sum, values; // scratch
  };

  void mergeRows(SmallVectorImpl<Ofr> &lead);
  void chooseBlock();
  Ofr offsetOf(IndexMath &bm, const Strided &s, ArrayRef<Ofr> at);
  void emitBlock(Block &block);
  void emitScores(Block &block);
  void emitRow(Block &block, IndexMath &rm, Ofr row);
  void emitScoreRegion(Block &block, IndexMath &rm, Ofr row, Value scores,
                       Value max);
  void emitSums(Block &block);
  void emitOutput(Block &block);

  GroupContext &ctx;
  tile::AttentionOp op;
  IndexMath &m;
  Strided q, k, v, dst; // k: leading dimensions only
  std::optional<Strided> stats;
  SmallVector<Strided> sides; // over [B.., M, N]
  Ofr rows, depth;
  int64_t keys = 0, panel = 0, panels = 0, columns = 0;
  int64_t pitch = 0; // elements between rows of scores
  int64_t queries = 0;
  bool copiesValues = false; // their rows lie badly: read a copy
};

Value f32Constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

/// Heads that share keys and values are rows of one product: what matters when
/// there is one query.
void AttentionLowering::mergeRows(SmallVectorImpl<Ofr> &lead) {
  if (!op.getScore().front().getArgument(1).use_empty())
    return;
  SmallVector<Strided *> byRow{&q, &dst}, shared{&k, &v};
  if (stats)
    byRow.push_back(&*stats);
  for (Strided &s : sides)
    byRow.push_back(&s);
  while (!lead.empty()) {
    int64_t l = static_cast<int64_t>(lead.size()) - 1;
    bool unit = IndexMath::isConstant(lead[l], 1);
    bool single = IndexMath::isConstant(rows, 1);
    if (!unit && !llvm::all_of(shared, [&](Strided *s) {
          return IndexMath::isConstant(s->strides[l], 0);
        }))
      return;
    if (!unit && !single && !llvm::all_of(byRow, [&](Strided *s) {
          return s->strides[l] == m.mul(rows, s->strides[l + 1]);
        }))
      return;
    for (Strided *s : byRow)
      if (!unit && single)
        s->strides[l + 1] = s->strides[l];
    for (auto *list : {&byRow, &shared})
      for (Strided *s : *list) {
        s->sizes.erase(s->sizes.begin() + l);
        s->strides.erase(s->strides.begin() + l);
      }
    rows = m.mul(lead.pop_back_val(), rows);
  }
}

void AttentionLowering::chooseBlock() {
  panels = (keys + panel - 1) / panel;
  // Whole panels, whose last columns nobody reads; rows that are a multiple of
  // a page apart would fall into the same sets of the cache.
  pitch = roundUp(panels * panel, kLine / kFloatBytes);
  if (pitch * kFloatBytes % kPage == 0)
    pitch += kLine / kFloatBytes;
  queries = kScoreBytes / (pitch * kFloatBytes) / kQueryStep * kQueryStep;
  queries = std::clamp(queries, kMinQueries, kMaxQueries);
  // Equal blocks: not 96 queries and then 4.
  if (auto r = IndexMath::constant(rows)) {
    int64_t blocks = std::max<int64_t>(1, (*r + queries - 1) / queries);
    int64_t even = std::max<int64_t>(1, (*r + blocks - 1) / blocks);
    queries = std::min(*r < kQueryStep ? even : roundUp(even, kQueryStep),
                       std::max<int64_t>(1, *r));
  }
  auto stride = IndexMath::constant(v.strides[v.rank() - 2]);
  copiesValues = stride && *stride > columns && queries >= kQueryStep &&
                 *stride * kFloatBytes % kBadStride == 0;
}

void AttentionLowering::run() {
  ArrayRef<Ofr> space = ctx.sizes[op.getDst()];
  SmallVector<Ofr> lead(space.drop_back(2));
  rows = space[space.size() - 2];
  depth = ctx.sizes[op.getQ()].back();
  keys = op.getNumKeys();
  panel = rankedType(op.getK()).getShape().back();
  columns = rankedType(op.getDst()).getShape().back();
  // The last two dimensions are the operand's own: never broadcast.
  auto over = [&](Value value, Ofr first, Ofr second) {
    Strided s = ctx.memoryOf(value);
    SmallVector<Ofr> shape(lead);
    shape.append({first, second});
    Strided t = broadcastTo(m, s, shape);
    for (int64_t i : {1, 2})
      t.strides[t.rank() - i] = s.strides[s.rank() - i];
    return t;
  };
  q = over(op.getQ(), rows, depth);
  v = over(op.getV(), m.attr(keys), m.attr(columns));
  Strided kLead = ctx.memoryOf(op.getK());
  kLead.dense = false;
  kLead.sizes.pop_back_n(3);
  kLead.strides.pop_back_n(3);
  k = broadcastTo(m, kLead, lead);
  dst = ctx.outputs.find(op.getDst())->second.front();
  if (op.getStats())
    if (auto it = ctx.outputs.find(op.getStats()); it != ctx.outputs.end())
      stats = it->second.front();
  SmallVector<Ofr> scoreSpace(space);
  scoreSpace.back() = m.attr(keys);
  for (Value side : op.getSides())
    sides.push_back(broadcastTo(m, ctx.memoryOf(side), scoreSpace));
  mergeRows(lead);
  chooseBlock();

  SmallVector<Ofr> counts(lead);
  counts.push_back(m.ceilDiv(rows, m.attr(queries)));
  int64_t scoreBytes = queries * pitch * kFloatBytes;
  int64_t rowBytes = roundUp(queries * kFloatBytes, kLine);
  int64_t valueBytes = copiesValues ? keys * columns * kFloatBytes : 0;
  emitItems(m, ctx.label, m.product(counts),
            m.attr(scoreBytes + 2 * rowBytes + valueBytes),
            [&](IndexMath &im, Value item, Value scratch) {
              auto view = [&](int64_t at, int64_t size) -> Value {
                return memref::ViewOp::create(
                    im.builder(), im.location(),
                    MemRefType::get(size, im.builder().getF32Type()), scratch,
                    im.value(at), ValueRange());
              };
              Block block{im, delinearize(im, item, counts), {}, {}, {}, {},
                          {}};
              Ofr &first = block.at.back();
              first = im.mul(first, im.attr(queries));
              auto r = IndexMath::constant(rows);
              block.rows = r && *r % queries == 0
                               ? im.attr(queries)
                               : im.min(im.attr(queries), im.sub(rows, first));
              block.scores = view(0, queries * pitch);
              block.max = view(scoreBytes, queries);
              block.sum = view(scoreBytes + rowBytes, queries);
              if (copiesValues)
                block.values = view(scoreBytes + 2 * rowBytes, keys * columns);
              emitBlock(block);
            });
}

/// The offset of `at`, indices of the first dimensions of `s`.
Ofr AttentionLowering::offsetOf(IndexMath &bm, const Strided &s,
                                ArrayRef<Ofr> at) {
  Ofr offset = s.offset.value_or(bm.attr(0));
  for (auto [i, stride] : llvm::zip(at, s.strides))
    offset = bm.add(offset, bm.mul(i, stride));
  return offset;
}

void AttentionLowering::emitBlock(Block &block) {
  emitScores(block);
  emitLoop(block.m, block.m.attr(0), block.rows,
           [&](IndexMath &rm, Ofr row) { emitRow(block, rm, row); });
  emitSums(block);
  emitOutput(block);
}

void AttentionLowering::emitScores(Block &block) {
  IndexMath &bm = block.m;
  Value a = box(bm, q.base, offsetOf(bm, q, block.at), {block.rows, depth},
                {q.strides[q.rank() - 2], q.strides.back()});
  Ofr keysOffset = offsetOf(bm, k, ArrayRef(block.at).drop_back());
  emitLoop(bm, bm.attr(0), bm.attr(panels), [&](IndexMath &pm, Ofr p) {
    Ofr width = pm.attr(panel), one = pm.attr(1);
    Ofr at = pm.add(keysOffset, pm.mul(p, pm.mul(depth, width)));
    Value b = box(pm, k.base, at, {depth, width}, {width, one});
    Value c = box(pm, block.scores, pm.mul(p, width), {block.rows, width},
                  {pm.attr(pitch), one});
    tile::BrgemmOp::create(pm.builder(), pm.location(), a, b, c);
  });
}

/// One row of scores becomes exp(score - max).
void AttentionLowering::emitRow(Block &block, IndexMath &rm, Ofr row) {
  OpBuilder &b = rm.builder();
  Location loc = rm.location();
  double inf = std::numeric_limits<double>::infinity();
  Value scores = box(rm, block.scores, rm.mul(row, rm.attr(pitch)),
                     {rm.attr(keys)}, {rm.attr(1)});
  Value max = box(rm, block.max, row, {}, {});
  Value sum = box(rm, block.sum, row, {}, {});
  Value lowest = f32Constant(b, loc, -inf), zero = f32Constant(b, loc, 0);
  memref::StoreOp::create(b, loc, lowest, max, ValueRange());
  emitScoreRegion(block, rm, row, scores, max);
  Value shift = memref::LoadOp::create(b, loc, max, ValueRange());
  if (op.getInfAsZero()) {
    // A row of -inf: exp(-inf - 0) is 0, not exp(NaN).
    Value masked =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, shift, lowest);
    shift = arith::SelectOp::create(b, loc, masked, zero, shift);
    memref::StoreOp::create(b, loc, shift, max, ValueRange());
  }
  memref::StoreOp::create(b, loc, zero, sum, ValueRange());
  SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(1),
                              AffineMap::get(1, 0, b.getContext())};
  linalg::GenericOp::create(b, loc, TypeRange(), ValueRange(), {scores, sum},
                            maps, {utils::IteratorType::reduction},
                            [&](OpBuilder &nb, Location l, ValueRange args) {
                              Value d =
                                  arith::SubFOp::create(nb, l, args[0], shift);
                              Value e = math::ExpOp::create(nb, l, d);
                              Value s =
                                  arith::AddFOp::create(nb, l, args[1], e);
                              linalg::YieldOp::create(nb, l, ValueRange{e, s});
                            });
}

/// scores = score(scores), max = its largest.
void AttentionLowering::emitScoreRegion(Block &block, IndexMath &rm, Ofr row,
                                        Value scores, Value max) {
  OpBuilder &b = rm.builder();
  Location loc = rm.location();
  MLIRContext *context = b.getContext();
  mlir::Block &region = op.getScore().front();
  auto yield = cast<tile::YieldOp>(region.getTerminator());
  bool changes = yield.getValue() != region.getArgument(0);
  AffineMap along = b.getMultiDimIdentityMap(1);
  AffineMap same = AffineMap::get(1, 0, context);
  SmallVector<Ofr> at = block.at;
  at.back() = rm.add(at.back(), row);
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (const Strided &s : sides) {
    Ofr offset = offsetOf(rm, s, at);
    bool varies = !IndexMath::isConstant(s.strides.back(), 0);
    maps.push_back(varies ? along : same);
    ins.push_back(
        varies ? box(rm, s.base, offset, {rm.attr(keys)}, {s.strides.back()})
               : box(rm, s.base, offset, {}, {}));
  }
  (changes ? outs : ins).push_back(scores);
  outs.push_back(max);
  maps.append({along, same});
  Value query = rm.value(at.back());
  linalg::GenericOp::create(
      b, loc, TypeRange(), ins, outs, maps, {utils::IteratorType::reduction},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = sides.size();
        IRMapping map;
        map.map(region.getArgument(0), args[n]);
        map.map(region.getArgument(1), query);
        if (!region.getArgument(2).use_empty())
          map.map(region.getArgument(2),
                  linalg::IndexOp::create(nb, l, 0).getResult());
        for (size_t i = 0; i < n; ++i)
          map.map(region.getArgument(3 + i), args[i]);
        for (Operation &inner : region.without_terminator())
          nb.clone(inner, map);
        Value score = map.lookup(yield.getValue());
        Value top = arith::MaximumFOp::create(nb, l, args[n + 1], score);
        SmallVector<Value> results{top};
        if (changes)
          results.insert(results.begin(), score);
        linalg::YieldOp::create(nb, l, results);
      });
}

/// Statistics, and sum = 1 / sum.
void AttentionLowering::emitSums(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Location loc = bm.location();
  auto rowsOf = [&](Value scratch) {
    return box(bm, scratch, bm.attr(0), {block.rows}, {bm.attr(1)});
  };
  Value sum = rowsOf(block.sum);
  AffineMap map = b.getMultiDimIdentityMap(1);
  SmallVector<Value> ins, outs{sum};
  if (stats) {
    ins.push_back(rowsOf(block.max));
    outs.push_back(box(bm, stats->base, offsetOf(bm, *stats, block.at),
                       {block.rows}, {stats->strides[stats->rank() - 2]}));
  }
  SmallVector<AffineMap> maps(ins.size() + outs.size(), map);
  linalg::GenericOp::create(
      b, loc, TypeRange(), ins, outs, maps, {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value total = args[ins.size()];
        Value one = f32Constant(nb, l, 1);
        if (op.getInfAsZero()) {
          Value empty = arith::CmpFOp::create(nb, l, arith::CmpFPredicate::OEQ,
                                              total, f32Constant(nb, l, 0));
          total = arith::SelectOp::create(nb, l, empty, one, total);
        }
        SmallVector<Value> results{arith::DivFOp::create(nb, l, one, total)};
        if (stats) {
          Value log = math::LogOp::create(nb, l, total);
          results.push_back(arith::AddFOp::create(nb, l, args[0], log));
        }
        linalg::YieldOp::create(nb, l, results);
      });
}

void AttentionLowering::emitOutput(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Ofr one = bm.attr(1), n = bm.attr(keys), e = bm.attr(columns);
  Value p =
      box(bm, block.scores, bm.attr(0), {block.rows, n}, {bm.attr(pitch), one});
  Value values =
      box(bm, v.base, offsetOf(bm, v, ArrayRef(block.at).drop_back()), {n, e},
          {v.strides[v.rank() - 2], one});
  Value c = box(bm, dst.base, offsetOf(bm, dst, block.at), {block.rows, e},
                {dst.strides[dst.rank() - 2], one});
  Value inverse = box(bm, block.sum, bm.attr(0), {block.rows}, {one});
  if (copiesValues) {
    Value copy = box(bm, block.values, bm.attr(0), {n, e}, {e, one});
    linalg::CopyOp::create(b, bm.location(), values, copy);
    values = copy;
  }
  AffineMap perRow = tile::getSideMapOf(tile::SideKind::PerRow, b.getContext());
  tile::BrgemmOp::create(
      b, bm.location(), p, values, c, inverse, perRow, /*accumulate=*/false,
      /*packed=*/false,
      [](OpBuilder &eb, Location loc, ValueRange args) -> Value {
        return arith::MulFOp::create(eb, loc, args[0], args[1]);
      });
}

} // namespace

LogicalResult lowerAttention(GroupContext &ctx) {
  auto op = cast<tile::AttentionOp>(ctx.ops().front());
  AttentionLowering(ctx, op).run();
  return success();
}

} // namespace tenon::tiling
