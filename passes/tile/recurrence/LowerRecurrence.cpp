//===- LowerRecurrence.cpp - steps of recurrences as sections -------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   tile.recurrence %x, %u      step 0: sections that read initial states
//                         ->    scf.for %s = 1 to T {
//                                 rt.parallel items(rows, blocks of units) }
//
// A stage of a step is one section; the loop over steps stands around it, in
// what becomes the entry, so that no section waits.  An item is a block of
// units for some rows of the batch: their sums, products of a state with packed
// weights, go to scratch of a few KiB; from there, still in L1, the block of
// the stage makes what it stores.
//
// Where a step looks at the one that follows, the last one is a copy of its
// own, as the first one is.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RtDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/recurrence/RecurrenceProblem.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Work of an item, in multiply-adds, that pays for handing it to a thread: a
/// microsecond with a batch of one, which reads each weight once.
constexpr int64_t kMinItemWork = 32 << 10;
/// What the functions of a cell cost per unit, in multiply-adds.
constexpr int64_t kCellWork = 200;
/// Units of a block without products.
constexpr int64_t kPlainUnits = 64;

/// The box of the matrix `s` at (row, column); one column serves all.
Value boxAt(IndexMath &m, const Strided &s, Index row, Index column, Index rows,
            Index columns) {
  bool shared = s.sizes[1].isConstant(1);
  Index stride = shared && !columns.isConstant(1) ? Index(0) : s.strides[1];
  Index offset = s.offset.value_or(0);
  offset += row * s.strides[0];
  if (!shared)
    offset += column * stride;
  return box(m, s.base, offset, {rows, columns}, {s.strides[0], stride});
}

/// Emits one stage of one step.
class StageEmitter {
public:
  StageEmitter(const RecurrenceProblem &p, int64_t number, const Step &step)
      : p(p), m(p.m()), stage(p.op.getStage(number)),
        body(p.op.getBodies()[number].front()), step(step), t(p.timeOf(step)) {
    if (stage.getWeights() < 0)
      return;
    const Strided &weights = p.operands[stage.getWeights()];
    panel = *weights.sizes[weights.rank() - 1 - (interleave() > 1)].constant();
    unit = panel;
    source = sourceOfProducts();
  }

  void emit();

private:
  int64_t interleave() const { return stage.getInterleave(); }
  std::optional<Strided> sourceOfProducts() const;
  int64_t products() const { return source ? stage.getProducts() : 0; }
  bool sumsBytes() const {
    return p.operands[stage.getWeights()].elementType().isInteger(8);
  }
  Type sumType() const {
    Builder b(m.builder().getContext());
    return sumsBytes() ? Type(b.getI32Type()) : Type(b.getF32Type());
  }

  int64_t blocksPerItem(int64_t rows, int64_t blocks) const;
  void emitBlock(Index row, Index rows, Index block, Value memory);
  void emitProducts(Index row, Index rows, Index block, const Strided &sums);
  void emitScalars(Index row, Index rows, Index column, int64_t units,
                   const Strided &sums);
  /// The matrix that argument `r` of the block is read from; none: zero.
  std::optional<Strided> matrixOf(tile::ReadAttr r) const;

  const RecurrenceProblem &p;
  IndexMath &m;
  tile::StageAttr stage;
  Block &body;
  const Step &step;
  Index t;
  int64_t panel = 0, unit = kPlainUnits;
  std::optional<Strided> source; // none: the sums are zero
};

std::optional<Strided> StageEmitter::sourceOfProducts() const {
  if (stage.getState() >= 0)
    return p.stateBefore(stage.getState(), step);
  return columnsFrom(p.written(stage.getSource(), step), stage.getOffset(),
                     stage.getDepth());
}

/// Blocks that one item works on, one after the other.
int64_t StageEmitter::blocksPerItem(int64_t rows, int64_t blocks) const {
  int64_t k = source ? source->sizes[1].constant().value_or(1024) : 0;
  int64_t work = rows * unit * (products() * k + kCellWork);
  return std::clamp<int64_t>(kMinItemWork / std::max<int64_t>(work, 1), 1,
                             std::max<int64_t>(blocks, 1));
}

void StageEmitter::emit() {
  auto k = source ? source->sizes[1].constant() : std::optional<int64_t>(0);
  int64_t bytes =
      source ? source->elementType().getIntOrFloatBitWidth() / 8 : 4;
  int64_t height =
      rowBlock(p.batch.constant(), k, p.ctx.target.getL2Bytes(), bytes);
  int64_t blocks = ceilDiv(stage.getWidth(), unit);
  int64_t perItem = blocksPerItem(height, blocks);
  Grid grid{{"rows", ceilDiv(p.batch, height)},
            {"blocks", ceilDiv(blocks, perItem)}};
  constexpr int64_t sumBytes = 4;
  Index scratch = height * products() * unit * sumBytes;
  emitItems(
      m, p.ctx.label, grid, scratch, [&](const Grid::Item &item, Value memory) {
        Index row = item["rows"] * height;
        auto n = p.batch.constant();
        Index rows =
            n && *n % height == 0 ? Index(height) : min(height, p.batch - row);
        if (perItem == 1)
          return emitBlock(row, rows, item["blocks"], memory);
        Index from = item["blocks"] * perItem;
        Index to = blocks % perItem == 0 ? from + perItem
                                         : min(from + perItem, blocks);
        emitLoop(m, from, to,
                 [&](Index block) { emitBlock(row, rows, block, memory); });
      });
}

void StageEmitter::emitBlock(Index row, Index rows, Index block, Value memory) {
  Strided sums; // of no products there are none
  if (products()) {
    auto count = rows.constant();
    SmallVector<Value> dynamic;
    if (!count)
      dynamic.push_back(m.value(rows));
    auto type = MemRefType::get(
        {count.value_or(ShapedType::kDynamic), products() * unit}, sumType());
    sums = stridedOf(m, memref::ViewOp::create(m.builder(), m.location(), type,
                                               memory, m.value(0), dynamic));
    emitProducts(row, rows, block, sums);
  }
  withBlockSize(m, block, stage.getWidth(), unit, [&](int64_t units) {
    emitScalars(row, rows, block * unit, units, sums);
  });
}

/// sums = source x the panels of the block, one for each product.
void StageEmitter::emitProducts(Index row, Index rows, Index block,
                                const Strided &sums) {
  const Strided &weights = p.operands[stage.getWeights()];
  Index k = source->sizes[1];
  Value a = boxAt(m, *source, row, 0, rows, k);
  int64_t panels = ceilDiv(stage.getWidth(), panel);
  Index size = panelSize(k, panel, interleave());
  for (int64_t i = 0; i < products(); ++i) {
    Index number = block + i * panels;
    Value b = panelBox(m, weights.base, number * size, {}, {}, k, panel,
                       interleave());
    Value out = boxAt(m, sums, 0, i * unit, rows, unit);
    auto product = tile::BrgemmOp::create(m.builder(), m.location(), a, b, out,
                                          /*accumulate=*/false,
                                          /*packed=*/true);
    if (sumsBytes())
      product.setUnsignedA(true);
    product.setPrefetchNext(true);
    auto distance = (panels * size).constant();
    if (products() > 1 && distance)
      product.setNextPanel(*distance);
  }
}

std::optional<Strided> StageEmitter::matrixOf(tile::ReadAttr r) const {
  int64_t i = r.getIndex();
  Index width = stage.getWidth();
  auto columns = [&](Strided s, int64_t offset) {
    return s.sizes[1].isConstant(1) ? s : columnsFrom(s, offset, width);
  };
  switch (r.getKind()) {
  case tile::ReadKind::operand:
    return columns(p.operandAt(i, t), r.getOffset());
  case tile::ReadKind::state: {
    std::optional<Strided> state = p.stateBefore(i, step);
    return state ? std::optional(columns(*state, r.getOffset())) : state;
  }
  case tile::ReadKind::result:
    return columns(p.written(i, step), r.getOffset());
  case tile::ReadKind::following:
    if (!step.last)
      return columns(p.operandAt(i, p.timeOf(step, 1)), r.getOffset());
    if (r.getOtherwise() < 0)
      return std::nullopt;
    return columns(p.operandAt(r.getOtherwise(), 0), 0);
  case tile::ReadKind::step:
    return std::nullopt;
  }
  llvm_unreachable("covered switch");
}

/// `value`, as memory holds it, as blocks compute with it.
Value loaded(OpBuilder &b, Location loc, Value value) {
  return value.getType().isInteger(32)
             ? value
             : convertScalar(b, loc, value, b.getF32Type(),
                             /*fromSigned=*/false);
}

/// `value` of a block as an element of `type` in memory; to bytes, rounded to
/// even and saturated.
Value stored(OpBuilder &b, Location loc, Value value, Type type) {
  if (!type.isInteger(8))
    return convertScalar(b, loc, value, type);
  return castScalar(b, loc, math::RoundEvenOp::create(b, loc, value),
                    b.getF32Type(), b.getIntegerType(8, /*isSigned=*/false));
}

/// The block of the stage for `units` units from `column` on.
void StageEmitter::emitScalars(Index row, Index rows, Index column,
                               int64_t units, const Strided &sums) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  // What each argument of the block is: an input of the loop, or a value.
  SmallVector<Value> ins, outs, values(body.getNumArguments());
  SmallVector<int64_t> inputOf(body.getNumArguments(), -1);
  for (int64_t i = 0; i < products(); ++i) {
    inputOf[i] = ins.size();
    ins.push_back(boxAt(m, sums, 0, i * unit, rows, units));
  }
  for (auto [i, r] : llvm::enumerate(stage.getReads())) {
    int64_t argument = stage.getProducts() + i;
    if (std::optional<Strided> matrix = matrixOf(r)) {
      inputOf[argument] = ins.size();
      ins.push_back(boxAt(m, *matrix, row, column, rows, units));
    } else if (r.getKind() == tile::ReadKind::step) {
      values[argument] =
          arith::IndexCastOp::create(b, loc, b.getI32Type(), m.value(t));
    }
  }
  SmallVector<Type> types;
  for (auto [target, first] :
       llvm::zip(stage.getTargets(), stage.getColumns())) {
    Strided s = columnsFrom(p.written(target, step), first, stage.getWidth());
    outs.push_back(boxAt(m, s, row, column, rows, units));
    types.push_back(s.elementType());
  }
  SmallVector<AffineMap> maps(ins.size() + outs.size(),
                              b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, loc, TypeRange{}, ins, outs, maps, loops,
      [&](OpBuilder &nb, Location at, ValueRange args) {
        IRMapping map;
        for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
          Value v = values[i];
          if (inputOf[i] >= 0)
            v = loaded(nb, at, args[inputOf[i]]);
          else if (!v)
            v = arith::ConstantOp::create(nb, at,
                                          nb.getZeroAttr(argument.getType()));
          map.map(argument, v);
        }
        for (Operation &inner : body.without_terminator())
          nb.clone(inner, map);
        SmallVector<Value> yields;
        for (auto [v, type] :
             llvm::zip(body.getTerminator()->getOperands(), types))
          yields.push_back(stored(nb, at, map.lookup(v), type));
        linalg::YieldOp::create(nb, at, yields);
      });
}

/// Emits the steps around their stages.
class RecurrenceEmitter {
public:
  explicit RecurrenceEmitter(const RecurrenceProblem &p) : p(p), m(p.m()) {}

  void emit() {
    if (p.batch.isConstant(0))
      return;
    if (auto lengths = p.op.getLengths())
      requireLengths(p.operands[*lengths]);
    auto known = p.steps.constant();
    if (p.looksAhead())
      known ? emitKnown(*known) : emitUnknown();
    else
      emitSteps(known);
    emitFinals(known);
  }

private:
  /// The execution fails unless all `lengths` are from 0 to the number of
  /// steps.
  void requireLengths(const Strided &lengths) {
    OpBuilder &b = m.builder();
    Location loc = m.location();
    Value most =
        arith::IndexCastOp::create(b, loc, b.getI32Type(), m.value(p.steps));
    Value all = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    auto loop = scf::ForOp::create(
        b, loc, m.value(0), m.value(p.batch), m.value(1), all,
        [&](OpBuilder &nb, Location at, Value row, ValueRange fit) {
          IndexMath inner(nb, at);
          Value element =
              box(inner, lengths.base,
                  lengths.offset.value_or(0) + inner(row) * lengths.strides[1],
                  {1}, {1});
          Value length = memref::LoadOp::create(nb, at, element,
                                                ValueRange{inner.value(0)});
          // Below 0 it is large without a sign.
          Value fits = arith::CmpIOp::create(nb, at, arith::CmpIPredicate::ule,
                                             length, most);
          fits = arith::AndIOp::create(nb, at, fit[0], fits);
          scf::YieldOp::create(nb, at, fits);
        });
    rt::RequireOp::create(b, loc, loop.getResult(0));
  }

  void emitStep(const Step &step) {
    for (int64_t i = 0, e = p.op.getStages().size(); i < e; ++i)
      StageEmitter(p, i, step).emit();
  }
  void emitLoopOfSteps(Index from, Index to, bool first, bool last) {
    emitLoop(m, from, to, [&](Index s) { emitStep({s, first, last}); });
  }
  /// Without elements any number of steps is none.
  Index rounds() const {
    return p.batch.constant() ? p.steps : min(p.steps, p.steps * p.batch);
  }

  void emitSteps(std::optional<int64_t> known) {
    if (!known)
      emitLoopOfSteps(0, min(p.steps, 1), true, false);
    else if (*known > 0)
      emitStep({0, true, false});
    emitLoopOfSteps(1, rounds(), false, false);
  }
  void emitKnown(int64_t steps) {
    if (steps == 1)
      return emitStep({0, true, true});
    if (steps == 0)
      return;
    emitStep({0, true, false});
    emitLoopOfSteps(1, steps - 1, false, false);
    emitStep({steps - 1, false, true});
  }
  void emitUnknown() {
    Index one = min(p.steps, 1);              // 1 if there are steps
    Index more = min(max(p.steps - 1, 0), 1); // 1 if there are several
    emitLoopOfSteps(more, one, true, true);
    emitLoopOfSteps(0, more, true, false);
    emitLoopOfSteps(1, max(rounds() - 1, 1), false, false);
    emitLoop(m, 0, more, [&](Index) { emitStep({p.steps - 1, false, true}); });
  }

  void emitFinals(std::optional<int64_t> known) {
    if (known)
      return copyFinals(*known > 0);
    emitLoop(m, 0, min(p.steps, 1), [&](Index) { copyFinals(true); });
    emitLoop(m, min(p.steps, 1), 1, [&](Index) { copyFinals(false); });
  }
  void copyFinals(bool any) {
    int64_t sequences = p.op.getRings().size();
    for (auto [i, state] : llvm::enumerate(p.op.getFinals())) {
      auto found = p.ctx.outputs.find(p.op.getOutputs()[sequences + i]);
      if (found == p.ctx.outputs.end())
        continue;
      std::optional<Strided> from =
          any ? p.stateAfterAll(state) : p.initialState(state);
      for (const Strided &out : found->second)
        emitCopy(p.ctx, from, at(at(out, 0), 0));
    }
  }

  const RecurrenceProblem &p;
  IndexMath &m;
};

} // namespace

LogicalResult lowerRecurrence(GroupContext &ctx) {
  RecurrenceProblem problem(ctx, cast<tile::RecurrenceOp>(ctx.ops().front()));
  RecurrenceEmitter(problem).emit();
  return success();
}

} // namespace tenon::passes
