//===- Combiners.h - how reductions combine --------------------*- C++ -*-===//
#pragma once

#include "codegen/vector/VectorPlan.h"

namespace tenon::codegen {

/// How output `number` of `op` accumulates: yield = combine(old value, new
/// element); nothing if it does otherwise.
std::optional<Combiner> matchCombiner(mlir::linalg::LinalgOp op,
                                      unsigned number);

} // namespace tenon::codegen
