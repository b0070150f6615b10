//===- Explanation.cpp - answers as text and as JSON ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/Explanation.h"

#include "compiler/report/Stats.h"
#include "dialects/support/Text.h"
#include "dialects/support/Units.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace tenon::report {

using graph::Graph;
using nlohmann::ordered_json;

namespace {

std::string endText(const Graph &graph, const std::optional<size_t> &op,
                    uint64_t tensor, bool isInput) {
  if (op)
    return graph.ops[*op].name;
  return (isInput ? "input " : "output ") + std::to_string(tensor);
}

class TextWriter {
public:
  TextWriter(const Graph &graph, const CompileReport &report,
             const Explainer &explainer)
      : graph(graph), report(report), explainer(explainer) {}

  std::string run(const Explanation &explanation) {
    for (const OpAnswer &answer : explanation.ops)
      op(answer, explanation.groups);
    for (const EdgeAnswer &answer : explanation.edges)
      edge(answer);
    if (!explanation.summary)
      return out;
    versions();
    for (const std::string &sum : explainer.sumTexts())
      line("order, " + sum);
    return out;
  }

private:
  void line(const std::string &text) { out += text + "\n"; }

  void list(const char *what, const std::vector<std::string> &texts) {
    for (const std::string &text : texts)
      line("  " + std::string(what) + ": " + text);
  }

  void order(const std::vector<ReorderAnswer> &reorders) {
    for (const ReorderAnswer &reorder : reorders)
      line("  order: " + reorder.text);
  }

  void op(const OpAnswer &answer, bool groups) {
    line(explainer.called(answer.op) + ": " + answer.text);
    list("why", answer.reasons);
    list("layout", answer.layouts);
    order(answer.reorders);
    if (groups)
      for (size_t index : answer.groups)
        group(index);
  }

  void group(size_t index) {
    const GroupStats &g = report.mainGroups[index];
    line("  group " + std::to_string(index) + ": " + g.types);
    if (!g.sized)
      return line("    sizes are not known");
    char flops[32];
    std::snprintf(flops, sizeof flops, "%.6g", 1e-6 * g.flops);
    line("    " + std::string(flops) + " MFLOP; " + bytesText(g.memory.read) +
         " read and " + bytesText(g.memory.written) +
         " written of the caller's and of constants, " +
         bytesText(g.reused.read) + " and " + bytesText(g.reused.written) +
         " of other groups");
  }

  void edge(const EdgeAnswer &answer) {
    line(endText(graph, answer.from, answer.tensor, true) + " -> " +
         endText(graph, answer.to, answer.tensor, false) + ": " +
         answer.verdict + ": " + answer.text);
    list("why", answer.reasons);
    order(answer.reorders);
  }

  /// Answers are about the code for all sizes.
  void versions() {
    for (const VersionInfo &version : report.versions)
      line("sizes: executions with " + version.name +
           " have code of their own, " + countText(version.groups, "group"));
    for (const std::string &remark : report.remarks)
      if (remark.starts_with(kVersionRemark))
        line(remark);
  }

  const Graph &graph;
  const CompileReport &report;
  const Explainer &explainer;
  std::string out;
};

const char *nameOf(ReorderInfo::When when) {
  switch (when) {
  case ReorderInfo::When::run:
    return "run";
  case ReorderInfo::When::bind:
    return "bind";
  case ReorderInfo::When::never:
    return "never";
  }
  return "";
}

/// Of bytes and seconds; null is what is not known.
ordered_json costJson(bool sized, const Traffic &bytes, double seconds) {
  auto known = [](bool is, double value) {
    return is ? ordered_json(value) : ordered_json();
  };
  return {{"read", known(sized, bytes.read)},
          {"written", known(sized, bytes.written)},
          {"seconds", known(seconds > 0, seconds)}};
}

ordered_json toJson(const std::vector<ReorderAnswer> &reorders) {
  ordered_json list = ordered_json::array();
  for (const ReorderAnswer &reorder : reorders) {
    const ReorderInfo &info = reorder.info;
    ordered_json entry = {{"what", info.what},
                          {"types", info.types},
                          {"when", nameOf(info.when)}};
    entry.update(costJson(info.sized, info.bytes, reorder.seconds));
    entry["text"] = reorder.text;
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json toJson(const std::vector<GroupStats> &groups, const Graph &graph) {
  ordered_json list = ordered_json::array();
  for (const GroupStats &g : groups) {
    ordered_json names = ordered_json::array();
    for (size_t op : g.ops)
      names.push_back(graph.ops[op].name);
    ordered_json entry = {{"label", g.label},
                          {"kind", g.kind},
                          {"operations", names},
                          {"types", g.types},
                          {"sized", g.sized}};
    if (g.sized) {
      entry["flops"] = g.flops;
      entry["memory"] = {{"read", g.memory.read},
                         {"written", g.memory.written}};
      entry["reused"] = {{"read", g.reused.read},
                         {"written", g.reused.written}};
    }
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json toJson(const OpAnswer &answer, const Graph &graph) {
  return {{"name", graph.ops[answer.op].name},
          {"kind", graph.ops[answer.op].kind},
          {"verdict", answer.verdict},
          {"text", answer.text},
          {"groups", answer.groups},
          {"foldGroups", answer.folds},
          {"reasons", answer.reasons},
          {"layouts", answer.layouts},
          {"reorders", toJson(answer.reorders)}};
}

ordered_json toJson(const EdgeAnswer &edge, const Graph &graph) {
  return {{"from", endText(graph, edge.from, edge.tensor, true)},
          {"to", endText(graph, edge.to, edge.tensor, false)},
          {"tensor", edge.tensor},
          {"type", typeText(graph.tensor(edge.tensor))},
          {"bytes", edge.bytes > 0 ? ordered_json(edge.bytes) : ordered_json()},
          {"verdict", edge.verdict},
          {"text", edge.text},
          {"reasons", edge.reasons},
          {"reorders", toJson(edge.reorders)}};
}

} // namespace

Explanation explainAll(const Graph &graph, const Explainer &explainer) {
  Explanation all;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    all.ops.push_back(explainer.explainOp(op));
  all.edges = explainer.explainEdges();
  return all;
}

std::string explanationText(const Graph &graph, const CompileReport &report,
                            const Explainer &explainer,
                            const Explanation &explanation) {
  return TextWriter(graph, report, explainer).run(explanation);
}

std::string explanationJson(const std::string &model, const Graph &graph,
                            const CompileReport &report,
                            const Explainer &explainer,
                            const Explanation &explanation) {
  ordered_json root;
  root["model"] = model;
  root["versions"] = ordered_json::array();
  for (const VersionInfo &version : report.versions)
    root["versions"].push_back(
        {{"sizes", version.name}, {"groups", version.groups}});
  root["groups"] = toJson(report.mainGroups, graph);
  root["foldGroups"] = toJson(report.foldGroups, graph);
  root["operations"] = ordered_json::array();
  for (const OpAnswer &answer : explanation.ops)
    root["operations"].push_back(toJson(answer, graph));
  root["edges"] = ordered_json::array();
  for (const EdgeAnswer &edge : explanation.edges)
    root["edges"].push_back(toJson(edge, graph));
  for (auto when : {ReorderInfo::When::run, ReorderInfo::When::bind,
                    ReorderInfo::When::never}) {
    ReorderSum sum = explainer.sumOf(when);
    ordered_json &entry = root["order"][nameOf(when)] = {{"count", sum.count}};
    entry.update(costJson(true, sum.bytes, sum.seconds));
    entry["unsized"] = sum.unsized;
  }
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace tenon::report
