//===- Generate.h - random valid graphs -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/OpTable.h"

#include <cstdint>
#include <vector>

namespace tenon::test {

struct GenerateOptions {
  int64_t maxOps = 30;
  int64_t maxElements = 4096; // of one tensor
};

/// The operations that compile, in the order of the table.
std::vector<const graph::OpInfo *> compilingOps();

/// The graph of `seed`: at least one operation, inferred, ports complete. It
/// holds operation `seed` modulo their number of compilingOps(), unless no form
/// of it was found. The same on every machine, until the table changes.
graph::Graph generateGraph(uint64_t seed, const GenerateOptions &options = {});

} // namespace tenon::test
