//===- Explain.cpp - tenon explain ----------------------------------------===//
//
// Shows for each operation the group it is in and why it is in no larger one.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Session.h"
#include "compiler/report/Dot.h"
#include "tools/tenon/ModelArgs.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace tenon::cli {

namespace {

struct ExplainArgs {
  ModelArgs model;
  std::string op;
};

/// "op: reason" is about `name`; names may hold colons.
bool isAbout(const std::string &remark, const std::string &name) {
  return remark.size() > name.size() && remark[name.size()] == ':' &&
         remark.compare(0, name.size(), name) == 0;
}

Error unknownOp(const graph::Graph &graph, const std::string &name) {
  std::vector<std::string> names;
  for (const graph::Op &op : graph.ops)
    names.push_back(op.name);
  Error error = badOption("--op: no operation is called \"" + name + "\"");
  std::string near = closest(name, names);
  if (!near.empty())
    error.hint = "did you mean " + near;
  for (size_t i = 0; near.empty() && i < names.size() && i < 12; ++i)
    error.hint += (i ? ", " : "operations: ") + names[i];
  return error;
}

int explain(const ExplainArgs &args) {
  auto graph = loadForInspection(args.model);
  if (!graph)
    return fail(graph.errors());
  bool known = args.op.empty();
  for (const graph::Op &op : graph->ops)
    known |= op.name == args.op;
  if (!known)
    return fail(unknownOp(*graph, args.op));
  CompileReport report;
  auto compiled = Compiled::compile(*graph, args.model.options, &report);
  if (!compiled)
    return fail(compiled.errors());
  const graph::Graph &done = (*compiled)->graph();
  std::vector<std::vector<size_t>> members =
      report::membersOf(done, report.mainGroups);
  for (size_t g = 0; g < members.size(); ++g)
    for (size_t index : members[g]) {
      const graph::Op &op = done.ops[index];
      if (!args.op.empty() && op.name != args.op)
        continue;
      std::printf("%s \"%s\": in group %zu, %s (%s)\n", op.kind.c_str(),
                  op.name.c_str(), g, report.mainGroups[g].label.c_str(),
                  report.mainGroups[g].kind.c_str());
    }
  size_t shown = 0;
  for (const std::string &remark : report.remarks)
    if (args.op.empty() || isAbout(remark, args.op)) {
      std::printf("%s\n", remark.c_str());
      ++shown;
    }
  if (shown == 0)
    std::printf("nothing was refused%s\n",
                args.op.empty() ? "" : " for this operation");
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App *sub =
      app.add_subcommand("explain", "why operations were, or were not, fused");
  addModelOptions(*sub, args->model);
  sub->add_option("--op", args->op, "only this operation, by name");
  sub->callback(
      [args, &action] { action = [args] { return explain(*args); }; });
}

} // namespace tenon::cli
