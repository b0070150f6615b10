//===- ChooseRegisterTiles.cpp - register tiles become attributes ---------===//
// SPDX-License-Identifier: Apache-2.0
//
//   tile.brgemm ins(..) outs(..)  ->  tile.brgemm ins(..) outs(..)
//                                         register_tile [4, 3]
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/LowerBrgemm.h"
#include "codegen/microkernel/TileChoice.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::microkernel {
#define GEN_PASS_DEF_CHOOSEREGISTERTILES
#include "codegen/microkernel/Passes.h.inc"

namespace {

struct ChooseRegisterTilesPass
    : impl::ChooseRegisterTilesBase<ChooseRegisterTilesPass> {
  void runOnOperation() override {
    tile::TargetAttr target = tile::targetOf(getOperation());
    getOperation().walk([&](tile::BrgemmOp op) {
      writeTile(op, target);
      ++numChosen;
      numMatrixUnit += op.getMatrixUnit();
    });
  }
};

} // namespace
} // namespace tenon::microkernel
