// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic, comparisons, logic, casts.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx {

static void unary(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0)}));
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

static Value negated(NodeContext &n, Value x) {
  return n.op("Multiply", {x, n.like(x, -1)});
}

static void neg(NodeContext &n) { n.out(0, negated(n, n.in(0))); }

static void ceil(NodeContext &n) {
  n.out(0, negated(n, n.op("Floor", {negated(n, n.in(0))})));
}

/// Neither NaN nor 0 is changed.
static void sign(NodeContext &n) {
  Value x = n.in(0), zero = n.like(x, 0);
  Value below = n.select(n.less(x, zero), n.like(x, -1), x);
  n.out(0, n.select(n.greater(x, zero), n.like(x, 1), below));
}

static void tan(NodeContext &n) {
  n.out(0, n.op("Divide", {n.op("Sin", {n.in(0)}), n.op("Cos", {n.in(0)})}));
}

/// (expm1(x) - expm1(-x)) / 2 keeps small numbers.
static void sinh(NodeContext &n) {
  Value x = n.in(0);
  Value twice =
      n.op("Subtract", {n.op("Expm1", {x}), n.op("Expm1", {negated(n, x)})});
  n.out(0, n.op("Multiply", {twice, n.like(x, 0.5)}));
}

static void cosh(NodeContext &n) {
  Value x = n.in(0);
  Value twice = n.op("Add", {n.op("Exp", {x}), n.op("Exp", {negated(n, x)})});
  n.out(0, n.op("Multiply", {twice, n.like(x, 0.5)}));
}

/// sqrt(1 - x^2), without cancellation.
static Value otherLeg(NodeContext &n, Value x) {
  Value one = n.like(x, 1);
  return n.op("Sqrt", {n.op("Multiply", {n.op("Subtract", {one, x}),
                                         n.op("Add", {one, x})})});
}

static void asin(NodeContext &n) {
  n.out(0, n.op("Atan2", {n.in(0), otherLeg(n, n.in(0))}));
}

static void acos(NodeContext &n) {
  n.out(0, n.op("Atan2", {otherLeg(n, n.in(0)), n.in(0)}));
}

static void atan(NodeContext &n) {
  n.out(0, n.op("Atan2", {n.in(0), n.like(n.in(0), 1)}));
}

/// ln(|x| + sqrt(x^2 + 1)) with the sign of x. The sum is 1 plus
/// |x| + x^2 / (1 + sqrt(x^2 + 1)), which keeps small numbers.
static void asinh(NodeContext &n) {
  Value x = n.in(0), one = n.like(x, 1);
  Value size = n.op("Abs", {x}), square = n.op("Square", {x});
  Value root = n.op("Sqrt", {n.op("Add", {square, one})});
  Value more = n.op("Divide", {square, n.op("Add", {root, one})});
  Value positive = n.op("Log1p", {n.op("Add", {size, more})});
  n.out(0, n.select(n.less(x, n.like(x, 0)), negated(n, positive), positive));
}

/// With t = x - 1: log1p(t + sqrt(t * (t + 2))).
static void acosh(NodeContext &n) {
  Value x = n.in(0), t = n.op("Subtract", {x, n.like(x, 1)});
  Value product = n.op("Multiply", {t, n.op("Add", {t, n.like(x, 2)})});
  n.out(0, n.op("Log1p", {n.op("Add", {t, n.op("Sqrt", {product})})}));
}

static void atanh(NodeContext &n) {
  Value x = n.in(0);
  Value twice =
      n.op("Subtract", {n.op("Log1p", {x}), n.op("Log1p", {negated(n, x)})});
  n.out(0, n.op("Multiply", {twice, n.like(x, 0.5)}));
}

static void isNan(NodeContext &n) {
  n.out(0, n.op("Not", {n.equal(n.in(0), n.in(0))}));
}

static void isInf(NodeContext &n) {
  Value x = n.in(0);
  double infinity = std::numeric_limits<double>::infinity();
  bool positive = n.integer("detect_positive", 1);
  bool negative = n.integer("detect_negative", 1);
  Value above = n.equal(x, n.like(x, infinity));
  Value below = n.equal(x, n.like(x, -infinity));
  if (positive && negative)
    n.out(0, n.op("Or", {above, below}));
  else if (positive || negative)
    n.out(0, positive ? above : below);
  else
    n.out(0, n.op("And", {above, below}));
}

/// Before version 11 the bounds are attributes.
static void clip6(NodeContext &n) {
  float most = std::numeric_limits<float>::max();
  n.out(0, n.op("Clamp", {n.in(0)},
                {{"min", n.number("min", -most)},
                 {"max", n.number("max", most)}}));
}

static void clip11(NodeContext &n) {
  Value x = n.in(0);
  if (n.in(1) != kNone)
    x = n.op("Maximum", {x, n.in(1)});
  if (n.in(2) != kNone)
    x = n.op("Minimum", {x, n.in(2)});
  n.out(0, x);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

static bool isHalfByte(DType type) {
  return type == DType::s4 || type == DType::u4;
}

static bool isByteFloat(DType type) {
  return type == DType::f8_e4m3 || type == DType::f8_e5m2;
}

Value converted(NodeContext &n, Value x, DType type) {
  if (n.type(x) == type)
    return x;
  graph::AttrMap same{{"qtype", "per_tensor"},
                      {"scales", std::vector<float>{1}}};
  if (isHalfByte(n.type(x)))
    x = n.op("Dequantize", {x}, same, DType::f32);
  if (isHalfByte(type))
    return n.op("Quantize", {n.cast(x, DType::f32)}, same, type);
  return n.cast(x, type);
}

/// The low four bits of the number without its fraction.
static Value wrappedHalfByte(NodeContext &n, Value x, DType type) {
  x = n.cast(converted(n, x, DType::f32), DType::s32);
  x = n.op("And", {x, n.like(x, 15)});
  if (type == DType::s4) {
    Value eight = n.like(x, 8);
    Value sign = n.op("And", {x, eight});
    x = n.op("Subtract", {x, n.op("Add", {sign, sign})});
  }
  return converted(n, x, type);
}

/// Powers of two: by default the next greater one. Tenon's cast is to the
/// nearest.
static Value powerOfTwo(NodeContext &n, Value x) {
  std::string mode = n.text("round_mode", "up");
  Value code = n.cast(x, DType::f8_e8m0);
  if (mode == "nearest")
    return code;
  x = n.cast(x, DType::f32);
  Value made = n.cast(code, DType::f32);
  bool up = mode == "up";
  Value beyond = up ? n.less(made, x) : n.greater(made, x);
  Value other = n.op("Multiply", {made, n.like(made, up ? 2 : 0.5)});
  return n.cast(n.select(beyond, other, made), DType::f8_e8m0);
}

Value saturated(NodeContext &n, Value x, DType type) {
  if (isHalfByte(type))
    return converted(n, x, type);
  reference::Range range = reference::rangeOf(type);
  x = n.op("Clamp", {x},
           {{"min", static_cast<float>(range.min)},
            {"max", static_cast<float>(range.max)}});
  return n.cast(x, type);
}

/// Numbers beyond 8-bit floats become the largest one, unless `saturate` is 0.
static Value castTo(NodeContext &n, Value x, DType type) {
  if (isByteFloat(type) && n.type(x) != type && n.integer("saturate", 1))
    return saturated(n, converted(n, x, DType::f32), type);
  if (n.type(x) == type)
    return x;
  if (isHalfByte(type))
    return wrappedHalfByte(n, x, type);
  if (type == DType::f8_e8m0)
    return powerOfTwo(n, x);
  return converted(n, x, type);
}

/// Between integers of 8 bits, whose casts keep the bits.
static void bitCast(NodeContext &n) {
  auto isByte = [](DType type) {
    return type == DType::u8 || type == DType::s8 || type == DType::boolean;
  };
  DType to = n.dtypeOf(static_cast<DataType>(n.integer("to", 0)));
  DType from = n.type(n.in(0));
  if (from != to && (!isByte(from) || !isByte(to) || to == DType::boolean))
    return n.refuse("bits that are read as another type");
  n.out(0, n.cast(n.in(0), to));
}

static void cast(NodeContext &n) {
  auto type = static_cast<DataType>(n.integer("to", 0));
  n.out(0, castTo(n, n.in(0), n.dtypeOf(type)));
}

static void castLike(NodeContext &n) {
  n.out(0, castTo(n, n.in(0), n.type(n.in(1))));
}

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

/// Before version 7 dims are not paired from the right: with `broadcast`, those
/// of operand 1 are the ones from `axis` on, by default the last ones.
static Value secondOperand(NodeContext &n) {
  Value b = n.in(1);
  if (n.opset() >= 7 || !n.integer("broadcast", 0) || !n.has("axis"))
    return b;
  int rank = n.rank(n.in(0)), own = n.rank(b);
  auto axis = static_cast<int>(n.axisOf(n.integer("axis", 0), rank));
  Dims behind;
  for (int i = axis + own; i < rank; ++i)
    behind.push_back(own + static_cast<int>(behind.size()));
  return behind.empty() ? b : n.unsqueeze(b, behind);
}

static void binary(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0), secondOperand(n)}));
}

/// Of one element each, one that is known decides: conditions of loops have
/// a limit for their steps beside what depends on data.
static void logical(NodeContext &n) {
  bool deciding = n.conversion().kind == "Or";
  Value a = n.in(0), b = n.in(1);
  for (Value each : {a, b}) {
    const reference::Tensor *known = n.elements(each);
    if (!known || known->numElements() != 1 ||
        (known->at(0) != 0) != deciding || n.type(a) != NodeContext::kBool ||
        reference::elementCount(n.shape(each == a ? b : a)) != 1)
      continue;
    Dims ones(std::max(n.shape(a).size(), n.shape(b).size()), 1);
    return n.out(
        0, n.constant(
               {NodeContext::kBool, std::move(ones), {deciding ? 1.0 : 0.0}}));
  }
  binary(n);
}

static void compare(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {n.in(0), secondOperand(n)}, {},
                NodeContext::kBool));
}

/// Whether both are one size, the same one in each execution.
static bool areOneSize(NodeContext &n, Value a, Value b) {
  auto sizeOf = [&](Value value) -> Size {
    std::optional<Sizes> dims = n.sizesOf(value);
    if (!dims || n.isFloat(value) ||
        std::ranges::any_of(*dims, [](const Size &d) { return d.number != 1; }))
      return {};
    Sizes sizes = n.elementsAsSizes(value).value_or(Sizes{});
    return sizes.size() == 1 ? sizes[0] : Size{};
  };
  Size first = sizeOf(a);
  return !first.expression.empty() && first.expression == sizeOf(b).expression;
}

/// Models compare a size with itself where they share code, as the numbers of
/// queries and of keys, and go other ways where they differ.
static void equal(NodeContext &n) {
  Value other = secondOperand(n);
  if (n.failed() || !areOneSize(n, n.in(0), other))
    return compare(n);
  Dims dims(std::max(n.rank(n.in(0)), n.rank(other)), 1);
  reference::Tensor yes{DType::undef, dims, {1}};
  reference::setDType(yes, NodeContext::kBool);
  n.out(0, n.constant(std::move(yes)));
}

/// Less is Greater the other way round; likewise LessOrEqual.
static void compareSwapped(NodeContext &n) {
  n.out(0, n.op(n.conversion().kind, {secondOperand(n), n.in(0)}, {},
                NodeContext::kBool));
}

static void logicalXor(NodeContext &n) {
  n.out(0, n.op("Not", {n.equal(n.in(0), secondOperand(n))}));
}

static void mod(NodeContext &n) {
  n.out(0, n.op("Remainder", {n.in(0), n.in(1)},
                {{"mode", n.integer("fmod", 0) ? "trunc" : "floor"}}));
}

/// A power of integers, exact: the product of base^(2^k) over the bits k of the
/// exponent. From 64 on the exponent does not matter: results are 0, 1, -1 or
/// do not fit, so that its lowest six bits do.
static Value integerPower(NodeContext &n, Value base, Value exponent) {
  exponent = n.cast(exponent, DType::s64);
  Value result = n.like(base, 1), one = n.like(base, 1);
  for (int k = 0; k < 6; ++k) {
    Value bit = n.op("And", {exponent, n.like(exponent, 1 << k)});
    Value isSet = n.equal(bit, n.like(exponent, 1 << k));
    // Select broadcasts the two it chooses from, not the condition.
    Value shaped = n.op("Multiply", {base, n.cast(isSet, n.type(base))});
    Value unset = n.op("Subtract", {one, n.cast(isSet, n.type(base))});
    result = n.op("Multiply", {result, n.op("Add", {shaped, unset})});
    base = n.op("Multiply", {base, base});
  }
  return result;
}

static void pow(NodeContext &n) {
  Value base = n.in(0), exponent = secondOperand(n);
  DType type = n.type(base);
  if (!n.isFloat(base) && !n.isFloat(exponent))
    return n.out(0, integerPower(n, base, exponent));
  DType inner = n.isFloat(base) ? type : DType::f32;
  Value power =
      n.op("Pow", {n.cast(base, inner), n.cast(exponent, inner)}, {}, inner);
  n.out(0, n.cast(power, type));
}

/// By powers of 2, or by 0 if that is as many bits as there are: products and
/// quotients by 0 are 0. To the right, -1 - x is shifted of a negative x.
static void bitShift(NodeContext &n) {
  Value x = n.in(0), bits = n.in(1), zero = n.like(x, 0);
  double width = 8 * graph::byteSize(n.type(x));
  Value power = integerPower(n, n.like(x, 2), bits);
  Value fits = n.op("And", {n.less(bits, n.like(bits, width)),
                            n.op("GreaterEqual", {bits, n.like(bits, 0)}, {},
                                 NodeContext::kBool)});
  power = n.select(fits, power, n.op("Multiply", {power, zero}));
  if (n.text("direction", "") == "LEFT")
    return n.out(0, n.op("Multiply", {x, power}));
  Value shifted = n.op("Divide", {x, power});
  if (n.type(x) != DType::u8) {
    Value other = n.op("Not", {n.op("Divide", {n.op("Not", {x}), power})});
    Value negative = n.less(x, zero);
    shifted = n.select(negative, other, shifted);
  }
  n.out(0, shifted);
}

static void bitXor(NodeContext &n) {
  Value both = n.op("And", {n.in(0), n.in(1)});
  Value any = n.op("Or", {n.in(0), n.in(1)});
  n.out(0, n.op("And", {any, n.op("Not", {both})}));
}

/// The condition takes part in broadcasting, which that of Select does not.
static void where(NodeContext &n) {
  Value condition = n.in(0), a = n.in(1), b = n.in(2);
  int rank = std::max(n.rank(a), n.rank(b));
  Dims shape = n.shape(condition);
  if (static_cast<int>(shape.size()) > rank ||
      std::any_of(shape.begin(), shape.end(),
                  [](int64_t size) { return size != 1; }))
    a = n.expandLike(a, condition);
  n.out(0, n.select(condition, a, b));
}

//===----------------------------------------------------------------------===//
// Functions of any number of operands
//===----------------------------------------------------------------------===//

static Value folded(NodeContext &n, std::string_view kind) {
  Value result = n.in(0);
  for (size_t i = 1; i < n.numInputs(); ++i)
    result = n.op(kind, {result, n.in(i)});
  return result;
}

static void nary(NodeContext &n) { n.out(0, folded(n, n.conversion().kind)); }

static void mean(NodeContext &n) {
  Value sum = folded(n, "Add");
  auto count = static_cast<double>(n.numInputs());
  n.out(0, n.op("Divide", {sum, n.like(sum, count)}));
}

std::span<const OpConversion> elementwiseConversions() {
  static constexpr OpConversion table[] = {
      {"Abs", 1, unary, "Abs"},
      {"Acos", 7, acos},
      {"Acosh", 9, acosh},
      {"Add", 1, binary, "Add"},
      {"And", 1, logical, "And"},
      {"Asin", 7, asin},
      {"Asinh", 9, asinh},
      {"Atan", 7, atan},
      {"Atanh", 9, atanh},
      {"BitCast", 26, bitCast},
      {"BitShift", 11, bitShift},
      {"BitwiseAnd", 18, binary, "And"},
      {"BitwiseNot", 18, unary, "Not"},
      {"BitwiseOr", 18, binary, "Or"},
      {"BitwiseXor", 18, bitXor},
      {"Cast", 6, cast},
      {"CastLike", 15, castLike},
      {"Ceil", 1, ceil},
      {"Clip", 6, clip6},
      {"Clip", 11, clip11},
      {"Cos", 7, unary, "Cos"},
      {"Cosh", 9, cosh},
      {"Div", 1, binary, "Divide"},
      {"Equal", 1, equal, "Equal"},
      {"Erf", 9, unary, "Erf"},
      {"Exp", 1, unary, "Exp"},
      {"Floor", 1, unary, "Floor"},
      {"Greater", 1, compare, "Greater"},
      {"GreaterOrEqual", 12, compare, "GreaterEqual"},
      {"IsInf", 10, isInf},
      {"IsNaN", 9, isNan},
      {"Less", 1, compareSwapped, "Greater"},
      {"LessOrEqual", 12, compareSwapped, "GreaterEqual"},
      {"Log", 1, unary, "Log"},
      {"Max", 1, nary, "Maximum"},
      {"Mean", 1, mean},
      {"Min", 1, nary, "Minimum"},
      {"Mod", 10, mod},
      {"Mul", 1, binary, "Multiply"},
      {"Neg", 1, neg},
      {"Not", 1, unary, "Not"},
      {"Or", 1, logical, "Or"},
      {"Pow", 1, pow},
      {"Reciprocal", 1, unary, "Reciprocal"},
      {"Round", 11, unary, "Round"},
      {"Sign", 9, sign},
      {"Sin", 7, unary, "Sin"},
      {"Sinh", 9, sinh},
      {"Sqrt", 1, unary, "Sqrt"},
      {"Sub", 1, binary, "Subtract"},
      {"Sum", 1, nary, "Add"},
      {"Tan", 7, tan},
      {"Where", 9, where},
      {"Xor", 1, logicalXor},
  };
  return table;
}

} // namespace tenon::onnx
