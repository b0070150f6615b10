//===- Draft.h - one guess at a form of an operation ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to OpForms.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/forms/OpForms.h"

#include <map>

namespace tenon::forms {

/// Shapes by the name of the operand or result.
using Roles = std::map<std::string, graph::Dims, std::less<>>;

/// A guess under construction.
struct Draft {
  const graph::OpInfo &info;
  Random &random;
  const FormOptions &options;
  const graph::LogicalTensor *first;
  /// All operands and results that the operation may have.
  bool whole = false;

  graph::AttrMap attrs = {};
  /// Of operands, and of results that operands do not determine.
  Roles shapes = {};
  size_t operands = 1, results = 1;
  /// Set when the guess can not fit.
  bool failed = false;

  /// A shape for operand 0: that of `first`, or a random one. `failed` when
  /// the rank of `first` is not within the bounds.
  graph::Dims source(size_t minRank, size_t maxRank);
  int64_t dim();
  /// A shape that numpy broadcasting stretches to `shape`.
  graph::Dims stretching(const graph::Dims &shape);
  /// `axis`, or the same counted from the end.
  int64_t anySpelling(int64_t axis, size_t rank);

  std::string word(std::string_view name) const;
  bool flag(std::string_view name) const;
  bool has(std::string_view attr) const { return info.attr(attr) != nullptr; }
  void set(std::string_view name, graph::AttrValue value) {
    if (has(name))
      attrs[std::string(name)] = std::move(value);
  }
};

/// Fills shapes and the attributes that go with them, by the shape rule of the
/// operation.
void guessShapes(Draft &draft);

/// The same for recurrent operations (RecurrentShapes.cpp).
void guessRecurrent(Draft &draft);

/// The same for Slice, gathers and the like (IndexingShapes.cpp); false if the
/// operation is none of them.
bool guessIndexing(Draft &draft);

/// Another shape for as many elements as `shape` has.
graph::Dims regrouped(Draft &draft, const graph::Dims &shape);
/// The same for searches, RoiAlign and RandomUniform (SearchShapes.cpp).
void guessSearch(Draft &draft);

/// The whole forward operation that `draft` is the gradient of, by role, its
/// attributes included; false when there is no guess.
bool guessForward(Draft &draft, Roles &roles, graph::AttrMap &attrs);

} // namespace tenon::forms
