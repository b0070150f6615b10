//===- MatrixKernel.cpp - products in a matrix unit -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   zero the tiles of sums
//   for b1, .., bj:
//     for each 16 groups of k:
//       load tiles of A and B, multiply each of A with each of B
//   store the sums
//
// Tile registers are named by immediates, and nothing else here uses them: no
// allocation is needed. 0..3: sums, 4 and 5: A, 6 and 7: B.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/MatrixKernel.h"
#include "codegen/vector/LocalFunction.h"
#include "dialects/support/LinkNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tenon::microkernel;

std::string MatrixKernelSpec::name() const {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << kMatrixKernelPrefix << element;
  if (element.isInteger())
    os << "su"[static_cast<int>(sign)];
  os << "_" << rowTiles << "x" << columnTiles << "_b" << numBatchDims;
  if (prefetch)
    os << "_pf" << prefetch << (prefetchNear ? "n" : "");
  if (prefetchRows)
    os << "_fa";
  return result;
}

SmallVector<Value> MatrixKernelOperands::flatten() const {
  SmallVector<Value> values(a.begin(), a.end());
  llvm::append_range(values, sums);
  values.push_back(b);
  if (ahead)
    values.push_back(ahead);
  values.append({steps, aRow, bRow, sumRow});
  for (auto list : {&batch, &aBatch, &bBatch})
    llvm::append_range(values, *list);
  return values;
}

namespace {

constexpr int64_t kFirstA = 4, kFirstB = 6;

Value integer(OpBuilder &b, Location loc, int64_t value, unsigned bits = 64) {
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(b.getIntegerType(bits), value));
}

void callIntrinsic(OpBuilder &b, Location loc, StringRef name,
                   ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, loc, b.getStringAttr(name), operands);
}

class MatrixKernelBuilder {
public:
  MatrixKernelBuilder(OpBuilder &b, Location loc, const MatrixKernelSpec &spec,
                      ValueRange arguments)
      : b(b), loc(loc), spec(spec) {
    auto take = [&](size_t count) {
      SmallVector<Value, 2> values(arguments.take_front(count));
      arguments = arguments.drop_front(count);
      return values;
    };
    args.a = take(spec.rowTiles);
    args.sums = take(spec.rowTiles);
    args.b = take(1)[0];
    if (spec.prefetch)
      args.ahead = take(1)[0];
    args.steps = take(1)[0];
    args.aRow = take(1)[0];
    args.bRow = take(1)[0];
    args.sumRow = take(1)[0];
    for (auto list : {&args.batch, &args.aBatch, &args.bBatch})
      *list = SmallVector<Value>(take(spec.numBatchDims));
  }

  void build() {
    forTiles([&](int64_t row, int64_t column) {
      call("tilezero", {tile(sum(row, column))});
    });
    bytesOfARow = bytes(args.aRow, spec.element);
    bytesOfBRow = bytes(args.bRow, spec.element);
    SmallVector<Value> pointers(args.a.begin(), args.a.end());
    pointers.push_back(args.b);
    if (spec.prefetch)
      pointers.push_back(args.ahead);
    buildReduction(0, pointers);
    Value stride = bytes(args.sumRow, spec.sum);
    forTiles([&](int64_t row, int64_t column) {
      Value to = advance(args.sums[row], column * kTileColumns, spec.sum);
      call("tilestored64", {tile(sum(row, column)), to, stride});
    });
  }

private:
  static int64_t sum(int64_t row, int64_t column) {
    return row * kTilesPerSide + column;
  }
  Value tile(int64_t number) { return integer(b, loc, number, 8); }
  void call(StringRef name, ValueRange operands) {
    callIntrinsic(b, loc, ("llvm.x86." + name).str(), operands);
  }
  void forTiles(llvm::function_ref<void(int64_t, int64_t)> visit) {
    for (int64_t row = 0; row < spec.rowTiles; ++row)
      for (int64_t column = 0; column < spec.columnTiles; ++column)
        visit(row, column);
  }
  Value bytes(Value elements, Type element) {
    return arith::MulIOp::create(
        b, loc, elements, integer(b, loc, element.getIntOrFloatBitWidth() / 8));
  }
  Value advance(Value pointer, Value offset, Type element) {
    return LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer,
                               ValueRange{offset});
  }
  Value advance(Value pointer, int64_t offset, Type element) {
    return offset == 0 ? pointer
                       : advance(pointer, integer(b, loc, offset), element);
  }

  /// Loops over batch dimensions `level`.. and k; `pointers` are those of A,
  /// then that of B.
  void buildReduction(unsigned level, ArrayRef<Value> pointers) {
    if (level == spec.numBatchDims)
      return buildInnerProduct(pointers);
    scf::ForOp::create(
        b, loc, integer(b, loc, 0), args.batch[level], integer(b, loc, 1),
        ValueRange{}, [&](OpBuilder &, Location, Value i, ValueRange) {
          SmallVector<Value> inner;
          for (auto [n, pointer] : llvm::enumerate(pointers)) {
            bool isB = n == args.a.size();
            Value stride = (isB ? args.bBatch : args.aBatch)[level];
            inner.push_back(advance(pointer,
                                    arith::MulIOp::create(b, loc, i, stride),
                                    spec.element));
          }
          buildReduction(level + 1, inner);
          scf::YieldOp::create(b, loc);
        });
  }

  void buildInnerProduct(ArrayRef<Value> pointers) {
    Value bStep =
        arith::MulIOp::create(b, loc, args.bRow, integer(b, loc, kTileGroups));
    scf::ForOp::create(
        b, loc, integer(b, loc, 0), args.steps, integer(b, loc, 1), pointers,
        [&](OpBuilder &, Location, Value, ValueRange at) {
          buildStep(at);
          SmallVector<Value> next;
          for (Value a : at.take_front(spec.rowTiles))
            next.push_back(
                advance(a, kTileGroups * spec.interleave, spec.element));
          next.push_back(advance(at[spec.rowTiles], bStep, spec.element));
          if (spec.prefetch)
            next.push_back(buildPrefetch(at.back()));
          scf::YieldOp::create(b, loc, next);
        });
  }

  void buildStep(ValueRange at) {
    for (int64_t column = 0; column < spec.columnTiles; ++column) {
      Value from =
          advance(at[spec.rowTiles], column * kTileColumns * spec.interleave,
                  spec.element);
      call("tileloadd64", {tile(kFirstB + column), from, bytesOfBRow});
    }
    for (int64_t row = 0; row < spec.rowTiles; ++row) {
      call("tileloadd64", {tile(kFirstA + row), at[row], bytesOfARow});
      if (spec.prefetchRows)
        prefetchTile(at[row]);
      for (int64_t column = 0; column < spec.columnTiles; ++column)
        call(product(), {tile(sum(row, column)), tile(kFirstA + row),
                         tile(kFirstB + column)});
    }
  }

  /// Rows of A lie far apart, and no hardware prefetches ahead of such loads:
  /// the lines that a later step loads here.
  void prefetchTile(Value a) {
    constexpr unsigned read = 0, toL1 = 3, data = 1;
    for (int64_t r = 0; r < kTileRows; ++r) {
      Value offset =
          arith::MulIOp::create(b, loc, bytesOfARow, integer(b, loc, r));
      Value line = advance(advance(a, offset, b.getI8Type()),
                           kStepsAhead * kLineBytes, b.getI8Type());
      LLVM::Prefetch::create(b, loc, line, read, toL1, data);
    }
  }

  /// Returns where the next step goes on.
  Value buildPrefetch(Value address) {
    constexpr unsigned read = 0, toL2 = 2, toL1 = 3, data = 1;
    for (int64_t i = 0; i < spec.prefetch; ++i) {
      LLVM::Prefetch::create(b, loc, address, read,
                             spec.prefetchNear ? toL1 : toL2, data);
      address = advance(address, kLineBytes, b.getI8Type());
    }
    return address;
  }

  StringRef product() const {
    if (spec.element.isBF16())
      return "tdpbf16ps";
    return spec.sign == ByteSign::Unsigned ? "tdpbusd" : "tdpbssd";
  }

  OpBuilder &b;
  Location loc;
  const MatrixKernelSpec &spec;
  MatrixKernelOperands args;
  Value bytesOfARow, bytesOfBRow;
};
} // namespace

func::FuncOp
tenon::microkernel::buildMatrixKernel(OpBuilder &builder, Location loc,
                                      const MatrixKernelSpec &spec) {
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type integer = builder.getI64Type();
  SmallVector<Type> types(2 * spec.rowTiles + 1 + (spec.prefetch > 0), pointer);
  types.append(4 + 3 * spec.numBatchDims, integer);
  auto func = codegen::createLocalFunction(
      builder, loc, spec.name(), FunctionType::get(context, types, {}));
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  MatrixKernelBuilder(builder, loc, spec, entry->getArguments()).build();
  func::ReturnOp::create(builder, loc);
  return func;
}

void tenon::microkernel::buildTileConfiguration(OpBuilder &b, Location loc,
                                                Value memory, Value rows) {
  // Byte 0: palette; 16 + 2 t: bytes of a row of tile t; 48 + t: its rows.
  constexpr int64_t numTiles = 8, wordsAt = 16, rowsAt = 48, bytesPerRow = 64;
  auto at = [&](int64_t byte) {
    return LLVM::GEPOp::create(
        b, loc, memory.getType(), b.getI8Type(), memory,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byte)});
  };
  for (int64_t i = 0; i < bytesPerRow; i += 8)
    LLVM::StoreOp::create(b, loc, integer(b, loc, i == 0), at(i), 8);
  Value wide = integer(b, loc, bytesPerRow, 16), full = integer(b, loc, 16, 8);
  rows = arith::TruncIOp::create(b, loc, b.getI8Type(), rows);
  for (int64_t t = 0; t < numTiles; ++t) {
    LLVM::StoreOp::create(b, loc, wide, at(wordsAt + 2 * t), 2);
    LLVM::StoreOp::create(b, loc, t < kFirstB ? rows : full, at(rowsAt + t), 1);
  }
  callIntrinsic(b, loc, "llvm.x86.ldtilecfg", memory);
}

void tenon::microkernel::buildTileRelease(OpBuilder &b, Location loc) {
  callIntrinsic(b, loc, "llvm.x86.tilerelease", {});
}
