// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/Cases.h"

#include "dialects/graph/reference/Entries.h"
#include "dialects/graph/reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon::test {

namespace fs = std::filesystem;

/// Folders of cases by the first part of their names. Beside those of Debian,
/// folder real names models that are to be downloaded.
static std::map<std::string, fs::path> suites() {
  static const fs::path debian = "/usr/share/libonnx-testdata/data";
  std::map<std::string, fs::path> folders{
      {"microsoft", "tests/onnx/microsoft"},
      {"control_flow", "tests/onnx/control_flow"}};
  for (const char *suite :
       {"node", "pytorch-converted", "pytorch-operator", "simple"})
    folders.emplace(suite, debian / suite);
  if (const char *folder = std::getenv("TENON_ONNX_NODE_TESTS"))
    folders.emplace("newest", folder);
  return folders;
}

std::vector<std::string> onnxCases() {
  std::vector<std::string> names;
  std::error_code error;
  for (auto &[suite, folder] : suites())
    for (auto &entry : fs::directory_iterator(folder, error))
      names.push_back(suite + "/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

static std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The package keeps bf16 as the bits in tensors of u16.
static void fixType(onnx::TensorProto &tensor,
                    const onnx::ValueInfoProto &declared) {
  if (tensor.type == onnx::DataType::u16 &&
      declared.type == onnx::DataType::bf16)
    tensor.type = onnx::DataType::bf16;
}

std::string OnnxCase::read(const std::string &name) {
  size_t slash = name.find('/');
  fs::path folder = suites().at(name.substr(0, slash)) / name.substr(slash + 1);
  auto parsed =
      onnx::parseModel(files.emplace_back(readFile(folder / "model.onnx")));
  if (!parsed)
    return str(parsed.errors());
  model = std::move(*parsed);
  // The files are in the order of the inputs that are no weights.
  for (const onnx::ValueInfoProto &input : model.graph.inputs)
    if (std::none_of(model.graph.initializers.begin(),
                     model.graph.initializers.end(),
                     [&](auto &weight) { return weight.name == input.name; }))
      inputPorts.push_back(&input);
  for (const onnx::ValueInfoProto &output : model.graph.outputs)
    outputPorts.push_back(&output);
  std::string why = readTensors(folder, "input_", inputPorts, inputs);
  return why.empty() ? readTensors(folder, "output_", outputPorts, outputs)
                     : why;
}

std::string
OnnxCase::readTensors(const fs::path &folder, const std::string &kind,
                      const std::vector<const onnx::ValueInfoProto *> &ports,
                      std::vector<onnx::TensorProto> &tensors) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i]->isTensor)
      return std::string(ports[i]->name) + " is no tensor";
    fs::path path =
        folder / "test_data_set_0" / (kind + std::to_string(i) + ".pb");
    auto tensor = onnx::parseTensor(files.emplace_back(readFile(path)));
    if (!tensor)
      return path.filename().string() + ": " + str(tensor.errors());
    fixType(*tensor, *ports[i]);
    tensors.push_back(std::move(*tensor));
  }
  return "";
}

namespace {

using reference::Tensor;

/// What a result may be off by, relative and absolute.
struct Tolerance {
  double relative, absolute;
};

Tolerance toleranceOf(graph::DType dtype, Accuracy accuracy) {
  // ONNX's own runner takes this for all types.
  if (accuracy == Accuracy::fewDigits)
    return {1e-3, 1e-7};
  if (accuracy == Accuracy::quantisedOnTheWay)
    return {1e-2, 1e-2};
  if (accuracy == Accuracy::roundedOnTheWay)
    return {dtype == graph::DType::bf16 ? 1.6e-2 : 2e-3, 1e-7};
  switch (dtype) {
  case graph::DType::f32:
  case graph::DType::f64: // computed in f32
    return {2e-5, 1e-6};
  case graph::DType::f16:
    return {1e-3, 1e-7};
  case graph::DType::bf16:
    return {8e-3, 1e-7};
  default:
    return {0, 0};
  }
}

std::string textOf(const graph::Dims &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return "[" + text + "]";
}

std::string compare(const Tensor &result, const Tensor &expected,
                    Accuracy accuracy) {
  if (result.dtype != expected.dtype)
    return "type " + std::string(name(result.dtype)) + ", not " +
           std::string(name(expected.dtype));
  if (result.shape != expected.shape)
    return "shape " + textOf(result.shape) + ", not " + textOf(expected.shape);
  Tolerance t = toleranceOf(result.dtype, accuracy);
  for (int64_t i = 0; i < result.numElements(); ++i) {
    double off = reference::difference(result, expected, i);
    // 0 for NaN twice, which no bound is for.
    if (off != 0 &&
        !(off <= t.absolute + t.relative * std::abs(expected.at(i))))
      return "element " + std::to_string(i) + " is " + result.text(i, 9) +
             ", not " + expected.text(i, 9);
  }
  return "";
}

} // namespace

std::string compareAll(const OnnxCase &test, const onnx::Imported &imported,
                       const Tensors &results) {
  if (test.outputs.size() != imported.outputs.size())
    return "the case has another number of outputs than the model";
  for (size_t i = 0; i < test.outputs.size(); ++i) {
    const onnx::Port &port = imported.outputs[i];
    auto expected = onnx::readElements(test.outputs[i]);
    if (!expected)
      return str(expected.errors());
    if (test.outputs[i].type == onnx::DataType::f64)
      reference::setDType(*expected, graph::DType::f64);
    Tensor result = results.at(*port.id);
    if (port.count)
      result = reference::firstEntries(result, port.axis,
                                       results.at(*port.count).integers[0]);
    if (std::string why = compare(result, *expected, test.accuracy);
        !why.empty())
      return "output " + port.name + ": " + why;
  }
  return "";
}

Tensors operandsOf(const onnx::Imported &imported,
                   const std::vector<Tensor> &inputs) {
  Tensors operands = imported.constants;
  for (auto &[id, tensor] : imported.weights)
    operands.emplace(id, *onnx::readElements(*tensor));
  for (size_t i = 0; i < imported.inputs.size(); ++i)
    if (auto id = imported.inputs[i].id)
      reference::setDType(operands.emplace(*id, inputs[i]).first->second,
                          imported.graph.tensor(*id).dtype);
  return operands;
}

/// With exact numbers between operations, or rounded ones: a quotient next to a
/// tie may get the code above or below it.
static std::string checkEvaluated(const OnnxCase &test,
                                  const onnx::Imported &imported,
                                  const std::vector<Tensor> &inputs) {
  std::string why;
  for (bool rounded : {false, true}) {
    reference::EvalOptions options;
    options.roundEdges = rounded;
    auto results = reference::evaluate(imported.graph,
                                       operandsOf(imported, inputs), options);
    if (!results)
      return "evaluated: " + str(results.errors());
    why = compareAll(test, imported, *results);
    if (why.empty())
      return "";
  }
  return "evaluated: " + why;
}

Outcome runOnnxCase(const std::string &name) {
  OnnxCase test;
  test.accuracy = accuracyOf(name);
  if (std::string why = test.read(name); !why.empty())
    return {false, why};
  onnx::ImportOptions options;
  std::vector<Tensor> inputs;
  for (const onnx::TensorProto &tensor : test.inputs) {
    auto elements = onnx::readElements(tensor);
    if (!elements)
      return {false, str(elements.errors())};
    inputs.push_back(std::move(*elements));
  }
  // Shapes, axes and the like are operands in the evaluator where they can be.
  if (auto open = onnx::importModel(test.model, options))
    if (std::string why = checkEvaluated(test, *open, inputs); !why.empty())
      return {true, "with shapes as operands, " + why};
  // Cases of control flow are about what the data decides.
  bool keepsInputs = name.starts_with("control_flow/");
  for (size_t i = 0; i < inputs.size() && !keepsInputs; ++i)
    options.bound.emplace(test.inputPorts[i]->name, inputs[i]);
  auto imported = onnx::importModel(test.model, options);
  if (!imported)
    return {false, str(imported.errors())};
  std::string why = checkEvaluated(test, *imported, inputs);
  return {true, why.empty() ? checkCompiled(test, *imported, inputs) : why};
}

} // namespace tenon::test
