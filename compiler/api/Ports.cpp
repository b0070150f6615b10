// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/Ports.h"
#include "compiler/driver/Shapes.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::api;

using Errors = std::vector<Error>;

/// Whether the elements lie where the code expects them.
static bool sameLayout(const Port &port, const tenon_tensor &tensor) {
  const graph::Dims &dims = *tensor.about.shape;
  if (port.strides.empty() && tensor.about.strides.empty())
    return true; // both dense
  const graph::Dims &wanted =
      port.strides.empty() ? graph::denseStrides(dims) : port.strides;
  graph::Dims given = tensor.about.effectiveStrides();
  return sameAddresses(dims, wanted.data(), given.data()) ||
         tensor.about.numElements() == 0;
}

Errors tenon::api::checkTensor(const Port &port, const tenon_tensor &tensor) {
  uint64_t id = port.about.id;
  if (tensor.about.dtype != port.about.dtype)
    return errorList(
        ErrorCode::BadDType,
        called(id) + " is " + std::string(graph::name(tensor.about.dtype)) +
            ", compiled was " + std::string(graph::name(port.about.dtype)));
  if (!fits(*port.about.shape, *tensor.about.shape))
    return errorList(ErrorCode::ShapeMismatch,
                     called(id) + " is " + text(*tensor.about.shape) +
                         ", compiled was " + text(*port.about.shape));
  if (!sameLayout(port, tensor))
    return errorList(ErrorCode::BadStride,
                     called(id) + " has the strides " +
                         text(tensor.about.effectiveStrides()) +
                         ", compiled was for others",
                     "tenon_tensor_convert changes layouts");
  if (!tensor.data && tensor.about.numElements() > 0)
    return errorList(ErrorCode::BadTensorData, called(id) + " has no data",
                     "call tenon_tensor_set_data");
  return {};
}

Errors tenon::api::match(const std::vector<Port> &ports, const char *what,
                         size_t count, const tenon_tensor *const *given,
                         const std::vector<std::unique_ptr<tenon_tensor>> &own,
                         Tensors &matched) {
  if (count && !given)
    return needed({{what, nullptr}});
  auto optional = static_cast<size_t>(std::count_if(
      own.begin(), own.end(), [](const auto &t) { return bool(t); }));
  if (count > ports.size() || count + optional < ports.size())
    return errorList(ErrorCode::PortMismatch,
                     std::to_string(count) + " " + what +
                         " are given, the partition has " +
                         std::to_string(ports.size() - optional));
  for (size_t i = 0; i < count; ++i)
    if (auto e = checkHandle(given[i], what); !e.empty())
      return e;
  size_t used = 0;
  for (size_t i = 0; i < ports.size(); ++i) {
    uint64_t id = ports[i].about.id;
    const tenon_tensor *found =
        i < count && given[i]->about.id == id ? given[i] : nullptr;
    for (size_t k = 0; !found && k < count; ++k)
      if (given[k]->about.id == id)
        found = given[k];
    used += found != nullptr;
    if (!found && i < own.size() && own[i]) {
      matched.push_back(own[i].get());
      continue;
    }
    if (!found)
      return errorList(ErrorCode::PortMismatch,
                       called(id) + " is missing among the " + what);
    if (auto e = checkTensor(ports[i], *found); !e.empty())
      return e;
    matched.push_back(found);
  }
  if (used < count)
    return errorList(ErrorCode::PortMismatch,
                     std::string("among the ") + what +
                         " is a tensor that the partition does not have");
  return {};
}

Errors tenon::api::dropIgnored(const tenon_compiled_partition &compiled,
                               size_t &count,
                               const tenon_tensor *const *&inputs,
                               Tensors &kept) {
  if (compiled.ignored.empty() || !inputs)
    return {};
  for (size_t i = 0; i < count; ++i) {
    if (auto e = checkHandle(inputs[i], "inputs"); !e.empty())
      return e;
    if (std::find(compiled.ignored.begin(), compiled.ignored.end(),
                  inputs[i]->about.id) == compiled.ignored.end())
      kept.push_back(inputs[i]);
  }
  count = kept.size();
  inputs = kept.data();
  return {};
}
