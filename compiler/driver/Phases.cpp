// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Phases.h"

#include "codegen/Passes.h"
#include "codegen/llvm/LowerToLLVM.h"
#include "codegen/microkernel/LowerBrgemm.h"
#include "dialects/graph/GraphDialect.h"
#include "dialects/rt/RtDialect.h"
#include "dialects/tile/TileDialect.h"
#include "passes/Passes.h"

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
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tenon {

using namespace passes;

namespace {

void buildImport(OpPassManager &, const Options &) {}

void buildGraph(OpPassManager &pm, const Options &options) {
  pm.addPass(createCheckSupported());
  // Rewrites build plain types: strides go to the entry's interface first.
  pm.addPass(createMaterializeLayouts());
  pm.addPass(createUnpackInt4());
  pm.addPass(createDecomposeRecurrent());
  pm.addPass(createDecomposeGraph());
  pm.addPass(createWidenFloats());
  // Equal subexpressions once; what nobody reads not at all.
  pm.addPass(createCSEPass());
  if (options.fuse) {
    pm.addPass(createRaiseAttentionBackward());
    pm.addPass(createRaiseAttention());
  }
}

void buildQuantize(OpPassManager &pm, const Options &options) {
  pm.addPass(createMultiplyIntegers());
  // Int8 products first: what is left computes in f32.
  FormIntegerProductsOptions products;
  products.winograd = options.winograd;
  products.fastMath = options.fastMath;
  pm.addPass(createFormIntegerProducts(products));
  pm.addPass(createFormQuantizedMatMuls());
  pm.addPass(createExpandQuantize());
}

void buildConstants(OpPassManager &pm, const Options &) {
  pm.addPass(createOutlineConstants());
}

void buildLayout(OpPassManager &pm, const Options &options) {
  AssignLayoutsOptions assign;
  assign.remarks = true;
  pm.addPass(createAssignLayouts(assign));
  pm.addPass(createCSEPass()); // a transpose once, for all who read it
  PackWeightsOptions pack;
  pack.winograd = options.winograd;
  pack.fastMath = options.fastMath;
  pm.addPass(createPackWeights(pack));
  pm.addPass(createCSEPass()); // weights that many read are packed once
  // Packing of constants moves to @fold, which may compute something twice.
  pm.addPass(createOutlineConstants());
  pm.addPass(createCSEPass());
  pm.addPass(createMaterializeLayouts());
}

void buildFuse(OpPassManager &pm, const Options &options) {
  FormGroupsOptions form;
  form.enable = options.fuse;
  form.maxOps = options.maxGroupOps;
  form.remarks = true;
  if (options.fuse)
    pm.addPass(createMoveBeforeViews());
  pm.addPass(createFormGroups(form));
  if (!options.fuse)
    return;
  FormChainsOptions chain;
  chain.maxOps = options.maxGroupOps;
  chain.mode = options.chains;
  chain.remarks = true;
  pm.addPass(createFormChains(chain));
  ElideConcatOptions join;
  join.remarks = true;
  pm.addPass(createElideConcat(join));
}

void buildTile(OpPassManager &pm, const Options &) {
  pm.addPass(createTileGroups());
  pm.addPass(microkernel::createChooseRegisterTiles());
  pm.addPass(createCSEPass()); // index arithmetic is built piece by piece
}

void buildBufferize(OpPassManager &pm, const Options &) {
  pm.addPass(createPlanArena());
}

void buildParallel(OpPassManager &pm, const Options &) {
  pm.addPass(createOutlineSections());
}

void buildLlvm(OpPassManager &pm, const Options &) {
  pm.addPass(codegen::createVectorizeGeneric());
  pm.addPass(microkernel::createLowerBrgemm());
  // After all that makes vectors: some functions have other code for them.
  pm.addPass(codegen::createExpandMath());
  pm.addPass(createLowerRt());
  pm.addPass(createCSEPass()); // descriptors nobody reads
  pm.addPass(createSplitEntries());
  codegen::buildLowerToLLVMPipeline(pm);
}

const Phase kPhases[] = {
    {"import", "the graph as it was given, with all shapes", buildImport},
    {"graph", "one normal form, no repetition", buildGraph},
    {"quantize", "scales and zero points as arithmetic in f32", buildQuantize},
    {"constants", "what depends on constants only moves to @fold",
     buildConstants},
    {"layout", "weights in panels, strides of the caller's buffers",
     buildLayout},
    {"fuse", "groups, each a function", buildFuse},
    {"tile", "groups as sections of loops on buffers", buildTile},
    {"bufferize", "buffers placed in one arena", buildBufferize},
    {"parallel", "sections as functions, entries that start them",
     buildParallel},
    {"llvm", "vector code, microkernels, LLVM dialect", buildLlvm},
};

} // namespace

std::span<const Phase> allPhases() { return kPhases; }

const Phase *findPhase(std::string_view name) {
  for (const Phase &p : kPhases)
    if (p.name == name)
      return &p;
  return nullptr;
}

/// A function's static: libraries have no global constructors.
static PassManagerSetup &passManagerSetup() {
  static PassManagerSetup setup;
  return setup;
}

void setPassManagerSetup(PassManagerSetup setup) {
  passManagerSetup() = std::move(setup);
}

bool hasPassManagerSetup() { return bool(passManagerSetup()); }

bool setUpPassManager(PassManager &pm, const Phase &phase) {
  return !passManagerSetup() || passManagerSetup()(pm, phase);
}

static PhaseListener &phaseListener() {
  static PhaseListener listener;
  return listener;
}

void setPhaseListener(PhaseListener listener) {
  phaseListener() = std::move(listener);
}

void tellPhase(std::string_view phase) {
  if (phaseListener())
    phaseListener()(phase);
}

void registerAllDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  cf::ControlFlowDialect, func::FuncDialect,
                  graph::GraphDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                  math::MathDialect, memref::MemRefDialect, rt::RtDialect,
                  scf::SCFDialect, tensor::TensorDialect, tile::TileDialect,
                  vector::VectorDialect>();
  codegen::registerLLVMTranslations(registry);
}

void registerAllPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  codegen::registerCodegenPasses();
  microkernel::registerMicrokernelPasses();
  registerTenonPasses();
  static PassPipelineRegistration<> lower(
      "tenon-lower-to-llvm", "The last pipeline: everything to LLVM",
      [](OpPassManager &pm) { codegen::buildLowerToLLVMPipeline(pm); });
}

} // namespace tenon
