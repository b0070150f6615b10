//===- LowerAttention.cpp - attention, a block of queries at a time -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   rt.parallel items(batch x blocks of queries) scratch(S, max, sum) {
//     for each panel of keys:  S[:, panel] = tile.brgemm Q, K[panel]
//     for each row r:          S[r] = score(S[r]); max[r] = max(S[r])
//                              S[r] = exp(S[r] - max[r]); sum[r] = sum(S[r])
//     sum = 1 / sum
//     dst = tile.brgemm S, V  epilogue { acc * sum[row] }
//   }
//
// While whole rows of scores stay in L2 with the keys and values of their head,
// nothing is computed twice and the order of summation is that of the plain
// graph. Dividing rows of dst instead of rows of S saves a pass.
//
// Longer rows are walked in steps, and S holds those of one step (online
// softmax). Maxima and sums are those so far: when a maximum grows, what was
// summed with the old one shrinks.
//
//     max, sum, dst = -inf, 0, 0
//     for each step: for each panel of it:  S[:, panel] = tile.brgemm Q,
//     K[panel]
//                    old = max; S = score(S); max = max(old, S)
//                    factor = exp(old - max); S = exp(S - max)
//                    sum = sum * factor + sum(S); dst = dst * factor
//                    dst += tile.brgemm S, V[step]
//     dst = dst / sum
//
// Where a causal mask replaces scores (CausalMask.h), keys that no row of a
// block sees have no scores computed, and take no part in sums. That changes
// nothing where their weights are 0, which the largest scores show, and 0 times
// their values is 0, which those show. Otherwise all scores are computed:
//
//     for n of {keys that rows see, all keys}:
//       the above with n keys, until all exp(masked - max) are 0 and no value
//       of the other keys is infinite or NaN
//
// In bf16 scores and sums are f32 all the same; weights are rounded to bf16
// beside the scores, and sums over steps stay in scratch until the last. Where
// products take neighbours of K in groups, k and v are packed so, and rows of
// weights meet one panel of v after the other.
//
// `from_left` sums over the queries: each has its own divisor, so rows of S are
// divided, and blocks of queries follow each other within an item.
//
//     dst = 0
//     for each block of queries: S as above; S[r] = S[r] / sum[r]
//                                dst += tile.brgemm V[:, block], S
//
// lowerAttention, at the end, is where to begin: it reads the operands and
// sizes (AttentionProblem.h), makes all decisions (AttentionSchedule.h) and
// then has code emitted, for blocks of queries here or, for few queries, by
// AttentionSplits.h. Both are made of products (AttentionProducts.h), the work
// on rows between them (AttentionRows.h) and the boxes of a block
// (AttentionBlock.h).
//
//===----------------------------------------------------------------------===//
#include "passes/tile/attention/AttentionOperands.h"
#include "passes/tile/attention/AttentionProducts.h"
#include "passes/tile/attention/AttentionRows.h"
#include "passes/tile/attention/AttentionSplits.h"
#include "passes/tile/attention/AttentionVisibleKeys.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

namespace {

/// A section whose items are blocks of queries, over packed keys.
class AttentionBlocks : AttentionEmitter {
public:
  explicit AttentionBlocks(const AttentionEmitter &base)
      : AttentionEmitter(base), operands(base), products(base), rows(base),
        visibleKeys(base) {}

  void run() const;

private:
  void emitWhole(const Block &block) const;
  void emitSteps(const Block &block) const;
  void emitStep(const Block &block, const Keys &part) const;
  void emitFromLeft(const Block &block) const;

  AttentionOperands operands;
  AttentionProducts products;
  AttentionRows rows;
  AttentionVisibleKeys visibleKeys;
};

} // namespace

void AttentionBlocks::run() const {
  bool fromLeft = problem.fromLeft;
  Grid grid = gridOf(fromLeft ? 1 : ceilDiv(problem.rows, schedule.blockRows));
  emitItems(m, label, grid, schedule.scratch.bytes(),
            [&](const Grid::Item &item, Value memory) {
              Block block = blockOf(item, memory);
              operands.emitOperands(block, item.number);
              if (fromLeft)
                return emitFromLeft(block);
              placeRows(block, block.at.back());
              visibleKeys.place(block);
              operands.emitQueries(block);
              if (schedule.online)
                emitSteps(block);
              else
                emitWhole(block);
            });
}

void AttentionBlocks::emitWhole(const Block &block) const {
  Keys all{0, 0, problem.keys};
  Keys seen = visibleKeys.emitVisible(
      block, all, [&](const Block &inner, const Keys &part) {
        products.emitScores(inner, part);
        rows.emitRows(inner, part);
      });
  rows.emitSums(block);
  if (problem.normalized)
    rows.emitNormalized(block, seen);
  products.emitProduct(block, seen, /*accumulate=*/false);
}

void AttentionBlocks::emitSteps(const Block &block) const {
  OpBuilder &b = m.builder();
  double inf = std::numeric_limits<double>::infinity();
  for (auto [start, buffer] :
       {std::pair(-inf, numbers(block, block.scratch.max)),
        std::pair(0.0, numbers(block, block.scratch.sum)),
        std::pair(0.0, sumsOf(block))}) {
    Value value =
        arith::ConstantOp::create(b, m.location(), b.getF32FloatAttr(start));
    linalg::FillOp::create(b, m.location(), value, buffer);
  }
  Index span = schedule.span, panels = span / problem.panel;
  if (!problem.keys.constant()) {
    emitLoop(m, 0, ceilDiv(problem.keys, span), [&](Index step) {
      Index from = step * span;
      emitStep(block, {step * panels, from, min(span, problem.keys - from)});
    });
  } else {
    Index full = problem.keys / span, tail = problem.keys % span;
    emitLoop(m, 0, full, [&](Index step) {
      emitStep(block, {step * panels, step * span, span});
    });
    if (!tail.isConstant(0))
      emitStep(block, {full * panels, full * span, tail});
  }
  rows.emitSums(block);
  rows.finishRows(block);
}

void AttentionBlocks::emitStep(const Block &block, const Keys &part) const {
  OpBuilder &b = m.builder();
  linalg::CopyOp::create(b, m.location(), numbers(block, block.scratch.max),
                         numbers(block, block.scratch.factor));
  Rows all{0, block.rows};
  Keys seen = visibleKeys.emitVisible(
      block, part, [&](const Block &inner, const Keys &keys) {
        products.emitScores(inner, keys);
        rows.emitScoreRegion(inner, all, keys);
      });
  auto addVisible = [&](const Block &inner) {
    rows.emitFactors(inner);
    rows.emitExponentials(inner, all, seen);
    if (problem.isNarrow()) {
      products.emitProduct(inner, seen, /*accumulate=*/false);
      return rows.addStep(inner);
    }
    rows.scaleRows(sumsOf(inner), numbers(inner, inner.scratch.factor));
    products.emitProduct(inner, seen, /*accumulate=*/true);
  };
  if (!schedule.mask)
    return addVisible(block);
  Value some = arith::CmpIOp::create(b, m.location(), arith::CmpIPredicate::ne,
                                     m.value(seen.count), m.value(0));
  auto branch = scf::IfOp::create(b, m.location(), some, /*else=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  addVisible(block);
}

void AttentionBlocks::emitFromLeft(const Block &outer) const {
  OpBuilder &b = m.builder();
  Value zero = arith::ConstantOp::create(b, m.location(), b.getF32FloatAttr(0));
  Value c = output(outer);
  linalg::FillOp::create(b, m.location(), zero, c);
  Index blocks = ceilDiv(problem.rows, schedule.blockRows);
  emitLoop(m, 0, blocks, [&](Index number) {
    Block block = outer;
    placeRows(block, number);
    Keys all{0, 0, problem.keys};
    products.emitScores(block, all);
    rows.emitRows(block, all);
    rows.emitSums(block);
    Value p = box(m, block.scratch.scores, 0, {block.rows, problem.keys},
                  {schedule.pitch, 1});
    rows.scaleRows(p, numbers(block, block.scratch.sum));
    Index across = problem.v.strides.back();
    Index at = offsetOf(problem.v, ArrayRef(block.at).drop_back()) +
               block.at.back() * across;
    Value a = box(m, problem.v.base, at, {problem.columns, block.rows},
                  {problem.v.strides[problem.v.rank() - 2], across});
    tile::BrgemmOp::create(b, m.location(), a, p, c, /*accumulate=*/true,
                           /*packed=*/false);
  });
}

/// Sections for an unknown number of queries, of which few read keys as they
/// lie: one of them, kMaxRowsInPlace at most, and more have code of their own.
static void emitByRows(GroupContext &ctx, const AttentionProblem &problem) {
  IndexMath &m = ctx.m;
  OpBuilder &b = m.builder();
  AttentionProblem few = readInPlace(problem);
  few.rows = min(problem.rows, kMaxRowsInPlace);
  AttentionProblem one = few;
  one.rows = 1;
  const AttentionSchedule ofMany = makeSchedule(problem, ctx.target),
                          ofFew = makeSchedule(few, ctx.target),
                          ofOne = makeSchedule(one, ctx.target);
  AttentionSplits emitFew(AttentionEmitter(m, ctx.label, few, ofFew));
  AttentionSplits emitOne(AttentionEmitter(m, ctx.label, one, ofOne));
  emitFew.allocate();
  emitOne.allocate();
  auto branch = [&](arith::CmpIPredicate predicate, int64_t rows,
                    llvm::function_ref<void()> then,
                    llvm::function_ref<void()> otherwise) {
    auto emit = [](llvm::function_ref<void()> sections) {
      return [sections](OpBuilder &nb, Location l) {
        sections();
        scf::YieldOp::create(nb, l);
      };
    };
    Value is = arith::CmpIOp::create(b, m.location(), predicate,
                                     m.value(problem.rows), m.value(rows));
    scf::IfOp::create(b, m.location(), is, emit(then), emit(otherwise));
  };
  auto emitMany = [&] {
    AttentionBlocks(AttentionEmitter(m, ctx.label, problem, ofMany)).run();
  };
  branch(
      arith::CmpIPredicate::eq, 1, [&] { emitOne.run(); },
      [&] {
        branch(
            arith::CmpIPredicate::sle, kMaxRowsInPlace, [&] { emitFew.run(); },
            emitMany);
      });
}

LogicalResult lowerAttention(GroupContext &ctx) {
  for (auto backward : ctx.group.getOps<tile::AttentionBackwardOp>())
    return lowerAttentionBackward(ctx, backward);
  auto op = *ctx.group.getOps<tile::AttentionOp>().begin();
  const AttentionProblem problem = readProblem(ctx, op);
  if (!problem.keys.constant() && !problem.rows.constant() &&
      problem.hasKeysInPlace()) {
    emitByRows(ctx, problem);
    return success();
  }
  const AttentionSchedule schedule = makeSchedule(problem, ctx.target);
  AttentionEmitter emitter(ctx.m, ctx.label, problem, schedule);
  if (problem.inPlace) {
    AttentionSplits splits(emitter);
    splits.allocate();
    splits.run();
  } else {
    AttentionBlocks(emitter).run();
  }
  return success();
}

} // namespace tenon::passes
