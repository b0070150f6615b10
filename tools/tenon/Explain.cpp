//===- Explain.cpp - tenon explain ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each operation the groups it is in and why it is in no larger one, for
// each edge what becomes of the tensor. Answers are compiler/report/Explain's.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/Explain.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/Versions.h"
#include "compiler/report/Stats.h"
#include "dialects/support/Text.h"
#include "tools/devinfo/Peaks.h"
#include "tools/tenon/ModelArgs.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace tenon::cli {

using graph::Graph;
using nlohmann::ordered_json;
using report::EdgeAnswer;
using report::OpAnswer;

namespace {

struct ExplainArgs {
  ModelArgs model;
  std::string op, edge, format;
};

/// One end of an edge.
struct End {
  std::optional<size_t> op;
  std::optional<uint64_t> port; // of an input or output, when it is no op
};

Error unknownOp(const Graph &graph, const std::string &option,
                const std::string &name) {
  std::vector<std::string> names;
  for (const graph::Op &op : graph.ops)
    names.push_back(op.name);
  Error error = badOption(option + ": no operation is called \"" + name + "\"");
  std::string near = closest(name, names);
  if (!near.empty())
    error.hint = "did you mean " + near;
  for (size_t i = 0; near.empty() && i < names.size() && i < 12; ++i)
    error.hint += (i ? ", " : "operations: ") + names[i];
  return error;
}

std::vector<size_t> opsNamed(const Graph &graph, const std::string &name) {
  std::vector<size_t> found;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    if (graph.ops[i].name == name)
      found.push_back(i);
  return found;
}

/// Operations of that name, or the port with that id.
std::vector<End> endsNamed(const Graph &graph, const std::string &name,
                           const std::vector<uint64_t> &ports) {
  std::vector<End> ends;
  for (size_t op : opsNamed(graph, name))
    ends.push_back({op, {}});
  if (auto id = parseInteger(name); ends.empty() && id)
    if (auto port = static_cast<uint64_t>(*id);
        std::find(ports.begin(), ports.end(), port) != ports.end())
      ends.push_back({{}, port});
  return ends;
}

class ExplainCommand {
public:
  explicit ExplainCommand(const ExplainArgs &args) : args(args) {}
  int run();

private:
  std::vector<Error> chooseEdges(const report::Explainer &explainer);
  void chooseOp(const report::Explainer &explainer,
                std::vector<EdgeAnswer> all);
  std::string endText(const std::optional<size_t> &op, uint64_t tensor,
                      bool isInput) const;
  void printGroup(size_t index) const;
  void printVersions() const;
  void printText(const report::Explainer &explainer) const;
  void printJson(const report::Explainer &explainer) const;

  const ExplainArgs &args;
  CompileReport compileReport;
  std::unique_ptr<Compiled> compiled;
  std::vector<OpAnswer> ops;
  std::vector<EdgeAnswer> edges;
};

/// Every place where the option may be cut is tried: names may hold arrows.
std::vector<Error>
ExplainCommand::chooseEdges(const report::Explainer &explainer) {
  const Graph &graph = compiled->graph();
  const std::string arrow = "->";
  size_t at = args.edge.find(arrow);
  if (at == args.edge.npos)
    return {badOption("--edge: \"" + args.edge + "\" has no ->",
                      "as in --edge=fc1->relu1; ids stand for inputs and "
                      "outputs of the graph")};
  std::vector<Error> errors;
  for (; at != args.edge.npos; at = args.edge.find(arrow, at + 1)) {
    std::string from = args.edge.substr(0, at), to = args.edge.substr(at + 2);
    auto froms = endsNamed(graph, from, graph.inputPorts);
    auto tos = endsNamed(graph, to, graph.outputPorts);
    if (froms.empty() || tos.empty()) {
      if (errors.empty())
        errors.push_back(unknownOp(graph, "--edge", froms.empty() ? from : to));
      continue;
    }
    for (const EdgeAnswer &edge : explainer.explainEdges()) {
      auto is = [&](const End &end, const std::optional<size_t> &op) {
        return end.op ? end.op == op : !op && end.port == edge.tensor;
      };
      if (std::any_of(froms.begin(), froms.end(),
                      [&](const End &e) { return is(e, edge.from); }) &&
          std::any_of(tos.begin(), tos.end(),
                      [&](const End &e) { return is(e, edge.to); }))
        edges.push_back(edge);
    }
    if (!edges.empty())
      return {};
    errors = {badOption("--edge: \"" + to + "\" reads nothing that \"" + from +
                        "\" makes")};
  }
  return errors;
}

/// The operations of that name, or all, with their edges.
void ExplainCommand::chooseOp(const report::Explainer &explainer,
                              std::vector<EdgeAnswer> all) {
  const Graph &graph = compiled->graph();
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (args.op.empty() || graph.ops[op].name == args.op)
      ops.push_back(explainer.explainOp(op));
  for (EdgeAnswer &edge : all) {
    bool about = args.op.empty();
    for (const std::optional<size_t> &end : {edge.from, edge.to})
      about |= end && graph.ops[*end].name == args.op;
    if (about)
      edges.push_back(std::move(edge));
  }
}

std::string ExplainCommand::endText(const std::optional<size_t> &op,
                                    uint64_t tensor, bool isInput) const {
  if (op)
    return compiled->graph().ops[*op].name;
  return (isInput ? "input " : "output ") + std::to_string(tensor);
}

void ExplainCommand::printGroup(size_t index) const {
  const GroupStats &g = compileReport.mainGroups[index];
  std::printf("  group %zu: %s\n", index, g.types.c_str());
  if (!g.sized) {
    std::printf("    sizes are not known\n");
    return;
  }
  std::printf("    %.6g MFLOP; %s read and %s written of the caller's and of "
              "constants, %s and %s of other groups\n",
              1e-6 * g.flops, bytesText(g.memory.read).c_str(),
              bytesText(g.memory.written).c_str(),
              bytesText(g.reused.read).c_str(),
              bytesText(g.reused.written).c_str());
}

void printOrder(const std::vector<report::ReorderAnswer> &reorders) {
  for (const report::ReorderAnswer &reorder : reorders)
    std::printf("  order: %s\n", reorder.text.c_str());
}

void ExplainCommand::printText(const report::Explainer &explainer) const {
  for (const OpAnswer &answer : ops) {
    std::printf("%s: %s\n", explainer.called(answer.op).c_str(),
                answer.text.c_str());
    for (const std::string &reason : answer.reasons)
      std::printf("  why: %s\n", reason.c_str());
    for (const std::string &layout : answer.layouts)
      std::printf("  layout: %s\n", layout.c_str());
    printOrder(answer.reorders);
    if (!args.op.empty())
      for (size_t group : answer.groups)
        printGroup(group);
  }
  for (const EdgeAnswer &edge : edges) {
    std::printf("%s -> %s: %s: %s\n",
                endText(edge.from, edge.tensor, true).c_str(),
                endText(edge.to, edge.tensor, false).c_str(),
                edge.verdict.c_str(), edge.text.c_str());
    for (const std::string &reason : edge.reasons)
      std::printf("  why: %s\n", reason.c_str());
    printOrder(edge.reorders);
  }
  if (args.op.empty() && args.edge.empty())
    printVersions();
  if (args.op.empty() && args.edge.empty())
    for (const std::string &sum : explainer.sumTexts())
      std::printf("order, %s\n", sum.c_str());
}

/// Answers are about the code for all sizes.
void ExplainCommand::printVersions() const {
  for (const VersionInfo &version : compileReport.versions)
    std::printf("sizes: executions with %s have code of their own, %s\n",
                version.name.c_str(),
                countText(version.groups, "group").c_str());
  for (const std::string &remark : compileReport.remarks)
    if (remark.starts_with(kVersionRemark))
      std::printf("%s\n", remark.c_str());
}

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

ordered_json toJson(const std::vector<report::ReorderAnswer> &reorders) {
  ordered_json list = ordered_json::array();
  for (const report::ReorderAnswer &reorder : reorders) {
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

ordered_json toJson(const GroupStats &g, const Graph &graph) {
  ordered_json names = ordered_json::array();
  for (size_t op : g.ops)
    names.push_back(graph.ops[op].name);
  ordered_json root = {{"label", g.label},
                       {"kind", g.kind},
                       {"operations", names},
                       {"types", g.types},
                       {"sized", g.sized}};
  if (g.sized) {
    root["flops"] = g.flops;
    root["memory"] = {{"read", g.memory.read}, {"written", g.memory.written}};
    root["reused"] = {{"read", g.reused.read}, {"written", g.reused.written}};
  }
  return root;
}

void ExplainCommand::printJson(const report::Explainer &explainer) const {
  const Graph &graph = compiled->graph();
  ordered_json root;
  root["model"] = args.model.path;
  root["versions"] = ordered_json::array();
  for (const VersionInfo &version : compileReport.versions)
    root["versions"].push_back(
        {{"sizes", version.name}, {"groups", version.groups}});
  root["groups"] = ordered_json::array();
  for (const GroupStats &g : compileReport.mainGroups)
    root["groups"].push_back(toJson(g, graph));
  root["foldGroups"] = ordered_json::array();
  for (const GroupStats &g : compileReport.foldGroups)
    root["foldGroups"].push_back(toJson(g, graph));
  root["operations"] = ordered_json::array();
  for (const OpAnswer &answer : ops)
    root["operations"].push_back({{"name", graph.ops[answer.op].name},
                                  {"kind", graph.ops[answer.op].kind},
                                  {"verdict", answer.verdict},
                                  {"text", answer.text},
                                  {"groups", answer.groups},
                                  {"foldGroups", answer.folds},
                                  {"reasons", answer.reasons},
                                  {"layouts", answer.layouts},
                                  {"reorders", toJson(answer.reorders)}});
  root["edges"] = ordered_json::array();
  for (const EdgeAnswer &edge : edges)
    root["edges"].push_back(
        {{"from", endText(edge.from, edge.tensor, true)},
         {"to", endText(edge.to, edge.tensor, false)},
         {"tensor", edge.tensor},
         {"type", report::typeText(graph.tensor(edge.tensor))},
         {"bytes", edge.bytes > 0 ? ordered_json(edge.bytes) : ordered_json()},
         {"verdict", edge.verdict},
         {"text", edge.text},
         {"reasons", edge.reasons},
         {"reorders", toJson(edge.reorders)}});
  for (auto when : {ReorderInfo::When::run, ReorderInfo::When::bind,
                    ReorderInfo::When::never}) {
    report::ReorderSum sum = explainer.sumOf(when);
    ordered_json &entry = root["order"][nameOf(when)] = {{"count", sum.count}};
    entry.update(costJson(true, sum.bytes, sum.seconds));
    entry["unsized"] = sum.unsized;
  }
  std::printf(
      "%s\n",
      root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

int ExplainCommand::run() {
  auto model = loadForInspection(args.model);
  if (!model)
    return fail(model.errors());
  const graph::PreparedGraph &graph = model->graph;
  if (!args.op.empty() && opsNamed(*graph, args.op).empty())
    return fail(unknownOp(*graph, "--op", args.op));
  auto made = Compiled::compile(graph, args.model.options, &compileReport);
  if (!made)
    return fail(made.errors());
  compiled = std::move(*made);
  devinfo::Peaks peaks;
  if (!compileReport.reorders.empty())
    peaks = devinfo::Peaks::of(devinfo::measureMachine(/*quick=*/true), 1);
  report::Explainer explainer(
      compiled->graph(), compileReport, args.model.options.fuse,
      [&](const Traffic &t) { return peaks.moveSeconds(t.read, t.written); });
  if (args.edge.empty())
    chooseOp(explainer, explainer.explainEdges());
  else if (auto errors = chooseEdges(explainer); !errors.empty())
    return fail(errors);
  if (args.format == "json")
    printJson(explainer);
  else
    printText(explainer);
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App *sub = app.add_subcommand(
      "explain", "why operations were, or were not, fused or reordered");
  addModelOptions(*sub, args->model);
  CLI::Option *op =
      sub->add_option("--op", args->op, "only this operation, by name");
  sub->add_option("--edge", args->edge,
                  "only what goes from A to B, A->B: names of operations, ids "
                  "of inputs and outputs")
      ->excludes(op);
  addFormatOption(*sub, args->format, {"text", "json"});
  sub->callback([args, &action] {
    action = [args] { return ExplainCommand(*args).run(); };
  });
}

} // namespace tenon::cli
