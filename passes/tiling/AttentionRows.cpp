//===- AttentionRows.cpp - rows of scores become weights ------------------===//
#include "passes/tiling/AttentionLowering.h"
#include "passes/tiling/Items.h"
#include "passes/tiling/ScalarOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;

namespace tenon::tiling {

static Value f32Constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

static Value isEqual(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
}

static Value lowest(OpBuilder &b, Location loc) {
  return f32Constant(b, loc, -std::numeric_limits<double>::infinity());
}

/// x / d for a d that all elements of a row share: the reciprocal is computed
/// once, and the rest of the first quotient corrects it to the exact one, for
/// a third of what divisions cost. Where that fails (infinities, d = 0) the
/// first quotient stands. Only a d below 2^-128 has no reciprocal. The first
/// quotient is within 1.5 ulp, enough for results that are rounded to a
/// `narrow` type.
static Value quotient(OpBuilder &b, Location loc, Value x, Value d,
                      bool narrow) {
  Value r = arith::DivFOp::create(b, loc, f32Constant(b, loc, 1), d);
  Value first = arith::MulFOp::create(b, loc, x, r);
  if (narrow)
    return first;
  Value rest =
      math::FmaOp::create(b, loc, arith::NegFOp::create(b, loc, first), d, x);
  Value exact = math::FmaOp::create(b, loc, rest, r, first);
  Value isNumber =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, exact, exact);
  return arith::SelectOp::create(b, loc, isNumber, exact, first);
}

/// The argument that `x` is, or is in another type.
static BlockArgument argumentOf(Value x) {
  if (auto wide = x.getDefiningOp<arith::ExtFOp>())
    x = wide.getIn();
  return dyn_cast<BlockArgument>(x);
}

/// Clones `region` for one element; returns what it yields. `shared` tells the
/// arguments that are the same for a whole row, `narrow` that what is yielded
/// becomes weights in a narrower type.
static Value cloneScalars(OpBuilder &b, mlir::Block &region, IRMapping &map,
                          llvm::function_ref<bool(BlockArgument)> shared,
                          bool narrow) {
  for (Operation &inner : region.without_terminator()) {
    auto division = dyn_cast<arith::DivFOp>(inner);
    auto divisor = division ? argumentOf(division.getRhs()) : BlockArgument();
    if (divisor && division.getType().isF32() && shared(divisor))
      map.map(division.getResult(),
              quotient(b, inner.getLoc(),
                       map.lookupOrDefault(division.getLhs()),
                       map.lookupOrDefault(division.getRhs()), narrow));
    else
      b.clone(inner, map);
  }
  Value yielded = cast<tile::YieldOp>(region.getTerminator()).getValue();
  return map.lookupOrDefault(yielded);
}

/// Whether `argument` of a region, whose side 0 is argument `first`, is a side
/// that does not vary along the keys.
bool AttentionLowering::isShared(BlockArgument argument, unsigned first) const {
  unsigned number = argument.getArgNumber();
  return number >= first &&
         IndexMath::isConstant(sides[number - first].strides.back(), 0);
}

Value AttentionLowering::rowOfScores(Block &block, IndexMath &rm, Ofr row,
                                     Ofr count) {
  return box(rm, block.scratch.scores, rm.mul(row, rm.attr(pitch)), {count},
             {rm.attr(1)});
}

/// Where weights of a row of scores go: they replace them or, in another type,
/// lie beside them.
Value AttentionLowering::rowOfWeights(Block &block, IndexMath &rm, Ofr row,
                                      Ofr count) {
  if (!isNarrow)
    return rowOfScores(block, rm, row, count);
  return box(rm, block.scratch.weights, rm.mul(row, rm.attr(weightPitch)),
             {count}, {rm.attr(1)});
}

/// The numbers in `scratch`, one for each row of the block.
Value AttentionLowering::numbers(Block &block, Value scratch) {
  IndexMath &bm = block.m;
  return box(bm, scratch, bm.attr(0), {block.rows}, {bm.attr(1)});
}

/// The sides that `region` reads; its argument of side 0 is `first`.
AttentionLowering::RowSides
AttentionLowering::sidesOf(IndexMath &rm, ArrayRef<Ofr> at, const Keys &part,
                           mlir::Block &region, unsigned first) {
  MLIRContext *context = rm.builder().getContext();
  RowSides result;
  for (auto [i, s] : llvm::enumerate(sides)) {
    if (region.getArgument(first + i).use_empty())
      continue;
    Ofr stride = s.strides.back();
    Ofr offset = rm.add(offsetOf(rm, s, at), rm.mul(part.from, stride));
    bool varies = !IndexMath::isConstant(stride, 0);
    result.arguments.push_back(first + i);
    result.maps.push_back(varies ? AffineMap::getMultiDimIdentityMap(1, context)
                                 : AffineMap::get(1, 0, context));
    result.boxes.push_back(varies
                               ? box(rm, s.base, offset, {part.count}, {stride})
                               : box(rm, s.base, offset, {}, {}));
  }
  return result;
}

/// Rows of scores become weights, each with its own maximum and sum. At its end
/// a row waits for one number after the other; the next few have work
/// meanwhile.
void AttentionLowering::emitRows(Block &block, const Keys &part) {
  constexpr int64_t kBytesTogether = 16 << 10; // half of L1
  constexpr int64_t kMostTogether = 4;
  int64_t together =
      std::clamp<int64_t>(kBytesTogether / (pitch * 4), 1, kMostTogether);
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  Location loc = bm.location();
  linalg::FillOp::create(b, loc, lowest(b, loc),
                         numbers(block, block.scratch.max));
  linalg::FillOp::create(b, loc, f32Constant(b, loc, 0),
                         numbers(block, block.scratch.sum));
  Ofr chunks = bm.ceilDiv(block.rows, bm.attr(together));
  emitLoop(bm, bm.attr(0), chunks, [&](IndexMath &cm, Ofr chunk) {
    Ofr first = cm.mul(chunk, cm.attr(together));
    Ofr last = cm.add(first, cm.attr(together));
    auto all = IndexMath::constant(block.rows);
    if (!all || *all % together)
      last = cm.min(last, block.rows);
    emitLoop(cm, first, last, [&](IndexMath &rm, Ofr row) {
      emitScoreRegion(block, rm, row, part);
    });
    emitLoop(cm, first, last, [&](IndexMath &rm, Ofr row) {
      emitExponentials(block, rm, row, part);
    });
  });
}

/// scores = score(scores), max = the largest of max and scores.
void AttentionLowering::emitScoreRegion(Block &block, IndexMath &rm, Ofr row,
                                        const Keys &part) {
  OpBuilder &b = rm.builder();
  mlir::Block &region = op.getScore().front();
  auto yield = cast<tile::YieldOp>(region.getTerminator());
  bool changes = yield.getValue() != region.getArgument(0);
  SmallVector<Ofr> at = block.at;
  at.back() = rm.add(at.back(), row);
  Value scores = rowOfScores(block, rm, row, part.count);
  RowSides read = sidesOf(rm, at, part, region, /*first=*/3);
  SmallVector<Value> ins = read.boxes, outs;
  (changes ? outs : ins).push_back(scores);
  outs.push_back(box(rm, block.scratch.max, row, {}, {}));
  SmallVector<AffineMap> maps = read.maps;
  maps.append(
      {b.getMultiDimIdentityMap(1), AffineMap::get(1, 0, b.getContext())});
  Value query = rm.value(at.back());
  Value from = rm.value(part.from);
  linalg::GenericOp::create(
      b, rm.location(), TypeRange(), ins, outs, maps,
      {utils::IteratorType::reduction},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        IRMapping map;
        map.map(region.getArgument(0), args[n]);
        map.map(region.getArgument(1), query);
        if (!region.getArgument(2).use_empty()) {
          Value key = linalg::IndexOp::create(nb, l, 0);
          if (online)
            key = arith::AddIOp::create(nb, l, key, from);
          map.map(region.getArgument(2), key);
        }
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        Value score = cloneScalars(
            nb, region, map,
            [&](BlockArgument a) { return isShared(a, /*first=*/3); },
            isNarrow);
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
Value AttentionLowering::guarded(OpBuilder &b, Location loc, Value max) {
  if (!op.getInfAsZero() && !online)
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
void AttentionLowering::emitExponentials(Block &block, IndexMath &rm, Ofr row,
                                         const Keys &part) {
  OpBuilder &b = rm.builder();
  Location loc = rm.location();
  Value max = box(rm, block.scratch.max, row, {}, {});
  Value shift = guarded(
      b, loc, memref::LoadOp::create(b, loc, max, ValueRange()).getResult());
  SmallVector<Ofr> at = block.at;
  at.back() = rm.add(at.back(), row);
  // With `normalized` weights come later (emitNormalized).
  mlir::Block *region = op.hasWeights() && !op.getNormalized()
                            ? &op.getWeights().front()
                            : nullptr;
  bool narrows = isNarrow && !op.getNormalized();
  RowSides read;
  Value element; // the number of the first weight of the row
  if (region) {
    read = sidesOf(rm, at, part, *region, /*first=*/2);
    Ofr number = rm.attr(0);
    for (auto [index, size] : llvm::zip(at, lead))
      number = rm.add(rm.mul(number, size), index);
    number = rm.add(rm.mul(number, rows), at.back());
    element = rm.value(rm.add(rm.mul(number, rm.attr(keys)), part.from));
  }
  SmallVector<Value> outs{narrows ? rowOfWeights(block, rm, row, part.count)
                                  : rowOfScores(block, rm, row, part.count),
                          box(rm, block.scratch.sum, row, {}, {})};
  SmallVector<AffineMap> maps = read.maps;
  if (narrows) {
    read.boxes.push_back(rowOfScores(block, rm, row, part.count));
    maps.push_back(b.getMultiDimIdentityMap(1));
  }
  maps.append(
      {b.getMultiDimIdentityMap(1), AffineMap::get(1, 0, b.getContext())});
  linalg::GenericOp::create(
      b, loc, TypeRange(), read.boxes, outs, maps,
      {utils::IteratorType::reduction},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        Value d = arith::SubFOp::create(nb, l, args[n], shift);
        Value e = emitExpOrZero(nb, l, d, /*isFinite=*/true);
        Value sum = arith::AddFOp::create(nb, l, args.back(), e);
        if (region) {
          IRMapping map;
          map.map(region->getArgument(0), e);
          Value index = arith::AddIOp::create(
              nb, l, linalg::IndexOp::create(nb, l, 0), element);
          map.map(region->getArgument(1),
                  arith::IndexCastOp::create(nb, l, nb.getI64Type(), index)
                      .getResult());
          for (auto [argument, value] : llvm::zip(read.arguments, args))
            map.map(region->getArgument(argument), value);
          e = cloneScalars(
              nb, *region, map,
              [&](BlockArgument a) { return isShared(a, /*first=*/2); },
              isNarrow);
        }
        if (narrows)
          e = emitWeight(nb, l, this->element, e);
        linalg::YieldOp::create(nb, l, ValueRange{e, sum});
      });
}

/// weights = weights(scores * sum), scores the exponentials, sum the reciprocal
/// of theirs.
void AttentionLowering::emitNormalized(Block &block, IndexMath &rm, Ofr row,
                                       const Keys &part) {
  OpBuilder &b = rm.builder();
  mlir::Block &region = op.getWeights().front();
  SmallVector<Ofr> at = block.at;
  at.back() = rm.add(at.back(), row);
  RowSides read = sidesOf(rm, at, part, region, /*first=*/2);
  read.boxes.push_back(box(rm, block.scratch.sum, row, {}, {}));
  read.maps.push_back(AffineMap::get(1, 0, b.getContext()));
  if (isNarrow) {
    read.boxes.push_back(rowOfScores(block, rm, row, part.count));
    read.maps.push_back(b.getMultiDimIdentityMap(1));
  }
  read.maps.push_back(b.getMultiDimIdentityMap(1));
  linalg::GenericOp::create(
      b, rm.location(), TypeRange(), read.boxes,
      rowOfWeights(block, rm, row, part.count), read.maps,
      {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        size_t n = read.arguments.size();
        IRMapping map;
        map.map(region.getArgument(0),
                arith::MulFOp::create(nb, l, args[n + 1], args[n]).getResult());
        for (auto [argument, value] : llvm::zip(read.arguments, args))
          map.map(region.getArgument(argument), value);
        Value weight = cloneScalars(
            nb, region, map,
            [&](BlockArgument a) { return isShared(a, /*first=*/2); },
            isNarrow);
        if (isNarrow)
          weight = emitWeight(nb, l, element, weight);
        linalg::YieldOp::create(nb, l, weight);
      });
}

/// factor, the old maxima, becomes exp(old - max); sum = sum * factor.
void AttentionLowering::emitFactors(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  AffineMap map = b.getMultiDimIdentityMap(1);
  linalg::GenericOp::create(
      b, bm.location(), TypeRange(), numbers(block, block.scratch.max),
      {numbers(block, block.scratch.factor), numbers(block, block.scratch.sum)},
      {map, map, map}, {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value d =
            arith::SubFOp::create(nb, l, args[1], guarded(nb, l, args[0]));
        Value factor = emitExpOrZero(nb, l, d, /*isFinite=*/true);
        Value sum = arith::MulFOp::create(nb, l, args[2], factor);
        linalg::YieldOp::create(nb, l, ValueRange{factor, sum});
      });
}

/// Statistics, and sum = 1 / sum.
void AttentionLowering::emitSums(Block &block) {
  IndexMath &bm = block.m;
  OpBuilder &b = bm.builder();
  AffineMap map = b.getMultiDimIdentityMap(1);
  SmallVector<Value> outs{numbers(block, block.scratch.sum)};
  if (stats)
    outs.push_back(box(bm, stats->base, offsetOf(bm, *stats, block.at),
                       {block.rows}, {stats->strides[stats->rank() - 2]}));
  SmallVector<AffineMap> maps(1 + outs.size(), map);
  linalg::GenericOp::create(
      b, bm.location(), TypeRange(), numbers(block, block.scratch.max), outs,
      maps, {utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value total = args[1], one = f32Constant(nb, l, 1);
        if (op.getInfAsZero()) {
          Value empty = isEqual(nb, l, total, f32Constant(nb, l, 0));
          total = arith::SelectOp::create(nb, l, empty, one, total);
        } else if (online) {
          // What exp(-inf - -inf) would have given.
          Value masked = isEqual(nb, l, args[0], lowest(nb, l));
          Value nan =
              f32Constant(nb, l, std::numeric_limits<double>::quiet_NaN());
          total = arith::SelectOp::create(nb, l, masked, nan, total);
        }
        SmallVector<Value> results{arith::DivFOp::create(nb, l, one, total)};
        if (stats) {
          Value log = math::LogOp::create(nb, l, total);
          results.push_back(
              arith::AddFOp::create(nb, l, guarded(nb, l, args[0]), log));
        }
        linalg::YieldOp::create(nb, l, results);
      });
}

/// Multiplies each row of `rows` by its number of `factors`.
void AttentionLowering::scaleRows(Block &block, Value rows, Value factors) {
  OpBuilder &b = block.m.builder();
  AffineMap perRow =
      AffineMap::get(2, 0, b.getAffineDimExpr(0), b.getContext());
  linalg::GenericOp::create(
      b, block.m.location(), TypeRange(), factors, rows,
      {perRow, b.getMultiDimIdentityMap(2)},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value scaled = arith::MulFOp::create(nb, l, args[0], args[1]);
        linalg::YieldOp::create(nb, l, scaled);
      });
}

/// result = result * factor + step.
void AttentionLowering::addStep(Block &block) {
  OpBuilder &b = block.m.builder();
  AffineMap perRow =
      AffineMap::get(2, 0, b.getAffineDimExpr(0), b.getContext());
  AffineMap all = b.getMultiDimIdentityMap(2);
  linalg::GenericOp::create(
      b, block.m.location(), TypeRange(),
      ValueRange{numbers(block, block.scratch.factor),
                 result(block, block.scratch.step)},
      sumsOf(block), {perRow, all, all},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [](OpBuilder &nb, Location l, ValueRange args) {
        Value sum = math::FmaOp::create(nb, l, args[2], args[0], args[1]);
        linalg::YieldOp::create(nb, l, sum);
      });
}

/// dst = epilogue(result * sum).
void AttentionLowering::storeSums(Block &block) {
  OpBuilder &b = block.m.builder();
  AffineMap perRow =
      AffineMap::get(2, 0, b.getAffineDimExpr(0), b.getContext());
  AffineMap all = b.getMultiDimIdentityMap(2);
  linalg::GenericOp::create(
      b, block.m.location(), TypeRange(),
      ValueRange{sumsOf(block), numbers(block, block.scratch.sum)},
      output(block), {all, perRow, all},
      {utils::IteratorType::parallel, utils::IteratorType::parallel},
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value y = arith::MulFOp::create(nb, l, args[0], args[1]);
        linalg::YieldOp::create(
            nb, l, epilogue.apply(nb, l, y, {}, dst.elementType()));
      });
}

} // namespace tenon::tiling
