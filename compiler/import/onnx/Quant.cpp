// SPDX-License-Identifier: Apache-2.0
//
// Quantisation, and products of integers.
#include "compiler/import/onnx/Quant.h"

#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

static bool isPerAxis(NodeContext &n, Value scale) {
  Dims dims = n.shape(scale);
  return dims.size() == 1 && dims[0] != 1;
}

/// Numbers of blocks along the axis, each repeated for its block of `x`, the
/// last of which may be smaller.
static Value ofBlocks(NodeContext &n, Value value, const Scheme &scheme,
                      Value x) {
  Dims dims = n.knownShape(value), all = n.knownShape(x);
  int64_t axis = n.axisOf(scheme.axis, static_cast<int>(dims.size()));
  if (n.failed())
    return value;
  if (dims.size() != all.size() || scheme.block < 0 || all[axis] < 1 ||
      dims[axis] != (all[axis] - 1) / scheme.block + 1) {
    n.refuse("scales that are not those of blocks");
    return value;
  }
  Value column = n.unsqueeze(value, {axis + 1});
  Dims apart = n.shape(column), joined = dims;
  apart[axis + 1] = scheme.block;
  joined[axis] *= scheme.block;
  value = n.reshape(n.op("Expand", {column}, {{"shape", apart}}), joined);
  if (joined[axis] == all[axis])
    return value;
  return n.slice(value, axis, 0, all[axis]);
}

/// As a dim of `x`, for broadcasting.
static Value alongAxis(NodeContext &n, Value value, const Scheme &scheme,
                       Value x) {
  if (scheme.block)
    return ofBlocks(n, value, scheme, x);
  if (!isPerAxis(n, value))
    return n.reshape(value, {});
  int rank = n.rank(x);
  Dims behind;
  for (int64_t i = n.axisOf(scheme.axis, rank) + 1; i < rank; ++i)
    behind.push_back(1 + static_cast<int64_t>(behind.size()));
  return n.unsqueeze(value, behind);
}

/// Whether a scale is known to be 0 or no finite number, as that of a mask of
/// infinities is.
static bool isStrange(NodeContext &n, Value scale) {
  const reference::Tensor *scales = n.elements(scale);
  for (int64_t i = 0; scales && i < scales->numElements(); ++i)
    if (!std::isfinite(scales->at(i)) || scales->at(i) == 0)
      return true;
  return false;
}

/// Attributes for Quantize and Dequantize, if all numbers are known. Those take
/// no strange scales.
static std::optional<graph::AttrMap> constantScheme(NodeContext &n,
                                                    const Scheme &scheme) {
  const reference::Tensor *scales = n.elements(scheme.scale);
  if (!scales || scheme.block || isStrange(n, scheme.scale))
    return std::nullopt;
  std::vector<float> values;
  for (int64_t i = 0; i < scales->numElements(); ++i)
    values.push_back(static_cast<float>(scales->at(i)));
  graph::AttrMap attrs{
      {"qtype", isPerAxis(n, scheme.scale) ? "per_channel" : "per_tensor"},
      {"axis", scheme.axis},
      {"scales", values}};
  if (scheme.zeroPoint != kNone) {
    std::optional<Dims> zeros = n.known(scheme.zeroPoint);
    if (!zeros)
      return std::nullopt;
    attrs.emplace("zps", *zeros);
  }
  return attrs;
}

/// x / scale as 8-bit floats; what is beyond the largest one becomes that.
static Value quantizedToFloats(NodeContext &n, Value x, const Scheme &scheme) {
  x = n.cast(x, DType::f32);
  Value scale = n.cast(alongAxis(n, scheme.scale, scheme, x), DType::f32);
  return saturated(n, n.op("Divide", {x, scale}), scheme.type);
}

/// Tenon's Quantize rounds after it has added the zero point, which makes
/// another number of a tie if the zero point is odd: then nothing.
static std::optional<Value> quantizedByConstants(NodeContext &n, Value x,
                                                 const Scheme &scheme) {
  std::optional<Dims> zeros = scheme.zeroPoint == kNone
                                  ? std::optional(Dims{})
                                  : n.known(scheme.zeroPoint);
  bool even = zeros && std::all_of(zeros->begin(), zeros->end(),
                                   [](int64_t z) { return z % 2 == 0; });
  auto attrs = constantScheme(n, scheme);
  if (!attrs || !even)
    return std::nullopt;
  return n.op("Quantize", {x}, *attrs, scheme.type);
}

Value quantized(NodeContext &n, Value x, const Scheme &scheme) {
  if (graph::isFloat(scheme.type))
    return quantizedToFloats(n, x, scheme);
  x = n.cast(x, DType::f32);
  if (!scheme.range)
    if (std::optional<Value> codes = quantizedByConstants(n, x, scheme))
      return *codes;
  Value scale = n.cast(alongAxis(n, scheme.scale, scheme, x), DType::f32);
  Value codes = n.op("Round", {n.op("Divide", {x, scale})});
  if (scheme.zeroPoint != kNone) {
    Value zero = converted(n, scheme.zeroPoint, DType::f32);
    codes = n.op("Add", {codes, alongAxis(n, zero, scheme, x)});
  }
  // 0 / 0 and the like, which ONNX leaves open, have the least code.
  if (isStrange(n, scheme.scale))
    codes = n.select(n.equal(codes, codes), codes, n.like(codes, -0x1p24));
  if (!scheme.range)
    return saturated(n, codes, scheme.type);
  codes = n.op("Clamp", {codes},
               {{"min", static_cast<float>(scheme.range->min)},
                {"max", static_cast<float>(scheme.range->max)}});
  return n.cast(codes, DType::s32);
}

/// Of types that Dequantize is not for, or of blocks of several sizes.
static Value dequantizedByArithmetic(NodeContext &n, Value x,
                                     const Scheme &scheme) {
  Value codes = converted(n, x, DType::f32);
  if (scheme.zeroPoint != kNone && !n.isFloat(x)) {
    Value zero = scheme.zeroPoint;
    if (n.type(x) == DType::s32) {
      x = n.op("Subtract", {x, alongAxis(n, zero, scheme, x)});
      codes = n.cast(x, DType::f32);
    } else {
      zero = converted(n, zero, DType::f32);
      codes = n.op("Subtract", {codes, alongAxis(n, zero, scheme, x)});
    }
  }
  Value scale = n.cast(alongAxis(n, scheme.scale, scheme, x), DType::f32);
  return n.op("Multiply", {codes, scale});
}

/// Attributes for DynamicDequantize; none: it is not for this.
static std::optional<graph::AttrMap> dynamicScheme(NodeContext &n, Value x,
                                                   const Scheme &scheme) {
  if (!scheme.block)
    return graph::AttrMap{
        {"qtype", isPerAxis(n, scheme.scale) ? "per_channel" : "per_tensor"},
        {"axis", scheme.axis}};
  Dims all = n.shape(x), dims = n.shape(scheme.scale);
  int64_t axis = n.axisOf(scheme.axis, static_cast<int>(all.size()));
  if (n.failed() || dims.size() != all.size() || scheme.block < 1 ||
      scheme.block > all[axis] || all[axis] % scheme.block ||
      dims[axis] != all[axis] / scheme.block)
    return std::nullopt;
  Dims group(all.size(), 1);
  group[axis] = scheme.block;
  return graph::AttrMap{{"qtype", "per_group"}, {"group_shape", group}};
}

Value dequantized(NodeContext &n, Value x, const Scheme &scheme) {
  DType type = n.type(x);
  if (type != DType::u8 && type != DType::s8 && type != DType::u4 &&
      type != DType::s4)
    return dequantizedByArithmetic(n, x, scheme);
  if (auto attrs = constantScheme(n, scheme))
    return n.op("Dequantize", {x}, *attrs, DType::f32);
  std::optional<graph::AttrMap> attrs = dynamicScheme(n, x, scheme);
  if (!attrs)
    return dequantizedByArithmetic(n, x, scheme);
  Value scale = n.cast(scheme.scale, DType::f32);
  return n.op("DynamicDequantize", {x, scale, scheme.zeroPoint}, *attrs,
              DType::f32);
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

Scheme schemeAt(NodeContext &n, size_t first, int64_t axis) {
  Value zeroPoint = n.in(first + 1);
  DType type = zeroPoint == kNone ? DType::u8 : n.type(zeroPoint);
  return {n.in(first), zeroPoint, axis, type, 0, n.shortRangeOf(zeroPoint)};
}

/// Operands x, scale, zero point. The type of codes is that of the zero point,
/// or an attribute.
static void quantizeLinear(NodeContext &n) {
  Scheme scheme = schemeAt(n, 1, n.integer("axis", 1));
  scheme.block = n.integer("block_size", 0);
  auto type = static_cast<DataType>(n.integer("output_dtype", 0));
  if (n.in(2) == kNone && n.integer("output_dtype", 0)) {
    scheme.range = shortRange(type);
    scheme.type = scheme.range ? DType::s32 : n.dtypeOf(type);
  }
  n.out(0, quantized(n, n.in(0), scheme));
}

/// The result has the type of scales.
static void dequantizeLinear(NodeContext &n) {
  Scheme scheme = schemeAt(n, 1, n.integer("axis", 1));
  scheme.block = n.integer("block_size", 0);
  DType type = n.type(n.in(1));
  if (n.integer("output_dtype", 0))
    type = n.dtypeOf(static_cast<DataType>(n.integer("output_dtype", 0)));
  Value x = dequantized(n, n.in(0), scheme);
  n.out(0, type == DType::f8_e8m0 ? x : n.cast(x, type));
}

/// A range of 0 has the scale 1.
DynamicCodes dynamicCodes(NodeContext &n, Value x) {
  Value zero = n.like(x, 0);
  Dims all;
  for (int64_t i = 0; i < n.rank(x); ++i)
    all.push_back(i);
  Value top = n.op("Maximum", {n.reduce("ReduceMax", x, all, false), zero});
  Value bottom = n.op("Minimum", {n.reduce("ReduceMin", x, all, false), zero});
  Value range = n.op("Subtract", {top, bottom});
  range = n.select(n.equal(range, zero), n.like(x, 255), range);
  Value scale = n.op("Divide", {range, n.like(x, 255)});
  Value place = n.op("Divide", {n.op("Subtract", {zero, bottom}), scale});
  graph::AttrMap bounds{{"min", 0.0f}, {"max", 255.0f}};
  Value zeroPoint = n.op("Round", {n.op("Clamp", {place}, bounds)});
  Value codes = n.op("Round", {n.op("Divide", {x, scale})});
  codes = n.op("Clamp", {n.op("Add", {codes, zeroPoint})}, bounds);
  return {n.cast(codes, DType::u8), scale, n.cast(zeroPoint, DType::u8)};
}

static void dynamicQuantizeLinear(NodeContext &n) {
  DynamicCodes made = dynamicCodes(n, n.in(0));
  n.out(0, made.codes);
  n.out(1, made.scale);
  n.out(2, made.zeroPoint);
}

//===----------------------------------------------------------------------===//
// Products of quantised tensors
//===----------------------------------------------------------------------===//

/// Operands a, its scale and zero point, b and its, and those of the result.
static void qLinearMatMul(NodeContext &n) {
  Value a = dequantized(n, n.in(0), schemeAt(n, 1, -2));
  Value b = dequantized(n, n.in(3), schemeAt(n, 4, -1));
  n.out(0, quantized(n, n.op("MatMul", {a, b}), schemeAt(n, 6, -1)));
}

/// The bias, s32, has the product of both scales.
static void qLinearConv(NodeContext &n) {
  Value x = dequantized(n, n.in(0), schemeAt(n, 1, 1));
  Value weights = dequantized(n, n.in(3), schemeAt(n, 4, 0));
  Value bias = kNone;
  if (n.in(8) != kNone) {
    Value scale = n.op("Multiply", {n.reshape(n.in(1), {}), n.in(4)});
    bias = n.op("Multiply", {n.cast(n.in(8), DType::f32), scale});
  }
  Value dst =
      n.op("Convolution", {x, weights, bias}, convAttrs(n, n.in(3), "OIX"));
  n.out(0, quantized(n, dst, schemeAt(n, 6, 1)));
}

/// `x` less its zero points, s32; those of rank 1 are of each index of `axis`.
static Value lessZeros(NodeContext &n, Value x, Value zeros, int64_t axis) {
  if (zeros == kNone)
    return x;
  if (n.rank(x) < 2)
    axis = -1;
  Scheme scheme{kNone, zeros, axis, DType::s32};
  Value points = n.cast(alongAxis(n, zeros, scheme, x), DType::s32);
  return n.op("Subtract", {n.cast(x, DType::s32), points});
}

Value integerProduct(NodeContext &n, Value a, Value zeroA, Value b,
                     Value zeroB) {
  return n.op("MatMul",
              {lessZeros(n, a, zeroA, -2), lessZeros(n, b, zeroB, -1)}, {},
              DType::s32);
}

static void matMulInteger(NodeContext &n) {
  n.out(0, integerProduct(n, n.in(0), n.in(2), n.in(1), n.in(3)));
}

/// The zero point of src is one, those of weights may be of each of their
/// results.
static void convInteger(NodeContext &n) {
  Value src = lessZeros(n, n.in(0), n.in(2), 1);
  Value weights = lessZeros(n, n.in(1), n.in(3), 0);
  n.out(0, n.op("Convolution", {src, weights}, convAttrs(n, n.in(1), "OIX"),
                DType::s32));
}

std::span<const OpConversion> quantConversions() {
  static constexpr OpConversion table[] = {
      {"ConvInteger", 10, convInteger},
      {"DequantizeLinear", 10, dequantizeLinear},
      {"DynamicQuantizeLinear", 11, dynamicQuantizeLinear},
      {"MatMulInteger", 10, matMulInteger},
      {"QLinearConv", 10, qLinearConv},
      {"QLinearMatMul", 10, qLinearMatMul},
      {"QuantizeLinear", 10, quantizeLinear},
      microsoft("DequantizeLinear", dequantizeLinear),
      microsoft("QuantizeLinear", quantizeLinear),
  };
  return table;
}

} // namespace tenon::onnx
