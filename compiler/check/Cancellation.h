//===- Cancellation.h - sizes of terms that may cancel ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to the checks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tenon::check {

/// For each element of `outputId` the sum of the sizes of its terms, when an
/// operation made it that may subtract nearly equal ones (LRNBackward, and
/// diff_src of RMSNormBackward); otherwise nothing. Evaluates what that
/// operation reads.
std::vector<double>
cancellingTerms(const graph::Graph &graph, uint64_t outputId,
                const std::map<uint64_t, reference::Tensor> &inputs);
/// The same of result `number` of `op`, computed from `operands`.
std::vector<double>
cancellingTerms(const graph::Graph &graph, const graph::Op &op, size_t number,
                std::span<const reference::Tensor *const> operands);

} // namespace tenon::check
