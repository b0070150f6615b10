// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Importer.h"

#include "compiler/import/onnx/Scopes.h"
#include "compiler/import/onnx/Summary.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/support/Text.h"

#include <algorithm>
#include <cctype>

namespace tenon::onnx {

std::vector<std::span<const OpConversion>> conversionTables() {
  return {elementwiseConversions(),
          activationConversions(),
          reduceConversions(),
          normConversions(),
          movementConversions(),
          partConversions(),
          padConversions(),
          shapeConversions(),
          indexingConversions(),
          searchConversions(),
          windowConversions(),
          gridSampleConversions(),
          randomConversions(),
          contractionConversions(),
          einsumConversions(),
          quantConversions(),
          recurrentConversions(),
          lossConversions(),
          spectrumConversions(),
          microsoftConversions(),
          attentionConversions(),
          stateConversions(),
          classicConversions(),
          uniqueConversions(),
          resizeConversions(),
          patchConversions(),
          microsoftAttentionConversions(),
          microsoftQuantConversions(),
          controlFlowConversions(),
          scanConversions()};
}

std::string_view canonicalDomain(std::string_view domain) {
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

/// A name in expressions of sizes for what the model calls `text`.
std::string sizeName(std::string_view text) {
  std::string name;
  for (char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'
                ? c
                : '_';
  if (name.empty() ||
      !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_'))
    name = "n_" + name;
  return name;
}

/// Converts one model.
class Importer {
public:
  Importer(const ModelProto &model, const ImportOptions &options)
      : model(model), options(options),
        scopes(model, builder, result.nodes, options.nodes) {}

  Expected<Imported> run() {
    nameSizes();
    scopes.addWeights(model.graph);
    for (const ValueInfoProto &input : model.graph.inputs)
      addInput(input);
    for (const NodeProto &node : model.graph.nodes)
      scopes.convert(node);
    for (const ValueInfoProto &output : model.graph.outputs)
      addOutput(output);
    if (!builder.errors().empty())
      return joined(builder.errors());
    finish();
    return std::move(result);
  }

private:
  /// Notes which names are a size on their own.
  void nameSizes() {
    for (const ValueInfoProto &input : model.graph.inputs)
      for (const DimProto &dim : input.shape.value_or(std::vector<DimProto>{}))
        if (!dim.value && isSizeName(dim.name))
          dimNames.emplace(dim.name);
  }

  /// A size of dim `i` of an input. Exporters write sums of names, too.
  Size sizeOf(const ValueInfoProto &input, size_t i) {
    const DimProto &dim = (*input.shape)[i];
    // Some exporters write -1 for a size that is not known.
    if (dim.value && *dim.value != -1)
      return {*dim.value, ""};
    // A "?" is no name either: dims that have it may differ.
    if (!isSizeName(dim.name))
      return {graph::kUnknownDim,
              sizeName(std::string(input.name) + "_" + std::to_string(i))};
    auto parsed = graph::SizeExpr::parse(dim.name);
    bool isClosed = bool(parsed);
    if (parsed)
      for (const graph::SizeExpr::Token &token : parsed->postfix())
        isClosed &= token.kind != graph::SizeExpr::Kind::name ||
                    dimNames.contains(token.name);
    return {graph::kUnknownDim,
            isClosed ? std::string(dim.name) : sizeName(dim.name)};
  }

  /// The numbers that the caller gives for the input, if it does.
  std::optional<reference::Tensor> boundTo(const ValueInfoProto &input,
                                           DType dtype) {
    if (auto found = options.bound.find(input.name);
        found != options.bound.end())
      return found->second;
    auto found = options.numbers.find(input.name);
    if (found == options.numbers.end())
      return std::nullopt;
    const std::vector<double> &numbers = found->second;
    auto count = static_cast<int64_t>(numbers.size());
    Dims shape = count == 1 && (!input.shape || input.shape->empty())
                     ? Dims{}
                     : Dims{count};
    if (input.shape && input.shape->size() > 1) {
      shape.clear();
      for (const DimProto &dim : *input.shape)
        shape.push_back(dim.value.value_or(1));
    }
    bool fits = reference::elementCount(shape) == count;
    for (size_t i = 0; input.shape && i < input.shape->size(); ++i)
      if (auto known = (*input.shape)[i].value; known && *known >= 0)
        fits = fits && i < shape.size() && shape[i] == *known;
    if (!fits) {
      builder.fail(ErrorCode::BadTensorData, "is bound to " +
                                                 countText(count, "number") +
                                                 ", which is not its size");
      return std::nullopt;
    }
    reference::Tensor tensor{DType::undef, shape, numbers};
    reference::setDType(tensor, dtype);
    reference::roundToDType(tensor);
    return tensor;
  }

  /// `given`, if the model allows it.
  Sizes sizesGiven(const std::optional<Sizes> &known, const Dims &given) {
    Sizes sizes;
    bool fits = !known || known->size() == given.size();
    for (size_t i = 0; i < given.size(); ++i) {
      fits = fits && (!known || !(*known)[i].isKnown() ||
                      (*known)[i].number == given[i]);
      sizes.push_back({given[i], ""});
    }
    if (!fits)
      builder.fail(ErrorCode::ShapeMismatch, "is given as " + textOf(sizes) +
                                                 ", the model has " +
                                                 textOf(*known));
    return sizes;
  }

  void addInput(const ValueInfoProto &input) {
    // Old models list weights as inputs, too.
    if (scopes.find(input.name))
      return;
    builder.enter(std::string(input.name), "");
    scopes.define(input.name, {.isLost = true});
    if (!input.isTensor)
      return builder.fail(ErrorCode::UnsupportedDType,
                          "an input that is no tensor");
    DType dtype = builder.dtypeOf(input.type);
    bool isDouble = input.type == DataType::f64;
    if (isDouble)
      dtype = DType::f64;
    std::optional<reference::Tensor> bound = boundTo(input, dtype);
    std::optional<Sizes> shape;
    if (bound || input.shape)
      shape.emplace();
    if (bound)
      for (int64_t size : bound->shape)
        shape->push_back({size, ""});
    for (size_t i = 0; input.shape && !bound && i < input.shape->size(); ++i)
      shape->push_back(sizeOf(input, i));
    if (auto given = options.shapes.find(input.name);
        given != options.shapes.end() && !bound)
      shape = sizesGiven(shape, given->second);
    Value value =
        builder.input(std::string(input.name), dtype, std::move(shape));
    if (bound) {
      reference::setDType(*bound, dtype);
      builder.bind(value, std::move(*bound));
    }
    result.inputs.push_back({std::string(input.name), value});
    if (isDouble)
      value = builder.add("TypeCast", {value}, {}, {DType::f32}).front();
    scopes.define(input.name, {.value = value, .isLost = builder.failed()});
  }

  void addOutput(const ValueInfoProto &output) {
    if (scopes.isStopped())
      return;
    builder.enter(std::string(output.name), "");
    Named named = scopes.named(output.name);
    if (builder.failed())
      return;
    // Inputs, constants and what is a result already are copied.
    if (output.type == DataType::f64 &&
        builder.tensor(named.value).dtype == DType::f32)
      named.value =
          builder.add("TypeCast", {named.value}, {}, {DType::f64}).front();
    else if (!builder.isComputed(named.value) ||
             std::ranges::count(outputs, named.value))
      named.value = builder
                        .add("Reorder", {named.value}, {},
                             {builder.tensor(named.value).dtype})
                        .front();
    Port port{std::string(output.name), named.value};
    if (builder.failed())
      return;
    builder.setName(named.value, port.name);
    outputs.push_back(named.value);
    if (named.count != kNone) {
      // Several outputs may have as many entries, each has a count.
      if (std::ranges::count(outputs, named.count))
        named.count =
            builder.add("Reorder", {named.count}, {}, {DType::s64}).front();
      builder.setName(named.count, port.name + ".count");
      port.count = named.count;
      port.axis = named.axis;
      outputs.push_back(named.count);
    }
    result.outputs.push_back(std::move(port));
  }

  void finish() {
    result.hasDoubles = builder.hasDoubles();
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
  std::set<std::string, std::less<>> dimNames;
  std::vector<Value> outputs;
  Imported result;
  Builder builder;
  Scopes scopes;
};

} // namespace

bool isSizeName(std::string_view name) {
  return std::ranges::any_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

Expected<Imported> importModel(const ModelProto &model,
                               const ImportOptions &options) {
  return Importer(model, options).run();
}

} // namespace tenon::onnx
