//===- KernelCode.h - what the parts of a kernel's code share -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/microkernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tenon::microkernel {

/// Numbers, addresses and vectors of the kernel that is being built.
class KernelCode {
protected:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using VectorType = mlir::VectorType;

  KernelCode(mlir::OpBuilder &builder, mlir::Location loc,
             const KernelSpec &spec, mlir::ValueRange arguments)
      : builder(builder), loc(loc), spec(spec),
        args(KernelOperands::unflatten(spec, arguments)), rows(spec.tile.rows),
        vectors(spec.tile.vectors) {}

  Value constant(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getI64IntegerAttr(value));
  }

  Value mul(Value x, Value y) {
    return mlir::arith::MulIOp::create(builder, loc, x, y);
  }

  Value add(Value x, Value y) {
    return mlir::arith::AddIOp::create(builder, loc, x, y);
  }

  VectorType vectorOf(Type element) {
    return VectorType::get({spec.lanes}, element);
  }

  /// `pointer` + `offset` elements.
  Value advance(Value pointer, Value offset, Type element) {
    return mlir::LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                     pointer, mlir::ValueRange{offset});
  }

  Value advance(Value pointer, int64_t offset, Type element) {
    if (offset == 0)
      return pointer;
    return mlir::LLVM::GEPOp::create(
        builder, loc, pointer.getType(), element, pointer,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }

  static unsigned alignment(Type element) {
    return element.getIntOrFloatBitWidth() / 8;
  }

  Value broadcast(Value scalar) {
    return mlir::vector::BroadcastOp::create(
        builder, loc, vectorOf(scalar.getType()), scalar);
  }

  Value loadScalar(Value pointer, Type element) {
    return mlir::LLVM::LoadOp::create(builder, loc, element, pointer,
                                      alignment(element));
  }

  bool isPartial(int64_t v) const { return spec.maskedC && v == vectors - 1; }

  /// Vector `v` of a row; lanes beyond the row's end are 0 and not read.
  Value loadVector(Value pointer, int64_t v, Type element, bool masked) {
    VectorType type = vectorOf(element);
    pointer = advance(pointer, v * spec.lanes, element);
    if (!masked || !isPartial(v))
      return mlir::LLVM::LoadOp::create(builder, loc, type, pointer,
                                        alignment(element));
    Value zero = mlir::arith::ConstantOp::create(builder, loc,
                                                 builder.getZeroAttr(type));
    return mlir::LLVM::MaskedLoadOp::create(
        builder, loc, type, pointer, mask, zero,
        builder.getI32IntegerAttr(alignment(element)), nullptr);
  }

  Value zeros(VectorType type) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(type));
  }

  void buildPrefetchAt(Value address, bool forWriting, unsigned level) {
    constexpr unsigned data = 1;
    mlir::LLVM::Prefetch::create(builder, loc, address, forWriting, level,
                                 data);
  }

  static constexpr unsigned toL2 = 2,
                            nearest = 3; // as LLVM counts quantized weights

  /// As many lines as a full strip fills. Where a row begins inside a line its
  /// last one is left out: it is the first of the next strip, or alone.
  void prefetchRow(Value row, Type element, bool forWriting,
                   unsigned level = nearest) {
    int64_t bytes = vectors * spec.lanes * alignment(element);
    for (int64_t at = 0; at < bytes; at += kLineBytes)
      buildPrefetchAt(advance(row, at, builder.getI8Type()), forWriting, level);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const KernelSpec &spec;
  KernelOperands args;
  int64_t rows, vectors;
  Value mask; // lanes of a partial vector
};

} // namespace tenon::microkernel
