//===- GraphText.h - a graph in one line ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Tests need hundreds of small graphs, each readable at a glance:
//
//   MatMul 5x7 7x11c 11c
//   y = MatMul x:5x7 7x11c; GELU y mode=gelu_tanh
//   y,mean,variance = LayerNorm 5x7 7c 7c; ReLU mean; out y mean
//
//   graph     := statement { ';' statement }
//   statement := [ result { ',' result } '=' ] Kind { operand | attribute }
//              | 'out' name { name }        (the output ports, in this order)
//   operand   := name | [ name ':' ] shape { suffix } | '_' (left out)
//   shape     := '()' | dim { 'x' dim }     dim := number | '?'
//                                          | '[' expression of SizeExpr.h ']'
//   suffix    := '/' dtype | '<' stride { ',' stride } '>' | 'c' (constant)
//   result    := name [ ':' shape ] { suffix } | '_'
//                (no constants; left out)
//   attribute := name '=' value             (lists: 1,2; empty list: nothing)
//
// The dtype is f32 unless said; a result has that of the first operand, boolean
// for GreaterEqual.  A result nobody reads is an output.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <string>
#include <string_view>

namespace tenon::test {

/// The graph of `text`, with shapes inferred where they can be and strides of
/// results set.  Errors: Syntax for text outside the grammar, else those of
/// inferGraph and completePorts.
Expected<graph::Graph> parseGraph(std::string_view text);

/// The same without inference: for graphs that are meant to be wrong.
Expected<graph::Graph> parseGraphOnly(std::string_view text);

/// A test's name for case `index`: "3_MatMul_5x7_7x11c".
std::string caseName(size_t index, std::string_view text);

} // namespace tenon::test
