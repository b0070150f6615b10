//===- JsonTensors.cpp - logical tensors ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/json/JsonRead.h"
#include "dialects/graph/Merge.h"
#include "dialects/graph/SizeExpr.h"

#include <algorithm>

namespace tenon::json {

using graph::Dims;
using graph::kUnknownDim;
using graph::LayoutType;
using graph::LogicalTensor;
using graph::Op;

using graph::isAddressable;
using graph::join;

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
  std::optional<Dims> dims(Value v, std::string_view key, ErrorCode badEntry,
                           std::vector<std::string> *expressions = nullptr);
  void checkExpression(Value v);
  void checkShape(Value where);
  void checkStrides(Value where);

  const Op &op;
  TensorText &result;
  LogicalTensor &t;
  Reporter &reporter;
  std::optional<Value> values[7];
};

constexpr std::string_view kKeys[] = {
    "id", "dtype", "shape", "stride", "layout_type", "property_type", "name"};

void TensorReader::dtype(Value v) {
  if (v.kind() != Kind::string)
    return reporter.wrongType(v, &op, "\"dtype\" of " + what(), "a string");
  if (std::optional<graph::DType> d = graph::parseDType(v.text()))
    t.dtype = *d;
  else
    reporter.report(ErrorCode::BadDType, v, &op,
                    what() + " has the unknown dtype " + v.spelling(),
                    "dtypes are f64 f32 f16 bf16 f8_e5m2 f8_e4m3 f8_e8m0 s64 "
                    "s32 s8 u8 s4 u4 boolean undef");
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

void TensorReader::checkExpression(Value v) {
  auto expr = graph::SizeExpr::parse(v.text());
  if (!expr)
    reporter.report(ErrorCode::BadDim, v, &op,
                    what() + ": " + expr.errors().front().message,
                    expr.errors().front().hint);
}

/// A list of sizes; entries may be unknown, and, where `expressions` may be
/// set, expressions of named sizes.
std::optional<Dims> TensorReader::dims(Value v, std::string_view key,
                                       ErrorCode badEntry,
                                       std::vector<std::string> *expressions) {
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
  std::vector<std::string> texts;
  bool ok = true, anyText = false;
  v.forEachElement([&](Value e) {
    std::optional<int64_t> d = e.asInt64();
    if (d && (*d >= 0 || *d == kUnknownDim)) {
      dims.push_back(*d);
      texts.push_back(*d == kUnknownDim ? "" : std::to_string(*d));
      return;
    }
    // A number alone should have no quotes.
    if (expressions && e.kind() == Kind::string &&
        e.text().find_first_not_of("-0123456789") != std::string_view::npos) {
      checkExpression(e);
      dims.push_back(kUnknownDim);
      texts.emplace_back(e.text());
      anyText = true;
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
  if (anyText)
    *expressions = std::move(texts);
  return dims;
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
  auto &[id, type, shape, stride, layoutType, propertyType, name] = values;
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
  if (name && name->kind() == Kind::string)
    t.name = name->text();
  else if (name)
    reporter.wrongType(*name, &op, "\"name\" of " + what(), "a string");
  std::optional<Dims> strides;
  if (stride)
    strides = dims(*stride, "stride", ErrorCode::BadStride);
  bool hasStrides =
      strides && std::count(strides->begin(), strides->end(), kUnknownDim) <
                     std::max<ptrdiff_t>(strides->size(), 1);
  if (shape)
    t.shape = dims(*shape, "shape", ErrorCode::BadDim, &t.sizes);
  // A lone unknown means "unknown rank", unless a stride or a name tells it is
  // rank 1.
  if (t.shape && *t.shape == Dims{kUnknownDim} && !hasStrides &&
      t.sizes.empty())
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

} // namespace tenon::json
