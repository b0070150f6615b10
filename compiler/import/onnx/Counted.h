//===- Counted.h - operands with as many entries as data says --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

/// Converts a node some of whose operands, `given`, have as many entries along
/// an axis as a scalar says, behind which there are entries that do not count:
/// boxes that a detector keeps. Operators that treat each entry for itself give
/// results of the same kind; others are refused by the name of the operand,
/// which `names` has.
void convertCounted(NodeContext &n, const std::vector<Named> &given,
                    const std::vector<std::string_view> &names);

} // namespace tenon::onnx
