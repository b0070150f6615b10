// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Importer.h"

#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Summary.h"
#include "dialects/graph/SizeExpr.h"
#include "dialects/support/Text.h"

#include <algorithm>
#include <cctype>
#include <utility>

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

/// The version that `sets` have of `domain`; 1 if they do not name it.
int64_t versionOf(const std::vector<OperatorSet> &sets,
                  std::string_view domain) {
  int64_t version = 1;
  for (const OperatorSet &set : sets)
    if (canonicalDomain(set.domain) == canonicalDomain(domain))
      version = set.version;
  return version;
}

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
      : model(model), options(options), builder(options.doubles) {}

  Expected<Imported> run() {
    sets = &model.operatorSets;
    nameSizes();
    addWeights(model.graph);
    for (const ValueInfoProto &input : model.graph.inputs)
      addInput(input);
    for (const NodeProto &node : model.graph.nodes)
      convert(node);
    for (const ValueInfoProto &output : model.graph.outputs)
      addOutput(output);
    if (!builder.errors().empty())
      return joined(builder.errors());
    finish();
    return std::move(result);
  }

private:
  /// A tensor by its name in the model.
  struct Named {
    Value value = kNone;
    Value count = kNone;
    int axis = 0;
    bool isLost = false; // to an error, which has been told
  };
  /// Functions call each other so deep, and make so many nodes.
  static constexpr int kMaxDepth = 32, kMaxNodes = 1 << 20;
  static constexpr size_t kMaxErrors = 10000;

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

  /// "[batch, 3]"
  static std::string textOf(const Sizes &sizes) {
    std::string text;
    for (const Size &size : sizes)
      text += (text.empty() ? "" : ", ") +
              (size.isKnown() ? std::to_string(size.number) : size.expression);
    return "[" + text + "]";
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
    if (values.contains(input.name))
      return;
    builder.enter(std::string(input.name), "");
    values[input.name].isLost = true;
    if (!input.isTensor)
      return builder.fail(ErrorCode::UnsupportedDType,
                          "an input that is no tensor");
    DType dtype = builder.dtypeOf(input.type);
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
    if (bound)
      builder.bind(value, std::move(*bound));
    values[input.name] = {.value = value, .isLost = builder.failed()};
    result.inputs.push_back({std::string(input.name), value});
  }

  /// Operators that follow one with an error are converted, too, unless they
  /// need its results: users learn all that is missing.
  void convert(const NodeProto &node) {
    if (isStopped)
      return;
    builder.enter(std::string(!node.name.empty() || node.outputs.empty()
                                  ? node.name
                                  : node.outputs[0]),
                  std::string(node.opType));
    if (++converted > kMaxNodes || builder.errors().size() > kMaxErrors)
      return stop("functions of the model make too many nodes, or it has too "
                  "many errors");
    for (const FunctionProto &function : model.functions)
      if (function.name == node.opType && function.domain == node.domain)
        return callFunction(node, function);
    ConvertedNode about{node.domain, node.opType, versionOf(*sets, node.domain),
                        builder.operationCount()};
    if (node.opType == "If" && canonicalDomain(node.domain) == kOnnxDomain)
      convertIf(node);
    else
      convertOperator(node, about.opset);
    about.operations = builder.operationCount() - about.firstOperation;
    about.hasFailed = builder.failed();
    about.isAbandoned = builder.isAbandoned();
    if (options.nodes)
      options.nodes->push_back(about);
    if (builder.failed())
      for (std::string_view output : node.outputs)
        values[output] = {.isLost = true};
  }

  void convertOperator(const NodeProto &node, int64_t opset) {
    const OpConversion *conversion =
        findConversion(node.domain, node.opType, opset);
    if (!conversion)
      return builder.fail(ErrorCode::UnsupportedOp,
                          "this operator is not converted");
    Values operands;
    for (std::string_view name : node.inputs)
      operands.push_back(name.empty() ? kNone : find(name));
    if (builder.failed())
      return;
    NodeContext context(builder, node, *conversion, opset, std::move(operands));
    conversion->convert(context);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty())
        continue;
      if (context.results()[i] == kNone && !builder.failed())
        context.refuse("result \"" + std::string(node.outputs[i]) +
                       "\" is not converted");
      values[node.outputs[i]] = {context.results()[i], context.countOf(i),
                                 context.countAxis(i)};
    }
  }

  /// Converts no further node.
  void stop(std::string why) {
    builder.fail(ErrorCode::TooLarge, std::move(why));
    isStopped = true;
  }

  /// The nodes of a function in place of one that calls it.
  void callFunction(const NodeProto &node, const FunctionProto &function) {
    if (++depth > kMaxDepth)
      return stop("functions call each other too deep");
    std::map<std::string_view, Named> inside;
    for (size_t i = 0; i < function.inputs.size(); ++i)
      if (i < node.inputs.size() && !node.inputs[i].empty()) {
        inside[function.inputs[i]] = lookUp(node.inputs[i]);
      } else {
        inside[function.inputs[i]] = {};
      }
    std::swap(values, inside);
    const auto *outer = std::exchange(
        sets, function.operatorSets.empty() ? sets : &function.operatorSets);
    for (const NodeProto &inner : function.nodes)
      convert(*withAttributesOf(node, function, inner));
    std::swap(values, inside);
    sets = outer;
    --depth;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || isStopped)
        continue;
      auto found = i < function.outputs.size()
                       ? inside.find(function.outputs[i])
                       : inside.end();
      if (found == inside.end())
        return builder.fail(ErrorCode::UnknownTensor,
                            "the function has no result " + std::to_string(i));
      values[node.outputs[i]] = found->second;
    }
  }

  /// `inner` with what its attributes refer to. One that the caller leaves out,
  /// and that has no default, is left out.
  const NodeProto *withAttributesOf(const NodeProto &node,
                                    const FunctionProto &function,
                                    const NodeProto &inner) {
    auto refers = [](const AttributeProto &a) { return !a.reference.empty(); };
    if (std::ranges::none_of(inner.attributes, refers))
      return &inner;
    NodeProto &copy = result.nodes.emplace_back(inner);
    std::vector<AttributeProto> attributes;
    for (AttributeProto &attribute : copy.attributes) {
      if (!refers(attribute)) {
        attributes.push_back(std::move(attribute));
        continue;
      }
      for (const auto *list : {&node.attributes, &function.defaults}) {
        auto found = std::ranges::find(*list, attribute.reference,
                                       &AttributeProto::name);
        if (found == list->end())
          continue;
        std::string_view name = attribute.name;
        attributes.push_back(*found);
        attributes.back().name = name;
        break;
      }
    }
    copy.attributes = std::move(attributes);
    return &copy;
  }

  /// The branch that a known condition takes becomes part of the graph.
  void convertIf(const NodeProto &node) {
    const reference::Tensor *condition =
        node.inputs.empty() ? nullptr : builder.known(find(node.inputs[0]));
    if (builder.failed())
      return;
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
      builder.enter(std::string(node.name), std::string(node.opType));
      for (size_t i = 0; i < node.outputs.size() && !isStopped; ++i)
        if (i < branch.outputs.size())
          values[node.outputs[i]] = {find(branch.outputs[i].name)};
    }
  }

  void addWeights(const GraphProto &graph) {
    for (const TensorProto &tensor : graph.initializers) {
      builder.enter(std::string(tensor.name), "");
      Value value = builder.weight(tensor);
      values[tensor.name] = {.value = value, .isLost = builder.failed()};
    }
  }

  const Named &lookUp(std::string_view name) {
    auto [found, isNew] = values.try_emplace(name);
    if (isNew) {
      builder.fail(ErrorCode::UnknownTensor,
                   "nothing gives \"" + std::string(name) + "\"");
      found->second.isLost = true;
    } else if (found->second.isLost) {
      builder.abandon();
    }
    return found->second;
  }

  Value find(std::string_view name) {
    const Named &named = lookUp(name);
    if (named.count != kNone)
      builder.fail(ErrorCode::UnsupportedForm,
                   "\"" + std::string(name) +
                       "\" has as many entries as the data says");
    return named.value;
  }

  void addOutput(const ValueInfoProto &output) {
    if (isStopped)
      return;
    builder.enter(std::string(output.name), "");
    Named named = lookUp(output.name);
    if (builder.failed())
      return;
    // Inputs, constants and what is a result already are copied.
    if (!builder.isComputed(named.value) ||
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
      builder.setName(named.count, port.name + ".count");
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
  const std::vector<OperatorSet> *sets = nullptr; // of what is converted
  int depth = 0, converted = 0;
  bool isStopped = false;
  std::set<std::string, std::less<>> dimNames;
  Builder builder;
  std::map<std::string_view, Named> values;
  std::vector<Value> outputs;
  Imported result;
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
