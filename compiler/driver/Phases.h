//===- Phases.h - the one list of phases -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A phase is a name and a pipeline. `--compile-to`, `--compile-from`,
// `--dump-phases`, `tenon inspect --phase` and the reports use the names.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Options.h"

#include <functional>
#include <span>
#include <string_view>

namespace mlir {
class DialectRegistry;
class OpPassManager;
class PassManager;
} // namespace mlir

namespace tenon {

struct Phase {
  std::string_view name;
  std::string_view summary;
  void (*build)(mlir::OpPassManager &pm, const Options &options);
};

/// import, graph, quantize, constants, layout, fuse, tile, bufferize,
/// parallel, llvm; in order.
std::span<const Phase> allPhases();
/// Null when there is none of that name.
const Phase *findPhase(std::string_view name);

/// Called with the pass manager of each phase before it runs: a tool turns on
/// timing, printing and the like. False fails the phase. To be set before the
/// first compilation, from one thread.
using PassManagerSetup =
    std::function<bool(mlir::PassManager &pm, const Phase &phase)>;
void setPassManagerSetup(PassManagerSetup setup);
bool hasPassManagerSetup();
bool setUpPassManager(mlir::PassManager &pm, const Phase &phase);

/// Called with the name of each phase before it runs, and with "object" before
/// object code is written. To be set while nothing compiles; empty: nobody
/// listens.
using PhaseListener = std::function<void(std::string_view phase)>;
void setPhaseListener(PhaseListener listener);
void tellPhase(std::string_view phase);

/// All dialects and interfaces that any phase's IR may hold.
void registerAllDialects(mlir::DialectRegistry &registry);
/// All passes, Tenon's and the upstream ones the pipelines use, for tenon-opt.
void registerAllPasses();

} // namespace tenon
