//===- Fence.cpp - the end of stores past the caches ----------------------===//
#include "codegen/vector/Fence.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

void tenon::codegen::fenceStores(func::FuncOp f) {
  f.walk([](func::ReturnOp ret) {
    OpBuilder b(ret);
    LLVM::CallIntrinsicOp::create(
        b, ret.getLoc(), b.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
  });
}
