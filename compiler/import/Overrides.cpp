//===- Overrides.cpp - applying the rewriting knobs -----------------------===//
#include "compiler/import/OverridesImpl.h"

#include "dialects/graph/infer/Infer.h"

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

std::vector<Error> applyOverrides(Graph &graph, const Overrides &wanted) {
  const Overrides o = dropUnknownTensors(wanted, graph);
  Graph rewritten = graph;
  std::vector<Error> errors = graph::topologicalSort(rewritten);
  if (!errors.empty())
    return errors;
  if (o.empty()) {
    errors = graph::inferGraph(rewritten);
    if (errors.empty())
      graph = std::move(rewritten);
    return errors;
  }

  // Kinds, types and properties do not change the rules of shape inference, so
  // they come first, and one inference checks the graph as it will be.
  applyAttrs(rewritten, o, errors);
  applyKinds(rewritten, o, errors);
  if (o.dtype)
    applyDType(rewritten, *o.dtype, errors);
  applyTypeMaps(rewritten, o, errors);

  Snapshot old = rewritten.tensors;
  applyTensors(rewritten, o, errors);
  if (o.mb > 0)
    applyBatch(rewritten, o.mb, errors);
  if (!errors.empty())
    return errors;

  bool hasNewShapes =
      o.mb > 0 || !o.tensors.empty() || !o.attrs.empty() || !o.kinds.empty();
  if (hasNewShapes)
    reinfer(rewritten, old, o, errors);
  else
    errors = graph::inferGraph(rewritten);
  if (errors.empty() && hasNewShapes)
    errors = graph::verifyGraph(rewritten); // strides are new, too
  if (errors.empty())
    graph = std::move(rewritten);
  return errors;
}

} // namespace tenon
