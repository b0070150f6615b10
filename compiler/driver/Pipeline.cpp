#include "compiler/driver/Pipeline.h"

#include "codegen/jit/Guard.h"
#include "dialects/graph/Convert.h"
#include "dialects/support/Fail.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mlir;

namespace tenon {

namespace {

bool isCode(int number) {
  switch (static_cast<ErrorCode>(number)) {
#define TENON_ERROR(number, codeName, category, meaning)                       \
  case ErrorCode::codeName:                                                    \
    return true;
#include "dialects/support/ErrorCodes.def"
  }
  return false;
}

/// Reads what Error::str() wrote: `E1203 MatMul "fc1" (id 7): text; hint: x`.
std::optional<Error> parseError(StringRef text) {
  Error e;
  int number = 0;
  if (!text.consume_front("E") || text.consumeInteger(10, number) ||
      !isCode(number))
    return std::nullopt;
  e.code = static_cast<ErrorCode>(number);
  text = text.ltrim();
  StringRef rest = text;
  StringRef kind = rest.take_while([](char c) { return llvm::isAlnum(c); });
  rest = rest.drop_front(kind.size());
  StringRef name;
  if (rest.consume_front(" \"")) {
    name = rest.take_until([](char c) { return c == '"'; });
    rest = rest.drop_front(std::min(rest.size(), name.size() + 1));
  }
  uint64_t id = 0;
  bool hasId = rest.consume_front(" (id ") && !rest.consumeInteger(10, id) &&
               rest.consume_front(")");
  if (!kind.empty() && rest.consume_front(": ")) {
    e.opKind = kind.str();
    e.opName = name.str();
    if (hasId)
      e.opId = id;
    text = rest;
  } else {
    text.consume_front(": ");
  }
  auto [message, hint] = text.split("; hint: ");
  e.message = message.str();
  e.hint = hint.str();
  return e;
}

/// The error behind a diagnostic. Passes and verifiers that know a code start
/// with it; anything else is `fallback`.
Error toError(Diagnostic &diagnostic, ErrorCode fallback) {
  std::string text = diagnostic.str();
  if (auto e = parseError(text))
    return *e;
  Error e;
  e.code = fallback;
  e.message = text;
  e.opName = nameOf(diagnostic.getLocation());
  if (auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    e.message = file.getFilename().str() + ":" +
                std::to_string(file.getLine()) + ":" +
                std::to_string(file.getColumn()) + ": " + text;
  return e;
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
      errors.push_back(toError(d, ErrorCode::Internal));
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

std::vector<Error> Pipeline::import(const graph::PreparedGraph &graph) {
  return guarded([&]() -> std::vector<Error> {
    op = graph::toMLIR(graph, *ctx);
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

std::vector<Error> Pipeline::runPhase(const Phase &phase,
                                      const Target &target) {
  bool last = &phase == &allPhases().back();
  if (last)
    startThreads();
  assert(succeeded(mlir::verify(*op)) && "a phase begins with valid IR");
  PassManager pm(ctx.get());
  // The last phase makes ten operations of one. Checking them behind each of
  // its passes, not once, took 40 % of its time.
  pm.enableVerifier(!last);
  phase.build(pm, options, target);
  bool failed = !setUpPassManager(pm, phase) || mlir::failed(pm.run(*op)) ||
                (last && mlir::failed(mlir::verify(*op)));
  return failed ? takeErrors("phase " + std::string(phase.name) + " failed")
                : std::vector<Error>{};
}

std::vector<Error>
Pipeline::run(const Target &target, std::string_view from, std::string_view to,
              const std::function<void(const Phase &, double)> &after) {
  bool active = from.empty();
  for (const Phase &phase : allPhases()) {
    if (active) {
      auto start = std::chrono::steady_clock::now();
      if (auto found = guarded([&] { return runPhase(phase, target); });
          !found.empty())
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
