//===- OverrideNames.cpp - names in changes to a model --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The grammar of changes (compiler/import/Overrides.h) has ids of tensors and
// operations. People know the names.
//
//===----------------------------------------------------------------------===//
#include "dialects/support/Text.h"
#include "tools/tenon/ModelArgs.h"

#include <algorithm>

namespace tenon::cli {

using graph::Graph;

namespace {

using Resolve = Expected<uint64_t> (*)(const Graph &graph,
                                       std::string_view name);

/// The operation of this id or name.
Expected<uint64_t> resolveOp(const Graph &graph, std::string_view name) {
  if (std::optional<int64_t> id = parseInteger(name); id && *id >= 0)
    return static_cast<uint64_t>(*id);
  std::vector<std::string> names;
  for (const graph::Op &op : graph.ops) {
    if (op.name == name)
      return op.id;
    names.push_back(op.name);
  }
  Error error;
  error.code = ErrorCode::UnknownTensor;
  error.message = "no operation is called \"" + std::string(name) + "\"";
  if (std::string near = closest(name, names); !near.empty())
    error.hint = "did you mean " + near;
  return error;
}

/// Ids that a graph lacks are for parseOverrides and applyOverrides to judge.
Expected<uint64_t> resolvePort(const Graph &graph, std::string_view name) {
  auto found = resolveTensor(graph, name);
  std::optional<int64_t> id = parseInteger(name);
  if (!found && id && *id >= 0)
    return static_cast<uint64_t>(*id);
  return found;
}

/// The entries of an override: a name may hold a plus, what has no colon is
/// part of the next name.
std::vector<std::string> entriesOf(const std::string &text) {
  std::vector<std::string> entries;
  bool isWhole = true;
  for (std::string &piece : splitText(text, '+')) {
    bool ends = piece.find(':') != piece.npos;
    if (isWhole)
      entries.push_back(std::move(piece));
    else
      entries.back() += "+" + piece;
    isWhole = ends;
  }
  return entries;
}

/// `entry` with an id for the name that it starts with. A name may hold
/// colons: the longest one that is known counts.
Expected<std::string> withId(const Graph &graph, const std::string &entry,
                             Resolve resolve) {
  Expected<std::string> result(entry);
  for (size_t colon = entry.rfind(':'); colon != entry.npos;
       colon = colon ? entry.rfind(':', colon - 1) : entry.npos) {
    auto id = resolve(graph, std::string_view(entry).substr(0, colon));
    if (id)
      return std::to_string(*id) + entry.substr(colon);
    result = id.errors();
  }
  return result;
}

} // namespace

Expected<OverrideText> namesToIds(const Graph &graph, OverrideText overrides) {
  struct Option {
    const char *flag;
    std::string OverrideText::*text;
    Resolve resolve;
  };
  constexpr Option options[] = {
      {"in-shapes", &OverrideText::inShapes, resolvePort},
      {"dt", &OverrideText::dt, resolvePort},
      {"tensor-property", &OverrideText::tensorProperty, resolvePort},
      {"op-attrs", &OverrideText::opAttrs, resolveOp},
      {"op-kind", &OverrideText::opKind, resolveOp}};
  std::vector<Error> errors;
  for (const Option &option : options) {
    std::string &text = overrides.*option.text;
    // Several alternatives: parseOverrides says that it is one too many.
    if (text.find(',') != text.npos)
      continue;
    std::string joined;
    for (const std::string &entry : entriesOf(text)) {
      auto replaced = withId(graph, entry, option.resolve);
      if (replaced) {
        joined += (joined.empty() ? "" : "+") + *replaced;
        continue;
      }
      Error error = replaced.errors().front();
      error.message = "--" + std::string(option.flag) + ": " + error.message;
      errors.push_back(std::move(error));
    }
    text = std::move(joined);
  }
  if (!errors.empty())
    return errors;
  return overrides;
}

OverrideText withoutShapesOf(const std::vector<std::string> &unread,
                             OverrideText overrides) {
  std::string joined;
  for (const std::string &entry : entriesOf(overrides.inShapes)) {
    std::string name = entry.substr(0, entry.rfind(':'));
    if (std::find(unread.begin(), unread.end(), name) == unread.end())
      joined += (joined.empty() ? "" : "+") + entry;
  }
  overrides.inShapes = std::move(joined);
  return overrides;
}

std::map<std::string, graph::Dims, std::less<>>
shapesByName(const OverrideText &overrides) {
  std::map<std::string, graph::Dims, std::less<>> shapes;
  if (overrides.inShapes.find(',') != overrides.inShapes.npos)
    return shapes;
  for (const std::string &entry : entriesOf(overrides.inShapes)) {
    size_t colon = entry.rfind(':');
    if (colon == entry.npos)
      continue;
    graph::Dims dims;
    bool isShape = true;
    std::string shape = entry.substr(colon + 1);
    shape.resize(std::min(shape.size(), shape.find('*')));
    if (shape != "-")
      for (const std::string &piece : splitText(shape, 'x')) {
        std::optional<int64_t> dim = parseInteger(piece);
        isShape &= dim && *dim >= 0;
        dims.push_back(dim.value_or(0));
      }
    if (isShape && !shape.empty())
      shapes[entry.substr(0, colon)] = std::move(dims);
  }
  return shapes;
}

} // namespace tenon::cli
