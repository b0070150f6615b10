//===- Explain.cpp - tenon explain ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each operation the groups it is in and why it is in no larger one, for
// each edge what becomes of the tensor. Answers are compiler/report's.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Session.h"
#include "compiler/report/Explanation.h"
#include "dialects/support/Text.h"
#include "tools/devinfo/Peaks.h"
#include "tools/tenon/ModelArgs.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

namespace tenon::cli {

using graph::Graph;
using report::EdgeAnswer;

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

  const ExplainArgs &args;
  CompileReport compileReport;
  std::unique_ptr<Compiled> compiled;
  report::Explanation chosen;
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
        chosen.edges.push_back(edge);
    }
    if (!chosen.edges.empty())
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
      chosen.ops.push_back(explainer.explainOp(op));
  for (EdgeAnswer &edge : all) {
    bool about = args.op.empty();
    for (const std::optional<size_t> &end : {edge.from, edge.to})
      about |= end && graph.ops[*end].name == args.op;
    if (about)
      chosen.edges.push_back(std::move(edge));
  }
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
  chosen.groups = !args.op.empty();
  chosen.summary = args.op.empty() && args.edge.empty();
  const Graph &shown = compiled->graph();
  std::string text =
      args.format == "json"
          ? report::explanationJson(args.model.path, shown, compileReport,
                                    explainer, chosen)
          : report::explanationText(shown, compileReport, explainer, chosen);
  std::fputs(text.c_str(), stdout);
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
