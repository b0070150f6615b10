//===- DecomposeRecurrent.cpp - recurrent operations as recurrences -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   LSTM(%x, %w, %u, %b)      per layer and direction:
//                       ->    %g = Add(MatMul(%x, %w), %b)      all steps
//                             %x = tile.recurrence %g, %u       step by step
//
// What the gates get from the layer below is one product over all time steps,
// with as many rows as steps times batch; only the product with the state is
// left to the steps. A gradient is a recurrence that goes back, and products
// over all steps for the gradients of weights. Cells are in ForwardCells.cpp
// and BackwardCells.cpp; here is the walk over layers and directions.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "dialects/graph/OpFacts.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/graph/RecurrentCell.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_DECOMPOSERECURRENT
#include "passes/Passes.h.inc"

namespace {

/// Replaces a result, which may be left out, by `v` in its type.
void replaceResult(const RecurrentOp &r, StringRef name, Value v) {
  Value old = r.result(name);
  Type element = rankedType(old).getElementType();
  old.replaceAllUsesWith(buildImplicitCast(r.b, r.loc, v, element));
}

/// Pieces [1, 1, ..] of all layers and directions as [L, D, ..].
Value joinLayers(const RecurrentOp &r, ArrayRef<SmallVector<Value>> pieces) {
  SmallVector<Value> layers;
  for (const SmallVector<Value> &directions : pieces)
    layers.push_back(buildConcat(r.b, r.loc, directions, 1));
  return buildConcat(r.b, r.loc, layers, 0);
}

/// The numbers that codes stand for, of a sum of `terms` codes.
Value realOf(const RecurrentOp &r, Value codes, double terms = 1) {
  Value real = buildCast(r.b, r.loc, codes, r.b.getF32Type());
  real = buildBinary(r.b, r.loc, "Subtract", real,
                     buildScalar(r.b, r.loc, terms * r.dataShift()));
  return buildBinary(r.b, r.loc, "Divide", real,
                     buildScalar(r.b, r.loc, r.dataScale()));
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Both directions added; codes saturate.
Value sumOfDirections(const RecurrentOp &r, Value x, Value y) {
  if (!r.isInt8)
    return buildBinary(r.b, r.loc, "Add", x, y);
  Type f32 = r.b.getF32Type();
  Value sum = buildBinary(r.b, r.loc, "Add", buildCast(r.b, r.loc, x, f32),
                          buildCast(r.b, r.loc, y, f32));
  return buildCast(r.b, r.loc, sum, r.elementType());
}

class Forward {
public:
  explicit Forward(const RecurrentOp &r) : r(r) {}

  void build() {
    SmallVector<Value> x(r.directions, r.stepsFirst(r.op->getOperand(0)));
    for (int64_t l = 0; l < r.layers; ++l)
      x = buildLayer(x, l);
    replaceTop(x);
    replaceState("dst_iter", h);
    if (r.isWanted("dst_iter_c"))
      replaceResult(r, "dst_iter_c", joinLayers(r, c));
    if (r.isWanted("workspace"))
      replaceResult(r, "workspace", joinLayers(r, workspace));
  }

private:
  /// What the layer above reads in each direction.
  SmallVector<Value> buildLayer(ArrayRef<Value> x, int64_t layer) {
    SmallVector<Value> y;
    h.emplace_back();
    c.emplace_back();
    workspace.emplace_back();
    for (int64_t d = 0; d < r.directions; ++d) {
      ForwardLayer built = buildForwardLayer(r, x[d], layer, d);
      y.push_back(built.y);
      h.back().push_back(built.h);
      c.back().push_back(built.c);
      workspace.back().push_back(built.workspace);
    }
    if (r.concatenatesLayers() && layer + 1 < r.layers)
      y.assign(r.directions, buildConcat(r.b, r.loc, y, 2));
    return y;
  }

  void replaceTop(ArrayRef<Value> y) {
    bool sums = r.directions > 1 && !r.isConcat();
    Value top =
        sums ? sumOfDirections(r, y[0], y[1]) : buildConcat(r.b, r.loc, y, 2);
    bool isReal = rankedType(r.result("dst_layer")).getElementType().isF32();
    if (r.isInt8 && isReal)
      top = realOf(r, top, sums ? 2 : 1);
    replaceResult(r, "dst_layer", r.asCaller(top));
  }

  void replaceState(StringRef name, ArrayRef<SmallVector<Value>> pieces) {
    if (!r.isWanted(name))
      return;
    Value all = joinLayers(r, pieces);
    if (r.isInt8 && rankedType(r.result(name)).getElementType().isF32())
      all = realOf(r, all);
    replaceResult(r, name, all);
  }

  const RecurrentOp &r;
  SmallVector<SmallVector<Value>> h, c, workspace;
};

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

class Backward {
public:
  explicit Backward(const RecurrentOp &r) : r(r) {}

  void build() {
    built.resize(r.layers);
    Value dy = r.stepsFirst(r.operand("diff_dst_layer"));
    SmallVector<Value> dys(r.directions, dy);
    SmallVector<int64_t> offsets(r.directions, 0);
    if (r.isConcat() && r.directions > 1)
      offsets[1] = r.outputs;
    for (int64_t l = r.layers - 1; l >= 0; --l) {
      for (int64_t d = 0; d < r.directions; ++d)
        built[l].push_back(
            buildBackwardLayer(r, inputOf(l, d), dys[d], offsets[d], l, d));
      if (l > 0)
        toLayerBelow(l, dys, offsets);
    }
    replaceResults();
  }

private:
  /// h of all steps of a layer, from the workspace.
  Value outputsOf(int64_t layer, int64_t direction) {
    Value all = r.operand("workspace");
    Value h = buildSlice(r.b, r.loc, all,
                         {layer, direction, 0, 0, r.savedValues() * r.hidden},
                         {r.steps, r.batch, r.outputs});
    return buildImplicitCast(r.b, r.loc, h, r.elementType());
  }

  Value inputOf(int64_t layer, int64_t direction) {
    if (layer == 0)
      return r.stepsFirst(r.op->getOperand(0));
    if (!r.concatenatesLayers())
      return outputsOf(layer - 1, direction);
    SmallVector<Value> both{outputsOf(layer - 1, 0), outputsOf(layer - 1, 1)};
    return buildConcat(r.b, r.loc, both, 2);
  }

  /// What the layer below gets as gradients of its results.
  void toLayerBelow(int64_t layer, MutableArrayRef<Value> dys,
                    MutableArrayRef<int64_t> offsets) {
    for (int64_t d = 0; d < r.directions; ++d) {
      dys[d] = built[layer][d].x;
      offsets[d] = 0;
    }
    if (!r.concatenatesLayers())
      return;
    dys[0] = dys[1] = buildBinary(r.b, r.loc, "Add", dys[0], dys[1]);
    offsets[1] = r.outputs;
  }

  /// The gradients of one tensor [L, D, rest..] from pieces of layers.
  void replace(StringRef name, Value BackwardLayer::*member,
               bool accumulates = true) {
    if (!r.isWanted(name))
      return;
    ArrayRef<int64_t> shape = rankedType(r.result(name)).getShape();
    SmallVector<int64_t> one(shape);
    one[0] = one[1] = 1;
    SmallVector<SmallVector<Value>> pieces;
    for (const auto &layer : built) {
      pieces.emplace_back();
      for (const BackwardLayer &direction : layer) {
        Value v = direction.*member;
        pieces.back().push_back(rankedType(v).getShape() == ArrayRef(one)
                                    ? v
                                    : buildReshape(r.b, r.loc, v, one));
      }
    }
    Value all = joinLayers(r, pieces);
    if (Value before =
            accumulates ? r.operand((name + "_before").str()) : Value())
      all = buildBinary(r.b, r.loc, "Add", all, before);
    replaceResult(r, name, all);
  }

  Value sum(Value x, Value y) {
    return x && y ? buildBinary(r.b, r.loc, "Add", x, y) : x ? x : y;
  }

  void replaceResults() {
    if (r.isWanted("diff_src_layer")) {
      Value dx;
      for (const BackwardLayer &direction : built[0])
        dx = sum(dx, direction.x);
      replaceResult(r, "diff_src_layer", r.asCaller(dx));
    }
    if (r.isWanted("diff_attention")) {
      Value da;
      for (const auto &layer : built)
        for (const BackwardLayer &direction : layer)
          da = sum(da, direction.attention);
      replaceResult(r, "diff_attention", r.asCaller(da));
    }
    replace("diff_weights_layer", &BackwardLayer::weightsLayer);
    replace("diff_weights_iter", &BackwardLayer::weightsIter);
    replace("diff_bias", &BackwardLayer::bias);
    replace("diff_weights_peephole", &BackwardLayer::peephole);
    replace("diff_weights_projection", &BackwardLayer::projection);
    replace("diff_src_iter", &BackwardLayer::h, /*accumulates=*/false);
    replace("diff_src_iter_c", &BackwardLayer::c, /*accumulates=*/false);
  }

  const RecurrentOp &r;
  SmallVector<SmallVector<BackwardLayer>> built;
};

struct DecomposeRecurrentPass
    : impl::DecomposeRecurrentBase<DecomposeRecurrentPass> {
  using DecomposeRecurrentBase::DecomposeRecurrentBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](graph::GraphOpInterface op) {
      if (graph::forwardOf(graph::infoOf(op)).opClass ==
          graph::OpClass::recurrent)
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder b(op);
      RecurrentOp r(b, op);
      if (r.isBackward)
        Backward(r).build();
      else
        Forward(r).build();
      layers += r.layers;
      op->erase();
    }
  }
};

} // namespace
} // namespace tenon::passes
