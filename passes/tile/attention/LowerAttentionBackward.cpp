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
// Where the target has dots of neighbours, narrow floats are multiplied as they
// are. Right operands are in panels then, a block of queries packed once for
// each block of keys, and weights and gradients of scores are rounded and
// transposed. Elsewhere all is copied as f32 first. dk and dv of another type
// than f32 are summed in scratch memory.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/attention/BackwardProblem.h"
#include "passes/tile/attention/ScalarRegion.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/products/PackPanels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace tenon::passes {

namespace {

class BackwardEmitter {
public:
  BackwardEmitter(IndexMath &m, StringRef label, const BackwardProblem &problem,
                  const BackwardSchedule &schedule)
      : m(m), b(m.builder()), label(label), p(problem), s(schedule) {}

  void run();

private:
  using Scratch = BackwardScratch;
  /// A block of scores.
  struct Place {
    SmallVector<Index> head; // over `lead`
    Index row, rows, key, keys;
  };
  /// A matrix [terms, columns] on the right of a product: rows as they lie, or
  /// panels.
  struct Right {
    Value rows, panels;
    Index terms;
    int64_t columns, panel;
  };

  Value rowsOf(const Strided &t, ArrayRef<Index> head, Index from, Index count,
               int64_t width) const;
  Value dqOf(const Place &at, Index part) const;
  Value sumsOf(const Strided &result, Value scratch, const Place &at,
               int64_t width) const;
  void forEachHead(SmallVector<Index> &head, size_t dim,
                   llvm::function_ref<void()> body) const;
  Value leftRows(const Strided &t, const Place &at, int64_t width,
                 Value scratch) const;
  void packColumns(const Strided &t, const Place &at, int64_t width,
                   Value to) const;
  Right rightRows(const Strided &t, const Place &at, Index row, Index count,
                  int64_t width, int64_t panel, Value copy) const;
  void emitScores(Value a, Value panels, int64_t depth, const Place &at,
                  Value to) const;
  void addProduct(Value a, const Right &right, Value to, Index rows) const;
  void emitGradient(const Place &at, const Scratch &scratch) const;
  void emitBlock(const Place &at, Index part, const Scratch &scratch) const;
  void emitKeys(Place at, Index part, const Scratch &scratch) const;
  void emitItem(const Grid::Item &item, const Scratch &scratch) const;
  void emitSumOfParts() const;

  IndexMath &m;
  OpBuilder &b;
  StringRef label;
  const BackwardProblem &p;
  const BackwardSchedule &s;
  Value partials; // [parts, lead.., rows, depth], f32
};

/// `count` rows of `t` from row `from` on.
Value BackwardEmitter::rowsOf(const Strided &t, ArrayRef<Index> head,
                              Index from, Index count, int64_t width) const {
  Index stride = t.strides[t.rank() - 2];
  return box(m, t.base, offsetOf(t, head) + from * stride, {count, width},
             {stride, t.strides.back()});
}

/// The rows of dq, or of the sums of a part, of a block.
Value BackwardEmitter::dqOf(const Place &at, Index part) const {
  if (!s.sumsParts)
    return rowsOf(p.dq, at.head, at.row, at.rows, p.depth);
  Index row =
      (part * product(p.lead) + numberOf(at.head, p.lead)) * p.rows + at.row;
  return box(m, partials, row * p.depth, {at.rows, p.depth}, {p.depth, 1});
}

/// Where dk or dv, `result`, of a block of keys is summed.
Value BackwardEmitter::sumsOf(const Strided &result, Value scratch,
                              const Place &at, int64_t width) const {
  return s.sumsApart(result) ? box(m, scratch, 0, {at.keys, width}, {width, 1})
                             : rowsOf(result, at.head, at.key, at.keys, width);
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

/// The queries, or their gradients, of a block as a left operand.
Value BackwardEmitter::leftRows(const Strided &t, const Place &at,
                                int64_t width, Value scratch) const {
  Value rows = rowsOf(t, at.head, at.row, at.rows, width);
  if (!s.copies(t))
    return rows;
  Value copy = box(m, scratch, 0, {at.rows, width}, {width, 1});
  convert(m, rows, copy);
  return copy;
}

/// Packs keys or values of a block as columns.
void BackwardEmitter::packColumns(const Strided &t, const Place &at,
                                  int64_t width, Value to) const {
  Index row = t.strides[t.rank() - 2];
  packMatrix(
      m, {t.base, offsetOf(t, at.head) + at.key * row, t.strides.back(), row},
      width, at.keys, s.panel, s.interleave, to);
}

/// `count` rows of `t` from `row` on as a right operand. `copy` is where they
/// are copied or packed to, if they are.
BackwardEmitter::Right BackwardEmitter::rightRows(const Strided &t,
                                                  const Place &at, Index row,
                                                  Index count, int64_t width,
                                                  int64_t panel,
                                                  Value copy) const {
  Right right{{}, {}, count, width, panel};
  if (s.isInterleaved()) {
    right.panels = copy;
    Index stride = t.strides[t.rank() - 2];
    packMatrix(
        m,
        {t.base, offsetOf(t, at.head) + row * stride, stride, t.strides.back()},
        count, width, panel, s.interleave, copy);
  } else if (s.copies(t)) {
    right.rows = box(m, copy, 0, {count, width}, {width, 1});
    convert(m, rowsOf(t, at.head, row, count, width), right.rows);
  } else {
    right.rows = rowsOf(t, at.head, row, count, width);
  }
  return right;
}

/// to = a . panels, of the keys of a block.
void BackwardEmitter::emitScores(Value a, Value panels, int64_t depth,
                                 const Place &at, Value to) const {
  emitLoop(m, 0, ceilDiv(at.keys, s.panel), [&](Index panel) {
    Value w =
        panelBox(m, panels, panel * panelSize(depth, s.panel, s.interleave), {},
                 {}, depth, s.panel, s.interleave);
    // Whole panels: nobody reads what is beyond the keys.
    Value c = box(m, to, panel * s.panel, {at.rows, s.panel}, {s.pitch, 1});
    tile::BrgemmOp::create(b, m.location(), a, w, c);
  });
}

/// to += a . right, of so many rows.
void BackwardEmitter::addProduct(Value a, const Right &right, Value to,
                                 Index rows) const {
  if (right.rows) {
    tile::BrgemmOp::create(b, m.location(), a, right.rows, to,
                           /*accumulate=*/true, /*packed=*/false);
    return;
  }
  for (int64_t column = 0; column < right.columns; column += right.panel) {
    int64_t width = std::min(right.panel, right.columns - column);
    Value w = panelBox(m, right.panels,
                       panelSize(right.terms, right.panel, s.interleave) *
                           (column / right.panel),
                       {}, {}, right.terms, right.panel, s.interleave);
    tile::BrgemmOp::create(b, m.location(), a, w,
                           subBox(m, to, {0, column}, {rows, width}),
                           /*accumulate=*/true);
  }
}

/// Scores and gradients of weights become the weights and the gradients of
/// scores. These take the place of the scores or, in a narrow type, lie beside
/// them and, transposed, once more.
void BackwardEmitter::emitGradient(const Place &at,
                                   const Scratch &scratch) const {
  mlir::Block &region = *p.gradient;
  SmallVector<Index> start(at.head);
  start.append({at.row, at.key});
  RegionOperands read =
      readOperands(m, p.epilogueOperands, start, {at.rows, at.keys}, region,
                   kFirstBackwardOperand);
  auto block = [&](Value buffer, int64_t pitch) {
    return box(m, buffer, 0, {at.rows, at.keys}, {pitch, 1});
  };
  SmallVector<Value> ins = read.boxes, outs{block(scratch.scores, s.pitch),
                                            block(scratch.ofWeights, s.pitch)};
  bool dots = s.isInterleaved();
  if (dots) {
    llvm::append_range(ins, outs);
    outs = {block(scratch.gradients, s.narrowPitch),
            block(scratch.weights, s.narrowPitch)};
  }
  SmallVector<AffineMap> maps = read.maps;
  maps.append(dots ? 4 : 2, b.getMultiDimIdentityMap(2));
  Value row = m.value(at.row), key = m.value(at.key), width = m.value(p.keys);
  Value first =
      m.value((numberOf(at.head, p.lead) * p.rows + at.row) * p.keys + at.key);
  auto isShared = [&](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return number >= kFirstBackwardOperand &&
           p.epilogueOperands[number - kFirstBackwardOperand]
               .strides.back()
               .isConstant(0);
  };
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), ins, outs, maps,
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        IRMapping map;
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        size_t n = read.arguments.size();
        map.map(region.getArgument(0), args[n]);
        map.map(region.getArgument(1), args[n + 1]);
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
        for (Value &x : yielded) {
          // Products read them in the type of the operands.
          if (p.isNarrow())
            x = arith::TruncFOp::create(nb, l, p.element(), x);
          if (p.isNarrow() && !dots)
            x = arith::ExtFOp::create(nb, l, nb.getF32Type(), x);
        }
        linalg::YieldOp::create(nb, l, ValueRange{yielded[1], yielded[0]});
      });
  if (!dots)
    return;
  for (auto [from, to] :
       {std::pair(scratch.weights, scratch.weightsAcross),
        std::pair(scratch.gradients, scratch.gradientsAcross)})
    convert(m, box(m, from, 0, {at.keys, at.rows}, {1, s.narrowPitch}),
            box(m, to, 0, {at.keys, at.rows}, {s.acrossPitch, 1}));
}

/// All that a block of scores adds to the gradients.
void BackwardEmitter::emitBlock(const Place &at, Index part,
                                const Scratch &scratch) const {
  Value q = leftRows(p.q, at, p.depth, scratch.q);
  Value diff = leftRows(p.diff, at, p.columns, scratch.diff);
  emitScores(q, scratch.keyColumns, p.depth, at, scratch.scores);
  emitScores(diff, scratch.valueColumns, p.columns, at, scratch.ofWeights);
  emitGradient(at, scratch);
  bool dots = s.isInterleaved();
  // f32 left operands are right ones, too.
  auto right = [&](const Strided &t, int64_t width, int64_t panel, Value rows,
                   Value left) {
    return dots ? rightRows(t, at, at.row, at.rows, width, panel, rows)
                : Right{left, {}, at.rows, width, panel};
  };
  auto transposed = [&](Value buffer, Value across) {
    return dots ? box(m, across, 0, {at.keys, at.rows}, {s.acrossPitch, 1})
                : box(m, buffer, 0, {at.keys, at.rows}, {1, s.pitch});
  };
  addProduct(transposed(scratch.ofWeights, scratch.weightsAcross),
             right(p.diff, p.columns, s.valuePanel, scratch.diffRows, diff),
             sumsOf(p.dv, scratch.dv, at, p.columns), at.keys);
  addProduct(transposed(scratch.scores, scratch.gradientsAcross),
             right(p.q, p.depth, s.depthPanel, scratch.qRows, q),
             sumsOf(p.dk, scratch.dk, at, p.depth), at.keys);
  Right keys{{}, scratch.keyRows, at.keys, p.depth, s.depthPanel};
  if (!dots)
    keys.rows = s.copies(p.k) ? box(m, scratch.keyRows, 0, {at.keys, p.depth},
                                    {p.depth, 1})
                              : rowsOf(p.k, at.head, at.key, at.keys, p.depth);
  Value gradients = dots ? scratch.gradients : scratch.scores;
  addProduct(box(m, gradients, 0, {at.rows, at.keys},
                 {dots ? s.narrowPitch : s.pitch, 1}),
             keys, dqOf(at, part), at.rows);
}

/// One block of keys, with all queries that meet them.
void BackwardEmitter::emitKeys(Place at, Index part,
                               const Scratch &scratch) const {
  packColumns(p.k, at, p.depth, scratch.keyColumns);
  packColumns(p.v, at, p.columns, scratch.valueColumns);
  rightRows(p.k, at, at.key, at.keys, p.depth, s.depthPanel, scratch.keyRows);
  Value dk = sumsOf(p.dk, scratch.dk, at, p.depth),
        dv = sumsOf(p.dv, scratch.dv, at, p.columns);
  fill(m, dk, 0);
  fill(m, dv, 0);
  Place sums = at;
  forEachHead(at.head, 0, [&] {
    emitLoop(m, 0, ceilDiv(p.rows, s.queries), [&](Index number) {
      withBlockSize(m, number, p.rows, s.queries, [&](Index rows) {
        at.row = number * s.queries;
        at.rows = rows;
        emitBlock(at, part, scratch);
      });
    });
  });
  if (s.sumsApart(p.dk))
    convert(m, dk, rowsOf(p.dk, sums.head, at.key, at.keys, p.depth));
  if (s.sumsApart(p.dv))
    convert(m, dv, rowsOf(p.dv, sums.head, at.key, at.keys, p.columns));
}

void BackwardEmitter::emitItem(const Grid::Item &item,
                               const Scratch &scratch) const {
  Place at;
  at.head.assign(p.lead.size(), 0);
  for (auto [d, index] : llvm::zip(p.own, item.all("head")))
    at.head[d] = index;
  Index part = item["part"];
  Place all = at;
  all.rows = p.rows;
  forEachHead(all.head, 0, [&] { fill(m, dqOf(all, part), 0); });
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
  int64_t elements = s.queries * p.depth;
  bool apart = s.sumsApart(p.dq);
  emitItems(
      m, label, grid, apart ? elements * sizeof(float) : 0,
      [&](const Grid::Item &item, Value memory) {
        Place at;
        at.head = SmallVector<Index>(item.all("head"));
        at.row = item["rows"] * s.queries;
        at.rows = min(s.queries, p.rows - at.row);
        Value dst = rowsOf(p.dq, at.head, at.row, at.rows, p.depth), sum = dst;
        if (apart)
          sum = box(m, scratchView(m, memory, b.getF32Type(), 0, elements), 0,
                    {at.rows, p.depth}, {p.depth, 1});
        fill(m, sum, 0);
        emitLoop(m, 0, s.parts, [&](Index part) {
          pointwise(m, dqOf(at, part), sum,
                    [](OpBuilder &nb, Location l, ValueRange args) -> Value {
                      return arith::AddFOp::create(nb, l, args[1], args[0]);
                    });
        });
        if (apart)
          convert(m, sum, dst);
      });
}

void BackwardEmitter::run() {
  if (s.sumsParts)
    partials = allocateBetween(m, b.getF32Type(),
                               s.parts * product(p.lead) * p.rows * p.depth);
  Grid grid;
  for (int64_t d : p.own)
    grid.add("head", p.lead[d]);
  grid.add("part", s.parts);
  emitItems(m, label, grid, s.scratch.bytes(),
            [&](const Grid::Item &item, Value memory) {
              emitItem(item, s.scratch.at(m, memory));
            });
  if (s.sumsParts)
    emitSumOfParts();
}

} // namespace

LogicalResult lowerAttentionBackward(GroupContext &ctx,
                                     tile::AttentionBackwardOp op) {
  const BackwardProblem problem = readBackwardProblem(ctx, op);
  const BackwardSchedule schedule = makeBackwardSchedule(problem, ctx.target);
  BackwardEmitter(ctx.m, ctx.label, problem, schedule).run();
  return success();
}

} // namespace tenon::passes
