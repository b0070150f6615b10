//===- Infer.h - verification and shape inference -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks operations of the plain graph model against the operation table and
// computes the shapes of their results.  One rule per operation serves both:
// verification runs it and compares, inference runs it and stores.
//
// Sizes may be unknown: `LogicalTensor::shape` is absent (rank unknown) or
// holds kUnknownDim.  What is unknown stays unknown in the results and is
// never an error by itself; what is known must agree.  Numbers come from
// outside, so no arithmetic here may overflow.
//
// Every function returns all problems found, empty when there are none, and
// only touches its arguments: calls on different graphs may run in parallel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::graph {

/// The hint of an error about `kind`, which is no kind of operation: the one
/// that is spelled most like it, or where all are listed.
std::string hintForKind(std::string_view kind);

/// Checks one operation: kind, numbers of operands and results, attributes,
/// data types, strides, and all ranks and dims that are known.  Absent
/// optional attributes count as their defaults.
std::vector<Error> verifyOp(const Op &op, std::span<const LogicalTensor> inputs,
                            std::span<const LogicalTensor> outputs);

/// verifyOp, then stores what the rule of `op` says about its results: an
/// absent shape, and single unknown dims.  Known dims stay; strides stay.
///
/// An `auto_pad` other than "None" is replaced by explicit `pads_begin` and
/// `pads_end` and becomes "None" when the sizes it depends on are known.
///
/// Errors beyond verifyOp's: UnknownShape, when neither operands nor
/// attributes nor `outputs` hold the shape of a result (ConvolutionBackwardData
/// without `dst_shape`, Wildcard, ...).  On errors nothing is changed.
std::vector<Error> inferOp(Op &op, std::span<const LogicalTensor> inputs,
                           std::span<LogicalTensor> outputs);

/// Called by inferGraph for each operation before it is checked, with the
/// operands already inferred; may change attributes of the operation (the
/// rewriting overrides fit the lists of quantisation parameters here).
using BeforeInfer =
    std::function<void(Op &op, std::span<const LogicalTensor> inputs)>;

/// Sets the dims of tensors of `graph` that are expressions of known sizes.
/// Errors: AttrValue (no expression), BadRank (not one expression per dim),
/// ShapeMismatch (two dims of one name differ, or a known dim is not what its
/// expression says), BadDim (an expression is below 0 or does not fit), those
/// of checkSizeFacts, BadSize (what is declared of a name is about no dim, or a
/// size is not as declared).
std::vector<Error> applyNamedSizes(Graph &graph);

/// Sorts `graph.ops` topologically, gives sizes that are expressions of known
/// ones their numbers, then inferOp on each.  Shapes that earlier
/// inference wrote are knowledge like any other: erase those of intermediate
/// tensors first when inputs were resized.
std::vector<Error> inferGraph(Graph &graph, const BeforeInfer &before = {});

/// The first operation of `graph`, all sizes known, that broadcasts a dim of 1
/// which `general`, the same graph with fewer of them, does not know: code for
/// `general` takes it to be as large as the others.
std::optional<Error> findBroadcast(const Graph &general, const Graph &graph);

/// What verifyOp cannot tell, since it depends on who reads a result: more
/// scales of a Quantize or Dequantize than channels are for weights of
/// convolutions in groups.  inferGraph and verifyGraph end with it.
std::vector<Error> checkReaders(const Graph &graph);

/// Groups of the convolutions that alone read the result of `op`, a (dynamic)
/// Quantize or Dequantize of `graph`, as weights with channels per group along
/// its axis; 1: there are none.
int64_t scaleGroups(const Graph &graph, const Op &op);

/// Structure (ids, producers, cycles, tensors that exist), verifyOp on each
/// operation, and checkReaders.
std::vector<Error> verifyGraph(const Graph &graph);

/// Adds the defaults of the operation table for absent attributes.  Unknown
/// kinds are left alone.
void fillDefaults(Op &op);

} // namespace tenon::graph
