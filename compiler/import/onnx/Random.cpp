// SPDX-License-Identifier: Apache-2.0
//
// Random numbers. ONNX leaves open which they are; here they depend on the
// attribute seed, on the place of the node in the model and on that of the
// element, and are the same in each execution.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <bit>
#include <numbers>

namespace tenon::onnx {

namespace {

/// RandomUniform of Tenon needs known sizes. Others get numbers of a
/// permutation of those below a prime, (a x^5 + b) three times, computed of the
/// place of the element: five is no divisor of the prime less 1, and no product
/// of two such numbers is beyond s64.
class Random {
public:
  /// Of the sizes of `like`, or of `shape` if that is kNone.
  Random(NodeContext &n, Value like, Dims shape)
      : n(n), like(like), shape(std::move(shape)) {
    if (like != kNone)
      this->shape = n.shape(like);
    isKnown =
        std::ranges::count(this->shape, graph::kUnknownDim) == 0 && !n.failed();
    seed = std::bit_cast<uint32_t>(n.number("seed", 0));
    place = static_cast<int64_t>(n.operationCount());
  }

  /// From 0 to 1, without 1, f32. Each `stream` has others.
  Value uniform(int64_t stream) {
    int64_t offset = place * 2 + stream;
    if (isKnown)
      return n.op("RandomUniform",
                  {n.scalar(static_cast<double>(seed), DType::s64),
                   n.scalar(static_cast<double>(offset), DType::s64)},
                  {{"shape", shape}}, DType::f32);
    uint64_t state = seed * 0x100000001b3 + static_cast<uint64_t>(offset);
    Value x = modulo(add(modulo(index()), key(state)));
    for (int round = 0; round < 3; ++round) {
      Value square = modulo(times(x, x));
      Value fifth = modulo(times(modulo(times(square, square)), x));
      x = modulo(add(times(fifth, key(state)), key(state)));
    }
    // The upper 24 of 31 bits, which f32 has.
    Value bits = n.op("Divide", {x, integer(1 << 7)});
    return n.op("Multiply",
                {n.cast(bits, DType::f32), n.scalar(0x1p-24, DType::f32)});
  }

  /// With the mean 0 and the variance 1.
  Value normal() {
    // The logarithm of what is not 0.
    Value rest = n.op("Subtract", {n.scalar(1, DType::f32), uniform(0)});
    Value square =
        n.op("Multiply", {n.op("Log", {rest}), n.scalar(-2, DType::f32)});
    Value angle = n.op(
        "Multiply", {uniform(1), n.scalar(2 * std::numbers::pi, DType::f32)});
    return n.op("Multiply", {n.op("Sqrt", {square}), n.op("Cos", {angle})});
  }

private:
  static constexpr int64_t kPrime = 2147483647;

  Value integer(int64_t value) {
    return n.scalar(static_cast<double>(value), DType::s64);
  }
  Value add(Value a, Value b) { return n.op("Add", {a, b}); }
  Value times(Value a, Value b) { return n.op("Multiply", {a, b}); }
  Value modulo(Value a) { return n.op("Remainder", {a, integer(kPrime)}); }

  /// From 1 to kPrime - 1, another one each time.
  Value key(uint64_t &state) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ (state >> 31)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111eb;
    return integer(1 + static_cast<int64_t>((mixed >> 32) % (kPrime - 1)));
  }

  /// The place of each element in row-major order.
  Value index() {
    Value sizes = n.op("Shape", {like}, {}, DType::s64), all = kNone;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      Value at = n.indexAlong(like, d);
      Value size = n.reshape(n.slice(sizes, 0, d, d + 1), {});
      all = all == kNone ? at : add(times(all, size), at);
    }
    return all;
  }

  NodeContext &n;
  Value like;
  Dims shape;
  bool isKnown = true;
  uint64_t seed = 0;
  int64_t place = 0;
};

} // namespace

/// Of the sizes and, unless the attribute dtype says another one, of the type
/// of operand 0, if there is one.
static Random randomOf(NodeContext &n, DType &type) {
  type = n.numInputs() ? n.type(n.in(0)) : DType::f32;
  if (n.has("dtype"))
    type = n.dtypeOf(static_cast<DataType>(n.integer("dtype", 0)));
  if (!graph::isFloat(type))
    n.refuse("random numbers that are integers");
  return {n, n.in(0), n.integers("shape").value_or(Dims{})};
}

/// Numbers times a factor, and more.
static void scaled(NodeContext &n, Value x, float factor, float more,
                   DType type) {
  x = n.op("Multiply", {x, n.like(x, factor)});
  n.out(0, n.cast(n.op("Add", {x, n.like(x, more)}), type));
}

static void randomUniform(NodeContext &n) {
  DType type;
  Value x = randomOf(n, type).uniform(0);
  float low = n.number("low", 0);
  scaled(n, x, n.number("high", 1) - low, low, type);
}

static void randomNormal(NodeContext &n) {
  DType type;
  Value x = randomOf(n, type).normal();
  scaled(n, x, n.number("scale", 1), n.number("mean", 0), type);
}

std::span<const OpConversion> randomConversions() {
  static constexpr OpConversion table[] = {
      {"RandomNormal", 1, randomNormal},
      {"RandomNormalLike", 1, randomNormal},
      {"RandomUniform", 1, randomUniform},
      {"RandomUniformLike", 1, randomUniform},
  };
  return table;
}

} // namespace tenon::onnx
