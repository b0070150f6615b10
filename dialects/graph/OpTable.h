//===- OpTable.h - the operation table as plain data ----------*- C++ -*-===//
//
// Generated from dialects/graph/*.td, the one place where operations are
// written down.  No MLIR: the JSON reader, shape inference, the evaluator,
// `tenon ops` and random graph generation read this.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <optional>
#include <span>
#include <string_view>

namespace tenon::graph {

enum class AttrType : uint8_t { f32, f32s, s64, s64s, boolean, string };
/// "f32", "f32[]", "s64", "s64[]", "bool", "string" as written in files.
std::string_view name(AttrType);

struct AttrInfo {
  std::string_view name;
  AttrType type;
  bool required;
  /// Text of the default ("1", "NXC", "true"); absent when there is none.
  std::optional<std::string_view> defaultText;
  /// Allowed strings; empty when every value is.
  std::span<const std::string_view> allowed;
  std::string_view doc;

  /// The default as a value; requires defaultText.
  AttrValue defaultValue() const;
};

struct TypeVarInfo {
  std::string_view name; // "T1"
  std::span<const DType> allowed;
};

/// One operand or result.
struct ValueInfo {
  std::string_view name;    // "src"
  std::string_view typeVar; // "T1"; empty: any dtype
  bool optional;
  bool variadic;
};

struct OpInfo {
  std::string_view kind;  // "MatMul"
  std::string_view cEnum; // "tenon_op_matmul"
  int cEnumValue;
  std::string_view category;    // "contraction", "elementwise_unary", ...
  std::string_view backwardOf;  // empty for forward operations
  std::string_view summary;     // the formula
  std::string_view description; // behaviour, decisions, notes
  std::span<const ValueInfo> operands;
  std::span<const int> operandCounts; // allowed numbers; empty: any
  std::span<const ValueInfo> results;
  std::span<const int> resultCounts;
  std::span<const AttrInfo> attrs;
  std::span<const TypeVarInfo> typeVars;
  std::span<const std::string_view> constraints;
  std::string_view shapeRule;
  bool commutative; // first two data operands
  /// Dtypes that compile today: {"f32"}; empty: evaluator only.
  std::span<const std::string_view> compiles;
  /// Why the vector-code test excuses the operation; empty: it does not.
  std::string_view vectorException;

  const AttrInfo *attr(std::string_view name) const;
  const TypeVarInfo *typeVar(std::string_view name) const;
};

/// All operations, in the order of the table (alphabetical by kind).
std::span<const OpInfo> allOps();
/// Null when unknown.
const OpInfo *lookupOp(std::string_view kind);

} // namespace tenon::graph
