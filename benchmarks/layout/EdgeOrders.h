//===- EdgeOrders.h - what `tenon explain` says of orders -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/report/Explain.h"

namespace tenon::benchmarks {

/// An edge of a compiled graph whose tensor is copied in another order, or
/// could have been.
struct EdgeOrder {
  std::string edge;             // "input 0 -> conv0"
  std::optional<uint64_t> port; // of an input or output of the graph
  report::ReorderAnswer order;
};

/// Of `graph`, JSON, compiled with the default options. `moveTime` may be
/// empty.
Expected<std::vector<EdgeOrder>> edgeOrders(const std::string &graph,
                                            report::MoveTime moveTime = {});

/// Seconds that this machine takes at best, measured once.
report::MoveTime measuredMoveTime();

} // namespace tenon::benchmarks
