//===- Pipeline.h - running phases on a module -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/CompilePool.h"
#include "compiler/driver/Phases.h"
#include "compiler/driver/Session.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon {

/// A context with all dialects, whose diagnostics become coded errors and
/// remarks; single-threaded until the last phase of a large graph.  Where MLIR
/// cannot go on, that is an error as well: the context and the module are gone
/// then, and nothing else may be asked for.
class Pipeline {
public:
  explicit Pipeline(const Options &options);
  ~Pipeline();

  mlir::MLIRContext &context() { return *ctx; }
  /// Imports a graph, to be compiled for `target`, which the module names.
  std::vector<Error> import(const graph::PreparedGraph &graph,
                            const Target &target);
  /// Parses IR of any phase.
  std::vector<Error> parse(std::string_view text);
  /// Gives IR that was parsed the target. Errors: BadOption, where passes have
  /// made the IR for another one.
  std::vector<Error> setTarget(const Target &target);
  /// Runs the phases after `from` ("" : from the start) up to `to`, calling
  /// `after` after each. The module has its target.
  std::vector<Error>
  run(std::string_view from, std::string_view to,
      const std::function<void(const Phase &, double seconds)> &after = {});
  mlir::ModuleOp module() { return *op; }
  std::string text(bool locations) const;
  const std::vector<std::string> &remarks() const { return remarkList; }

private:
  std::vector<Error> takeErrors(const std::string &fallback);
  /// Calls `work`, which returns errors, under a guard.
  std::vector<Error> guarded(llvm::function_ref<std::vector<Error>()> work);
  std::vector<Error> runPhase(const Phase &phase);
  void startThreads();

  Options options;
  std::unique_ptr<CompilePool> pool; // outlives the context
  std::unique_ptr<mlir::MLIRContext> ctx;
  mlir::OwningOpRef<mlir::ModuleOp> op;
  std::vector<Error> errors;
  std::vector<std::string> remarkList;
};

} // namespace tenon
