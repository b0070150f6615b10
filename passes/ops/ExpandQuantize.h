//===- ExpandQuantize.h - quantisation as arithmetic -----------*- C++ -*-===//
#pragma once

#include "mlir/IR/Operation.h"

namespace tenon {

/// Replaces a (dynamic) Quantize or Dequantize by arithmetic.
void expandQuantize(mlir::Operation *op);

/// Whether pooling what `dequantize` makes is the same as scaling, behind it,
/// what `pool` makes of levels: greater levels are greater numbers, and an
/// average of levels is the level of the average, if there is a level for
/// padding that counts.
bool commutes(mlir::Operation *dequantize, mlir::Operation *pool);

} // namespace tenon
