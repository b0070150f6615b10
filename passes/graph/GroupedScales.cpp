//===- GroupedScales.cpp - scales of weights in groups --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   %d = Dequantize %w [I, O, ..] {axis = 1, groups * O scales}
//                       ->     %v = %w as [I / groups, groups * O, ..]
//                              %e = Dequantize %v {axis = 1, the same scales}
//                              %d = %e as [I, O, ..]
//
// Weights of a convolution in groups have one dim of channels per group, and
// one of all others, whose parts say which group it is. With both side by side
// each scale has an index of its own. What is constant moves to @fold.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpFacts.h"
#include "passes/graph/Decompose.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"
#include "passes/support/Permutations.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tenon::passes {

namespace {

bool hasSpatialLast(Operation *conv) {
  std::string format = stringAttr(conv, "weights_format");
  return format == "OIX" || format == "IOX";
}

/// A convolution that reads `v` as weights, perhaps under casts; null: none.
Operation *weightsReader(Value v) {
  while (!v.use_empty()) {
    OpOperand &use = *v.use_begin();
    Operation *op = use.getOwner();
    if (graph::isConvolution(op))
      return use.getOperandNumber() == 1 ? op : nullptr;
    if (op->getNumResults() != 1)
      return nullptr;
    v = op->getResult(0);
  }
  return nullptr;
}

/// How many scales `op` has, or -1.
int64_t countScales(Operation *op) {
  if (op->getNumOperands() > 1) {
    auto type = rankedType(op->getOperand(1));
    return type.hasStaticShape() ? type.getNumElements() : -1;
  }
  auto scales = op->getAttrOfType<DenseF32ArrayAttr>("scales");
  return scales ? scales.size() : -1;
}

/// `v` in another order of dims, and then of another shape.
Value arrange(OpBuilder &b, Location loc, Value v, ArrayRef<int64_t> split,
              ArrayRef<int64_t> order, ArrayRef<int64_t> shape) {
  v = buildReshape(b, loc, v, split);
  return buildReshape(b, loc, buildTranspose(b, loc, v, order), shape);
}

} // namespace

bool hasUnknownScaleGroups(Operation *op) {
  if (stringAttr(op, "qtype") != "per_channel" || countScales(op) >= 0)
    return false;
  Operation *conv = weightsReader(op->getResult(0));
  return conv && intAttr(conv, "groups") > 1;
}

bool separateGroupedScales(Operation *op, OpBuilder &b) {
  auto type = rankedType(op->getOperand(0));
  if (stringAttr(op, "qtype") != "per_channel" || !type)
    return false;
  int64_t rank = type.getRank();
  int64_t axis = normalizedAxis(intAttr(op, "axis", 1), rank);
  int64_t count = countScales(op), channels = type.getDimSize(axis);
  if (count < 0 || !type.hasStaticShape() || count <= channels)
    return false;
  Operation *conv = weightsReader(op->getResult(0));
  int64_t groups = conv ? intAttr(conv, "groups") : 1;
  if (!conv || groups * channels != count)
    return false; // The verifier of the graph has refused it.
  bool first = hasSpatialLast(conv); // the dim of all channels
  int64_t full = first ? 0 : rank - 1;
  // The parts of that dim: [groups, rest], beside the channels of a group.
  SmallVector<int64_t> split, order = llvm::to_vector(llvm::seq(rank + 1));
  for (int64_t d = 0; d < rank; ++d)
    if (d == full)
      split.append({groups, type.getDimSize(d) / groups});
    else
      split.push_back(type.getDimSize(d));
  // [g, i, o, x..] to [i, g, o, x..], [x.., o, g, i] to [x.., g, o, i].
  if (first)
    std::swap(order[0], order[1]);
  else
    std::swap(order[rank - 2], order[rank - 1]);
  SmallVector<int64_t> joined(type.getShape());
  joined[full] /= groups;
  joined[axis] *= groups;
  Location loc = op->getLoc();
  Value src = arrange(b, loc, op->getOperand(0), split, order, joined);
  Operation *clone = b.clone(*op);
  clone->setOperand(0, src);
  Value dst = clone->getResult(0);
  dst.setType(
      type.clone(joined, rankedType(op->getResult(0)).getElementType()));
  SmallVector<int64_t> apart(split);
  applyPermutationToVector(apart, order);
  dst = arrange(b, loc, dst, apart, invertPermutationVector(order),
                type.getShape());
  op->getResult(0).replaceAllUsesWith(dst);
  op->erase();
  return true;
}

} // namespace tenon::passes
