//===- Passes.h - the passes between import and machine code ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
}
namespace func {
class FuncDialect;
}
namespace linalg {
class LinalgDialect;
}
namespace LLVM {
class LLVMDialect;
}
namespace math {
class MathDialect;
}
namespace memref {
class MemRefDialect;
}
namespace scf {
class SCFDialect;
}
} // namespace mlir

namespace tenon::rt {
class RtDialect;
}
namespace tenon::tile {
class TileDialect;
}

namespace tenon::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace tenon::passes
