//===- Importer.h - ONNX models as graphs ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/onnx/Elements.h"

#include <deque>
#include <map>
#include <memory>
#include <string>

namespace tenon::onnx {

/// What became of a node, those of functions and branches included.
struct ConvertedNode {
  std::string_view domain, opType;
  int64_t opset; // the version of the domain
  /// Ids of the operations that it was converted to; the graph lacks those that
  /// no output needs.
  uint64_t firstOperation, operations = 0;
  bool hasFailed = false;   // it has no results
  bool isAbandoned = false; // since one that it needs has failed
};

struct ImportOptions {
  /// Inputs whose elements are known and will not change, by name: shapes and
  /// axes that a model takes as inputs become attributes.
  std::map<std::string, reference::Tensor, std::less<>> bound = {};
  /// The same as numbers, in the shape that the model says.
  std::map<std::string, std::vector<double>, std::less<>> numbers = {};
  /// Sizes of inputs, by name: the model is read for these alone.
  std::map<std::string, graph::Dims, std::less<>> shapes = {};
  /// Unless null: takes all nodes that were looked at, also after errors.
  std::vector<ConvertedNode> *nodes = nullptr;
};

/// An input or output of the model.
struct Port {
  std::string name;
  /// Its tensor; none: an input that nothing reads.
  std::optional<uint64_t> id;
  /// An output with as many entries as the data says: the first ones along dim
  /// `axis` are it, as many as the scalar tensor `*count` says, and those
  /// behind do not count.
  std::optional<uint64_t> count = {};
  int axis = 0;
};

/// A graph, and the elements of its constants, by tensor id.
struct Imported {
  graph::Graph graph;
  std::vector<Port> inputs, outputs;
  std::map<uint64_t, const TensorProto *> weights; // of the model
  std::map<uint64_t, reference::Tensor> constants; // made on import
  /// Whether the model computes with double: the graph does so in f32, and
  /// inputs and outputs of double are f64.
  bool hasDoubles = false;
  std::deque<NodeProto> nodes; // of functions, with attributes of their callers
  /// What some of the weights are: bytes of the model read as another type.
  std::shared_ptr<const std::deque<TensorProto>> packed;
};

/// Whether dims of this name are of one size. Some exporters write "?" and the
/// like for sizes that are not known.
bool isSizeName(std::string_view name);

/// Makes a graph of `model`, which must outlive the result: weights are views.
/// Operators are converted by the tables of Conversions.h.
///
/// Errors, one for all operators with the same and with the names of some:
/// UnsupportedOp for one that is not in the table, UnsupportedDType for
/// elements that Tenon does not have, UnsupportedForm for attributes or unknown
/// sizes that are not converted, UnknownTensor for a name that nothing gives,
/// and those of inferOp.
Expected<Imported> importModel(const ModelProto &model,
                               const ImportOptions &options = {});

} // namespace tenon::onnx
