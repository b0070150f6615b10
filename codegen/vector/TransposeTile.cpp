//===- TransposeTile.cpp - square tiles transposed in registers -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/vector/TransposeTile.h"
#include "codegen/vector/LocalFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tenon::codegen {

/// Exchanges blocks of halving size between pairs of rows.
void transposeRows(OpBuilder &builder, Location loc,
                   MutableArrayRef<Value> rows) {
  int64_t lanes = rows.size();
  for (int64_t size = lanes / 2; size >= 1; size /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i) {
      bool second = i / size % 2;
      low.push_back(second ? lanes + i - size : i);
      high.push_back(second ? lanes + i : i + size);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i / size % 2)
        continue;
      Value x = rows[i], y = rows[i + size];
      rows[i] = vector::ShuffleOp::create(builder, loc, x, y, low);
      rows[i + size] = vector::ShuffleOp::create(builder, loc, x, y, high);
    }
  }
}

/// (from, elements between its rows, to, elements between its rows), and, if it
/// `prefetches`, elements between what is read and what is prefetched.
static func::FuncOp getTransposeTile(OpBuilder &builder, Location loc,
                                     Operation *user, Type element,
                                     int64_t lanes, int64_t group,
                                     bool prefetches) {
  auto module = user->getParentOfType<ModuleOp>();
  std::string name;
  llvm::raw_string_ostream(name)
      << "tenon_transpose_" << element << (group > 1 ? "g" : "")
      << (group > 1 ? std::to_string(group) : "") << "_" << lanes << "x"
      << lanes << (prefetches ? "_f" : "");
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type number = builder.getI64Type();
  SmallVector<Type> types{pointer, number, pointer, number};
  if (prefetches)
    types.push_back(number);
  auto func = createLocalFunction(builder, loc, name,
                                  builder.getFunctionType(types, {}));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto row = [&](unsigned base, int64_t i) -> Value {
    Value index = LLVM::ConstantOp::create(builder, loc, number, i);
    Value offset =
        LLVM::MulOp::create(builder, loc, entry->getArgument(base + 1), index);
    return LLVM::GEPOp::create(builder, loc, pointer, element,
                               entry->getArgument(base), ValueRange{offset});
  };
  unsigned bits = element.getIntOrFloatBitWidth();
  Type moved = group == 1 ? element : builder.getIntegerType(bits * group);
  auto vector = VectorType::get({lanes}, moved);
  unsigned alignment = bits / 8;
  SmallVector<Value> rows;
  for (int64_t i = 0; i < lanes; ++i)
    rows.push_back(
        LLVM::LoadOp::create(builder, loc, vector, row(0, i), alignment));
  for (int64_t i = 0; prefetches && i < lanes; ++i) {
    Value ahead = LLVM::GEPOp::create(builder, loc, pointer, element, row(0, i),
                                      ValueRange{entry->getArgument(4)});
    LLVM::Prefetch::create(builder, loc, ahead, /*rw=*/0, /*hint=*/3,
                           /*cache=*/1);
  }
  transposeRows(builder, loc, rows);
  for (int64_t i = 0; i < lanes; ++i)
    LLVM::StoreOp::create(builder, loc, rows[i], row(2, i), alignment);
  func::ReturnOp::create(builder, loc);
  return func;
}

void callTransposeTile(OpBuilder &builder, Location loc, int64_t lanes,
                       TileRows from, TileRows to, int64_t group,
                       int64_t ahead) {
  auto integer = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      index);
  };
  Type element = cast<MemRefType>(from.view.getType()).getElementType();
  SmallVector<Value> arguments;
  for (const TileRows &tile : {from, to}) {
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, tile.view);
    Value base = LLVM::IntToPtrOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        integer(address));
    arguments.push_back(LLVM::GEPOp::create(builder, loc, base.getType(),
                                            element, base,
                                            ValueRange{integer(tile.start)}));
    arguments.push_back(integer(tile.stride));
  }
  if (ahead)
    arguments.push_back(LLVM::ConstantOp::create(
        builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(ahead)));
  Operation *user = builder.getInsertionBlock()->getParentOp();
  func::CallOp::create(
      builder, loc,
      getTransposeTile(builder, loc, user, element, lanes, group, ahead != 0),
      arguments);
}

} // namespace tenon::codegen
