//===- LowerAttentionBackward.cpp - gradients of attention ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   rt.parallel items(heads x parts of the keys) {
//     dq[part] = 0
//     for each block of keys K, V of the part:
//       dk, dv = 0
//       for each head that shares them, for each block of queries Q, dO:
//         S = tile.brgemm Q, K^T;  U = tile.brgemm dO, V^T
//         W, T = gradient(S, U)
//         dv += tile.brgemm W^T, dO;  dk += tile.brgemm T^T, Q
//         dq[part] += tile.brgemm T, K
//   }
//   rt.parallel items(heads x blocks of queries) { dq = sum of dq[part] }
//
// Five products are all that the gradients need. One pass over the queries for
// dq and one over the keys for dk and dv would compute S and U twice, seven
// products, to have no sums over parts: but a part has so many keys that adding
// its sums takes a few percent of the time. With one part dq is summed where it
// belongs, and there is no second section.
//
// Parts follow from shapes, and their sums are added in order: results are the
// same for any number of threads.
//
// What is read as rows of a right operand, or is no f32, is copied as f32 to
// scratch memory: a block of queries once for each block of keys, as keys are.
// So are dk and dv of other types, until they are complete.
//
//===----------------------------------------------------------------------===//
#include "passes/ops/Packing.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/attention/ScalarRegion.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/GroupLowering.h"
#include "passes/tile/core/WorkItems.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Blocks of scores of this many queries and keys stay in L2 twice, beside what
/// the products read.
constexpr int64_t kQueries = 64, kKeys = 128;
/// Items that keep threads busy.
constexpr int64_t kEnoughItems = 32;
/// Arguments of the region before the epilogue operands.
constexpr unsigned kFirstOperand = 5;

/// Operands and results over the leading dimensions of q.
struct Problem {
  SmallVector<Index> lead;
  Index rows, keys;
  int64_t depth = 0, columns = 0; // elements of a query, of a value
  Strided q, k, v, diff, dq, dk, dv;
  SmallVector<Strided> epilogueOperands;
  mlir::Block *gradient = nullptr;
  SmallVector<int64_t> own, shared; // dims of `lead` that keys have, or not

  bool isNarrow() const { return !q.elementType().isF32(); }
};

struct Schedule {
  int64_t queries = 0, keys = 0; // of a block
  int64_t panel = 0, pitch = 0;
  Index keyBlocks, partBlocks, parts; // blocks of all keys, and of a part
};

/// Where the memory of an item has what.
struct Scratch {
  Value keyPanels, valuePanels, scores, ofWeights; // f32
  Value q, diff, k, dk, dv;                        // f32 copies
};

Problem readProblem(GroupContext &ctx, tile::AttentionBackwardOp op) {
  Problem p;
  ArrayRef<Index> q = ctx.sizes[op.getQ()];
  p.lead.assign(q.begin(), q.end() - 2);
  p.rows = *(q.end() - 2);
  p.keys = *(ctx.sizes[op.getK()].end() - 2);
  p.depth = rankedType(op.getQ()).getShape().back();
  p.columns = rankedType(op.getV()).getShape().back();
  p.gradient = &op.getGradient().front();
  auto over = [&](Strided s, Index rows, int64_t columns) {
    SmallVector<Index> space(p.lead);
    space.append({rows, columns});
    Strided t = broadcastTo(s, space);
    // The last two dimensions are its own: never broadcast.
    for (int64_t i : {1, 2})
      t.strides[t.rank() - i] = s.strides[s.rank() - i];
    return t;
  };
  auto output = [&](Value v) { return ctx.outputs.find(v)->second.front(); };
  p.q = over(ctx.memoryOf(op.getQ()), p.rows, p.depth);
  p.k = over(ctx.memoryOf(op.getK()), p.keys, p.depth);
  p.v = over(ctx.memoryOf(op.getV()), p.keys, p.columns);
  p.diff = over(ctx.memoryOf(op.getDiff()), p.rows, p.columns);
  p.dq = over(output(op.getDq()), p.rows, p.depth);
  p.dk = over(output(op.getDk()), p.keys, p.depth);
  p.dv = over(output(op.getDv()), p.keys, p.columns);
  SmallVector<Index> scores(p.lead);
  scores.append({p.rows, p.keys});
  for (Value operand : op.getEpilogueOperands())
    p.epilogueOperands.push_back(broadcastTo(ctx.memoryOf(operand), scores));
  auto k = rankedType(op.getK());
  for (int64_t d = 0; d < k.getRank() - 2; ++d) {
    bool isShared = k.getDimSize(d) == 1 && !p.lead[d].isConstant(1);
    (isShared ? p.shared : p.own).push_back(d);
  }
  return p;
}

/// `size` cut into as few parts as there are of `most`, of equal length: at
/// least 1.
int64_t evenPart(int64_t size, int64_t most) {
  int64_t parts = std::max<int64_t>(1, ceilDiv(size, most));
  return std::max<int64_t>(1, ceilDiv(size, parts));
}

Schedule makeSchedule(const Problem &p, tile::TargetAttr target) {
  Schedule s;
  auto keys = p.keys.constant();
  s.panel = Packing{target}.panelFor(
      ShapedType::kDynamic,
      keys ? std::min(*keys, kKeys) : ShapedType::kDynamic, /*interleave=*/1,
      /*whole=*/true);
  // Equal blocks: not 128 keys and then 2.
  int64_t most = std::max<int64_t>(1, kKeys / s.panel) * s.panel;
  s.keys = keys ? roundUp(evenPart(*keys, most), s.panel) : most;
  s.pitch = oddPitch(s.keys, sizeof(float));
  auto rows = p.rows.constant();
  s.queries = rows ? evenPart(*rows, kQueries) : kQueries;
  Index heads = 1;
  for (int64_t d : p.own)
    heads *= p.lead[d];
  s.keyBlocks = ceilDiv(p.keys, s.keys);
  Index wanted = min(ceilDiv(kEnoughItems, max(heads, 1)), max(s.keyBlocks, 1));
  s.partBlocks = max(ceilDiv(s.keyBlocks, wanted), 1);
  s.parts = ceilDiv(s.keyBlocks, s.partBlocks);
  return s;
}

class BackwardEmitter {
public:
  BackwardEmitter(IndexMath &m, StringRef label, const Problem &problem,
                  const Schedule &schedule)
      : m(m), b(m.builder()), label(label), p(problem), s(schedule) {}

  void run();

private:
  /// A block of scores.
  struct Place {
    SmallVector<Index> head; // over `lead`
    Index row, rows, key, keys;
  };
  bool hasParts() const { return !s.parts.isConstant(1) || p.isNarrow(); }
  /// Whether rows of `operand` are copied as f32 before products read them.
  bool copies(const Strided &operand) const {
    return !operand.elementType().isF32() ||
           !operand.strides.back().isConstant(1);
  }
  Scratch scratchOf(Value memory) const;
  Index scratchBytes() const;
  template <typename Emit> void forEachBuffer(Emit emit) const;

  Index partialOffset(ArrayRef<Index> head, Index part, Index row) const;
  Value rowsOf(const Strided &t, ArrayRef<Index> head, Index from, Index count,
               int64_t width) const;
  Value dqOf(const Place &at, Index part) const;
  void forEachHead(SmallVector<Index> &head, size_t dim,
                   llvm::function_ref<void()> body) const;
  void copy(Value from, Value to) const;
  void packPanels(const Strided &t, const Place &at, int64_t depth,
                  Value to) const;
  void emitItem(const Grid::Item &item, const Scratch &scratch) const;
  void emitKeys(Place at, Index part, const Scratch &scratch) const;
  void emitBlock(const Place &at, Index part, const Scratch &scratch) const;
  void emitScores(Value a, Value panels, int64_t depth, const Place &at,
                  Value to) const;
  Value rounded(OpBuilder &nb, Location l, Value x) const;
  void emitGradient(const Place &at, const Scratch &scratch) const;
  void emitSumOfParts() const;

  IndexMath &m;
  OpBuilder &b;
  StringRef label;
  const Problem &p;
  const Schedule &s;
  Value partials; // [parts, lead.., rows, depth], f32
};

/// Calls `emit` with each buffer of the scratch memory, its number of elements
/// and whether it is needed.
template <typename Emit> void BackwardEmitter::forEachBuffer(Emit emit) const {
  int64_t d = p.depth, e = p.columns;
  emit(&Scratch::keyPanels, d * s.keys, true);
  emit(&Scratch::valuePanels, e * s.keys, true);
  emit(&Scratch::scores, s.queries * s.pitch, true);
  emit(&Scratch::ofWeights, s.queries * s.pitch, true);
  emit(&Scratch::q, s.queries * d, copies(p.q));
  emit(&Scratch::diff, s.queries * e, copies(p.diff));
  emit(&Scratch::k, s.keys * d, copies(p.k));
  emit(&Scratch::dk, s.keys * d, copies(p.dk));
  emit(&Scratch::dv, s.keys * e, copies(p.dv));
}

Index BackwardEmitter::scratchBytes() const {
  int64_t bytes = 0;
  forEachBuffer([&](auto, int64_t elements, bool isNeeded) {
    if (isNeeded)
      bytes += roundUp(elements * sizeof(float), kLineBytes);
  });
  return bytes;
}

Scratch BackwardEmitter::scratchOf(Value memory) const {
  Scratch scratch;
  int64_t at = 0;
  forEachBuffer([&](Value Scratch::*place, int64_t elements, bool isNeeded) {
    if (!isNeeded)
      return;
    scratch.*place = scratchView(m, memory, b.getF32Type(), at, elements);
    at += roundUp(elements * sizeof(float), kLineBytes);
  });
  return scratch;
}

/// `count` rows of `t` from row `from` on.
Value BackwardEmitter::rowsOf(const Strided &t, ArrayRef<Index> head,
                              Index from, Index count, int64_t width) const {
  Index stride = t.strides[t.rank() - 2];
  return box(m, t.base, offsetOf(t, head) + from * stride, {count, width},
             {stride, t.strides.back()});
}

/// Where the sums of a part for a row begin.
Index BackwardEmitter::partialOffset(ArrayRef<Index> head, Index part,
                                     Index row) const {
  Index number = part;
  for (auto [index, size] : llvm::zip(head, p.lead))
    number = number * size + index;
  return (number * p.rows + row) * p.depth;
}

/// The rows of dq, or of the sums of a part, of a block.
Value BackwardEmitter::dqOf(const Place &at, Index part) const {
  if (!hasParts())
    return rowsOf(p.dq, at.head, at.row, at.rows, p.depth);
  return box(m, partials, partialOffset(at.head, part, at.row),
             {at.rows, p.depth}, {p.depth, 1});
}

/// Calls `body` for each of the heads that share keys, from the shared
/// dimension `dim` on; `head` is complete then.
void BackwardEmitter::forEachHead(SmallVector<Index> &head, size_t dim,
                                  llvm::function_ref<void()> body) const {
  if (dim == p.shared.size())
    return body();
  emitLoop(m, 0, p.lead[p.shared[dim]], [&](Index i) {
    head[p.shared[dim]] = i;
    forEachHead(head, dim + 1, body);
  });
}

/// to = from, as f32 or rounded.
void BackwardEmitter::copy(Value from, Value to) const {
  Type type = cast<MemRefType>(to.getType()).getElementType();
  pointwise(m, from, to, [&](OpBuilder &nb, Location l, ValueRange args) {
    Value x = args[0];
    if (type.isF32() && !x.getType().isF32())
      return arith::ExtFOp::create(nb, l, type, x).getResult();
    if (!type.isF32() && x.getType().isF32())
      return arith::TruncFOp::create(nb, l, type, x).getResult();
    return x;
  });
}

/// Transposes the keys of a block to panels [depth, panel], so that they are
/// columns.
void BackwardEmitter::packPanels(const Strided &t, const Place &at,
                                 int64_t depth, Value to) const {
  Index row = t.strides[t.rank() - 2], column = t.strides.back();
  Index start = offsetOf(t, at.head) + at.key * row;
  auto pack = [&](Index panel, Index columns) {
    copy(box(m, t.base, start + panel * s.panel * row, {depth, columns},
             {column, row}),
         box(m, to, panel * (depth * s.panel), {depth, columns}, {s.panel, 1}));
  };
  Index full = at.keys / s.panel, tail = at.keys % s.panel;
  emitLoop(m, 0, full, [&](Index panel) { pack(panel, s.panel); });
  if (tail.constant().value_or(0))
    pack(full, tail);
  else if (!tail.constant())
    emitLoop(m, 0, min(tail, 1), [&](Index) { pack(full, tail); });
}

/// to = a . panels, of the keys of a block.
void BackwardEmitter::emitScores(Value a, Value panels, int64_t depth,
                                 const Place &at, Value to) const {
  emitLoop(m, 0, ceilDiv(at.keys, s.panel), [&](Index panel) {
    Value w = panelBox(m, panels, panel * (depth * s.panel), {}, {}, depth,
                       s.panel, /*v=*/1);
    // Whole panels: nobody reads what is beyond the keys.
    Value c = box(m, to, panel * s.panel, {at.rows, s.panel}, {s.pitch, 1});
    tile::BrgemmOp::create(b, m.location(), a, w, c);
  });
}

/// `x`, an f32, as it is in the type that products read.
Value BackwardEmitter::rounded(OpBuilder &nb, Location l, Value x) const {
  if (!p.isNarrow())
    return x;
  x = arith::TruncFOp::create(nb, l, p.q.elementType(), x);
  return arith::ExtFOp::create(nb, l, nb.getF32Type(), x);
}

/// Scores and gradients of weights become the weights and the gradients of
/// scores; these take the place of the scores.
void BackwardEmitter::emitGradient(const Place &at,
                                   const Scratch &scratch) const {
  mlir::Block &region = *p.gradient;
  SmallVector<Index> start(at.head);
  start.append({at.row, at.key});
  RegionOperands read = readOperands(m, p.epilogueOperands, start,
                                     {at.rows, at.keys}, region, kFirstOperand);
  auto block = [&](Value buffer) {
    return box(m, buffer, 0, {at.rows, at.keys}, {s.pitch, 1});
  };
  SmallVector<AffineMap> maps = read.maps;
  maps.append(2, b.getMultiDimIdentityMap(2));
  Index head = 0;
  for (auto [index, size] : llvm::zip(at.head, p.lead))
    head = head * size + index;
  Value row = m.value(at.row), key = m.value(at.key), width = m.value(p.keys);
  Value first = m.value((head * p.rows + at.row) * p.keys + at.key);
  auto isShared = [&](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return number >= kFirstOperand &&
           p.epilogueOperands[number - kFirstOperand].strides.back().isConstant(
               0);
  };
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), read.boxes,
      ValueRange{block(scratch.scores), block(scratch.ofWeights)}, maps,
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        IRMapping map;
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        map.map(region.getArgument(0), args.drop_back().back());
        map.map(region.getArgument(1), args.back());
        Value i = linalg::IndexOp::create(nb, l, 0),
              j = linalg::IndexOp::create(nb, l, 1);
        auto sum = [&](Value x, Value y) -> Value {
          return arith::AddIOp::create(nb, l, x, y);
        };
        map.map(region.getArgument(2), sum(i, row));
        map.map(region.getArgument(3), sum(j, key));
        Value number =
            sum(arith::MulIOp::create(nb, l, i, width), sum(j, first));
        Value element =
            arith::IndexCastOp::create(nb, l, nb.getI64Type(), number);
        map.map(region.getArgument(4), element);
        SmallVector<Value> yielded =
            cloneScalars(nb, region, map, isShared, /*narrow=*/p.isNarrow());
        for (Value &x : yielded)
          x = rounded(nb, l, x);
        linalg::YieldOp::create(nb, l, ValueRange{yielded[1], yielded[0]});
      });
}

/// All that a block of scores adds to the gradients.
void BackwardEmitter::emitBlock(const Place &at, Index part,
                                const Scratch &scratch) const {
  auto queries = [&](const Strided &t, int64_t width, Value memory) {
    Value rows = rowsOf(t, at.head, at.row, at.rows, width);
    if (!copies(t))
      return rows;
    Value to = box(m, memory, 0, {at.rows, width}, {width, 1});
    copy(rows, to);
    return to;
  };
  Value q = queries(p.q, p.depth, scratch.q);
  Value diff = queries(p.diff, p.columns, scratch.diff);
  emitScores(q, scratch.keyPanels, p.depth, at, scratch.scores);
  emitScores(diff, scratch.valuePanels, p.columns, at, scratch.ofWeights);
  emitGradient(at, scratch);
  auto ofKeys = [&](const Strided &t, int64_t width, Value copy) {
    return copies(t) ? box(m, copy, 0, {at.keys, width}, {width, 1})
                     : rowsOf(t, at.head, at.key, at.keys, width);
  };
  auto add = [&](Value a, Value rows, Value to) {
    tile::BrgemmOp::create(b, m.location(), a, rows, to, /*accumulate=*/true,
                           /*packed=*/false);
  };
  auto transposed = [&](Value buffer) {
    return box(m, buffer, 0, {at.keys, at.rows}, {1, s.pitch});
  };
  add(transposed(scratch.ofWeights), diff, ofKeys(p.dv, p.columns, scratch.dv));
  add(transposed(scratch.scores), q, ofKeys(p.dk, p.depth, scratch.dk));
  add(box(m, scratch.scores, 0, {at.rows, at.keys}, {s.pitch, 1}),
      ofKeys(p.k, p.depth, scratch.k), dqOf(at, part));
}

/// One block of keys, with all queries that meet them.
void BackwardEmitter::emitKeys(Place at, Index part,
                               const Scratch &scratch) const {
  packPanels(p.k, at, p.depth, scratch.keyPanels);
  packPanels(p.v, at, p.columns, scratch.valuePanels);
  auto inScratch = [&](Value buffer, int64_t width) {
    return box(m, buffer, 0, {at.keys, width}, {width, 1});
  };
  if (copies(p.k))
    copy(rowsOf(p.k, at.head, at.key, at.keys, p.depth),
         inScratch(scratch.k, p.depth));
  struct Sum {
    const Strided &to;
    Value copy;
    int64_t width;
  };
  const std::array sums{Sum{p.dk, scratch.dk, p.depth},
                        Sum{p.dv, scratch.dv, p.columns}};
  for (const Sum &sum : sums)
    fill(m,
         copies(sum.to) ? inScratch(sum.copy, sum.width)
                        : rowsOf(sum.to, at.head, at.key, at.keys, sum.width),
         0);
  forEachHead(at.head, 0, [&] {
    emitLoop(m, 0, ceilDiv(p.rows, s.queries), [&](Index number) {
      withBlockSize(m, number, p.rows, s.queries, [&](Index rows) {
        at.row = number * s.queries;
        at.rows = rows;
        emitBlock(at, part, scratch);
      });
    });
  });
  for (const Sum &sum : sums)
    if (copies(sum.to))
      copy(inScratch(sum.copy, sum.width),
           rowsOf(sum.to, at.head, at.key, at.keys, sum.width));
}

void BackwardEmitter::emitItem(const Grid::Item &item,
                               const Scratch &scratch) const {
  Place at;
  at.head.assign(p.lead.size(), 0);
  for (auto [d, index] : llvm::zip(p.own, item.all("head")))
    at.head[d] = index;
  Index part = item["part"];
  SmallVector<Index> head(at.head);
  forEachHead(head, 0, [&] {
    Place all = at;
    all.head = head;
    all.row = 0;
    all.rows = p.rows;
    fill(m, dqOf(all, part), 0);
  });
  Index first = part * s.partBlocks;
  emitLoop(m, first, min(first + s.partBlocks, s.keyBlocks), [&](Index number) {
    withBlockSize(m, number, p.keys, s.keys, [&](Index keys) {
      Place block = at;
      block.key = number * s.keys;
      block.keys = keys;
      emitKeys(block, part, scratch);
    });
  });
}

/// dq = the sum of all parts.
void BackwardEmitter::emitSumOfParts() const {
  Grid grid;
  grid.add("head", p.lead);
  grid.add("rows", ceilDiv(p.rows, s.queries));
  int64_t bytes = s.queries * p.depth * sizeof(float);
  emitItems(m, label, grid, bytes, [&](const Grid::Item &item, Value memory) {
    Place at;
    at.head = SmallVector<Index>(item.all("head"));
    at.row = item["rows"] * s.queries;
    at.rows = min(s.queries, p.rows - at.row);
    bool inPlace = !copies(p.dq);
    Value dst = rowsOf(p.dq, at.head, at.row, at.rows, p.depth);
    Value sum = inPlace ? dst
                        : box(m,
                              scratchView(m, memory, b.getF32Type(), 0,
                                          s.queries * p.depth),
                              0, {at.rows, p.depth}, {p.depth, 1});
    fill(m, sum, 0);
    emitLoop(m, 0, s.parts, [&](Index part) {
      pointwise(m, dqOf(at, part), sum,
                [](OpBuilder &nb, Location l, ValueRange args) -> Value {
                  return arith::AddFOp::create(nb, l, args[1], args[0]);
                });
    });
    if (!inPlace)
      copy(sum, dst);
  });
}

void BackwardEmitter::run() {
  if (hasParts()) {
    Index count = s.parts * product(p.lead) * p.rows * p.depth;
    auto known = count.constant();
    SmallVector<Value> dynamic;
    if (!known)
      dynamic.push_back(m.value(count));
    partials = memref::AllocOp::create(
        b, m.location(),
        MemRefType::get({known.value_or(ShapedType::kDynamic)}, b.getF32Type()),
        dynamic);
  }
  Grid grid;
  for (int64_t d : p.own)
    grid.add("head", p.lead[d]);
  grid.add("part", s.parts);
  emitItems(m, label, grid, scratchBytes(),
            [&](const Grid::Item &item, Value memory) {
              emitItem(item, scratchOf(memory));
            });
  if (hasParts())
    emitSumOfParts();
}

} // namespace

LogicalResult lowerAttentionBackward(GroupContext &ctx,
                                     tile::AttentionBackwardOp op) {
  const Problem problem = readProblem(ctx, op);
  const Schedule schedule = makeSchedule(problem, ctx.target);
  BackwardEmitter(ctx.m, ctx.label, problem, schedule).run();
  return success();
}

} // namespace tenon::passes
