//===- SetTarget.cpp - a target for the module ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   module {..}  ->  module attributes {tile.target = #tile.target<..>} {..}
//
//===----------------------------------------------------------------------===//
#include "dialects/tile/Target.h"
#include "passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::passes {
#define GEN_PASS_DEF_SETTARGET
#include "passes/Passes.h.inc"

namespace {

struct SetTargetPass : impl::SetTargetBase<SetTargetPass> {
  using SetTargetBase::SetTargetBase;
  void runOnOperation() override {
    tile::TargetAttr target = tile::parseTarget(fields, &getContext());
    if (!target)
      return signalPassFailure();
    getOperation()->setAttr(kTargetAttr, target);
  }
};

} // namespace
} // namespace tenon::passes
