//===- RecurrentShapes.cpp - shapes of recurrent operations ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/RecurrentCell.h"
#include "dialects/graph/forms/Draft.h"

#include <array>

namespace tenon::forms {

using namespace graph;

namespace {

/// Sizes that fit what `d` has of attributes and optional operands.
CellSizes cellSizes(Draft &d) {
  Dims src = d.source(3, 3);
  bool batchFirst = d.flag("batch_first");
  Op op;
  op.kind = d.info.kind;
  op.attrs = d.attrs;
  CellInfo cell = cellInfo(op);
  CellSizes sizes = {};
  auto at = [&](CellSize size) -> int64_t & {
    return sizes[static_cast<size_t>(size)];
  };
  at(CellSize::steps) = src[batchFirst ? 1 : 0];
  at(CellSize::batch) = src[batchFirst ? 0 : 1];
  at(CellSize::inputs) = src[2];
  int64_t directions = at(CellSize::directions) =
      cellDirections(d.word("direction"));
  int64_t joined = d.word("stacking") == "concatenated" ? directions : 1;
  int64_t layers = d.random.chance(70) ? 1 : d.random.in(2, 3);
  if (src[2] % joined != 0)
    layers = 1;
  at(CellSize::layers) = layers;
  at(CellSize::outputs) = layers > 1 ? src[2] / joined : d.dim();
  // Only a projection makes them differ.
  at(CellSize::hidden) = at(CellSize::outputs);
  for (size_t i = 0; i < d.operands && i < d.info.operands.size(); ++i)
    if (d.info.operands[i].name == "weights_projection")
      at(CellSize::hidden) = d.dim();
  // One step may read states of another width.
  bool isFree = at(CellSize::steps) == 1 && !cell.statesAreHidden;
  at(CellSize::states) =
      isFree && d.random.chance(40) ? d.dim() : at(CellSize::outputs);
  at(CellSize::gates) = cell.gates;
  at(CellSize::biasRows) = cell.biasRows;
  at(CellSize::three) = 3;
  at(CellSize::one) = 1;
  return sizes;
}

} // namespace

void guessRecurrent(Draft &d) {
  CellSizes sizes = cellSizes(d);
  for (const ValueInfo &operand : d.info.operands) {
    Dims &shape = d.shapes[std::string(operand.name)];
    shape.clear();
    for (CellSize size : cellDims(operand.name, d.flag("batch_first")))
      shape.push_back(sizes[static_cast<size_t>(size)]);
  }
}

} // namespace tenon::forms
