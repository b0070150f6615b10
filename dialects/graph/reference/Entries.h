//===- Entries.h - parts of tensors ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/graph/reference/Tensor.h"

namespace tenon::reference {

/// The first `count` entries of `tensor` along dim `axis`, which has as many.
Tensor firstEntries(const Tensor &tensor, int axis, int64_t count);

} // namespace tenon::reference
