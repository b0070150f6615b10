//===- Gather.h - what is learnt between the phases ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver. Reports and the description of the code are about
// things that later phases do away with: groups, copies, roles of arguments.
// They are gathered from the IR after the phase that decides them; Gather.cpp
// has the one list of what is gathered after which phase.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/ModelInfo.h"
#include "compiler/driver/Phases.h"
#include "compiler/driver/ReportSupport.h"
#include "compiler/driver/Target.h"
#include "compiler/report/CompileReport.h"
#include "dialects/graph/infer/Prepare.h"

#include <map>

namespace tenon {

/// Position of each port in the description of a model, by id.
struct PortIndex {
  explicit PortIndex(const graph::Graph &graph);
  std::map<uint64_t, int32_t> inputs, outputs;
};

/// What a compilation has gathered so far. The graph, the target and the report
/// have to outlive it.
struct Gathered {
  Gathered(const graph::PreparedGraph &graph, const Target &target,
           CompileReport &report)
      : target(target), report(report), ports(*graph), names(*graph) {}

  const Target &target;
  CompileReport &report;
  const PortIndex ports;
  const OpNames names;
  codegen::CodeInfo code;
  /// Inputs that may share memory with outputs, by id.
  std::vector<std::pair<uint64_t, uint64_t>> inPlace;
};

/// Gathers what is known after `phase`, which has just run on `module`.
void gatherAfter(const Phase &phase, mlir::ModuleOp module, Gathered &to);

} // namespace tenon
