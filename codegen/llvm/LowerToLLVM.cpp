//===- LowerToLLVM.cpp - the last MLIR pipeline ---------------------------===//
//
// No canonicaliser and no CSE in here: LLVM's own EarlyCSE and GVN remove the
// repeated address arithmetic in a fraction of the time.  Each pass over all
// operations costs as much as what it does, hence one conversion for all
// dialects but vector.
//
//===----------------------------------------------------------------------===//
#include "codegen/llvm/LowerToLLVM.h"

#include "codegen/Passes.h"
#include "codegen/llvm/Parts.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

using namespace mlir;

namespace {

using ModulePass = OperationPass<ModuleOp>;

/// Parts are worth it where the context has threads to give.
struct SplitParts : PassWrapper<SplitParts, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitParts)
  StringRef getName() const final { return "SplitParts"; }
  void runOnOperation() final {
    bool threads = getContext().isMultithreadingEnabled();
    tenon::codegen::splitIntoParts(
        getOperation(),
        threads ? tenon::codegen::countParts(getOperation()) : 1);
  }
};

struct JoinParts : PassWrapper<JoinParts, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(JoinParts)
  StringRef getName() const final { return "JoinParts"; }
  void runOnOperation() final {
    if (failed(tenon::codegen::joinParts(getOperation())))
      signalPassFailure();
  }
};

/// Transfers of more than one dimension become loops before the loops go.  Most
/// modules have none, and looking at all else with patterns takes long.
struct LowerTransfers : PassWrapper<LowerTransfers, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTransfers)
  StringRef getName() const final { return "LowerTransfers"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    createConvertVectorToSCFPass()->getDependentDialects(registry);
  }
  void runOnOperation() final {
    auto found = getOperation().walk([](Operation *op) {
      return isa<VectorTransferOpInterface, vector::PrintOp>(op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    OpPassManager pipeline(ModuleOp::getOperationName());
    pipeline.addPass(createConvertVectorToSCFPass());
    if (failed(runPipeline(pipeline, getOperation())))
      signalPassFailure();
  }
};

struct ConvertAll : PassWrapper<ConvertAll, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertAll)
  StringRef getName() const final { return "ConvertAll"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() final {
    MLIRContext *context = &getContext();
    LLVMTypeConverter converter(context, LowerToLLVMOptions(context));
    SymbolTableCollection symbols;
    RewritePatternSet patterns(context);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    cf::populateAssertToLLVMConversionPattern(
        converter, patterns, /*abortOnFailure=*/true, &symbols);
    populateFuncToLLVMConversionPatterns(converter, patterns, &symbols);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns,
                                                   &symbols);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                             func::FuncDialect, index::IndexDialect,
                             memref::MemRefDialect, ub::UBDialect>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void tenon::codegen::buildLowerToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(std::make_unique<SplitParts>());
  OpPassManager &part = pm.nest<ModuleOp>();
  part.addPass(std::make_unique<LowerTransfers>());
  // Subviews become reinterpret_casts with explicit offset arithmetic (affine).
  part.addPass(memref::createExpandStridedMetadataPass());
  part.addPass(createLowerAffinePass());
  part.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.reassociateFPReductions = true;
  // Masks compare lane numbers with element counts that may pass 2^31.
  vectorOptions.force32BitVectorIndices = false;
  vectorOptions.x86Vector = true;
  part.addPass(createConvertVectorToLLVMPass(vectorOptions));
  part.addPass(std::make_unique<ConvertAll>());
  part.addPass(createReconcileUnrealizedCastsPass());
  part.addPass(createMoveAsIntegers());
  pm.addPass(std::make_unique<JoinParts>());
}

void tenon::codegen::registerLLVMTranslations(DialectRegistry &registry) {
  registry.insert<LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}
