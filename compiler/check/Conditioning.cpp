//===- Conditioning.cpp - how far rounding may move results ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Conditioning.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Conditioning.h"
#include "compiler/check/Cancellation.h"
#include "compiler/check/Compare.h"
#include "compiler/check/OpTraits.h"
#include "compiler/check/Random.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tenon::check {

using graph::DType;
using reference::Tensor;

namespace {

/// Half the distance of denormal numbers of f32.
constexpr double kF32Floor = 0x1p-150;

/// Errors of the size of rounding errors.
class Noise : public reference::Disturber {
public:
  /// `full`: errors have their largest size, else any up to that.
  Noise(const graph::Graph &graph, Arithmetic arithmetic, bool full,
        uint64_t seed)
      : graph(graph), arithmetic(arithmetic), full(full), random(seed) {}

  std::optional<Tensor> operand(const graph::Op &op,
                                const Tensor &operand) override {
    double roundings = errorModelOf(graph, op, arithmetic.fastMath).ofOperands;
    bool flushes = arithmetic.flushDenormals &&
                   std::ranges::any_of(operand.data, isFlushed);
    if (!graph::isFloat(operand.dtype) || (roundings == 0 && !flushes))
      return std::nullopt;
    double relative = roundings * kF32Roundoff;
    if (isContraction(op.kind) && roundings > 0)
      relative += fpmathRoundoff(graph);
    Tensor changed = operand;
    if (relative > 0)
      for (double &value : changed.data)
        value = grown(value, share() * relative * std::fabs(value));
    if (squaresOperand(op.kind)) {
      // All larger or all smaller: every square may become 0.
      roundings *= share();
      for (double &value : changed.data)
        value = grown(value, roundings * lostOfSquare(value));
    }
    if (flushes)
      flush(changed.data);
    return changed;
  }

  void result(const graph::Op &op, size_t number,
              std::span<const Tensor *const> operands,
              Tensor &result) override {
    ErrorModel errors = errorModelOf(graph, op, arithmetic.fastMath);
    bool rounds = roundsComputed(op);
    if (!graph::isFloat(result.dtype))
      return;
    // Where terms cancel, their errors do not.
    double roundings = roundingsOf(graph, op, arithmetic.fastMath);
    auto terms = cancellingTerms(graph, op, number, operands);
    for (size_t i = 0; i < terms.size(); ++i)
      result.data[i] += share() * roundings * kF32Roundoff * terms[i];
    if (errors.ofResult != 0 || rounds)
      disturb(errors, result);
    if (arithmetic.flushDenormals)
      flush(result.data);
  }

private:
  void disturb(const ErrorModel &errors, Tensor &result) {
    double roundings = errors.ofResult;
    if (!full) // the edge is rounded, too
      roundings = std::max(roundings - 1, 0.0);
    double relative = roundings * kF32Roundoff;
    // What is computed in several steps has lost what one of them flushed.
    double floor = errors.ofOperands == 0 ? roundings * kF32Floor
                                          : roundings * denormalFloor();
    double narrow = 0;
    if (full && result.dtype != DType::f32) {
      narrow = reference::epsilonOf(result.dtype) / 2;
      floor += reference::ulpOf(result.dtype, 0) / 2;
    }
    if (errors.stated)
      floor = std::max(floor, errors.stated->floor);
    double largest = reference::rangeOf(result.dtype).max;
    for (double &value : result.data) {
      double own = errors.stated
                       ? std::max(relative, errors.stated->relativeTo(value))
                       : relative;
      double size = (own + narrow) * std::fabs(value);
      value = grown(value, share() * std::max(size, floor));
      if (std::fabs(value) > largest)
        value = reference::roundTo(result.dtype, value);
    }
  }

  static bool isFlushed(double value) {
    return value != 0 && std::fabs(value) < kSmallestNormal;
  }

  /// Numbers that arithmetic may read or write as 0: all of them, or any.
  void flush(std::vector<double> &values) {
    for (double &value : values)
      if (isFlushed(value) && (!full || random.next() & 1))
        value = std::copysign(0.0, value);
  }

  /// What a number near 0 may be off.
  double denormalFloor() const {
    return arithmetic.flushDenormals ? kSmallestNormal : kF32Floor;
  }

  /// Whether `op` is a cast of what was computed: the number before it may be
  /// another one, and scaled otherwise, than that which the evaluator rounds.
  bool roundsComputed(const graph::Op &op) {
    bool isComputed = !copiesValues(op.kind);
    for (uint64_t id : op.inputs)
      isComputed |= computed.contains(id);
    if (isComputed)
      computed.insert(op.outputs.begin(), op.outputs.end());
    return isComputed && isCast(op.kind);
  }

  /// Of the largest error.
  double share() {
    return full ? (random.next() & 1 ? 1 : -1) : random.real(-1, 1);
  }

  /// `value` with a magnitude that is `more`, at least 0; 0 stays.
  static double grown(double value, double more) {
    if (value == 0 || !std::isfinite(value))
      return value;
    return std::copysign(std::max(std::fabs(value) + more, 0.0), value);
  }

  /// What a number is off when what its square is off near 0 is missing in it:
  /// that by twice the number, or, near 0, the root of it.
  double lostOfSquare(double value) const {
    double floor = denormalFloor();
    return std::min(floor / (2 * std::fabs(value)), std::sqrt(floor));
  }

  const graph::Graph &graph;
  Arithmetic arithmetic;
  bool full;
  Random random;
  std::set<uint64_t> computed; // not only moved
};

void merge(Spread &spread, const Tensor &tensor) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto count = static_cast<size_t>(tensor.numElements());
  if (spread.seen.size() != count) {
    spread.low.assign(count, inf);
    spread.high.assign(count, -inf);
    spread.nearest.assign(count, inf);
    spread.seen.assign(count, 0);
  }
  for (size_t i = 0; i < count; ++i) {
    double value = tensor.at(static_cast<int64_t>(i));
    spread.seen[i] |= std::isnan(value)      ? Spread::isNaN
                      : std::isfinite(value) ? Spread::finite
                      : value > 0            ? Spread::above
                                             : Spread::below;
    if (std::isfinite(value)) {
      spread.low[i] = std::min(spread.low[i], value);
      spread.high[i] = std::max(spread.high[i], value);
      spread.nearest[i] = std::min(spread.nearest[i], std::fabs(value));
    }
  }
}

} // namespace

Conditioning::Conditioning(const graph::Graph &graph,
                           const std::map<uint64_t, Tensor> &inputs,
                           Arithmetic arithmetic, int threads)
    : graph(graph), inputs(inputs), arithmetic(arithmetic), threads(threads) {
  for (uint64_t id : graph.outputPorts)
    if (auto source = roundingSource(graph, id))
      sources[id] = *source;
}

bool Conditioning::evaluateOnce() {
  reference::EvalOptions options;
  options.threads = threads;
  options.roundOutputs = false;
  // Every other one with edges rounded, where differences may vanish.
  options.roundEdges = done % 2 == 0;
  Noise noise(graph, arithmetic, /*full=*/!options.roundEdges,
              static_cast<uint64_t>(done) + 1);
  if (done > 0)
    options.disturber = &noise;
  for (const auto &[id, source] : sources)
    options.keep.push_back(source);
  auto results = reference::evaluate(graph, inputs, options);
  if (!results)
    return false;
  ++done;
  for (const auto &[id, tensor] : *results) {
    auto source = sources.find(id);
    if (source == sources.end()) {
      merge(spreads[id], tensor);
      continue;
    }
    Tensor before = results->at(source->second);
    before.data = beforeRounding(graph, id, before, before).steps;
    merge(spreads[id], before);
  }
  return true;
}

const Spread *Conditioning::of(uint64_t outputId, int evaluations) {
  while (done < evaluations)
    if (!evaluateOnce())
      return nullptr;
  auto found = spreads.find(outputId);
  return found == spreads.end() ? nullptr : &found->second;
}

} // namespace tenon::check
