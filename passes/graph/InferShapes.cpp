//===- InferShapes.cpp - refines all shapes -------------------------------===//
#include "dialects/graph/Convert.h"
#include "dialects/graph/Diagnose.h"
#include "passes/Passes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_INFERSHAPES
#include "passes/Passes.h.inc"

namespace {
struct InferShapesPass : impl::InferShapesBase<InferShapesPass> {
  void runOnOperation() override {
    for (const Error &e : graph::inferShapes(getOperation())) {
      graph::report(getOperation(), e);
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace tenon
