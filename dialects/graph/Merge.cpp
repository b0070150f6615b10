//===- Merge.cpp - several descriptions of one tensor ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/Merge.h"

namespace tenon::graph {

std::string join(const Dims &dims) {
  std::string s = "[";
  for (int64_t d : dims) {
    if (s.size() > 1)
      s += ", ";
    s += d == kUnknownDim ? "?" : std::to_string(d);
  }
  return s + "]";
}

bool isAddressable(const Dims &shape) {
  constexpr int64_t kMostElements = INT64_MAX / 8;
  int64_t product = 1;
  for (int64_t d : shape) {
    if (d == kUnknownDim || d == 0)
      continue;
    if (__builtin_mul_overflow(product, d, &product) || product > kMostElements)
      return false;
  }
  return true;
}

bool isAddressable(const Dims &shape, const Dims &strides) {
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t d = shape[i], s = strides[i], span = 0;
    if (d == kUnknownDim || d == 0 || s == kUnknownDim)
      continue;
    if (__builtin_mul_overflow(d - 1, s, &span) ||
        __builtin_add_overflow(last, span, &last) || last > INT64_MAX / 8)
      return false;
  }
  return true;
}

/// Unknown dims are refined; false when known dims differ.
static bool mergeShape(std::optional<Dims> &known,
                       const std::optional<Dims> &other) {
  if (!other)
    return true;
  if (!known) {
    known = other;
    return true;
  }
  if (known->size() != other->size())
    return false;
  Dims merged = *known;
  for (size_t i = 0; i < merged.size(); ++i) {
    if (merged[i] == kUnknownDim)
      merged[i] = (*other)[i];
    else if ((*other)[i] != kUnknownDim && (*other)[i] != merged[i])
      return false;
  }
  known = std::move(merged);
  return true;
}

bool sameAddresses(const LogicalTensor &a, const LogicalTensor &b) {
  if (a.strides == b.strides)
    return true;
  Dims x = a.effectiveStrides(), y = b.effectiveStrides();
  for (size_t i = 0; i < a.shape->size(); ++i)
    if ((*a.shape)[i] > 1 && x[i] != y[i])
      return false;
  return true;
}

/// "[batch, 2 * seq]".
static std::string join(const std::vector<std::string> &sizes) {
  std::string text = "[";
  for (const std::string &size : sizes)
    text += (text.size() > 1 ? ", " : "") + (size.empty() ? "?" : size);
  return text + "]";
}

std::string mergeTensor(LogicalTensor &known, const LogicalTensor &other) {
  auto both = [](std::string_view what, std::string_view a,
                 std::string_view b) {
    return std::string(what) + " " + std::string(a) + " and " + std::string(b);
  };
  if (known.dtype == DType::undef)
    known.dtype = other.dtype;
  else if (other.dtype != DType::undef && other.dtype != known.dtype)
    return both("dtype", name(known.dtype), name(other.dtype));

  if (known.name.empty())
    known.name = other.name;
  else if (!other.name.empty() && other.name != known.name)
    return both("name", known.name, other.name);

  if (known.sizes.empty())
    known.sizes = other.sizes;
  else if (!other.sizes.empty() && other.sizes != known.sizes)
    return both("sizes", join(known.sizes), join(other.sizes));

  LogicalTensor before = known;
  if (!mergeShape(known.shape, other.shape))
    return both("shape", join(*known.shape), join(*other.shape));
  if (known.shape && !isAddressable(*known.shape))
    return "too many elements: shape " + join(*known.shape);
  // One description may have the shape, another the strides.
  for (const Dims &strides : {known.strides, other.strides})
    if (known.shape && !strides.empty() &&
        (strides.size() != known.shape->size() ||
         !isAddressable(*known.shape, strides)))
      return both("shape", join(*known.shape), "strides " + join(strides));

  // "any" and "undef" know no strides; of two strided ones both are known.
  auto weight = [](LayoutType l) {
    return l == LayoutType::undef ? 0 : l == LayoutType::any ? 1 : 2;
  };
  if (weight(other.layout) > weight(known.layout)) {
    known.layout = other.layout;
    known.strides = other.strides;
  } else if (weight(known.layout) == 2 && weight(other.layout) == 2) {
    if (known.layout != other.layout)
      return both("layout_type", name(known.layout), name(other.layout));
    if (known.strides.empty() && !before.hasStaticShape())
      known.strides = other.strides;
    else if (other.hasStaticShape() && !sameAddresses(known, other))
      return both("strides", join(known.effectiveStrides()),
                  join(other.effectiveStrides()));
  }
  if (known.property == PropertyType::undef)
    known.property = other.property;
  else if (other.property != PropertyType::undef &&
           other.property != known.property)
    return both("property_type", name(known.property), name(other.property));
  return "";
}

} // namespace tenon::graph
