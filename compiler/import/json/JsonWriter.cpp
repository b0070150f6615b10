//===- JsonWriter.cpp - graphs to JSON ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layout of the text is ours: one line for each attribute and tensor, so
// that differences between two files read well.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/json/Json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace tenon::json {

using graph::Dims;
using graph::Graph;
using graph::kUnknownDim;
using graph::LogicalTensor;

namespace {

class Writer {
public:
  std::string run(const Graph &graph);

private:
  void text(std::string_view s);
  void number(int64_t v) { out += std::to_string(v); }
  void number(uint64_t v) { out += std::to_string(v); }
  void number(float v);
  template <typename T> void list(const std::vector<T> &values);
  void attr(const std::string &name, const graph::AttrValue &value);
  void shape(const LogicalTensor &t);
  void tensor(const LogicalTensor &t);
  void tensors(const Graph &graph, const std::vector<uint64_t> &ids,
               uint64_t absent);
  void op(const Graph &graph, const graph::Op &op);
  void unreadInputs(const Graph &graph);
  void sizeFacts(const graph::NamedSizeFacts &all);

  std::string out;
};

void Writer::text(std::string_view s) {
  bool isPlain = std::all_of(s.begin(), s.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (isPlain) {
    out += '"';
    out += s;
    out += '"';
    return;
  }
  // A name from the API may be any bytes; a file must be UTF-8.
  out += nlohmann::json(std::string(s))
             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Writer::number(float v) {
  if (std::isnan(v)) {
    out += "\"nan\"";
  } else if (std::isinf(v)) {
    out += v < 0 ? "\"-inf\"" : "\"inf\"";
  } else if (v == 0 && std::signbit(v)) {
    out += "-0.0"; // "-0" reads as the integer 0
  } else {
    char buffer[32];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
    out.append(buffer, end);
  }
}

template <typename T> void Writer::list(const std::vector<T> &values) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i)
      out += ", ";
    number(values[i]);
  }
  out += ']';
}

void Writer::attr(const std::string &name, const graph::AttrValue &value) {
  text(name);
  constexpr const char *kTypes[] = {"bool",   "s64",   "f32",
                                    "string", "s64[]", "f32[]"};
  out += ": {\"type\": \"";
  out += kTypes[value.index()];
  out += "\", \"value\": ";
  if (auto *b = std::get_if<bool>(&value))
    out += *b ? '1' : '0';
  else if (auto *i = std::get_if<int64_t>(&value))
    number(*i);
  else if (auto *f = std::get_if<float>(&value))
    number(*f);
  else if (auto *s = std::get_if<std::string>(&value))
    text(*s);
  else if (auto *ints = std::get_if<Dims>(&value))
    list(*ints);
  else if (auto *floats = std::get_if<std::vector<float>>(&value))
    list(*floats);
  out += '}';
}

/// Sizes, and what those that are not known are computed from.
void Writer::shape(const LogicalTensor &t) {
  Dims dims = t.shape.value_or(Dims{kUnknownDim});
  if (!t.shape || dims.size() != t.sizes.size())
    return list(dims);
  out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    out += i ? ", " : "";
    if (dims[i] == kUnknownDim && !t.sizes[i].empty())
      text(t.sizes[i]);
    else
      number(dims[i]);
  }
  out += ']';
}

void Writer::tensor(const LogicalTensor &t) {
  const Dims unknown{kUnknownDim};
  out += "{\"id\": ";
  number(t.id);
  if (!t.name.empty()) {
    out += ", \"name\": ";
    text(t.name);
  }
  out += ", \"dtype\": ";
  text(name(t.dtype));
  out += ", \"shape\": ";
  shape(t);
  out += ", \"stride\": ";
  bool isStrided =
      t.layout == graph::LayoutType::strided || (t.shape && t.shape->empty());
  // Beside one unknown size, an unknown stride would mean an unknown rank.
  bool hidesStrides = !isStrided && t.strides.empty() && t.shape != unknown;
  if (!t.shape || hidesStrides)
    list(unknown);
  else
    list(t.effectiveStrides());
  out += ", \"layout_type\": ";
  text(name(t.layout));
  out += ", \"property_type\": ";
  text(name(t.property));
  out += '}';
}

void Writer::tensors(const Graph &graph, const std::vector<uint64_t> &ids,
                     uint64_t absent) {
  out += '[';
  size_t next = 0;
  for (size_t i = 0; i < graph::slotCount(absent, ids.size()); ++i) {
    out += i ? ",\n        " : "\n        ";
    if (i < graph::kMaxAbsent && (absent >> i & 1)) {
      out += "null";
      continue;
    }
    auto it = graph.tensors.find(ids[next]);
    LogicalTensor missing;
    missing.id = ids[next++];
    tensor(it == graph.tensors.end() ? missing : it->second);
  }
  out += ']';
}

void Writer::op(const Graph &graph, const graph::Op &op) {
  out += "    {\n      \"id\": ";
  number(op.id);
  out += ",\n      \"name\": ";
  text(op.name);
  out += ",\n      \"kind\": ";
  text(op.kind);
  out += ",\n      \"attrs\": {";
  bool isFirst = true;
  for (const auto &[name, value] : op.attrs) {
    out += isFirst ? "\n        " : ",\n        ";
    isFirst = false;
    attr(name, value);
  }
  out += "},\n      \"inputs\": ";
  tensors(graph, op.inputs, op.absentInputs);
  out += ",\n      \"outputs\": ";
  tensors(graph, op.outputs, op.absentOutputs);
  out += "\n    }";
}

/// Inputs that no operation describes: they are there for their sizes.
void Writer::unreadInputs(const Graph &graph) {
  std::set<uint64_t> described;
  for (const graph::Op &op : graph.ops) {
    described.insert(op.inputs.begin(), op.inputs.end());
    described.insert(op.outputs.begin(), op.outputs.end());
  }
  std::vector<uint64_t> unread;
  for (uint64_t id : graph.inputPorts)
    if (!described.contains(id) && graph.tensors.contains(id))
      unread.push_back(id);
  if (unread.empty())
    return;
  out += ",\n  \"unread_inputs\": ";
  tensors(graph, unread, 0);
}

/// What is declared of sizes; what says nothing is left out.
void Writer::sizeFacts(const graph::NamedSizeFacts &all) {
  if (all.empty())
    return;
  out += ",\n  \"sizes\": {";
  const char *separator = "\n    ";
  for (const auto &[name, facts] : all) {
    out += std::exchange(separator, ",\n    ");
    text(name);
    out += ": {\"min\": ";
    number(facts.min);
    if (facts.max != graph::SizeFacts::kNoMax) {
      out += ", \"max\": ";
      number(facts.max);
    }
    out += ", \"multiple_of\": ";
    number(facts.multipleOf);
    out += ", \"likely\": ";
    list(facts.likely);
    out += '}';
  }
  out += "\n  }";
}

std::string Writer::run(const Graph &graph) {
  out = "{\n  \"version\": ";
  text(graph.version);
  out += ",\n  \"engine_kind\": ";
  text(graph.engineKind);
  out += ",\n  \"fpmath_mode\": ";
  text(graph.fpmathMode);
  out += ",\n  \"fpmath_mode_apply_to_int\": ";
  text(graph.fpmathApplyToInt ? "true" : "false");
  out += ",\n  \"input_ports\": ";
  std::vector<uint64_t> inputs = graph.inputPorts;
  inputs.insert(inputs.end(), graph.ignoredInputs.begin(),
                graph.ignoredInputs.end());
  list(inputs);
  out += ",\n  \"output_ports\": ";
  list(graph.outputPorts);
  unreadInputs(graph);
  sizeFacts(graph.sizeFacts);
  out += ",\n  \"graph\": [";
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    out += i ? ",\n" : "\n";
    op(graph, graph.ops[i]);
  }
  out += "\n  ]\n}\n";
  return std::move(out);
}

} // namespace

std::string writeJson(const Graph &graph) { return Writer().run(graph); }

} // namespace tenon::json
