//===- Exactness.cpp - which edges are exact in floating point ------------===//
//
// See Exactness.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Exactness.h"
#include "compiler/check/OpTraits.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tenon::check {

using graph::DType;

namespace {

constexpr int kF32Bits = 24;

using Grids = std::map<uint64_t, Grid>;

/// Largest power of two that divides `value` (finite); 0 for 0.
double granuleOf(double value) {
  if (value == 0)
    return 0;
  // The lowest bit set, of a mantissa of 53 bits.
  auto bits = std::bit_cast<uint64_t>(value) | uint64_t{1} << 52;
  int place = reference::exponentOf(value) - 52 + std::countr_zero(bits);
  // Beyond that, whatever it is: no type of a tensor has such numbers.
  return reference::powerOfTwo(std::max(place, -1022));
}

Grid constantGrid(double value) {
  return {std::fabs(value), value == 0 ? 1 : granuleOf(value)};
}

bool isPowerOfTwo(double value) {
  int exponent;
  return value > 0 && std::frexp(value, &exponent) == 0.5;
}

Grid sum(const Grid &a, const Grid &b) {
  return {a.largest + b.largest, std::min(a.granule, b.granule)};
}

Grid product(const Grid &a, const Grid &b) {
  return {a.largest * b.largest, a.granule * b.granule};
}

Grid either(const Grid &a, const Grid &b) {
  return {std::max(a.largest, b.largest), std::min(a.granule, b.granule)};
}

/// One scale of a static quantisation that is a power of two; 0 otherwise.
double powerScale(const graph::Op &op) {
  auto scales = op.attrOr<std::vector<float>>("scales", {});
  bool same = !scales.empty() && isPowerOfTwo(scales[0]) &&
              std::all_of(scales.begin(), scales.end(),
                          [&](float s) { return s == scales[0]; });
  return same ? scales[0] : 0;
}

double largestZp(const graph::Op &op) {
  double largest = 0;
  for (int64_t zp : op.attrOr<graph::Dims>("zps", {}))
    largest = std::max(largest, std::fabs(static_cast<double>(zp)));
  return largest;
}

/// Contractions, sums, means: `length` terms per result.
std::optional<Grid> reductionGrid(const graph::Graph &graph,
                                  const graph::Op &op,
                                  const std::vector<Grid> &in) {
  auto length = static_cast<double>(reductionLength(graph, op));
  if (isContraction(op.kind)) {
    Grid result = product(in[0], in[1]);
    result.largest *= length;
    bool bias = in.size() > 2 && op.kind.find("Backward") == std::string::npos;
    return bias ? sum(result, in[2]) : result;
  }
  Grid result = in[0];
  if (op.kind == "ReduceMax" || op.kind == "ReduceMin" || op.kind == "MaxPool")
    return result;
  if (op.kind == "ReduceSum" || op.kind == "ReduceL1" ||
      op.kind == "BiasAddBackward") {
    result.largest *= length;
    return result;
  }
  if (op.kind == "ReduceMean" && isPowerOfTwo(length)) {
    // The sum must be exact before it is divided.
    result.largest *= length;
    if (!result.fits(kF32Bits))
      return std::nullopt;
    return Grid{result.largest / length, result.granule / length};
  }
  return std::nullopt;
}

std::optional<Grid> quantGrid(const graph::Graph &graph, const graph::Op &op,
                              const Grid &in) {
  double scale = powerScale(op);
  if (scale == 0)
    return std::nullopt;
  if (op.kind == "Dequantize")
    return product(sum(in, constantGrid(largestZp(op))), constantGrid(scale));
  if (graph::isFloat(graph.tensor(op.outputs[0]).dtype)) // f8 rounds
    return std::nullopt;
  return Grid{std::min(in.largest / scale + largestZp(op) + 1, 255.0), 1};
}

/// Elementwise operations that keep to a grid.
std::optional<Grid> elementwiseGrid(const graph::Op &op,
                                    const std::vector<Grid> &in) {
  const std::string &kind = op.kind;
  auto attr = [&](const char *name) {
    return constantGrid(op.attrOr<float>(name, 0));
  };
  if (kind == "Add" || kind == "Subtract" || kind == "BiasAdd")
    return sum(in[0], in[1]);
  if (kind == "Multiply")
    return product(in[0], in[1]);
  if (kind == "Square")
    return product(in[0], in[0]);
  if (kind == "SquaredDifference") {
    Grid difference = sum(in[0], in[1]);
    return product(difference, difference);
  }
  if (kind == "Maximum" || kind == "Minimum" || kind == "Concat") {
    Grid result = in[0];
    for (const Grid &other : in)
      result = either(result, other);
    return result;
  }
  if (kind == "Select")
    return either(in[1], in[2]);
  if (kind == "ReLU" || kind == "Abs")
    return in[0];
  if (kind == "Clamp")
    return either(in[0], either(attr("min"), attr("max")));
  if (kind == "LeakyReLU")
    return either(in[0], product(in[0], attr("alpha")));
  if (kind == "PReLU")
    return either(in[0], product(in[0], in[1]));
  if (kind == "ReLUBackward" || kind == "AbsBackward" ||
      kind == "ClampBackward")
    return in[1];
  if (kind == "Round")
    return Grid{in[0].largest + 1, 1};
  if (kind == "GreaterEqual")
    return Grid{1, 1};
  return std::nullopt;
}

/// A cast to an integer drops what is below 1 and stays in range.
Grid castGrid(DType to, const Grid &in) {
  if (graph::isFloat(to))
    return in;
  reference::Range range = reference::rangeOf(to);
  return {std::min(in.largest, std::max(-range.min, range.max)), 1};
}

std::optional<Grid> gridOfResult(const graph::Graph &graph, const graph::Op &op,
                                 const std::vector<Grid> &in) {
  if (op.kind == "TypeCast")
    return castGrid(graph.tensor(op.outputs[0]).dtype, in[0]);
  if (isMovement(op.kind))
    return in[0];
  if (op.kind == "Quantize" || op.kind == "Dequantize")
    return quantGrid(graph, op, in[0]);
  if (auto grid = elementwiseGrid(op, in))
    return grid;
  return reductionGrid(graph, op, in);
}

/// Whether later operations may take the values of this edge for exact:
/// a narrow floating edge must hold them without rounding.
bool readable(const graph::Graph &graph, uint64_t id, const Grid &grid) {
  DType dtype = graph.tensor(id).dtype;
  if (!graph::isFloat(dtype))
    return true;
  return grid.fits(reference::formatOf(dtype).mantissaBits + 1);
}

} // namespace

bool Grid::fits(int bits) const {
  return largest <= std::ldexp(granule, bits) && granule > 0x1p-100 &&
         largest < 0x1p100;
}

std::optional<Grid> gridOf(const reference::Tensor &tensor) {
  Grid grid{0, 0};
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    double value = tensor.at(i);
    if (!std::isfinite(value))
      return std::nullopt;
    // The lowest bit of an s64 may be lost in a double.
    double granule = tensor.isS64() && value != 0
                         ? reference::powerOfTwo(std::countr_zero(
                               static_cast<uint64_t>(tensor.integers[i])))
                         : granuleOf(value);
    grid.largest = std::max(grid.largest, std::fabs(value));
    if (granule != 0)
      grid.granule =
          grid.granule == 0 ? granule : std::min(grid.granule, granule);
  }
  if (grid.granule == 0)
    grid.granule = 1;
  return grid;
}

Grids exactEdges(const graph::Graph &graph,
                 const std::map<uint64_t, reference::Tensor> &inputs) {
  Grids grids;
  for (const auto &[id, tensor] : inputs)
    if (auto grid = gridOf(tensor))
      grids.emplace(id, *grid);
  graph::Graph sorted = graph;
  if (!topologicalSort(sorted).empty())
    return grids;
  for (const graph::Op &op : sorted.ops) {
    if (op.kind == "GenIndex") { // whatever its operand holds
      const graph::LogicalTensor &dst = sorted.tensor(op.outputs[0]);
      double largest = 1;
      for (int64_t dim : dst.shape.value_or(graph::Dims{}))
        largest = std::max(largest, static_cast<double>(dim));
      grids[op.outputs[0]] = {largest, 1};
      continue;
    }
    std::vector<Grid> in;
    for (uint64_t id : op.inputs)
      if (auto found = grids.find(id);
          found != grids.end() && readable(sorted, id, found->second))
        in.push_back(found->second);
    if (op.inputs.empty() || in.size() != op.inputs.size())
      continue;
    auto grid = gridOfResult(sorted, op, in);
    if (grid && grid->fits(kF32Bits))
      for (uint64_t id : op.outputs)
        grids[id] = *grid;
  }
  return grids;
}

} // namespace tenon::check
