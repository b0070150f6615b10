//===- GroupStats.h - what groups compute and move -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/report/CompileReport.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon {

class OpNames;

/// Adds the groups of a module after the fuse phase.
void collectGroups(mlir::ModuleOp module, const OpNames &names,
                   CompileReport &report);

/// Adds copies and the arena's buffers of a module after the bufferize phase.
void collectBuffers(mlir::ModuleOp module, const OpNames &names,
                    CompileReport &report);

} // namespace tenon
