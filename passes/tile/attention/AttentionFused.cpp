//===- AttentionFused.cpp - products of computed keys and values ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cache of int8 keys and values is read by each query that is generated, and
// has a quarter of the bytes of one in f32. With one query its elements are
// dequantised in registers on their way into the sums:
//
//   S[n] = sum over d of q[d] * (k[n, d] * scale[n])
//
// With several queries, or heads that share keys, a box of keys that fits into
// L1 is dequantised for all of them:
//
//   for each box: K = k[box] * scale[box]; S[:, box] = q . K
//
// The same holds for values.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/attention/AttentionFused.h"

#include "codegen/vector/Attrs.h"
#include "passes/ops/ScalarOps.h"
#include "passes/tile/core/Elementwise.h"
#include "passes/tile/products/Products.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::passes {

namespace {

constexpr auto kParallel = utils::IteratorType::parallel;
constexpr auto kReduction = utils::IteratorType::reduction;

/// Numbers that meet computed elements, or get their sums, along some loops.
struct Numbers {
  Value memory;
  SmallVector<unsigned> dims;
};

/// sums += factors * elements of `operand` over `loops`, those of `iterators`.
linalg::GenericOp addProducts(IndexMath &m, const FusedOperand &operand,
                              const FusedOperand::Loops &loops,
                              const Numbers &factors, const Numbers &sums,
                              ArrayRef<utils::IteratorType> iterators) {
  OpBuilder &b = m.builder();
  auto mapOf = [&](ArrayRef<unsigned> dims) {
    auto exprs = llvm::map_to_vector(
        dims, [&](unsigned d) { return b.getAffineDimExpr(d); });
    return AffineMap::get(iterators.size(), 0, exprs, b.getContext());
  };
  FusedOperand::Reads reads = operand.readsOf(m, loops.places, loops.sizes);
  SmallVector<Value> ins{factors.memory};
  llvm::append_range(ins, reads.boxes);
  SmallVector<AffineMap> maps{mapOf(factors.dims)};
  for (ArrayRef<unsigned> dims : reads.dims)
    maps.push_back(mapOf(dims));
  maps.push_back(mapOf(sums.dims));
  return linalg::GenericOp::create(
      b, m.location(), TypeRange(), ins, sums.memory, maps, iterators,
      [&](OpBuilder &nb, Location l, ValueRange args) {
        Value element = operand.elementOf(nb, l, args.drop_front().drop_back(),
                                          nb.getF32Type());
        Value sum =
            math::FmaOp::create(nb, l, args.front(), element, args.back());
        linalg::YieldOp::create(nb, l, sum);
      });
}

/// [first, first + count).
SmallVector<unsigned> dimsFrom(unsigned first, size_t count) {
  return llvm::to_vector(
      llvm::seq<unsigned>(first, first + static_cast<unsigned>(count)));
}

} // namespace

/// Loops from key or value `first` on; its dim is `dim`, counted from the last.
FusedOperand::Loops AttentionFused::loopsOver(const FusedInput &input,
                                              const Block &block, Index first,
                                              int64_t dim, Index count) const {
  ArrayRef<Index> head = ArrayRef(block.at).drop_back();
  SmallVector<Index> starts, strides;
  for (const Strided &s : input.sources) {
    Index stride = s.strides[s.rank() - 1 - dim];
    starts.push_back(offsetOf(s, head) + first * stride);
    strides.push_back(stride);
  }
  FusedOperand::Loops loops = input.value.loopsFrom(starts);
  input.value.addLoops(loops, dim, count, strides, 0);
  return loops;
}

/// Strides of the tensors of `input` along a dim.
static SmallVector<Index> stridesAlong(const FusedInput &input, int64_t dim) {
  return llvm::map_to_vector(input.sources, [&](const Strided &s) {
    return s.strides[s.rank() - 1 - dim];
  });
}

/// Calls `emit` with the first of at most `most` keys or values of `all`, and
/// their number.
static void forEachChunk(IndexMath &m, Index all, int64_t most,
                         llvm::function_ref<void(Index, Index)> emit) {
  auto known = all.constant();
  if (!known)
    return emitLoop(m, 0, ceilDiv(all, most), [&](Index i) {
      Index first = i * most;
      emit(first, min(Index(most), all - first));
    });
  Index full = all / most, tail = *known % most;
  emitLoop(m, 0, full, [&](Index i) { emit(i * most, most); });
  if (!tail.isConstant(0))
    emit(full * most, tail);
}

/// Computes `most` keys or values of `width` elements at a time. Calls `use`
/// with the number of the first within `part`, their number and a box of rows.
void AttentionFused::emitBoxes(
    const FusedInput &input, int64_t dim, const Block &block, const Keys &part,
    int64_t most, int64_t width,
    llvm::function_ref<void(Index, Index, Value)> use) const {
  forEachChunk(m, part.count, most, [&](Index first, Index count) {
    FusedOperand::Loops loops =
        loopsOver(input, block, part.from + first, dim, count);
    loops.steps.front() = width;
    input.value.addLoops(loops, 1 - dim, width, stridesAlong(input, 1 - dim),
                         1);
    input.value.emitBox(m, loops, block.scratch.fusedBox, 0);
    use(first, count,
        box(m, block.scratch.fusedBox, 0, {count, width}, {width, 1}));
  });
}

void AttentionFused::emitDots(const Block &block, const Keys &part) const {
  if (!schedule.boxKeys)
    return emitDotsInRegisters(block, part);
  int64_t depth = *problem.depth.constant();
  Value queries = queriesOf(block);
  emitBoxes(*problem.fusedKeys, kDimOfKeys, block, part, schedule.boxKeys,
            depth, [&](Index first, Index count, Value) {
              Value keys =
                  box(m, block.scratch.fusedBox, 0, {depth, count}, {1, depth});
              Value scores = box(m, block.scratch.scores, first,
                                 {block.rows, count}, {schedule.pitch, 1});
              passes::emitDots(m, queries, keys, scores);
            });
}

void AttentionFused::emitDotsInRegisters(const Block &block,
                                         const Keys &part) const {
  const FusedInput &keys = *problem.fusedKeys;
  FusedOperand::Loops loops =
      loopsOver(keys, block, part.from, kDimOfKeys, part.count);
  RowsAt q = queriesAt(block);
  keys.value.addLoops(loops, kDimOfDepth, problem.depth,
                      stridesAlong(keys, kDimOfDepth), q.along);
  size_t count = loops.sizes.size();
  Numbers queries{box(m, q.base, q.offset, ArrayRef(loops.sizes).drop_front(),
                      ArrayRef(loops.steps).drop_front()),
                  dimsFrom(1, count - 1)};
  Numbers scores{box(m, block.scratch.scores, 0, {part.count}, {1}), {0}};
  SmallVector<utils::IteratorType> iterators(count, kReduction);
  iterators.front() = kParallel;
  fill(m, scores.memory, 0);
  // Keys pass together over the query, and their lanes are folded together.
  addProducts(m, keys.value, loops, queries, scores, iterators)
      ->setAttr(codegen::kJamAttr, m.builder().getI64IntegerAttr(0));
}

void AttentionFused::emitWeighted(const Block &block, const Keys &part,
                                  const RowsAt &result) const {
  if (!schedule.boxValues)
    return emitWeightedInRegisters(block, part, result);
  OpBuilder &b = m.builder();
  Value sums = box(m, result.base, result.offset, {block.rows, problem.columns},
                   {result.across, 1});
  fill(m, sums, 0);
  emitBoxes(*problem.fusedValues, kDimOfValues, block, part, schedule.boxValues,
            problem.columns, [&](Index first, Index count, Value values) {
              Value weights = box(m, block.scratch.scores, first,
                                  {block.rows, count}, {schedule.pitch, 1});
              tile::BrgemmOp::create(b, m.location(), weights, values, sums,
                                     /*accumulate=*/true, /*packed=*/false);
            });
}

/// Columns with scales of groups are loops around those over values, which stay
/// in L1 for all of them.
void AttentionFused::emitWeightedInRegisters(const Block &block,
                                             const Keys &part,
                                             const RowsAt &result) const {
  constexpr int64_t kValuesInL1 = 64;
  const FusedInput &values = *problem.fusedValues;
  auto add = [&](Index first, Index count) {
    FusedOperand::Loops loops =
        loopsOver(values, block, part.from + first, kDimOfValues, count);
    values.value.addLoops(loops, kDimOfColumns, problem.columns,
                          stridesAlong(values, kDimOfColumns), 1);
    size_t dims = loops.sizes.size();
    Numbers weights{box(m, block.scratch.scores, first, {count}, {1}), {0}};
    Numbers sums{box(m, result.base, result.offset,
                     ArrayRef(loops.sizes).drop_front(),
                     ArrayRef(loops.steps).drop_front()),
                 dimsFrom(1, dims - 1)};
    SmallVector<utils::IteratorType> iterators(dims, kParallel);
    iterators.front() = kReduction;
    addProducts(m, values.value, loops, weights, sums, iterators);
  };
  fill(m, box(m, result.base, result.offset, {problem.columns}, {1}), 0);
  if (values.value.isSplit(kDimOfColumns))
    forEachChunk(m, part.count, kValuesInL1, add);
  else
    add(0, part.count);
}

} // namespace tenon::passes
