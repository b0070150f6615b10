//===- AttentionRows.cpp - rows of scores become weights ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/attention/AttentionRows.h"

#include "codegen/vector/Attrs.h"
#include "passes/ops/ScalarOps.h"
#include "passes/tile/windows/Windows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tenon::passes {

static Value f32Constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

static Value isEqual(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
}

static Value lowest(OpBuilder &b, Location loc) {
  return f32Constant(b, loc, -std::numeric_limits<double>::infinity());
}

/// Whether `argument` of a region, whose operand 0 is argument `first`, is an
/// epilogue operand that does not vary along the keys.
bool AttentionRows::isShared(BlockArgument argument, unsigned first) const {
  unsigned number = argument.getArgNumber();
  return number >= first &&
         problem.epilogueOperands[number - first].strides.back().isConstant(0);
}

/// The numbers in `scratch` of `rows`.
static Value numbersOf(IndexMath &m, Value scratch,
                       const AttentionEmitter::Rows &rows) {
  return box(m, scratch, rows.first, {rows.count}, {1});
}

static AffineMap perRow(MLIRContext *context) {
  return tile::getEpilogueMapOf(tile::EpilogueBroadcast::PerRow, context);
}

/// The epilogue operands that `region` reads for `rows`; its argument of
/// operand 0 is `first`.
RegionOperands AttentionRows::epilogueOperandsOf(const Block &block,
                                                 const Rows &rows,
                                                 const Keys &part,
                                                 mlir::Block &region,
                                                 unsigned first) const {
  SmallVector<Index> at = block.at;
  at.back() = at.back() + rows.first;
  at.push_back(part.from);
  return readOperands(m, problem.epilogueOperands, at, {rows.count, part.count},
                      region, first);
}

/// Two loops, over rows and keys, of which `reduces` tells whether the second
/// is a reduction: several rows pass together, and share what they read and the
/// folding of lanes.
static void
emitRowsOf(OpBuilder &b, Location loc, ValueRange ins, ValueRange outs,
           ArrayRef<AffineMap> maps, bool reduces,
           llvm::function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  auto parallel = utils::IteratorType::parallel;
  auto loops = linalg::GenericOp::create(
      b, loc, TypeRange(), ins, outs, maps,
      {parallel, reduces ? utils::IteratorType::reduction : parallel}, body);
  if (reduces)
    loops->setAttr(codegen::kJamAttr, b.getI64IntegerAttr(0));
}

/// Rows of scores become weights, each with its own maximum and sum.
void AttentionRows::emitRows(const Block &block, const Keys &part) const {
  constexpr int64_t kBytesTogether = 16 << 10; // half of L1
  constexpr int64_t kMostTogether = 4;
  int64_t together = std::clamp<int64_t>(kBytesTogether / (schedule.pitch * 4),
                                         1, kMostTogether);
  fill(m, numbers(block, block.scratch.max),
       -std::numeric_limits<double>::infinity());
  fill(m, numbers(block, block.scratch.sum), 0);
  auto all = block.rows.constant();
  auto pass = [&](const Rows &rows) {
    emitScoreRegion(block, rows, part);
    emitExponentials(block, rows, part);
  };
  if (all && *all <= together)
    return pass({0, block.rows});
  Index chunks = ceilDiv(block.rows, together);
  emitLoop(m, 0, chunks, [&](Index chunk) {
    Index first = chunk * together, count = together;
    if (!all || *all % together)
      count = min(count, block.rows - first);
    pass({first, count});
  });
}

/// The number that the region divides all scores of a matrix by, if there is
/// one.
BlockArgument AttentionRows::divisorOfMatrix(mlir::Block &region) const {
  for (auto division : region.getOps<arith::DivFOp>()) {
    auto argument = dyn_cast<BlockArgument>(division.getRhs());
    unsigned number = argument ? argument.getArgNumber() : 0;
    if (number >= kFirstEpilogueOperand && division.getType().isF32() &&
        hasOnePerMatrix(
            problem.epilogueOperands[number - kFirstEpilogueOperand]))
      return argument;
  }
  return {};
}

/// scores = score(scores), max = the largest of max and scores. Powers of two
/// have exact reciprocals: whether a divisor is one, is seen here.
void AttentionRows::emitScoreRegion(const Block &block, const Rows &rows,
                                    const Keys &part) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  BlockArgument argument = divisorOfMatrix(*problem.score);
  if (!argument || problem.isNarrow())
    return emitScoreRegion(block, rows, part, {});
  const Strided &s =
      problem.epilogueOperands[argument.getArgNumber() - kFirstEpilogueOperand];
  Value one = f32Constant(b, loc, 1);
  Value d = memref::LoadOp::create(
      b, loc, box(m, s.base, offsetOf(s, block.at), {}, {}), ValueRange());
  Value reciprocal = arith::DivFOp::create(b, loc, one, d);
  Value rest =
      math::FmaOp::create(b, loc, reciprocal, d, f32Constant(b, loc, -1));
  auto branch = scf::IfOp::create(
      b, loc, isEqual(b, loc, rest, f32Constant(b, loc, 0)), /*else=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (bool exact : {true, false}) {
    b.setInsertionPointToStart(exact ? branch.thenBlock() : branch.elseBlock());
    emitScoreRegion(block, rows, part,
                    exact ? Divisor{argument, reciprocal} : Divisor());
  }
}

void AttentionRows::emitScoreRegion(const Block &block, const Rows &rows,
                                    const Keys &part, Divisor exact) const {
  OpBuilder &b = m.builder();
  mlir::Block &region = *problem.score;
  auto yield = cast<tile::YieldOp>(region.getTerminator());
  bool changes = yield.getValue() != region.getArgument(0);
  Value scores = scoresOf(block, rows, part);
  RegionOperands read =
      epilogueOperandsOf(block, rows, part, region, kFirstEpilogueOperand);
  SmallVector<Value> ins = read.boxes, outs;
  (changes ? outs : ins).push_back(scores);
  outs.push_back(numbersOf(m, block.scratch.max, rows));
  SmallVector<AffineMap> maps = read.maps;
  maps.append({b.getMultiDimIdentityMap(2), perRow(b.getContext())});
  Value query = m.value(block.at.back() + rows.first);
  Value from = m.value(part.from);
  emitRowsOf(
      b, m.location(), ins, outs, maps, /*reduces=*/true,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        IRMapping map;
        auto place = [&](unsigned argument, unsigned dim, Value first) {
          if (region.getArgument(argument).use_empty())
            return;
          Value index = linalg::IndexOp::create(nb, l, dim);
          if (first)
            index = arith::AddIOp::create(nb, l, index, first);
          map.map(region.getArgument(argument), index);
        };
        map.map(region.getArgument(0), args[n]);
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        place(1, 0, query);
        place(2, 1, schedule.online ? from : Value());
        Value score = cloneScalars(
            nb, region, map,
            [&](BlockArgument a) { return isShared(a, kFirstEpilogueOperand); },
            problem.isNarrow(), exact)[0];
        // A NaN reaches all of its row through the sum.
        Value top = emitGreater(nb, l, args[n + 1], score);
        SmallVector<Value> results{top};
        if (changes)
          results.insert(results.begin(), score);
        linalg::YieldOp::create(nb, l, results);
      });
}

/// `max`, but 0 where nothing was above -inf: exp(-inf - 0) is 0, while
/// exp(-inf - -inf) would be NaN.
Value AttentionRows::guarded(OpBuilder &b, Location loc, Value max) const {
  if (!problem.infAsZero && !schedule.online)
    return max;
  Value masked = isEqual(b, loc, max, lowest(b, loc));
  return arith::SelectOp::create(b, loc, masked, f32Constant(b, loc, 0), max);
}

/// `e` rounded; what is smaller than any normal number may become 0, as for
/// exp.
static Value emitWeight(OpBuilder &b, Location loc, Type type, Value e) {
  auto rounded = arith::TruncFOp::create(b, loc, type, e);
  rounded.setFastmath(arith::FastMathFlags::afn);
  return rounded;
}

/// scores = weights(exp(scores - max)), sum += the exponentials. Denormal ones
/// are 0.
void AttentionRows::emitExponentials(const Block &block, const Rows &rows,
                                     const Keys &part) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  // With `normalized` weights come later (emitNormalized).
  mlir::Block *region = problem.normalized ? nullptr : problem.weights;
  bool narrows = problem.isNarrow() && !problem.normalized;
  RegionOperands read;
  Value first, width; // the number of the first weight, those of a row
  if (region) {
    read = epilogueOperandsOf(block, rows, part, *region, kFirstWeightOperand);
    Index head = numberOf(block.at, problem.lead);
    Index number = head * problem.rows + (block.at.back() + rows.first);
    width = m.value(problem.keys);
    first = m.value(number * problem.keys + part.from);
  }
  AffineMap all = b.getMultiDimIdentityMap(2), ofRow = perRow(b.getContext());
  SmallVector<Value> ins = read.boxes;
  SmallVector<AffineMap> maps = read.maps;
  ins.push_back(numbersOf(m, block.scratch.max, rows));
  maps.push_back(ofRow);
  if (narrows) {
    ins.push_back(scoresOf(block, rows, part));
    maps.push_back(all);
  }
  SmallVector<Value> outs{narrows ? weightsOf(block, rows, part)
                                  : scoresOf(block, rows, part),
                          numbersOf(m, block.scratch.sum, rows)};
  maps.append({all, ofRow});
  emitRowsOf(
      b, loc, ins, outs, maps, /*reduces=*/true,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        Value e =
            emitExpOfDifference(nb, l, args[n + 1], guarded(nb, l, args[n]));
        Value sum = arith::AddFOp::create(nb, l, args.back(), e);
        if (region) {
          IRMapping map;
          map.map(region->getArgument(0), e);
          Value index = arith::AddIOp::create(
              nb, l,
              arith::MulIOp::create(nb, l, linalg::IndexOp::create(nb, l, 0),
                                    width),
              arith::AddIOp::create(nb, l, linalg::IndexOp::create(nb, l, 1),
                                    first));
          map.map(region->getArgument(1),
                  arith::IndexCastOp::create(nb, l, nb.getI64Type(), index)
                      .getResult());
          for (auto [argument, value] : llvm::zip(read.arguments, args))
            map.map(region->getArgument(argument), value);
          e = cloneScalars(
              nb, *region, map,
              [&](BlockArgument a) { return isShared(a, kFirstWeightOperand); },
              problem.isNarrow())[0];
        }
        if (narrows)
          e = emitWeight(nb, l, problem.element, e);
        linalg::YieldOp::create(nb, l, ValueRange{e, sum});
      });
}

/// weights = weights(scores * sum), scores the exponentials, sum the reciprocal
/// of theirs.
void AttentionRows::emitNormalized(const Block &block, const Keys &part) const {
  OpBuilder &b = m.builder();
  mlir::Block &region = *problem.weights;
  Rows rows{0, block.rows};
  RegionOperands read =
      epilogueOperandsOf(block, rows, part, region, kFirstWeightOperand);
  read.boxes.push_back(numbersOf(m, block.scratch.sum, rows));
  read.maps.push_back(perRow(b.getContext()));
  AffineMap all = b.getMultiDimIdentityMap(2);
  if (problem.isNarrow()) {
    read.boxes.push_back(scoresOf(block, rows, part));
    read.maps.push_back(all);
  }
  read.maps.push_back(all);
  emitRowsOf(
      b, m.location(), read.boxes, weightsOf(block, rows, part), read.maps,
      /*reduces=*/false, [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        IRMapping map;
        map.map(region.getArgument(0),
                arith::MulFOp::create(nb, l, args[n + 1], args[n]).getResult());
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        Value weight = cloneScalars(
            nb, region, map,
            [&](BlockArgument a) { return isShared(a, kFirstWeightOperand); },
            problem.isNarrow())[0];
        if (problem.isNarrow())
          weight = emitWeight(nb, l, problem.element, weight);
        linalg::YieldOp::create(nb, l, weight);
      });
}

/// factor, the old maxima, becomes exp(old - max); sum = sum * factor.
void AttentionRows::emitFactors(const Block &block) const {
  OpBuilder &b = m.builder();
  AffineMap map = b.getMultiDimIdentityMap(1);
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), numbers(block, block.scratch.max),
      {numbers(block, block.scratch.factor), numbers(block, block.scratch.sum)},
      {map, map, map}, {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value factor =
            emitExpOfDifference(nb, l, args[1], guarded(nb, l, args[0]));
        Value sum = arith::MulFOp::create(nb, l, args[2], factor);
        linalg::YieldOp::create(nb, l, ValueRange{factor, sum});
      });
}

/// Statistics, and sum = 1 / sum.
void AttentionRows::emitSums(const Block &block) const {
  OpBuilder &b = m.builder();
  AffineMap map = b.getMultiDimIdentityMap(1);
  SmallVector<Value> outs{numbers(block, block.scratch.sum)};
  if (problem.stats)
    outs.push_back(box(m, problem.stats->base,
                       offsetOf(*problem.stats, block.at), {block.rows},
                       {problem.stats->strides[problem.stats->rank() - 2]}));
  SmallVector<AffineMap> maps(1 + outs.size(), map);
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), numbers(block, block.scratch.max), outs,
      maps, {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value total = args[1], one = f32Constant(nb, l, 1);
        Value without; // whether there are no keys
        if (!problem.keys.constant())
          without =
              arith::CmpIOp::create(nb, l, arith::CmpIPredicate::eq,
                                    m.value(problem.keys), m.value(Index(0)));
        if (problem.infAsZero) {
          Value empty = isEqual(nb, l, total, f32Constant(nb, l, 0));
          total = arith::SelectOp::create(nb, l, empty, one, total);
        } else if (schedule.online) {
          // What exp(-inf - -inf) would have given.
          Value masked = isEqual(nb, l, args[0], lowest(nb, l));
          Value nan =
              f32Constant(nb, l, std::numeric_limits<double>::quiet_NaN());
          total = arith::SelectOp::create(nb, l, masked, nan, total);
        }
        if (without) // sums of nothing
          total = arith::SelectOp::create(nb, l, without, one, total);
        SmallVector<Value> results{arith::DivFOp::create(nb, l, one, total)};
        if (problem.stats) {
          Value log = math::LogOp::create(nb, l, total);
          results.push_back(
              arith::AddFOp::create(nb, l, guarded(nb, l, args[0]), log));
        }
        linalg::YieldOp::create(nb, l, results);
      });
}

/// Multiplies each row of `rows` by its number of `factors`.
void AttentionRows::scaleRows(Value rows, Value factors) const {
  OpBuilder &b = m.builder();
  AffineMap ofRow = perRow(b.getContext());
  linalg::GenericOp::create(
      b, m.location(), TypeRange(), factors, rows,
      {ofRow, b.getMultiDimIdentityMap(2)},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value scaled = arith::MulFOp::create(nb, l, args[0], args[1]);
        linalg::YieldOp::create(nb, l, scaled);
      });
}

/// result = result * factor + step.
void AttentionRows::addStep(const Block &block) const {
  OpBuilder &b = m.builder();
  AffineMap ofRow = perRow(b.getContext());
  AffineMap all = b.getMultiDimIdentityMap(2);
  linalg::GenericOp::create(
      b, m.location(), TypeRange(),
      ValueRange{numbers(block, block.scratch.factor),
                 result(block, block.scratch.step)},
      sumsOf(block), {ofRow, all, all},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [](OpBuilder &nb, Location l, ValueRange args) {
        Value sum = math::FmaOp::create(nb, l, args[2], args[0], args[1]);
        linalg::YieldOp::create(nb, l, sum);
      });
}

/// dst = epilogue(result * sum).
void AttentionRows::storeSums(const Block &block) const {
  OpBuilder &b = m.builder();
  AffineMap ofRow = perRow(b.getContext());
  AffineMap all = b.getMultiDimIdentityMap(2);
  linalg::GenericOp::create(
      b, m.location(), TypeRange(),
      ValueRange{sumsOf(block), numbers(block, block.scratch.sum)},
      output(block), {all, ofRow, all},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value y = arith::MulFOp::create(nb, l, args[0], args[1]);
        linalg::YieldOp::create(
            nb, l,
            problem.epilogue.apply(nb, l, y, {}, problem.dst.elementType()));
      });
}

/// dst from sums.
void AttentionRows::finishRows(const Block &block) const {
  if (schedule.sumsApart)
    storeSums(block);
  else
    scaleRows(output(block), numbers(block, block.scratch.sum));
}

} // namespace tenon::passes
