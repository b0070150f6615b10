//===- OpTraits.h - what checking needs to know of operations --*- C++ -*-===//
//
// Internal to the checks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <string_view>

namespace tenon::check {

/// MatMul and the convolution family with their gradients.
bool isContraction(std::string_view kind);

/// Operations whose result holds values of their first operand unchanged:
/// StaticReshape, StaticTranspose, Reorder, TypeCast, ...
bool isMovement(std::string_view kind);

/// Functions that are approximated by polynomials, not one rounded operation.
bool isTranscendental(std::string_view kind);

/// Number of terms that make up one element of result 0, for contractions,
/// reductions, pooling, normalisations and softmax; 1 for everything else and
/// where shapes are unknown.
int64_t reductionLength(const graph::Graph &graph, const graph::Op &op);

} // namespace tenon::check
