// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/movement/IndexedAccess.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/Slice.h"
#include "dialects/rt/RtDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/movement/Search.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tenon::passes {

int64_t IndexedAccess::innerLoops() const {
  int64_t inner = 0;
  for (int64_t d = rank() - 1; d >= 0; --d, ++inner)
    if (llvm::any_of(indices, [&](const IndexTensor &index) {
          return !index.memory.strides[d].isConstant(0);
        }))
      break;
  return inner;
}

Index IndexTensor::wrapped(IndexMath &m, Value raw, Index limit) {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  raw = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value isNegative =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, raw, m.value(0));
  Value fromEnd = m.value(m(raw) + limit);
  return m(arith::SelectOp::create(b, loc, isNegative, fromEnd, raw));
}

Index IndexedAccess::indexAt(IndexMath &m, int64_t i,
                             ArrayRef<Index> at) const {
  OpBuilder &b = m.builder();
  Location loc = m.location();
  const IndexTensor &index = indices[i];
  Index offset = index.memory.offset.value_or(0);
  for (auto [position, stride] : llvm::zip(at, index.memory.strides))
    offset += position * stride;
  Value one = box(m, index.memory.base, offset, {1}, {1});
  Value raw = memref::LoadOp::create(b, loc, one, ValueRange{m.value(0)});
  return IndexTensor::wrapped(m, raw, index.limit);
}

Index IndexedAccess::placeAt(IndexMath &m, ArrayRef<Index> at) const {
  Index place = tensor.offset.value_or(0);
  for (auto [position, stride] : llvm::zip(at, strides))
    place += position * stride;
  for (int64_t i = 0, e = indices.size(); i < e; ++i)
    place += indexAt(m, i, at) * indices[i].stride;
  return place;
}

/// The least and the largest element of `index`, in the temporary that is
/// returned.
static Value extremesOf(GroupContext &ctx, const IndexTensor &index) {
  OpBuilder &b = ctx.m.builder();
  // Loops along which it does not vary say whether there is an element.
  Strided memory = index.memory;
  Index any = 1;
  for (int64_t d = memory.rank() - 1; d >= 0; --d)
    if (memory.strides[d].isConstant(0)) {
      any = any * min(memory.sizes[d], 1);
      memory.sizes.erase(memory.sizes.begin() + d);
      memory.strides.erase(memory.strides.begin() + d);
    }
  if (!any.isConstant(1)) {
    memory.sizes.insert(memory.sizes.begin(), any);
    memory.strides.insert(memory.strides.begin(), 0);
  }
  Type type = memory.elementType();
  Value extremes =
      memref::AllocOp::create(b, ctx.m.location(), MemRefType::get({2}, type));
  SmallVector<bool> reduced(memory.rank(), true);
  LoopProgram program(ctx.m, ctx.label, ctx.target.getL2Bytes(), memory.sizes,
                      reduced);
  LoopProgram::Node node = program.input(memory);
  auto store = [&](LoopProgram::Reduction how, int64_t place) {
    Strided out;
    out.base = extremes;
    out.sizes = memory.sizes;
    out.strides.assign(memory.rank(), 0);
    out.offset = Index(place);
    program.output(program.reduce(how, node), out);
  };
  store(LoopProgram::Reduction::min, 0);
  store(LoopProgram::Reduction::max, 1);
  program.emit();
  return extremes;
}

void IndexedAccess::requireInside(GroupContext &ctx) const {
  IndexMath &m = ctx.m;
  OpBuilder &b = m.builder();
  Location loc = m.location();
  for (const IndexTensor &index : indices) {
    Value extremes = extremesOf(ctx, index);
    auto extreme = [&](int64_t i) -> Value {
      Value v =
          memref::LoadOp::create(b, loc, extremes, ValueRange{m.value(i)});
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
    };
    using P = arith::CmpIPredicate;
    Value isAbove = arith::CmpIOp::create(b, loc, P::sge, extreme(0),
                                          m.value(-1 * index.limit));
    Value isBelow =
        arith::CmpIOp::create(b, loc, P::slt, extreme(1), m.value(index.limit));
    rt::RequireOp::create(b, loc,
                          arith::AndIOp::create(b, loc, isAbove, isBelow));
  }
}

//===----------------------------------------------------------------------===//
// From operations
//===----------------------------------------------------------------------===//

/// A tensor of indices over `rank` loops, of which its dims are those from
/// `first` on.
static Strided overLoops(const Strided &s, ArrayRef<Index> sizes,
                         int64_t first) {
  Strided over;
  over.base = s.base;
  over.offset = s.offset;
  over.sizes.assign(sizes.begin(), sizes.end());
  over.strides.assign(sizes.size(), 0);
  for (int64_t d = 0; d < s.rank(); ++d)
    over.strides[first + d] =
        s.sizes[d].isConstant(1) ? Index(0) : s.strides[d];
  return over;
}

/// Positions in the last dim of `s`, each a tensor of indices over the loops.
static SmallVector<IndexTensor> columnsOf(const Strided &s, const Strided &in,
                                          int64_t firstDim,
                                          ArrayRef<Index> sizes) {
  SmallVector<IndexTensor> columns;
  int64_t count = *s.sizes.back().constant();
  for (int64_t k = 0; k < count; ++k) {
    Strided column = s;
    column.offset = s.offset.value_or(0) + k * s.strides.back();
    column.sizes.pop_back();
    column.strides.pop_back();
    columns.push_back({overLoops(column, sizes, 0), in.sizes[firstDim + k],
                       in.strides[firstDim + k]});
  }
  return columns;
}

/// Loops over outer dims, those of the indices, and inner dims.
static IndexedAccess gather(GroupContext &ctx, Operation *op) {
  Strided src = ctx.memoryOf(op->getOperand(0));
  Strided indices = ctx.memoryOf(op->getOperand(1));
  int64_t axis = normalizedAxis(intAttr(op, "axis"), src.rank());
  int64_t shared = intAttr(op, "batch_dims");
  IndexedAccess access;
  access.sizes.assign(ctx.result().sizes.begin(), ctx.result().sizes.end());
  access.strides.assign(access.rank(), 0);
  int64_t behind = indices.rank() - shared; // dims of indices that replace axis
  for (int64_t d = 0; d < src.rank(); ++d)
    if (d != axis)
      access.strides[d < axis ? d : d - 1 + behind] = src.strides[d];
  Strided memory = overLoops(indices, access.sizes, axis - shared);
  for (int64_t d = 0; d < shared; ++d) // the first ones are those of src
    std::swap(memory.strides[d], memory.strides[axis - shared + d]);
  access.indices.push_back({memory, src.sizes[axis], src.strides[axis]});
  access.tensor = src;
  return access;
}

/// A dim of the loops for each of `tensor`; along `axis` the index counts.
static IndexedAccess alongAxis(GroupContext &ctx, Operation *op,
                               const Strided &tensor, ArrayRef<Index> sizes) {
  IndexedAccess access;
  access.sizes.assign(sizes.begin(), sizes.end());
  int64_t axis = normalizedAxis(intAttr(op, "axis"), tensor.rank());
  access.strides = tensor.strides;
  access.strides[axis] = 0;
  access.indices.push_back(
      {overLoops(ctx.memoryOf(op->getOperand(1)), sizes, 0), tensor.sizes[axis],
       tensor.strides[axis]});
  access.tensor = tensor;
  return access;
}

/// Loops over batch dims, over dims of indices but the last, over inner dims.
static IndexedAccess byPosition(GroupContext &ctx, Operation *op,
                                const Strided &tensor, ArrayRef<Index> sizes,
                                int64_t shared) {
  Strided indices = ctx.memoryOf(op->getOperand(1));
  IndexedAccess access;
  access.sizes.assign(sizes.begin(), sizes.end());
  access.strides.assign(access.rank(), 0);
  for (int64_t d = 0; d < shared; ++d)
    access.strides[d] = tensor.strides[d];
  int64_t count = *indices.sizes.back().constant();
  int64_t lead = indices.rank() - 1; // loops over what the indices vary along
  for (int64_t d = shared + count; d < tensor.rank(); ++d)
    access.strides[lead + d - shared - count] = tensor.strides[d];
  access.indices = columnsOf(indices, tensor, shared, access.sizes);
  access.tensor = tensor;
  return access;
}

IndexedAccess gatherOf(GroupContext &ctx, Operation *op) {
  if (isa<graph::GatherOp>(op))
    return gather(ctx, op);
  Strided src = ctx.memoryOf(op->getOperand(0));
  ArrayRef<Index> sizes = ctx.result().sizes;
  if (isa<graph::GatherElementsOp>(op))
    return alongAxis(ctx, op, src, sizes);
  return byPosition(ctx, op, src, sizes, intAttr(op, "batch_dims"));
}

IndexedAccess scatterOf(GroupContext &ctx, Operation *op) {
  Strided updates = ctx.memoryOf(op->getOperand(2));
  const Strided &dst = ctx.result();
  return isa<graph::ScatterElementsOp>(op)
             ? alongAxis(ctx, op, dst, updates.sizes)
             : byPosition(ctx, op, dst, updates.sizes, /*shared=*/0);
}

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

/// Copies `src` to the result, if the caller has not given both one memory
/// (InPlace.cpp says that it may).
static void emitCopyUnlessInPlace(GroupContext &ctx, const Strided &src) {
  OpBuilder &b = ctx.m.builder();
  Location loc = ctx.m.location();
  auto addressOf = [&](const Strided &s) -> Value {
    return memref::ExtractAlignedPointerAsIndexOp::create(b, loc, s.base);
  };
  Value differ = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                       addressOf(src), addressOf(ctx.result()));
  auto branch = scf::IfOp::create(b, loc, differ, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  emitCopy(ctx, src, ctx.result());
}

/// The sizes of the operand, which are known when the code runs.
static void emitShape(GroupContext &ctx, graph::ShapeOp op) {
  ArrayRef<Index> sizes = ctx.sizes[op.getSrc()];
  const Strided &dst = ctx.result();
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t first = graph::sliceRange(rank, intAttr(op, "start"), rank, 1).first;
  emitItems(ctx.m, ctx.label, 1, [&](Index) {
    for (int64_t i = 0; i < *dst.sizes[0].constant(); ++i)
      storeAt(ctx.m,
              arith::IndexCastOp::create(ctx.m.builder(), ctx.m.location(),
                                         dst.elementType(),
                                         ctx.m.value(sizes[first + i])),
              dst.base, offsetOf(dst, {i}));
  });
}

LogicalResult lowerMovement(GroupContext &ctx) {
  Operation *op = ctx.ops().front();
  if (isa<graph::PadOp>(op)) {
    lowerPad(ctx, op);
    return success();
  }
  if (auto shape = dyn_cast<graph::ShapeOp>(op)) {
    emitShape(ctx, shape);
    return success();
  }
  if (isa<graph::GatherOp, graph::GatherElementsOp, graph::GatherNDOp>(op)) {
    IndexedAccess access = gatherOf(ctx, op);
    access.requireInside(ctx);
    emitGather(ctx, access, ctx.result());
    return success();
  }
  if (isa<graph::ScatterElementsOp, graph::ScatterNDOp>(op)) {
    IndexedAccess access = scatterOf(ctx, op);
    access.requireInside(ctx);
    emitCopyUnlessInPlace(ctx, ctx.memoryOf(op->getOperand(0)));
    emitScatter(ctx, access, ctx.memoryOf(op->getOperand(2)),
                stringAttr(op, "reduction"),
                rankedType(op->getResult(0)).getElementType());
    return success();
  }
  if (isa<graph::MaxPoolOp>(op)) {
    lowerMaxIndices(ctx, op);
    return success();
  }
  return lowerSearch(ctx, op);
}

} // namespace tenon::passes
