//===- Unknown.cpp - graphs with sizes that are not known -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sizes are drawn that stand for others from then on. The shapes of all results
// are inferred with three sets of sizes, side by side, operation by operation.
// Where an attribute or a result says a shape, it has to follow: an entry of
// it is found that can, and an expression that gives its size in all three
// sets.
//
//===----------------------------------------------------------------------===//
#include "tests/differential/Unknown.h"

#include "dialects/graph/OpTable.h"
#include "dialects/graph/infer/Infer.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <span>

namespace tenon::test {

using namespace graph;

namespace {

/// The sets of sizes: those of the graph, those it is executed with beside, and
/// some that only show what a size is not free to be.
constexpr size_t kSets = 3, kExecuted = 2;
using Sizes = std::array<int64_t, kSets>;

constexpr int kAttempts = 24;
constexpr int64_t kMaxElements = 1 << 14;

/// A number that follows from `values` alone.
uint64_t hashOf(std::initializer_list<uint64_t> values) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (uint64_t value : values) {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9;
    hash ^= hash >> 29;
  }
  return hash;
}

/// A size that is not known, wherever it occurs.
struct Symbol {
  std::string name; // empty: it has none
  Sizes sizes;
};

/// An entry of a shape of which the sizes in all sets are known.
struct Entry {
  Sizes sizes;
  bool varies() const {
    return std::ranges::any_of(sizes,
                               [&](int64_t size) { return size != sizes[0]; });
  }
};

int64_t countOf(const Dims &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

class Attempt {
public:
  Attempt(const Graph &graph, uint64_t seed)
      : general(graph), seed(hashOf({seed, 1})) {
    for (Op &op : general.ops)
      for (uint64_t id : op.outputs)
        general.tensor(id).strides.clear(); // they fit one shape only
    known.fill(general);
  }

  std::optional<UnknownSizes> run() {
    if (!draw())
      return std::nullopt;
    for (size_t i = 0; i < general.ops.size(); ++i)
      if (!follow(i))
        return std::nullopt;
    Graph inferred = general;
    if (!inferGraph(inferred).empty())
      return std::nullopt;
    for (size_t set = 0; set < kExecuted; ++set) {
      Graph complete = known[set];
      if (!inferGraph(complete).empty() || findBroadcast(inferred, complete))
        return std::nullopt;
    }
    declare();
    return UnknownSizes{
        std::move(general),
        std::vector<Graph>(known.begin(), known.begin() + kExecuted)};
  }

private:
  /// Which sizes are not known, and what they are instead.
  bool draw();
  bool mark(uint64_t id, size_t dim, size_t symbol);
  size_t newSymbol(int64_t size, bool isNamed);
  /// Says of named sizes what is true of those that are executed.
  void declare();

  /// Infers the results of operation `i` in all sets.
  bool follow(size_t i);
  bool infer(size_t i);
  bool followReshape(size_t i);
  bool followExpand(size_t i);
  bool setTarget(size_t i, const std::vector<Entry> &target);
  std::vector<Entry> shapeOf(uint64_t id) const;
  /// The sizes of `entry` by the names of symbols; absent if none gives them.
  std::optional<std::string> expressionOf(const Entry &entry) const;

  Graph general;
  std::array<Graph, kSets> known;
  std::vector<Symbol> symbols;
  uint64_t seed;
};

size_t Attempt::newSymbol(int64_t size, bool isNamed) {
  static constexpr int64_t executed[] = {1, 2, 3, 4, 5, 7, 8, 0, 6, 9, 17, 33};
  static constexpr int64_t others[] = {2, 3, 4, 6, 10, 12, 19};
  Symbol symbol;
  if (isNamed)
    symbol.name = "n" + std::to_string(symbols.size());
  auto another = [&](auto &list, uint64_t what) {
    uint64_t first = hashOf({seed, what, uint64_t(size), symbols.size()});
    int64_t drawn = list[first % std::size(list)];
    return drawn != size ? drawn : list[(first + 1) % std::size(list)];
  };
  symbol.sizes = {size, another(executed, 2), another(others, 3)};
  symbols.push_back(std::move(symbol));
  return symbols.size() - 1;
}

bool Attempt::mark(uint64_t id, size_t dim, size_t symbol) {
  LogicalTensor &tensor = general.tensor(id);
  (*tensor.shape)[dim] = kUnknownDim;
  if (!symbols[symbol].name.empty()) {
    tensor.sizes.resize(tensor.shape->size());
    tensor.sizes[dim] = symbols[symbol].name;
  }
  for (size_t set = 0; set < kSets; ++set)
    (*known[set].tensor(id).shape)[dim] = symbols[symbol].sizes[set];
  return true;
}

bool Attempt::draw() {
  struct Place {
    uint64_t id;
    size_t dim;
    int64_t size;
  };
  bool withConstants = hashOf({seed, 4}) % 6 == 0;
  std::vector<Place> places;
  std::set<int64_t> sizes;
  for (uint64_t id : general.inputPorts) {
    const LogicalTensor &tensor = general.tensor(id);
    if (!tensor.shape || !tensor.strides.empty() ||
        (tensor.property == PropertyType::constant && !withConstants))
      continue;
    for (size_t dim = 0; dim < tensor.shape->size(); ++dim)
      // A dim of 1 would stretch to others.
      if (int64_t size = (*tensor.shape)[dim]; size > 1) {
        places.push_back({id, dim, size});
        sizes.insert(size);
      }
  }
  if (places.empty())
    return false;
  auto rank = [&](const Place &place) {
    return hashOf({seed, 5, place.id, place.dim});
  };
  const Place first = *std::ranges::min_element(places, {}, rank);
  bool isNamed = hashOf({seed, 6}) % 2 == 0;
  std::map<int64_t, size_t> bySize;
  switch (hashOf({seed, 7}) % 4) {
  case 0: // all sizes
    for (int64_t size : sizes)
      bySize[size] = newSymbol(size, isNamed);
    break;
  case 1: // one place
    return mark(first.id, first.dim, newSymbol(first.size, isNamed));
  case 2: { // the same dim of several tensors
    size_t symbol = newSymbol(first.size, isNamed);
    for (const Place &place : places)
      if (place.dim == first.dim && place.size == first.size)
        mark(place.id, place.dim, symbol);
    return true;
  }
  default: // one size
    bySize[first.size] = newSymbol(first.size, isNamed);
  }
  for (const Place &place : places)
    if (auto symbol = bySize.find(place.size); symbol != bySize.end())
      mark(place.id, place.dim, symbol->second);
  return true;
}

void Attempt::declare() {
  for (const Symbol &symbol : symbols) {
    if (symbol.name.empty() || hashOf({seed, 10}) % 2)
      continue;
    auto executed = std::span(symbol.sizes).first(kExecuted);
    SizeFacts facts;
    uint64_t what = hashOf({seed, 11});
    if (what & 1)
      facts.min = std::ranges::min(executed);
    if (what & 2)
      facts.max = std::ranges::max(executed) + (what & 4 ? 0 : 1000);
    if (what & 8)
      for (facts.multipleOf = 0; int64_t size : executed)
        facts.multipleOf = std::gcd(facts.multipleOf, size);
    // The other one is executed by the code for all sizes.
    if (what & 16)
      facts.likely = {executed[what & 32 ? 1 : 0]};
    general.sizeFacts[symbol.name] = facts;
  }
}

std::vector<Entry> Attempt::shapeOf(uint64_t id) const {
  std::vector<Entry> entries(known[0].tensor(id).shape->size());
  for (size_t set = 0; set < kSets; ++set)
    for (size_t dim = 0; dim < entries.size(); ++dim)
      entries[dim].sizes[set] = (*known[set].tensor(id).shape)[dim];
  return entries;
}

std::optional<std::string> Attempt::expressionOf(const Entry &entry) const {
  auto gives = [&](auto value) {
    for (size_t set = 0; set < kSets; ++set)
      if (value(set) != entry.sizes[set])
        return false;
    return true;
  };
  for (const Symbol &a : symbols) {
    if (a.name.empty())
      continue;
    // a * times + more, as the first and the last set have it.
    int64_t step = a.sizes[kSets - 1] - a.sizes[0],
            times = (entry.sizes[kSets - 1] - entry.sizes[0]) / step,
            more = entry.sizes[0] - times * a.sizes[0];
    if (times > 0 &&
        gives([&](size_t set) { return a.sizes[set] * times + more; })) {
      std::string text = a.name;
      if (times > 1)
        text = std::to_string(times) + " * " + text;
      if (more)
        text += more > 0 ? " + " + std::to_string(more)
                         : " - " + std::to_string(-more);
      return text;
    }
    for (const Symbol &b : symbols) {
      int64_t both = a.sizes[0] * b.sizes[0];
      if (b.name.empty() || entry.sizes[0] % both)
        continue;
      times = entry.sizes[0] / both;
      if (gives(
              [&](size_t set) { return a.sizes[set] * b.sizes[set] * times; }))
        return a.name + " * " + b.name +
               (times > 1 ? " * " + std::to_string(times) : "");
    }
  }
  return std::nullopt;
}

/// Whether `op` has nothing to read for elements that it may have to make: it
/// resizes, or has indices.
bool readsNothing(const Graph &graph, const Op &op) {
  const OpInfo &info = factsOf(op.kind);
  if (op.kind == "Interpolate")
    return graph.tensor(op.inputs[0]).numElements() == 0;
  for (size_t i = 1; i < op.inputs.size(); ++i)
    if (size_t slot = op.inputSlot(i);
        slot < info.operands.size() &&
        info.operands[slot].domain == Domain::index &&
        graph.tensor(op.inputs[i]).numElements() > 0 &&
        graph.tensor(op.inputs[0]).numElements() == 0)
      return true;
  return false;
}

bool Attempt::infer(size_t i) {
  bool isFixed = true; // no operand varies
  for (uint64_t id : general.ops[i].inputs)
    for (const Entry &entry : shapeOf(id))
      isFixed &= !entry.varies();
  bool isGiven = false;
  for (Graph &graph : known) {
    Op op = graph.ops[i]; // inference may change it
    if (readsNothing(graph, op))
      return false;
    std::vector<LogicalTensor> inputs, outputs;
    for (uint64_t id : op.inputs)
      inputs.push_back(graph.tensor(id));
    for (uint64_t id : op.outputs) {
      outputs.push_back(graph.tensor(id));
      outputs.back().shape.reset();
    }
    std::vector<Error> errors = inferOp(op, inputs, outputs);
    if (!errors.empty() && isFixed) {
      // The shape that the graph has may say what operands do not.
      isGiven = true;
      for (size_t r = 0; r < op.outputs.size(); ++r)
        outputs[r] = known[0].tensor(op.outputs[r]);
      errors = inferOp(op, inputs, outputs);
    }
    if (!errors.empty())
      return false;
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!outputs[r].hasStaticShape() ||
          outputs[r].numElements() > kMaxElements)
        return false;
      graph.tensor(op.outputs[r]).shape = outputs[r].shape;
    }
  }
  for (uint64_t id : general.ops[i].outputs)
    if (!isGiven)
      general.tensor(id).shape.reset();
  return true;
}

/// The result of operation `i` becomes `target`, which an attribute, if there
/// is one, says, too.
bool Attempt::setTarget(size_t i, const std::vector<Entry> &target) {
  Op &op = general.ops[i];
  LogicalTensor &dst = general.tensor(op.outputs[0]);
  Dims shape;
  std::vector<std::string> sizes(target.size());
  for (size_t dim = 0; dim < target.size(); ++dim) {
    shape.push_back(target[dim].varies() ? kUnknownDim : target[dim].sizes[0]);
    if (!target[dim].varies())
      continue;
    std::optional<std::string> text = expressionOf(target[dim]);
    if (!text)
      return false;
    sizes[dim] = *text;
  }
  // In an operand a size of 0 may mean that of src.
  bool copies = op.kind == "Reshape" && !op.attrOr("allow_zero", false);
  for (const Entry &entry : target)
    if (copies && std::ranges::count(entry.sizes, 0))
      return false;
  bool hasAttr = op.attr("shape") != nullptr;
  if (hasAttr)
    op.attrs["shape"] = shape;
  dst.shape = shape;
  dst.sizes = sizes;
  for (size_t set = 0; set < kSets; ++set) {
    Dims sizesOfSet;
    for (const Entry &entry : target)
      sizesOfSet.push_back(entry.sizes[set]);
    if (countOf(sizesOfSet) > kMaxElements)
      return false;
    if (hasAttr)
      known[set].ops[i].attrs["shape"] = sizesOfSet;
    known[set].tensor(op.outputs[0]).shape = std::move(sizesOfSet);
  }
  return true;
}

/// One entry of the target takes what the others leave; another may be the
/// multiple of a symbol.
bool Attempt::followReshape(size_t i) {
  const Op &op = general.ops[i];
  std::vector<Entry> src = shapeOf(op.inputs[0]);
  if (infer(i))
    return true;
  if (std::ranges::none_of(src, &Entry::varies))
    return false;
  Sizes count;
  for (size_t set = 0; set < kSets; ++set)
    count[set] = countOf(*known[set].tensor(op.inputs[0]).shape);
  const Dims shape = *known[0].tensor(op.outputs[0]).shape;
  auto attempt = [&](size_t rest, std::optional<size_t> scaled,
                     const Symbol *symbol) {
    std::vector<Entry> target(shape.size());
    Sizes others = {1, 1, 1};
    for (size_t set = 0; set < kSets; ++set)
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        int64_t &size = target[dim].sizes[set] = shape[dim];
        if (dim == scaled)
          size = size / symbol->sizes[0] * symbol->sizes[set];
        if (dim != rest)
          others[set] *= size;
      }
    for (size_t set = 0; set < kSets; ++set) {
      if (others[set] == 0 || count[set] % others[set])
        return false;
      target[rest].sizes[set] = count[set] / others[set];
    }
    return setTarget(i, target);
  };
  for (size_t k = 0; k < shape.size(); ++k) {
    size_t rest = (k + hashOf({seed, 8, op.id})) % shape.size();
    if (attempt(rest, std::nullopt, nullptr))
      return true;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (const Symbol &symbol : symbols)
        if (dim != rest && shape[dim] % symbol.sizes[0] == 0 &&
            attempt(rest, dim, &symbol))
          return true;
  }
  return false;
}

/// Sizes of src that vary stay, and one that repeats elements may vary, too.
bool Attempt::followExpand(size_t i) {
  const Op &op = general.ops[i];
  std::vector<Entry> src = shapeOf(op.inputs[0]), target;
  for (int64_t size : *known[0].tensor(op.outputs[0]).shape)
    target.push_back({{size, size, size}});
  size_t lead = target.size() - src.size();
  bool varies = false;
  for (size_t dim = 0; dim < target.size(); ++dim) {
    Entry from = dim < lead ? Entry{{1, 1, 1}} : src[dim - lead];
    if (from.varies())
      target[dim] = from;
    else if (from.sizes[0] == 1 && hashOf({seed, 9, op.id}) % 2)
      for (const Symbol &symbol : symbols)
        if (!symbol.name.empty() && symbol.sizes[0] == target[dim].sizes[0])
          target[dim].sizes = symbol.sizes;
    varies |= target[dim].varies();
  }
  return varies ? setTarget(i, target) || infer(i) : infer(i);
}

bool Attempt::follow(size_t i) {
  const std::string &kind = general.ops[i].kind;
  if (kind == "StaticReshape" || kind == "Reshape")
    return followReshape(i);
  if (kind == "Expand")
    return followExpand(i);
  return infer(i);
}

struct Reason {
  std::string_view message, row;
};

/// What CheckSupported says, and the row of the document.
constexpr Reason reasons[] = {
    {"has no known rank", "all"},
    {"of weights is not known",
     "weights of convolutions and of recurrent operations"},
    {"of the gradient is not known",
     "weights of convolutions and of recurrent operations"},
    {"shapes of weights must be known",
     "weights of convolutions and of recurrent operations"},
    {"that of channels, is not known", "windows and convolutions"},
    {"only the batch may be dynamic",
     "gradients of windows but for LRN's, MaxPool with indices, Interpolate "
     "with `antialias` or by scales that are no multiples of 1/256"},
    {"auto_pad needs known spatial dimensions",
     "ConvTranspose with `SAME_UPPER` or `SAME_LOWER`"},
    {"the number of steps is not known",
     "recurrent operations with fewer states than hidden units"},
    {"columns of constant weights", "MatMul with constant weights"},
    {"per_group needs known dimensions", "quantisation in groups"},
    {"number of zero points is not known", "quantisation by channels"},
    {"number of scales of weights in groups", "quantisation by channels"},
    {"elements of 4 bits need", "elements of 4 bits"},
    {"begins and ends are not known, or go backwards", "Slice"},
    {"k is not known", "TopK"},
    {"number of indices of a position", "GatherND, ScatterND"},
    {"diff_gamma needs all sizes of src but one",
     "GroupNormBackward with gradients of gamma and beta"},
    {"it compiles for known shapes only", "RandomUniform"},
    {"sizes of the result are not known", "StaticReshape, Reshape, Expand"},
    {"axes given by a tensor", "reductions"},
};

} // namespace

std::optional<UnknownSizes> withUnknownSizes(const Graph &graph,
                                             uint64_t seed) {
  for (uint64_t i = 0; i < kAttempts; ++i)
    if (auto found = Attempt(graph, hashOf({seed, i})).run())
      return found;
  return std::nullopt;
}

std::optional<std::string_view>
documentedReason(const std::vector<Error> &errors) {
  std::optional<std::string_view> row;
  for (const Error &error : errors) {
    auto fits = [&](const Reason &reason) {
      return error.message.find(reason.message) != std::string::npos;
    };
    const Reason *found = std::ranges::find_if(reasons, fits);
    if (found == std::end(reasons))
      return std::nullopt;
    row = row.value_or(found->row);
  }
  return row;
}

std::vector<std::string_view> documentedRows() {
  std::vector<std::string_view> rows;
  for (const Reason &reason : reasons)
    if (std::ranges::find(rows, reason.row) == rows.end())
      rows.push_back(reason.row);
  return rows;
}

std::string shapesText(const Graph &known) {
  std::string text;
  for (uint64_t id : known.inputPorts) {
    text += (text.empty() ? "" : "+") + std::to_string(id) + ":";
    const Dims &shape = *known.tensor(id).shape;
    for (size_t i = 0; i < shape.size(); ++i)
      text += (i ? "x" : "") + std::to_string(shape[i]);
  }
  return text;
}

} // namespace tenon::test
