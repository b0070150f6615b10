//===- LowerPad.cpp - elements around a tensor ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// In mode constant first the part of src that stays is copied, then slabs
// around it are filled, one dim after the other. In the other modes every
// element of dst is one of src: along each dim there are up to three runs of
// them, forwards, backwards or one element again and again, and a copy for each
// choice of runs.
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

/// Elements of dst along one dim, in a row, and where they are in src.
struct Segment {
  int64_t first, count;     // of dst
  int64_t source, step = 1; // of src; without them: a constant
};

/// What mode constant leaves of src along one dim, and where it goes.
struct Kept {
  int64_t from = 0, count = 0, to = 0, step = 1;
};

class PadEmitter {
public:
  PadEmitter(GroupContext &ctx, graph::PadOp op)
      : ctx(ctx), op(op), src(ctx.memoryOf(op.getSrc())), dst(ctx.result()),
        mode(stringAttr(op, "mode")), rank(src.rank()),
        begins(intsAttr(op, "pads_begin")), interior(intsAttr(op, "interior")) {
  }

  void emit() {
    if (mode == "constant")
      return emitConstant();
    SmallVector<Segment> chosen;
    copySegments(chosen);
  }

private:
  int64_t sizeOf(int64_t d) const { return *src.sizes[d].constant(); }
  int64_t sizeOfDst(int64_t d) const { return *dst.sizes[d].constant(); }

  /// The part of `s` from `first` on along `d`.
  static Strided part(Strided s, int64_t d, int64_t first, int64_t count,
                      int64_t step = 1) {
    s.dense = false;
    s.offset = s.offset.value_or(0) + first * s.strides[d];
    s.sizes[d] = count;
    s.strides[d] = s.strides[d] * step;
    return s;
  }

  void copy(const Strided &from, const Strided &to) {
    if (!llvm::any_of(to.sizes, [](Index size) { return size.isConstant(0); }))
      emitCopy(ctx, from, to);
  }

  //===--------------------------------------------------------------------===//
  // edge, reflect, wrap: every element of dst is one of src
  //===--------------------------------------------------------------------===//

  /// Along `d`: before src, src, behind it.
  SmallVector<Segment> segmentsOf(int64_t d) const {
    int64_t n = sizeOf(d), all = sizeOfDst(d), begin = begins[d];
    int64_t middle = std::clamp<int64_t>(begin, 0, all);
    int64_t end = std::clamp<int64_t>(begin + n, middle, all);
    SmallVector<Segment> segments;
    auto add = [&](int64_t first, int64_t last, int64_t source, int64_t step) {
      if (last > first)
        segments.push_back({first, last - first, source, step});
    };
    bool isEdge = mode == "edge", isWrap = mode == "wrap";
    // The first element of dst is element -begin of src, continued.
    add(0, middle,
        isEdge   ? 0
        : isWrap ? n - begin
                 : begin,
        isEdge   ? 0
        : isWrap ? 1
                 : -1);
    add(middle, end, middle - begin, 1);
    int64_t beyond = end - begin - n; // 0, or what is cut off before it
    add(end, all,
        isEdge   ? n - 1
        : isWrap ? beyond
                 : n - 2 - beyond,
        isEdge   ? 0
        : isWrap ? 1
                 : -1);
    return segments;
  }

  /// A copy for each choice of segments.
  void copySegments(SmallVector<Segment> &chosen) {
    auto d = static_cast<int64_t>(chosen.size());
    if (d < rank) {
      for (const Segment &segment : segmentsOf(d)) {
        chosen.push_back(segment);
        copySegments(chosen);
        chosen.pop_back();
      }
      return;
    }
    Strided from = src, to = dst;
    for (auto [i, s] : llvm::enumerate(chosen)) {
      from = part(std::move(from), i, s.source, s.count, s.step);
      to = part(std::move(to), i, s.first, s.count);
    }
    copy(from, to);
  }

  //===--------------------------------------------------------------------===//
  // constant
  //===--------------------------------------------------------------------===//

  Kept keptOf(int64_t d) const {
    Kept kept;
    kept.step = interior.empty() ? 1 : interior[d] + 1;
    // Element i of src comes to place begin + i * step.
    int64_t first = begins[d], all = sizeOfDst(d);
    kept.from = first >= 0 ? 0 : (-first + kept.step - 1) / kept.step;
    kept.to = first + kept.from * kept.step;
    int64_t fitting = kept.to >= all ? 0 : (all - 1 - kept.to) / kept.step + 1;
    kept.count = std::clamp<int64_t>(sizeOf(d) - kept.from, 0, fitting);
    if (kept.count == 0)
      kept.to = 0;
    return kept;
  }

  void emitConstant() {
    SmallVector<Kept> dims;
    for (int64_t d = 0; d < rank; ++d)
      dims.push_back(keptOf(d));
    bool isStretched =
        llvm::any_of(dims, [](const Kept &dim) { return dim.step > 1; });
    if (isStretched)
      fill(dst);
    Strided from = src, to = dst;
    for (auto [d, dim] : llvm::enumerate(dims)) {
      from = part(std::move(from), d, dim.from, dim.count);
      to = part(std::move(to), d, dim.to, dim.count, dim.step);
    }
    copy(from, to);
    if (isStretched)
      return;
    // Slabs before and behind what is kept, of what is kept in dims before.
    Strided inside = dst;
    for (auto [d, dim] : llvm::enumerate(dims)) {
      int64_t end = dim.to + dim.count;
      fill(part(inside, d, 0, dim.to));
      fill(part(inside, d, end, sizeOfDst(d) - end));
      inside = part(std::move(inside), d, dim.to, dim.count);
    }
  }

  void fill(const Strided &to) {
    if (llvm::any_of(to.sizes, [](Index size) { return size.isConstant(0); }))
      return;
    if (Value given = op.getPadValue()) {
      Strided one = ctx.memoryOf(given);
      one.sizes.assign(to.sizes.begin(), to.sizes.end());
      one.strides.assign(to.rank(), 0);
      one.dense = false;
      return emitCopy(ctx, one, to);
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

  GroupContext &ctx;
  graph::PadOp op;
  Strided src;
  const Strided &dst;
  std::string mode;
  int64_t rank;
  SmallVector<int64_t> begins, interior;
};

} // namespace

void lowerPad(GroupContext &ctx, Operation *op) {
  PadEmitter(ctx, cast<graph::PadOp>(op)).emit();
}

} // namespace tenon::passes
