//===- PackWeights.cpp - contractions read weights in panels --------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   MatMul(%x, %w)            %p = tile.pack %w panel 16
//                       ->    tile.matmul %x, %p
//
// A panel holds, for each k, NR neighbouring columns: the microkernel streams
// it with unit stride.  NR is the register tile's width, or less when there
// are fewer columns.
//
// Which operation of the tile dialect computes a contraction, and what it
// reads, is decided by family:
//
//   SelectMatMul.cpp        products of matrices
//   SelectConvolution.cpp   Convolution and ConvTranspose
//   SelectGradients.cpp     gradients of the weights of convolutions
//   SelectAttention.cpp     keys and values of tile.attention
//   SelectRecurrence.cpp    weights of tile.recurrence
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/GraphDialect.h"
#include "passes/Passes.h"
#include "passes/layout/SelectAttention.h"
#include "passes/layout/SelectConvolution.h"
#include "passes/layout/SelectGradients.h"
#include "passes/layout/SelectMatMul.h"
#include "passes/layout/SelectRecurrence.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::passes {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "passes/Passes.h.inc"

namespace {

struct PackWeightsPass : impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  static void select(Operation *op, OpBuilder &b, Selection &selection) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](tile::AttentionOp attention) {
          selectAttention(attention, b, selection);
        })
        .Case([&](tile::RecurrenceOp recurrence) {
          selectRecurrence(recurrence, b, selection);
        })
        .Case([&](tile::WinogradOp product) { // of bytes
          product.getSrcMutable().assign(channelsLast(b, product.getSrc()));
        })
        .Case([&](graph::MatMulOp) { selectMatMul(op, b, selection); })
        .Case(
            [&](graph::ConvolutionOp) { selectConvolution(op, b, selection); })
        .Case([&](graph::ConvTransposeOp) {
          selectConvTranspose(op, b, selection);
        })
        .Case([&](graph::ConvolutionBackwardWeightsOp) {
          selectConvWeights(op, b, selection);
        });
  }

  void runOnOperation() override {
    auto options = winogradOptions(getOperation(), winograd, fastMath);
    if (failed(options))
      return signalPassFailure();
    Selection selection{{tile::targetOf(getOperation())}, *options};
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    OpBuilder b(&getContext());
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      select(op, b, selection);
    }
    packed += selection.packed;
    filtered += selection.filtered;
  }
};

} // namespace
} // namespace tenon::passes
