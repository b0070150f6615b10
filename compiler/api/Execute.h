//===- Execute.h - running compiled code on given memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the API.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/api/CompiledPartition.h"
#include "compiler/api/Ports.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::api {

using Sizes = llvm::SmallVector<int64_t, 64>;

/// What is given for a port: memory, and as many sizes as the port has dims.
struct Given {
  void *data;
  const int64_t *dims;
};
using AllGiven = llvm::SmallVector<Given, 32>;

inline Given given(const tenon_tensor &tensor) {
  return {tensor.data, tensor.about.shape->data()};
}

/// Sizes of all inputs, then outputs. Errors: those of inference.
std::vector<Error> sizesOf(const tenon_compiled_partition &compiled,
                           const Sizes &inputs, Sizes &all);

/// Drops the reference at the end of an execution.
struct FoldedReference {
  tenon_folded *folded = nullptr;
  ~FoldedReference() { tenon_folded_release(folded); }
};

/// What is folded from these tensors, one for each input; null where it is no
/// constant.
std::vector<Error> foldedOf(tenon_compiled_partition &compiled,
                            tenon_stream &stream,
                            const tenon_tensor *const *inputs,
                            FoldedReference &reference);

/// Memory of the caller's for what lives during one execution only.
struct Scratch {
  void *data;
  size_t size;
};

/// Executes on memory that fits the ports. `tensors` are as for foldedOf, and
/// `scratch` is null where the stream's memory is to be used.
std::vector<Error> execute(tenon_compiled_partition &compiled,
                           tenon_stream &stream, llvm::ArrayRef<Given> inputs,
                           llvm::ArrayRef<Given> outputs,
                           const tenon_tensor *const *tensors,
                           const Scratch *scratch = nullptr);

} // namespace tenon::api
