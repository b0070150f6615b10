// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/Scopes.h"

#include "compiler/import/onnx/Counted.h"

#include <algorithm>
#include <utility>

namespace tenon::onnx {

/// Functions and graphs are in each other so deep, and make so many nodes
/// beside those of the model itself. Some seconds and GB are the most that a
/// small file takes then.
static constexpr int kMaxDepth = 32;
static constexpr const char *kTooDeep =
    "functions and graphs are in each other more than 32 deep";
static constexpr size_t kMaxNodes = size_t{1} << 18;
static constexpr size_t kMaxErrors = 10000;

/// The version that `sets` have of `domain`; 1 if they do not name it.
static int64_t versionOf(const std::vector<OperatorSet> &sets,
                         std::string_view domain) {
  int64_t version = 1;
  for (const OperatorSet &set : sets)
    if (canonicalDomain(set.domain) == canonicalDomain(domain))
      version = set.version;
  return version;
}

Scopes::Scopes(const ModelProto &model, Builder &builder,
               std::deque<NodeProto> &copies, std::vector<ConvertedNode> *nodes)
    : model(model), builder(builder), copies(copies), nodes(nodes) {
  outermost.sets = &model.operatorSets;
}

/// Makes a scope the innermost one while it lives.
class Scopes::Inside {
public:
  Inside(Scopes &scopes, Scope &inner)
      : scopes(scopes), outer(std::exchange(scopes.scope, &inner)),
        node(scopes.builder.current()) {
    ++scopes.depth;
  }
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;
  ~Inside() {
    --scopes.depth;
    scopes.scope = outer;
  }
  /// What follows is about the node again that the graph is in.
  void resumeNode() { scopes.builder.resume(node); }

private:
  Scopes &scopes;
  Scope *outer;
  Builder::Operator node;
};

const Named *Scopes::find(std::string_view name) const {
  for (const Scope *in = scope; in; in = in->outer)
    if (auto found = in->values.find(name); found != in->values.end())
      return &found->second;
  return nullptr;
}

Named Scopes::named(std::string_view name) {
  const Named *found = find(name);
  if (!found) {
    builder.fail(ErrorCode::UnknownTensor,
                 "nothing gives \"" + std::string(name) + "\"");
    return scope->values[name] = {.isLost = true};
  }
  if (found->isLost)
    builder.abandon();
  return *found;
}

void Scopes::addWeights(const GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializers) {
    builder.enter(std::string(tensor.name), "");
    Value value = builder.weight(tensor);
    define(tensor.name, {.value = value, .isLost = builder.failed()});
  }
}

void Scopes::enter(const NodeProto &node, int64_t opset) {
  std::string domain(node.domain.empty() ? "ai.onnx" : node.domain);
  builder.enter(std::string(!node.name.empty() || node.outputs.empty()
                                ? node.name
                                : node.outputs[0]),
                std::string(node.opType) + " (" + domain + " " +
                    std::to_string(opset) + ")");
}

/// Converts no further node.
void Scopes::stop(std::string why, std::string hint) {
  builder.fail(ErrorCode::TooLarge, std::move(why), std::move(hint));
  hasStopped = true;
}

/// Counts what is converted, and records an error if that is too much.
bool Scopes::isTooMuch(size_t more) {
  converted += more;
  if (converted <= kMaxNodes)
    return false;
  stop("functions and loops of the model make more than " +
           std::to_string(kMaxNodes) + " nodes",
       "fewer steps of its loops, by --bind or --input");
  return true;
}

void Scopes::convert(const NodeProto &written) {
  if (hasStopped)
    return;
  int64_t opset = versionOf(*scope->sets, written.domain);
  enter(written, opset);
  if (builder.errors().size() > kMaxErrors)
    return stop("the model has more than " + std::to_string(kMaxErrors) +
                " errors");
  if (depth > 0 && isTooMuch(1))
    return;
  const NodeProto &node = *withAttributesOfCaller(written);
  for (const FunctionProto &function : model.functions)
    if (function.name == node.opType && function.domain == node.domain)
      return callFunction(node, function);
  ConvertedNode about{node.domain, node.opType, opset,
                      builder.operationCount()};
  convertOperator(node, opset);
  note(written, about);
  if (builder.failed())
    for (std::string_view output : node.outputs)
      define(output, {.isLost = true});
}

/// Tells what became of a node; of one that loops convert again, the first
/// time.
void Scopes::note(const NodeProto &node, ConvertedNode about) {
  if (!nodes || (scope->outer && !noted.insert(&node).second))
    return;
  about.operations = builder.operationCount() - about.firstOperation;
  about.hasFailed = builder.failed();
  about.isAbandoned = builder.isAbandoned();
  nodes->push_back(about);
}

void Scopes::convertOperator(const NodeProto &node, int64_t opset) {
  const OpConversion *conversion =
      findConversion(node.domain, node.opType, opset);
  if (!conversion)
    return builder.fail(ErrorCode::UnsupportedOp,
                        "this operator is not converted");
  std::vector<Named> given;
  Values operands;
  for (std::string_view name : node.inputs) {
    given.push_back(name.empty() ? Named{} : named(name));
    operands.push_back(given.back().value);
  }
  if (builder.failed())
    return;
  NodeContext context(builder, *this, node, *conversion, opset,
                      std::move(operands));
  bool isCounted = std::ranges::any_of(
      given, [](const Named &each) { return each.count != kNone; });
  if (isCounted)
    convertCounted(context, given, node.inputs);
  else
    conversion->convert(context);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    if (context.results()[i].value == kNone && !builder.failed())
      context.refuse("result \"" + std::string(node.outputs[i]) +
                     "\" is not converted");
    define(node.outputs[i], context.results()[i]);
  }
}

std::vector<Named> Scopes::convert(const GraphProto &graph,
                                   const std::vector<Value> &arguments) {
  std::vector<Named> results(graph.outputs.size());
  if (hasStopped || builder.failed() ||
      isTooMuch(1 + graph.initializers.size()))
    return results;
  if (depth >= kMaxDepth) {
    stop(kTooDeep);
    return results;
  }
  Scope inner{scope, scope->sets, scope->function, scope->caller};
  Inside inside(*this, inner);
  addWeights(graph);
  // Old models list weights as inputs, too.
  std::vector<std::string_view> inputs;
  for (const ValueInfoProto &input : graph.inputs)
    if (!inner.values.contains(input.name))
      inputs.push_back(input.name);
  inside.resumeNode();
  if (inputs.size() != arguments.size()) {
    builder.fail(ErrorCode::OperandCount,
                 "its graph \"" + std::string(graph.name) + "\" has " +
                     std::to_string(inputs.size()) + " inputs, not " +
                     std::to_string(arguments.size()));
    return results;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    define(inputs[i], {arguments[i]});
  for (const NodeProto &each : graph.nodes)
    convert(each);
  inside.resumeNode();
  if (builder.failed())
    return results;
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = named(graph.outputs[i].name);
  return results;
}

/// The nodes of a function in place of one that calls it.
void Scopes::callFunction(const NodeProto &node,
                          const FunctionProto &function) {
  if (depth >= kMaxDepth)
    return stop(kTooDeep);
  Scope inner{nullptr,
              function.operatorSets.empty() ? scope->sets
                                            : &function.operatorSets,
              &function, &node};
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (i < node.inputs.size() && !node.inputs[i].empty())
      inner.values[function.inputs[i]] = named(node.inputs[i]);
    else
      inner.values[function.inputs[i]] = {};
  {
    Inside inside(*this, inner);
    for (const NodeProto &each : function.nodes)
      convert(each);
    inside.resumeNode();
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty() || hasStopped)
      continue;
    auto found = i < function.outputs.size()
                     ? inner.values.find(function.outputs[i])
                     : inner.values.end();
    if (found == inner.values.end())
      return builder.fail(ErrorCode::UnknownTensor,
                          "the function has no result " + std::to_string(i));
    define(node.outputs[i], found->second);
  }
}

/// What a copy takes, in about the size of a node.
static size_t sizeOf(const TensorProto &tensor) {
  return 1 + (tensor.dims.size() + tensor.floats.size() + tensor.int32s.size() +
              tensor.int64s.size() + tensor.doubles.size()) /
                 16;
}

static size_t sizeOf(const AttributeProto &attribute) {
  size_t size = 1 + (attribute.floats.size() + attribute.ints.size() +
                     attribute.strings.size()) /
                        16;
  for (const TensorProto &tensor : attribute.tensors)
    size += sizeOf(tensor);
  for (const GraphProto &graph : attribute.graphs) {
    size += graph.inputs.size() + graph.outputs.size();
    for (const TensorProto &tensor : graph.initializers)
      size += sizeOf(tensor);
    for (const NodeProto &node : graph.nodes) {
      size += 1 + (node.inputs.size() + node.outputs.size()) / 16;
      for (const AttributeProto &inner : node.attributes)
        size += sizeOf(inner);
    }
  }
  return size;
}

/// `node` with what its attributes refer to. One that the caller leaves out,
/// and that has no default, is left out.
const NodeProto *Scopes::withAttributesOfCaller(const NodeProto &node) {
  auto refers = [](const AttributeProto &a) { return !a.reference.empty(); };
  if (!scope->function || std::ranges::none_of(node.attributes, refers))
    return &node;
  const NodeProto *&copyOf = copied[{scope->caller, &node}];
  if (copyOf)
    return copyOf;
  size_t size = 0;
  for (const AttributeProto &attribute : node.attributes)
    size += sizeOf(attribute);
  if (isTooMuch(size))
    return &node;
  NodeProto &copy = copies.emplace_back(node);
  copyOf = &copy;
  std::vector<AttributeProto> attributes;
  for (AttributeProto &attribute : copy.attributes) {
    if (!refers(attribute)) {
      attributes.push_back(std::move(attribute));
      continue;
    }
    for (const auto *list :
         {&scope->caller->attributes, &scope->function->defaults}) {
      auto found =
          std::ranges::find(*list, attribute.reference, &AttributeProto::name);
      if (found == list->end())
        continue;
      // Its names would be those of the caller.
      if (isTooMuch(sizeOf(*found)))
        break;
      if (!found->graphs.empty())
        builder.fail(ErrorCode::UnsupportedForm,
                     "a graph that is an argument of a function");
      std::string_view name = attribute.name;
      attributes.push_back(*found);
      attributes.back().name = name;
      break;
    }
  }
  copy.attributes = std::move(attributes);
  return &copy;
}

} // namespace tenon::onnx
