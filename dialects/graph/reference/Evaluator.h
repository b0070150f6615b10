//===- Evaluator.h - the reference evaluator -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Computes a graph in double, one plain function per operation, written from
// the operation set.  It is the oracle the compiler is judged by and shares no
// code with it.
//
// Rounding.  Edges carry exact doubles.  Values are rounded only where rounding
// is the meaning of an operation (Quantize, Round, TypeCast, comparisons,
// integer edges) and at the outputs of the graph.  "Plain evaluation" rounds
// every edge to its dtype, and what a recurrent operation hands from step to
// step to that of src_layer: what a correct implementation without any extra
// precision between operations would give; its distance from the oracle is the
// yardstick for tolerances.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tenon::reference {

/// Changes values while a graph is evaluated: how much do results depend on
/// small errors on the way?
class Disturber {
public:
  virtual ~Disturber() = default;
  /// What `op` reads instead of `operand`; nullopt: the value itself.
  virtual std::optional<Tensor> operand(const graph::Op &op,
                                        const Tensor &operand) = 0;
  /// Changes result `number` of `op`, before it is rounded and read. `operands`
  /// are what it was computed from; null for those left out.
  virtual void result(const graph::Op &op, size_t number,
                      std::span<const Tensor *const> operands,
                      Tensor &result) = 0;
};

struct EvalOptions {
  /// "Plain evaluation": round every edge to its dtype.
  bool roundEdges = false;
  /// Round the returned floating tensors to their dtype.
  bool roundOutputs = true;
  /// Threads for the heavy operations; results do not depend on it.
  int threads = 1;
  /// Ids returned besides the outputs of the graph.
  std::vector<uint64_t> keep;
  /// No tensor may have more elements (8 bytes each while it lives).
  int64_t maxElements = int64_t{1} << 28;
  /// Called for every operation, in one thread; may be null.
  Disturber *disturber = nullptr;
};

/// Evaluates `graph` for `inputs` (by tensor id, every tensor without a
/// producer; their dtype is taken from the graph).  Returns the graph outputs,
/// operands of End, and `keep`.  Unknown result shapes are computed; known ones
/// are checked.  Each edge is freed after its last use.
///
/// Errors: UnknownTensor (input missing), BadTensorData (input does not fit its
/// edge), UnsupportedOp, TooLarge, and what the single operations refuse
/// (OperandCount, BadRank, ShapeMismatch, AttrValue, ...).  Thread-safe.
Expected<std::map<uint64_t, Tensor>> evaluate(const graph::Graph &graph,
                                              std::map<uint64_t, Tensor> inputs,
                                              const EvalOptions &options = {});

/// Whether operations of this kind can be evaluated.
bool canEvaluate(std::string_view kind);

} // namespace tenon::reference
