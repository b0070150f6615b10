//===- MathBuilder.h - short names for arithmetic --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/math/MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <array>
#include <initializer_list>

namespace tenon::codegen {

/// Builds arithmetic on values of one shape (scalar, or vectors of one length):
/// floats are f32, integers i32 unless a function says otherwise.
class MathBuilder {
public:
  using Value = mlir::Value;

  MathBuilder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type like,
              MathIsa extra = {})
      : b(b), loc(loc), extra(extra),
        shape(mlir::dyn_cast<mlir::VectorType>(like)) {}

  /// `element`, in a vector where the operands are vectors.
  mlir::Type typeOf(mlir::Type element) {
    return shape ? mlir::Type(shape.clone(element)) : element;
  }
  Value number(float value) {
    return constant(b.getF32FloatAttr(value), b.getF32Type());
  }
  Value integer(int32_t value) {
    return constant(b.getI32IntegerAttr(value), b.getI32Type());
  }

  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  /// `y` may be null: nothing to add.
  Value plus(Value x, Value y) { return y ? add(x, y) : x; }
  Value fma(Value x, Value y, Value z) {
    return make<mlir::math::FmaOp>(x, y, z);
  }
  Value abs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value sqrt(Value x) { return make<mlir::math::SqrtOp>(x); }
  Value roundEven(Value x) { return make<mlir::math::RoundEvenOp>(x); }
  Value copySign(Value x, Value sign) {
    return make<mlir::math::CopySignOp>(x, sign);
  }
  Value addI(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value subI(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value andI(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value orI(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value xorI(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value shl(Value x, int bits) {
    return make<mlir::arith::ShLIOp>(x, integer(bits));
  }
  Value shrU(Value x, int bits) {
    return make<mlir::arith::ShRUIOp>(x, integer(bits));
  }
  Value shrS(Value x, int bits) {
    return make<mlir::arith::ShRSIOp>(x, integer(bits));
  }
  Value toFloat(Value x) {
    return mlir::arith::SIToFPOp::create(b, loc, typeOf(b.getF32Type()), x);
  }
  /// The same bits as `element`.
  Value bits(Value x, mlir::Type element) {
    return mlir::arith::BitcastOp::create(b, loc, typeOf(element), x);
  }
  Value asInt(Value x) { return bits(x, b.getI32Type()); }
  Value asFloat(Value x) { return bits(x, b.getF32Type()); }

  Value less(Value x, Value y) { return compare(Predicate::OLT, x, y); }
  /// Also where either is NaN.
  Value notLess(Value x, Value y) { return compare(Predicate::UGE, x, y); }
  Value greater(Value x, Value y) { return compare(Predicate::OGT, x, y); }
  Value equal(Value x, Value y) { return compare(Predicate::OEQ, x, y); }
  Value unordered(Value x, Value y) { return compare(Predicate::UNO, x, y); }
  Value equalI(Value x, Value y) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }
  /// x limited to [low, high]; NaN stays.
  Value clamp(Value x, float low, float high) {
    return atMost(atLeast(x, low), high);
  }
  /// x, or `low` if that is more; NaN stays.
  Value atLeast(Value x, float low) {
    return select(less(x, number(low)), number(low), x);
  }
  /// x, or `high` if that is less; NaN stays.
  Value atMost(Value x, float high) {
    return select(greater(x, number(high)), number(high), x);
  }
  /// c[0] + c[1] x + c[2] x^2 ... by Horner's rule.
  Value polynomial(Value x, std::initializer_list<float> coefficients) {
    const float *c = coefficients.end() - 1;
    Value sum = number(*c);
    while (c != coefficients.begin())
      sum = fma(sum, x, number(*--c));
    return sum;
  }
  /// The same by Horner's rule in `square`, x^2, for pairs of terms: half the
  /// steps that wait for each other.
  Value polynomial(Value x, Value square, llvm::ArrayRef<Value> c) {
    Value sum;
    for (size_t i = (c.size() + 1) / 2 * 2; i > 0; i -= 2) {
      Value pair = i > c.size() ? c[i - 2] : fma(c[i - 1], x, c[i - 2]);
      sum = sum ? fma(sum, square, pair) : pair;
    }
    return sum;
  }
  Value polynomial(Value x, Value square,
                   std::initializer_list<float> coefficients) {
    mlir::SmallVector<Value> c;
    for (float value : coefficients)
      c.push_back(number(value));
    return polynomial(x, square, c);
  }

  static constexpr int64_t kTableSize = 8;
  using Table = std::array<float, kTableSize>;
  /// Whether the target has an instruction for `lookup` in vectors.
  bool hasLookup() const { return extra.avx2; }
  /// table[index mod 8], lane by lane.
  Value lookup(const Table &table, Value index) {
    if (!shape)
      return pick(vectorOf(table, kTableSize), index);
    int64_t lanes = shape.getNumElements();
    int64_t width = extra.avx512 && lanes % 16 == 0 ? 16 : kTableSize;
    const char *name =
        width == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
    Value entries = vectorOf(table, width);
    index = flat(index, (lanes + width - 1) / width * width);
    mlir::SmallVector<Value> parts;
    for (int64_t at = 0; at < lanes; at += width)
      parts.push_back(mlir::LLVM::CallIntrinsicOp::create(
                          b, loc, entries.getType(), b.getStringAttr(name),
                          mlir::ValueRange{entries, lanesOf(index, at, width)})
                          .getResults());
    return join(parts);
  }

  /// Whether `scalef` has an instruction for the operands.
  bool hasScalef() const {
    int64_t lanes = shape && shape.getRank() == 1 ? shape.getDimSize(0) : 0;
    return extra.avx512 && (lanes == 4 || lanes == 8 || lanes == 16);
  }
  /// x * 2^floor(n), rounded once however small or large.
  Value scalef(Value x, Value n) {
    int64_t lanes = shape.getDimSize(0);
    std::string name =
        "llvm.x86.avx512.mask.scalef.ps." + std::to_string(lanes * 32);
    int bits = lanes == 16 ? 16 : 8;
    Value all = make<mlir::arith::ConstantOp>(
        b.getIntegerAttr(b.getIntegerType(bits), -1));
    mlir::SmallVector<Value> operands{x, n, x, all};
    // Only the widest takes a rounding mode: that of the thread.
    if (lanes == 16)
      operands.push_back(make<mlir::arith::ConstantOp>(b.getI32IntegerAttr(4)));
    return mlir::LLVM::CallIntrinsicOp::create(b, loc, x.getType(),
                                               b.getStringAttr(name), operands)
        .getResults();
  }

  /// Whether `narrow` has an instruction for the operands.
  bool hasNarrow() const {
    return extra.avx512bf16 && shape && shape.getRank() == 1 &&
           (shape.getDimSize(0) == 16 ||
            (extra.avx512 && shape.getDimSize(0) == 8));
  }
  /// x in bf16; denormal numbers are 0.
  Value narrow(Value x) {
    const char *name = shape.getDimSize(0) == 16
                           ? "llvm.x86.avx512bf16.cvtneps2bf16.512"
                           : "llvm.x86.avx512bf16.cvtneps2bf16.256";
    return mlir::LLVM::CallIntrinsicOp::create(b, loc, typeOf(b.getBF16Type()),
                                               b.getStringAttr(name),
                                               mlir::ValueRange{x})
        .getResults();
  }

private:
  /// vector[index mod its size].
  Value pick(Value vector, Value index) {
    Value place = make<mlir::arith::IndexCastUIOp>(
        b.getIndexType(), andI(index, integer(kTableSize - 1)));
    return make<mlir::vector::ExtractOp>(vector, place);
  }
  /// The table, as often as it fits.
  Value vectorOf(const Table &table, int64_t lanes) {
    mlir::SmallVector<float> values;
    for (int64_t i = 0; i < lanes; ++i)
      values.push_back(table[i % kTableSize]);
    auto type = mlir::VectorType::get({lanes}, b.getF32Type());
    return make<mlir::arith::ConstantOp>(
        mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(values)));
  }
  /// `count` lanes of `x` of rank 1 from `at`; after the last the first again.
  Value lanesOf(Value x, int64_t at, int64_t count) {
    int64_t has = mlir::cast<mlir::VectorType>(x.getType()).getNumElements();
    if (has == count)
      return x;
    mlir::SmallVector<int64_t> from;
    for (int64_t i = 0; i < count; ++i)
      from.push_back((at + i) % has);
    return make<mlir::vector::ShuffleOp>(x, x, from);
  }
  /// `x` in one dimension, with `lanes` lanes.
  Value flat(Value x, int64_t lanes) {
    auto type = mlir::cast<mlir::VectorType>(x.getType());
    if (type.getRank() != 1)
      x = make<mlir::vector::ShapeCastOp>(
          mlir::VectorType::get({type.getNumElements()}, type.getElementType()),
          x);
    return lanesOf(x, 0, lanes);
  }
  /// Parts of equal length, one after the other, in the operands' shape.
  Value join(llvm::ArrayRef<Value> parts) {
    Value all = parts[0];
    if (parts.size() > 1) {
      auto part = mlir::cast<mlir::VectorType>(all.getType());
      int64_t width = part.getNumElements();
      all = make<mlir::arith::ConstantOp>(b.getZeroAttr(mlir::VectorType::get(
          {width * int64_t(parts.size())}, part.getElementType())));
      for (auto [i, x] : llvm::enumerate(parts))
        all = make<mlir::vector::InsertStridedSliceOp>(
            x, all, llvm::ArrayRef<int64_t>{int64_t(i) * width},
            llvm::ArrayRef<int64_t>{1});
    }
    all = lanesOf(all, 0, shape.getNumElements());
    return shape.getRank() == 1 ? all
                                : make<mlir::vector::ShapeCastOp>(
                                      shape.clone(b.getF32Type()), all);
  }

  using Predicate = mlir::arith::CmpFPredicate;

  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Value compare(Predicate predicate, Value x, Value y) {
    return make<mlir::arith::CmpFOp>(predicate, x, y);
  }
  Value constant(mlir::TypedAttr value, mlir::Type element) {
    if (shape)
      value = mlir::DenseElementsAttr::get(shape.clone(element),
                                           mlir::Attribute(value));
    return make<mlir::arith::ConstantOp>(value);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  MathIsa extra;
  mlir::VectorType shape;
};

} // namespace tenon::codegen
