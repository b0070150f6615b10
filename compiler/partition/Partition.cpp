//===- Partition.cpp - what compiles together -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each operation has a level: the largest number of unsupported operations on
// a path that ends before it. Supported operations of one level are a region:
// levels never fall along an edge, and a path that leaves the region through
// an unsupported operation comes back on a higher level, so regions are convex
// and can be executed level by level.
//
// Levels count from the inputs. A piece that only feeds a later region (the
// scale of a tensor that comes from an unsupported operation, say) would be in
// an early region without anything in common with it: such pieces move to the
// earliest region that reads them.
//
//===----------------------------------------------------------------------===//
#include "compiler/partition/Partition.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/SizeExpr.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace tenon {

using graph::Graph;
using graph::Op;

namespace {

constexpr int64_t kNever = INT64_MAX;

/// A mark, which is in no partition.
bool isEnd(const Op &op) { return op.kind == "End"; }

/// Sets of operations joined pairwise.
class Pieces {
public:
  explicit Pieces(size_t size) : parent(size) {
    std::iota(parent.begin(), parent.end(), size_t(0));
  }
  size_t find(size_t i) {
    while (parent[i] != i)
      i = parent[i] = parent[parent[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent[find(a)] = find(b); }

private:
  std::vector<size_t> parent;
};

struct Partitioner {
  explicit Partitioner(const Graph &graph)
      : graph(graph), producers(graph.producers()), levels(graph.ops.size()) {
    for (const Op &op : graph.ops)
      reasons.push_back(whyUnsupported(graph, op));
    for (size_t i = 0; i < graph.ops.size(); ++i)
      for (uint64_t id : graph.ops[i].inputs)
        if (auto p = producers.find(id); p != producers.end())
          edges.push_back({p->second, i});
  }

  bool supported(size_t op) const { return reasons[op].empty(); }

  void findLevels() {
    for (size_t i = 0; i < graph.ops.size(); ++i)
      for (uint64_t id : graph.ops[i].inputs)
        if (auto p = producers.find(id); p != producers.end())
          levels[i] =
              std::max(levels[i], levels[p->second] + !supported(p->second));
  }

  void moveToReaders() {
    Pieces pieces(graph.ops.size());
    for (auto [from, to] : edges)
      if (supported(from) && supported(to) && levels[from] == levels[to])
        pieces.join(from, to);
    // The earliest level at which something outside reads the piece.
    std::vector<int64_t> readers(graph.ops.size(), kNever);
    for (auto [from, to] : edges)
      if (supported(from) && pieces.find(from) != pieces.find(to)) {
        int64_t &reader = readers[pieces.find(from)];
        reader = std::min(reader, levels[to]);
      }
    // A piece with a reader on its own level, an unsupported one, has to be
    // there. One that nobody reads stays, too. Later pieces have found their
    // level when earlier ones look at them.
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (supported(i) && pieces.find(i) == i && readers[i] != kNever &&
          readers[i] > levels[i])
        order.push_back({-levels[i], i});
    std::sort(order.begin(), order.end());
    std::vector<std::vector<size_t>> readersOf(graph.ops.size());
    for (auto [from, to] : edges)
      if (size_t piece = pieces.find(from);
          supported(from) && piece != pieces.find(to))
        readersOf[piece].push_back(to);
    std::vector<int64_t> moved(graph.ops.size(), -1); // by piece
    auto levelNow = [&](size_t op) {
      int64_t m = supported(op) ? moved[pieces.find(op)] : -1;
      return m >= 0 ? m : levels[op];
    };
    for (auto [negative, piece] : order) {
      int64_t earliest = kNever;
      bool region = false; // Is there one at that level to join?
      for (size_t reader : readersOf[piece]) {
        int64_t level = levelNow(reader);
        if (level < earliest)
          region = false;
        earliest = std::min(earliest, level);
        region |= level == earliest && supported(reader);
      }
      if (region)
        moved[piece] = earliest;
    }
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (supported(i) && moved[pieces.find(i)] >= 0)
        levels[i] = moved[pieces.find(i)];
  }

  /// Regions and single operations, level by level.
  std::vector<Partition> collect() {
    std::vector<size_t> order(graph.ops.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tuple(levels[a], !supported(a), a) <
             std::tuple(levels[b], !supported(b), b);
    });
    std::vector<Partition> result;
    int64_t regionLevel = -1;
    for (size_t i : order) {
      if (isEnd(graph.ops[i]))
        continue;
      if (!supported(i) || levels[i] != regionLevel) {
        result.emplace_back();
        regionLevel = supported(i) ? levels[i] : -1;
      }
      result.back().ops.push_back(i);
      result.back().supported = supported(i);
      result.back().reason = reasons[i];
    }
    return result;
  }

  std::vector<Partition> single() {
    std::vector<Partition> result;
    for (size_t i = 0; i < graph.ops.size(); ++i)
      if (!isEnd(graph.ops[i]))
        result.push_back({{i}, {}, {}, supported(i), reasons[i]});
    return result;
  }

  void findPorts(std::vector<Partition> &partitions) {
    std::vector<size_t> home(graph.ops.size(), partitions.size());
    for (size_t p = 0; p < partitions.size(); ++p)
      for (size_t op : partitions[p].ops)
        home[op] = p;
    std::set<uint64_t> crossing(graph.outputPorts.begin(),
                                graph.outputPorts.end());
    for (auto [from, to] : edges)
      if (home[from] != home[to])
        for (uint64_t id : graph.ops[from].outputs)
          if (const auto &in = graph.ops[to].inputs;
              std::find(in.begin(), in.end(), id) != in.end())
            crossing.insert(id);
    for (size_t p = 0; p < partitions.size(); ++p) {
      std::set<uint64_t> seen;
      for (size_t op : partitions[p].ops) {
        for (uint64_t id : graph.ops[op].inputs) {
          auto producer = producers.find(id);
          bool inside =
              producer != producers.end() && home[producer->second] == p;
          if (!inside && seen.insert(id).second)
            partitions[p].inputs.push_back(id);
        }
        for (uint64_t id : graph.ops[op].outputs)
          if (crossing.count(id))
            partitions[p].outputs.push_back(id);
      }
      findInputsOfSizes(partitions[p]);
    }
  }

  /// Inputs of the graph that `part` reads nothing of, where sizes in it are
  /// made of names that no other input of it has for a dim.
  void findInputsOfSizes(Partition &part) {
    std::set<std::string, std::less<>> names, given;
    auto note = [&](uint64_t id) {
      for (const std::string &size : graph.tensor(id).sizes)
        if (auto parsed = graph::SizeExpr::parse(size))
          for (const graph::SizeExpr::Token &token : parsed->postfix())
            if (token.kind == graph::SizeExpr::Kind::name)
              names.insert(token.name);
    };
    auto give = [&](uint64_t id) {
      const auto &sizes = graph.tensor(id).sizes;
      given.insert(sizes.begin(), sizes.end());
    };
    for (size_t op : part.ops)
      for (const auto *ids : {&graph.ops[op].inputs, &graph.ops[op].outputs})
        std::ranges::for_each(*ids, note);
    std::ranges::for_each(part.inputs, give);
    // The sizes of one that is added may be made of further names.
    for (bool isDone = false; !isDone;) {
      isDone = true;
      for (uint64_t id : graph.inputPorts) {
        if (std::ranges::none_of(
                graph.tensor(id).sizes, [&](const std::string &size) {
                  return names.contains(size) && !given.contains(size);
                }))
          continue;
        part.inputs.push_back(id);
        note(id);
        give(id);
        isDone = false;
      }
    }
  }

  const Graph &graph;
  std::map<uint64_t, size_t> producers;
  std::vector<std::string> reasons;
  std::vector<int64_t> levels;
  std::vector<std::pair<size_t, size_t>> edges;
};

} // namespace

std::string whyUnsupported(const Graph &graph, const Op &op) {
  const graph::OpInfo *info = graph::lookupOp(op.kind);
  if (!info)
    return "the kind " + op.kind + " is not known";
  if (info->compiles.empty())
    return op.kind + " does not compile";
  auto compiles = [&](uint64_t id) {
    const graph::LogicalTensor &t = graph.tensor(id);
    const auto &list = info->compiles;
    return t.dtype == graph::DType::undef ||
           std::find(list.begin(), list.end(), graph::name(t.dtype)) !=
               list.end();
  };
  // Operands that only give a shape may have any type; whether one does is
  // known to the compiler, so operands of other types are its to judge where
  // the results are fine.
  for (uint64_t id : op.outputs)
    if (!compiles(id))
      return op.kind + " does not compile for " +
             std::string(graph::name(graph.tensor(id).dtype));
  if (!op.inputs.empty() && !compiles(op.inputs.front()))
    return op.kind + " does not compile for " +
           std::string(graph::name(graph.tensor(op.inputs.front()).dtype));
  return {};
}

std::vector<Partition> partition(const Graph &graph, PartitionPolicy policy) {
  Partitioner partitioner(graph);
  std::vector<Partition> result;
  if (policy == PartitionPolicy::debug) {
    result = partitioner.single();
  } else {
    partitioner.findLevels();
    partitioner.moveToReaders();
    result = partitioner.collect();
  }
  partitioner.findPorts(result);
  return result;
}

Graph extract(const Graph &graph, const Partition &partition) {
  Graph part;
  part.version = graph.version;
  part.engineKind = graph.engineKind;
  part.fpmathMode = graph.fpmathMode;
  part.fpmathApplyToInt = graph.fpmathApplyToInt;
  part.inputPorts = partition.inputs;
  part.outputPorts = partition.outputs;
  part.ignoredInputs = graph.ignoredInputs;
  for (size_t i : partition.ops) {
    const Op &op = graph.ops[i];
    part.ops.push_back(op);
    for (const auto *ids : {&op.inputs, &op.outputs})
      for (uint64_t id : *ids)
        part.tensors.insert({id, graph.tensor(id)});
  }
  for (uint64_t id : part.inputPorts) // one may be there for its sizes alone
    part.tensors.insert({id, graph.tensor(id)});
  // What no input of the part makes known would be about nothing.
  for (uint64_t id : part.inputPorts)
    for (const std::string &size : part.tensor(id).sizes)
      if (auto facts = graph.sizeFacts.find(size);
          facts != graph.sizeFacts.end())
        part.sizeFacts.insert(*facts);
  return part;
}

} // namespace tenon
