#include "compiler/driver/Pipeline.h"

#include "compiler/driver/Fail.h"
#include "dialects/graph/Convert.h"
#include "passes/support/GraphAttrs.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>

using namespace mlir;

namespace tenon {

namespace {

/// Turns the text of a diagnostic back into a coded error. Passes and
/// verifiers that know a code start with it: "E1203 ...: ...".
Error toError(Diagnostic &diagnostic, ErrorCode fallback) {
  Error e;
  std::string text = diagnostic.str();
  std::string name = nameOf(diagnostic.getLocation());
  int code = 0;
  size_t at = text.find("E");
  if (at == 0 && text.size() > 5)
    code = std::atoi(text.c_str() + 1);
  bool known = false;
  switch (static_cast<ErrorCode>(code)) {
#define TENON_ERROR(number, codeName, category, meaning)                       \
  case ErrorCode::codeName:                                                    \
    known = true;                                                              \
    break;
#include "dialects/support/ErrorCodes.def"
  }
  if (known) {
    e.code = static_cast<ErrorCode>(code);
    size_t rest = text.find(' ');
    e.message = rest == std::string::npos ? text : text.substr(rest + 1);
    return e;
  }
  e.code = fallback;
  e.message = text;
  e.opName = name;
  if (auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    e.message = file.getFilename().str() + ":" +
                std::to_string(file.getLine()) + ":" +
                std::to_string(file.getColumn()) + ": " + text;
  return e;
}

} // namespace

Pipeline::Pipeline(const Options &options, Target target)
    : options(options), target(std::move(target)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  ctx = std::make_unique<MLIRContext>(registry,
                                      MLIRContext::Threading::DISABLED);
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

std::vector<Error> Pipeline::import(const graph::Graph &graph) {
  auto module = graph::toMLIR(graph, *ctx);
  if (!module)
    return module.errors();
  op = std::move(*module);
  return {};
}

std::vector<Error> Pipeline::parse(std::string_view text) {
  std::string copy(text); // NUL-terminated
  op = parseSourceString<ModuleOp>(copy, ParserConfig(ctx.get()));
  if (op)
    return {};
  std::vector<Error> list = takeErrors("MLIR text does not parse");
  for (Error &e : list)
    if (e.code == ErrorCode::Internal)
      e.code = ErrorCode::Syntax;
  return list;
}

std::vector<Error> Pipeline::run(
    std::string_view from, std::string_view to,
    const std::function<void(const Phase &, double)> &after) {
  bool active = from.empty();
  for (const Phase &phase : allPhases()) {
    if (active) {
      auto start = std::chrono::steady_clock::now();
      PassManager pm(ctx.get());
      pm.enableVerifier(true);
      phase.build(pm, options, target);
      bool failed = mlir::failed(pm.run(*op));
      double seconds = std::chrono::duration<double>(
                           std::chrono::steady_clock::now() - start)
                           .count();
      if (failed)
        return takeErrors("phase " + std::string(phase.name) + " failed");
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
