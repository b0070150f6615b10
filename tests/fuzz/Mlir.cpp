//===- Mlir.cpp - fuzz target: bytes as MLIR text -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Any text gives a module or diagnostics.  A module that verifies has a graph,
// or errors with a code; the graph becomes a module again, and the module goes
// through the phases up to the normal form of graphs.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Session.h"
#include "dialects/graph/Convert.h"
#include "dialects/graph/GraphDialect.h"
#include "tests/fuzz/Fuzz.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace tenon;

namespace {

/// Contexts keep every type and attribute they have seen.
constexpr int kInputsPerContext = 2000;

/// With the dialects that a graph is written in; the parsers of others are not
/// what is tested here.
mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int inputs = 0;
  if (!context || ++inputs % kInputsPerContext == 0) {
    context.reset();
    context = std::make_unique<mlir::MLIRContext>(
        mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<graph::GraphDialect, mlir::func::FuncDialect,
                         mlir::arith::ArithDialect>();
    context->getDiagEngine().registerHandler(
        [](mlir::Diagnostic &) { return mlir::success(); });
  }
  return *context;
}

void checkModule(mlir::ModuleOp module, mlir::MLIRContext &context) {
  auto plain = graph::fromMLIR(module);
  if (!plain) {
    fuzz::requireBlameless(plain.errors());
    return;
  }
  auto prepared = graph::prepareGraph(std::move(*plain));
  if (prepared)
    fuzz::require(
        mlir::succeeded(mlir::verify(*graph::toMLIR(*prepared, context))),
        "a graph from a module is no module", "");
  else
    fuzz::requireBlameless(prepared.errors());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  auto lowered = lowerText(text, Options(), "import", "graph");
  if (!lowered)
    fuzz::requireBlameless(lowered.errors());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = freshContext();
  std::string text(reinterpret_cast<const char *>(data), size);
  if (auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context))
    checkModule(*module, context);
  return 0;
}
