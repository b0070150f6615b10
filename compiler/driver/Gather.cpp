//===- Gather.cpp - what is learnt between the phases ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Gather.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Gather.h"

#include "compiler/driver/GroupStats.h"
#include "compiler/driver/Reorders.h"
#include "dialects/graph/PlainOp.h"
#include "passes/bufferize/InPlace.h"
#include "passes/constants/Recipes.h"
#include "passes/support/Bytes.h"
#include "passes/support/Entry.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <set>

using namespace mlir;

namespace tenon {

using namespace passes;

PortIndex::PortIndex(const graph::Graph &graph) {
  int32_t next = 0;
  for (uint64_t id : graph.inputPorts)
    inputs[id] = next++;
  for (uint64_t id : graph.outputPorts)
    outputs[id] = next++;
}

namespace {

//===----------------------------------------------------------------------===//
// The description of the code
//===----------------------------------------------------------------------===//

/// Which constants each result of @fold depends on, and how.
void describeFolded(ModuleOp module, Gathered &to) {
  auto fold = module.lookupSymbol<func::FuncOp>(kFoldName);
  if (!fold)
    return;
  for (const FoldRecipe &recipe : recipesOf(fold)) {
    codegen::FoldedInfo &info = to.code.folded.emplace_back();
    // Bits may differ between schedules.
    std::string text = to.target.schedule + "\n" + recipe.text;
    info.recipe = codegen::hashOf(text.data(), text.size());
    for (unsigned i : recipe.arguments) {
      auto id = fold.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr);
      info.inputs.push_back(to.ports.inputs.at(id.getValue().getZExtValue()));
    }
  }
}

/// The pairs of an input and an output that may share memory.
void describeInPlace(ModuleOp module, Gathered &to) {
  auto main = module.lookupSymbol<func::FuncOp>(kMainName);
  for (auto [input, output] : inPlacePairs(main)) {
    auto id = main.getArgAttrOfType<IntegerAttr>(input, graph::kIdAttr);
    auto resultId =
        main.getResultAttrOfType<IntegerAttr>(output, graph::kIdAttr);
    to.inPlace.push_back(
        {id.getValue().getZExtValue(), resultId.getValue().getZExtValue()});
  }
}

/// The interface of an entry once its arguments are buffers. Results of @fold
/// are what arguments of @main with the role "folded" are.
void describeEntry(func::FuncOp f, const PortIndex &ports,
                   codegen::CodeInfo &code) {
  bool isFold = f.getName() == kFoldName;
  codegen::EntryInfo &entry = isFold ? code.fold : code.main;
  entry.symbol = f.getName().str();
  int32_t folded = 0;
  for (BlockArgument arg : f.getArguments()) {
    unsigned i = arg.getArgNumber();
    std::optional<tile::ArgRole> role = roleOf(f, i);
    if (!role || role == tile::ArgRole::arena)
      continue;
    bool output = role == tile::ArgRole::output;
    if (role == tile::ArgRole::folded || (isFold && output)) {
      entry.args.push_back({1, folded++});
      if (!isFold)
        continue;
      auto type = cast<MemRefType>(arg.getType());
      codegen::FoldedInfo &info = code.folded[entry.args.back().index];
      info.dims = type.getShape().vec();
      info.bytes = knownBytes(type);
      continue;
    }
    auto id = f.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr);
    const auto &index = output ? ports.outputs : ports.inputs;
    entry.args.push_back({0, index.at(id.getValue().getZExtValue())});
    if (!output && !arg.use_empty())
      entry.reads.push_back(entry.args.back().index);
  }
}

void describeEntries(ModuleOp module, Gathered &to) {
  for (auto f : module.getOps<func::FuncOp>())
    if (isEntry(f))
      describeEntry(f, to.ports, to.code);
}

//===----------------------------------------------------------------------===//
// Counts of the report
//===----------------------------------------------------------------------===//

void countGroups(ModuleOp module, Gathered &to) {
  std::set<std::string> functions;
  module.walk([&](func::CallOp call) {
    ++to.report.groups;
    functions.insert(call.getCallee().str());
  });
  to.report.groupFunctions = functions.size();
}

void countUnsharedBytes(ModuleOp module, Gathered &to) {
  auto main = module.lookupSymbol<func::FuncOp>(kMainName);
  for (auto alloc : main.getOps<memref::AllocOp>())
    if (alloc.getType().hasStaticShape())
      to.report.unsharedBytes += alloc.getType().getNumElements() *
                                 (alloc.getType().getElementTypeBitWidth() / 8);
}

void readArenaSize(ModuleOp module, Gathered &to) {
  auto size =
      module.lookupSymbol<func::FuncOp>(kMainName + std::string(kArenaSuffix));
  if (!size)
    return;
  Operation *ret = size.getBody().front().getTerminator();
  if (auto c = getConstantIntValue(ret->getOperand(0)))
    to.report.arenaBytes = *c;
}

void countSections(ModuleOp module, Gathered &to) {
  for (auto f : module.getOps<func::FuncOp>())
    to.report.sections += f.isPrivate();
}

void countKernels(ModuleOp module, Gathered &to) {
  for (auto f : module.getOps<LLVM::LLVMFuncOp>())
    to.report.kernels += f.getName().starts_with(kKernelPrefix);
}

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

struct Gathering {
  std::string_view phase;
  void (*gather)(ModuleOp module, Gathered &to);
};

/// In the order in which it happens.
const Gathering kGatherings[] = {
    {"layout", describeFolded},
    {"layout", [](ModuleOp module,
                  Gathered &to) { collectKept(module, to.names, to.report); }},
    {"fuse", countGroups},
    {"fuse", [](ModuleOp module,
                Gathered &to) { collectGroups(module, to.names, to.report); }},
    {"fuse",
     [](ModuleOp module, Gathered &to) {
       collectReorders(module, to.names, to.report);
     }},
    {"fuse", describeInPlace},
    {"tile", countUnsharedBytes},
    {"bufferize", readArenaSize},
    {"bufferize",
     [](ModuleOp module, Gathered &to) {
       collectBuffers(module, to.names, to.report);
     }},
    {"bufferize", describeEntries},
    {"parallel", countSections},
    {"llvm", countKernels},
};

} // namespace

void gatherAfter(const Phase &phase, ModuleOp module, Gathered &to) {
  for (const Gathering &gathering : kGatherings) {
    assert(findPhase(gathering.phase) && "nothing would be gathered");
    if (gathering.phase == phase.name)
      gathering.gather(module, to);
  }
}

} // namespace tenon
