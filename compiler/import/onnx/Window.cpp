// SPDX-License-Identifier: Apache-2.0
//
// Pooling.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::onnx {

void addPads(NodeContext &n, size_t spatial, graph::AttrMap &attrs) {
  Dims pads = n.integers("pads").value_or(Dims(2 * spatial, 0));
  std::string automatic = n.text("auto_pad", "NOTSET");
  if (pads.size() != 2 * spatial) {
    n.refuse("two pads for each spatial dim are needed");
    pads.resize(2 * spatial);
  }
  auto middle = pads.begin() + static_cast<int64_t>(spatial);
  attrs.emplace("pads_begin", Dims(pads.begin(), middle));
  attrs.emplace("pads_end", Dims(middle, pads.end()));
  attrs.emplace("auto_pad", automatic == "NOTSET" ? "None" : automatic);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static size_t spatialDims(NodeContext &n) {
  int rank = n.rank(n.in(0));
  if (rank < 3)
    n.refuse("a tensor without spatial dims");
  return static_cast<size_t>(std::max(rank - 2, 0));
}

/// Rounding up, ONNX has no window that begins on end pads; Tenon has. Its pads
/// become shorter by so much that there is none.
static void dropWindowsOnPads(NodeContext &n, graph::AttrMap &attrs) {
  Dims dims = n.shape(n.in(0));
  auto kernel = std::get<Dims>(attrs.at("kernel"));
  auto strides = std::get<Dims>(attrs.at("strides"));
  auto begins = std::get<Dims>(attrs.at("pads_begin"));
  auto &ends = std::get<Dims>(attrs.at("pads_end"));
  Dims dilations = n.integers("dilations").value_or(Dims(ends.size(), 1));
  if (dims.size() != ends.size() + 2 || kernel.size() != ends.size() ||
      strides.size() != ends.size() || dilations.size() != ends.size())
    return;
  for (size_t i = 0; i < ends.size(); ++i) {
    int64_t size = dims[i + 2];
    // Strange numbers are an error of the operation.
    int64_t most = int64_t{1} << 40;
    if (size == graph::kUnknownDim || strides[i] < 1 || strides[i] > most ||
        kernel[i] > (1 << 20) || dilations[i] > (1 << 20) || size > most ||
        begins[i] < -most || begins[i] > most || ends[i] < -most ||
        ends[i] > most)
      continue;
    int64_t window = dilations[i] * (kernel[i] - 1) + 1;
    int64_t room = size + begins[i] + ends[i] - window;
    int64_t last = (room + strides[i] - 1) / strides[i] * strides[i];
    if (room > 0 && last >= size + begins[i])
      ends[i] = last - strides[i] + window - size - begins[i];
  }
}

static graph::AttrMap poolAttrs(NodeContext &n) {
  size_t spatial = spatialDims(n);
  bool ceil = n.integer("ceil_mode", 0) != 0;
  graph::AttrMap attrs{
      {"data_format", "NCX"},
      {"kernel", n.integers("kernel_shape").value_or(Dims(spatial, 1))},
      {"strides", n.integers("strides").value_or(Dims(spatial, 1))},
      {"rounding_type", ceil ? "ceil" : "floor"}};
  addPads(n, spatial, attrs);
  if (ceil && n.text("auto_pad", "NOTSET") == "NOTSET")
    dropWindowsOnPads(n, attrs);
  return attrs;
}

graph::AttrMap averagePoolAttrs(NodeContext &n) {
  graph::AttrMap attrs = poolAttrs(n);
  attrs.emplace("exclude_pad", n.integer("count_include_pad", 0) == 0);
  // Rounding up does not add to what is counted.
  attrs.emplace("divisor", "clipped");
  return attrs;
}

static void averagePool(NodeContext &n) {
  Dims dilations = n.integers("dilations").value_or(Dims{});
  if (std::any_of(dilations.begin(), dilations.end(),
                  [](int64_t d) { return d != 1; }))
    return dilatedAveragePool(n);
  n.out(0, n.op("AvgPool", {n.in(0)}, averagePoolAttrs(n)));
}

/// Tenon counts positions within the spatial dims, row by row; ONNX within the
/// whole tensor, with storage_order within each image column by column.
static Value indicesInTensor(NodeContext &n, Value indices) {
  Dims dims = n.knownShape(n.in(0));
  if (n.failed())
    return kNone;
  // Beside a batch of 0 there may be sizes without a product.
  Dims channels(dims.begin() + 1, dims.end()),
      spatial(dims.begin() + 2, dims.end());
  int64_t sample = reference::elementCount(channels),
          image = reference::elementCount(spatial);
  if (sample < 0 || image < 0) {
    n.refuse("sizes whose product is too large");
    return kNone;
  }
  if (n.integer("storage_order", 0)) {
    if (dims.size() != 4) {
      n.refuse("indices column by column of other than two spatial dims");
      return kNone;
    }
    auto scalar = [&](int64_t v) {
      return n.scalar(static_cast<double>(v), DType::s64);
    };
    Value row = n.op("Divide", {indices, scalar(dims[3])});
    Value column = n.op("Remainder", {indices, scalar(dims[3])});
    indices = n.op("Add", {n.op("Multiply", {column, scalar(dims[2])}), row});
  }
  auto times = [&](int64_t axis, int64_t factor) {
    Value size = n.scalar(static_cast<double>(factor), DType::s64);
    return n.op("Multiply", {n.indexAlong(indices, axis), size});
  };
  Value before = n.op("Add", {times(0, sample), times(1, image)});
  return n.op("Add", {indices, before});
}

graph::AttrMap maxPoolAttrs(NodeContext &n) {
  graph::AttrMap attrs = poolAttrs(n);
  attrs.emplace("propagate_nan", true);
  if (std::optional<Dims> dilations = n.integers("dilations"))
    attrs.emplace("dilations", *dilations);
  return attrs;
}

/// Integers are pooled as f32, which holds all of 8 bits.
static void maxPool(NodeContext &n) {
  graph::AttrMap attrs = maxPoolAttrs(n);
  DType type = n.type(n.in(0));
  Value x = n.isFloat(n.in(0)) ? n.in(0) : n.cast(n.in(0), DType::f32);
  if (!n.wants(1))
    return n.out(0, n.cast(n.op("MaxPool", {x}, attrs), type));
  Values results = n.ops("MaxPool", {x}, attrs, {n.type(x), DType::s64});
  n.out(0, n.cast(results[0], type));
  n.out(1, indicesInTensor(n, results[1]));
}

static void globalPool(NodeContext &n) {
  Dims axes;
  for (size_t i = 0; i < spatialDims(n); ++i)
    axes.push_back(static_cast<int64_t>(i) + 2);
  n.out(0, n.reduce(n.conversion().kind, n.in(0), axes, true));
}

/// Elements go to their places in the shape that the attributes say; a larger
/// output_shape is zeros behind it.
static void maxUnpool(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  size_t spatial = spatialDims(n);
  Dims kernel = n.integers("kernel_shape").value_or(Dims{});
  Dims strides = n.integers("strides").value_or(Dims(spatial, 1));
  Dims pads = n.integers("pads").value_or(Dims(2 * spatial, 0));
  if (n.failed())
    return;
  if (kernel.size() != spatial || strides.size() != spatial ||
      pads.size() != 2 * spatial)
    return n.refuse("an entry for each spatial dim is needed");
  for (size_t i = 0; i < spatial; ++i)
    dims[i + 2] = (dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] -
                  pads[spatial + i];
  int64_t count = reference::elementCount(dims);
  if (count < 0)
    return n.refuse("impossible sizes");
  Value zeros = n.op("Expand", {n.like(n.in(0), 0)}, {{"shape", Dims{count}}});
  Value flat = n.op("ScatterElements",
                    {zeros, n.reshape(n.in(1), {-1}), n.reshape(n.in(0), {-1})},
                    {{"axis", int64_t{0}}});
  Value result = n.reshape(flat, dims);
  if (n.in(2) != kNone) {
    Dims wanted = n.needed(2, "the operand output_shape");
    Dims ends(dims.size(), 0);
    for (size_t i = 0; i < std::min(wanted.size(), dims.size()); ++i)
      ends[i] = wanted[i] - dims[i];
    result = n.op("Pad", {result},
                  {{"pads_begin", Dims(dims.size(), 0)}, {"pads_end", ends}});
  }
  n.out(0, result);
}

std::span<const OpConversion> windowConversions() {
  static constexpr OpConversion table[] = {
      {"AveragePool", 1, averagePool},
      {"GlobalAveragePool", 1, globalPool, "ReduceMean"},
      {"GlobalMaxPool", 1, globalPool, "ReduceMax"},
      {"MaxPool", 1, maxPool},
      {"MaxUnpool", 9, maxUnpool},
  };
  return table;
}

} // namespace tenon::onnx
