//===- Cases.h - what the tests of operations compile -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Graphs as text (GraphText.h), one function per family.  Together they hold
// every operation that compiles, with typical, empty, single, prime and
// permuted shapes, ranks 0 to 5, and every value of every attribute.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace tenon::test {

using Cases = std::vector<std::string>;

Cases unaryCases();
Cases binaryCases();
Cases matmulCases();
Cases convolutionCases();
/// ConvTranspose and all gradients of convolutions; with more operations.
Cases convGradientCases();
Cases convGradientFusionCases();
Cases poolCases();
Cases poolGradientCases();
Cases interpolateCases();
Cases lrnCases();
Cases normCases();
Cases reduceCases();
Cases recurrentCases();
Cases movementCases();
/// Extremes, orders, running sums, and what detectors take of boxes.
Cases searchCases();
Cases backwardCases();
/// Other types than f32: casts, quantisation, indices, Dropout.
Cases typeCases();
/// Slices, repetitions, padding, gathers and scatters.
Cases indexingCases();
/// Arithmetic, comparisons and reductions of integers and booleans.
Cases integerCases();
/// Graphs in bf16, f16 and bytes.
Cases narrowCases();
/// Products whose weights stay levels.
Cases weightOnlyCases();
/// Products around a softmax in every spelling.
Cases attentionCases();
/// Several operations: what fusion joins, and what it must not.
Cases fusionCases();
/// Concats of what groups of every kind compute.
Cases joinedCases();
/// Images with channels first and last around convolutions.
Cases layoutCases();

} // namespace tenon::test
