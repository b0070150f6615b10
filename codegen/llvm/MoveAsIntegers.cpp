//===- MoveAsIntegers.cpp - 16-bit floats move as integers ----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tenon::codegen {
#define GEN_PASS_DEF_MOVEASINTEGERS
#include "codegen/Passes.h.inc"

namespace {

/// The integers of the size of 16-bit floats, or null for other types.
Type integersFor(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16())
    return {};
  Type integer = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(integer)) : integer;
}

/// Whether `op` moves elements and does not look at them.
bool moves(Operation *op) {
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp,
             LLVM::MaskedStoreOp, LLVM::ExtractElementOp, LLVM::InsertElementOp,
             LLVM::ShuffleVectorOp>(op);
}

struct MoveAsIntegers : impl::MoveAsIntegersBase<MoveAsIntegers> {
  using MoveAsIntegersBase::MoveAsIntegersBase;

  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!moves(op))
        return;
      OpBuilder b(op);
      Location loc = op->getLoc();
      for (OpOperand &operand : op->getOpOperands())
        if (Type integers = integersFor(operand.get().getType()))
          operand.set(LLVM::BitcastOp::create(b, loc, integers, operand.get()));
      b.setInsertionPointAfter(op);
      for (Value result : op->getResults()) {
        Type type = result.getType(), integers = integersFor(type);
        if (!integers)
          continue;
        result.setType(integers);
        auto floats = LLVM::BitcastOp::create(b, loc, type, result);
        result.replaceAllUsesExcept(floats, floats);
      }
    });
  }
};

} // namespace
} // namespace tenon::codegen
