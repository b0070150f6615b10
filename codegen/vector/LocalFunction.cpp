//===- LocalFunction.cpp - functions that are not inlined -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

func::FuncOp tenon::codegen::createLocalFunction(OpBuilder &builder,
                                                 Location loc, StringRef name,
                                                 FunctionType type) {
  auto func = func::FuncOp::create(builder, loc, name, type);
  func.setPrivate();
  func.setNoInline(true);
  func->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
  return func;
}
