//===- SelectRecurrence.cpp - weights of recurrences ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   weights [J, K, width]  ->  tile.pack [J, P, K, panel]
//
// Each product has panels of its own: those of one block of units are read one
// after the other, and their sums meet in the block of the stage.
//
//===----------------------------------------------------------------------===//
#include "passes/layout/SelectRecurrence.h"

#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

void selectRecurrence(tile::RecurrenceOp op, OpBuilder &b,
                      Selection &selection) {
  int64_t rows = op.getForm(op.operandWithBatch()).getSteps() +
                 op.getForm(op.operandWithBatch()).getLead().size();
  int64_t batch =
      rankedType(op.getInputs()[op.operandWithBatch()]).getDimSize(rows);
  SmallVector<Attribute> stages;
  for (int64_t i = 0, e = op.getStages().size(); i < e; ++i) {
    tile::StageAttr s = op.getStage(i);
    if (s.getWeights() < 0) {
      stages.push_back(s);
      continue;
    }
    Value weights = op.getInputs()[s.getWeights()];
    auto type = rankedType(weights);
    const Packing &packing = selection.packing;
    int64_t v =
        packing.interleaveFor(type.getElementType(), type.getDimSize(1));
    int64_t panel = packing.panelFor(batch, s.getWidth(), v);
    Value packed =
        tile::PackOp::create(b, op.getLoc(), weights, panel, std::nullopt, v);
    op.getInputsMutable()[s.getWeights()].set(packed);
    stages.push_back(tile::StageAttr::get(
        b.getContext(), s.getWidth(), s.getWeights(), s.getProducts(),
        s.getState(), s.getSource(), s.getOffset(), s.getDepth(), v,
        s.getReads(), s.getTargets(), s.getColumns()));
    ++selection.packed;
  }
  op.setStagesAttr(b.getArrayAttr(stages));
}

} // namespace tenon::passes
