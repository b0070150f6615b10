//===- Ports.h - tensors that are given to compiled code -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the API.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/api/CompiledPartition.h"

#include "llvm/ADT/SmallVector.h"

namespace tenon::api {

using Tensors = llvm::SmallVector<const tenon_tensor *, 32>;

inline std::string called(uint64_t id) {
  return "tensor " + std::to_string(id);
}

/// Errors: BadDType, ShapeMismatch, BadStride, BadTensorData where `tensor` is
/// not what was compiled for.
std::vector<Error> checkTensor(const Port &port, const tenon_tensor &tensor);

/// The tensors in the order of the ports; `own`, if it is not empty, has those
/// that stand for ones that are not given. `what` calls them in errors:
/// PortMismatch, and those of checkTensor.
std::vector<Error> match(const std::vector<Port> &ports, const char *what,
                         size_t count, const tenon_tensor *const *given,
                         const std::vector<std::unique_ptr<tenon_tensor>> &own,
                         Tensors &matched);

/// The inputs without those that are ignored, which `kept` then holds.
std::vector<Error> dropIgnored(const tenon_compiled_partition &compiled,
                               size_t &count,
                               const tenon_tensor *const *&inputs,
                               Tensors &kept);

} // namespace tenon::api
