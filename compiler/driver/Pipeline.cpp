// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Pipeline.h"

#include "codegen/jit/Guard.h"
#include "dialects/graph/Convert.h"
#include "dialects/graph/Diagnose.h"
#include "dialects/support/Fail.h"
#include "dialects/tile/Target.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>

using namespace mlir;

namespace tenon {

using namespace passes;

namespace {

/// The error behind a diagnostic: the one that a pass or a verifier reported,
/// or, of a fault that has no code, an internal one.
Error toError(Diagnostic &diagnostic) {
  if (auto e = graph::errorIn(diagnostic))
    return *e;
  std::string text = diagnostic.str();
  Error e;
  e.code = ErrorCode::Internal;
  e.message = text;
  e.opName = nameOf(diagnostic.getLocation());
  if (auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    e.message = file.getFilename().str() + ":" +
                std::to_string(file.getLine()) + ":" +
                std::to_string(file.getColumn()) + ": " + text;
  return e;
}

/// `target` as passes read it.
tile::TargetAttr attributeOf(const Target &target, MLIRContext *context) {
  auto has = [&](StringRef feature) {
    return llvm::is_contained(target.features, feature);
  };
  return tile::TargetAttr::get(
      context, target.vectorBits, target.numVectorRegisters,
      target.bf16DotWidth, target.bf16DotIsSlow, target.int8DotWidth,
      target.matrixUnit, has("avx2"), has("avx512vl"), has("avx512bf16"),
      target.l2Bytes, target.fewRows, target.fewRowsAhead, target.leastRows);
}

std::string textOf(Attribute attribute) {
  std::string s;
  llvm::raw_string_ostream(s) << attribute;
  return s;
}

} // namespace

Pipeline::Pipeline(const Options &options) : options(options) {
  DialectRegistry registry;
  registerAllDialects(registry);
  ctx =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  ctx->loadAllAvailableDialects();
  // Printing the operation with each remark numbers the whole function each
  // time: quadratic.
  ctx->printOpOnDiagnostic(false);
  ctx->getDiagEngine().registerHandler([this](Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Remark)
      remarkList.push_back(nameOf(d.getLocation()) + ": " + d.str());
    else if (d.getSeverity() == DiagnosticSeverity::Error)
      errors.push_back(toError(d));
    return success();
  });
}

Pipeline::~Pipeline() = default;

std::vector<Error> Pipeline::takeErrors(const std::string &fallback) {
  std::vector<Error> taken;
  std::swap(taken, errors);
  if (taken.empty())
    taken.push_back(fail(ErrorCode::Internal, fallback));
  return taken;
}

std::vector<Error>
Pipeline::guarded(llvm::function_ref<std::vector<Error>()> work) {
  std::vector<Error> result;
  std::optional<Error> fatal;
  try {
    fatal = codegen::runGuarded([&] { result = work(); });
  } catch (const FatalInTask &error) {
    fatal = error.error;
  }
  if (!fatal)
    return result;
  (void)op.release();
  (void)ctx.release();
  return {*fatal};
}

std::vector<Error> Pipeline::import(const graph::PreparedGraph &graph,
                                    const Target &target) {
  return guarded([&]() -> std::vector<Error> {
    op = graph::toMLIR(graph, *ctx);
    (*op)->setAttr(kTargetAttr, attributeOf(target, ctx.get()));
    return {};
  });
}

std::vector<Error> Pipeline::parse(std::string_view text) {
  std::string copy(text); // NUL-terminated
  auto fatal = guarded([&]() -> std::vector<Error> {
    op = parseSourceString<ModuleOp>(copy, ParserConfig(ctx.get()));
    return {};
  });
  if (op || !fatal.empty())
    return fatal;
  std::vector<Error> list = takeErrors("MLIR text does not parse");
  for (Error &e : list)
    if (e.code == ErrorCode::Internal)
      e.code = ErrorCode::Syntax;
  return list;
}

std::vector<Error> Pipeline::setTarget(const Target &target) {
  tile::TargetAttr wanted = attributeOf(target, ctx.get());
  auto made = (*op)->getAttrOfType<tile::TargetAttr>(kTargetAttr);
  if (made && made != wanted)
    return {fail(ErrorCode::BadOption,
                 "the IR was made for " + textOf(made) +
                     ", code is asked for " + textOf(wanted),
                 "give the target-cpu and the schedule of the run that has "
                 "written it")};
  (*op)->setAttr(kTargetAttr, wanted);
  return {};
}

/// Threads for what runs on each function alone, up to and with LLVM. A small
/// graph is done before they have started.
void Pipeline::startThreads() {
  // Operations before the last phase, which makes ten of one.
  constexpr int64_t kSmallest = 100;
  int64_t threads = CompilePool::threadsFor(options.compileThreads);
  // Tools print from and measure one thread.
  if (threads == 1 || ctx->isMultithreadingEnabled() || hasPassManagerSetup())
    return;
  int64_t count = 0;
  op->walk([&](Operation *) { ++count; });
  if (count < kSmallest)
    return;
  pool = std::make_unique<CompilePool>(threads);
  ctx->setThreadPool(*pool);
}

std::vector<Error> Pipeline::runPhase(const Phase &phase) {
  bool last = &phase == &allPhases().back();
  if (last)
    startThreads();
  assert(succeeded(mlir::verify(*op)) && "a phase begins with valid IR");
  PassManager pm(ctx.get());
  // The last phase makes ten operations of one. Checking them after each of
  // its passes, not once, took 40 % of its time.
  pm.enableVerifier(!last);
  phase.build(pm, options);
  bool failed = !setUpPassManager(pm, phase) || mlir::failed(pm.run(*op)) ||
                (last && mlir::failed(mlir::verify(*op)));
  return failed ? takeErrors("phase " + std::string(phase.name) + " failed")
                : std::vector<Error>{};
}

std::vector<Error>
Pipeline::run(std::string_view from, std::string_view to,
              const std::function<void(const Phase &, double)> &after) {
  bool active = from.empty();
  for (const Phase &phase : allPhases()) {
    if (active) {
      tellPhase(phase.name);
      auto start = std::chrono::steady_clock::now();
      if (auto found = guarded([&] { return runPhase(phase); }); !found.empty())
        return found;
      double seconds = std::chrono::duration<double>(
                           std::chrono::steady_clock::now() - start)
                           .count();
      if (after)
        after(phase, seconds);
    }
    if (phase.name == from)
      active = true;
    if (phase.name == to)
      return {};
  }
  return {};
}

std::string Pipeline::text(bool locations) const {
  std::string s;
  llvm::raw_string_ostream os(s);
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, false);
  ModuleOp module = const_cast<Pipeline *>(this)->module();
  module->print(os, flags);
  return s;
}

} // namespace tenon
