//===- Decompose.h - pieces of DecomposeGraph ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/ops/WindowGeometry.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tenon::passes {

/// A per-channel vector, shaped to broadcast against NXC or NCX tensors.
mlir::Value perChannel(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v,
                       bool ncx, int64_t rank);

/// product + bias, part of one operation (kPartAttr).
mlir::Value addBias(mlir::OpBuilder &b, mlir::Location loc, mlir::Value product,
                    mlir::Value bias);

/// Brings an operation of the convolution family to its normal form. False
/// when it has that already.
bool decomposeConvolution(mlir::Operation *op, mlir::OpBuilder &b);

/// Brings a (dynamic) Quantize or Dequantize of weights with scales for each
/// channel of each group to one with a scale for each index of its axis. False
/// when it has that already. Before convolutions are brought to normal form.
bool separateGroupedScales(mlir::Operation *op, mlir::OpBuilder &b);

/// Whether the number of scales of `op`, which convolutions in groups read,
/// is not known: one for each index of its axis, or for each of each group?
bool hasUnknownScaleGroups(mlir::Operation *op);

/// The same for parts and repetitions of tensors, and for elementwise
/// operations that read a Concat of parts (DecomposeMovement.cpp).
bool decomposeMovement(mlir::Operation *op, mlir::OpBuilder &b);

/// The first element of a Slice along each dim of src, and the steps, as
/// tile.slice has them. `ends`, of dims of unknown size, is empty where all of
/// them are taken whole, `sizes` where none is computed from named ones.
struct SliceBox {
  llvm::SmallVector<int64_t> offsets, steps, ends;
  llvm::SmallVector<std::string> sizes;
};
/// None where begins and ends are not known and do not follow from named sizes,
/// or a dim of unknown size is taken backwards.
std::optional<SliceBox> sliceBoxOf(mlir::Operation *slice);

/// Whether all sizes of the result of `op`, a Reshape, StaticReshape or Expand,
/// can be computed: from the type, the operand or named sizes.
bool canComputeSizes(mlir::Operation *op);

/// The same for normalisations and their gradients (DecomposeNorms.cpp).
bool decomposeNorm(mlir::Operation *op, mlir::OpBuilder &b);

} // namespace tenon::passes
