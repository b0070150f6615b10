//===- Overrides.h - rewriting overrides -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Changes to a graph that was read from a file: batch size, shapes, strides,
// attributes, kinds, data types, properties, math mode.  The textual grammar
// of each override:
//
//   mb               N                      0 keeps the batch size
//   in-shapes        ID:SHAPE[*LAYOUT]+...  2x16x64, "-" rank 0; *abdc is the
//                                           order of the axes, *S1xS2 strides;
//                                           ID:*LAYOUT changes strides only
//   op-attrs         ID:NAME:VALUE[*NAME:VALUE]+...   lists with x
//   op-kind          ID:KIND+...            undef removes the operation
//   dt               DT, or ID:DT+...
//   attr-fpmath      MODE[:true|false]
//   tensor-property  ID:PROPERTY+...
//   likely           SIZE:VALUE[*VALUE]+...   likely values of named sizes
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/infer/Prepare.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

/// The text of each override; empty: as in the file.
struct OverrideText {
  std::string mb;
  std::string inShapes;
  std::string opAttrs;
  std::string opKind;
  std::string dt;
  std::string attrFpmath;
  std::string tensorProperty;
  std::string likely;
};

struct Overrides {
  struct Tensor {
    uint64_t id = 0;
    std::optional<graph::Dims> shape; // absent: as it is
    graph::Dims order;                // dims from outermost to innermost
    graph::Dims strides;              // explicit, in elements
  };
  struct Attr {
    uint64_t opId = 0;
    std::string name;
    std::string value; // typed once the operation is known
  };

  int64_t mb = 0; // 0: keep
  std::vector<Tensor> tensors;
  std::vector<Attr> attrs;
  std::vector<std::pair<uint64_t, std::string>> kinds;
  std::optional<graph::DType> dtype; // of the whole graph
  std::vector<std::pair<uint64_t, graph::DType>> dtypes;
  std::optional<std::string> fpmathMode;
  std::optional<bool> fpmathApplyToInt;
  std::vector<std::pair<uint64_t, graph::PropertyType>> properties;
  /// Added to those that the graph has.
  std::vector<std::pair<std::string, int64_t>> likely;

  bool empty() const;
};

/// Parses the overrides.  Errors: BadOverride, one for each override that is
/// wrong.
Expected<Overrides> parseOverrides(const OverrideText &text);

/// Applies `overrides` and prepares what comes out; with no overrides that is
/// all.  Lists that depend on shapes are fitted by inference of their own, on
/// the graph that is being rewritten.
///
/// The result is that of the order: shapes of inputs, attributes, inference,
/// shapes of outputs, quantisation lists, kinds, math mode, group shapes, data
/// types, properties.  Lists of scales (zero points) follow a new channel
/// count by repetition (by zeros); group shapes follow the shape of scales.
/// Strides: unless the axis order of an input changes, results keep the order
/// they had; otherwise they take that of their operation's first input, and
/// are row-major after Reorder, StaticReshape and StaticTranspose.
///
/// Errors: BadOverride, UnknownTensor, UnknownAttr, AttrValue, BadStride, and
/// whatever prepareGraph finds wrong with the new graph.
Expected<graph::PreparedGraph> applyOverrides(graph::Graph graph,
                                              const Overrides &overrides);

/// A line of a list of runs: `--mb=2 --in-shapes=0:2x3 --case=FILE`.
struct RunLine {
  std::string caseFile;
  OverrideText text;
  Overrides overrides;
};

/// Parses one line.  Expectations about partitions are accepted and ignored.
/// Errors: BadOption (unknown override, no case), BadOverride.
Expected<RunLine> parseRunLine(std::string_view line);

} // namespace tenon
