// SPDX-License-Identifier: Apache-2.0
//
// Quantisation, and products of integers.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

namespace {

/// A quantised tensor, or what it is to become: scales and zero points, which
/// may be left out, of all elements or of each index along `axis`.
struct Scheme {
  Value scale, zeroPoint;
  int64_t axis;
  DType type;
};

} // namespace

static bool isPerAxis(NodeContext &n, Value scale) {
  Dims dims = n.shape(scale);
  return dims.size() == 1 && dims[0] != 1;
}

/// As a dim of the tensor with `rank` dims, for broadcasting.
static Value alongAxis(NodeContext &n, Value value, const Scheme &scheme,
                       int rank) {
  if (!isPerAxis(n, value))
    return n.reshape(value, {});
  Dims behind;
  for (int64_t i = n.axisOf(scheme.axis, rank) + 1; i < rank; ++i)
    behind.push_back(1 + static_cast<int64_t>(behind.size()));
  return n.unsqueeze(value, behind);
}

/// Attributes for Quantize and Dequantize, if all numbers are known.
static std::optional<graph::AttrMap> constantScheme(NodeContext &n,
                                                    const Scheme &scheme) {
  const reference::Tensor *scales = n.elements(scheme.scale);
  if (!scales)
    return std::nullopt;
  std::vector<float> values;
  for (int64_t i = 0; i < scales->numElements(); ++i)
    values.push_back(static_cast<float>(scales->at(i)));
  if (std::find(values.begin(), values.end(), 0.0f) != values.end())
    return std::nullopt;
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

/// saturate(round(x / scale) + zero point). Tenon's Quantize rounds after it
/// has added the zero point, which makes another number of a tie if the zero
/// point is odd: then it is written out.
static Value quantized(NodeContext &n, Value x, const Scheme &scheme) {
  x = n.cast(x, DType::f32);
  std::optional<Dims> zeros = scheme.zeroPoint == kNone
                                  ? std::optional(Dims{})
                                  : n.known(scheme.zeroPoint);
  bool even = zeros && std::all_of(zeros->begin(), zeros->end(),
                                   [](int64_t z) { return z % 2 == 0; });
  if (auto attrs = constantScheme(n, scheme); attrs && even)
    return n.op("Quantize", {x}, *attrs, scheme.type);
  int rank = n.rank(x);
  Value codes = n.op(
      "Round", {n.op("Divide", {x, alongAxis(n, scheme.scale, scheme, rank)})});
  if (scheme.zeroPoint != kNone)
    codes =
        n.op("Add", {codes, n.cast(alongAxis(n, scheme.zeroPoint, scheme, rank),
                                   DType::f32)});
  reference::Range range = reference::rangeOf(scheme.type);
  codes = n.op("Clamp", {codes},
               {{"min", static_cast<float>(range.min)},
                {"max", static_cast<float>(range.max)}});
  return n.cast(codes, scheme.type);
}

/// (x - zero point) * scale.
static Value dequantized(NodeContext &n, Value x, const Scheme &scheme) {
  int rank = n.rank(x);
  bool isByte = n.type(x) == DType::u8 || n.type(x) == DType::s8;
  if (isByte)
    if (auto attrs = constantScheme(n, scheme))
      return n.op("Dequantize", {x}, *attrs, DType::f32);
  if (isByte)
    return n.op(
        "DynamicDequantize", {x, scheme.scale, scheme.zeroPoint},
        {{"qtype", isPerAxis(n, scheme.scale) ? "per_channel" : "per_tensor"},
         {"axis", scheme.axis}},
        DType::f32);
  if (scheme.zeroPoint != kNone)
    x = n.op("Subtract", {x, alongAxis(n, scheme.zeroPoint, scheme, rank)});
  return n.op("Multiply", {n.cast(x, DType::f32),
                           alongAxis(n, scheme.scale, scheme, rank)});
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

/// Operands scale and zero point are `first` and the next one.
static Scheme schemeAt(NodeContext &n, size_t first, int64_t axis) {
  Value zeroPoint = n.in(first + 1);
  DType type = zeroPoint == kNone ? DType::u8 : n.type(zeroPoint);
  return {n.in(first), zeroPoint, axis, type};
}

static void quantizeLinear(NodeContext &n) {
  if (n.integer("block_size", 0))
    return n.refuse("scales of blocks");
  Scheme scheme = schemeAt(n, 1, n.integer("axis", 1));
  if (n.in(2) == kNone && n.integer("output_dtype", 0))
    scheme.type =
        n.dtypeOf(static_cast<DataType>(n.integer("output_dtype", 0)));
  n.out(0, quantized(n, n.in(0), scheme));
}

static void dequantizeLinear(NodeContext &n) {
  if (n.integer("block_size", 0))
    return n.refuse("scales of blocks");
  Scheme scheme = schemeAt(n, 1, n.integer("axis", 1));
  n.out(0, dequantized(n, n.in(0), scheme));
}

/// u8, by the range of the elements and 0. A range of 0 has the scale 1.
static void dynamicQuantizeLinear(NodeContext &n) {
  Value x = n.in(0), zero = n.like(x, 0);
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
  n.out(0, n.cast(codes, DType::u8));
  n.out(1, scale);
  n.out(2, n.cast(zeroPoint, DType::u8));
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

/// Operand `i` less its zero point, `zero`, as f32. A zero point of rank 1 is
/// that of each index along `axis`.
static Value centred(NodeContext &n, size_t i, size_t zero, int64_t axis) {
  Value x = n.cast(n.in(i), DType::f32);
  if (n.in(zero) == kNone)
    return x;
  Scheme scheme{kNone, n.in(zero), axis, DType::f32};
  Value point = alongAxis(n, n.in(zero), scheme, n.rank(x));
  return n.op("Subtract", {x, n.cast(point, DType::f32)});
}

/// Sums of `terms` products of 8 bits are exact in f32 up to 2^24.
static void needExactSums(NodeContext &n, int64_t terms) {
  if (terms > (int64_t{1} << 24) / (255 * 255))
    n.refuse("sums of more integers than f32 adds exactly");
}

static void matMulInteger(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  if (n.failed() || dims.empty())
    return n.refuse("a matrix is needed");
  needExactSums(n, dims.back());
  Value product = n.op("MatMul", {centred(n, 0, 2, -2), centred(n, 1, 3, -1)});
  n.out(0, n.cast(product, DType::s32));
}

static void convInteger(NodeContext &n) {
  Dims dims = n.knownShape(n.in(1));
  int64_t terms = 1;
  for (size_t i = 1; i < dims.size(); ++i)
    terms *= dims[i];
  needExactSums(n, terms);
  Value product =
      n.op("Convolution", {centred(n, 0, 2, 1), centred(n, 1, 3, 0)},
           convAttrs(n, n.in(1), "OIX"));
  n.out(0, n.cast(product, DType::s32));
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
  };
  return table;
}

} // namespace tenon::onnx
