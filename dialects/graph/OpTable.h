//===- OpTable.h - the operation table as plain data ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
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
  /// Numbers that random tests choose from; empty: any will do.
  std::span<const float> samples;
  std::string_view doc;

  /// The default as a value; requires defaultText.
  AttrValue defaultValue() const;
};

struct TypeVarInfo {
  std::string_view name; // "T1"
  std::span<const DType> allowed;
};

/// Numbers that are worth testing an operand with. The later ones win where
/// several operations read one tensor.
enum class Domain : uint8_t {
  any,
  positive,
  divisor,     // not near 0
  variance,    // of a normalisation
  probability, // results of SoftMax, Sigmoid
  openUnit,    // results of Tanh
  negative,    // results of LogSoftmax
  quantized,   // to be rounded to a step: not near the middle of two
  scale,       // of a quantisation
  zeroPoint,
  half,
  length, // numbers of steps: small, not negative
  index   // positions in another operand
};

/// One operand or result.
struct ValueInfo {
  std::string_view name;    // "src"
  std::string_view typeVar; // "T1"; empty: any dtype
  bool optional;
  bool variadic;
  Domain domain; // if this is `src_or_dst`, of dst
  bool isShape; // elements are sizes of a result, read by shape inference alone
};

/// What an operation is to a compiler: which elements of its operands an
/// element of its result is made of.
enum class OpClass : uint8_t {
  unknown,       // no row of the table
  elementwise,   // those at its own index, broadcasting aside
  indexed,       // those, and the index itself
  view,          // one, at another index; elements may stay where they are
  movement,      // one, which is copied
  reduction,     // all along some dims
  normalization, // as reduction, then each of these again
  window,        // those near its index: pooling, resampling, LRN
  contraction,   // sums of products: MatMul and convolutions
  recurrent,     // those of all steps before
  gather,        // those at places that another operand says
  search,        // those along a dim, compared or summed in order
  quantization,  // one, and its scale
  structural     // not computed: End, Wildcard
};
/// "elementwise", ...
std::string_view name(OpClass);

/// Along which dims of operand 0 a reduction or a normalization sums.
enum class ReducedDims : uint8_t {
  none,
  axis,              // the one that the attribute names
  axes,              // those that the attribute names
  fromBeginNormAxis, // that one and all later ones
  allButChannels,
  channelGroups, // spatial dims, and the channels of one group
  slope          // those over which operand 1, the slope, is broadcast
};
/// "none", ...
std::string_view name(ReducedDims dims);

/// How often elements are rounded on the way to a result in f32.
enum class Rounding : uint8_t {
  copies,    // never: a result has values of operands
  exact,     // never: a comparison, a sign, an integer
  once,      // one arithmetic operation, or one function
  quantizes, // to a step, which is the meaning
  several
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
  // Names of rules that other files define; see GraphBase.td.
  std::string_view shapeRule;
  std::string_view typeRule;
  std::span<const std::string_view> attrRules;
  std::string_view grid;
  OpClass opClass = OpClass::unknown;
  ReducedDims reducedDims = ReducedDims::none;
  Rounding rounding = Rounding::several;
  bool commutative; // first two data operands
  bool cheap;       // few instructions: may be computed several times
  /// Made of functions and quotients, of which one alone is not exact up to its
  /// rounding.
  bool transcendental;
  bool squares; // its operand, on the way to a result of its size
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
/// The same, but for a kind that the table does not have a row of no class and
/// no rules, so that questions about it are answered with no.
const OpInfo &factsOf(std::string_view kind);
/// The row of the operation that `info` is the gradient of, or `info`.
const OpInfo &forwardOf(const OpInfo &info);

// Questions that a row answers. OpFacts.h asks them about operations of MLIR.

/// StaticReshape and StaticTranspose, whose elements may stay in their place.
inline bool isView(const OpInfo &info) { return info.opClass == OpClass::view; }

/// A result has nothing but elements of operands, if need be in another type:
/// views, and what copies.
inline bool isMovement(const OpInfo &info) {
  return isView(info) || info.opClass == OpClass::movement;
}

/// A movement that changes the element type and nothing else: TypeCast.
bool isCast(const OpInfo &info);

/// MatMul, convolutions and their gradients.
inline bool isContraction(const OpInfo &info) {
  return info.opClass == OpClass::contraction;
}

/// Contractions with windows: Convolution, ConvTranspose and their gradients.
bool isConvolution(const OpInfo &info);

/// Of those, the gradients with respect to weights; other convolutions have the
/// weights as operand 1.
bool isWeightsGradient(const OpInfo &info);

/// MaxPool, AvgPool and their gradients.
bool isPooling(const OpInfo &info);

/// Whether `info` is the gradient of another operation.
inline bool isBackward(const OpInfo &info) { return !info.backwardOf.empty(); }

} // namespace tenon::graph
