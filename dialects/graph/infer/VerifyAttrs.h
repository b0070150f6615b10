//===- VerifyAttrs.h - attributes against the operation table --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/infer/Rules.h"

namespace tenon::graph::infer {

/// Whether the attributes of the operation are those of the table, of their
/// types and within their bounds. Reports each that is not.
bool checkAttrs(RuleContext &ctx);

} // namespace tenon::graph::infer
