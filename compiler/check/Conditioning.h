//===- Conditioning.h - how far rounding may move results ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How an error at an edge of a graph grows on its way to a result depends on
// the values: the reciprocal of what all but vanishes, the logarithm of a
// number near 1, a product that is denormal and then scaled.  It is measured:
// the evaluator runs again with random errors at every edge, each as large as
// those that the operation may make itself (Monte Carlo arithmetic; Parker,
// Monte Carlo arithmetic: exploiting imprecise floating-point to estimate
// error, 1997).  How far an element moves is what it may be off.
//
// An error is all roundings of the operation in one direction: of its result,
// and where sums may cancel inside of it also of its operands (ErrorModel in
// OpTraits.h; a result that is nearly right for operands that are nearly right
// is what mixed stability means).  Near zero, where numbers are denormal and
// have a fixed distance, that distance is what a rounding costs.  In every
// other evaluation errors have any size up to that and every edge is rounded to
// its type: values overflow, underflow and cancel as they do in compiled code.
// The first one has no other errors than these.
//
// Where denormal numbers are flushed, each that an operation reads or writes
// becomes 0: all of them in every other evaluation, any of them in the others,
// as code that keeps a number in another form may not flush it. A quotient by
// such a number, or its logarithm, is then what it is and infinite.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace tenon::check {

/// How compiled code may compute otherwise than the definition says: options.
struct Arithmetic {
  /// Convolutions by F(4x4, 3x3).
  bool fastMath = false;
  /// Operations read and write 0 in place of numbers below kSmallestNormal.
  bool flushDenormals = false;
};

/// Of f32 and bf16.
inline constexpr double kSmallestNormal = 0x1p-126;

/// What became of the elements of one tensor in several evaluations; where an
/// operation rounds to steps (roundingSource), of the values before it does, in
/// steps: how far these moved is more than the steps can tell.
struct Spread {
  /// What an element was at least once.
  enum Seen : uint8_t { finite = 1, isNaN = 2, above = 4, below = 8 };

  /// Least and largest finite value of each element; infinity and -infinity
  /// where there was none.
  std::vector<double> low, high;
  std::vector<double> nearest; // least magnitude of these
  std::vector<uint8_t> seen;   // sums of Seen
};

/// The spread of a tensor after at least so many evaluations; null when it is
/// not known.
using SpreadOf = std::function<const Spread *(int evaluations)>;

/// Not thread-safe.
class Conditioning {
public:
  /// `graph` and `inputs`, as for reference::evaluate, must outlive this.
  Conditioning(const graph::Graph &graph,
               const std::map<uint64_t, reference::Tensor> &inputs,
               Arithmetic arithmetic, int threads);

  /// The spread of an output of the graph; takes `evaluations` evaluations, or
  /// what is missing of them.  Null when the graph cannot be evaluated.
  const Spread *of(uint64_t outputId, int evaluations);

private:
  bool evaluateOnce();

  const graph::Graph &graph;
  const std::map<uint64_t, reference::Tensor> &inputs;
  Arithmetic arithmetic;
  int threads;
  std::map<uint64_t, uint64_t> sources; // of outputs that are rounded to steps
  int done = 0;
  std::map<uint64_t, Spread> spreads;
};

} // namespace tenon::check
