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
#include "passes/tile/core/Lines.h"
#include "passes/tile/loops/LoopProgram.h"
#include "passes/tile/movement/IndexedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Elements of dst along one dim, in a row, and where they are in src.
struct Segment {
  Index first, count; // of dst
  Index source;       // of src
  int64_t step;
};

/// What mode constant leaves of src along one dim, and where it goes.
struct Kept {
  int64_t from = 0, step = 1;
  Index count, to;
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
    requireElements();
    SmallVector<Segment> chosen;
    copySegments(chosen);
  }

private:
  /// The part of `s` from `first` on along `d`.
  static Strided part(Strided s, int64_t d, Index first, Index count,
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

  /// Inference has compared sizes that are known with the pads.
  void requireElements() {
    SmallVector<int64_t> ends = intsAttr(op, "pads_end");
    for (int64_t d = 0; d < rank; ++d)
      if (int64_t most = std::max(begins[d], ends[d]); most > 0)
        requireLess(ctx,
                    mode == "edge"   ? 0
                    : mode == "wrap" ? most - 1
                                     : most,
                    src.sizes[d]);
  }

  /// Along `d`: before src, src, behind it.
  SmallVector<Segment> segmentsOf(int64_t d) const {
    Index n = src.sizes[d], all = dst.sizes[d], begin = begins[d];
    Index middle = min(max(begin, 0), all);
    Index end = min(max(begin + n, middle), all);
    SmallVector<Segment> segments;
    auto add = [&](Index first, Index last, Index source, int64_t step) {
      if (Index count = last - first; !count.isConstant(0))
        segments.push_back({first, count, source, step});
    };
    bool isEdge = mode == "edge", isWrap = mode == "wrap";
    // The first element of dst is element -begin of src, continued.
    add(0, middle,
        isEdge   ? Index(0)
        : isWrap ? n - begin
                 : begin,
        isEdge   ? 0
        : isWrap ? 1
                 : -1);
    add(middle, end, middle - begin, 1);
    Index beyond = end - begin - n; // 0, or what is cut off before it
    add(end, all,
        isEdge   ? n - 1
        : isWrap ? beyond
                 : n - beyond - 2,
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
    int64_t first = begins[d];
    Index all = dst.sizes[d];
    kept.from = first >= 0 ? 0 : (-first + kept.step - 1) / kept.step;
    kept.to = min(Index(first + kept.from * kept.step), all);
    Index fitting = ceilDiv(all - kept.to, kept.step);
    kept.count = min(max(src.sizes[d] - kept.from, 0), fitting);
    if (kept.count.isConstant(0))
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
      Index end = dim.to + dim.count;
      fill(part(inside, d, 0, dim.to));
      fill(part(inside, d, end, dst.sizes[d] - end));
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
