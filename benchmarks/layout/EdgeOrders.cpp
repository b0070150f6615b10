// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/layout/EdgeOrders.h"

#include "compiler/driver/Session.h"
#include "compiler/import/json/Json.h"
#include "tools/devinfo/Peaks.h"

namespace tenon::benchmarks {

Expected<std::vector<EdgeOrder>> edgeOrders(const std::string &text,
                                            report::MoveTime moveTime) {
  auto graph = json::readJson(text, "partition");
  if (!graph)
    return graph.errors();
  CompileReport report;
  auto compiled = Compiled::compile(*graph, Options(), &report);
  if (!compiled)
    return compiled.errors();
  const graph::Graph &made = (*compiled)->graph();
  report::Explainer explainer(made, report, /*fuse=*/true, std::move(moveTime));
  std::vector<EdgeOrder> list;
  for (const report::EdgeAnswer &edge : explainer.explainEdges())
    for (const report::ReorderAnswer &order : edge.reorders) {
      EdgeOrder &entry = list.emplace_back();
      std::string id = std::to_string(edge.tensor);
      entry.edge = (edge.from ? made.ops[*edge.from].name : "input " + id) +
                   " -> " +
                   (edge.to ? made.ops[*edge.to].name : "output " + id);
      if (!edge.from || !edge.to)
        entry.port = edge.tensor;
      entry.order = order;
    }
  return list;
}

report::MoveTime measuredMoveTime() {
  auto peaks = devinfo::Peaks::of(devinfo::measureMachine(/*quick=*/true), 1);
  return [peaks](const Traffic &t) {
    return peaks.moveSeconds(t.read, t.written);
  };
}

} // namespace tenon::benchmarks
