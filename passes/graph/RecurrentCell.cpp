//===- RecurrentCell.cpp - recurrent operations as one description --------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/graph/RecurrentCell.h"

#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/tile/TileDialect.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

using namespace mlir;

namespace tenon::passes {

static CellKind kindOfCell(Operation *op) {
  if (isa<graph::RNNOp, graph::RNNBackwardOp>(op))
    return CellKind::rnn;
  if (isa<graph::LSTMOp, graph::LSTMBackwardOp>(op))
    return CellKind::lstm;
  return boolAttr(op, "linear_before_reset") ? CellKind::linearBeforeReset
                                             : CellKind::gru;
}

RecurrentOp::RecurrentOp(OpBuilder &b, Operation *op)
    : b(b), op(op), loc(op->getLoc()), kind(kindOfCell(op)),
      info(graph::cellInfo(graph::plainOf(op).op)),
      isInt8(elementType().isInteger(8)),
      isBackward(graph::isBackward(graph::infoOf(op))) {
  // Any operand or result may be the one that knows.
  graph::CellSizes sizes;
  sizes.fill(ShapedType::kDynamic);
  auto learn = [&](std::span<const graph::ValueInfo> infos, auto find) {
    for (const graph::ValueInfo &value : infos)
      if (Value v = find(StringRef(value.name)))
        for (auto [size, dim] :
             llvm::zip(graph::cellDims(value.name, boolAttr(op, "batch_first")),
                       rankedType(v).getShape()))
          if (!ShapedType::isDynamic(dim))
            sizes[static_cast<size_t>(size)] = dim;
  };
  learn(graph::infoOf(op).operands, [&](StringRef n) { return operand(n); });
  learn(graph::infoOf(op).results, [&](StringRef n) { return result(n); });
  steps = sizes[static_cast<size_t>(graph::CellSize::steps)];
  batch = sizes[static_cast<size_t>(graph::CellSize::batch)];
  ArrayRef<int64_t> w = rankedType(operand("weights_layer")).getShape();
  ArrayRef<int64_t> u = rankedType(operand("weights_iter")).getShape();
  layers = w[0];
  directions = w[1];
  inputs = w[2];
  states = u[2];
  hidden = w[4];
  Value projection = operand("weights_projection");
  outputs = projection ? rankedType(projection).getShape().back() : hidden;
}

/// The value of this name among those of the table.
static Value named(ValueRange values, ArrayRef<int32_t> segments,
                   std::span<const graph::ValueInfo> infos, StringRef name) {
  unsigned position = 0;
  for (auto [info, segment] : llvm::zip(infos, segments)) {
    if (StringRef(info.name) == name)
      return segment ? values[position] : Value();
    position += segment;
  }
  return {};
}

static ArrayRef<int32_t> segmentsOf(Operation *op, StringRef attr) {
  return op->getAttrOfType<DenseI32ArrayAttr>(attr).asArrayRef();
}

Value RecurrentOp::operand(StringRef name) const {
  return named(op->getOperands(), segmentsOf(op, graph::kOperandSegments),
               graph::infoOf(op).operands, name);
}
Value RecurrentOp::result(StringRef name) const {
  return named(op->getResults(), segmentsOf(op, graph::kResultSegments),
               graph::infoOf(op).results, name);
}
bool RecurrentOp::isWanted(StringRef name) const {
  Value v = result(name);
  return v && !v.use_empty();
}
Type RecurrentOp::elementType() const {
  return rankedType(op->getOperand(0)).getElementType();
}
bool RecurrentOp::isReverse(int64_t direction) const {
  return direction == 1 || stringAttr(op, "direction") == "right2left";
}
bool RecurrentOp::isConcat() const {
  return stringAttr(op, "direction") == "bidirectional_concat";
}
bool RecurrentOp::concatenatesLayers() const {
  return directions > 1 && stringAttr(op, "stacking") == "concatenated";
}
float RecurrentOp::dataScale() const { return floatAttr(op, "data_scale"); }
float RecurrentOp::dataShift() const { return floatAttr(op, "data_shift"); }

Value RecurrentOp::weightsOf(StringRef name, int64_t layer,
                             int64_t direction) const {
  Value all = operand(name);
  ArrayRef<int64_t> sizes = rankedType(all).getShape();
  SmallVector<int64_t> offsets(sizes.size(), 0);
  offsets[0] = layer;
  offsets[1] = direction;
  Value one = buildSlice(b, loc, all, offsets, sizes.drop_front(2));
  int64_t columns = 1;
  for (int64_t size : sizes.drop_front(3))
    columns *= size;
  return buildReshape(b, loc, one, {sizes[2], columns});
}

Value RecurrentOp::stepsFirst(Value v) const {
  return boolAttr(op, "batch_first") ? buildTranspose(b, loc, v, {1, 0, 2}) : v;
}
Value RecurrentOp::asCaller(Value v) const { return stepsFirst(v); }

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value buildSlice(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> offsets,
                 ArrayRef<int64_t> sizes) {
  auto type = rankedType(v);
  if (type.getShape() == sizes)
    return v;
  // First dims of one element are left out without a copy.
  size_t lead = type.getRank() - sizes.size();
  if (type.getShape().drop_front(lead) == sizes &&
      llvm::all_of(type.getShape().take_front(lead),
                   [](int64_t size) { return size == 1; }) &&
      llvm::count_if(sizes, ShapedType::isDynamic) <= 1)
    return buildReshape(b, loc, v, sizes);
  auto dst = RankedTensorType::get(sizes, type.getElementType());
  return tile::SliceOp::create(b, loc, dst, v, offsets,
                               /*steps=*/DenseI64ArrayAttr());
}

Value buildColumns(OpBuilder &b, Location loc, Value v, int64_t from,
                   int64_t count) {
  SmallVector<int64_t> sizes(rankedType(v).getShape());
  SmallVector<int64_t> offsets(sizes.size(), 0);
  sizes.back() = count;
  offsets.back() = from;
  return buildSlice(b, loc, v, offsets, sizes);
}

Value buildProduct(OpBuilder &b, Location loc, Value x, Value w,
                   bool transposeX, bool transposeW) {
  if (transposeX)
    x = swapLastTwo(b, x);
  if (transposeW)
    w = swapLastTwo(b, w);
  SmallVector<int64_t> shape(rankedType(x).getShape());
  shape.back() = rankedType(w).getShape().back();
  return buildGraphOp(b, loc, "MatMul", {x, w},
                      RankedTensorType::get(shape, b.getF32Type()));
}

Value buildGates(OpBuilder &b, Location loc, Value w, int64_t hidden,
                 int64_t first, int64_t count) {
  int64_t k = rankedType(w).getDimSize(0);
  Value gates = buildColumns(b, loc, w, first * hidden, count * hidden);
  gates = buildReshape(b, loc, gates, {k, count, hidden});
  return buildTranspose(b, loc, gates, {1, 0, 2});
}

Value buildConcat(OpBuilder &b, Location loc, ArrayRef<Value> parts,
                  int64_t axis) {
  if (parts.size() == 1)
    return parts[0];
  SmallVector<int64_t> shape(rankedType(parts[0]).getShape());
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += rankedType(part).getDimSize(axis);
  return buildGraphOp(
      b, loc, "Concat", parts,
      RankedTensorType::get(shape, rankedType(parts[0]).getElementType()),
      b.getNamedAttr("axis",
                     IntegerAttr::get(b.getIntegerType(64, true), axis)));
}

} // namespace tenon::passes
