//===- Reorders.h - what is copied in another order ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver. Each adds to report.reorders.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/report/CompileReport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon {

class OpNames;

/// After the layout phase: tensors that are read in the order in which they
/// are computed, which is not the graph's.
void collectKept(mlir::ModuleOp module, const OpNames &names,
                 CompileReport &report);

/// After the fuse phase: groups that only copy, and transposes that are part
/// of what reads or writes a tensor.
void collectReorders(mlir::ModuleOp module, const OpNames &names,
                     CompileReport &report);

/// After the bufferize phase: a call that copies from one buffer to another,
/// in @main or @fold.
void addCopy(mlir::func::CallOp call, const OpNames &names,
             CompileReport &report);

} // namespace tenon
