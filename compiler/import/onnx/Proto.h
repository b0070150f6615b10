//===- Proto.h - an ONNX file as data --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The messages of onnx.proto that say what a model computes. Text and elements
// of tensors are views of the bytes that were read, which must outlive them:
// weights are not copied. The field numbers are in Proto.cpp, the wire format
// is read by protozero.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tenon::onnx {

/// Element types by their number in a file. There are others.
enum class DataType : int32_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  s8 = 3,
  u16 = 4,
  s16 = 5,
  s32 = 6,
  s64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  complex64 = 14,
  complex128 = 15,
  bf16 = 16,
  f8e4m3 = 17, // as Tenon's: without infinities
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  s4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  s2 = 26
};
/// "double", "uint16", ...; of a number that is not listed, "type 17".
std::string nameOf(DataType type);

/// A tensor with its elements: bytes in `raw`, in little endian, or a list in
/// the field that its type uses.
struct TensorProto {
  std::string_view name;
  DataType type = DataType::undefined;
  graph::Dims dims;
  std::string_view raw;
  bool isRaw = false;
  bool isExternal = false; // elements are in another file, as `external` says
  std::vector<std::pair<std::string_view, std::string_view>> external;
  std::vector<float> floats;
  std::vector<int32_t> int32s; // of all types of at most 32 bits but f32
  std::vector<int64_t> int64s;
  std::vector<double> doubles;
};

struct GraphProto;

/// An attribute; what it is not holds its default.
struct AttributeProto {
  std::string_view name;
  /// In a function: the attribute of the node that it is instead.
  std::string_view reference;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors; // one, or a list
  std::vector<GraphProto> graphs;   // one, or a list
};

struct NodeProto {
  std::string_view name, opType, domain;
  std::vector<std::string_view> inputs, outputs; // "": left out
  std::vector<AttributeProto> attributes;
};

/// A size that is a number, has a name, or neither.
struct DimProto {
  std::optional<int64_t> value;
  std::string_view name;
};

/// An input or output. Sequences, maps and the like are no tensors.
struct ValueInfoProto {
  std::string_view name;
  bool isTensor = false;
  DataType type = DataType::undefined;
  std::optional<std::vector<DimProto>> shape;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfoProto> inputs, outputs;
};

struct OperatorSet {
  std::string_view domain; // "" and "ai.onnx" are the same
  int64_t version = 0;
};

/// An operator that the model defines itself, by nodes.
struct FunctionProto {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> defaults; // of attributes that may be left out
  std::vector<NodeProto> nodes;
  std::vector<OperatorSet> operatorSets;
};

struct ModelProto {
  int64_t irVersion = 0;
  std::vector<OperatorSet> operatorSets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

/// Reads a model. Errors: Syntax for bytes that are no model or are cut off,
/// TooLarge for graphs nested deeper, or more messages, than any model has.
Expected<ModelProto> parseModel(std::string_view bytes);

/// Reads a tensor that a file holds alone, as ONNX's tests have them.
Expected<TensorProto> parseTensor(std::string_view bytes);

} // namespace tenon::onnx
