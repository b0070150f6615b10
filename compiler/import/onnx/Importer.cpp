// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Importer.h"

#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

std::vector<std::span<const OpConversion>> conversionTables() {
  return {elementwiseConversions(),   activationConversions(),
          reduceConversions(),        normConversions(),
          movementConversions(),      shapeConversions(),
          indexingConversions(),      searchConversions(),
          windowConversions(),        gridSampleConversions(),
          contractionConversions(),   einsumConversions(),
          quantConversions(),         recurrentConversions(),
          lossConversions(),          spectrumConversions(),
          microsoftConversions(),     attentionConversions(),
          stateConversions(),         classicConversions(),
          uniqueConversions(),        resizeConversions(),
          patchConversions(),         microsoftAttentionConversions(),
          microsoftQuantConversions()};
}

/// The name of `domain` that rows have.
static std::string_view canonicalDomain(std::string_view domain) {
  return domain == "ai.onnx" ? kOnnxDomain : domain;
}

const OpConversion *findConversion(std::string_view domain,
                                   std::string_view opType, int64_t opset) {
  domain = canonicalDomain(domain);
  const OpConversion *best = nullptr;
  for (std::span<const OpConversion> table : conversionTables())
    for (const OpConversion &row : table)
      if (row.opType == opType && row.domain == domain && row.since <= opset &&
          (!best || row.since > best->since))
        best = &row;
  return best;
}

namespace {

/// Converts one model.
class Importer {
public:
  Importer(const ModelProto &model, const ImportOptions &options)
      : model(model), options(options), builder(options.doubles) {
    for (const OperatorSet &set : model.operatorSets)
      opsets[canonicalDomain(set.domain)] = set.version;
  }

  Expected<Imported> run() {
    addWeights(model.graph);
    for (const ValueInfoProto &input : model.graph.inputs)
      addInput(input);
    for (const NodeProto &node : model.graph.nodes)
      convert(node);
    for (const ValueInfoProto &output : model.graph.outputs)
      addOutput(output);
    if (!builder.errors().empty())
      return builder.errors();
    finish();
    return std::move(result);
  }

private:
  /// A tensor by its name in the model.
  struct Named {
    Value value = kNone;
    Value count = kNone;
    int axis = 0;
  };

  void addInput(const ValueInfoProto &input) {
    // Old models list weights as inputs, too.
    if (values.contains(input.name))
      return;
    builder.enter(std::string(input.name), "");
    if (!input.isTensor)
      return builder.fail(ErrorCode::UnsupportedDType,
                          "an input that is no tensor");
    DType dtype = builder.dtypeOf(input.type);
    std::optional<Dims> shape;
    if (input.shape) {
      shape.emplace();
      for (const DimProto &dim : *input.shape)
        shape->push_back(dim.value.value_or(graph::kUnknownDim));
    }
    auto bound = options.bound.find(input.name);
    if (bound != options.bound.end())
      shape = bound->second.shape;
    Value value = builder.input(dtype, std::move(shape));
    if (bound != options.bound.end())
      builder.bind(value, bound->second);
    values[input.name] = {value};
    result.inputs.push_back({std::string(input.name), value});
  }

  void convert(const NodeProto &node) {
    if (!builder.errors().empty())
      return;
    builder.enter(std::string(!node.name.empty() || node.outputs.empty()
                                  ? node.name
                                  : node.outputs[0]),
                  std::string(node.opType));
    if (node.opType == "If" && canonicalDomain(node.domain) == kOnnxDomain)
      return convertIf(node);
    int64_t opset = opsetOf(node.domain);
    const OpConversion *conversion =
        findConversion(node.domain, node.opType, opset);
    if (!conversion)
      return builder.fail(ErrorCode::UnsupportedOp,
                          "this operator is not converted");
    Values operands;
    for (std::string_view name : node.inputs)
      operands.push_back(name.empty() ? kNone : find(name));
    NodeContext context(builder, node, *conversion, opset, std::move(operands));
    conversion->convert(context);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty())
        continue;
      if (context.results()[i] == kNone && builder.errors().empty())
        context.refuse("result \"" + std::string(node.outputs[i]) +
                       "\" is not converted");
      values[node.outputs[i]] = {context.results()[i], context.countOf(i),
                                 context.countAxis(i)};
    }
  }

  /// The branch that a known condition takes becomes part of the graph.
  void convertIf(const NodeProto &node) {
    const reference::Tensor *condition =
        node.inputs.empty() ? nullptr : builder.known(find(node.inputs[0]));
    if (!condition || condition->numElements() != 1)
      return builder.fail(ErrorCode::UnsupportedForm,
                          "the condition is not known when the model is read");
    std::string_view name =
        condition->at(0) != 0 ? "then_branch" : "else_branch";
    for (const AttributeProto &attribute : node.attributes) {
      if (attribute.name != name || attribute.graphs.empty())
        continue;
      const GraphProto &branch = attribute.graphs[0];
      addWeights(branch);
      for (const NodeProto &inner : branch.nodes)
        convert(inner);
      for (size_t i = 0; i < node.outputs.size(); ++i)
        if (i < branch.outputs.size() && builder.errors().empty())
          values[node.outputs[i]] = {find(branch.outputs[i].name)};
    }
  }

  /// The version that the model declares; of a domain that it uses without
  /// declaring it, as old exporters do, the first.
  int64_t opsetOf(std::string_view domain) const {
    auto found = opsets.find(canonicalDomain(domain));
    return found == opsets.end() ? 1 : found->second;
  }

  void addWeights(const GraphProto &graph) {
    for (const TensorProto &tensor : graph.initializers) {
      builder.enter(std::string(tensor.name), "");
      values[tensor.name] = {builder.weight(tensor)};
    }
  }

  Value find(std::string_view name) {
    auto found = values.find(name);
    if (found == values.end()) {
      builder.fail(ErrorCode::UnknownTensor,
                   "nothing gives \"" + std::string(name) + "\"");
      return kNone;
    }
    if (found->second.count != kNone)
      builder.fail(ErrorCode::UnsupportedForm,
                   "\"" + std::string(name) +
                       "\" has as many entries as the data says");
    return found->second.value;
  }

  void addOutput(const ValueInfoProto &output) {
    if (!builder.errors().empty())
      return;
    builder.enter(std::string(output.name), "");
    auto found = values.find(output.name);
    if (found == values.end())
      return builder.fail(ErrorCode::UnknownTensor,
                          "nothing gives this output");
    Named named = found->second;
    // Inputs and constants become results by being copied.
    if (!builder.isComputed(named.value))
      named.value = builder
                        .add("Reorder", {named.value}, {},
                             {builder.tensor(named.value).dtype})
                        .front();
    Port port{std::string(output.name), named.value};
    outputs.push_back(named.value);
    if (named.count != kNone) {
      port.count = named.count;
      port.axis = named.axis;
      outputs.push_back(named.count);
    }
    result.outputs.push_back(std::move(port));
  }

  void finish() {
    result.graph = builder.take(outputs);
    result.weights = builder.weights();
    result.constants = builder.constants();
    result.packed = builder.packed();
    for (Port &port : result.inputs)
      if (!result.graph.tensors.contains(*port.id))
        port.id.reset();
  }

  const ModelProto &model;
  const ImportOptions &options;
  std::map<std::string_view, int64_t> opsets; // by domain
  Builder builder;
  std::map<std::string_view, Named> values;
  std::vector<Value> outputs;
  Imported result;
};

} // namespace

Expected<Imported> importModel(const ModelProto &model,
                               const ImportOptions &options) {
  return Importer(model, options).run();
}

} // namespace tenon::onnx
