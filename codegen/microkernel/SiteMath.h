//===- SiteMath.h - addresses where kernels are called ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tenon::microkernel {

/// A memref taken apart: pointer to its first element, sizes and strides (i64).
struct View {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides;
};

/// A size that is a number where it is known at compile time.
struct Size {
  mlir::Value dynamic; // index; null when fixed.
  int64_t fixed = 0;
  int64_t unit = 1; // `dynamic` is a multiple of it
};

/// Builds in front of an operation.
class SiteMath {
protected:
  using Value = mlir::Value;

  explicit SiteMath(mlir::Operation *op) : builder(op), loc(op->getLoc()) {}

  Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value integer(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getI64IntegerAttr(value));
  }
  Value valueOf(Size size) {
    return size.dynamic ? size.dynamic : index(size.fixed);
  }
  Value fromInteger(Value value) {
    return mlir::arith::IndexCastOp::create(builder, loc,
                                            builder.getIndexType(), value);
  }
  Value toInteger(Value value) {
    return mlir::arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            value);
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(builder, loc, x, y);
  }
  /// `pointer` + `index` * `stride` elements.
  Value advance(Value pointer, Value position, Value stride,
                mlir::Type element) {
    Value offset = make<mlir::arith::MulIOp>(toInteger(position), stride);
    return mlir::LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                     pointer, mlir::ValueRange{offset});
  }

  View takeApart(Value memref) {
    auto type = mlir::cast<mlir::MemRefType>(memref.getType());
    auto metadata =
        mlir::memref::ExtractStridedMetadataOp::create(builder, loc, memref);
    auto [strides, offset] = type.getStridesAndOffset();
    auto number = [&](int64_t fixed, Value dynamic) {
      return mlir::ShapedType::isDynamic(fixed) ? toInteger(dynamic)
                                                : integer(fixed);
    };
    View view;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      view.sizes.push_back(number(type.getDimSize(i), metadata.getSizes()[i]));
      view.strides.push_back(number(strides[i], metadata.getStrides()[i]));
    }
    Value address = mlir::memref::ExtractAlignedPointerAsIndexOp::create(
        builder, loc, memref);
    Value base = mlir::LLVM::IntToPtrOp::create(
        builder, loc, mlir::LLVM::LLVMPointerType::get(builder.getContext()),
        toInteger(address));
    view.pointer = mlir::LLVM::GEPOp::create(
        builder, loc, base.getType(), type.getElementType(), base,
        mlir::ValueRange{number(offset, metadata.getOffset())});
    return view;
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
};

} // namespace tenon::microkernel
