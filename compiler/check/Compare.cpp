//===- Compare.cpp - results against the reference ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Compare.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/check/Compare.h"
#include "compiler/check/Cancellation.h"
#include "compiler/check/Exactness.h"
#include "compiler/check/OpTraits.h"
#include "dialects/graph/OpTable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

namespace tenon::check {

using graph::DType;
using reference::Tensor;

namespace {

/// What accumulates along a path.
struct PathCost {
  double roundings = 0; // of f32
  double edges = 0;     // relative error of narrow edges and fpmath modes
  /// Roundoff of a narrow edge on the way that no arithmetic has read yet.
  double pending = 0;
  bool arithmetic = false;
  /// A float narrower than f32 was computed on the way.
  bool narrow = false;
  /// What a code stands for that may be the next one (Compare.h), else 0.
  double code = 0;
  /// The layers of recurrent operations in int8 on the way.
  int64_t codeLayers = 0;
  /// Not exact on any grid.
  bool filtered = false;

  double relative() const { return roundings * kF32Roundoff + edges; }
};

bool isMoved(const std::string &kind) {
  return copiesValues(kind) || kind == "GenIndex";
}

/// Costs of all edges of a sorted graph.  Inputs of the graph cost nothing.
std::map<uint64_t, PathCost> pathCosts(const graph::Graph &graph,
                                       bool fastMath) {
  std::map<uint64_t, PathCost> costs;
  for (const graph::Op &op : graph.ops) {
    bool moved = isMoved(op.kind);
    PathCost cost;
    for (uint64_t id : op.inputs) {
      auto found = costs.find(id);
      if (found == costs.end())
        continue;
      PathCost in = found->second;
      if (moved) {
        cost.pending = std::max(cost.pending, in.pending);
        cost.code = std::max(cost.code, in.code);
        cost.codeLayers = std::max(cost.codeLayers, in.codeLayers);
      } else {
        in.edges += in.pending;
      }
      if (in.relative() > cost.relative()) {
        cost.roundings = in.roundings;
        cost.edges = in.edges;
      }
      cost.arithmetic |= in.arithmetic;
      cost.narrow |= in.narrow;
      cost.filtered |= in.filtered;
    }
    cost.filtered |= fastMath && filteredRoundings(graph, op, kWalk);
    cost.roundings += roundingsOf(graph, op, fastMath);
    cost.arithmetic |= !moved;
    if (isContraction(op.kind))
      cost.edges += 2 * fpmathRoundoff(graph);
    double inside = roundoffInside(graph, op);
    cost.edges += inside;
    cost.narrow |= inside > 0;
    if (double code = codeOfStates(graph, op)) {
      cost.code = std::max(cost.code, code);
      cost.codeLayers += layersOf(graph, op);
    }
    for (uint64_t id : op.outputs) {
      PathCost &result = costs[id] = cost;
      DType dtype = graph.tensor(id).dtype;
      if (dtype != DType::f32 && (!moved || isCast(op.kind))) {
        result.pending = std::max(result.pending, roundoffOf(dtype));
        result.narrow |= cost.arithmetic && graph::isFloat(dtype);
      }
    }
  }
  return costs;
}

double rootMeanSquare(const std::vector<double> &values) {
  double sum = 0;
  int64_t count = 0;
  for (double value : values)
    if (std::isfinite(value)) {
      sum += value * value;
      ++count;
    }
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

/// 3 r of Compare.h.
double allowedByPlain(const Tensor &expected, const Tensor *plain,
                      double scale) {
  double worst = 0;
  if (!plain || plain->data.size() != expected.data.size())
    return 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double e = expected.data[i], size = std::max(std::fabs(e), scale);
    double error = std::fabs(plain->data[i] - e);
    if (size > 0 && std::isfinite(error))
      worst = std::max(worst, error / size);
  }
  return 3 * worst;
}

/// How many elements are off by more than `relative`, and by half an ulp where
/// `t` is `rounded`.
int64_t countBeyond(const Tensor &t, const Tensor &expected, double scale,
                    double relative, bool rounded) {
  int64_t count = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    double e = expected.data[i];
    double slack = relative * std::max(std::fabs(e), scale);
    if (rounded)
      slack += reference::ulpOf(expected.dtype, std::fabs(e) + slack) / 2;
    count += std::fabs(t.data[i] - e) > slack;
  }
  return count;
}

/// Whether about as few elements of `got` are off by `far` as of the plain
/// evaluation by a third of it. A comparison that comes out the other way moves
/// single elements as far as any error could: its size says nothing about all
/// others.
bool isOffAsPlain(const Tensor &got, const Tensor &expected,
                  const Tensor &plain, double scale, double far) {
  constexpr int64_t kTimes = 8, kMore = 8;
  return countBeyond(got, expected, scale, far, /*rounded=*/true) <=
         kTimes * countBeyond(plain, expected, scale, far / 3,
                              /*rounded=*/false) +
             kMore;
}

/// Of Compare.h: how far a next code moves what is computed from it, in codes,
/// and how many elements of a layer may have the next code.
constexpr double kShareOfCode = 0.25;
constexpr int64_t kFewNextCodes = 8, kOneNextCodeOf = 50;

/// What `value` is rounded to: an element of `dtype`, an integer if so.
double stepOf(DType dtype, double value, bool isInteger) {
  return reference::roundTo(dtype, isInteger ? std::nearbyint(value) : value);
}

/// Judges single elements of one tensor.
struct Judge {
  DType dtype;
  const Tolerance &tolerance;
  double scale = 0;    // s
  double relative = 0; // max(3 r, b)

  /// Of element `i`, whose exact value is `e`.
  double slackAt(size_t i, double e) const {
    double slack = relative * std::max(std::fabs(e), scale);
    if (i < tolerance.terms.size())
      slack = std::max(slack, tolerance.relative * tolerance.terms[i]);
    return std::max({slack, tolerance.floor, kShareOfCode * tolerance.code});
  }

  /// Whether `g` may be of the next code, if few are.
  bool isNextCode(size_t i, double g, double e) const {
    if (tolerance.code == 0)
      return false;
    return graph::isFloat(dtype)
               ? std::fabs(g - e) <= tolerance.code + slackAt(i, e)
               : std::fabs(g - reference::roundTo(dtype, e)) <= 1;
  }

  double allowedAt(size_t i, double e) const {
    if (tolerance.exact || !graph::isFloat(dtype))
      return 0;
    double slack = slackAt(i, e);
    return slack + reference::ulpOf(dtype, std::fabs(e) + slack) / 2;
  }

  bool accepts(size_t i, double g, double e) const {
    double rounded = reference::roundTo(dtype, e);
    if (std::isnan(rounded))
      return std::isnan(g);
    if (tolerance.exact || !graph::isFloat(dtype))
      return g == rounded && (!tolerance.signedZero || g != 0 ||
                              std::signbit(g) == std::signbit(rounded));
    if (std::isinf(g)) {
      // The exact value, moved by what is allowed, must also overflow.
      double moved = e + std::copysign(slackAt(i, e), g);
      return reference::roundTo(dtype, std::isinf(e) ? e : moved) == g;
    }
    if (std::isinf(e))
      return false;
    return std::fabs(g - e) <= allowedAt(i, e);
  }

  /// In steps, of a value before rounding whose size is `size`.
  double slackBefore(double size) const {
    return relative * std::max(size, scale);
  }

  /// Whether a value within tolerance of the one before rounding, which is
  /// `value` steps and whose size is `size`, becomes g.
  bool mayRoundTo(double g, double value, double size, bool isInteger) const {
    if (tolerance.exact || !std::isfinite(value))
      return false;
    double slack = slackBefore(size);
    if (!graph::isFloat(dtype))
      return std::fabs(g - value) <= 0.5 + slack;
    if (isInteger)
      return g == std::nearbyint(g) &&
             g >= stepOf(dtype, value - slack, isInteger) &&
             g <= stepOf(dtype, value + slack, isInteger);
    // Steps of a float are wider than what is allowed.
    auto becomes = [&](double moved) {
      double rounded = reference::roundTo(dtype, moved);
      return rounded == g || (std::isnan(rounded) && std::isnan(g));
    };
    return becomes(value - slack) || becomes(value + slack);
  }
};

/// How far errors of rounding size moved an element whose exact value is `e`.
double movedBy(double e, const Spread &spread, int64_t i) {
  if (!std::isfinite(e) || !(spread.seen[i] & Spread::finite))
    return 0;
  return std::max({spread.high[i] - e, e - spread.low[i], 0.0});
}

/// Errors add up by chance, and differently in compiled code.
constexpr double kTimes = 3;

/// What conditioning lets an element be off that may be off by `allowed`
/// anyway. `narrow`: by chance evaluations may have moved it less than that.
/// Otherwise it is as well-conditioned as the bound assumes, which no error is
/// beyond.
double allowedBySpread(bool narrow, double e, double allowed,
                       const Spread &spread, int64_t i) {
  double moved = movedBy(e, spread, i);
  return narrow || moved > allowed ? std::max(allowed, kTimes * moved)
                                   : allowed;
}

/// Whether an element is a quotient by what may vanish: exactly it is larger by
/// far than with errors, which make it one of both signs.
bool surroundsInfinity(double e, const Spread &spread, int64_t i) {
  constexpr double kFar = 1e4;
  double low = spread.low[i], high = spread.high[i], size = std::fabs(e);
  return std::min(low, e) < 0 && std::max(high, e) > 0 &&
         size >= std::max(-low, high) && size > kFar * spread.nearest[i];
}

/// Whether errors of rounding size on the way may make `g` of what is exactly
/// `value` steps and may be off by `allowed` steps anyway. The spread is that
/// of the value before it is rounded.
bool mayStepTo(DType dtype, bool isInteger, bool narrow, double g, double value,
               double allowed, const Spread &spread, int64_t i) {
  double infinite = std::numeric_limits<double>::infinity();
  uint8_t seen = spread.seen[i];
  double slack = allowedBySpread(narrow, value, allowed, spread, i);
  double low = spread.low[i], high = spread.high[i];
  if (!std::isnan(value)) {
    low = std::min(low, value - slack);
    high = std::max(high, value + slack);
  }
  if (seen & Spread::below)
    low = -infinite;
  if (seen & Spread::above)
    high = infinite;
  if (seen & Spread::isNaN) {
    double of = reference::roundTo(dtype, std::nan(""));
    if (g == of || (std::isnan(g) && std::isnan(of)))
      return true;
  }
  if (isInteger && g != std::nearbyint(g))
    return false;
  // An infinite end has the steps of all numbers up to it.
  double least = stepOf(dtype, low, isInteger),
         most = stepOf(dtype, high, isInteger);
  return (g >= least || std::isnan(least)) && (g <= most || std::isnan(most));
}

/// Whether errors of rounding size on the way may make `g` of what is exactly
/// `e` and may be off by `allowed` anyway.
bool mayMoveTo(DType dtype, bool narrow, double g, double e, double allowed,
               const Spread &spread, int64_t i) {
  uint8_t seen = spread.seen[i];
  bool surrounds = surroundsInfinity(e, spread, i);
  if (std::isnan(g))
    return seen & Spread::isNaN;
  if (std::isinf(g))
    return surrounds || (seen & (g > 0 ? Spread::above : Spread::below));
  if (!(seen & Spread::finite))
    return false;
  if (std::isnan(e))
    return true;
  // The smaller the divisor, the larger the quotient.
  bool isUnbounded =
      surrounds || std::isinf(e) || (seen & (Spread::above | Spread::below));
  double nearest = std::min(spread.nearest[i], std::fabs(e));
  if (isUnbounded && kTimes * std::fabs(g) < nearest)
    return false;
  if (std::isinf(e))
    return true;
  if (!graph::isFloat(dtype))
    return g >= std::min(spread.low[i], e) && g <= std::max(spread.high[i], e);
  double slack = allowedBySpread(narrow, e, allowed, spread, i);
  return std::fabs(g - e) <=
         slack + reference::ulpOf(dtype, std::fabs(e) + slack) / 2;
}

} // namespace

/// Whether an element is not 0 but may be read as 0.
static bool holdDenormals(const std::map<uint64_t, Tensor> &tensors) {
  for (const auto &[id, tensor] : tensors)
    for (double value : tensor.data)
      if (value != 0 && std::fabs(value) < kSmallestNormal)
        return true;
  return false;
}

Tolerance toleranceFor(const graph::Graph &graph, uint64_t outputId,
                       const std::map<uint64_t, Tensor> *inputs,
                       Arithmetic arithmetic) {
  graph::Graph sorted = graph;
  Tolerance tolerance;
  if (!topologicalSort(sorted).empty())
    return tolerance;
  auto costs = pathCosts(sorted, arithmetic.fastMath);
  auto found = costs.find(outputId);
  PathCost cost = found == costs.end() ? PathCost() : found->second;
  tolerance.roundings = cost.roundings;
  tolerance.relative = cost.relative();
  tolerance.narrow = cost.narrow;
  tolerance.code = cost.code;
  tolerance.codeLayers = cost.codeLayers;
  // A narrow value in a wider output may have been rounded or not.
  DType dtype = graph.tensor(outputId).dtype;
  if (cost.pending > roundoffOf(dtype))
    tolerance.relative += cost.pending;
  bool flushes = arithmetic.flushDenormals;
  tolerance.floor = flushes ? kSmallestNormal : 0;
  // What is moved may be flushed on the way, or not. Grids have no such
  // numbers.
  tolerance.signedZero = tolerance.exact =
      !cost.arithmetic && !(flushes && (!inputs || holdDenormals(*inputs)));
  if (inputs && !cost.filtered && exactEdges(graph, *inputs).count(outputId))
    tolerance.exact = true;
  if (inputs && !tolerance.exact)
    tolerance.terms = cancellingTerms(sorted, outputId, *inputs);
  return tolerance;
}

namespace {

/// How one tensor is judged.
struct Comparison {
  const Tensor &got, &expected;
  Judge judge, beforeJudge;
  const BeforeRounding *beforeRounding;
  /// Of the worst element: how many times more than allowed it is off.
  double excess = 0;

  CompareResult run(const Spread *spread);
  /// Whether element `i` may be what it is, and why.
  bool accepts(int64_t i, const Spread *spread, CompareResult &result) const;
};

bool Comparison::accepts(int64_t i, const Spread *spread,
                         CompareResult &result) const {
  double g = got.at(i), e = expected.at(i);
  if (got.isS64() ? got.integers[i] == expected.integers[i]
                  : judge.accepts(i, g, e))
    return true;
  if (beforeRounding && beforeJudge.mayRoundTo(g, beforeRounding->steps[i],
                                               beforeRounding->sizes[i],
                                               beforeRounding->toIntegers)) {
    ++result.otherSteps;
    return true;
  }
  if (!spread)
    return false;
  DType dtype = expected.dtype;
  bool narrow = judge.tolerance.narrow;
  bool mayBe =
      beforeRounding
          ? mayStepTo(dtype, beforeRounding->toIntegers, narrow, g,
                      beforeRounding->steps[i],
                      beforeJudge.slackBefore(beforeRounding->sizes[i]),
                      *spread, i)
          : mayMoveTo(dtype, narrow, g, e,
                      judge.allowedAt(static_cast<size_t>(i), e), *spread, i);
  result.illConditioned += mayBe;
  return mayBe;
}

CompareResult Comparison::run(const Spread *spread) {
  CompareResult result;
  result.elements = expected.numElements();
  double worst = -1;
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    double e = expected.at(i);
    double error = reference::difference(got, expected, i);
    double allowed = judge.allowedAt(i, e);
    if (spread)
      allowed = allowedBySpread(judge.tolerance.narrow, e, allowed, *spread, i);
    bool accepted = accepts(i, spread, result);
    if (!accepted && judge.isNextCode(static_cast<size_t>(i), got.at(i), e)) {
      accepted = true;
      ++result.nextCodes;
    }
    result.mismatches += !accepted;
    if (!std::isnan(error))
      result.maxError = std::max(result.maxError, error);
    // Mismatches come first, of them NaN and infinity, then by the ratio of the
    // error.
    double ratio = !std::isfinite(error)
                       ? std::numeric_limits<double>::infinity()
                   : error == 0 ? 0
                                : error / (allowed + error * 1e-9);
    double rank = accepted ? std::min(ratio, 1e12) : 1e12 + ratio;
    if (rank > worst) {
      worst = rank;
      excess = ratio;
      result.worstIndex = i;
      result.allowed = allowed;
    }
  }
  if (result.nextCodes >
      std::max(kFewNextCodes,
               result.elements * judge.tolerance.codeLayers / kOneNextCodeOf)) {
    result.mismatches += result.nextCodes;
    result.nextCodes = 0;
  }
  if (result.worstIndex >= 0) {
    constexpr int kSlices = 9; // tell any two numbers of f32 apart
    result.got = got.text(result.worstIndex, kSlices);
    result.expected = expected.text(result.worstIndex, kSlices);
  }
  return result;
}

/// What the tolerance is relative to, in the form that compare() uses.
Judge makeJudge(const Tensor &got, const Tensor &expected, const Tensor *plain,
                const Tolerance &tolerance, bool usePlain) {
  Judge judge{expected.dtype, tolerance, rootMeanSquare(expected.data),
              tolerance.relative};
  if (!usePlain || !graph::isFloat(expected.dtype))
    return judge;
  double allowed = allowedByPlain(expected, plain, judge.scale);
  double far = std::max(judge.relative, allowed / 16);
  if (allowed > judge.relative &&
      isOffAsPlain(got, expected, *plain, judge.scale, far))
    judge.relative = allowed;
  return judge;
}

} // namespace

CompareResult compare(const Tensor &got, const Tensor &expected,
                      const Tensor *plain, const Tolerance &tolerance,
                      const BeforeRounding *beforeRounding,
                      const SpreadOf &spreadOf) {
  int64_t count = expected.numElements();
  if (got.shape != expected.shape || got.isS64() != expected.isS64() ||
      got.numElements() != count) {
    CompareResult result;
    result.elements = count;
    result.shapesDiffer = true;
    return result;
  }
  if (beforeRounding &&
      static_cast<int64_t>(beforeRounding->sizes.size()) != count)
    beforeRounding = nullptr;
  // One flipped step of a rounding operation says nothing about its operand.
  bool usePlain = !beforeRounding && (!spreadOf || tolerance.narrow);
  Judge judge = makeJudge(got, expected, plain, tolerance, usePlain);
  Judge beforeJudge = judge;
  if (beforeRounding) {
    beforeJudge.scale = rootMeanSquare(beforeRounding->sizes);
    if (!spreadOf)
      beforeJudge.relative = std::max(judge.relative, beforeRounding->relative);
  }
  Comparison comparison{got, expected, judge, beforeJudge, beforeRounding};
  CompareResult result = comparison.run(nullptr);
  // A few evaluations may all miss how far some elements move, but not by far.
  constexpr int kFew = 8, kMany = 32;
  constexpr double kByFar = 8;
  if (tolerance.exact || !spreadOf)
    return result;
  for (int evaluations : {kFew, kMany}) {
    // Steps may be far although errors are not.
    bool showsFar = std::isfinite(comparison.excess) &&
                    graph::isFloat(expected.dtype) && !beforeRounding;
    bool isHopeless = evaluations > kFew && comparison.excess > kByFar &&
                      (showsFar || result.mismatches > count / 16);
    if (result.passed() || isHopeless)
      break;
    const Spread *spread = spreadOf(evaluations);
    if (!spread || static_cast<int64_t>(spread->seen.size()) != count)
      break;
    result = comparison.run(spread);
  }
  return result;
}

std::string CompareResult::str() const {
  if (shapesDiffer)
    return "the shapes differ";
  char text[256];
  std::snprintf(
      text, sizeof(text),
      "%lld of %lld elements differ; worst at %lld: got %s, "
      "expected %s, allowed difference %.3g; largest error %.3g; "
      "%lld in other steps, within tolerance before rounding",
      static_cast<long long>(mismatches), static_cast<long long>(elements),
      static_cast<long long>(worstIndex), got.c_str(), expected.c_str(),
      allowed, maxError, static_cast<long long>(otherSteps));
  return text;
}

std::optional<uint64_t> roundingSource(const graph::Graph &graph,
                                       uint64_t outputId) {
  const graph::Op *op = roundingOp(graph, outputId);
  return op ? std::optional<uint64_t>(op->inputs[0]) : std::nullopt;
}

BeforeRounding beforeRounding(const graph::Graph &graph, uint64_t outputId,
                              const Tensor &source, const Tensor &plain) {
  const graph::Op *op = roundingOp(graph, outputId);
  BeforeRounding before{source.data, source.data};
  before.relative = allowedByPlain(source, &plain, rootMeanSquare(source.data));
  for (double &size : before.sizes)
    size = std::fabs(size);
  // What drops the fraction rounds numbers that are half closer to 0, but never
  // to the other side of it.
  if (op && isCast(op->kind))
    for (double &value : before.steps)
      value = std::copysign(std::max(std::fabs(value) - 0.5, 0.0), value);
  before.toIntegers = op && (graph::factsOf(op->kind).grid == "integer" ||
                             graph::factsOf(op->kind).grid == "floor");
  // What rounds down has its steps at integers, not at halves.
  if (op && graph::factsOf(op->kind).grid == "floor")
    for (double &value : before.steps)
      value -= 0.5;
  if (!op || graph::factsOf(op->kind).grid != "quantize")
    return before;
  auto scales = op->attrOr<std::vector<float>>("scales", {1.0f});
  auto zps = op->attrOr<graph::Dims>("zps", {});
  auto rank = static_cast<int64_t>(source.shape.size());
  int64_t axis = op->attrOr<int64_t>("axis", 1), inner = 1, length = 1;
  axis = axis < 0 ? axis + rank : axis;
  if (axis < rank && axis >= 0 && scales.size() > 1) {
    length = source.shape[axis];
    for (int64_t d = axis + 1; d < rank; ++d)
      inner *= source.shape[d];
  }
  for (size_t i = 0; i < source.data.size(); ++i) {
    auto channel = static_cast<size_t>(i / inner % length);
    float scale = scales[std::min(channel, scales.size() - 1)];
    double zp =
        zps.empty()
            ? 0
            : static_cast<double>(zps[std::min(channel, zps.size() - 1)]);
    before.sizes[i] = std::fabs(source.data[i] / scale);
    before.steps[i] = source.data[i] / scale + zp;
  }
  return before;
}

} // namespace tenon::check
