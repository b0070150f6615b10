//===- SessionImpl.h - code in this process --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/jit/Jit.h"
#include "compiler/driver/Session.h"
#include "runtime/tenon_model.h"

#include <mutex>
#include <optional>

namespace tenon {

struct Compiled::Impl {
  graph::Graph graph;
  std::map<uint64_t, size_t> inputs, outputs; // id -> position of the tensor
  // Where the code is.
  std::unique_ptr<codegen::Jit> jit;
  std::vector<std::unique_ptr<codegen::Jit>> versions; // what `jit` refers to
  void *library = nullptr;                             // of dlopen
  tenon_model *model = nullptr;
  tenon_folded *folded = nullptr; // what bindConstants made
  /// What was inferred last, since executions mostly repeat sizes and inference
  /// takes longer than a small graph.
  struct Shapes {
    std::map<uint64_t, graph::Dims> inputs, outputs;
  };
  std::mutex mutex; // of `last`
  std::optional<Shapes> last;

  ~Impl();
  void setGraph(graph::Graph compiled);
  bool isPacked(uint64_t id) const;
  Expected<bool> place(const HostTensors &from, bool output,
                       std::vector<void *> &buffers,
                       std::vector<const graph::Dims *> &shapes) const;
  /// Of all outputs. Errors: those of inference.
  Expected<std::map<uint64_t, graph::Dims>>
  infer(const std::map<uint64_t, graph::Dims> &shapes) const;
};

using Symbols = std::vector<std::pair<std::string, void *>>;

/// Links `object`, which may refer to `symbols`; `perf` as in JitOptions.
Expected<std::unique_ptr<codegen::Jit>>
linkObject(const std::string &object, bool perf, const Symbols &symbols = {});

/// A failure of the runtime as one with a code.
Error runtimeError(tenon_rt_status status, const std::string &what);

/// What this machine and `without`, a list with commas, lack for each of the
/// codes: "avx512f, avx512bw for znver5; avx2 for x86-64-v3".
std::string missingFeatures(const tenon_model_info &info,
                            const std::string &without);

} // namespace tenon
