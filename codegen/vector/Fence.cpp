//===- Fence.cpp - the end of stores past the caches ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/Fence.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

void tenon::codegen::fenceStores(func::FuncOp f) {
  f.walk([](func::ReturnOp ret) {
    OpBuilder b(ret);
    LLVM::FenceOp::create(b, ret.getLoc(), LLVM::AtomicOrdering::seq_cst,
                          /*syncscope=*/StringRef());
  });
}
