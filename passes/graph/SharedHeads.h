//===- SharedHeads.h - heads that share keys and values --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialects/tile/TileDialect.h"

namespace tenon::passes {

/// Lets `op`, if its keys and values repeat heads, read each head once; erases
/// `op` then.
void shareHeads(tile::AttentionOp op);

} // namespace tenon::passes
