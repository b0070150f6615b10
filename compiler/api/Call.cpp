//===- Call.cpp - executing on tensors of DLPack --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Execute.h"
#include "compiler/api/tenon_dlpack.h"
#include "compiler/driver/Shapes.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::api;

using Errors = std::vector<Error>;

struct tenon_call : Handle {
  static constexpr auto kKind = Kind::call;
  tenon_call() : Handle(kKind) {}
  tenon_compiled_partition *compiled = nullptr;
  /// For each input its tensor, or null where each execution gives it.
  std::vector<const tenon_tensor *> bound;
  size_t numGiven = 0; // of an execution
};

//===----------------------------------------------------------------------===//
// Tensors of DLPack
//===----------------------------------------------------------------------===//

namespace {

struct DlType {
  uint8_t code, bits;
  tenon_dtype dtype;
};

/// DLDataTypeCode: 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 boolean, and the
/// forms of 8-bit floats from 7 on.
constexpr DlType kTypes[] = {
    {2, 32, TENON_F32},     {4, 16, TENON_BF16},    {2, 16, TENON_F16},
    {0, 64, TENON_S64},     {0, 32, TENON_S32},     {0, 8, TENON_S8},
    {1, 8, TENON_U8},       {6, 8, TENON_BOOLEAN},  {2, 64, TENON_F64},
    {0, 4, TENON_S4},       {1, 4, TENON_U4},       {10, 8, TENON_F8_E4M3},
    {12, 8, TENON_F8_E5M2}, {14, 8, TENON_F8_E8M0},
};

constexpr int32_t kCpu = 1;

std::string describeType(const tenon_dltensor &t) {
  return "code " + std::to_string(t.dtype_code) + " of " +
         std::to_string(t.dtype_bits) + " bits";
}

bool sizesFit(const graph::Dims &wanted, const tenon_dltensor &t) {
  if (static_cast<size_t>(t.ndim) != wanted.size())
    return false;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != t.shape[i] &&
        (wanted[i] != graph::kUnknownDim || t.shape[i] < 0))
      return false;
  return true;
}

/// Whether the elements lie where the code expects them.
bool layoutFits(const Port &port, const tenon_dltensor &t) {
  bool dense = port.strides.empty();
  if (dense && !t.strides)
    return true;
  int64_t step = 1;
  bool fits = true;
  for (size_t i = static_cast<size_t>(t.ndim); i-- > 0;) {
    if (t.shape[i] == 0)
      return true; // there are no elements
    int64_t wanted = dense ? step : port.strides[i];
    int64_t given = t.strides ? t.strides[i] : step;
    fits &= t.shape[i] == 1 || given == wanted;
    step *= t.shape[i];
  }
  return fits;
}

Errors misfit(const Port &port, const tenon_dltensor &t) {
  uint64_t id = port.about.id;
  graph::Dims dims(t.shape, t.shape + std::max(0, t.ndim));
  if (tenon_dltensor_get_dtype(&t) !=
      static_cast<tenon_dtype>(port.about.dtype))
    return errorList(ErrorCode::BadDType,
                     called(id) + " has elements of " + describeType(t) +
                         ", compiled was " +
                         std::string(graph::name(port.about.dtype)));
  if (!sizesFit(*port.about.shape, t))
    return errorList(ErrorCode::ShapeMismatch,
                     called(id) + " is " + text(dims) + ", compiled was " +
                         text(*port.about.shape));
  return errorList(ErrorCode::BadStride,
                   called(id) + " has other strides than what was compiled");
}

/// Checks a tensor for a port. Errors: those of misfit, BadTensorData.
Errors take(const Port &port, const tenon_dltensor &t, AllGiven &all) {
  uint64_t id = port.about.id;
  if (t.device_type != kCpu)
    return errorList(ErrorCode::BadTensorData,
                     called(id) + " is in the memory of device type " +
                         std::to_string(t.device_type) +
                         ", only that of the CPU (1) can be used");
  if (t.ndim < 0 || (t.ndim && !t.shape))
    return errorList(ErrorCode::BadTensorData, called(id) + " has no sizes");
  bool fits = tenon_dltensor_get_dtype(&t) ==
                  static_cast<tenon_dtype>(port.about.dtype) &&
              sizesFit(*port.about.shape, t) && layoutFits(port, t);
  if (!fits)
    return misfit(port, t);
  char *data = static_cast<char *>(t.data) + t.byte_offset;
  bool empty = std::find(t.shape, t.shape + t.ndim, 0) != t.shape + t.ndim;
  if (!t.data && !empty)
    return errorList(ErrorCode::BadTensorData, called(id) + " has no data");
  if (auto e = checkAlignment(port.about, data); !e.empty() && !empty)
    return e;
  all.push_back({data, t.shape});
  return {};
}

} // namespace

tenon_dtype tenon_dltensor_get_dtype(const tenon_dltensor *tensor) {
  if (tensor && tensor->dtype_lanes == 1)
    for (const DlType &type : kTypes)
      if (type.code == tensor->dtype_code && type.bits == tensor->dtype_bits)
        return type.dtype;
  return TENON_UNDEF;
}

tenon_status
tenon_dltensors_read(void *(*item)(void *sequence, ptrdiff_t position),
                     int (*read)(void *object, tenon_dltensor *tensor),
                     void *sequence, size_t count, tenon_dltensor *tensors) {
  return guarded([&]() -> Errors {
    if (auto e = needed({{"item", reinterpret_cast<const void *>(item)},
                         {"read", reinterpret_cast<const void *>(read)},
                         {"sequence", sequence}});
        !e.empty())
      return e;
    if (count && !tensors)
      return needed({{"tensors", nullptr}});
    for (size_t i = 0; i < count; ++i) {
      void *object = item(sequence, static_cast<ptrdiff_t>(i));
      if (!object || read(object, &tensors[i]) != 0)
        return errorList(ErrorCode::BadTensorData,
                         "object " + std::to_string(i) +
                             " of the sequence is no tensor of DLPack");
    }
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The tensors of the inputs: what the caller binds, and what a model has.
static Errors bind(tenon_call &call, size_t count,
                   const tenon_tensor *const *tensors) {
  const tenon_compiled_partition &compiled = *call.compiled;
  call.bound.assign(compiled.inputs.size(), nullptr);
  for (size_t i = 0; i < compiled.own.size(); ++i)
    call.bound[i] = compiled.own[i].get();
  for (size_t i = 0; i < count; ++i) {
    if (auto e = checkHandle(tensors[i], "bound"); !e.empty())
      return e;
    uint64_t id = tensors[i]->about.id;
    auto port = std::find_if(compiled.inputs.begin(), compiled.inputs.end(),
                             [&](const Port &p) { return p.about.id == id; });
    if (port == compiled.inputs.end())
      return errorList(ErrorCode::PortMismatch,
                       called(id) + " is no input of the partition");
    if (auto e = checkTensor(*port, *tensors[i]); !e.empty())
      return e;
    call.bound[static_cast<size_t>(port - compiled.inputs.begin())] =
        tensors[i];
  }
  for (size_t position : compiled.constants)
    if (!call.bound[position])
      return errorList(ErrorCode::PortMismatch,
                       called(compiled.inputs[position].about.id) +
                           ", a constant, is not bound");
  call.numGiven = compiled.outputs.size() +
                  static_cast<size_t>(std::count(call.bound.begin(),
                                                 call.bound.end(), nullptr));
  return {};
}

tenon_status tenon_call_create(tenon_compiled_partition *compiled,
                               size_t num_bound,
                               const tenon_tensor *const *bound,
                               tenon_call **call) {
  if (call)
    *call = nullptr;
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(compiled, "compiled"); !e.empty())
      return e;
    if (auto e = needed({{"call", call}}); !e.empty())
      return e;
    if (num_bound && !bound)
      return needed({{"bound", nullptr}});
    auto made = std::make_unique<tenon_call>();
    made->compiled = compiled;
    if (auto e = bind(*made, num_bound, bound); !e.empty())
      return e;
    *call = made.release();
    return {};
  });
}

void tenon_call_destroy(tenon_call *call) { delete call; }

tenon_status tenon_call_execute(const tenon_call *call, tenon_stream *stream,
                                size_t num_tensors,
                                const tenon_dltensor *tensors) {
  return guarded([&]() -> Errors {
    if (auto e = checkHandle(call, "call"); !e.empty())
      return e;
    if (auto e = checkHandle(stream, "stream"); !e.empty())
      return e;
    if (num_tensors && !tensors)
      return needed({{"tensors", nullptr}});
    if (num_tensors != call->numGiven)
      return errorList(ErrorCode::PortMismatch,
                       std::to_string(num_tensors) +
                           " tensors are given, the call needs " +
                           std::to_string(call->numGiven));
    tenon_compiled_partition &compiled = *call->compiled;
    AllGiven inputs, outputs;
    for (size_t i = 0; i < call->bound.size(); ++i) {
      if (call->bound[i])
        inputs.push_back(given(*call->bound[i]));
      else if (auto e = take(compiled.inputs[i], *tensors++, inputs);
               !e.empty())
        return e;
    }
    for (const Port &port : compiled.outputs)
      if (auto e = take(port, *tensors++, outputs); !e.empty())
        return e;
    return execute(compiled, *stream, inputs, outputs, call->bound.data());
  });
}
