//===- Chains.h - graphs of any number of operations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/driver/Session.h"

namespace tenon::benchmarks {

/// `ops` elementwise operations on a [64, 256] tensor, one behind the other,
/// in an order without period: no two groups share code.
graph::Graph elementwiseChain(int64_t ops);

/// `ops` operations, in turn MatMul by an own [64, 64] constant and ReLU.
graph::Graph matmulChain(int64_t ops);

/// `steps` steps of a GRU of [2, 16], each with an input of its own and the
/// same weights: many groups, few different ones.
graph::Graph gruChain(int64_t steps);

/// `groups` pairs of MatMul and LeakyReLU on narrow tensors, no two of the same
/// shapes and attributes: as many different groups.
graph::Graph distinctChain(int64_t groups);

struct ChainResult {
  double seconds = 0;     // of Compiled::compile
  int64_t peakGrowth = 0; // bytes of resident memory beyond those before
  CompileReport report;
};

/// Compiles once.  Peak memory is that of the process, so only growth beyond
/// all earlier compilations shows.
Expected<ChainResult> compileChain(const graph::Graph &graph);

} // namespace tenon::benchmarks
