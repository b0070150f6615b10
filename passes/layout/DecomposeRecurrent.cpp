//===- DecomposeRecurrent.cpp - cells as products and time steps ----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   LSTM(%x, %w, %u, %b)      per layer l:
//                             %wl = tile.pack_gates %w layer l
//                       ->    %g = Add(tile.matmul(%x, %wl), bias of l)
//                             %x = tile.rnn %g, tile.pack_gates %u layer l
//
// What the gates get from the layer below is one product over all time steps,
// with as many rows as steps times batch; only the product with the state is
// left to the steps.  Weights that are constants are packed once, in @fold.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/TargetIsa.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/support/Rounding.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"
#include "passes/support/Build.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_DECOMPOSERECURRENT
#include "passes/Passes.h.inc"

namespace {

struct Decomposition {
  OpBuilder b;
  Operation *op;
  int64_t unit;  // hidden units of a block: one vector
  int64_t panel; // columns of a panel
  int64_t hidden, columns;

  Decomposition(Operation *op, microkernel::VectorIsa isa) : b(op), op(op) {
    constexpr int64_t elementBits = 32;
    unit = isa.lanes(elementBits);
    int64_t batch = rankedType(op->getOperand(0)).getDimSize(1);
    int64_t vectors =
        microkernel::chooseRegisterTile(
            isa, elementBits,
            ShapedType::isDynamic(batch) ? std::nullopt : std::optional(batch),
            tile::RnnOp::kGates * unit)
            .vectors;
    // A whole number of gates, and of panels in the block.
    panel = static_cast<int64_t>(llvm::bit_floor(uint64_t(vectors))) * unit;
    hidden = rankedType(op->getOperand(1)).getDimSize(4);
    columns = ceilDiv(hidden, unit) * tile::RnnOp::kGates * unit;
  }

  Value pack(Value weights, int64_t layer) {
    return tile::PackGatesOp::create(b, op->getLoc(), weights, layer, unit,
                                     panel);
  }

  /// The bias of one layer in the order of the columns.
  Value packBias(int64_t layer) {
    Value bias = op->getOperand(3);
    ArrayRef<int64_t> s = rankedType(bias).getShape();
    Value rows =
        buildReshape(b, op->getLoc(), bias, {s[0], s[1], 1, s[2], s[3]});
    return buildReshape(b, op->getLoc(), pack(rows, layer), {columns});
  }

  /// The layer that reads `below`; returns its tile.rnn.
  tile::RnnOp buildLayer(Value below, int64_t layer) {
    Location loc = op->getLoc();
    auto type = rankedType(below);
    Type element = type.getElementType();
    int64_t steps = type.getDimSize(0), batch = type.getDimSize(1);
    Value product = tile::MatMulOp::create(
        b, loc, RankedTensorType::get({steps, batch, columns}, element), below,
        pack(op->getOperand(1), layer), /*interleave=*/1);
    Value gates = buildBinary(b, loc, "Add", product, packBias(layer));
    auto state = RankedTensorType::get({1, 1, batch, hidden}, element);
    auto optional = [&](unsigned i) {
      return i < op->getNumOperands() ? op->getOperand(i) : Value();
    };
    return tile::RnnOp::create(
        b, loc, RankedTensorType::get({steps, batch, hidden}, element), state,
        state, gates, pack(op->getOperand(2), layer), optional(4), optional(5),
        layer, unit);
  }

  /// The states of all layers as one tensor.
  Value join(ArrayRef<Value> states, Value result) {
    if (states.size() == 1)
      return states[0];
    return buildGraphOp(
        b, op->getLoc(), "Concat", states, rankedType(result),
        b.getNamedAttr("axis",
                       IntegerAttr::get(b.getIntegerType(64, true), 0)));
  }

  int64_t run() {
    int64_t layers = rankedType(op->getOperand(1)).getDimSize(0);
    SmallVector<Value> h, c;
    Value x = op->getOperand(0);
    for (int64_t l = 0; l < layers; ++l) {
      tile::RnnOp rnn = buildLayer(x, l);
      x = rnn.getDst();
      h.push_back(rnn.getH());
      c.push_back(rnn.getC());
    }
    op->getResult(0).replaceAllUsesWith(x);
    for (unsigned i = 1; i < op->getNumResults(); ++i)
      if (!op->getResult(i).use_empty())
        op->getResult(i).replaceAllUsesWith(
            join(i == 1 ? h : c, op->getResult(i)));
    op->erase();
    return layers;
  }
};

struct DecomposeRecurrentPass
    : impl::DecomposeRecurrentBase<DecomposeRecurrentPass> {
  using DecomposeRecurrentBase::DecomposeRecurrentBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](graph::LSTMOp op) { ops.push_back(op); });
    microkernel::VectorIsa isa =
        microkernel::isaOf(tile::targetOf(getOperation()));
    for (Operation *op : ops)
      layers += Decomposition(op, isa).run();
  }
};

} // namespace
} // namespace tenon::passes
