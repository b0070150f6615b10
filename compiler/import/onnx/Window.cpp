// SPDX-License-Identifier: Apache-2.0
//
// Pooling and resampling.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>

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

static graph::AttrMap poolAttrs(NodeContext &n) {
  size_t spatial = spatialDims(n);
  bool ceil = n.integer("ceil_mode", 0) != 0;
  graph::AttrMap attrs{
      {"data_format", "NCX"},
      {"kernel", n.integers("kernel_shape").value_or(Dims(spatial, 1))},
      {"strides", n.integers("strides").value_or(Dims(spatial, 1))},
      {"rounding_type", ceil ? "ceil" : "floor"}};
  addPads(n, spatial, attrs);
  return attrs;
}

graph::AttrMap averagePoolAttrs(NodeContext &n) {
  graph::AttrMap attrs = poolAttrs(n);
  Dims dilations = n.integers("dilations").value_or(Dims{});
  if (std::any_of(dilations.begin(), dilations.end(),
                  [](int64_t d) { return d != 1; }))
    n.refuse("dilations of an average");
  attrs.emplace("exclude_pad", n.integer("count_include_pad", 0) == 0);
  // Rounding up does not add to what is counted.
  attrs.emplace("divisor", "clipped");
  return attrs;
}

static void averagePool(NodeContext &n) {
  n.out(0, n.op("AvgPool", {n.in(0)}, averagePoolAttrs(n)));
}

/// Tenon counts positions within the spatial dims, row by row; ONNX within the
/// whole tensor, with storage_order within each image column by column.
static Value indicesInTensor(NodeContext &n, Value indices) {
  Dims dims = n.knownShape(n.in(0));
  if (n.failed())
    return kNone;
  int64_t image = 1;
  for (size_t i = 2; i < dims.size(); ++i)
    image *= dims[i];
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
  Value before = n.op("Add", {times(0, dims[1] * image), times(1, image)});
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

//===----------------------------------------------------------------------===//
// Resampling
//===----------------------------------------------------------------------===//

/// Factors or sizes for all dims of a tensor.
struct Resized {
  std::vector<float> scales;
  Dims sizes;
  size_t size() const { return std::max(scales.size(), sizes.size()); }
};

static std::vector<float> neededFloats(NodeContext &n, size_t i) {
  const reference::Tensor *tensor = n.elements(n.in(i));
  if (!tensor) {
    n.refuse("the operand scales is not known when the model is read");
    return {};
  }
  std::vector<float> result;
  for (int64_t k = 0; k < tensor->numElements(); ++k)
    result.push_back(static_cast<float>(tensor->at(k)));
  return result;
}

/// Interpolate is for spatial dims; where the first two dims change as well,
/// two dims of 1 in front make all dims spatial.
static void interpolate(NodeContext &n, Resized to, graph::AttrMap attrs) {
  Value x = n.in(0);
  Dims dims = n.knownShape(x);
  if (n.failed())
    return;
  if (to.size() != dims.size())
    return n.refuse("a factor or a size for each dim is needed");
  auto changes = [&](size_t i) {
    return to.scales.empty() ? to.sizes[i] != dims[i] : to.scales[i] != 1;
  };
  bool all = dims.size() < 3 || changes(0) || changes(1);
  if (all) {
    dims.insert(dims.begin(), 2, 1);
    x = n.reshape(x, dims);
  } else if (to.scales.empty()) {
    to.sizes.erase(to.sizes.begin(), to.sizes.begin() + 2);
  } else {
    to.scales.erase(to.scales.begin(), to.scales.begin() + 2);
  }
  if (to.scales.empty()) {
    attrs.emplace("sizes", to.sizes);
  } else {
    attrs.emplace("scales", to.scales);
    attrs.emplace("ratio", "scales");
  }
  attrs.emplace("data_format", "NCX");
  Value result = n.op("Interpolate", {x}, attrs);
  if (all) {
    Dims wanted = n.knownShape(result);
    if (n.failed())
      return;
    wanted.erase(wanted.begin(), wanted.begin() + 2);
    result = n.reshape(result, wanted);
  }
  n.out(0, result);
}

/// Upsample, and Resize before version 11: positions are divided by the factor.
static void resize10(NodeContext &n) {
  Resized to;
  to.scales = n.in(1) == kNone
                  ? n.numbers("scales").value_or(std::vector<float>{})
                  : neededFloats(n, 1);
  interpolate(n, to,
              {{"mode", n.text("mode", "nearest")},
               {"coordinate_transformation_mode", "asymmetric"},
               {"nearest_mode", "floor"}});
}

/// Operands are X, roi, scales, sizes. With `axes` (version 18), scales and
/// sizes are of those dims alone.
static void resize11(NodeContext &n) {
  std::string coordinates =
      n.text("coordinate_transformation_mode", "half_pixel");
  if (coordinates == "tf_crop_and_resize")
    return n.refuse("a region that is cropped");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return n.refuse("sizes that follow the aspect ratio");
  Resized given, to;
  Dims dims = n.knownShape(n.in(0));
  // An operand of no elements is like one that is left out.
  if (n.in(3) != kNone && n.shape(n.in(3)) != Dims{0})
    given.sizes = n.needed(3, "the operand sizes");
  else
    given.scales = neededFloats(n, 2);
  if (n.failed())
    return;
  to = given;
  if (std::optional<Dims> axes = n.integers("axes")) {
    if (given.size() != axes->size())
      return n.refuse("a factor or a size for each of the axes is needed");
    to.sizes = given.sizes.empty() ? Dims{} : dims;
    to.scales.assign(given.scales.empty() ? 0 : dims.size(), 1.0f);
    for (size_t i = 0; i < axes->size(); ++i) {
      int64_t axis = n.axisOf((*axes)[i], static_cast<int>(dims.size()));
      if (n.failed())
        return;
      if (given.scales.empty())
        to.sizes[axis] = given.sizes[i];
      else
        to.scales[axis] = given.scales[i];
    }
  }
  interpolate(n, to,
              {{"mode", n.text("mode", "nearest")},
               {"coordinate_transformation_mode", coordinates},
               {"nearest_mode", n.text("nearest_mode", "round_prefer_floor")},
               {"cubic_coeff_a", n.number("cubic_coeff_a", -0.75f)},
               {"exclude_outside", n.integer("exclude_outside", 0) != 0},
               {"antialias", n.integer("antialias", 0) != 0}});
}

std::span<const OpConversion> windowConversions() {
  static constexpr OpConversion table[] = {
      {"AveragePool", 1, averagePool},
      {"GlobalAveragePool", 1, globalPool, "ReduceMean"},
      {"GlobalMaxPool", 1, globalPool, "ReduceMax"},
      {"MaxPool", 1, maxPool},
      {"MaxUnpool", 9, maxUnpool},
      {"Resize", 10, resize10},
      {"Resize", 11, resize11},
      {"Upsample", 7, resize10},
  };
  return table;
}

} // namespace tenon::onnx
