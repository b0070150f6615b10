//===- Graph.h - a graph as plain data ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What the JSON reader, the C API, the rewriting overrides, shape inference and
// the reference evaluator share: operations, edges (logical tensors), ports.
// No MLIR.  dialects/graph/Convert.h turns it into the graph dialect and back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/SizeFacts.h"
#include "dialects/support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon::graph {

enum class DType : uint8_t {
  undef,
  f16,
  bf16,
  f32,
  s32,
  s8,
  u8,
  boolean,
  f8_e5m2,
  f8_e4m3,
  s4,
  u4,
  s64,
  f64,
  f8_e8m0
};
inline constexpr DType kLastDType = DType::f8_e8m0;
enum class LayoutType : uint8_t { undef, any, strided, opaque };
enum class PropertyType : uint8_t { undef, variable, constant, host_scalar };

/// The names of spec and files: "f32", "strided", "constant", ...
std::string_view name(DType);
std::string_view name(LayoutType);
std::string_view name(PropertyType);
std::optional<DType> parseDType(std::string_view);
std::optional<LayoutType> parseLayoutType(std::string_view);
std::optional<PropertyType> parsePropertyType(std::string_view);
bool isFloat(DType);
/// Bytes of one element in memory; s4 and u4 are packed two to a byte: 0.5.
double byteSize(DType);

/// A dim whose size is not known (yet).  Also MLIR's ShapedType::kDynamic.
inline constexpr int64_t kUnknownDim = INT64_MIN;
inline constexpr int kMaxRank = 12;
using Dims = std::vector<int64_t>;

/// An edge.  `shape == nullopt`: rank unknown.  `strides` are in elements and
/// empty when unknown or when the tensor is dense row-major by default.
struct LogicalTensor {
  uint64_t id = 0;
  /// What users call it: inputs, outputs and weights of a model have names.
  /// Several may have one name, and most have none.
  std::string name;
  DType dtype = DType::undef;
  std::optional<Dims> shape;
  Dims strides;
  LayoutType layout = LayoutType::strided;
  PropertyType property = PropertyType::undef;
  /// Empty, or one for each dim: the size as an expression of named ones
  /// (SizeExpr.h), or nothing. A name stands for one number in all of a graph;
  /// it is known from a dim that is this name alone and has a size.
  std::vector<std::string> sizes;

  bool hasStaticShape() const;
  /// Number of elements; requires hasStaticShape().
  int64_t numElements() const;
  /// Strides to address memory with: `strides`, or dense row-major ones.
  Dims effectiveStrides() const;
};

/// Row-major strides of `shape`; a dim of 0 counts as 1.
Dims denseStrides(const Dims &shape);

using AttrValue =
    std::variant<bool, int64_t, float, std::string, Dims, std::vector<float>>;
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

struct Op {
  uint64_t id = 0;
  std::string name;
  std::string kind; // as in the operation table: "MatMul"
  AttrMap attrs;
  // Ids of the tensors that are given, in the order of the table. Optional
  // ones that are left out before a given one are bits of a mask: bit i is
  // operand, or result, i of the table.
  std::vector<uint64_t> inputs;
  std::vector<uint64_t> outputs;
  uint64_t absentInputs = 0;
  uint64_t absentOutputs = 0;

  /// Which operand of the table `inputs[position]` is; likewise for results.
  size_t inputSlot(size_t position) const;
  size_t outputSlot(size_t position) const;
  /// The tensor that operand `slot` of the table is; absent if it is left out.
  std::optional<uint64_t> inputAt(size_t slot) const;
  std::optional<uint64_t> outputAt(size_t slot) const;
  /// The next operand, or result, is left out. False if there are too many.
  bool leaveOutInput();
  bool leaveOutOutput();

  /// The attribute, or null when absent.
  const AttrValue *attr(std::string_view name) const;
  /// The attribute as T, or `fallback` when absent or of another type.
  template <typename T> T attrOr(std::string_view name, T fallback) const {
    const AttrValue *v = attr(name);
    const T *t = v ? std::get_if<T>(v) : nullptr;
    return t ? *t : fallback;
  }
};

/// The number of operands, or results, of which `absent` says which are left
/// out, up to the last one of the `given` ones. A mask of absent ones has bits
/// for the first kMaxAbsent only.
size_t slotCount(uint64_t absent, size_t given);
inline constexpr size_t kMaxAbsent = 64;

/// A graph: `ops` in file order until topologicalSort().  Every tensor id that
/// an op names is a key of `tensors`.
struct Graph {
  std::string version = "3.14.0";
  std::string engineKind = "cpu";
  std::string fpmathMode = "strict";
  bool fpmathApplyToInt = false;
  std::vector<uint64_t> inputPorts;
  std::vector<uint64_t> outputPorts;
  /// What a list of input ports named and no operation reads: such a tensor may
  /// be given and is ignored. Nothing is known of it but the id.
  std::vector<uint64_t> ignoredInputs;
  /// All that a list of output ports named, if the graph has none of them.
  std::vector<uint64_t> ignoredOutputs;
  std::vector<Op> ops;
  std::map<uint64_t, LogicalTensor> tensors;
  /// What is declared of names in LogicalTensor::sizes.
  NamedSizeFacts sizeFacts;

  LogicalTensor &tensor(uint64_t id) { return tensors.at(id); }
  const LogicalTensor &tensor(uint64_t id) const { return tensors.at(id); }
  /// Index into `ops` of the producer of each tensor that has one.
  std::map<uint64_t, size_t> producers() const;
};

/// An error that names the kind, the name and the id of `op`.
Error errorAbout(const Op &op, ErrorCode code, std::string message,
                 std::string hint = "");

/// Orders `ops` so that producers come first, stable otherwise.
/// Errors: TwoProducers, DuplicateOpId, Cycle (each names the ops involved).
std::vector<Error> topologicalSort(Graph &graph);

/// Completes the ports: tensors without a producer join `inputPorts`; results
/// that nobody or an End reads join `outputPorts`.  An id listed twice stays
/// once, at its first place.  Input ports that no operation reads and that have
/// no data type move to `ignoredInputs`.  Errors: BadPort.
std::vector<Error> completePorts(Graph &graph);

/// A remark for each ignored port; it names the id.
std::vector<std::string> remarksOnPorts(const Graph &graph);

} // namespace tenon::graph
