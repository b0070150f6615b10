//===- Compare.h - results against the reference ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How a result is judged.  With e the exact value (computed in double), an
// element g of type T passes when
//
//     |g - e| <= max(3 r, b) * max(|e|, s) + ulp_T(e) / 2
//
// Where evaluations with errors of rounding size are at hand (Reference.h), an
// element that they moved by more than that (Conditioning.h) is ill-conditioned
// and may be off by three times as much; where an operation rounds to steps,
// the value before it may.  Another integer may be any between the least and
// the largest that they gave.  r is 0 then, unless a float narrower than f32
// was computed on the way: it is the same for all elements and may be that of
// one which all but vanished, but of roundings that wide a few evaluations
// leave some elements where they are.
//
//   r   relative error of the plain evaluation, which rounds at every edge:
//       the largest |p - e| / max(|e|, s) of the tensor.  It counts only if
//       about as few elements of g are off by max(3 r / 16, b), before they are
//       rounded, as of p by a third of that: one comparison that comes out the
//       other way makes r as large as values are
//   s   root mean square of the tensor: sums cancel, so small elements carry
//       the errors of large terms; for LRNBackward, whose terms are known and
//       may cancel in every element, at least the sum of their sizes
//   b   bound from the graph: along the worst path to the tensor, every
//       operation adds roundings of f32 (2^-24) and every narrow edge in
//       between one rounding of its type.  A sum of K terms counts 6 sqrt(K)
//       roundings: rounding errors behave like a random walk, and 6 standard
//       deviations are never met by chance (Higham, Mary: A new approach to
//       probabilistic rounding error analysis, 2019).
//
//       With fast math a convolution may count more (filteredRoundings), and
//       functions count what docs/accuracy.md states.
//
//       Recurrent operations round to their type inside, as graphs of single
//       operations would at edges: h of each of T steps in each of L layers,
//       and gradients of gates. They add sqrt(T L) roundings of that type,
//       gradients twice as many, whatever the type of a result; the plain
//       evaluation rounds there, too
//
// In int8 a recurrent operation computes h of a step from codes of the one
// before. A number within rounding errors of a tie may get the next code, which
// moves the sums that read it and, in other steps and in the layers above, more
// numbers to a next code. So of its results with codes 2 % of the elements for
// each layer, or eight, may have the next code. Of those in f32 as many may be
// off by what a code stands for, and all by a quarter of it: a code that is one
// of many terms moves a cell state by no more.
//
// Where denormal numbers are flushed, 2^-126 is allowed at least.
//
// Where inputs make all arithmetic exact (Exactness.h), g must be e rounded to
// T once, with equality.  NaN must meet NaN, infinities the same infinity.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/check/Conditioning.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::check {

/// What a tensor may deviate from the exact values.
struct Tolerance {
  /// The value must be the exact one, rounded to the dtype once.
  bool exact = false;
  /// Also the sign of zeros counts: nothing but moved data.
  bool signedZero = false;
  /// A float narrower than f32 was computed on the way.
  bool narrow = false;
  /// f32 roundings along the worst path; informative.
  double roundings = 0;
  /// The bound b: relative to max(|e|, s).
  double relative = 0;
  /// At least this, where results that are smaller may be 0.
  double floor = 0;
  /// What a code stands for that may be the next one; 0: none may.
  double code = 0;
  /// Layers whose states are such codes.
  int64_t codeLayers = 0;
  /// Least s of each element: the sizes of the terms it is the sum of. Empty
  /// where these are not known.
  std::vector<double> terms;
};

/// The tolerance of `outputId`.  With `inputs`, exactness is derived from their
/// values; without, only integer arithmetic and moved data count as exact.
/// Shapes must be known.
Tolerance
toleranceFor(const graph::Graph &graph, uint64_t outputId,
             const std::map<uint64_t, reference::Tensor> *inputs = nullptr,
             Arithmetic arithmetic = {});

struct CompareResult {
  bool shapesDiffer = false;
  int64_t elements = 0;
  int64_t mismatches = 0;
  /// Integer elements that differ, but a value within tolerance of the exact
  /// one before rounding becomes them.
  int64_t otherSteps = 0;
  /// Elements that are off by up to one code of an int8 state, few enough.
  int64_t nextCodes = 0;
  /// Elements that are off by more than the bound from the graph, as errors of
  /// rounding size on the way make them.
  int64_t illConditioned = 0;
  /// Largest |got - expected| over all elements, and where the difference
  /// exceeds what is allowed most (or comes closest to it).
  double maxError = 0;
  int64_t worstIndex = -1;
  /// Of that element; integers with all digits.
  std::string got, expected;
  double allowed = 0;

  bool passed() const { return !shapesDiffer && mismatches == 0; }
  /// "3 of 1024 elements differ; worst at 17: got 1.5, expected ..."
  std::string str() const;
};

/// Exact values that an operation rounds to steps.
struct BeforeRounding {
  /// As numbers of steps: scaled, zero points added; not clamped.
  std::vector<double> steps;
  /// What the tolerance is relative to: their sizes without zero points.
  std::vector<double> sizes;
  /// At least this tolerance.
  double relative = 0;
  /// Steps are integers, also where elements are floats: Round, Floor.
  bool toIntegers = false;
};

/// Compares `got` with the oracle's `expected` (best not rounded:
/// EvalOptions::roundOutputs = false).  `plain` is the result with roundEdges,
/// or null.  `beforeRounding` holds, for an integer result of a rounding
/// operation, the oracle's values before that rounding, or null: then an
/// element is accepted if a value within the tolerance of that one rounds to
/// it.  `spreadOf`, if there is one, is asked when that does not do.
CompareResult compare(const reference::Tensor &got,
                      const reference::Tensor &expected,
                      const reference::Tensor *plain,
                      const Tolerance &tolerance,
                      const BeforeRounding *beforeRounding = nullptr,
                      const SpreadOf &spreadOf = nullptr);

/// For an output of Quantize, Round or a cast from float to integer (also seen
/// through data movement that keeps the order): the tensor whose oracle values
/// beforeRounding() needs.
std::optional<uint64_t> roundingSource(const graph::Graph &graph,
                                       uint64_t outputId);
/// Those values scaled as the operation does before it rounds. `plain` are the
/// same with roundEdges.
BeforeRounding beforeRounding(const graph::Graph &graph, uint64_t outputId,
                              const reference::Tensor &source,
                              const reference::Tensor &plain);

/// One judged output.
struct Judgement {
  uint64_t id = 0;
  Tolerance tolerance;
  CompareResult result;
};

} // namespace tenon::check
