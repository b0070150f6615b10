//===- CompiledPartition.h - code with its ports ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the API.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/api/Api.h"
#include "compiler/api/Cache.h"

#include <map>
#include <set>

namespace tenon::api {

struct Port {
  graph::LogicalTensor about; // sizes may be unknown
  graph::Dims strides;        // of a tensor of known sizes, else empty
  tenon_logical_tensor view;  // as the caller sees it
};

/// Which data a folded result was computed from: serial and generation of each
/// constant.
using Identity = std::vector<std::pair<uint64_t, uint64_t>>;

/// Makes the handle; `opaque`: outputs whose layout the caller left to us.
/// Inputs with values in `constants` or with the code need not be given.
tenon_compiled_partition *makeCompiled(const CodePtr &code,
                                       const std::set<uint64_t> &opaque,
                                       const Constants &constants = {});

/// The store that partitions share; null while its capacity is 0.
tenon_constants *sharedConstants();

} // namespace tenon::api

struct tenon_compiled_partition : tenon::api::Handle {
  static constexpr auto kKind = tenon::api::Kind::compiled;
  tenon_compiled_partition() : Handle(kKind) {}
  ~tenon_compiled_partition();

  tenon::api::CodePtr code;
  std::vector<tenon::api::Port> inputs, outputs;
  /// Those that executions give, as they see them.
  std::vector<tenon_logical_tensor> givenInputs, givenOutputs;
  std::vector<tenon_inplace_pair> pairs;
  std::vector<uint64_t> opaque;
  /// Inputs that may be given and that nothing reads.
  std::vector<uint64_t> ignored;
  bool isStatic = true;
  /// For each input the tensor that is read where the caller gives none, or
  /// null, and what keeps their memory. One without data stands for what came
  /// with the code in packed form.
  std::vector<std::unique_ptr<tenon_tensor>> own;
  tenon::Constants values;
  /// Positions of the inputs that folding reads.
  std::vector<size_t> constants;
  std::string report; // the last that was asked for

  struct Bound {
    tenon::api::Identity identity;
    tenon_folded *folded;
  };
  /// Sizes of the outputs for sizes of the inputs.
  struct Shapes {
    std::vector<int64_t> inputs, all;
  };
  mutable std::mutex mutex;          // of what follows
  std::vector<Bound> bound;          // latest first
  mutable std::vector<Shapes> sizes; // latest first
};
