//===- Denormals.h - whether a model wants them flushed --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/driver/Options.h"
#include "compiler/import/Model.h"

namespace tenon {

/// `options` for a graph with these constants. Where denormals are `auto` they
/// become `flush` if a constant in f32 holds a denormal number, else `keep`:
/// training with weight decay leaves such weights behind, they are nothing
/// beside the others, and products with them take many CPUs 100 times as long.
Options decideDenormals(Options options, const graph::Graph &graph,
                        const Constants &constants);

/// For users, where `auto` became `flush`.
inline constexpr char kFlushedRemark[] =
    "constants hold denormal numbers, and arithmetic reads and writes 0 in "
    "their place; --denormals=keep does not";

} // namespace tenon
