//===- Overrides.cpp - applying the rewriting overrides -------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/OverridesImpl.h"

#include <algorithm>

namespace tenon {

using namespace overrides;
using graph::Graph;

/// Lists of shapes made for a family of graphs name more tensors than each
/// graph has: unknown ids go, as long as one is known.
static Overrides dropUnknownTensors(Overrides o, const Graph &graph) {
  auto isUnknown = [&](const Overrides::Tensor &t) {
    return !graph.tensors.count(t.id);
  };
  if (!std::all_of(o.tensors.begin(), o.tensors.end(), isUnknown))
    std::erase_if(o.tensors, isUnknown);
  return o;
}

Expected<graph::PreparedGraph> applyOverrides(Graph graph,
                                              const Overrides &wanted) {
  const Overrides o = dropUnknownTensors(wanted, graph);
  if (o.empty())
    return graph::prepareGraph(std::move(graph));
  if (auto errors = graph::topologicalSort(graph); !errors.empty())
    return errors;

  // Kinds, types and properties do not change the rules of shape inference, so
  // they come first, and one inference checks the graph as it will be.
  std::vector<Error> errors;
  applyAttrs(graph, o, errors);
  applyKinds(graph, o, errors);
  if (o.dtype)
    applyDType(graph, *o.dtype, errors);
  applyTypeMaps(graph, o, errors);
  for (const auto &[name, value] : o.likely)
    if (auto &likely = graph.sizeFacts[name].likely;
        std::find(likely.begin(), likely.end(), value) == likely.end())
      likely.push_back(value);

  Snapshot old = graph.tensors;
  applyTensors(graph, o, errors);
  if (o.mb > 0)
    applyBatch(graph, o.mb, errors);
  if (!errors.empty())
    return errors;

  if (o.mb > 0 || !o.tensors.empty() || !o.attrs.empty() || !o.kinds.empty())
    reinfer(graph, old, o, errors);
  if (!errors.empty())
    return errors;
  return graph::prepareGraph(std::move(graph));
}

} // namespace tenon
