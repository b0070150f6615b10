//===- Graph.cpp - a graph as plain data ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Graph.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <utility>

namespace tenon::graph {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  double bytes;
  bool isFloat;
};

constexpr DTypeRow dtypeRows[] = {
    {DType::undef, "undef", 0, false},    {DType::f16, "f16", 2, true},
    {DType::bf16, "bf16", 2, true},       {DType::f32, "f32", 4, true},
    {DType::s32, "s32", 4, false},        {DType::s8, "s8", 1, false},
    {DType::u8, "u8", 1, false},          {DType::boolean, "boolean", 1, false},
    {DType::f8_e5m2, "f8_e5m2", 1, true}, {DType::f8_e4m3, "f8_e4m3", 1, true},
    {DType::s4, "s4", 0.5, false},        {DType::u4, "u4", 0.5, false},
    {DType::s64, "s64", 8, false},        {DType::f64, "f64", 8, true},
    {DType::f8_e8m0, "f8_e8m0", 1, true}};

// Indexed by the enumerations.
constexpr std::string_view layoutNames[] = {"undef", "any", "strided",
                                            "opaque"};
constexpr std::string_view propertyNames[] = {"undef", "variable", "constant",
                                              "host_scalar"};

const DTypeRow &row(DType dtype) {
  auto index = static_cast<size_t>(dtype);
  return index < std::size(dtypeRows) ? dtypeRows[index] : dtypeRows[0];
}

template <typename Enum, size_t N>
std::optional<Enum> parseName(const std::string_view (&names)[N],
                              std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text)
      return static_cast<Enum>(i);
  return std::nullopt;
}

template <typename Enum, size_t N>
std::string_view nameOf(const std::string_view (&names)[N], Enum value) {
  auto index = static_cast<size_t>(value);
  return index < N ? names[index] : names[0];
}

std::string label(const Op &op) {
  return op.kind + " \"" + op.name + "\" (id " + std::to_string(op.id) + ")";
}

/// Producer of each tensor; a second producer and a second use of an operation
/// id are appended to `errors`.
std::map<uint64_t, size_t> collectProducers(const Graph &graph,
                                            std::vector<Error> &errors) {
  std::map<uint64_t, size_t> producers;
  std::map<uint64_t, size_t> opIds;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op &op = graph.ops[i];
    if (auto [it, isNew] = opIds.try_emplace(op.id, i); !isNew)
      errors.push_back(
          errorAbout(op, ErrorCode::DuplicateOpId,
                     "id is already used by " + label(graph.ops[it->second]),
                     "give every operation its own id"));
    for (uint64_t id : op.outputs)
      if (auto [it, isNew] = producers.try_emplace(id, i); !isNew)
        errors.push_back(errorAbout(op, ErrorCode::TwoProducers,
                                    "tensor " + std::to_string(id) +
                                        " is already written by " +
                                        label(graph.ops[it->second]),
                                    "give each result its own tensor id"));
  }
  return producers;
}

/// Names one cycle among the operations that were not `placed`.
Error describeCycle(const Graph &graph,
                    const std::map<uint64_t, size_t> &producers,
                    const std::vector<bool> &placed) {
  // Every unplaced operation waits for an unplaced producer, so walking
  // producers from any of them runs into a cycle.
  size_t at = std::find(placed.begin(), placed.end(), false) - placed.begin();
  std::vector<size_t> path;
  std::unordered_map<size_t, size_t> position;
  while (position.try_emplace(at, path.size()).second) {
    path.push_back(at);
    for (uint64_t id : graph.ops[at].inputs)
      if (auto it = producers.find(id);
          it != producers.end() && !placed[it->second]) {
        at = it->second;
        break;
      }
  }
  constexpr size_t maxNamed = 8;
  std::string text;
  // The walk went against the edges; print along them.
  size_t first = position[at];
  size_t count = path.size() - first;
  for (size_t i = 0; i < std::min(count, maxNamed); ++i)
    text += label(graph.ops[path[path.size() - 1 - i]]) + " -> ";
  text += count > maxNamed ? "... (" + std::to_string(count) + " operations)"
                           : label(graph.ops[path.back()]);
  return errorAbout(graph.ops[path.back()], ErrorCode::Cycle,
                    "operations depend on each other: " + text,
                    "a graph must be free of cycles");
}

} // namespace

Error errorAbout(const Op &op, ErrorCode code, std::string message,
                 std::string hint) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.opKind = op.kind;
  error.opName = op.name;
  error.opId = op.id;
  error.hint = std::move(hint);
  return error;
}

std::string_view name(DType dtype) { return row(dtype).name; }
std::string_view name(LayoutType layout) { return nameOf(layoutNames, layout); }
std::string_view name(PropertyType property) {
  return nameOf(propertyNames, property);
}

std::optional<DType> parseDType(std::string_view text) {
  for (const DTypeRow &candidate : dtypeRows)
    if (candidate.name == text)
      return candidate.dtype;
  return std::nullopt;
}

std::optional<LayoutType> parseLayoutType(std::string_view text) {
  return parseName<LayoutType>(layoutNames, text);
}

std::optional<PropertyType> parsePropertyType(std::string_view text) {
  return parseName<PropertyType>(propertyNames, text);
}

bool isFloat(DType dtype) { return row(dtype).isFloat; }
double byteSize(DType dtype) { return row(dtype).bytes; }

bool LogicalTensor::hasStaticShape() const {
  return shape &&
         std::find(shape->begin(), shape->end(), kUnknownDim) == shape->end();
}

int64_t LogicalTensor::numElements() const {
  // Saturates: a hostile shape must not overflow, and no allocation of
  // INT64_MAX elements ever succeeds.
  int64_t count = 1;
  bool overflow = false;
  for (int64_t dim : *shape) {
    if (dim == 0)
      return 0;
    overflow |= __builtin_mul_overflow(count, dim, &count);
  }
  return overflow ? INT64_MAX : count;
}

Dims LogicalTensor::effectiveStrides() const {
  if (!strides.empty() || !shape)
    return strides;
  return denseStrides(*shape);
}

Dims denseStrides(const Dims &shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    if (step == kUnknownDim)
      continue;
    if (shape[i] == kUnknownDim)
      step = kUnknownDim;
    else if (__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1),
                                    &step))
      step = INT64_MAX;
  }
  return strides;
}

const AttrValue *Op::attr(std::string_view name) const {
  auto it = attrs.find(name);
  return it == attrs.end() ? nullptr : &it->second;
}

/// The operand of the table that the given one at `position` is.
static size_t slotOf(uint64_t absent, size_t position) {
  size_t slot = 0;
  for (;; ++slot) {
    bool left = slot < kMaxAbsent && (absent >> slot & 1);
    if (!left && position-- == 0)
      return slot;
  }
}

static std::optional<uint64_t>
tensorAt(uint64_t absent, const std::vector<uint64_t> &given, size_t slot) {
  if (slot < kMaxAbsent && (absent >> slot & 1))
    return std::nullopt;
  uint64_t before = slot < kMaxAbsent ? (uint64_t{1} << slot) - 1 : ~uint64_t{};
  size_t position = slot - std::popcount(absent & before);
  return position < given.size() ? std::optional(given[position])
                                 : std::nullopt;
}

size_t slotCount(uint64_t absent, size_t given) {
  return given ? slotOf(absent, given - 1) + 1 : 0;
}

size_t Op::inputSlot(size_t position) const {
  return slotOf(absentInputs, position);
}
size_t Op::outputSlot(size_t position) const {
  return slotOf(absentOutputs, position);
}
std::optional<uint64_t> Op::inputAt(size_t slot) const {
  return tensorAt(absentInputs, inputs, slot);
}
std::optional<uint64_t> Op::outputAt(size_t slot) const {
  return tensorAt(absentOutputs, outputs, slot);
}

static bool leaveOut(uint64_t &absent, size_t given) {
  size_t next = slotOf(absent, given);
  if (next >= kMaxAbsent)
    return false;
  absent |= uint64_t{1} << next;
  return true;
}
bool Op::leaveOutInput() { return leaveOut(absentInputs, inputs.size()); }
bool Op::leaveOutOutput() { return leaveOut(absentOutputs, outputs.size()); }

std::map<uint64_t, size_t> Graph::producers() const {
  std::vector<Error> ignored;
  return collectProducers(*this, ignored);
}

std::vector<Error> topologicalSort(Graph &graph) {
  std::vector<Error> errors;
  const auto producers = collectProducers(graph, errors);
  if (!errors.empty())
    return errors;

  size_t count = graph.ops.size();
  std::vector<size_t> waitsFor(count, 0);
  std::vector<std::vector<size_t>> users(count);
  for (size_t i = 0; i < count; ++i)
    for (uint64_t id : graph.ops[i].inputs)
      if (auto it = producers.find(id); it != producers.end()) {
        users[it->second].push_back(i);
        ++waitsFor[i];
      }

  // The smallest ready index first: file order survives where it may.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (waitsFor[i] == 0)
      ready.push(i);
  std::vector<size_t> order;
  std::vector<bool> placed(count, false);
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    placed[i] = true;
    for (size_t user : users[i])
      if (--waitsFor[user] == 0)
        ready.push(user);
  }
  if (order.size() != count) {
    errors.push_back(describeCycle(graph, producers, placed));
    return errors;
  }

  std::vector<Op> sorted;
  sorted.reserve(count);
  for (size_t i : order)
    sorted.push_back(std::move(graph.ops[i]));
  graph.ops = std::move(sorted);
  return errors;
}

/// Keeps the first of equal ids. Files list a port once per reader.
static void removeRepeats(std::vector<uint64_t> &ports) {
  std::set<uint64_t> seen;
  std::erase_if(ports, [&](uint64_t id) { return !seen.insert(id).second; });
}

/// Dumps of oneDNN list tensors that no operation of the graph has.
static void moveIgnored(Graph &graph, const std::set<uint64_t> &read) {
  std::erase_if(graph.inputPorts, [&](uint64_t id) {
    auto it = graph.tensors.find(id);
    bool isKnown =
        it != graph.tensors.end() && it->second.dtype != DType::undef;
    if (read.count(id) || isKnown)
      return false;
    graph.ignoredInputs.push_back(id);
    return true;
  });
  removeRepeats(graph.ignoredInputs);
}

std::vector<std::string> remarksOnPorts(const Graph &graph) {
  std::vector<std::string> remarks;
  for (uint64_t id : graph.ignoredInputs)
    remarks.push_back("input_ports names tensor " + std::to_string(id) +
                      ", which no operation reads: it is ignored");
  for (uint64_t id : graph.ignoredOutputs)
    remarks.push_back("output_ports names tensor " + std::to_string(id) +
                      ", which the graph does not have, and none that it has: "
                      "results that no operation reads leave the graph");
  return remarks;
}

std::vector<Error> completePorts(Graph &graph) {
  std::vector<Error> errors;
  removeRepeats(graph.inputPorts);
  removeRepeats(graph.outputPorts);
  std::set<uint64_t> read, written;
  for (const Op &op : graph.ops) {
    read.insert(op.inputs.begin(), op.inputs.end());
    written.insert(op.outputs.begin(), op.outputs.end());
  }

  auto report = [&](const char *list, uint64_t id, const char *problem,
                    const char *hint) {
    Error error;
    error.code = ErrorCode::BadPort;
    error.message = std::string(list) + " names tensor " + std::to_string(id) +
                    ", " + problem;
    error.hint = hint;
    errors.push_back(std::move(error));
  };
  auto hasTensor = [&](uint64_t id) {
    return read.count(id) || written.count(id) || graph.tensors.count(id);
  };
  for (uint64_t id : graph.inputPorts)
    if (written.count(id))
      report("input_ports", id, "which an operation of the graph writes",
             "an input of the graph has no producer");
  for (uint64_t id : graph.outputPorts)
    if (!hasTensor(id))
      report("output_ports", id, "which the graph does not have",
             "remove it or correct the id");
  if (!errors.empty())
    return errors;
  moveIgnored(graph, read);

  std::set<uint64_t> inputs(graph.inputPorts.begin(), graph.inputPorts.end());
  std::set<uint64_t> outputs(graph.outputPorts.begin(),
                             graph.outputPorts.end());
  for (const Op &op : graph.ops) {
    for (uint64_t id : op.inputs)
      if (!written.count(id) && inputs.insert(id).second)
        graph.inputPorts.push_back(id);
      else if (op.kind == "End" && written.count(id) &&
               outputs.insert(id).second)
        graph.outputPorts.push_back(id);
    for (uint64_t id : op.outputs)
      if (!read.count(id) && outputs.insert(id).second)
        graph.outputPorts.push_back(id);
  }
  return errors;
}

} // namespace tenon::graph
