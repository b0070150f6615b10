// SPDX-License-Identifier: Apache-2.0
//
// Resampling.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/ResizeSizes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tenon::onnx {

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
  // Bytes are resampled in f32, and what is behind the point is cut off.
  Value x = n.in(0);
  DType type = n.type(x);
  if (type == DType::u8 || type == DType::s8)
    x = n.cast(x, DType::f32);
  Dims dims = n.shape(x);
  Sizes before = n.sizesOf(x).value_or(Sizes{});
  if (n.failed())
    return;
  if (to.size() != dims.size())
    return n.refuse("a factor or a size for each dim is needed");
  auto changes = [&](size_t i) {
    // A size that is not known, and 0, is kept.
    return to.scales.empty() ? to.sizes[i] != dims[i] && to.sizes[i] != 0
                             : to.scales[i] != 1;
  };
  bool all = dims.size() < 3 || changes(0) || changes(1);
  if (all) {
    before.insert(before.begin(), 2, Size{1, ""});
    x = n.reshapeTo(x, before);
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
    Sizes wanted = n.sizesOf(result).value_or(Sizes{});
    if (n.failed())
      return;
    wanted.erase(wanted.begin(), wanted.begin() + 2);
    result = n.reshapeTo(result, wanted);
  }
  n.out(0, n.cast(result, type));
}

/// Upsample, and Resize before version 11: positions are divided by the factor.
static void resize10(NodeContext &n) {
  Resized to;
  if (n.in(1) != kNone && !n.elements(n.in(1)) &&
      resizeByFactors(n, n.in(1), {"asymmetric", "floor"}))
    return;
  to.scales = n.in(1) == kNone
                  ? n.numbers("scales").value_or(std::vector<float>{})
                  : neededFloats(n, 1);
  interpolate(n, to,
              {{"mode", n.text("mode", "nearest")},
               {"coordinate_transformation_mode", "asymmetric"},
               {"nearest_mode", "floor"}});
}

/// Sizes in the ratio of those of `dims`, none of which, of the given axes, is
/// larger than its entry, or smaller.
static void followRatio(NodeContext &n, const Dims &axes, const Dims &dims,
                        Dims &sizes) {
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return;
  for (int64_t axis : axes)
    if (dims[axis] == graph::kUnknownDim)
      return n.refuse("a size is not known, of which the ratio is kept");
  bool smaller = policy == "not_larger";
  double factor = smaller ? std::numeric_limits<double>::infinity() : 0;
  for (int64_t axis : axes) {
    double own =
        static_cast<double>(sizes[axis]) / static_cast<double>(dims[axis]);
    factor = smaller ? std::min(factor, own) : std::max(factor, own);
  }
  for (int64_t axis : axes)
    sizes[axis] = static_cast<int64_t>(
        std::floor(factor * static_cast<double>(dims[axis]) + 0.5));
}

namespace {

/// Resamples one dim after the other as products with constant matrices, for
/// what Interpolate does not have: regions, and corners that meet where a size
/// times its factor is no integer.
class MatrixResize {
public:
  MatrixResize(NodeContext &n, bool cropped)
      : n(n), cropped(cropped), cubic(n.text("mode", "nearest") == "cubic"),
        a(n.number("cubic_coeff_a", -0.75f)) {}

  /// The dim `axis` of `x` with `size` elements at places from `begin` to
  /// `end`, of 1 for all, or as far apart as `length` elements need.
  Value run(Value x, int64_t axis, int64_t size, double length, double begin,
            double end) {
    Dims dims = n.shape(x);
    int64_t from = dims[axis];
    auto last = static_cast<double>(from - 1);
    std::optional<reference::Tensor> table = n.table(DType::f32, {from, size});
    if (!table)
      return kNone;
    reference::Tensor weights = std::move(*table);
    reference::Tensor outside = reference::zeros(DType::boolean, {size});
    for (int64_t i = 0; i < size; ++i) {
      double at = length > 1 ? static_cast<double>(i) * (end - begin) * last /
                                   (length - 1)
                             : (cropped ? (end - begin) * last / 2 : 0);
      at += begin * last;
      outside.data[i] = cropped && (at < 0 || at > last);
      addTaps(weights, i, at);
    }
    reference::roundToDType(weights);
    auto [order, back] =
        NodeContext::ordersWithLast(axis, static_cast<int64_t>(dims.size()));
    Value matrix = n.cast(n.constant(std::move(weights)), n.type(x));
    Value y = n.op("MatMul", {n.transpose(x, order), matrix});
    if (cropped) {
      Value other = n.like(y, n.number("extrapolation_value", 0));
      y = n.select(n.constant(std::move(outside)), other, y);
    }
    return n.transpose(y, back);
  }

private:
  double weightOf(double distance) const {
    double t = std::abs(distance);
    if (!cubic)
      return std::max(1 - t, 0.0);
    if (t <= 1)
      return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? a * (((t - 5) * t + 8) * t - 4) : 0;
  }

  /// Taps beyond the ends are the elements there.
  void addTaps(reference::Tensor &weights, int64_t column, double at) const {
    int64_t from = weights.shape[0], size = weights.shape[1];
    if (!(std::abs(at) < 1e9))
      return;
    auto floor = static_cast<int64_t>(std::floor(at));
    for (int64_t i = floor - 1; i < floor + 3; ++i)
      weights.data[std::clamp<int64_t>(i, 0, from - 1) * size + column] +=
          weightOf(at - static_cast<double>(i));
  }

  NodeContext &n;
  bool cropped, cubic;
  double a;
};

} // namespace

/// The same for all dims that change; whether it is for this node.
static bool resizeByMatrices(NodeContext &n, const Resized &to,
                             const Dims &axes) {
  std::string mode = n.text("mode", "nearest");
  std::string coordinates = n.text("coordinate_transformation_mode", "");
  bool cropped = coordinates == "tf_crop_and_resize";
  if ((!cropped && (coordinates != "align_corners" || to.scales.empty())) ||
      mode == "nearest" || n.integer("antialias", 0) ||
      n.integer("exclude_outside", 0))
    return false;
  Value x = n.in(0);
  Dims dims = n.shape(x);
  if (n.failed() || to.size() != dims.size())
    return false;
  for (int64_t axis : axes)
    if (dims[axis] == graph::kUnknownDim)
      return false;
  const reference::Tensor *region = n.elements(n.in(1));
  if (cropped && (!region || region->numElements() !=
                                 2 * static_cast<int64_t>(axes.size())))
    return false;
  MatrixResize resize(n, cropped);
  for (size_t i = 0; i < axes.size() && !n.failed(); ++i) {
    int64_t axis = axes[i];
    double length = to.scales.empty() ? static_cast<double>(to.sizes[axis])
                                      : static_cast<double>(to.scales[axis]) *
                                            static_cast<double>(dims[axis]);
    if (dims[axis] < 1 || !(length >= 0 && length < (1 << 24)) ||
        dims[axis] > (1 << 24) ||
        dims[axis] * static_cast<int64_t>(length) > (1 << 22))
      return false;
    double begin = 0, end = 1;
    if (cropped) {
      begin = region->at(static_cast<int64_t>(i));
      end = region->at(static_cast<int64_t>(i + axes.size()));
    }
    auto size = static_cast<int64_t>(length);
    if (size != dims[axis] || begin != 0 || end != 1)
      x = resize.run(x, axis, size, length, begin, end);
  }
  n.out(0, x);
  return true;
}

/// Whether the operand sizes has some, of dims that change, that depend on
/// those of inputs.
static bool dependsOnSizes(NodeContext &n) {
  Sizes before = n.sizesOf(n.in(0)).value_or(Sizes{}),
        after = n.elementsAsSizes(n.in(3)).value_or(Sizes{});
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    if (!after[i].isKnown() &&
        (i >= 2 || before[i].expression != after[i].expression))
      return true;
  return false;
}

/// The operand sizes; 0 for the batch or channels if they stay, whatever they
/// are.
static Dims neededSizes(NodeContext &n) {
  Sizes before = n.sizesOf(n.in(0)).value_or(Sizes{}),
        after = n.elementsAsSizes(n.in(3)).value_or(Sizes{});
  if (after.empty())
    return n.needed(3, "the operand sizes");
  Dims numbers;
  for (size_t i = 0; i < after.size(); ++i) {
    bool isKept = !after[i].isKnown() &&
                  i < std::min(before.size(), size_t(2)) &&
                  before[i].expression == after[i].expression;
    if (!after[i].isKnown() && !isKept)
      n.refuse("a size that the image gets depends on those of inputs");
    numbers.push_back(isKept ? 0 : after[i].number);
  }
  return numbers;
}

/// Operands are X, roi, scales, sizes. With `axes` (version 18), scales and
/// sizes are of those dims alone.
static void resize11(NodeContext &n) {
  std::string coordinates =
      n.text("coordinate_transformation_mode", "half_pixel");
  Resized given, to;
  Dims dims = n.shape(n.in(0));
  // An operand of no elements is like one that is left out.
  bool hasSizes = n.in(3) != kNone && n.shape(n.in(3)) != Dims{0};
  Places places{coordinates, n.text("nearest_mode", "round_prefer_floor")};
  if (hasSizes && dependsOnSizes(n) && resizeToSizes(n, n.in(3), places))
    return;
  if (!hasSizes && n.in(2) != kNone && !n.elements(n.in(2)) &&
      resizeByFactors(n, n.in(2), places))
    return;
  if (hasSizes)
    given.sizes = neededSizes(n);
  else
    given.scales = neededFloats(n, 2);
  if (n.failed())
    return;
  to = given;
  Dims chosen(dims.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  if (std::optional<Dims> axes = n.integers("axes")) {
    if (given.size() != axes->size())
      return n.refuse("a factor or a size for each of the axes is needed");
    chosen = *axes;
    to.sizes = given.sizes.empty() ? Dims{} : dims;
    to.scales.assign(given.scales.empty() ? 0 : dims.size(), 1.0f);
    for (size_t i = 0; i < axes->size(); ++i) {
      int64_t axis = n.axisOf((*axes)[i], static_cast<int>(dims.size()));
      if (n.failed())
        return;
      chosen[i] = axis;
      if (given.scales.empty())
        to.sizes[axis] = given.sizes[i];
      else
        to.scales[axis] = given.scales[i];
    }
  }
  if (to.size() != dims.size())
    return n.refuse("a factor or a size for each dim is needed");
  if (!to.sizes.empty())
    followRatio(n, chosen, dims, to.sizes);
  if (resizeByMatrices(n, to, chosen))
    return;
  if (coordinates == "tf_crop_and_resize")
    return n.refuse("a region that is cropped, of another mode than linear or "
                    "cubic, or that is not known when the model is read");
  interpolate(n, to,
              {{"mode", n.text("mode", "nearest")},
               {"coordinate_transformation_mode", coordinates},
               {"nearest_mode", n.text("nearest_mode", "round_prefer_floor")},
               {"cubic_coeff_a", n.number("cubic_coeff_a", -0.75f)},
               {"exclude_outside", n.integer("exclude_outside", 0) != 0},
               {"antialias", n.integer("antialias", 0) != 0}});
}

std::span<const OpConversion> resizeConversions() {
  static constexpr OpConversion table[] = {
      {"Resize", 10, resize10},
      {"Resize", 11, resize11},
      {"Upsample", 7, resize10},
  };
  return table;
}

} // namespace tenon::onnx
