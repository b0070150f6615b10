//===- LowerPad.cpp - elements around a tensor ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First the part of src that stays, then what is added, one dim after the
// other: a slab before and one behind it, of a constant or of elements of dst
// that stand already.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/movement/IndexedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

namespace {

class PadEmitter {
public:
  PadEmitter(GroupContext &ctx, graph::PadOp op)
      : ctx(ctx), op(op), src(ctx.memoryOf(op.getSrc())), dst(ctx.result()),
        mode(stringAttr(op, "mode")), rank(src.rank()) {
    for (int64_t d = 0; d < rank; ++d)
      dims.push_back(dimOf(d));
  }

  void emit() {
    bool isStretched =
        llvm::any_of(dims, [](const Dim &dim) { return dim.step > 1; });
    if (isStretched)
      fill(dst);
    copyKept();
    if (isStretched)
      return;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t end = dims[d].to + dims[d].count;
      addSlab(d, 0, dims[d].to);
      addSlab(d, end, *dst.sizes[d].constant() - end);
    }
  }

private:
  /// Which elements of src stay, and where they begin in dst.
  struct Dim {
    int64_t from = 0, count = 0, to = 0, step = 1;
  };

  Dim dimOf(int64_t d) {
    SmallVector<int64_t> begin = intsAttr(op, "pads_begin"),
                         interior = intsAttr(op, "interior");
    int64_t size = *src.sizes[d].constant(), all = *dst.sizes[d].constant();
    Dim dim;
    dim.step = interior.empty() ? 1 : interior[d] + 1;
    // Element i of src comes to place begin + i * step.
    int64_t first = begin[d];
    dim.from = first >= 0 ? 0 : (-first + dim.step - 1) / dim.step;
    dim.to = first + dim.from * dim.step;
    int64_t fitting = dim.to >= all ? 0 : (all - 1 - dim.to) / dim.step + 1;
    dim.count = std::clamp<int64_t>(size - dim.from, 0, fitting);
    if (dim.count == 0)
      dim.to = 0;
    return dim;
  }

  /// The part of `s` from `first` on along `d`.
  static Strided part(Strided s, int64_t d, int64_t first, int64_t count,
                      int64_t step = 1) {
    s.dense = false;
    s.offset = s.offset.value_or(0) + first * s.strides[d];
    s.sizes[d] = count;
    s.strides[d] = s.strides[d] * step;
    return s;
  }

  void copyKept() {
    Strided from = src, to = dst;
    for (auto [d, dim] : llvm::enumerate(dims)) {
      from = part(std::move(from), d, dim.from, dim.count);
      to = part(std::move(to), d, dim.to, dim.count, dim.step);
    }
    copy(from, to);
  }

  void copy(const Strided &from, const Strided &to) {
    if (!llvm::any_of(to.sizes, [](Index size) { return size.isConstant(0); }))
      emitCopy(ctx, from, to);
  }

  void fill(const Strided &to) {
    if (Value given = op.getPadValue()) {
      Strided one = ctx.memoryOf(given);
      one.sizes.assign(to.sizes.begin(), to.sizes.end());
      one.strides.assign(to.rank(), 0);
      one.dense = false;
      return copy(one, to);
    }
    Type element = rankedType(op.getDst()).getElementType();
    double value = floatAttr(op, "value");
    SmallVector<bool> reduced(to.rank(), false);
    LoopProgram program(ctx.m, ctx.label, ctx.target.getL2Bytes(), to.sizes,
                        reduced);
    LoopProgram::Node node = program.compute(
        {}, to.elementType(),
        [element, value](OpBuilder &b, Location loc, ValueRange) -> Value {
          Value f = arith::ConstantOp::create(
              b, loc, b.getF32FloatAttr(static_cast<float>(value)));
          Value v = castScalar(b, loc, f, b.getF32Type(), element);
          return convertScalar(b, loc, v, storageType(element));
        });
    program.output(node, to);
    program.emit();
  }

  /// `count` elements from `first` on along `d`, of all that stands in the dims
  /// before it and of what is kept in those behind it.
  Strided slab(int64_t d, int64_t first, int64_t count, int64_t step = 1) {
    Strided s = part(dst, d, first, count, step);
    for (int64_t i = d + 1; i < rank; ++i)
      s = part(std::move(s), i, dims[i].to, dims[i].count);
    return s;
  }

  void addSlab(int64_t d, int64_t first, int64_t count) {
    if (count <= 0)
      return;
    Strided to = slab(d, first, count);
    if (llvm::any_of(to.sizes, [](Index size) { return size.isConstant(0); }))
      return;
    if (mode == "constant")
      return fill(to);
    int64_t begin = dims[d].to, end = begin + dims[d].count; // what is kept
    bool isBefore = first < begin;
    if (mode == "edge") {
      Strided from = slab(d, isBefore ? begin : end - 1, 1);
      from.sizes[d] = count;
      from.strides[d] = 0;
      return copy(from, to);
    }
    if (mode == "wrap")
      return copy(slab(d, isBefore ? end - count : begin, count), to);
    // Mirrored at the outermost element, which is not repeated.
    copy(slab(d, isBefore ? begin + count : end - 2, count, -1), to);
  }

  GroupContext &ctx;
  graph::PadOp op;
  Strided src;
  const Strided &dst;
  std::string mode;
  int64_t rank;
  SmallVector<Dim> dims;
};

} // namespace

void lowerPad(GroupContext &ctx, Operation *op) {
  PadEmitter(ctx, cast<graph::PadOp>(op)).emit();
}

} // namespace tenon::passes
