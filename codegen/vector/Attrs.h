//===- Attrs.h - what others may ask of the vectoriser ---------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tenon::codegen {

/// On a linalg operation without reductions, the number of a parallel loop: it
/// runs inside the loop over vectors, so that vectors of operands that do not
/// depend on it stay in registers.
inline constexpr llvm::StringLiteral kInnerLoopAttr = "codegen.inner_loop";

} // namespace tenon::codegen
