//===- Load.h - models from files -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/import/Model.h"
#include "compiler/import/ModelSummary.h"

#include <map>
#include <string>
#include <vector>

namespace tenon {

struct LoadOptions {
  /// Larger files are refused, in bytes.
  uint64_t maxFileSize = uint64_t(1) << 30;
  /// As JsonOptions::strict.
  bool strict = false;
  /// Of a model of ONNX: inputs that have the same elements in all executions,
  /// by name. What depends on them alone becomes part of the graph.
  std::map<std::string, std::vector<double>, std::less<>> bound = {};
  /// Sizes of its inputs, by name; the model is read for these alone.
  std::map<std::string, graph::Dims, std::less<>> shapes = {};
  /// Unless null: takes what a model of ONNX has, also if it is not converted.
  ModelSummary *summary = nullptr;
};

/// Whether the extension of `path` is that of models with names and weights.
bool isOnnxFile(const std::string &path);

/// Reads the file at `path` whole.  Errors: CannotRead (missing, no
/// permission, a directory), TooLarge.
Expected<std::string> readTextFile(const std::string &path,
                                   uint64_t maxFileSize);

/// Reads a graph in the format that the extension of `path` names: ".json" or
/// ".onnx", of which weights are the constants of the model.
/// Errors: CannotRead, TooLarge, BadOption for what is bound in a file that is
/// not of ONNX, and those of the format's reader.
Expected<Model> loadModel(const std::string &path,
                          const LoadOptions &options = {});

} // namespace tenon
