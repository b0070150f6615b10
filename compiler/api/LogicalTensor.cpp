//===- LogicalTensor.cpp - edges between the caller and the graph ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Api.h"
#include "dialects/graph/Merge.h"

#include <algorithm>
#include <numeric>

namespace tenon::api {

using graph::Dims;
using graph::DType;

// The numbers of the C interface are those of the enumerations.
static_assert(int(DType::f32) == TENON_F32 && int(DType::s64) == TENON_S64 &&
              int(DType::f16) == TENON_F16 && int(DType::u4) == TENON_U4 &&
              int(DType::boolean) == TENON_BOOLEAN &&
              int(DType::f64) == TENON_F64 &&
              int(graph::kLastDType) == TENON_F8_E8M0);
static_assert(int(graph::LayoutType::any) == TENON_LAYOUT_ANY &&
              int(graph::LayoutType::opaque) == TENON_LAYOUT_OPAQUE);
static_assert(int(graph::PropertyType::constant) == TENON_PROPERTY_CONSTANT &&
              int(graph::PropertyType::host_scalar) ==
                  TENON_PROPERTY_HOST_SCALAR);
static_assert(TENON_UNKNOWN_DIM == graph::kUnknownDim &&
              TENON_MAX_RANK == graph::kMaxRank);

namespace {

std::string called(const tenon_logical_tensor &t) {
  return "tensor " + std::to_string(t.id);
}

bool inEnum(int32_t value, int last) { return value >= 0 && value <= last; }

std::vector<Error> checkFields(const tenon_logical_tensor &t) {
  if (!inEnum(t.dtype, TENON_F8_E8M0))
    return errorList(ErrorCode::BadDType, called(t) + " has the dtype " +
                                              std::to_string(t.dtype) +
                                              ", which does not exist");
  if (t.rank < TENON_UNKNOWN_RANK || t.rank > TENON_MAX_RANK)
    return errorList(ErrorCode::BadRank,
                     called(t) + " has the rank " + std::to_string(t.rank),
                     "0 to 12, or TENON_UNKNOWN_RANK");
  if (!inEnum(t.layout, TENON_LAYOUT_OPAQUE) ||
      !inEnum(t.property, TENON_PROPERTY_HOST_SCALAR))
    return errorList(ErrorCode::BadHandle,
                     called(t) + " has a layout or property that does not "
                                 "exist",
                     "make it with tenon_logical_tensor_init");
  for (int32_t i = 0; i < t.rank; ++i) {
    if (t.dims[i] < 0 && t.dims[i] != TENON_UNKNOWN_DIM)
      return errorList(ErrorCode::BadDim, called(t) + " has the size " +
                                              std::to_string(t.dims[i]));
    if (t.layout == TENON_LAYOUT_STRIDED && t.strides[i] < 0 &&
        t.strides[i] != TENON_UNKNOWN_DIM)
      return errorList(ErrorCode::BadStride, called(t) + " has the stride " +
                                                 std::to_string(t.strides[i]));
  }
  if (t.property == TENON_PROPERTY_HOST_SCALAR && t.rank > 0)
    return errorList(ErrorCode::BadRank, called(t) +
                                             " is a host scalar of rank " +
                                             std::to_string(t.rank));
  return {};
}

bool allKnown(const int64_t *values, int32_t count) {
  return std::find(values, values + count, TENON_UNKNOWN_DIM) == values + count;
}

} // namespace

Dims channelsLastStrides(const Dims &dims) {
  size_t rank = dims.size();
  Dims strides(rank, 1);
  int64_t step = 1;
  auto place = [&](size_t i) {
    strides[i] = step;
    step *= std::max<int64_t>(1, dims[i]);
  };
  place(1);
  for (size_t i = rank; i-- > 2;)
    place(i);
  place(0);
  return strides;
}

Expected<graph::LogicalTensor> fromApi(const tenon_logical_tensor &t) {
  if (auto errors = checkFields(t); !errors.empty())
    return errors;
  graph::LogicalTensor r;
  r.id = t.id;
  r.dtype = static_cast<DType>(t.dtype);
  r.property = static_cast<graph::PropertyType>(t.property);
  r.layout = static_cast<graph::LayoutType>(t.layout);
  if (t.rank >= 0)
    r.shape = Dims(t.dims, t.dims + t.rank);
  bool known = t.rank >= 0 && allKnown(t.dims, t.rank);
  if (t.layout == TENON_LAYOUT_STRIDED && r.shape &&
      allKnown(t.strides, t.rank))
    r.strides = Dims(t.strides, t.strides + t.rank);
  if (t.layout == TENON_LAYOUT_OPAQUE) {
    if (t.layout_id != kChannelsLast || t.rank < 3 || !known)
      return fail(ErrorCode::BadStride,
                  called(t) + " has an opaque layout that no compiled "
                              "partition gave for such sizes");
    r.strides = channelsLastStrides(*r.shape);
    r.layout = graph::LayoutType::strided;
  }
  if (r.shape &&
      (!graph::isAddressable(*r.shape) ||
       (!r.strides.empty() && !graph::isAddressable(*r.shape, r.strides))))
    return fail(ErrorCode::BadDim, called(t) + " is larger than any memory");
  if (r.shape && r.strides == graph::denseStrides(*r.shape))
    r.strides.clear();
  return r;
}

tenon_logical_tensor toApi(const graph::LogicalTensor &t) {
  tenon_logical_tensor r = {};
  r.id = t.id;
  r.dtype = static_cast<int32_t>(t.dtype);
  r.layout = static_cast<int32_t>(t.layout);
  r.property = static_cast<int32_t>(t.property);
  r.rank = t.shape ? static_cast<int32_t>(t.shape->size()) : TENON_UNKNOWN_RANK;
  for (int32_t i = 0; i < r.rank; ++i) {
    r.dims[i] = (*t.shape)[i];
    r.strides[i] = TENON_UNKNOWN_DIM;
  }
  if (t.hasStaticShape() || !t.strides.empty()) {
    Dims strides = t.effectiveStrides();
    std::copy(strides.begin(), strides.end(), r.strides);
  }
  return r;
}

Expected<graph::LogicalTensor> placeable(const tenon_logical_tensor &tensor) {
  auto t = fromApi(tensor);
  if (!t)
    return t;
  if (!t->hasStaticShape())
    return fail(ErrorCode::UnknownShape, called(tensor) + " has unknown sizes");
  if (tensor.layout < TENON_LAYOUT_STRIDED)
    return fail(ErrorCode::BadStride, called(tensor) + " has no layout yet",
                "ask the compiled partition for it");
  return t;
}

std::vector<Error> tenon::api::checkAlignment(const graph::LogicalTensor &about,
                                              const void *data) {
  auto size = static_cast<size_t>(graph::byteSize(about.dtype));
  if (size > 1 && reinterpret_cast<uintptr_t>(data) % size)
    return errorList(ErrorCode::BadTensorData,
                     "the data of tensor " + std::to_string(about.id) +
                         " are not aligned to elements of " +
                         std::to_string(size) + " bytes");
  return {};
}

int64_t spanBytes(const graph::LogicalTensor &t) {
  if (t.numElements() == 0)
    return 0;
  int64_t last = 0;
  Dims strides = t.effectiveStrides();
  for (size_t i = 0; i < strides.size(); ++i)
    last += ((*t.shape)[i] - 1) * strides[i];
  // Of elements of 4 bits two are a byte.
  auto halves = static_cast<int64_t>(2 * graph::byteSize(t.dtype));
  return ((last + 1) * halves + 1) / 2;
}

bool sameAddresses(const Dims &dims, const int64_t *a, const int64_t *b) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] > 1 && a[i] != b[i])
      return false;
  return true;
}

} // namespace tenon::api

using namespace tenon;
using namespace tenon::api;

/// Sets all fields but the strides.
static std::vector<Error> initFields(tenon_logical_tensor *tensor, uint64_t id,
                                     tenon_dtype dtype, int32_t rank,
                                     const int64_t *dims, tenon_layout layout,
                                     tenon_property property) {
  auto errors = needed({{"tensor", tensor}});
  if (rank > 0 && !dims)
    errors = needed({{"dims", nullptr}});
  if (!errors.empty())
    return errors;
  *tensor = {};
  tensor->id = id;
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->layout = layout;
  tensor->property = property;
  for (int32_t i = 0; i < std::min(rank, TENON_MAX_RANK); ++i)
    tensor->dims[i] = dims[i];
  return checkFields(*tensor);
}

tenon_status tenon_logical_tensor_init(tenon_logical_tensor *tensor,
                                       uint64_t id, tenon_dtype dtype,
                                       int32_t rank, const int64_t *dims,
                                       tenon_layout layout,
                                       tenon_property property) {
  return guarded([&]() -> std::vector<Error> {
    auto errors = initFields(tensor, id, dtype, rank, dims, layout, property);
    if (!errors.empty() || rank < 0)
      return errors;
    bool known = allKnown(tensor->dims, rank);
    graph::Dims strides(rank, TENON_UNKNOWN_DIM);
    graph::Dims sizes(tensor->dims, tensor->dims + rank);
    if (known && !graph::isAddressable(sizes))
      return errorList(ErrorCode::BadDim,
                       called(*tensor) + " is larger than any memory");
    if (known)
      strides = graph::denseStrides(sizes);
    std::copy(strides.begin(), strides.end(), tensor->strides);
    return {};
  });
}

tenon_status tenon_logical_tensor_init_strided(
    tenon_logical_tensor *tensor, uint64_t id, tenon_dtype dtype, int32_t rank,
    const int64_t *dims, const int64_t *strides, tenon_property property) {
  return guarded([&]() -> std::vector<Error> {
    auto errors = initFields(tensor, id, dtype, rank, dims,
                             TENON_LAYOUT_STRIDED, property);
    if (errors.empty() && rank > 0 && !strides)
      errors = needed({{"strides", nullptr}});
    if (!errors.empty())
      return errors;
    std::copy(strides, strides + std::max(rank, 0), tensor->strides);
    auto made = fromApi(*tensor);
    return made ? std::vector<Error>{} : made.errors();
  });
}

tenon_status tenon_logical_tensor_byte_size(const tenon_logical_tensor *tensor,
                                            size_t *bytes) {
  if (bytes)
    *bytes = 0;
  return guarded([&]() -> std::vector<Error> {
    if (auto e = needed({{"tensor", tensor}, {"bytes", bytes}}); !e.empty())
      return e;
    auto t = placeable(*tensor);
    if (!t)
      return t.errors();
    *bytes = static_cast<size_t>(spanBytes(*t));
    return {};
  });
}

int32_t tenon_logical_tensor_equal(const tenon_logical_tensor *a,
                                   const tenon_logical_tensor *b) {
  if (!a || !b)
    return a == b;
  auto x = fromApi(*a), y = fromApi(*b);
  if (!x || !y)
    return 0;
  if (x->id != y->id || x->dtype != y->dtype || x->shape != y->shape ||
      x->layout != y->layout)
    return 0;
  if (!x->hasStaticShape() || x->layout != graph::LayoutType::strided)
    return 1;
  return sameAddresses(*x->shape, x->effectiveStrides().data(),
                       y->effectiveStrides().data());
}
