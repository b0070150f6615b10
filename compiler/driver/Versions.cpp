// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Versions.h"

#include "compiler/report/CompileReport.h"

#include <algorithm>
#include <numeric>

namespace tenon {

std::map<std::string, std::vector<OpenDim>>
openSizes(const graph::Graph &graph) {
  std::map<std::string, std::vector<OpenDim>> dims;
  for (size_t input = 0; input < graph.inputPorts.size(); ++input) {
    const graph::LogicalTensor &t = graph.tensor(graph.inputPorts[input]);
    for (size_t i = 0; i < t.sizes.size(); ++i)
      if ((*t.shape)[i] == graph::kUnknownDim &&
          graph.sizeFacts.count(t.sizes[i]))
        dims[t.sizes[i]].push_back({input, i});
  }
  return dims;
}

namespace {

/// Positions in the lists of likely values, one for each name.
using Choice = std::vector<size_t>;

/// All combinations, of positions with a small sum first.
std::vector<Choice> combine(const std::vector<std::vector<int64_t>> &likely) {
  std::vector<Choice> all = {{}};
  for (const auto &values : likely) {
    std::vector<Choice> longer;
    for (const Choice &choice : all)
      for (size_t i = 0; i < values.size(); ++i) {
        longer.push_back(choice);
        longer.back().push_back(i);
      }
    // What is cut here would be cut at the end.
    std::sort(
        longer.begin(), longer.end(), [](const Choice &a, const Choice &b) {
          auto key = [](const Choice &c) {
            return std::pair(std::accumulate(c.begin(), c.end(), size_t(0)), c);
          };
          return key(a) < key(b);
        });
    if (longer.size() > kMostVersions + 1)
      longer.resize(kMostVersions + 1);
    all = std::move(longer);
  }
  return all;
}

} // namespace

Versions versionsOf(const graph::PreparedGraph &graph) {
  Versions versions;
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> likely;
  auto open = openSizes(*graph);
  size_t count = 1;
  for (const auto &[name, dims] : open)
    if (const auto &values = graph->sizeFacts.at(name).likely;
        !values.empty()) {
      names.push_back(name);
      likely.push_back(values);
      count = std::min(count * values.size(), size_t(1) << 32);
    }
  if (names.empty())
    return versions;
  std::vector<Choice> choices = combine(likely);
  if (count > kMostVersions) {
    choices.resize(kMostVersions);
    versions.remarks.push_back(
        std::string(kVersionRemark) + "there are " + std::to_string(count) +
        " combinations of likely values; the first " +
        std::to_string(kMostVersions) + " get code of their own");
  }
  for (const Choice &choice : choices) {
    graph::Graph special = *graph;
    std::string name;
    for (size_t i = 0; i < names.size(); ++i) {
      int64_t value = likely[i][choice[i]];
      name += (i ? ", " : "") + names[i] + "=" + std::to_string(value);
      for (const OpenDim &at : open.at(names[i]))
        (*special.tensor(special.inputPorts[at.input]).shape)[at.dim] = value;
    }
    for (auto &[_, facts] : special.sizeFacts)
      facts.likely.clear();
    if (auto prepared = graph::prepareGraph(std::move(special)))
      versions.list.push_back({std::move(name), std::move(*prepared)});
    else
      versions.remarks.push_back(std::string(kVersionRemark) + "no code for " +
                                 name + ": " + prepared.errors().front().str());
  }
  return versions;
}

} // namespace tenon
