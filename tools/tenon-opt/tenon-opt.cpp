//===- tenon-opt.cpp - run passes on MLIR text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt with Tenon's dialects and passes.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Phases.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tenon::registerAllDialects(registry);
  tenon::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tenon's pass driver\n", registry));
}
