//===- Exactness.cpp - which edges are exact in floating point ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Exactness.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Exactness.h"
#include "compiler/check/OpTraits.h"
#include "dialects/graph/OpTable.h"

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

/// An operation, and the grids of its operands.
struct Call {
  const graph::Graph &graph;
  const graph::Op &op;
  const std::vector<Grid> &in;

  Grid attr(const char *name) const {
    return constantGrid(op.attrOr<float>(name, 0));
  }
  DType resultType() const { return graph.tensor(op.outputs[0]).dtype; }
  double length() const {
    return static_cast<double>(reductionLength(graph, op));
  }
};

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

Grid contraction(const Call &call) {
  Grid result = product(call.in[0], call.in[1]);
  result.largest *= call.length();
  const graph::OpInfo &info = graph::factsOf(call.op.kind);
  bool bias = call.in.size() > 2 && info.backwardOf.empty();
  return bias ? sum(result, call.in[2]) : result;
}

Grid sumOfRow(const Call &call) {
  return {call.in[0].largest * call.length(), call.in[0].granule};
}

std::optional<Grid> mean(const Call &call) {
  double length = call.length();
  Grid all = sumOfRow(call);
  // The sum must be exact before it is divided.
  if (!isPowerOfTwo(length) || !all.fits(kF32Bits))
    return std::nullopt;
  return Grid{all.largest / length, all.granule / length};
}

std::optional<Grid> dequantized(const Call &call) {
  double scale = powerScale(call.op);
  if (scale == 0)
    return std::nullopt;
  return product(sum(call.in[0], constantGrid(largestZp(call.op))),
                 constantGrid(scale));
}

std::optional<Grid> quantized(const Call &call) {
  double scale = powerScale(call.op);
  if (scale == 0 || graph::isFloat(call.resultType())) // f8 rounds
    return std::nullopt;
  double steps = call.in[0].largest / scale + largestZp(call.op) + 1;
  return Grid{std::min(steps, 255.0), 1};
}

Grid squaredDifference(const Call &call) {
  Grid difference = sum(call.in[0], call.in[1]);
  return product(difference, difference);
}

/// Of operands, and of the number that an operation may put beside them.
Grid unionOfAll(const Call &call) {
  Grid result = call.in[0];
  if (call.op.attr("value"))
    result = either(result, call.attr("value"));
  for (const Grid &other : call.in)
    result = either(result, other);
  return result;
}

/// A cast to an integer drops what is below 1 and stays in range.
Grid cast(const Call &call) {
  if (graph::isFloat(call.resultType()))
    return call.in[0];
  reference::Range range = reference::rangeOf(call.resultType());
  return {std::min(call.in[0].largest, std::max(-range.min, range.max)), 1};
}

std::optional<Grid> nextInteger(const Call &call) {
  return Grid{call.in[0].largest + 1, 1};
}

/// How results keep to a grid, by the name that the operation table gives.
struct GridRule {
  std::string_view name;
  std::optional<Grid> (*grid)(const Call &);
};

constexpr GridRule kRules[] = {
    {"boolean", [](const Call &) { return std::optional(Grid{1, 1}); }},
    {"cast", [](const Call &c) { return std::optional(cast(c)); }},
    {"clamp",
     [](const Call &c) {
       Grid bounds = either(c.attr("min"), c.attr("max"));
       return std::optional(either(c.in[0], bounds));
     }},
    {"contraction",
     [](const Call &c) { return std::optional(contraction(c)); }},
    {"dequantize", dequantized},
    {"first", [](const Call &c) { return std::optional(c.in[0]); }},
    {"floor", nextInteger},
    {"integer", nextInteger},
    {"leaky_relu",
     [](const Call &c) {
       return std::optional(either(c.in[0], product(c.in[0], c.attr("alpha"))));
     }},
    {"mean", mean},
    {"prelu",
     [](const Call &c) {
       return std::optional(either(c.in[0], product(c.in[0], c.in[1])));
     }},
    {"product",
     [](const Call &c) { return std::optional(product(c.in[0], c.in[1])); }},
    {"quantize", quantized},
    {"reduce_sum", [](const Call &c) { return std::optional(sumOfRow(c)); }},
    {"second", [](const Call &c) { return std::optional(c.in[1]); }},
    {"select",
     [](const Call &c) { return std::optional(either(c.in[1], c.in[2])); }},
    {"square",
     [](const Call &c) { return std::optional(product(c.in[0], c.in[0])); }},
    {"squared_difference",
     [](const Call &c) { return std::optional(squaredDifference(c)); }},
    {"sum", [](const Call &c) { return std::optional(sum(c.in[0], c.in[1])); }},
    {"union", [](const Call &c) { return std::optional(unionOfAll(c)); }},
};

std::optional<Grid> gridOfResult(const Call &call) {
  std::string_view name = graph::factsOf(call.op.kind).grid;
  const auto *rule = std::ranges::find(kRules, name, &GridRule::name);
  return rule == std::end(kRules) ? std::nullopt : rule->grid(call);
}

/// Of indices into any of the tensors.
Grid gridOfIndices(const graph::Graph &graph, const graph::Op &op) {
  double largest = 1;
  for (const auto *ids : {&op.inputs, &op.outputs})
    for (uint64_t id : *ids)
      for (int64_t dim : graph.tensor(id).shape.value_or(graph::Dims{}))
        largest = std::max(largest, static_cast<double>(dim));
  return {largest, 1};
}

/// Of a number of elements of one of the operands.
Grid gridOfCount(const graph::Graph &graph, const graph::Op &op) {
  double largest = 1;
  for (uint64_t id : op.inputs) {
    double count = 1;
    for (int64_t dim : graph.tensor(id).shape.value_or(graph::Dims{}))
      count *= static_cast<double>(dim);
    largest = std::max(largest, count);
  }
  return {largest, 1};
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

bool isGridRule(std::string_view name) {
  return name == "index" ||
         std::ranges::find(kRules, name, &GridRule::name) != std::end(kRules);
}

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
    std::vector<Grid> in;
    for (uint64_t id : op.inputs)
      if (auto found = grids.find(id);
          found != grids.end() && readable(sorted, id, found->second))
        in.push_back(found->second);
    bool isExact = in.size() == op.inputs.size();
    if (const graph::OpInfo &info = graph::factsOf(op.kind);
        info.grid == "index") {
      // A search finds others among rounded elements; GenIndex reads none.
      if (!isExact && info.opClass == graph::OpClass::search)
        continue;
      grids[op.outputs[0]] = gridOfIndices(sorted, op);
      if (op.outputs.size() > 1)
        grids[op.outputs[1]] = gridOfCount(sorted, op);
      continue;
    }
    if (op.inputs.empty() || !isExact)
      continue;
    auto grid = gridOfResult({sorted, op, in});
    if (grid && grid->fits(kF32Bits))
      for (uint64_t id : op.outputs)
        grids[id] = *grid;
  }
  return grids;
}

} // namespace tenon::check
