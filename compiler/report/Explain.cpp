//===- Explain.cpp - why operations are fused and copied, or not ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Explain.h. Everything follows from the groups as they were formed, from
// what the fusion said when it refused, and from its rules: an operation joins
// the latest group among the producers of its operands.
//
//===----------------------------------------------------------------------===//
#include "compiler/report/Explain.h"

#include "compiler/report/Stats.h"
#include "dialects/graph/OpTable.h"
#include "dialects/support/Text.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace tenon::report {

using graph::Graph;
using graph::Op;
using When = ReorderInfo::When;

namespace {

bool prepares(const GroupStats &group) {
  return group.kind == "pack" || group.kind == "copy";
}

bool isView(const Op &op) { return graph::isView(graph::factsOf(op.kind)); }

std::string countOf(double bytes) {
  return bytes > 0 ? std::to_string(static_cast<int64_t>(bytes)) + " bytes"
                   : "a tensor of unknown size";
}

/// Remarks of tenon-assign-layouts begin with it.
constexpr std::string_view kLayoutRemark = "layout: ";

bool contains(const std::vector<size_t> &list, size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// "op: reason" is about `name`, or about several joined with "+"; names may
/// hold colons.
std::optional<std::string> reasonFor(const std::string &remark,
                                     const std::string &name) {
  for (size_t at = remark.find(": "); at != remark.npos;
       at = remark.find(": ", at + 1)) {
    std::string head = "+" + remark.substr(0, at) + "+";
    if (head.find("+" + name + "+") != head.npos)
      return remark.substr(at + 2);
  }
  return std::nullopt;
}

std::string whenText(When when) {
  return when == When::bind ? "once, when constants are bound"
                            : "in every execution";
}

/// "8 bytes read, 8 written, at best 1 us".
std::string costText(const Traffic &bytes, double seconds) {
  std::string text =
      countText(static_cast<int64_t>(bytes.read), "byte") + " read, " +
      std::to_string(static_cast<int64_t>(bytes.written)) + " written";
  if (seconds <= 0)
    return text;
  bool isShort = seconds < 1e-4;
  char time[32];
  std::snprintf(time, sizeof time, "%.3g %s", seconds * (isShort ? 1e6 : 1e3),
                isShort ? "us" : "ms");
  return text + ", at best " + time;
}

} // namespace

Explainer::Explainer(const Graph &graph, const CompileReport &report, bool fuse,
                     MoveTime moveTime)
    : graph(graph), report(report), fuse(fuse), moveTime(std::move(moveTime)),
      producers(graph.producers()), mainOf(graph.ops.size()),
      foldOf(graph.ops.size()), copiesOf(graph.ops.size()) {
  for (size_t g = 0; g < report.mainGroups.size(); ++g) {
    const GroupStats &group = report.mainGroups[g];
    for (size_t op : group.ops)
      if (group.kind == "copy")
        copiesOf[op].push_back(g);
      else if (!prepares(group))
        mainOf[op].push_back(g);
  }
  for (size_t g = 0; g < report.foldGroups.size(); ++g)
    if (!prepares(report.foldGroups[g]))
      for (size_t op : report.foldGroups[g].ops)
        foldOf[op].push_back(g);
  for (const ReorderInfo &reorder : report.reorders)
    if (reorder.when != When::never || !shareGroup(reorder))
      reorders.push_back(&reorder);
}

/// Whether who writes a tensor and who reads it are in one group.
bool Explainer::shareGroup(const ReorderInfo &reorder) const {
  for (size_t from : reorder.from)
    for (size_t to : reorder.to)
      for (size_t group : mainOf[from])
        if (contains(mainOf[to], group))
          return true;
  return false;
}

double Explainer::secondsOf(const Traffic &bytes) const {
  return moveTime && bytes.read + bytes.written > 0 ? moveTime(bytes) : 0;
}

ReorderAnswer Explainer::answerFor(const ReorderInfo &reorder) const {
  ReorderAnswer answer;
  answer.info = reorder;
  if (reorder.sized)
    answer.seconds = secondsOf(reorder.bytes);
  std::string cost = reorder.sized ? costText(reorder.bytes, answer.seconds)
                                   : "a tensor of unknown size";
  answer.text = reorder.what + ", " + reorder.types + ": " +
                (reorder.when == When::never ? "saves a copy, " : "") + cost +
                ", " + whenText(reorder.when);
  return answer;
}

ReorderSum Explainer::sumOf(When when) const {
  ReorderSum sum;
  for (const ReorderInfo *reorder : reorders) {
    if (reorder->when != when)
      continue;
    ++sum.count;
    sum.unsized += !reorder->sized;
    if (!reorder->sized)
      continue;
    sum.bytes.read += reorder->bytes.read;
    sum.bytes.written += reorder->bytes.written;
    sum.seconds += secondsOf(reorder->bytes);
  }
  return sum;
}

std::vector<std::string> Explainer::sumTexts() const {
  std::vector<std::string> texts;
  for (When when : {When::run, When::bind, When::never}) {
    ReorderSum sum = sumOf(when);
    bool saved = when == When::never;
    std::string text =
        (saved ? "saved " : "") + whenText(when) + ": " +
        countText(static_cast<int64_t>(sum.count), "copy", "copies");
    if (sum.count > sum.unsized)
      text += ", " + costText(sum.bytes, sum.seconds);
    if (sum.unsized)
      text += ", " + std::to_string(sum.unsized) + " of unknown size";
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string Explainer::called(size_t op) const {
  const Op &o = graph.ops[op];
  return o.kind + " \"" + o.name + "\"";
}

std::string Explainer::groupText(size_t group) const {
  const GroupStats &g = report.mainGroups[group];
  return "group " + std::to_string(group) + ", " + g.label + " (" + g.kind +
         ")";
}

/// What passes said about an operation, each once: of its layout, or else.
std::vector<std::string> Explainer::remarksOf(size_t op, bool layout) const {
  std::vector<std::string> texts;
  for (const std::string &remark : report.remarks) {
    auto text = reasonFor(remark, graph.ops[op].name);
    if (!text || text->starts_with(kLayoutRemark) != layout)
      continue;
    if (layout)
      text->erase(0, kLayoutRemark.size());
    if (std::find(texts.begin(), texts.end(), *text) == texts.end())
      texts.push_back(*text);
  }
  return texts;
}

std::vector<std::string> Explainer::reasonsOf(size_t op) const {
  std::vector<std::string> reasons = remarksOf(op, false);
  if (!fuse)
    reasons.insert(reasons.begin(), "fusion is off");
  return reasons;
}

/// Why an operation that nothing was said about is where it is.
std::string Explainer::whyHere(size_t op) const {
  if (mainOf[op].empty())
    return {};
  size_t group = mainOf[op].front();
  std::set<size_t> computed;
  std::optional<size_t> inside;
  for (uint64_t id : graph.ops[op].inputs) {
    auto p = producers.find(id);
    if (p == producers.end() || mainOf[p->second].empty())
      continue;
    computed.insert(p->second);
    if (contains(mainOf[p->second], group))
      inside = p->second;
  }
  if (inside)
    return "it joined group " + std::to_string(group) + " after " +
           called(*inside) +
           (computed.size() > 1 ? ": of several producers the latest counts"
                                : "");
  if (!computed.empty())
    return {};
  return "it starts its group: no operand is computed by a group before it";
}

OpAnswer Explainer::explainOp(size_t op) const {
  OpAnswer answer;
  answer.op = op;
  answer.groups = mainOf[op];
  answer.folds = foldOf[op];
  answer.reasons = reasonsOf(op);
  answer.layouts = remarksOf(op, true);
  if (!answer.groups.empty()) {
    const GroupStats &group = report.mainGroups[answer.groups.front()];
    answer.verdict = group.ops.size() > 1 ? "fused" : "alone";
    answer.text = "in ";
    for (size_t g : answer.groups)
      answer.text += (g == answer.groups.front() ? "" : " and ") + groupText(g);
    if (group.ops.size() > 1)
      answer.text +=
          ", with " + countText(static_cast<int64_t>(group.ops.size() - 1),
                                "other operation");
    if (answer.reasons.empty())
      if (std::string why = whyHere(op); !why.empty())
        answer.reasons.push_back(why);
  } else if (!answer.folds.empty()) {
    answer.verdict = "folded";
    answer.text = "computed once, when constants are bound";
  } else if (isView(graph.ops[op])) {
    answer.verdict = copiesOf[op].empty() ? "view" : "copied";
    answer.text = copiesOf[op].empty()
                      ? "it changes sizes and strides of a buffer, nothing is "
                        "copied"
                      : "copied: no view of the buffer expresses it";
  } else {
    answer.verdict = "none";
    answer.text = "no code of its own: rewritten into others, equal to another "
                  "operation, or nobody reads it";
  }
  for (const ReorderInfo *reorder : reorders)
    if (contains(reorder->ops, op))
      answer.reorders.push_back(answerFor(*reorder));
  return answer;
}

/// Who needs a tensor of `group` in memory: " as ... reads it"; or empty.
std::string Explainer::outsideReaders(uint64_t tensor, size_t group) const {
  const auto &ports = graph.outputPorts;
  if (std::find(ports.begin(), ports.end(), tensor) != ports.end())
    return ", but written as well: it is an output";
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const auto &inputs = graph.ops[op].inputs;
    if (std::find(inputs.begin(), inputs.end(), tensor) != inputs.end() &&
        !contains(mainOf[op], group))
      return ", but written as well: " + called(op) + " reads it";
  }
  return {};
}

/// Between two operations.
void Explainer::explainInner(EdgeAnswer &answer) const {
  size_t from = *answer.from, to = *answer.to;
  for (size_t g : mainOf[from])
    if (contains(mainOf[to], g)) {
      std::string readers = outsideReaders(answer.tensor, g);
      answer.verdict = "fused";
      answer.text = "both are in " + groupText(g) + ": " +
                    countOf(answer.bytes) + " stay inside" + readers;
      return;
    }
  for (size_t op : {from, to})
    if (mainOf[op].empty() && isView(graph.ops[op])) {
      if (copiesOf[op].empty()) {
        answer.verdict = "view";
        answer.text = called(op) + " changes sizes and strides of a buffer, "
                                   "nothing is copied";
      } else {
        const GroupStats &copy = report.mainGroups[copiesOf[op].front()];
        answer.verdict = "copied";
        answer.text = called(op) + " is copied, " + copy.types +
                      ": no view of the buffer expresses it";
      }
      return;
    }
  if (mainOf[from].empty() && !foldOf[from].empty()) {
    answer.verdict = "folded";
    answer.text = called(from) + " is computed once, when constants are bound";
    return;
  }
  if (mainOf[from].empty() || mainOf[to].empty()) {
    answer.verdict = "none";
    answer.text = called(mainOf[from].empty() ? from : to) +
                  " has no code of its own: rewritten into others, equal to "
                  "another operation, or nobody reads it";
    return;
  }
  for (size_t g : mainOf[to])
    if (contains(report.mainGroups[g].inPlace, from)) {
      answer.verdict = "in place";
      answer.text = called(from) + " writes " + countOf(answer.bytes) +
                    " where " + called(to) + " joins them: nothing is copied";
      return;
    }
  answer.verdict = "memory";
  answer.text = called(from) + " is in " + groupText(mainOf[from].back()) +
                ", " + called(to) + " in " + groupText(mainOf[to].front()) +
                ": " + countOf(answer.bytes) + " are written and read again";
  answer.reasons = reasonsOf(to);
  if (answer.reasons.empty())
    if (std::string why = whyHere(to); !why.empty())
      answer.reasons.push_back(why);
}

EdgeAnswer Explainer::explainPlace(std::optional<size_t> from, uint64_t tensor,
                                   std::optional<size_t> to) const {
  EdgeAnswer answer;
  answer.from = from;
  answer.to = to;
  answer.tensor = tensor;
  answer.bytes = bytesOf(graph.tensor(tensor));
  if (from && to) {
    explainInner(answer);
  } else if (to) {
    bool folded = mainOf[*to].empty() && !foldOf[*to].empty();
    answer.verdict = folded ? "folded" : "input";
    answer.text = countOf(answer.bytes) + " of an input are read" +
                  (folded ? ", once, when constants are bound" : "");
  } else {
    answer.verdict = "output";
    answer.text = countOf(answer.bytes) + " are written to an output";
  }
  return answer;
}

/// Whoever reads a view reads what the view shows.
bool Explainer::isOn(const ReorderInfo &reorder, const EdgeAnswer &edge) const {
  std::optional<size_t> from = edge.from;
  uint64_t tensor = edge.tensor;
  while (from && mainOf[*from].empty() && isView(graph.ops[*from])) {
    tensor = graph.ops[*from].inputs.front();
    auto p = producers.find(tensor);
    from = p == producers.end() ? std::nullopt : std::optional(p->second);
  }
  bool isFrom = from ? !reorder.input && (reorder.from.empty() ||
                                          contains(reorder.from, *from))
                     : reorder.input == tensor;
  bool isTo = edge.to ? !reorder.output && contains(reorder.to, *edge.to)
                      : reorder.output == edge.tensor;
  return isFrom && isTo;
}

EdgeAnswer Explainer::explainEdge(std::optional<size_t> from, uint64_t tensor,
                                  std::optional<size_t> to) const {
  EdgeAnswer answer = explainPlace(from, tensor, to);
  for (const ReorderInfo *reorder : reorders)
    if (isOn(*reorder, answer))
      answer.reorders.push_back(answerFor(*reorder));
  return answer;
}

std::vector<EdgeAnswer> Explainer::explainEdges() const {
  std::vector<EdgeAnswer> answers;
  auto producerOf = [&](uint64_t id) -> std::optional<size_t> {
    auto p = producers.find(id);
    return p == producers.end() ? std::nullopt : std::optional(p->second);
  };
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (uint64_t id : graph.ops[op].inputs)
      answers.push_back(explainEdge(producerOf(id), id, op));
  for (uint64_t id : graph.outputPorts)
    answers.push_back(explainEdge(producerOf(id), id, std::nullopt));
  return answers;
}

} // namespace tenon::report
