//===- JsonTensors.cpp - logical tensors ----------------------------------===//
#include "compiler/import/json/JsonRead.h"

#include <algorithm>

namespace tenon::json {

using graph::Dims;
using graph::kUnknownDim;
using graph::LayoutType;
using graph::LogicalTensor;
using graph::Op;

static std::string join(const Dims &dims) {
  std::string s = "[";
  for (int64_t d : dims) {
    if (s.size() > 1)
      s += ", ";
    s += d == kUnknownDim ? "?" : std::to_string(d);
  }
  return s + "]";
}

namespace {

class TensorReader {
public:
  TensorReader(const Op &op, TensorText &result, Reporter &reporter)
      : op(op), result(result), t(result.tensor), reporter(reporter) {}

  bool read(Value object);

private:
  std::string what() const { return "tensor " + std::to_string(t.id); }
  void member(std::string_view key, Value v);
  void dtype(Value v);
  void layout(Value v);
  void property(Value v);
  std::optional<Dims> dims(Value v, std::string_view key, ErrorCode badEntry);
  void checkShape(Value where);
  void checkStrides(Value where);

  const Op &op;
  TensorText &result;
  LogicalTensor &t;
  Reporter &reporter;
  std::optional<Value> values[6];
};

constexpr std::string_view kKeys[] = {"id",     "dtype",       "shape",
                                      "stride", "layout_type", "property_type"};

void TensorReader::dtype(Value v) {
  if (v.kind() != Kind::string)
    return reporter.wrongType(v, &op, "\"dtype\" of " + what(), "a string");
  if (std::optional<graph::DType> d = graph::parseDType(v.text()))
    t.dtype = *d;
  else
    reporter.report(ErrorCode::BadDType, v, &op,
                    what() + " has the unknown dtype " + v.spelling(),
                    "dtypes are f32 f16 bf16 f8_e5m2 f8_e4m3 s64 s32 s8 u8 s4 "
                    "u4 boolean undef");
}

void TensorReader::layout(Value v) {
  if (v.kind() != Kind::string)
    return reporter.wrongType(v, &op, "\"layout_type\" of " + what(),
                              "a string");
  if (std::optional<LayoutType> l = graph::parseLayoutType(v.text()))
    t.layout = *l;
  else
    reporter.report(ErrorCode::WrongType, v, &op,
                    what() + " has the unknown layout_type " + v.spelling(),
                    "layout types are strided any opaque undef");
}

void TensorReader::property(Value v) {
  if (v.kind() != Kind::string)
    return reporter.wrongType(v, &op, "\"property_type\" of " + what(),
                              "a string");
  if (std::optional<graph::PropertyType> p = graph::parsePropertyType(v.text()))
    t.property = *p;
  else
    reporter.report(ErrorCode::WrongType, v, &op,
                    what() + " has the unknown property_type " + v.spelling(),
                    "property types are undef variable constant host_scalar");
}

/// A list of sizes; entries may be unknown.
std::optional<Dims> TensorReader::dims(Value v, std::string_view key,
                                       ErrorCode badEntry) {
  std::string label = "\"" + std::string(key) + "\" of " + what();
  if (v.kind() != Kind::array) {
    reporter.wrongType(v, &op, label, "an array of integers");
    return std::nullopt;
  }
  if (v.size() > static_cast<size_t>(graph::kMaxRank)) {
    reporter.report(ErrorCode::BadRank, v, &op,
                    label + " has " + std::to_string(v.size()) +
                        " entries, at most " + std::to_string(graph::kMaxRank) +
                        " dims are possible");
    return std::nullopt;
  }
  Dims dims;
  bool ok = true;
  v.forEachElement([&](Value e) {
    std::optional<int64_t> d = e.asInt64();
    if (d && (*d >= 0 || *d == kUnknownDim)) {
      dims.push_back(*d);
      return;
    }
    ok = false;
    if (e.isNumber())
      reporter.report(badEntry, e, &op,
                      label + ": " + e.spelling() +
                          " is not an integer from 0 to 2^63 - 1",
                      "an unknown size is written -9223372036854775808");
    else
      reporter.wrongType(e, &op, "an entry of " + label, "an integer");
  });
  if (!ok)
    return std::nullopt;
  return dims;
}

/// Whether the numbers of elements and of bytes fit 64 bits; unknown and empty
/// dims do not make up for the others.
static bool isAddressable(const Dims &shape) {
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

/// The same for the last element; requires one stride per dim.
static bool isAddressable(const Dims &shape, const Dims &strides) {
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

void TensorReader::checkShape(Value where) {
  if (isAddressable(*t.shape))
    return;
  reporter.report(ErrorCode::BadDim, where, &op,
                  what() + " has too many elements: shape " + join(*t.shape));
  t.shape.reset();
}

void TensorReader::checkStrides(Value where) {
  if (!t.shape)
    return;
  if (t.strides.size() != t.shape->size()) {
    reporter.report(ErrorCode::BadStride, where, &op,
                    what() + " has " + std::to_string(t.strides.size()) +
                        " strides for " + std::to_string(t.shape->size()) +
                        " dims",
                    "one stride for each dim, in elements");
    t.strides.clear();
  } else if (!isAddressable(*t.shape, t.strides)) {
    reporter.report(ErrorCode::BadStride, where, &op,
                    what() + ": strides " + join(t.strides) + " of shape " +
                        join(*t.shape) + " exceed 64 bits");
    t.strides.clear();
  }
}

/// Strides equal to the dense row-major ones as far as those are known.
bool isDense(const LogicalTensor &t) {
  return t.shape && t.strides == graph::denseStrides(*t.shape);
}

bool TensorReader::read(Value object) {
  if (object.kind() != Kind::object) {
    reporter.wrongType(object, &op, "a logical tensor", "an object");
    return false;
  }
  object.forEachMember([&](std::string_view key, Value v) {
    const auto *k = std::find(std::begin(kKeys), std::end(kKeys), key);
    if (k == std::end(kKeys))
      return reporter.unknownKey(v, &op, key);
    std::optional<Value> &slot = values[k - kKeys];
    if (slot)
      reporter.repeatedKey(v, &op, key);
    slot = v;
  });
  auto &[id, type, shape, stride, layoutType, propertyType] = values;
  if (!id) {
    reporter.report(ErrorCode::MissingKey, object, &op,
                    "a logical tensor has no \"id\"");
    return false;
  }
  std::optional<uint64_t> number = id->asUInt64();
  if (!number) {
    reporter.wrongType(*id, &op, "\"id\" of a logical tensor",
                       "an integer from 0 to 2^64 - 1");
    return false;
  }
  t.id = *number;
  if (type)
    dtype(*type);
  if (layoutType)
    layout(*layoutType);
  if (propertyType)
    property(*propertyType);
  std::optional<Dims> strides;
  if (stride)
    strides = dims(*stride, "stride", ErrorCode::BadStride);
  bool hasStrides =
      strides && std::count(strides->begin(), strides->end(), kUnknownDim) <
                     std::max<ptrdiff_t>(strides->size(), 1);
  if (shape)
    t.shape = dims(*shape, "shape", ErrorCode::BadDim);
  // A lone unknown means "unknown rank", unless a stride tells it is rank 1.
  if (t.shape && *t.shape == Dims{kUnknownDim} && !hasStrides)
    t.shape.reset();
  if (t.shape)
    checkShape(*shape);
  if (hasStrides && t.layout != LayoutType::any) {
    t.strides = std::move(*strides);
    checkStrides(*stride);
    // Only "any" hides strides; old files write "undef" for rank 0.
    t.layout = LayoutType::strided;
  } else if (t.shape && t.shape->empty() && t.layout == LayoutType::undef) {
    t.layout = LayoutType::strided;
  } else if (stride && !hasStrides && t.hasStaticShape() &&
             t.layout == LayoutType::strided) {
    t.layout = LayoutType::undef; // strides are said to be unknown
  }
  result.isDenseByDefault = !stride && t.layout == LayoutType::strided;
  if (result.isDenseByDefault)
    t.layout = LayoutType::undef;
  if (isDense(t) || std::count(t.strides.begin(), t.strides.end(), kUnknownDim))
    t.strides.clear();
  return true;
}

} // namespace

std::optional<TensorText> readTensor(Value object, const Op &op,
                                     Reporter &reporter) {
  TensorText result;
  if (!TensorReader(op, result, reporter).read(object))
    return std::nullopt;
  return result;
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

/// Whether the strides of two tensors of one static shape address the same
/// elements; the stride of a dim of size 1 does not matter.
static bool sameAddresses(const LogicalTensor &a, const LogicalTensor &b) {
  if (a.strides == b.strides)
    return true;
  Dims x = a.effectiveStrides(), y = b.effectiveStrides();
  for (size_t i = 0; i < a.shape->size(); ++i)
    if ((*a.shape)[i] > 1 && x[i] != y[i])
      return false;
  return true;
}

std::string mergeTensor(LogicalTensor &known, const LogicalTensor &other) {
  auto both = [](std::string_view what, std::string_view a,
                 std::string_view b) {
    return std::string(what) + " " + std::string(a) + " and " + std::string(b);
  };
  if (known.dtype == graph::DType::undef)
    known.dtype = other.dtype;
  else if (other.dtype != graph::DType::undef && other.dtype != known.dtype)
    return both("dtype", name(known.dtype), name(other.dtype));

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
  using graph::PropertyType;
  if (known.property == PropertyType::undef)
    known.property = other.property;
  else if (other.property != PropertyType::undef &&
           other.property != known.property)
    return both("property_type", name(known.property), name(other.property));
  return "";
}

} // namespace tenon::json
