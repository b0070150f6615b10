//===- InferShapes.cpp - refines all shapes -------------------------------===//
#include "dialects/graph/Convert.h"
#include "passes/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_INFERSHAPES
#include "passes/Passes.h.inc"

namespace {
struct InferShapesPass : impl::InferShapesBase<InferShapesPass> {
  void runOnOperation() override {
    for (const Error &e : graph::inferShapes(getOperation())) {
      getOperation().emitError(e.str());
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace tenon
