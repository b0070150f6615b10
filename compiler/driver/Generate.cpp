//===- Generate.cpp - a graph through all phases --------------------------===//
#include "compiler/driver/Generate.h"

#include "compiler/driver/GroupFacts.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Reorders.h"
#include "compiler/driver/Reproducer.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/infer/Infer.h"
#include "dialects/support/Fail.h"
#include "passes/bufferize/InPlace.h"
#include "passes/constants/Recipes.h"
#include "passes/support/Bytes.h"
#include "passes/support/Entry.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace mlir;

namespace tenon {

namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Position of each port in the description.
struct PortIndex {
  explicit PortIndex(const graph::Graph &graph) {
    int32_t next = 0;
    for (uint64_t id : graph.inputPorts)
      inputs[id] = next++;
    for (uint64_t id : graph.outputPorts)
      outputs[id] = next++;
  }
  std::map<uint64_t, int32_t> inputs, outputs;
};

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
  }
}

/// Which constants each result of @fold depends on, and how.
void describeFolded(func::FuncOp fold, const PortIndex &ports,
                    const Target &target, codegen::CodeInfo &code) {
  for (const FoldRecipe &recipe : recipesOf(fold)) {
    codegen::FoldedInfo &info = code.folded.emplace_back();
    // Bits may differ between schedules.
    std::string text = target.schedule + "\n" + recipe.text;
    info.recipe = codegen::hashOf(text.data(), text.size());
    for (unsigned i : recipe.arguments) {
      auto id = fold.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr);
      info.inputs.push_back(ports.inputs.at(id.getValue().getZExtValue()));
    }
  }
}

} // namespace

/// Fills the counts of a report from the module behind `phase`.
static void countPhase(const Phase &phase, Pipeline &pipeline,
                       CompileReport &report) {
  ModuleOp module = pipeline.module();
  if (phase.name == "fuse") {
    std::set<std::string> functions;
    module.walk([&](func::CallOp call) {
      ++report.groups;
      functions.insert(call.getCallee().str());
    });
    report.groupFunctions = functions.size();
  }
  auto main = module.lookupSymbol<func::FuncOp>(kMainName);
  if (phase.name == "tile")
    for (auto alloc : main.getOps<memref::AllocOp>())
      if (alloc.getType().hasStaticShape())
        report.unsharedBytes += alloc.getType().getNumElements() *
                                (alloc.getType().getElementTypeBitWidth() / 8);
  if (phase.name == "bufferize")
    if (auto size = module.lookupSymbol<func::FuncOp>(
            kMainName + std::string(kArenaSuffix))) {
      Operation *ret = size.getBody().front().getTerminator();
      if (auto c = getConstantIntValue(ret->getOperand(0)))
        report.arenaBytes = *c;
    }
  if (phase.name == "parallel")
    for (auto f : module.getOps<func::FuncOp>())
      report.sections += f.isPrivate();
  if (phase.name == "llvm")
    for (auto f : module.getOps<LLVM::LLVMFuncOp>())
      report.kernels += f.getName().starts_with(kKernelPrefix);
}

/// Whether two elements of `t` share memory, as far as its sizes are known.
static bool overlaps(const graph::LogicalTensor &t) {
  if (!t.hasStaticShape() || t.strides.empty())
    return false;
  std::vector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (size_t i = 0; i < t.strides.size(); ++i) {
    if ((*t.shape)[i] == 0)
      return false;
    if ((*t.shape)[i] > 1)
      dims.push_back({t.strides[i], (*t.shape)[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t span = 1;
  for (auto [stride, size] : dims) {
    if (stride < span)
      return true;
    span = stride * (size - 1) + span;
  }
  return false;
}

/// Results are written once per element: their elements may not overlap.
static std::vector<Error> checkOutputs(const graph::Graph &graph) {
  std::vector<Error> errors;
  for (uint64_t id : graph.outputPorts)
    if (overlaps(graph.tensor(id)))
      errors.push_back(fail(ErrorCode::BadStride,
                            "elements of output " + std::to_string(id) +
                                " share memory under its strides"));
  return errors;
}

Expected<graph::Graph> prepareGraph(graph::Graph graph) {
  if (auto errors = graph::inferGraph(graph); !errors.empty())
    return errors;
  if (auto errors = graph::completePorts(graph); !errors.empty())
    return errors;
  if (auto errors = checkOutputs(graph); !errors.empty())
    return errors;
  return graph;
}

codegen::ModelInfo describeModel(const graph::Graph &graph) {
  codegen::ModelInfo info;
  std::map<uint64_t, const graph::Op *> producers, readers;
  for (const graph::Op &op : graph.ops) {
    for (uint64_t id : op.outputs)
      producers[id] = &op;
    for (uint64_t id : op.inputs)
      readers.insert({id, &op});
  }
  auto add = [&](uint64_t id,
                 const std::map<uint64_t, const graph::Op *> &near) {
    const graph::LogicalTensor &t = graph.tensor(id);
    codegen::TensorInfo &tensor = info.tensors.emplace_back();
    tensor.id = id;
    if (auto op = near.find(id); op != near.end())
      tensor.name = op->second->name;
    tensor.dtype = static_cast<int32_t>(t.dtype);
    tensor.dims = *t.shape;
    tensor.strides = t.strides;
    tensor.constant = t.property == graph::PropertyType::constant;
  };
  for (uint64_t id : graph.inputPorts)
    add(id, readers);
  for (uint64_t id : graph.outputPorts)
    add(id, producers);
  info.numInputs = static_cast<int64_t>(graph.inputPorts.size());
  return info;
}

/// The pairs of the module behind the fuse phase, by id.
static std::vector<std::pair<uint64_t, uint64_t>>
describeInPlace(func::FuncOp main) {
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (auto [input, output] : inPlacePairs(main)) {
    auto id = main.getArgAttrOfType<IntegerAttr>(input, graph::kIdAttr);
    auto resultId =
        main.getResultAttrOfType<IntegerAttr>(output, graph::kIdAttr);
    pairs.push_back(
        {id.getValue().getZExtValue(), resultId.getValue().getZExtValue()});
  }
  return pairs;
}

Expected<Generated> generateCode(const graph::Graph &graph,
                                 const Options &options, const Target &target,
                                 const FinishCode &finish,
                                 CompileReport &report, bool inParts) {
  Generated result;
  auto start = std::chrono::steady_clock::now();
  Pipeline pipeline(options, target);
  if (auto errors = pipeline.import(graph); !errors.empty())
    return errors;
  report.ops = static_cast<int64_t>(graph.ops.size());
  report.phases.push_back({"setup", secondsSince(start)});
  PortIndex ports(graph);
  codegen::CodeInfo code;
  code.target = options.targetCpu;
  code.features = llvm::join(target.features, ",");
  code.flushDenormals = options.denormals == kFlushDenormals;
  std::string_view reached;
  auto errors =
      pipeline.run("", "llvm", [&](const Phase &phase, double seconds) {
        reached = phase.name;
        report.phases.push_back({std::string(phase.name), seconds});
        countPhase(phase, pipeline, report);
        ModuleOp module = pipeline.module();
        auto fold = module.lookupSymbol<func::FuncOp>(kFoldName);
        if (phase.name == "layout" && fold)
          describeFolded(fold, ports, target, code);
        if (phase.name == "layout")
          collectKept(module, graph, report);
        if (phase.name == "fuse") {
          collectGroups(module, graph, report);
          collectReorders(module, graph, report);
          result.inPlace =
              describeInPlace(module.lookupSymbol<func::FuncOp>(kMainName));
        }
        if (phase.name == "bufferize") {
          collectBuffers(module, graph, report);
          for (auto f : module.getOps<func::FuncOp>())
            if (isEntry(f))
              describeEntry(f, ports, code);
        }
      });
  if (!errors.empty()) {
    keepReproducer(graph, options, reached, errors);
    return errors;
  }
  auto objectStart = std::chrono::steady_clock::now();
  codegen::CompileOptions compileOptions;
  compileOptions.inParts = inParts;
  compileOptions.finish = [&](llvm::Module &module) { finish(module, code); };
  auto object =
      codegen::compileToObject(pipeline.module(), target.spec, compileOptions);
  if (!object)
    return object.errors();
  report.codeBytes = static_cast<int64_t>((*object)->getBufferSize());
  report.phases.push_back({"object", secondsSince(objectStart)});
  report.remarks = graph::remarksOnPorts(graph);
  llvm::append_range(report.remarks, pipeline.remarks());
  result.object = std::move(*object);
  return result;
}

} // namespace tenon
