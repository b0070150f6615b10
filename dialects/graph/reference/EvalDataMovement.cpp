//===- EvalDataMovement.cpp - operations that move data -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Concat, Dropout, End, GenIndex, RandomUniform, Reorder, Reshape,
// StaticReshape,
// StaticTranspose, TypeCast.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/OpContext.h"

namespace tenon::reference {
namespace {

bool copyTo(OpContext &c, const Dims &shape) {
  if (!c.setShape(0, shape))
    return false;
  moveElements(c.in(0), c.out(), [](const auto &src, auto &dst) { dst = src; });
  return true;
}

bool evalConcat(OpContext &c) {
  if (c.inputs.empty())
    return c.fail(ErrorCode::OperandCount, "has no operands");
  const Dims &first = c.in(0).shape;
  auto axis = c.axis("axis", 0, c.in(0).rank());
  if (!axis)
    return false;
  Dims shape = first;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    Dims other = c.in(i).shape;
    if (other.size() == first.size()) {
      shape[*axis] += other[*axis];
      other[*axis] = first[*axis];
    }
    if (other != first)
      return c.fail(ErrorCode::ShapeMismatch,
                    "operand " + std::to_string(i) + " has shape " +
                        shapeText(c.in(i).shape) + ", operand 0 " +
                        shapeText(first),
                    "all dims but the axis must be equal");
  }
  if (!c.setShape(0, shape))
    return false;
  AxisSplit whole = splitAt(shape, *axis);
  int64_t start = 0; // along the axis
  for (const Tensor *part : c.inputs) {
    int64_t run = part->shape[*axis] * whole.inner;
    moveElements(*part, c.out(), [&](const auto &src, auto &dst) {
      for (int64_t o = 0; o < whole.outer; ++o)
        std::copy_n(src.begin() + o * run, run,
                    dst.begin() + (o * whole.length + start) * whole.inner);
    });
    start += part->shape[*axis];
  }
  return true;
}

bool evalEnd(OpContext &) { return true; }

bool evalGenIndex(OpContext &c) {
  const Dims &shape = c.in(0).shape;
  auto axis = c.axis("axis", 0, c.in(0).rank());
  if (!axis || !c.setShape(0, shape))
    return false;
  AxisSplit split = splitAt(shape, *axis);
  for (int64_t i = 0; i < c.out().numElements(); ++i)
    setInteger(c.out(), i, i / split.inner % split.length);
  return true;
}

bool evalReorder(OpContext &c) { return copyTo(c, c.in(0).shape); }

/// `shape` has -1 for a dim that follows from the others; `copiesZero`: 0 for
/// one of src. Bad entries are errors of `code`.
bool reshapeTo(OpContext &c, Dims shape, bool copiesZero, ErrorCode code) {
  const Tensor &src = c.in(0);
  int inferred = -1;
  int64_t known = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && copiesZero) {
      if (d >= src.shape.size())
        return c.fail(code, "shape[" + std::to_string(d) +
                                "] copies a dim that src of rank " +
                                std::to_string(src.rank()) + " does not have");
      shape[d] = src.shape[d];
    }
    if (shape[d] == -1 && inferred < 0)
      inferred = static_cast<int>(d);
    else if (shape[d] < 0)
      return c.fail(code,
                    "shape[" + std::to_string(d) + "] is " +
                        std::to_string(shape[d]),
                    "one entry may be -1, the others are sizes");
  }
  if (inferred >= 0) {
    shape[inferred] = 1;
    known = elementCount(shape);
    if (known <= 0 || src.numElements() % known != 0)
      return c.fail(ErrorCode::ShapeMismatch,
                    std::to_string(src.numElements()) +
                        " elements do not divide by the other dims, " +
                        std::to_string(known));
    shape[inferred] = src.numElements() / known;
  }
  if (elementCount(shape) != src.numElements())
    return c.fail(ErrorCode::ShapeMismatch,
                  shapeText(src.shape) + " has " +
                      std::to_string(src.numElements()) + " elements, " +
                      shapeText(shape) + " has " +
                      std::to_string(elementCount(shape)));
  return copyTo(c, shape);
}

bool evalReshape(OpContext &c) {
  return reshapeTo(c, c.list("shape"), c.flag("special_zero", false),
                   ErrorCode::AttrValue);
}

bool evalReshapeToOperand(OpContext &c) {
  return reshapeTo(c, integersOf(c.in(1)), !c.flag("allow_zero", false),
                   ErrorCode::BadTensorData);
}

bool evalTranspose(OpContext &c) {
  const Tensor &src = c.in(0);
  int rank = src.rank();
  Dims order = c.list("order");
  if (order.empty()) // reverses all dims
    for (int d = rank; d-- > 0;)
      order.push_back(d);
  std::vector<bool> seen(rank, false);
  Dims shape, strides, srcStrides = graph::denseStrides(src.shape);
  for (int64_t entry : order) {
    int64_t dim = entry < 0 ? entry + rank : entry;
    if (dim < 0 || dim >= rank || seen[dim] ||
        order.size() != static_cast<size_t>(rank))
      return c.fail(ErrorCode::AttrValue, "order is no permutation of " +
                                              std::to_string(rank) + " dims");
    seen[dim] = true;
    shape.push_back(src.shape[dim]);
    strides.push_back(srcStrides[dim]);
  }
  if (!c.setShape(0, shape))
    return false;
  moveElements(src, c.out(), [&](const auto &from, auto &to) {
    forEachIndex<1>(shape, {strides},
                    [&](int64_t i, const std::array<int64_t, 1> &at) {
                      to[i] = from[at[0]];
                    });
  });
  return true;
}

bool evalTypeCast(OpContext &c) {
  const Tensor &src = c.in(0);
  if (!c.setShape(0, src.shape))
    return false;
  Tensor &dst = c.out();
  if (src.isS64() && dst.isS64()) {
    dst.integers = src.integers;
  } else if (dst.isS64()) {
    std::transform(src.data.begin(), src.data.end(), dst.integers.begin(),
                   castToS64);
  } else if (src.isS64()) {
    for (int64_t i = 0; i < dst.numElements(); ++i)
      dst.data[i] = castFromS64(dst.dtype, src.integers[i]);
  } else {
    // Widening a float is exact in real arithmetic and rounds nothing.
    dst.data = src.data;
    bool isWide = src.dtype == DType::f8_e8m0 && dst.dtype == DType::f16;
    if (graph::isFloat(src.dtype) && graph::isFloat(dst.dtype) &&
        graph::byteSize(dst.dtype) > graph::byteSize(src.dtype) && !isWide)
      return true;
    for (double &value : dst.data)
      value = castTo(src.dtype, dst.dtype, value);
  }
  return true;
}

/// The one element of a tensor of integers: s64, or another type.
uint64_t integerOf(const Tensor &tensor) {
  return static_cast<uint64_t>(integerAt(tensor, 0));
}

/// Philox4x32-10: the four random words of one counter.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t{0xD2511F53} * counter[0];
    uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

/// The random number of the element with row-major index `i`.
uint32_t randomAt(uint64_t seed, uint64_t offset, uint64_t i) {
  uint64_t base = i & ~uint64_t{3};
  return philox({low(offset), high(offset), low(base), high(base)},
                {low(seed), high(seed)})[i & 3];
}

/// The same in Dropout, where offset 0 keeps the published legacy rule: one
/// number for four neighbours.
uint32_t dropoutRandom(uint64_t seed, uint64_t offset, uint64_t i) {
  uint64_t base = i & ~uint64_t{3};
  if (offset != 0)
    return randomAt(seed, offset, i);
  return philox({low(base), low(base + 1), low(base), low(base + 3)},
                {low(seed), low(seed)})[2];
}

bool evalDropout(OpContext &c) {
  const Tensor &src = c.in(0);
  for (size_t i = 1; i < 4; ++i)
    if (c.in(i).numElements() != 1)
      return c.fail(ErrorCode::ShapeMismatch,
                    "operand " + std::to_string(i) + " must have one element");
  if (!c.setShape(0, src.shape) || (c.hasOut(1) && !c.setShape(1, src.shape)))
    return false;
  auto seed = static_cast<uint64_t>(integerAt(c.in(1), 0));
  auto offset = static_cast<uint64_t>(integerAt(c.in(2), 0));
  double probability = std::clamp(c.in(3).data[0], 0.0, 1.0);
  double threshold = probability * 4294967295.0;
  for (int64_t i = 0; i < src.numElements(); ++i) {
    bool keep = probability < 1 && dropoutRandom(seed, offset, i) > threshold;
    c.out().data[i] = keep ? src.data[i] / (1 - probability) : 0;
    if (c.hasOut(1))
      c.out(1).data[i] = keep;
  }
  return true;
}

/// The dims that attribute `shape` or operand 2 says; absent after an error.
std::optional<Dims> shapeOfRandom(OpContext &c) {
  Dims shape = c.list("shape");
  if (c.hasIn(2)) {
    if (c.in(2).rank() != 1 || c.in(2).numElements() > graph::kMaxRank) {
      c.fail(ErrorCode::BadRank, "shape_tensor " + shapeText(c.in(2).shape) +
                                     " is no list of at most " +
                                     std::to_string(graph::kMaxRank) + " dims");
      return std::nullopt;
    }
    shape.clear();
    for (int64_t i = 0; i < c.in(2).numElements(); ++i)
      shape.push_back(integerAt(c.in(2), i));
  }
  for (int64_t size : shape)
    if (size < 0) {
      c.fail(c.hasIn(2) ? ErrorCode::BadTensorData : ErrorCode::AttrValue,
             "the shape has a dim of size " + std::to_string(size),
             "sizes are 0 or more");
      return std::nullopt;
    }
  return shape;
}

bool evalRandomUniform(OpContext &c) {
  auto shape = shapeOfRandom(c);
  if (!shape || !c.requireLength(0, 1) || !c.requireLength(1, 1) ||
      !c.setShape(0, *shape))
    return false;
  uint64_t seed = integerOf(c.in(0)), offset = integerOf(c.in(1));
  for (int64_t i = 0; i < c.out().numElements(); ++i)
    c.out().data[i] = (randomAt(seed, offset, i) >> 8) * 0x1p-24;
  return true;
}

} // namespace

std::span<const OpEntry> dataMovementOps() {
  static constexpr OpEntry entries[] = {
      {"Concat", evalConcat, S64Use::moved},
      {"Dropout", evalDropout, S64Use::seed},
      {"End", evalEnd, S64Use::moved},
      {"GenIndex", evalGenIndex, S64Use::any},
      {"RandomUniform", evalRandomUniform, S64Use::any},
      {"Reorder", evalReorder, S64Use::moved},
      {"Reshape", evalReshapeToOperand, S64Use::any},
      {"StaticReshape", evalReshape, S64Use::moved},
      {"StaticTranspose", evalTranspose, S64Use::moved},
      {"TypeCast", evalTypeCast, S64Use::any},
  };
  return entries;
}

} // namespace tenon::reference
