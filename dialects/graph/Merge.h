//===- Merge.h - several descriptions of one tensor ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/Graph.h"

namespace tenon::graph {

/// "[2, ?, 3]".
std::string join(const Dims &dims);

/// Whether the numbers of elements and of bytes fit 64 bits; unknown and empty
/// dims do not make up for the others.
bool isAddressable(const Dims &shape);
/// The same for the last element; requires one stride per dim.
bool isAddressable(const Dims &shape, const Dims &strides);

/// Whether two tensors of one static shape address the same elements; the
/// stride of a dim of size 1 does not matter.
bool sameAddresses(const LogicalTensor &a, const LogicalTensor &b);

/// Merges a further description of a tensor into `known`.  Returns what
/// contradicts, empty when nothing does: "shape [2, 3] and [2, 4]".
std::string mergeTensor(LogicalTensor &known, const LogicalTensor &other);

} // namespace tenon::graph
