//===- Ops.cpp - tenon ops ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Shows the operation table.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"
#include "tools/tenon/Cli.h"
#include "tools/tenon/OpExample.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace tenon::cli {

using nlohmann::ordered_json;

namespace {

struct OpsArgs {
  std::string kind;
  std::string format;
  bool example = false;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Spelling of letters does not matter.
const graph::OpInfo *find(std::string_view kind) {
  for (const graph::OpInfo &info : graph::allOps())
    if (lower(info.kind) == lower(kind))
      return &info;
  return nullptr;
}

template <typename T> std::string join(const T &items, const char *separator) {
  std::string text;
  for (const auto &item : items)
    text += (text.empty() ? "" : separator) + std::string(item);
  return text;
}

std::vector<std::string> dtypeNames(std::span<const graph::DType> dtypes) {
  std::vector<std::string> names;
  for (graph::DType dtype : dtypes)
    names.emplace_back(graph::name(dtype));
  return names;
}

void printValues(const char *title, const graph::OpInfo &info,
                 std::span<const graph::ValueInfo> values) {
  std::printf("%s:\n", title);
  for (const graph::ValueInfo &value : values) {
    const graph::TypeVarInfo *types = info.typeVar(value.typeVar);
    std::printf("  %-16s %s%s%s\n", std::string(value.name).c_str(),
                types ? join(dtypeNames(types->allowed), " ").c_str()
                      : "any data type",
                value.optional ? ", optional" : "",
                value.variadic ? ", any number" : "");
  }
}

void printOp(const graph::OpInfo &info) {
  std::printf("%s (%s)\n  %s\n", std::string(info.kind).c_str(),
              std::string(info.category).c_str(),
              std::string(info.summary).c_str());
  if (!info.description.empty())
    std::printf("\n%s\n\n", std::string(info.description).c_str());
  printValues("operands", info, info.operands);
  printValues("results", info, info.results);
  std::printf("attributes:\n");
  for (const graph::AttrInfo &attr : info.attrs) {
    std::string state = attr.required ? "required"
                        : attr.defaultText
                            ? "default " + std::string(*attr.defaultText)
                            : "optional";
    std::printf("  %-16s %s, %s", std::string(attr.name).c_str(),
                std::string(graph::name(attr.type)).c_str(), state.c_str());
    if (!attr.allowed.empty())
      std::printf(", one of %s", join(attr.allowed, " ").c_str());
    if (!attr.doc.empty())
      std::printf("\n  %-16s %s", "", std::string(attr.doc).c_str());
    std::printf("\n");
  }
  if (!info.constraints.empty())
    std::printf("constraints:\n  %s\n", join(info.constraints, "\n  ").c_str());
  std::printf("shapes: %s\n", std::string(info.shapeRule).c_str());
  std::printf("compiles: %s\n", info.compiles.empty()
                                    ? "not yet, only the reference evaluates it"
                                    : join(info.compiles, " ").c_str());
}

ordered_json toJson(const graph::OpInfo &info,
                    std::span<const graph::ValueInfo> values) {
  ordered_json list = ordered_json::array();
  for (const graph::ValueInfo &value : values) {
    const graph::TypeVarInfo *types = info.typeVar(value.typeVar);
    list.push_back({{"name", value.name},
                    {"dtypes", types ? dtypeNames(types->allowed)
                                     : std::vector<std::string>{}},
                    {"optional", value.optional},
                    {"variadic", value.variadic}});
  }
  return list;
}

ordered_json toJson(const graph::OpInfo &info) {
  ordered_json op;
  op["kind"] = info.kind;
  op["category"] = info.category;
  op["summary"] = info.summary;
  op["operands"] = toJson(info, info.operands);
  op["results"] = toJson(info, info.results);
  op["attributes"] = ordered_json::array();
  for (const graph::AttrInfo &attr : info.attrs) {
    ordered_json entry = {{"name", attr.name},
                          {"type", graph::name(attr.type)},
                          {"required", attr.required}};
    if (attr.defaultText)
      entry["default"] = *attr.defaultText;
    if (!attr.allowed.empty())
      entry["allowed"] =
          std::vector<std::string>(attr.allowed.begin(), attr.allowed.end());
    op["attributes"].push_back(std::move(entry));
  }
  op["compiles"] =
      std::vector<std::string>(info.compiles.begin(), info.compiles.end());
  return op;
}

void printJson(const ordered_json &json) {
  std::printf(
      "%s\n",
      json.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

int showExample(const graph::OpInfo &info) {
  auto text = exampleOf(info);
  if (!text)
    return fail(text.errors());
  std::printf("%s", text->c_str());
  return 0;
}

int showOne(const OpsArgs &args) {
  const graph::OpInfo *info = find(args.kind);
  if (!info) {
    Error error;
    error.code = ErrorCode::UnknownOp;
    error.message = "there is no operation \"" + args.kind + "\"";
    error.hint = graph::hintForKind(args.kind);
    return fail(error);
  }
  if (args.example)
    return showExample(*info);
  if (args.format == "json")
    printJson(toJson(*info));
  else
    printOp(*info);
  return 0;
}

int showAll(const OpsArgs &args) {
  if (args.format == "json") {
    ordered_json all = ordered_json::array();
    for (const graph::OpInfo &info : graph::allOps())
      all.push_back(toJson(info));
    printJson(all);
    return 0;
  }
  size_t compile = 0;
  for (const graph::OpInfo &info : graph::allOps()) {
    compile += !info.compiles.empty();
    std::printf("%-32s %-24s %s\n", std::string(info.kind).c_str(),
                std::string(info.category).c_str(),
                info.compiles.empty() ? "-" : join(info.compiles, " ").c_str());
  }
  std::printf("%zu operations, %zu compile\n", graph::allOps().size(), compile);
  return 0;
}

} // namespace

void addOpsCommand(CLI::App &app, Action &action) {
  auto args = std::make_shared<OpsArgs>();
  CLI::App *sub = app.add_subcommand("ops", "the operation set");
  CLI::Option *kind =
      sub->add_option("kind", args->kind, "one operation, such as MatMul");
  sub->add_flag("--example", args->example,
                "print a C++ program that uses it and checks itself")
      ->needs(kind);
  addFormatOption(*sub, args->format, {"text", "json"});
  sub->callback([args, &action] {
    action = [args] {
      return args->kind.empty() ? showAll(*args) : showOne(*args);
    };
  });
}

} // namespace tenon::cli
