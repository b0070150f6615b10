//===- Rules.h - what a shape rule works with -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Internal to dialects/graph/infer.  A rule is a function on a RuleContext: it
// reads operands and attributes, reports clashes, and states the shapes of the
// results.  It runs only after the generic checks of Verify.cpp passed, so the
// numbers of operands and results, the types of attributes and their ranges
// (strides > 0, ...) hold already.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Shapes.h"

#include <map>

namespace tenon::graph::infer {

class RuleContext {
public:
  /// All referenced objects must outlive the context.  `inferring` asks for
  /// UnknownShape errors where a result cannot be known. `inputs` and `outputs`
  /// are the tensors that are given.
  RuleContext(const Op &op, const OpInfo &info,
              std::span<const LogicalTensor> inputs,
              std::span<const LogicalTensor> outputs, bool inferring,
              std::vector<Error> &errors);

  const Op &op;
  const OpInfo &info;
  // By their number in the table, up to the last that is given. Those that
  // are left out before it know nothing.
  const std::vector<LogicalTensor> inputs;
  const std::vector<LogicalTensor> outputs;
  const bool inferring;

  // Operands and results. Ids of `op` need not have been given out.
  bool hasInput(size_t i) const {
    return i < inputs.size() && !isLeftOut(op.absentInputs, i);
  }
  bool hasOutput(size_t i) const {
    return i < outputs.size() && !isLeftOut(op.absentOutputs, i);
  }
  const Shape &in(size_t i) const { return inputs[i].shape; }
  /// The shape of result `i`: as given, completed by setOut.
  const Shape &out(size_t i) const { return results[i]; }
  std::string inName(size_t i) const;
  std::string outName(size_t i) const;
  /// "src is 2x3", for messages.
  std::string inText(size_t i) const { return cat(inName(i), " is ", in(i)); }
  std::string outText(size_t i) const;

  // Attributes; absent ones read as the default of the table.
  bool boolAttr(std::string_view name) const;
  int64_t intAttr(std::string_view name) const;
  float floatAttr(std::string_view name) const;
  std::string stringAttr(std::string_view name) const;
  /// A list; absent when not given, empty, or a placeholder (see
  /// isPlaceholder).
  std::optional<Dims> listAttr(std::string_view name) const;
  /// A list that needs `count` entries, all `fallback` when it is not given.
  /// Absent, after an error, when the number of entries differs.
  std::optional<Dims> listAttr(std::string_view name, size_t count,
                               int64_t fallback);
  std::vector<float> floatsAttr(std::string_view name) const;
  /// The attribute as an index into `rank` dims; negative values count from
  /// the end.  Absent after an error.
  std::optional<size_t> axisAttr(std::string_view name, size_t rank);
  std::optional<size_t> normalizeAxis(std::string_view name, int64_t axis,
                                      size_t rank);

  // Reports.
  void error(ErrorCode code, std::string message, std::string hint = {});
  bool failed() const { return errors.size() != errorsBefore; }

  // Checks on operands; each reports and returns false when it fails.
  bool requireRankAtLeast(size_t i, size_t rank);
  /// Operand `i` must have `expected`; `why` completes "src is .., expected
  /// 2x3: ".
  bool requireShape(size_t i, const Shape &expected, std::string_view why);
  /// Operands `i` and `j` must have the same shape; it is returned.
  Shape requireSame(size_t i, size_t j);
  /// Operand `i` must have one element.
  bool requireOneElement(size_t i);

  /// States that result `i` has `shape`: completes what is unknown, reports
  /// known dims that differ, sizes below 0 and too many elements.
  void setOut(size_t i, const Shape &shape);
  /// Reports UnknownShape when inferring and `dims`, the part of result `i`
  /// that operands do not determine, is not known.  `hint` says what would.
  void requireKnownOut(size_t i, std::span<const int64_t> dims,
                       std::string hint);

  /// Replaces entries kUnknownDim of `list`, the attribute `name`, which mean
  /// "as result 0 has it", where its size is known; when none is left, also in
  /// the attribute. Returns whether none is left.
  bool completeList(std::string_view name, Dims &list);

  /// Attribute changes of inference (resolved auto_pad).
  void setAttr(std::string_view name, AttrValue value);

  std::vector<Shape> results;
  AttrMap changedAttrs;

private:
  static bool isLeftOut(uint64_t absent, size_t slot) {
    return slot < kMaxAbsent && (absent >> slot & 1);
  }
  std::optional<AttrValue> attrOrDefault(std::string_view name) const;

  std::vector<Error> &errors;
  const size_t errorsBefore;
};

using Rule = void (*)(RuleContext &);

/// `name` is what the operation table gives as shapeRule.
struct RuleEntry {
  std::string_view name;
  Rule rule;
};

// One table per family; a name is in exactly one of them.
std::span<const RuleEntry> elementwiseRules();
std::span<const RuleEntry> contractionRules();
std::span<const RuleEntry> windowRules();
std::span<const RuleEntry> normRules();
std::span<const RuleEntry> recurrentRules();
std::span<const RuleEntry> reduceRules();
std::span<const RuleEntry> quantizeRules();
std::span<const RuleEntry> dataMovementRules();
std::span<const RuleEntry> indexingRules();
std::span<const RuleEntry> backwardRules();
std::span<const RuleEntry> searchRules();

/// Null when there is no rule of this name.
Rule lookupRule(std::string_view name);

/// The result shape of most operations: that of operand 0.
void sameAsFirst(RuleContext &ctx);
/// All operands have one shape, and so has the result.
void allSame(RuleContext &ctx);

/// Files written by other libraries give "not set" for some lists as twelve
/// equal entries, whatever the rank: zeros for `dst_shape`, `src_shape`,
/// `weights_shape` and `output_padding`, ones for `dilations`.
bool isPlaceholder(std::string_view attr, const Dims &list);

/// Dims and strides of one tensor on its own; false after an error.
bool verifyTensor(RuleContext &ctx, const std::string &name,
                  const LogicalTensor &tensor, bool isResult);

/// Whether Verify.cpp has the rule that the operation table names.
bool isTypeRule(std::string_view name);
bool isAttrRule(std::string_view name);

/// The generic checks: numbers of operands and results, tensors, data types,
/// attributes.  Returns whether the rule of the operation may run.
bool verifyAgainstTable(RuleContext &ctx);

/// Position of the dims of a data tensor: batch is dim 0.
struct DataLayout {
  size_t channel;
  size_t firstSpatial;
  size_t spatialRank;

  /// `rank` >= 2; reads `data_format`.
  DataLayout(const RuleContext &ctx, size_t rank);
  Dims spatial(const Dims &shape) const;
  Dims make(int64_t batch, int64_t channels, const Dims &spatial) const;
};

} // namespace tenon::graph::infer
