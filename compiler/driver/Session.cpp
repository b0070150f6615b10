#include "compiler/driver/Session.h"

#include "codegen/jit/Jit.h"
#include "compiler/driver/Fail.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Reproducer.h"
#include "dialects/graph/PlainOp.h"
#include "dialects/graph/infer/Infer.h"
#include "passes/support/Entry.h"
#include "runtime/tenon_rt.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace mlir;

namespace tenon {

namespace {

/// How the microkernel lowering names its functions.
constexpr llvm::StringLiteral kKernelPrefix = "tenon_brgemm_";

using EntryFn = int32_t (*)(tenon_exec *, void *const *, const int64_t *,
                            void *);
using ArenaFn = int64_t (*)(const int64_t *);

/// One buffer of an entry, in the order of its interface.
struct EntryArg {
  enum class Role { input, output, folded } role;
  uint64_t id = 0;   // of the tensor; inputs and outputs
  size_t folded = 0; // ordinal; folded
  size_t rank = 0;
  graph::Dims staticShape; // folded only
  int64_t elementBytes = 4;
};

struct Entry {
  std::vector<EntryArg> args;
  EntryFn run = nullptr;
  ArenaFn arena = nullptr;
};

/// The interface of an entry once its arguments are buffers.
std::vector<EntryArg> argsOf(func::FuncOp f, bool isFold) {
  std::vector<EntryArg> args;
  size_t folded = 0;
  for (BlockArgument arg : f.getArguments()) {
    unsigned i = arg.getArgNumber();
    auto role = f.getArgAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || role.getValue() == "arena")
      continue;
    auto type = cast<MemRefType>(arg.getType());
    EntryArg a;
    a.rank = type.getRank();
    a.elementBytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    bool output = role.getValue() == "output";
    if (role.getValue() == "folded" || (isFold && output)) {
      a.role = EntryArg::Role::folded;
      a.folded = folded++;
      a.staticShape.assign(type.getShape().begin(), type.getShape().end());
    } else {
      a.role = output ? EntryArg::Role::output : EntryArg::Role::input;
      if (auto id = f.getArgAttrOfType<IntegerAttr>(i, graph::kIdAttr))
        a.id = id.getValue().getZExtValue();
    }
    args.push_back(std::move(a));
  }
  return args;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Memory of the runtime, freed with the object.
class Block {
public:
  explicit Block(int64_t bytes) : data(tenon_rt_alloc(nullptr, bytes)) {}
  Block(Block &&o) noexcept : data(std::exchange(o.data, nullptr)) {}
  Block &operator=(Block &&o) noexcept {
    std::swap(data, o.data);
    return *this;
  }
  ~Block() { tenon_rt_free(nullptr, data); }
  void *get() const { return data; }

private:
  void *data;
};

} // namespace

struct Compiled::Impl {
  graph::Graph graph;
  Target target;
  Entry main, fold;
  std::vector<Block> folded;
  bool foldDone = false;
  std::unique_ptr<codegen::Jit> jit;

  bool isStatic() const;
  Expected<bool> runEntry(Executor &exec, const Entry &entry,
                          const HostTensors &inputs,
                          const HostTensors &outputs);
};

Compiled::Compiled(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Compiled::~Compiled() = default;
const graph::Graph &Compiled::graph() const { return impl->graph; }
const Target &Compiled::target() const { return impl->target; }

/// Fills the counts of a report from the module behind `phase`.
static void countPhase(const Phase &phase, Pipeline &pipeline,
                       CompileReport &report) {
  ModuleOp module = pipeline.module();
  if (phase.name == "fuse") {
    std::set<std::string> functions;
    module.walk([&](func::CallOp call) {
      ++report.groups;
      functions.insert(call.getCallee().str());
      auto label = call->getAttrOfType<StringAttr>(kLabelAttr);
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      auto caller = call->getParentOfType<func::FuncOp>();
      if (label && callee && caller.getName() == kMainName)
        report.groupList.push_back(
            {label.getValue().str(),
             callee->getAttrOfType<StringAttr>(kGroupAttr).getValue().str()});
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
    if (auto size = module.lookupSymbol<func::FuncOp>("main_arena")) {
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

static Expected<std::unique_ptr<codegen::Jit>>
makeJit(std::unique_ptr<llvm::MemoryBuffer> object, const Options &options) {
  codegen::JitOptions jitOptions;
  jitOptions.perf = options.perf;
  auto jit = codegen::Jit::create(jitOptions);
  if (!jit)
    return jit.errors();
  if (auto ok = (*jit)->defineSymbol(
          "tenon_rt_run_named_section",
          reinterpret_cast<void *>(&tenon_rt_run_named_section));
      !ok)
    return ok.errors();
  if (auto ok = (*jit)->addObject(std::move(object)); !ok)
    return ok.errors();
  return std::move(*jit);
}

static std::optional<std::vector<Error>>
bindEntry(codegen::Jit &jit, std::string name, Entry &entry) {
  auto run = jit.lookup(name);
  if (!run)
    return run.errors();
  auto arena = jit.lookup(name + "_arena");
  if (!arena)
    return arena.errors();
  entry.run = reinterpret_cast<EntryFn>(*run);
  entry.arena = reinterpret_cast<ArenaFn>(*arena);
  return std::nullopt;
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

Expected<std::unique_ptr<Compiled>> Compiled::compile(const graph::Graph &graph,
                                                      const Options &options,
                                                      CompileReport *report) {
  auto start = std::chrono::steady_clock::now();
  CompileReport scratch;
  CompileReport &r = report ? *report : scratch;
  r = {};
  auto target = Target::resolve(options);
  if (!target)
    return target.errors();
  if (!target->executable)
    return fail(ErrorCode::UnsupportedTarget,
                "this machine lacks " + target->missingFeature +
                    ", which code for " + options.targetCpu + " may use",
                "choose a --target-cpu that this machine implements");
  auto impl = std::make_unique<Impl>();
  impl->graph = graph;
  impl->target = *target;
  if (auto errors = graph::inferGraph(impl->graph); !errors.empty())
    return errors;
  if (auto errors = graph::completePorts(impl->graph); !errors.empty())
    return errors;
  if (auto errors = checkOutputs(impl->graph); !errors.empty())
    return errors;
  r.ops = impl->graph.ops.size();

  Pipeline pipeline(options, *target);
  if (auto errors = pipeline.import(impl->graph); !errors.empty())
    return errors;
  r.phases.push_back({"setup", secondsSince(start)});
  std::string_view reached;
  auto errors =
      pipeline.run("", "llvm", [&](const Phase &phase, double seconds) {
        reached = phase.name;
        r.phases.push_back({std::string(phase.name), seconds});
        countPhase(phase, pipeline, r);
        if (phase.name == "bufferize")
          for (auto f : pipeline.module().getOps<func::FuncOp>())
            if (f.getName() == kMainName || f.getName() == kFoldName)
              (f.getName() == kMainName ? impl->main : impl->fold).args =
                  argsOf(f, f.getName() == kFoldName);
      });
  if (!errors.empty()) {
    keepReproducer(graph, options, reached, errors);
    return errors;
  }
  auto objectStart = std::chrono::steady_clock::now();
  auto object = codegen::compileToObject(pipeline.module(), target->spec);
  if (!object)
    return object.errors();
  r.codeBytes = (*object)->getBufferSize();
  bool hasFold = !impl->fold.args.empty();
  auto jit = makeJit(std::move(*object), options);
  if (!jit)
    return jit.errors();
  impl->jit = std::move(*jit);
  if (auto e = bindEntry(*impl->jit, "main", impl->main))
    return *e;
  if (hasFold)
    if (auto e = bindEntry(*impl->jit, "fold", impl->fold))
      return *e;
  impl->foldDone = !hasFold;
  r.phases.push_back({"object", secondsSince(objectStart)});
  r.totalSeconds = secondsSince(start);
  r.remarks = pipeline.remarks();
  return std::unique_ptr<Compiled>(new Compiled(std::move(impl)));
}

bool Compiled::Impl::isStatic() const {
  for (auto &[id, t] : graph.tensors)
    if (!t.hasStaticShape())
      return false;
  return true;
}

Expected<bool> Compiled::Impl::runEntry(Executor &exec, const Entry &entry,
                                        const HostTensors &inputs,
                                        const HostTensors &outputs) {
  std::vector<void *> buffers;
  std::vector<int64_t> dims;
  for (const EntryArg &a : entry.args) {
    if (a.role == EntryArg::Role::folded) {
      buffers.push_back(folded[a.folded].get());
      dims.insert(dims.end(), a.staticShape.begin(), a.staticShape.end());
      continue;
    }
    const HostTensors &from =
        a.role == EntryArg::Role::input ? inputs : outputs;
    auto it = from.find(a.id);
    if (it == from.end())
      return fail(ErrorCode::UnknownTensor,
                  "no buffer was given for tensor " + std::to_string(a.id));
    const HostTensor &t = it->second;
    int64_t elements = 1;
    for (int64_t d : t.shape)
      elements *= d;
    if (t.shape.size() != a.rank)
      return fail(ErrorCode::BadRank,
                  "tensor " + std::to_string(a.id) + " has rank " +
                      std::to_string(a.rank) + ", a buffer of rank " +
                      std::to_string(t.shape.size()) + " was given");
    if (!t.data && elements)
      return fail(ErrorCode::BadTensorData,
                  "the buffer of tensor " + std::to_string(a.id) + " is null");
    buffers.push_back(t.data);
    dims.insert(dims.end(), t.shape.begin(), t.shape.end());
  }
  int64_t bytes = entry.arena(dims.data());
  void *arena = nullptr;
  if (bytes > 0) {
    arena = tenon_rt_arena_acquire(exec.handle(), bytes);
    if (!arena) {
      tenon_exec_clear_status(exec.handle());
      return fail(ErrorCode::OutOfMemory, "no memory for an arena of " +
                                              std::to_string(bytes) + " bytes");
    }
  }
  entry.run(exec.handle(), buffers.data(), dims.data(), arena);
  tenon_rt_arena_release(exec.handle(), arena);
  tenon_rt_status status = tenon_exec_status(exec.handle());
  if (status == TENON_RT_OK)
    return true;
  tenon_exec_clear_status(exec.handle());
  return fail(status == TENON_RT_OUT_OF_MEMORY ? ErrorCode::OutOfMemory
                                               : ErrorCode::Internal,
              std::string("execution failed: ") +
                  tenon_rt_status_string(status));
}

Expected<bool> Compiled::bindConstants(Executor &exec,
                                       const HostTensors &constants) {
  if (impl->fold.args.empty())
    return true;
  impl->folded.clear();
  for (const EntryArg &a : impl->fold.args) {
    if (a.role != EntryArg::Role::folded)
      continue;
    int64_t bytes = a.elementBytes;
    for (int64_t d : a.staticShape)
      bytes *= d;
    impl->folded.emplace_back(bytes);
    if (!impl->folded.back().get())
      return fail(ErrorCode::OutOfMemory, "no memory for " +
                                              std::to_string(bytes) +
                                              " bytes of folded constants");
  }
  auto ok = impl->runEntry(exec, impl->fold, constants, {});
  impl->foldDone = static_cast<bool>(ok);
  return ok;
}

Expected<std::map<uint64_t, graph::Dims>>
Compiled::outputShapes(const std::map<uint64_t, graph::Dims> &inputs) const {
  std::map<uint64_t, graph::Dims> shapes;
  graph::Graph g = impl->graph;
  std::set<uint64_t> ports(g.inputPorts.begin(), g.inputPorts.end());
  bool same = impl->isStatic();
  for (auto &[id, dims] : inputs) {
    auto it = g.tensors.find(id);
    if (it == g.tensors.end() || !ports.count(id))
      continue;
    same &= it->second.shape == dims;
    const auto &known = it->second.shape;
    bool fits = !known || known->size() == dims.size();
    for (size_t i = 0; fits && known && i < dims.size(); ++i)
      fits = (*known)[i] == graph::kUnknownDim || (*known)[i] == dims[i];
    if (!fits)
      return fail(ErrorCode::ShapeMismatch,
                  "input " + std::to_string(id) +
                      " does not have the shape it was compiled for");
    it->second.shape = dims;
  }
  if (!same) {
    for (auto &[id, t] : g.tensors)
      if (!ports.count(id) && !t.hasStaticShape())
        t.shape = impl->graph.tensor(id).shape;
    if (auto errors = graph::inferGraph(g); !errors.empty())
      return errors;
  }
  for (uint64_t id : g.outputPorts) {
    const graph::LogicalTensor &t = g.tensor(id);
    if (!t.hasStaticShape())
      return fail(ErrorCode::UnknownShape,
                  "the shape of output " + std::to_string(id) +
                      " does not follow from the inputs",
                  "give shapes for all inputs");
    shapes[id] = *t.shape;
  }
  return shapes;
}

Expected<bool> Compiled::execute(Executor &exec, const HostTensors &inputs,
                                 const HostTensors &outputs) {
  if (!impl->foldDone)
    return fail(ErrorCode::BadTensorData, "constants have not been bound",
                "call bindConstants before execute");
  std::map<uint64_t, graph::Dims> given;
  for (auto &[id, t] : inputs)
    given[id] = t.shape;
  auto shapes = outputShapes(given);
  if (!shapes)
    return shapes.errors();
  for (auto &[id, shape] : *shapes) {
    auto it = outputs.find(id);
    if (it != outputs.end() && it->second.shape != shape)
      return fail(ErrorCode::ShapeMismatch,
                  "the buffer of output " + std::to_string(id) +
                      " has another shape than the result");
  }
  return impl->runEntry(exec, impl->main, inputs, outputs);
}

} // namespace tenon
