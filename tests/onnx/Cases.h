//===- Cases.h - test cases as ONNX keeps them -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A folder for each case: a model, and a file for each input and output. Those
// of Debian's package libonnx-testdata are in suites node, pytorch-converted,
// pytorch-operator and simple. Suites microsoft and control_flow are in this
// repository, made by write_microsoft_tests.py and write_control_flow_tests.py
// of what ONNX Runtime computes. Suite newest is the
// folder that the environment variable TENON_ONNX_NODE_TESTS names, which
// write_node_tests.py fills from the Python package onnx.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/Importer.h"

#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tenon::test {

using Tensors = std::map<uint64_t, reference::Tensor>;

/// "node/test_abs", ... in order, of all suites that there are.
std::vector<std::string> onnxCases();

/// How near to the outputs that are stored the results must be.
enum class Accuracy {
  ofType,            ///< what the element type of the output has
  fewDigits,         ///< outputs are stored with fewer digits
  roundedOnTheWay,   ///< they were computed in several steps of 16 bits
  quantisedOnTheWay, ///< they were computed of states in 8 bits
};

/// A case that was read. Not movable: messages are views of the bytes.
struct OnnxCase {
  std::deque<std::string> files;
  onnx::ModelProto model;
  /// Those that have a file, in the order of the files.
  std::vector<const onnx::ValueInfoProto *> inputPorts, outputPorts;
  std::vector<onnx::TensorProto> inputs, outputs;
  Accuracy accuracy = Accuracy::ofType;

  OnnxCase() = default;
  OnnxCase(const OnnxCase &) = delete;
  OnnxCase &operator=(const OnnxCase &) = delete;

  /// Reads the case; what fails, or nothing.
  std::string read(const std::string &name);

private:
  std::string
  readTensors(const std::filesystem::path &folder, const std::string &kind,
              const std::vector<const onnx::ValueInfoProto *> &ports,
              std::vector<onnx::TensorProto> &tensors);
};

/// Elements of all tensors of `imported` without a producer.
Tensors operandsOf(const onnx::Imported &imported,
                   const std::vector<reference::Tensor> &inputs);
/// Compares the outputs of the case with those among `results`; how they
/// differ, or nothing.
std::string compareAll(const OnnxCase &test, const onnx::Imported &imported,
                       const Tensors &results);
/// Compiles and executes; what fails or differs, or nothing.
std::string checkCompiled(const OnnxCase &test, const onnx::Imported &imported,
                          const std::vector<reference::Tensor> &inputs);

struct Outcome {
  bool isConverted = false;
  /// Why the case does not pass, or nothing.
  std::string why;
};

/// Runs a case: converts it, evaluates it, compiles and executes it, and
/// compares with the outputs that are stored.
Outcome runOnnxCase(const std::string &name);

/// Why a case does not pass, for those that are known not to; else null.
const char *exceptionFor(const std::string &name);
Accuracy accuracyOf(const std::string &name);
/// Patterns of exceptionFor that are for none of these cases.
std::vector<std::string>
unusedExceptions(const std::vector<std::string> &cases);

} // namespace tenon::test
