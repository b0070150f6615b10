//===- ExpandQuantize.h - quantisation as arithmetic -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Operation.h"

namespace tenon::passes {

/// Replaces a (dynamic) Quantize or Dequantize by arithmetic.
void expandQuantize(mlir::Operation *op);

/// Whether `dequantize` may be moved from before `pool` to after it. Maxima may
/// be taken of quantized elements, since scales are positive. Averages may, if
/// no window has padding that counts, or the zero point is 0.
bool commutesWithPooling(mlir::Operation *dequantize, mlir::Operation *pool);

} // namespace tenon::passes
