//===- TargetIsa.h - the vector unit of a target ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/RegisterTile.h"
#include "dialects/tile/Target.h"

namespace tenon::microkernel {

inline VectorIsa isaOf(tile::TargetAttr target) {
  return {target.getVectorBits(), target.getNumVectorRegisters()};
}

} // namespace tenon::microkernel
