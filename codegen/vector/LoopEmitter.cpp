//===- LoopEmitter.cpp - the loops around the blocks ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All modes are nests of the same two pieces: `stripe` cuts the vector dim into
// a main loop of several vectors, a loop of single vectors and a remainder;
// `reduce` nests the reduction loops that carry the accumulators.
//
//   Parallel    for parallel { stripe { load acc; reduce { block }; store } }
//     with jam  for strips { for several rows { stripe { .. of all of them }}}
//   Horizontal  for parallel { acc = identity; reduce { stripe { block } };
//                              combine lanes and the initial value; store }
//     with jam  for several rows { the same, with lanes of all in one tree }
//   Transpose   for parallel { tiles of lanes x lanes; the rims by stripes }
//   Interleave  for parallel { stripe { blocks of members; shuffle; store }}
//
//===----------------------------------------------------------------------===//
#include "codegen/vector/LoopEmitter.h"
#include "codegen/vector/Attrs.h"
#include "codegen/vector/BlockEmitter.h"
#include "codegen/vector/Combiners.h"
#include "codegen/vector/TransposeTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = SmallVector<Value>;

class LoopEmitter {
public:
  LoopEmitter(OpBuilder &builder, linalg::LinalgOp op, const LoopAccess &access,
              const VectorPlan &plan)
      : b(builder), access(access), plan(plan),
        block(builder, op, access, plan) {}

  void run() {
    Value aligned = block.startsWithLines();
    if (!aligned)
      return loops();
    auto branch = scf::IfOp::create(b, block.loc(), aligned,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (bool nontemporal : {true, false}) {
      block.setNontemporal(nontemporal);
      b.setInsertionPointToStart(nontemporal ? branch.thenBlock()
                                             : branch.elseBlock());
      loops();
    }
  }

private:
  void loops() {
    if (plan.jam > 1)
      return nest(ArrayRef(plan.parallelDims).drop_back(), block.origin(),
                  [&](Point point) { jammed(point); });
    nest(plan.parallelDims, block.origin(), [&](Point point) {
      switch (plan.mode) {
      case VectorMode::Scalar:
        return accumulateInPlace({point}, 0, nullptr);
      case VectorMode::Parallel:
        block.hoistLoads(point, plan.reductionDims);
        return parallel({point}, block.size(plan.vectorDim));
      case VectorMode::Horizontal:
        return horizontal({point});
      case VectorMode::Transpose:
        return transpose(point);
      case VectorMode::Interleave:
        block.hoistLoads(point, *plan.groupDim);
        return interleave(point);
      }
    });
  }

  using LoopBody = llvm::function_ref<Values(Value iv, ValueRange carried)>;
  /// The body of a stripe: vectors starting at `iv`.  `lanes` is 0 for scalars.
  using StripeBody = llvm::function_ref<Values(
      Value iv, unsigned unroll, int64_t lanes, Value mask, ValueRange)>;

  /// `for iv = lower to upper step step`, nothing for no iteration and no loop
  /// for exactly one where that is known.
  Values loop(Value lower, Value upper, int64_t step, ValueRange init,
              LoopBody body) {
    std::optional<int64_t> from = getConstantIntValue(lower);
    std::optional<int64_t> to = getConstantIntValue(upper);
    if (from && to && *from >= *to)
      return Values(init);
    if (from && to && *to - *from <= step)
      return body(lower, init);
    auto loop = scf::ForOp::create(b, block.loc(), lower, upper,
                                   block.index(step), init);
    OpBuilder::InsertionGuard guard(b);
    Block *inside = loop.getBody();
    // Without carried values the builder has made the terminator.
    if (init.empty()) {
      b.setInsertionPoint(inside->getTerminator());
      body(loop.getInductionVar(), {});
    } else {
      b.setInsertionPointToEnd(inside);
      Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
      scf::YieldOp::create(b, block.loc(), next);
    }
    return Values(loop.getResults());
  }

  /// Loops over all of `dims`, outer first.
  void nest(ArrayRef<unsigned> dims, const Point &point,
            llvm::function_ref<void(Point)> body) {
    if (dims.empty())
      return body(point);
    loop(block.index(0), block.size(dims[0]), 1, {}, [&](Value iv, ValueRange) {
      nest(dims.drop_front(), block.enter(point, dims[0], iv), body);
      return Values();
    });
  }

  /// Loops over `dims` that move all points and carry values.
  Values reduce(ArrayRef<unsigned> dims, ArrayRef<Point> points,
                ValueRange carried,
                llvm::function_ref<Values(ArrayRef<Point>, ValueRange)> body) {
    if (dims.empty())
      return body(points, carried);
    return loop(block.index(0), block.size(dims[0]), 1, carried,
                [&](Value iv, ValueRange inner) {
                  SmallVector<Point> entered;
                  for (const Point &point : points)
                    entered.push_back(block.enter(point, dims[0], iv));
                  return reduce(dims.drop_front(), entered, inner, body);
                });
  }

  /// The largest multiple of `step` in [0, n].
  Value roundDown(Value n, int64_t step) {
    if (std::optional<int64_t> known = getConstantIntValue(n))
      return block.index(*known - *known % step);
    if (step == 1)
      return n;
    Value rest = arith::RemUIOp::create(b, block.loc(), n, block.index(step));
    return arith::SubIOp::create(b, block.loc(), n, rest);
  }

  /// Covers [0, n) of the vector dim, or what is left behind `done`, a multiple
  /// of the main loop's step.  `keepLanes`: carried values fix the number of
  /// lanes.
  Values stripe(Value n, ValueRange init, bool keepLanes, StripeBody body,
                Value done = {}) {
    int64_t lanes = plan.lanes;
    Values carried(init);
    SmallVector<unsigned> unrolls = {1};
    if (!done) {
      unrolls.insert(unrolls.begin(), plan.unroll);
      done = block.index(0);
    }
    for (unsigned unroll : unrolls) {
      Value upTo = roundDown(n, lanes * unroll);
      carried = loop(done, upTo, lanes * unroll, carried,
                     [&](Value iv, ValueRange args) {
                       return body(iv, unroll, lanes, nullptr, args);
                     });
      done = upTo;
      if (unroll == 1)
        break;
    }
    return remainder(done, n, carried, keepLanes, body);
  }

  /// The last elements [done, n), fewer than a vector.
  Values remainder(Value done, Value n, Values carried, bool keepLanes,
                   StripeBody body) {
    std::optional<int64_t> from = getConstantIntValue(done);
    std::optional<int64_t> to = getConstantIntValue(n);
    int64_t count = from && to ? *to - *from : kDynamic;
    bool powerOfTwo = count > 0 && llvm::isPowerOf2_64(count);
    if (plan.canMask && (keepLanes || !powerOfTwo))
      return loop(done, n, plan.lanes, carried, [&](Value iv, ValueRange args) {
        Value left = b.createOrFold<arith::SubIOp>(block.loc(), n, iv);
        return body(iv, 1, plan.lanes, makeMask(left), args);
      });
    if (count == kDynamic || keepLanes)
      return loop(done, n, 1, carried, [&](Value iv, ValueRange args) {
        return body(iv, 1, 0, nullptr, args);
      });
    // A known number of elements: ever smaller vectors.
    for (int64_t at = *from; at < *to;) {
      int64_t lanes = llvm::bit_floor(uint64_t(*to - at));
      carried =
          body(block.index(at), 1, lanes == 1 ? 0 : lanes, nullptr, carried);
      at += lanes;
    }
    return carried;
  }

  Value makeMask(Value count) {
    auto type = VectorType::get({plan.lanes}, b.getI1Type());
    return vector::CreateMaskOp::create(b, block.loc(), type,
                                        ValueRange{count});
  }

  /// Loads accumulators, runs the reductions at `points`, stores.
  void accumulateInPlace(ArrayRef<Point> points, int64_t lanes, Value mask) {
    Values accumulators;
    for (const Point &point : points)
      for (unsigned o : plan.accumulators)
        accumulators.push_back(block.load(o, point, lanes, mask));
    accumulators = reduce(plan.reductionDims, points, accumulators,
                          [&](ArrayRef<Point> inner, ValueRange values) {
                            prefetch(inner, lanes);
                            return block.emit(inner, lanes, mask, values);
                          });
    unsigned next = 0;
    for (const Point &point : points)
      for (unsigned o : plan.accumulators)
        block.store(accumulators[next++], o, point, lanes, mask);
  }

  /// `points` follow each other, or lie in rows apart.
  void prefetch(ArrayRef<Point> points, int64_t lanes) {
    if (plan.jam == 1)
      return block.prefetch(points.front(), points.size() * lanes);
    constexpr int64_t kLine = kLineBytes / sizeof(float);
    for (const Point &point : points)
      block.prefetch(point, lanes ? std::max(lanes, kLine) : 0);
  }

  SmallVector<Point> pointsAt(const Point &point, Value iv, unsigned count,
                              int64_t lanes) {
    Point first = block.enter(point, plan.vectorDim, iv);
    SmallVector<Point> points;
    for (unsigned u = 0; u < count; ++u)
      points.push_back(block.shift(first, plan.vectorDim, u * lanes));
    return points;
  }

  /// The inputs that the main loop loads one iteration ahead.
  SmallVector<unsigned> loadedAhead() const {
    SmallVector<unsigned> ahead;
    if (plan.loadsAhead)
      for (auto [o, operand] : llvm::enumerate(access.operands))
        if (operand.isMemref && !operand.isOutput && operand.isRead &&
            operand.stride[plan.vectorDim] == 1)
          ahead.push_back(o);
    return ahead;
  }

  /// The main loop over [0, n) of the vector dim, with loads before the stores
  /// of the iteration before; returns how far it came.
  Value rotated(const Point &point, Value n, ArrayRef<unsigned> ahead) {
    int64_t step = plan.lanes * plan.unroll;
    Value upTo = roundDown(n, step);
    std::optional<int64_t> known = getConstantIntValue(upTo);
    if (known == 0)
      return upTo;
    OpBuilder::InsertionGuard guard(b);
    if (!known) {
      Value any = arith::CmpIOp::create(
          b, block.loc(), arith::CmpIPredicate::ne, upTo, block.index(0));
      auto branch = scf::IfOp::create(b, block.loc(), any,
                                      /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value last =
        b.createOrFold<arith::SubIOp>(block.loc(), upTo, block.index(step));
    auto loadsAt = [&](Value iv) {
      Values values;
      for (const Point &p : pointsAt(point, iv, plan.unroll, plan.lanes))
        for (unsigned o : ahead)
          values.push_back(block.load(o, p, plan.lanes, nullptr));
      return values;
    };
    loop(block.index(0), upTo, step, loadsAt(block.index(0)),
         [&](Value iv, ValueRange loaded) {
           Value next = arith::MinUIOp::create(
               b, block.loc(), block.add(iv, block.index(step)), last);
           Values values = loadsAt(next);
           SmallVector<Point> points =
               pointsAt(point, iv, plan.unroll, plan.lanes);
           for (auto [i, value] : llvm::enumerate(loaded))
             points[i / ahead.size()].known[ahead[i % ahead.size()]] = value;
           accumulateInPlace(points, plan.lanes, nullptr);
           return values;
         });
    return upTo;
  }

  /// Several iterations of the innermost parallel loop at a time.
  void jammed(const Point &point) {
    Value n = block.size(plan.vectorDim);
    if (plan.mode == VectorMode::Horizontal)
      return jammedRows(point, [&](ArrayRef<Point> rows) { horizontal(rows); });
    if (!plan.strip)
      return jammedRows(point,
                        [&](ArrayRef<Point> rows) { parallel(rows, n); });
    int64_t step = plan.strip * plan.lanes;
    Value whole = roundDown(n, step);
    loop(block.index(0), whole, step, {}, [&](Value from, ValueRange) {
      Value to = block.add(from, block.index(step));
      jammedRows(point, [&](ArrayRef<Point> rows) {
        loop(from, to, plan.lanes, {}, [&](Value iv, ValueRange) {
          passOver(rows, iv, 1, plan.lanes, nullptr);
          return Values();
        });
      });
      return Values();
    });
    if (getConstantIntValue(whole) != getConstantIntValue(n))
      jammedRows(point,
                 [&](ArrayRef<Point> rows) { parallel(rows, n, whole); });
  }

  void jammedRows(const Point &point,
                  llvm::function_ref<void(ArrayRef<Point>)> body) {
    unsigned dim = plan.parallelDims.back();
    Value size = block.size(dim), done = roundDown(size, plan.jam);
    auto some = [&](unsigned count) {
      return [&, count](Value iv, ValueRange) {
        Point first = block.enter(point, dim, iv);
        SmallVector<Point> rows;
        for (unsigned r = 0; r < count; ++r) {
          rows.push_back(block.shift(first, dim, r));
          block.hoistLoads(rows.back(), plan.reductionDims);
        }
        body(rows);
        return Values();
      };
    };
    loop(block.index(0), done, plan.jam, {}, some(plan.jam));
    std::optional<int64_t> all = getConstantIntValue(size);
    int64_t step = all ? std::max<int64_t>(*all % plan.jam, 1) : 1;
    loop(done, size, step, {}, some(step));
  }

  /// `unroll` vectors from `iv` on of each of `rows`.
  void passOver(ArrayRef<Point> rows, Value iv, unsigned unroll, int64_t lanes,
                Value mask) {
    SmallVector<Point> points;
    for (const Point &row : rows)
      llvm::append_range(points, pointsAt(row, iv, unroll, lanes));
    accumulateInPlace(points, lanes, mask);
  }

  /// Blocks over [0, n) of the vector dim, or what is left behind `done`, from
  /// each of `rows`.
  void parallel(ArrayRef<Point> rows, Value n, Value done = {}) {
    SmallVector<unsigned> ahead = loadedAhead();
    if (!ahead.empty())
      done = rotated(rows.front(), n, ahead);
    stripe(
        n, {}, /*keepLanes=*/false,
        [&](Value iv, unsigned unroll, int64_t lanes, Value mask, ValueRange) {
          passOver(rows, iv, unroll, lanes, mask);
          return Values();
        },
        done);
  }

  /// Groups side by side.
  void interleave(const Point &point) {
    stripe(block.size(plan.vectorDim), {}, /*keepLanes=*/false,
           [&](Value iv, unsigned, int64_t lanes, Value, ValueRange) {
             block.emitGroups(block.enter(point, plan.vectorDim, iv), lanes);
             return Values();
           });
  }

  /// Rows pass together over what is reduced, a set of accumulators each.
  void horizontal(ArrayRef<Point> rows) {
    unsigned count = plan.accumulators.size() * rows.size();
    // Carried values: `unroll` sets of vectors for all rows, then one set of
    // scalars when the remainder cannot be masked.
    Values init;
    unsigned sets = plan.unroll;
    for (unsigned set = 0; set < sets + !plan.canMask; ++set)
      for (unsigned i = 0; i < count; ++i)
        init.push_back(identity(i % plan.accumulators.size(),
                                set < sets ? plan.lanes : 0));

    Values sums = reduce(
        plan.reductionDims, rows, init,
        [&](ArrayRef<Point> at, ValueRange outer) {
          SmallVector<Point> here(at);
          for (Point &row : here)
            block.hoistLoads(row, {});
          return stripe(block.size(plan.vectorDim), outer, /*keepLanes=*/true,
                        [&](Value iv, unsigned unroll, int64_t lanes,
                            Value mask, ValueRange carried) {
                          SmallVector<Point> points =
                              sideBySide(here, iv, unroll, lanes);
                          unsigned first = lanes ? 0 : sets * count;
                          Values next(carried);
                          Values some =
                              block.emit(points, lanes, mask,
                                         carried.slice(first, unroll * count));
                          llvm::copy(some, next.begin() + first);
                          return next;
                        });
        });
    for (unsigned a = 0; a < plan.accumulators.size(); ++a)
      finish(a, rows, sums);
  }

  /// Vectors from `iv` on: the first of each of `rows`, then the second.
  SmallVector<Point> sideBySide(ArrayRef<Point> rows, Value iv, unsigned unroll,
                                int64_t lanes) {
    SmallVector<Point> points(rows.size() * unroll);
    for (auto [r, row] : llvm::enumerate(rows)) {
      block.prefetch(block.enter(row, plan.vectorDim, iv), unroll * lanes);
      for (auto [u, point] : llvm::enumerate(pointsAt(row, iv, unroll, lanes)))
        points[u * rows.size() + r] = point;
    }
    return points;
  }

  Value identity(unsigned accumulator, int64_t lanes) {
    unsigned o = plan.accumulators[accumulator];
    Value scalar =
        arith::getIdentityValue(plan.combiners[accumulator].kind,
                                access.operands[o].element, b, block.loc());
    return block.splat(scalar, lanes);
  }

  /// Folds all partial results of one accumulator into its output.
  void finish(unsigned accumulator, ArrayRef<Point> rows, const Values &sums) {
    const Combiner &combiner = plan.combiners[accumulator];
    unsigned o = plan.accumulators[accumulator];
    auto of = [&](unsigned set, unsigned row) {
      return sums[(set * rows.size() + row) * plan.accumulators.size() +
                  accumulator];
    };
    Values vectors;
    for (unsigned row = 0; row < rows.size(); ++row) {
      Values parts;
      for (unsigned set = 0; set < plan.unroll; ++set)
        parts.push_back(of(set, row));
      vectors.push_back(combineAll(b, block.loc(), combiner, parts));
    }
    Values values = foldLanes(b, block.loc(), combiner, vectors);
    for (auto [row, point] : llvm::enumerate(rows)) {
      Value value = values[row];
      if (!plan.canMask)
        value = combine(b, block.loc(), combiner, value, of(plan.unroll, row));
      value = combine(b, block.loc(), combiner,
                      block.load(o, point, 0, nullptr), value);
      block.store(value, o, point, 0, nullptr);
    }
  }

  /// Operands that are read along the tile dim.
  bool isTransposed(unsigned o) const {
    const OperandAccess &operand = access.operands[o];
    return operand.isMemref && !operand.isOutput && operand.isRead &&
           operand.stride[plan.tileDim] == 1 &&
           operand.stride[plan.vectorDim] != 1 &&
           operand.dependsOn(plan.vectorDim) && !operand.element.isInteger(1);
  }

  /// Whether elements only move: the output is a transposed operand.
  bool isCopy() {
    Block *body = block.body();
    auto source = dyn_cast<BlockArgument>(body->getTerminator()->getOperand(0));
    return access.operands.size() == 2 && llvm::hasSingleElement(*body) &&
           source && source.getArgNumber() == 0 && isTransposed(0) &&
           access.operands[1].stride[plan.vectorDim] == 1;
  }

  /// One tile at (row, column) = (tile dim, vector dim).
  void tile(const Point &at) {
    int64_t lanes = plan.lanes;
    if (plan.groupDim || isCopy())
      return callTransposeTile(
          b, block.loc(), lanes, block.rows(0, at, plan.vectorDim),
          block.rows(1, at, plan.tileDim),
          plan.groupDim ? access.sizes[*plan.groupDim] : 1,
          plan.prefetches.empty() ? 0 : plan.prefetches.front());
    SmallVector<Values> columns(access.operands.size());
    for (unsigned o = 0; o < access.operands.size(); ++o) {
      if (!isTransposed(o))
        continue;
      for (int64_t i = 0; i < lanes; ++i)
        columns[o].push_back(
            block.loadAlong(o, block.shift(at, plan.vectorDim, i), lanes));
      transposeRows(b, block.loc(), columns[o]);
    }
    for (int64_t row = 0; row < lanes; ++row) {
      Point point = block.shift(at, plan.tileDim, row);
      for (unsigned o = 0; o < access.operands.size(); ++o)
        if (!columns[o].empty())
          point.known[o] = columns[o][row];
      block.emit({point}, lanes, nullptr, {});
    }
  }

  /// Whether rows of a tile are not lines: two side by side leave fewer parts
  /// of lines for later. Others are better read one after another, along the
  /// rows that are written.
  bool readsPartsOfLines() const {
    int64_t perLine =
        kLineBytes * 8 / access.operands.back().element.getIntOrFloatBitWidth();
    return plan.lanes % perLine != 0 ||
           llvm::any_of(access.operands, [&](const OperandAccess &operand) {
             return operand.isMemref && !operand.isOutput &&
                    operand.stride[plan.tileDim] == 1 &&
                    operand.stride[plan.vectorDim] % perLine != 0;
           });
  }

  void transpose(const Point &point) {
    int64_t lanes = plan.lanes;
    Value zero = block.index(0);
    Value rows = block.size(plan.tileDim), columns = block.size(plan.vectorDim);
    Value fullRows = roundDown(rows, lanes);
    Value pairRows = roundDown(rows, 2 * lanes);
    Value fullColumns = roundDown(columns, lanes);
    auto tiles = [&](Value from, Value to, int64_t count) {
      loop(from, to, count * lanes, {}, [&](Value row, ValueRange) {
        Point inRow = block.enter(point, plan.tileDim, row);
        loop(zero, fullColumns, lanes, {}, [&](Value column, ValueRange) {
          Point at = block.enter(inRow, plan.vectorDim, column);
          for (int64_t i = 0; i < count; ++i)
            tile(block.shift(at, plan.tileDim, i * lanes));
          return Values();
        });
        return Values();
      });
    };
    if (readsPartsOfLines())
      tiles(zero, pairRows, 2);
    else
      pairRows = zero;
    tiles(pairRows, fullRows, 1);
    auto oneByOne = [&](const Point &inRow, Value from) {
      loop(from, columns, 1, {}, [&](Value column, ValueRange) {
        Point at = block.enter(inRow, plan.vectorDim, column);
        if (plan.groupDim)
          block.copyGroup(at);
        else
          block.emit({at}, 0, nullptr, {});
        return Values();
      });
    };
    // The columns right of the tiles, then the rows below.
    loop(zero, fullRows, 1, {}, [&](Value row, ValueRange) {
      oneByOne(block.enter(point, plan.tileDim, row), fullColumns);
      return Values();
    });
    loop(fullRows, rows, 1, {}, [&](Value row, ValueRange) {
      Point inRow = block.enter(point, plan.tileDim, row);
      if (plan.groupDim)
        oneByOne(inRow, zero);
      else
        parallel(inRow, columns);
      return Values();
    });
  }

  OpBuilder &b;
  const LoopAccess &access;
  const VectorPlan &plan;
  BlockEmitter block;
};

} // namespace

void emitLoops(OpBuilder &builder, linalg::LinalgOp op,
               const LoopAccess &access, const VectorPlan &plan) {
  LoopEmitter(builder, op, access, plan).run();
}

} // namespace tenon::codegen
