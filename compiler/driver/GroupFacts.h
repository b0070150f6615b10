//===- GroupFacts.h - what groups compute and move -------------*- C++ -*-===//
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/CompileReport.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon {

/// Adds the groups of a module behind the fuse phase, made from `graph`.
void collectGroups(mlir::ModuleOp module, const graph::Graph &graph,
                   CompileReport &report);

/// Adds copies and the arena's buffers of a module behind the bufferize phase.
void collectBuffers(mlir::ModuleOp module, const graph::Graph &graph,
                    CompileReport &report);

} // namespace tenon
