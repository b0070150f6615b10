//===- Decompose.h - pieces of DecomposeGraph ------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon {

/// Whether `op`, whose data has this rank, has data_format NCX.
bool isNcx(mlir::Operation *op, int64_t rank);

/// A per-channel vector, shaped to broadcast against NXC or NCX tensors.
mlir::Value perChannel(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       bool ncx, int64_t rank);

/// product + bias, part of one operation (kPartAttr).
mlir::Value addBias(mlir::OpBuilder &b, mlir::Location loc, mlir::Value product,
                    mlir::Value bias);

/// Brings an operation of the convolution family to its normal form. False
/// when it has that already.
bool decomposeConvolution(mlir::Operation *op, mlir::OpBuilder &b);

/// The same for normalisations and their gradients (DecomposeNorms.cpp).
bool decomposeNorm(mlir::Operation *op, mlir::OpBuilder &b);

/// Replaces a (dynamic) Quantize or Dequantize by arithmetic
/// (ExpandQuantize.cpp).
void expandQuantize(mlir::Operation *op);

} // namespace tenon
