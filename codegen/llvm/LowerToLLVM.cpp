//===- LowerToLLVM.cpp - the last MLIR pipeline ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// No canonicaliser and no CSE in here: LLVM's own EarlyCSE and GVN remove the
// repeated address arithmetic in a fraction of the time.  Each pass over all
// operations costs as much as what it does, hence one conversion for all
// dialects, and patterns before it that see what they are for.
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
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

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

/// `patterns` for `ops` and what they make of them alone: to look at, fold and
/// simplify all else takes several times as long as what they do.
LogicalResult rewrite(ArrayRef<Operation *> ops, RewritePatternSet patterns) {
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  return applyOpPatternsGreedily(ops, std::move(patterns), config);
}

/// Subviews become reinterpret_casts with explicit offset arithmetic (affine).
struct ExpandViews : PassWrapper<ExpandViews, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandViews)
  StringRef getName() const final { return "ExpandViews"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<affine::AffineDialect, arith::ArithDialect>();
  }
  void runOnOperation() final {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<ViewLikeOpInterface, memref::ExtractStridedMetadataOp>(op))
        ops.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    memref::populateExpandStridedMetadataPatterns(patterns);
    if (failed(rewrite(ops, std::move(patterns))))
      signalPassFailure();
  }
};

/// Vector operations that have none like them in LLVM become those that have.
struct LowerVectors : PassWrapper<LowerVectors, ModulePass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerVectors)
  StringRef getName() const final { return "LowerVectors"; }
  void runOnOperation() final {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<vector::VectorDialect>(op->getDialect()))
        ops.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::EltWise);
    vector::populateVectorTransferLoweringPatterns(patterns,
                                                   /*maxTransferRank=*/1);
    // Masks compare lane numbers with element counts that may pass 2^31.
    vector::populateVectorMaskMaterializationPatterns(
        patterns, /*force32BitVectorIndices=*/false);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    vector::populateVectorGatherLoweringPatterns(patterns);
    if (failed(rewrite(ops, std::move(patterns))))
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
    populateAffineToStdConversionPatterns(patterns);
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
    populateVectorToLLVMConversionPatterns(converter, patterns,
                                           /*reassociateFPReductions=*/true);
    LLVMConversionTarget target(*context);
    target.addIllegalDialect<affine::AffineDialect, arith::ArithDialect,
                             cf::ControlFlowDialect, func::FuncDialect,
                             index::IndexDialect, memref::MemRefDialect,
                             ub::UBDialect, vector::VectorDialect>();
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
  part.addPass(std::make_unique<ExpandViews>());
  part.addPass(createSCFToControlFlowPass());
  part.addPass(std::make_unique<LowerVectors>());
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
