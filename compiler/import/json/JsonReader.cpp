//===- JsonReader.cpp - graphs from JSON ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/json/JsonRead.h"
#include "dialects/graph/Merge.h"

#include <algorithm>
#include <new>
#include <set>
#include <utility>

namespace tenon::json {

using graph::Graph;
using graph::LogicalTensor;
using graph::Op;

//===----------------------------------------------------------------------===//
// Reporter
//===----------------------------------------------------------------------===//

void Reporter::report(Error error) {
  // The first error beyond the limit lends its code to the last line.
  if (++count <= options.maxErrors + 1)
    errors.push_back(std::move(error));
}

void Reporter::report(ErrorCode code, Value where, const Op *op,
                      std::string message, std::string hint) {
  if (count > options.maxErrors) { // nobody will read it
    ++count;
    return;
  }
  Error e;
  e.code = code;
  e.message =
      position(text, sourceName, where.offset()) + ": " + std::move(message);
  e.hint = std::move(hint);
  if (op) {
    e.opKind = op->kind;
    e.opName = op->name;
    e.opId = op->id;
  }
  report(std::move(e));
}

void Reporter::wrongType(Value where, const Op *op, std::string_view what,
                         std::string_view wanted) {
  report(ErrorCode::WrongType, where, op,
         std::string(what) + " must be " + std::string(wanted) + ", not " +
             where.spelling());
}

void Reporter::unknownKey(Value where, const Op *op, std::string_view key) {
  if (options.strict)
    report(ErrorCode::Syntax, where, op,
           "unknown key \"" + std::string(key.substr(0, 40)) + "\"",
           "read without the strict option to ignore it");
}

void Reporter::repeatedKey(Value where, const Op *op, std::string_view key) {
  report(ErrorCode::Syntax, where, op,
         "key \"" + std::string(key.substr(0, 40)) + "\" appears twice");
}

std::vector<Error> Reporter::take() {
  if (count > options.maxErrors) {
    Error last;
    last.code = errors.back().code;
    last.message =
        "and " + std::to_string(count - options.maxErrors) + " more errors";
    errors.back() = std::move(last);
  }
  count = 0;
  return std::move(errors);
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

namespace {

/// Kinds of old files under their present names.
std::string_view presentKind(std::string_view kind) {
  return kind == "BiasAddBackprop" ? "BiasAddBackward" : kind;
}

/// Whether both shapes are static and `small` has 1 where they differ.
bool isBroadcastOf(const LogicalTensor &small, const LogicalTensor &large) {
  if (!small.hasStaticShape() || !large.hasStaticShape() ||
      small.shape->size() != large.shape->size() || small.shape == large.shape)
    return false;
  for (size_t i = 0; i < small.shape->size(); ++i)
    if ((*small.shape)[i] != (*large.shape)[i] && (*small.shape)[i] != 1)
      return false;
  return true;
}

void adoptShape(LogicalTensor &to, const LogicalTensor &from) {
  to.shape = from.shape;
  to.strides = from.strides;
  to.layout = from.layout;
}

class GraphReader {
public:
  GraphReader(Reporter &reporter) : reporter(reporter) {}

  void member(std::string_view key, Value v);
  void element(Value v);
  /// What needs all operations: default layouts, and output ports of which the
  /// graph has none, as a dump of oneDNN lists them: they say nothing.
  void finish();

  Graph graph;
  bool sawGraph = false;

private:
  void text(Value v, std::string_view key, std::string &out);
  void fpmathMode(Value v);
  void applyToInt(Value v);
  void ports(Value v, std::string_view key, std::vector<uint64_t> &out);
  void unreadInputs(Value list);
  void tensors(Value list, Op &op, std::string_view key,
               std::vector<uint64_t> &out);
  void header(std::optional<Value> id, std::optional<Value> name,
              std::optional<Value> kind, Value object, Op &op);

  Reporter &reporter;
  std::set<uint64_t> results; // tensors some op lists as output
  std::vector<uint64_t> denseByDefault;
  size_t opIndex = 0;
};

void GraphReader::text(Value v, std::string_view key, std::string &out) {
  if (v.kind() == Kind::string)
    out = v.text();
  else
    reporter.wrongType(v, nullptr, "\"" + std::string(key) + "\"", "a string");
}

void GraphReader::fpmathMode(Value v) {
  constexpr std::string_view kModes[] = {"strict", "bf16", "f16", "any",
                                         "tf32"};
  std::string mode;
  text(v, "fpmath_mode", mode);
  if (std::find(std::begin(kModes), std::end(kModes), mode) != std::end(kModes))
    graph.fpmathMode = mode;
  else if (v.kind() == Kind::string)
    reporter.report(ErrorCode::AttrValue, v, nullptr,
                    "unknown \"fpmath_mode\" " + v.spelling(),
                    "modes are strict bf16 f16 any tf32");
}

/// The format has the strings "true" and "false" here.
void GraphReader::applyToInt(Value v) {
  if (v.kind() == Kind::boolean && !reporter.options.strict)
    graph.fpmathApplyToInt = v.spelling() == "true";
  else if (v.kind() == Kind::string &&
           (v.text() == "true" || v.text() == "false"))
    graph.fpmathApplyToInt = v.text() == "true";
  else
    reporter.wrongType(v, nullptr, "\"fpmath_mode_apply_to_int\"",
                       "\"true\" or \"false\"");
}

void GraphReader::ports(Value v, std::string_view key,
                        std::vector<uint64_t> &out) {
  if (v.kind() == Kind::null && !reporter.options.strict)
    return;
  std::string what = "\"" + std::string(key) + "\"";
  if (v.kind() != Kind::array)
    return reporter.wrongType(v, nullptr, what, "an array of tensor ids");
  out.reserve(v.size());
  v.forEachElement([&](Value e) {
    if (std::optional<uint64_t> id = e.asUInt64())
      out.push_back(*id);
    else
      reporter.wrongType(e, nullptr, "an entry of " + what,
                         "an integer from 0 to 2^64 - 1");
  });
}

void GraphReader::member(std::string_view key, Value v) {
  if (key == "graph")
    return reporter.wrongType(v, nullptr, "\"graph\"", "an array");
  if (key == "version")
    return text(v, key, graph.version);
  if (key == "engine_kind")
    return text(v, key, graph.engineKind);
  if (key == "fpmath_mode")
    return fpmathMode(v);
  if (key == "fpmath_mode_apply_to_int")
    return applyToInt(v);
  if (key == "input_ports")
    return ports(v, key, graph.inputPorts);
  if (key == "output_ports")
    return ports(v, key, graph.outputPorts);
  if (key == "unread_inputs")
    return unreadInputs(v);
  if (key == "sizes")
    return readSizeFacts(v, graph.sizeFacts, reporter);
  reporter.unknownKey(v, nullptr, key);
}

void GraphReader::tensors(Value list, Op &op, std::string_view key,
                          std::vector<uint64_t> &out) {
  if (list.kind() == Kind::null && !reporter.options.strict)
    return;
  if (list.kind() != Kind::array)
    return reporter.wrongType(list, &op, "\"" + std::string(key) + "\"",
                              "an array of logical tensors");
  out.reserve(list.size());
  bool isResult = &out == &op.outputs;
  list.forEachElement([&](Value v) {
    if (v.kind() == Kind::null) {
      if (!(isResult ? op.leaveOutOutput() : op.leaveOutInput()))
        reporter.report(ErrorCode::OperandCount, v, &op,
                        "\"" + std::string(key) + "\" has too many null");
      return;
    }
    std::optional<TensorText> description = readTensor(v, op, reporter);
    if (!description)
      return;
    LogicalTensor &tensor = description->tensor;
    if (description->isDenseByDefault)
      denseByDefault.push_back(tensor.id);
    out.push_back(tensor.id);
    auto [it, isNew] = graph.tensors.try_emplace(tensor.id, tensor);
    bool wasResult = isResult ? !results.insert(tensor.id).second
                              : results.count(tensor.id) != 0;
    if (isNew)
      return;
    // The producer knows the shape.  Files exist whose reader of a tensor
    // describes it by what it broadcasts from.
    if (!reporter.options.strict) {
      if (!isResult && wasResult && isBroadcastOf(tensor, it->second))
        adoptShape(tensor, it->second);
      else if (isResult && !wasResult && isBroadcastOf(it->second, tensor))
        adoptShape(it->second, tensor);
    }
    std::string conflict = graph::mergeTensor(it->second, tensor);
    if (!conflict.empty())
      reporter.report(ErrorCode::EdgeConflict, v, &op,
                      "tensor " + std::to_string(tensor.id) +
                          " is described with " + conflict,
                      "all descriptions of one tensor id must agree");
  });
}

/// Descriptions of inputs that no operation has, as those of an operation
/// without results.
void GraphReader::unreadInputs(Value list) {
  Op none;
  none.name = "unread_inputs";
  tensors(list, none, "unread_inputs", none.inputs);
}

/// Reads what names the operation, so that later messages can name it.
void GraphReader::header(std::optional<Value> id, std::optional<Value> name,
                         std::optional<Value> kind, Value object, Op &op) {
  if (kind && kind->kind() == Kind::string)
    op.kind = presentKind(kind->text());
  if (name && name->kind() == Kind::string)
    op.name = name->text();
  std::optional<uint64_t> number = id ? id->asUInt64() : std::nullopt;
  if (number)
    op.id = *number;
  std::string which = "operation " + std::to_string(opIndex) + " of \"graph\"";
  if (!id)
    reporter.report(ErrorCode::MissingKey, object, &op,
                    which + " has no \"id\"");
  else if (!number)
    reporter.wrongType(*id, nullptr, "\"id\" of " + which,
                       "an integer from 0 to 2^64 - 1");
  if (!kind)
    reporter.report(ErrorCode::MissingKey, object, &op,
                    which + " has no \"kind\"");
  else if (kind->kind() != Kind::string)
    reporter.wrongType(*kind, &op, "\"kind\" of " + which, "a string");
  if (name && name->kind() != Kind::string)
    reporter.wrongType(*name, &op, "\"name\" of " + which, "a string");
  if (op.name.empty())
    op.name = op.kind + "_" + std::to_string(op.id);
}

void GraphReader::element(Value object) {
  ++opIndex;
  if (object.kind() != Kind::object)
    return reporter.wrongType(object, nullptr, "an element of \"graph\"",
                              "an object");
  std::optional<Value> id, name, kind, attrs, inputs, outputs;
  object.forEachMember([&](std::string_view key, Value v) {
    std::optional<Value> *slot = key == "id"        ? &id
                                 : key == "name"    ? &name
                                 : key == "kind"    ? &kind
                                 : key == "attrs"   ? &attrs
                                 : key == "inputs"  ? &inputs
                                 : key == "outputs" ? &outputs
                                                    : nullptr;
    if (!slot)
      return reporter.unknownKey(v, nullptr, key);
    if (*slot)
      reporter.repeatedKey(v, nullptr, key);
    *slot = v;
  });
  Op op;
  header(id, name, kind, object, op);
  if (attrs)
    readAttrs(*attrs, op, reporter);
  if (inputs)
    tensors(*inputs, op, "inputs", op.inputs);
  if (outputs)
    tensors(*outputs, op, "outputs", op.outputs);
  graph.ops.push_back(std::move(op));
}

void GraphReader::finish() {
  for (uint64_t id : denseByDefault)
    if (LogicalTensor &t = graph.tensor(id);
        t.layout == graph::LayoutType::undef)
      t.layout = graph::LayoutType::strided;
  auto isUnknown = [&](uint64_t id) { return !graph.tensors.count(id); };
  if (!reporter.options.strict && !graph.ops.empty() &&
      std::ranges::all_of(graph.outputPorts, isUnknown))
    graph.ignoredOutputs = std::exchange(graph.outputPorts, {});
}

} // namespace

static Expected<Graph> read(std::string_view text, std::string_view sourceName,
                            const JsonOptions &options) {
  Reporter reporter(text, sourceName, options);
  GraphReader reader(reporter);
  Sink sink;
  sink.member = [&](std::string_view key, Value v) {
    reader.sawGraph |= key == "graph";
    reader.member(key, v);
  };
  sink.element = [&](Value v) { reader.element(v); };
  sink.beginGraph = [&] { reader.sawGraph = true; };
  if (std::optional<Error> e = stream(text, sourceName, Limits(), sink))
    reporter.report(std::move(*e));
  else if (!reader.sawGraph) {
    Error e2;
    e2.code = ErrorCode::MissingKey;
    e2.message = std::string(sourceName) + ": no key \"graph\"";
    e2.hint = "a graph file is {\"graph\": [operations]}";
    reporter.report(std::move(e2));
  }
  if (reporter.any())
    return reporter.take();
  reader.finish();
  for (auto check : {graph::topologicalSort, graph::completePorts}) {
    for (Error &e : check(reader.graph)) {
      e.message = std::string(sourceName) + ": " + e.message;
      reporter.report(std::move(e));
    }
    if (reporter.any())
      return reporter.take();
  }
  return std::move(reader.graph);
}

Expected<Graph> readJson(std::string_view text, std::string_view sourceName,
                         const JsonOptions &options) {
  // The parser's strings and our containers may throw; nothing beyond here may.
  try {
    return read(text, sourceName, options);
  } catch (const std::bad_alloc &) {
    Error e;
    e.code = ErrorCode::OutOfMemory;
    e.message = std::string(sourceName) + ": no memory for a text of " +
                std::to_string(text.size()) + " bytes";
    return e;
  }
}

} // namespace tenon::json
