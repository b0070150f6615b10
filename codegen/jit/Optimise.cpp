//===- Optimise.cpp - LLVM's optimiser, as much of it as pays -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/jit/Optimise.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace tenon::codegen {
namespace {

/// Strength reduction of innermost loops but of those with many accesses whose
/// addresses need none. Its time grows faster than the number of accesses: it
/// was a fifth of ResNet-50's compilation, mostly Winograd transforms.
struct ReduceStrength : llvm::PassInfoMixin<ReduceStrength> {
  llvm::PreservedAnalyses run(llvm::Loop &loop,
                              llvm::LoopAnalysisManager &analyses,
                              llvm::LoopStandardAnalysisResults &results,
                              llvm::LPMUpdater &updater) {
    if (!loop.isInnermost() || isReduced(loop))
      return llvm::PreservedAnalyses::all();
    return llvm::LoopStrengthReducePass().run(loop, analyses, results, updater);
  }

  /// Whether each of many addresses is what one instruction adds up: a register
  /// that the loop does not change, its variable and a constant.
  static bool isReduced(const llvm::Loop &loop) {
    constexpr int64_t kMany = 16;
    int64_t accesses = 0;
    for (const llvm::BasicBlock *block : loop.blocks())
      for (const llvm::Instruction &instruction : *block) {
        if (!instruction.mayReadOrWriteMemory())
          continue;
        const llvm::Value *pointer =
            llvm::getLoadStorePointerOperand(&instruction);
        if (!pointer || !isBasePlusVariable(pointer, loop))
          return false;
        ++accesses;
      }
    return accesses > kMany;
  }

  static bool isBasePlusVariable(const llvm::Value *pointer,
                                 const llvm::Loop &loop) {
    const llvm::DataLayout &layout = loop.getHeader()->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    pointer = pointer->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    if (loop.isLoopInvariant(pointer))
      return true;
    auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer);
    return address && address->getNumIndices() == 1 &&
           loop.isLoopInvariant(address->getPointerOperand()) &&
           llvm::isa<llvm::PHINode>(address->getOperand(1)) &&
           layout.getTypeAllocSize(address->getSourceElementType()) <= 8;
  }
};

} // namespace

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  // Operands of one memory at constant distances: one address, before LICM
  // makes it one for each.
  passes.addPass(llvm::SeparateConstOffsetFromGEPPass());
  passes.addPass(llvm::EarlyCSEPass());
  llvm::LoopPassManager loopPasses;
  // One branch per iteration, and a place for LICM to hoist loads to.
  loopPasses.addPass(llvm::LoopRotatePass(/*EnableHeaderDuplication=*/true));
  loopPasses.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(ReduceStrength()));
  // Entries only start sections; they say optnone, since passes that are
  // quadratic in a block would dominate the compilation of a large graph.
  for (llvm::Function &f : module)
    if (!f.isDeclaration() && !f.hasOptNone())
      passes.run(f, functions);
}

} // namespace tenon::codegen
