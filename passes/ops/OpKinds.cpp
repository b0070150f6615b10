// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/OpKinds.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/ops/ScalarOps.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::passes {

bool isState(Value v) {
  auto recurrence = v.getDefiningOp<tile::RecurrenceOp>();
  return recurrence &&
         recurrence.isSequence(cast<OpResult>(v).getResultNumber());
}

bool isPartView(Operation *op) {
  auto slice = dyn_cast<tile::SliceOp>(op);
  return slice ? slice.isView() : isa<tile::ExpandOp, tile::ReshapeOp>(op);
}

bool findsMaxima(Operation *op) {
  return isa<graph::MaxPoolOp>(op) && op->getNumResults() > 1;
}

bool isAlias(Operation *op) { return graph::isView(op) || isPartView(op); }

Value skipAliases(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isAlias(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

std::optional<GroupKind> kindOfGroup(Operation *op) {
  if (isAlias(op) || isa<arith::ConstantOp>(op))
    return std::nullopt;
  if (auto conv = dyn_cast<tile::ConvOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (auto conv = dyn_cast<tile::ConvTransposeOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (auto conv = dyn_cast<tile::ConvWeightsOp>(op))
    return conv.getDepthwise() ? GroupKind::window : GroupKind::contraction;
  if (isa<tile::MatMulOp, tile::WinogradOp>(op))
    return GroupKind::contraction;
  if (isa<tile::AttentionOp, tile::AttentionBackwardOp>(op))
    return GroupKind::attention;
  if (isa<tile::FlipOp, tile::PackOp, tile::PackQuantizedOp, tile::SliceOp,
          tile::ToInt8SlicesOp, tile::WinogradWeightsOp>(op))
    return GroupKind::pack;
  if (isa<tile::RecurrenceOp>(op))
    return GroupKind::recurrence;
  if (graph::isReductionLike(op))
    return GroupKind::reduction;
  if (findsMaxima(op))
    return GroupKind::movement;
  if (graph::isWindow(op))
    return GroupKind::window;
  if (isa<graph::ConcatOp>(op))
    return GroupKind::concat;
  graph::OpClass opClass = graph::classOf(op);
  if (isa<graph::PadOp, graph::ShapeOp>(op) ||
      opClass == graph::OpClass::gather || opClass == graph::OpClass::search)
    return GroupKind::movement;
  if (isScalarOp(op) || graph::isIndexed(op))
    return GroupKind::elementwise;
  return std::nullopt;
}

int64_t channelDim(Operation *op, int64_t rank) {
  return rank > 2 && stringAttr(op, "data_format") == "NCX" ? 1 : rank - 1;
}

SmallVector<int64_t> slopeDims(Operation *op) {
  ArrayRef<int64_t> src = rankedType(op->getOperand(0)).getShape();
  ArrayRef<int64_t> slope = rankedType(op->getOperand(1)).getShape();
  int64_t rank = src.size();
  if (slope.size() == 1 && slope[0] != 1)
    return {channelDim(op, rank)};
  SmallVector<int64_t> dims;
  for (int64_t i = rank - slope.size(); i < rank; ++i)
    dims.push_back(i);
  return dims;
}

ReductionSpace reductionSpace(Operation *op) {
  using graph::ReducedDims;
  int64_t rank = rankedType(op->getOperand(0)).getRank();
  ReductionSpace rows;
  rows.reduced.assign(rank, false);
  switch (graph::factsOf(op).reducedDims) {
  case ReducedDims::none:
    break;
  case ReducedDims::axis:
    if (rank > 0)
      rows.reduced[normalizedAxis(intAttr(op, "axis"), rank)] = true;
    break;
  case ReducedDims::axes:
    for (int64_t a : intsAttr(op, "axes"))
      rows.reduced[normalizedAxis(a, rank)] = true;
    break;
  case ReducedDims::fromBeginNormAxis:
    for (int64_t d = normalizedAxis(intAttr(op, "begin_norm_axis", -1), rank);
         d < rank; ++d)
      rows.reduced[d] = true;
    break;
  case ReducedDims::allButChannels:
    rows.reduced.assign(rank, true);
    rows.reduced[channelDim(op, rank)] = false;
    break;
  case ReducedDims::channelGroups:
    rows.groups = intAttr(op, "groups");
    rows.channel = channelDim(op, rank);
    rows.reduced.assign(rank + 1, true);
    rows.reduced[0] = rows.reduced[rows.channel] = false;
    break;
  case ReducedDims::slope:
    rows.reduced.assign(rank, true);
    auto slope = rankedType(op->getOperand(1));
    for (auto [i, d] : llvm::enumerate(slopeDims(op)))
      rows.reduced[d] = slope.getDimSize(i) == 1;
    break;
  }
  return rows;
}

bool takesEpilogue(Operation *first) {
  auto conv = dyn_cast<tile::ConvOp>(first);
  if (auto attention = dyn_cast<tile::AttentionOp>(first))
    return !attention.getFromLeft() && !attention.getStats();
  return kindOfGroup(first) == GroupKind::contraction ||
         (conv && conv.getDepthwise()) ||
         (graph::isPooling(first) && !graph::isBackward(first) &&
          !findsMaxima(first));
}

/// Whether an epilogue's vectors, of as many lanes as sums have, hold it.
static bool fits(Value v) {
  return rankedType(v).getElementTypeBitWidth() <= 32;
}

bool fitsEpilogue(Operation *op) {
  return llvm::all_of(op->getOperands(), fits) &&
         llvm::all_of(op->getResults(), fits);
}

} // namespace tenon::passes
