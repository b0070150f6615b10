//===- ModelText.cpp - what a model of ONNX has, as text ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See ModelText.h.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/ModelText.h"

#include "compiler/partition/Partition.h"
#include "dialects/support/Text.h"
#include "tools/tenon/Cli.h"

#include <cstdio>

namespace tenon::cli {

using nlohmann::ordered_json;
using Operator = ModelSummary::Operator;

/// What domains are called where people read them.
static std::string domainName(const Operator &op) {
  return op.domain.empty() ? "ai.onnx" : op.domain;
}

/// "12, 3 folded".
static std::string countsText(const Operator &op) {
  std::string text = std::to_string(op.nodes);
  auto add = [&](int64_t count, const char *what) {
    if (count > 0)
      text +=
          ", " + (count == op.nodes ? "" : std::to_string(count) + " ") + what;
  };
  add(op.folded, "folded");
  add(op.failed, "not converted");
  add(op.waiting, "not reached");
  return text;
}

static void printPorts(const char *what,
                       const std::vector<ModelSummary::Port> &ports) {
  for (const ModelSummary::Port &port : ports)
    std::printf("%-15s %s: %s%s\n", what, port.name.c_str(), port.type.c_str(),
                port.isRead ? "" : ", which nothing reads");
}

void printSummary(const ModelSummary &summary) {
  std::printf("model           ONNX, version %lld of the format\n",
              static_cast<long long>(summary.irVersion));
  printPorts("input", summary.inputs);
  printPorts("output", summary.outputs);
  std::printf("parameters      %s, %.0f elements, %s\n",
              countText(summary.parameters, "tensor").c_str(),
              summary.parameterElements,
              bytesText(summary.parameterBytes).c_str());
  std::printf("nodes           %lld",
              static_cast<long long>(summary.sum(&Operator::nodes)));
  if (int64_t folded = summary.sum(&Operator::folded))
    std::printf(", of which %lld are folded: they leave no operation",
                static_cast<long long>(folded));
  if (int64_t failed = summary.sum(&Operator::failed))
    std::printf(", of which %lld are not converted, and %lld not reached: they "
                "need those",
                static_cast<long long>(failed),
                static_cast<long long>(summary.sum(&Operator::waiting)));
  std::printf("\n");
  // By domain, in the order of the first operator of each.
  std::vector<const Operator *> heads;
  for (const Operator &op : summary.operators) {
    auto isAlike = [&](const Operator *head) {
      return head->domain == op.domain && head->opset == op.opset;
    };
    if (std::none_of(heads.begin(), heads.end(), isAlike))
      heads.push_back(&op);
  }
  for (const Operator *head : heads) {
    std::printf("  of %s, operator set %lld\n", domainName(*head).c_str(),
                static_cast<long long>(head->opset));
    for (const Operator &op : summary.operators)
      if (op.domain == head->domain && op.opset == head->opset)
        std::printf("    %-26s %s\n", op.name.c_str(), countsText(op).c_str());
  }
}

ordered_json summaryJson(const ModelSummary &summary) {
  auto ports = [](const std::vector<ModelSummary::Port> &all) {
    ordered_json list = ordered_json::array();
    for (const ModelSummary::Port &port : all)
      list.push_back(
          {{"name", port.name}, {"type", port.type}, {"isRead", port.isRead}});
    return list;
  };
  ordered_json root;
  root["irVersion"] = summary.irVersion;
  root["inputs"] = ports(summary.inputs);
  root["outputs"] = ports(summary.outputs);
  root["parameters"] = summary.parameters;
  root["parameterElements"] = summary.parameterElements;
  root["parameterBytes"] = summary.parameterBytes;
  root["operators"] = ordered_json::array();
  for (const Operator &op : summary.operators)
    root["operators"].push_back({{"name", op.name},
                                 {"domain", domainName(op)},
                                 {"opset", op.opset},
                                 {"nodes", op.nodes},
                                 {"folded", op.folded},
                                 {"failed", op.failed},
                                 {"waiting", op.waiting}});
  return root;
}

std::vector<std::string> uncompiledLines(const graph::Graph &graph) {
  struct Alike {
    const graph::Op *first = nullptr;
    int64_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Alike> alike;
  for (const graph::Op &op : graph.ops)
    if (std::string why = whyUnsupported(graph, op); !why.empty()) {
      Alike &entry = alike[{op.kind, why}];
      if (entry.count++ == 0)
        entry.first = &op;
    }
  std::vector<std::string> lines;
  for (const auto &[what, entry] : alike) {
    std::string line = what.first + " \"" + entry.first->name + "\"";
    if (entry.count > 1)
      line += " and " + countText(entry.count - 1, "other");
    lines.push_back(line + ": " + what.second);
  }
  return lines;
}

} // namespace tenon::cli
