//===- GraphOps.td - all operations of the graph dialect -----------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_OPS_TD
#define TENON_GRAPH_OPS_TD

include "dialects/graph/GraphBackward.td"
include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphContraction.td"
include "dialects/graph/GraphDataMovement.td"
include "dialects/graph/GraphElementwise.td"
include "dialects/graph/GraphIndexing.td"
include "dialects/graph/GraphNorm.td"
include "dialects/graph/GraphQuant.td"
include "dialects/graph/GraphRecurrent.td"
include "dialects/graph/GraphReduce.td"
include "dialects/graph/GraphSearch.td"
include "dialects/graph/GraphStructural.td"
include "dialects/graph/GraphWindow.td"

#endif // TENON_GRAPH_OPS_TD
