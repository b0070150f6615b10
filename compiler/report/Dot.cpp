//===- Dot.cpp - a graph as a picture -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Dot.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/Dot.h"

#include "compiler/report/Stats.h"

#include <map>

namespace tenon::report {

using graph::Graph;
using graph::Op;
using Groups = std::span<const GroupStats>;

namespace {

/// A quoted identifier or label.
std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\')
      out += '\\';
    // Control characters upset graphviz.
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string nodeOf(size_t op) { return "op" + std::to_string(op); }
std::string portOf(uint64_t id, bool isInput) {
  return (isInput ? "in" : "out") + std::to_string(id);
}

/// Inputs and outputs have the name that a model gives them.
std::string edgeLabel(const Graph &graph, uint64_t id) {
  const graph::LogicalTensor &tensor = graph.tensor(id);
  bool isNamed =
      !tensor.name.empty() && tensor.property != graph::PropertyType::constant;
  return std::to_string(id) + (isNamed ? " " + tensor.name : "") + ": " +
         typeText(tensor);
}

class Writer {
public:
  explicit Writer(const Graph &graph)
      : graph(graph), producers(graph.producers()) {}

  std::string run(Groups groups) {
    out = "digraph tenon {\n  node [shape=box, fontname=\"sans-serif\"];\n"
          "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    std::vector<bool> placed(graph.ops.size());
    std::vector<std::vector<size_t>> members = membersOf(graph, groups);
    for (size_t g = 0; g < members.size(); ++g) {
      if (members[g].empty())
        continue;
      out += "  subgraph cluster_" + std::to_string(g) +
             " {\n    style=rounded; label=" + quote(groups[g].kind) + ";\n";
      for (size_t op : members[g]) {
        node(op, "    ");
        placed[op] = true;
      }
      out += "  }\n";
    }
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (!placed[op])
        node(op, "  ");
    ports();
    edges();
    return out + "}\n";
  }

private:
  void node(size_t index, const char *indent) {
    const Op &op = graph.ops[index];
    std::string label = op.name.empty() || op.name == op.kind
                            ? op.kind
                            : op.kind + "\n" + op.name;
    out += indent + nodeOf(index) + " [label=" + quote(label) + "];\n";
  }

  void port(uint64_t id, bool isInput) {
    const graph::LogicalTensor &tensor = graph.tensor(id);
    out += "  " + portOf(id, isInput) +
           " [shape=oval, label=" + quote(edgeLabel(graph, id)) +
           (tensor.property == graph::PropertyType::constant ? ", style=dashed"
                                                             : "") +
           "];\n";
  }

  void ports() {
    for (uint64_t id : graph.inputPorts)
      port(id, true);
    for (uint64_t id : graph.outputPorts)
      port(id, false);
  }

  void edges() {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      for (uint64_t id : graph.ops[op].inputs) {
        auto from = producers.find(id);
        bool isPort = from == producers.end();
        out += "  " + (isPort ? portOf(id, true) : nodeOf(from->second)) +
               " -> " + nodeOf(op);
        if (!isPort)
          out += " [label=" + quote(edgeLabel(graph, id)) + "]";
        out += ";\n";
      }
    for (uint64_t id : graph.outputPorts)
      if (auto from = producers.find(id); from != producers.end())
        out += "  " + nodeOf(from->second) + " -> " + portOf(id, false) + ";\n";
  }

  const Graph &graph;
  std::map<uint64_t, size_t> producers;
  std::string out;
};

} // namespace

std::vector<std::vector<size_t>> membersOf(const Graph &graph, Groups groups) {
  std::vector<bool> placed(graph.ops.size());
  std::vector<std::vector<size_t>> members(groups.size());
  // Groups that prepare data for an operation name it; it is computed
  // elsewhere.
  for (bool preparation : {false, true})
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::string &kind = groups[g].kind;
      if ((kind == "pack" || kind == "copy") != preparation)
        continue;
      for (size_t op : groups[g].ops)
        if (!placed[op]) {
          members[g].push_back(op);
          placed[op] = true;
        }
    }
  return members;
}

std::string toDot(const Graph &graph, Groups groups) {
  return Writer(graph).run(groups);
}

std::string toText(const Graph &graph, Groups groups) {
  std::vector<std::string> groupOf(graph.ops.size());
  std::vector<std::vector<size_t>> members = membersOf(graph, groups);
  for (size_t g = 0; g < members.size(); ++g)
    for (size_t op : members[g])
      groupOf[op] = "  [group " + std::to_string(g) + "]";
  auto list = [&](const std::vector<uint64_t> &ids) {
    std::string text;
    for (uint64_t id : ids)
      text += (text.empty() ? "" : ", ") + edgeLabel(graph, id);
    return text;
  };
  std::string out = "inputs:  " + list(graph.inputPorts) + "\n";
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op &op = graph.ops[i];
    out += list(op.outputs) + (op.outputs.empty() ? "" : " = ") + op.kind +
           " \"" + op.name + "\" (";
    for (size_t k = 0; k < op.inputs.size(); ++k)
      out += (k ? ", " : "") + std::to_string(op.inputs[k]);
    out += ")" + groupOf[i] + "\n";
  }
  return out + "outputs: " + list(graph.outputPorts) + "\n";
}

} // namespace tenon::report
