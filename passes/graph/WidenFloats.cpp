//===- WidenFloats.cpp - bf16 and f16 around what computes in f32 ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %0 = graph.MaxPool %x : bf16     %1 = graph.TypeCast %x : bf16 -> f32
//                               ->   %2 = graph.MaxPool %1 : f32
//                                    %0 = graph.TypeCast %2 : f32 -> bf16
//
// Groups of elementwise operations, rows and products load narrow floats and
// round where they store, and so do recurrences. The lowerings of windows, of
// their gradients and of searches know f32 only. Products that have no
// instruction of their own on the target load an element for each panel or
// block that meets it, and widen it there: f32 throughout is faster, unless
// memory is the bound. The same holds if the target has an instruction for them
// that is slower than f32 FMA.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/Target.h"
#include "passes/Passes.h"
#include "passes/ops/OpKinds.h"
#include "passes/ops/Packing.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_WIDENFLOATS
#include "passes/Passes.h.inc"

namespace {

/// Whether groups of `op` read and write narrow floats, and in no more time.
bool knowsNarrow(Operation *op) {
  if (isa<graph::ConvolutionOp>(op))
    // Groups of 8 are faster as products of pairs.
    return !hasChannelsAsLanes(op, /*lanes=*/8);
  // Sums of narrow floats are rounded once, at the end.
  if (graph::classOf(op) == graph::OpClass::gather)
    return !op->hasAttr("reduction") || stringAttr(op, "reduction") == "none";
  return isa<graph::MatMulOp>(op) || graph::isMovement(op) ||
         graph::isReductionLike(op) || graph::isIndexed(op) || isScalarOp(op);
}

struct WidenFloatsPass : impl::WidenFloatsBase<WidenFloatsPass> {
  using WidenFloatsBase::WidenFloatsBase;

  /// Whether the product `op` is faster in f32: the target has no instruction
  /// for it, or a slow one, which is the bound with less rows, too.
  bool isSlow(Operation *op) const {
    constexpr int64_t kMinRowsIfSlow = kMinRowsToWiden / 2;
    if (!isa<graph::MatMulOp, graph::ConvolutionOp>(op) ||
        !isNarrowFloat(op->getOperand(0)) || !isNarrowFloat(op->getOperand(1)))
      return false;
    bool isF16 = rankedType(op->getOperand(0)).getElementType().isF16();
    if (target.getBf16DotWidth() == 1 || isF16)
      return widensOften(op);
    return target.getBf16DotIsSlow() && widensOften(op, kMinRowsIfSlow);
  }

  void runOnOperation() override {
    target = tile::targetOf(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      auto anyNarrow = [](ValueRange values) {
        return llvm::any_of(values, isNarrowFloat);
      };
      if (!kindOf(op).empty() && (!knowsNarrow(op) || isSlow(op)) &&
          (anyNarrow(op->getOperands()) || anyNarrow(op->getResults())))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      op->emitRemark(
          "computes in f32: " +
          (knowsNarrow(op)
               ? "the target has no fast instruction for products of "
                 "narrow floats"
               : kindOf(op) + " has no faster code for narrow floats") +
          ", casts stand around it");
      computeInF32(op, op->getOpOperands());
    }
    widened += ops.size();
  }

  tile::TargetAttr target;
};

} // namespace
} // namespace tenon::passes
