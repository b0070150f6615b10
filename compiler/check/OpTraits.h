//===- OpTraits.h - what checking needs to know of operations --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to the checks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/check/FunctionErrors.h"
#include "dialects/graph/Graph.h"

#include <optional>
#include <string_view>

namespace tenon::check {

/// MatMul and the convolution family with their gradients.
bool isContraction(std::string_view kind);

/// Operations whose result holds values of their first operand unchanged:
/// StaticReshape, StaticTranspose, Reorder, TypeCast, ...
bool isMovement(std::string_view kind);

/// Operations that change the element type and nothing else: TypeCast.
bool isCast(std::string_view kind);

/// Those that move data, Concat and Select: all values of the result are values
/// of operands.
bool copiesValues(std::string_view kind);

/// Operations that are made of functions and quotients, of which one alone is
/// not exact up to its rounding.
bool isTranscendental(std::string_view kind);

/// Roundoff of f32, in which compiled code computes.
inline constexpr double kF32Roundoff = 0x1p-24;
/// Such an operation may be off by 4 ulp, that is 8 roundings, where no
/// document says how much it is (FunctionErrors.h).
inline constexpr double kFunctionRoundings = 8;
/// Standard deviations of the random walk of rounding errors.
inline constexpr double kWalk = 6;

/// Roundings of f32 in one element of a result, a sum of K terms counted as
/// 6 sqrt(K); 0 for what moves data.  With `fastMath` as the option lets
/// convolutions be computed.
double roundingsOf(const graph::Graph &graph, const graph::Op &op,
                   bool fastMath);

/// Roundoff of the type that fpmath_mode lets contractions use; 0: that of f32.
double fpmathRoundoff(const graph::Graph &graph);

/// Relative error of a tensor of this type; 0 where it holds integers.
double roundoffOf(graph::DType dtype);

/// Relative error of what an operation rounds to a float narrower than f32
/// inside: h of every step and layer of a recurrent operation, which the next
/// step forgets in part, and on the way back also the gradients of gates. A
/// random walk; 0 for all others.
double roundoffInside(const graph::Graph &graph, const graph::Op &op);

/// What a code of u8 stands for in a recurrent operation with int8; 0 for all
/// others.
double codeOfStates(const graph::Graph &graph, const graph::Op &op);

/// The layers of a recurrent operation; 1 for all others, and if not known.
int64_t layersOf(const graph::Graph &graph, const graph::Op &op);

/// Rounding errors of an operation as errors of its operands and its result, in
/// roundings of f32.  An operation that is done in one step, or a function, is
/// off by its own roundings alone.  Where sums may cancel inside, errors of
/// what is summed remain: rounding errors of K partial sums of terms of either
/// sign are a random walk and as large as if each term were off by sqrt(K / 6)
/// roundings.  Together they are no more than roundingsOf() where nothing
/// cancels.
struct ErrorModel {
  double ofOperands = 0, ofResult = 0;
  /// At least this, of what a document states.
  const FunctionError *stated = nullptr;
};
ErrorModel errorModelOf(const graph::Graph &graph, const graph::Op &op,
                        bool fastMath);

/// Whether the operation squares its operand on the way to a result of its
/// size: what is lost when squares are denormal is not small then.
bool squaresOperand(std::string_view kind);

/// The operation that rounds `outputId` to steps, looking through operations
/// that keep the order of elements; null: none does.
const graph::Op *roundingOp(const graph::Graph &graph, uint64_t outputId);

/// Number of terms that make up one element of result 0, for contractions,
/// reductions, pooling, normalisations and softmax; 1 for everything else and
/// where shapes are unknown.
int64_t reductionLength(const graph::Graph &graph, const graph::Op &op);

/// Roundings of a convolution that the option fast-math lets compute by
/// F(4x4, 3x3) (passes/ops/Winograd.cpp), by a random walk of `walk`
/// standard deviations; nullopt for all others.
///
/// Let products of src and weights have variance 1, and let b, g be the sums of
/// squares of a point's rows of B^T and G. Its sum over C channels has variance
/// C b g, and an error of variance (C + t) C b g roundings: C additions, and t
/// roundings in the transforms. The error of an element of dst has the sum of
/// these times the squares of its row of A^T; the element itself, of variance
/// 9 C, has taken 3 from each dim. So, in each dim, errors grow by the root of
///
///   sum over points of a^2 b g / 3   <= 8.2 for the points taken
///
/// for the worst row, in two dims by 8.2.
std::optional<double> filteredRoundings(const graph::Graph &graph,
                                        const graph::Op &op, double walk);

/// Roundings of LRN and LRNBackward, relative to the sum of the sizes of their
/// terms. `sum`: roundings of the sum over a window; `function`: of a function.
///
///   w = k + alpha / n * (sum of s'^2)
///   t1 = dd * w^-beta,  t2 = 2 alpha beta / n * s * (sum of s' dd'
///   w'^(-beta-1))
///
/// The terms of w are positive: its relative error is that of their sum and 3
/// operations more (k > 0). x^p multiplies a relative error by |p|, so w^-beta
/// has beta times that and the function's own; a term of the second sum, with
/// exponent -beta-1, two products more. t1 has fewer roundings than t2. So
/// dst = t1 - t2 is off by no more than these roundings of |t1| + |t2|, with
/// sizes of terms in the sum (cancellingTerms), however small dst is.
double lrnRoundings(const graph::Op &op, double sum, double function);

} // namespace tenon::check
