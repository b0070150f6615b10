//===- VectorizeGeneric.cpp - linalg on memrefs to vectors ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns each linalg operation on memrefs into loops over 1-D vectors:
//
//   linalg.generic ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
//     { ^bb0(%a: f32, %b: f32): %c = arith.addf %a, %a : f32
//       linalg.yield %c : f32 }
// becomes
//   scf.for %i = 0 to %main step 32   // four vectors of eight
//     %v = vector.load %x'[%i] : memref<?xf32>, vector<8xf32> ...
//   scf.for %i = %main to %whole step 8 ...
//   scf.for %i = %whole to %n step 8  // at most once, masked
//
// OperandAccess finds the strides, VectorPlan chooses the loop, LoopEmitter and
// BlockEmitter write the code.
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/vector/Fence.h"
#include "codegen/vector/LoopEmitter.h"
#include "dialects/tile/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::codegen {
#define GEN_PASS_DEF_VECTORIZEGENERIC
#include "codegen/Passes.h.inc"
} // namespace tenon::codegen

using namespace mlir;

namespace tenon::codegen {
namespace {

struct VectorizeGeneric : impl::VectorizeGenericBase<VectorizeGeneric> {
  using VectorizeGenericBase::VectorizeGenericBase;

  void runOnOperation() override {
    vectorBits = tile::targetOf(getOperation()).getVectorBits();
    if (vectorBits < 128) {
      getOperation()->emitError("vectors must have 128 bits or more, have ")
          << vectorBits;
      return signalPassFailure();
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics())
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      lower(op);
    for (func::FuncOp f : nontemporal)
      fenceStores(f);
  }

private:
  void lower(linalg::LinalgOp op) {
    std::string reason;
    FailureOr<LoopAccess> access = analyseAccess(op, reason);
    if (failed(access)) {
      ++numDeclined;
      if (remarks)
        op->emitRemark("left alone: ") << reason;
      return;
    }
    VectorPlan plan = planVectors(op, *access, vectorBits);
    ++numFor(plan.mode);
    if (plan.mode == VectorMode::Scalar && remarks)
      op->emitRemark("scalar loops: ") << plan.reason;
    OpBuilder builder(op);
    emitLoops(builder, op, *access, plan);
    if (!plan.nontemporal.empty()) {
      ++numNontemporal;
      nontemporal.insert(op->getParentOfType<func::FuncOp>());
    }
    op->erase();
  }

  int64_t vectorBits = 0;
  llvm::SetVector<func::FuncOp> nontemporal;

  Statistic &numFor(VectorMode mode) {
    switch (mode) {
    case VectorMode::Scalar:
      return numScalar;
    case VectorMode::Transpose:
      return numTransposed;
    case VectorMode::Parallel:
    case VectorMode::Horizontal:
    case VectorMode::Interleave:
      break;
    }
    return numVectorized;
  }
};

} // namespace
} // namespace tenon::codegen
