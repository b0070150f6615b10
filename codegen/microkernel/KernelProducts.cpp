//===- KernelProducts.cpp - one step of a kernel's sums -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/KernelProducts.h"

#include "codegen/microkernel/Int4.h"

using namespace mlir;

namespace tenon::microkernel {

/// The type of `x` with elements of `element`.
static Type like(Value x, Type element) {
  auto vector = dyn_cast<VectorType>(x.getType());
  return vector ? vector.clone(element) : element;
}

Value KernelProducts::advanceK(Value a, int64_t steps) {
  if (spec.unitStrideK)
    return advance(a, steps, spec.element);
  return advance(a, steps == 1 ? args.aK : mul(args.aK, constant(steps)),
                 spec.element);
}

Value KernelProducts::advanceK(Value a, Value steps) {
  return advance(a, spec.unitStrideK ? steps : mul(args.aK, steps),
                 spec.element);
}

Value KernelProducts::loadB(Value b, int64_t v) {
  if (spec.interleave == 1)
    return widen(loadVector(b, v, spec.element, spec.maskedB));
  VectorType type = groupsOf(spec.element);
  b = advance(b, v * type.getNumElements(), spec.element);
  Value groups =
      LLVM::LoadOp::create(builder, loc, type, b, alignment(spec.element));
  return multipliesInt16() ? extend(groups, /*isSigned=*/true, 16) : groups;
}

Value KernelProducts::loadHead(Value b, Value scales) {
  groupScales.clear();
  groupZeroPoints.clear();
  Type f32 = builder.getF32Type();
  if (spec.quantized->hasScales) {
    for (int64_t v = 0; v < vectors; ++v)
      groupScales.push_back(loadVector(scales, v, f32, /*masked=*/false));
    b = advance(b, mul(args.bRow, constant(alignment(f32))), spec.elementOfB());
  }
  if (spec.quantized->hasZeroPoints) {
    for (int64_t v = 0; v < vectors; ++v)
      groupZeroPoints.push_back(loadQuantized(b, v));
    b = advance(b, args.bRow, spec.elementOfB());
  }
  if (!spec.quantized->slices)
    return b;
  // A column is four bytes wide, as its scale is.
  int64_t head = alignment(f32) + spec.quantized->hasZeroPoints;
  return advance(scales, mul(args.bRow, constant(head)), spec.elementOfB());
}

Value KernelProducts::loadPackedQuantized(Value b, int64_t v) {
  int64_t bytes = spec.lanes * spec.quantized->together();
  auto type = VectorType::get({bytes}, spec.elementOfB());
  return LLVM::LoadOp::create(builder, loc, type,
                              advance(b, v * bytes, spec.elementOfB()), 1);
}

Value KernelProducts::splatOf(TypedAttr number) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vectorOf(number.getType()), Attribute(number)));
}

Value KernelProducts::partOfQuantized(Value quantized, int64_t part) {
  return spec.quantized->bits == 4
             ? halfOfByte(builder, loc, quantized, /*isSigned=*/false, part)
             : quantized;
}

SmallVector<Value> KernelProducts::startOfSlices(Value a, int64_t v) {
  SmallVector<Value> sums;
  for (int64_t d = 0; d < spec.quantized->slices; ++d) {
    Value start = broadcast(
        loadScalar(advance(a, 1 + d, spec.element), builder.getI32Type()));
    if (spec.quantized->hasZeroPoints)
      start = arith::MulIOp::create(builder, loc, start, groupZeroPoints[v]);
    sums.push_back(start);
  }
  return sums;
}

Value KernelProducts::addSlices(Value a, int64_t v, ArrayRef<Value> sums,
                                Value acc) {
  // Groups are so small that two int8 slices are an integer of 32 bits.
  auto floatOf = [&](Value x) {
    return arith::SIToFPOp::create(builder, loc, vectorOf(spec.sum), x);
  };
  auto shift = splatOf(builder.getI32IntegerAttr(8));
  Value high = arith::ShLIOp::create(builder, loc, sums[0], shift);
  Value sum = floatOf(add(high, sums[1]));
  if (sums.size() > 2)
    sum = vector::FMAOp::create(builder, loc, sum,
                                splatOf(builder.getF32FloatAttr(256)),
                                floatOf(sums[2]));
  Value scale = arith::MulFOp::create(
      builder, loc, broadcast(loadScalar(a, spec.element)), groupScales[v]);
  return vector::FMAOp::create(builder, loc, sum, scale, acc);
}

Value KernelProducts::loadQuantized(Value b, int64_t v) {
  return extend(loadVector(b, v, spec.elementOfB(), /*masked=*/false),
                spec.quantized->isSigned && !spec.quantized->slices, 32);
}

Value KernelProducts::weightsOf(Value quantized, int64_t part, int64_t v) {
  Value x =
      spec.quantized->bits == 4
          ? halfOfByte(builder, loc, quantized, spec.quantized->isSigned, part)
          : quantized;
  if (spec.quantized->hasZeroPoints)
    x = arith::SubIOp::create(builder, loc, x, groupZeroPoints[v]);
  x = arith::SIToFPOp::create(builder, loc, like(x, spec.sum), x);
  return spec.quantized->hasScales
             ? arith::MulFOp::create(builder, loc, x, groupScales[v])
                   .getResult()
             : x;
}

Value KernelProducts::loadElement(Value a) {
  return broadcast(widen(loadScalar(a, spec.element), spec.sign));
}

Value KernelProducts::loadGroup(Value a, Value count) {
  int64_t bits = spec.element.getIntOrFloatBitWidth();
  Type group = builder.getIntegerType(bits * spec.interleave);
  Value value = spec.unitStrideK && !count ? loadScalarAs(a, group)
                                           : gatherGroup(a, group, count);
  Value lanes = broadcast(value);
  // x + 128 without sign is x with its highest bit flipped. Beyond K, too:
  // zeros of B do away with it.
  if (spec.correctsSign())
    lanes = arith::XOrIOp::create(
        builder, loc, lanes,
        splatBytes(cast<VectorType>(lanes.getType()), 128));
  Value elements =
      vector::BitCastOp::create(builder, loc, groupsOf(spec.element), lanes);
  return multipliesInt16() ? extend(elements, spec.sign == ByteSign::Signed, 16)
                           : elements;
}

Value KernelProducts::splatBytes(VectorType type, uint8_t byte) {
  unsigned bits = type.getElementTypeBitWidth();
  APInt value = APInt::getSplat(bits, APInt(8, byte));
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, value));
}

Value KernelProducts::loadScalarAs(Value pointer, Type type) {
  return LLVM::LoadOp::create(builder, loc, type, pointer,
                              alignment(spec.element));
}

Value KernelProducts::gatherGroup(Value a, Type group, Value count) {
  int64_t bits = spec.element.getIntOrFloatBitWidth();
  Type part = builder.getIntegerType(bits);
  auto number = [&](Type type, int64_t v) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, v));
  };
  Value result;
  for (int64_t i = 0; i < spec.interleave; ++i) {
    Value from = advanceK(a, i), exists;
    if (count && i > 0) {
      // What is not there is not read: the first element is, in its place.
      exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     constant(i), count);
      from = arith::SelectOp::create(builder, loc, exists, from, a);
    }
    Value x = loadScalarAs(from, part);
    if (exists)
      x = arith::SelectOp::create(builder, loc, exists, x, number(part, 0));
    x = arith::ExtUIOp::create(builder, loc, group, x);
    if (i > 0)
      x = arith::ShLIOp::create(builder, loc, x, number(group, i * bits));
    result =
        result ? arith::OrIOp::create(builder, loc, result, x).getResult() : x;
  }
  return result;
}

Value KernelProducts::widen(Value x, ByteSign sign) {
  Type element = getElementTypeOrSelf(x.getType());
  if (element == spec.sum)
    return x;
  if (isa<FloatType>(element))
    return arith::ExtFOp::create(builder, loc, like(x, spec.sum), x);
  return extend(x, sign == ByteSign::Signed, 32);
}

Value KernelProducts::extend(Value x, bool isSigned, unsigned bits) {
  Type type = like(x, builder.getIntegerType(bits));
  if (type == x.getType())
    return x;
  return isSigned ? arith::ExtSIOp::create(builder, loc, type, x).getResult()
                  : arith::ExtUIOp::create(builder, loc, type, x).getResult();
}

Value KernelProducts::multiplyAdd(Value x, Value y, Value acc) {
  if (spec.interleave > 1)
    return addProducts(x, y, acc);
  if (spec.sum.isInteger()) {
    Value product = arith::MulIOp::create(builder, loc, x, y);
    return arith::AddIOp::create(builder, loc, acc, product);
  }
  if (spec.fusedMultiplyAdd)
    return vector::FMAOp::create(builder, loc, x, y, acc);
  auto contract = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                arith::FastMathFlags::contract);
  Value product = arith::MulFOp::create(builder, loc, x, y, contract);
  return arith::AddFOp::create(builder, loc, acc, product, contract);
}

Value KernelProducts::addProducts(Value x, Value y, Value acc) {
  std::string bits =
      std::to_string(spec.lanes * spec.sum.getIntOrFloatBitWidth());
  auto call = [&](const std::string &name, ValueRange operands) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc, acc.getType(),
                                         builder.getStringAttr(name), operands)
        .getResults();
  };
  if (multipliesBF16())
    return call("llvm.x86.avx512bf16.dpbf16ps." + bits, {acc, x, y});
  if (!multipliesInt16())
    return call("llvm.x86.avx512.vpdpbusd." + bits, {acc, x, y});
  Value sums = call(bits == "512"   ? "llvm.x86.avx512.pmaddw.d.512"
                    : bits == "256" ? "llvm.x86.avx2.pmadd.wd"
                                    : "llvm.x86.sse2.pmadd.wd",
                    {x, y});
  return arith::AddIOp::create(builder, loc, acc, sums);
}

} // namespace tenon::microkernel
