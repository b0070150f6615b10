//===- tenon-opt.cpp - run passes on MLIR text ----------------------------===//
//
// mlir-opt with Tenon's passes.  Registers what the tests need, no more: every
// registered upstream pass library costs link and start-up time.
//
//===----------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/llvm/LowerToLLVM.h"
#include "codegen/microkernel/LowerBrgemm.h"
#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry
      .insert<affine::AffineDialect, arith::ArithDialect,
              cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
              linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
              scf::SCFDialect, tensor::TensorDialect, tenon::tile::TileDialect,
              vector::VectorDialect, x86vector::X86VectorDialect>();
  registerCanonicalizerPass();
  registerCSEPass();
  tenon::codegen::registerCodegenPasses();
  tenon::microkernel::registerMicrokernelPasses();
  PassPipelineRegistration<> lower(
      "tenon-lower-to-llvm", "The last pipeline: everything to LLVM",
      [](OpPassManager &pm) { tenon::codegen::buildLowerToLLVMPipeline(pm); });
  return asMainReturnCode(
      MlirOptMain(argc, argv, "Tenon's pass driver\n", registry));
}
