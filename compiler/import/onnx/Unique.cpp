// SPDX-License-Identifier: Apache-2.0
//
// Different elements. Results have as many entries as there are elements, of
// which as many count as there are different ones.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>

namespace tenon::onnx {

/// Entries of more numbers are not sorted number by number.
static constexpr int64_t kMaxKeys = 256;

namespace {

/// Sorts entries, finds the first one of each group of equal ones, and numbers
/// the groups.
class Unique {
public:
  explicit Unique(NodeContext &n) : n(n) {}

  void run() {
    Value x = n.in(0);
    Dims dims = n.knownShape(x);
    if (n.failed())
      return;
    bool flat = !n.has("axis");
    int64_t axis =
        flat ? 0
             : n.axisOf(n.integer("axis", 0), static_cast<int>(dims.size()));
    if (n.failed())
      return;
    if (flat)
      dims = {reference::elementCount(dims)};
    x = n.reshape(x, dims);
    // Entries first.
    Dims order{axis}, back(dims.size());
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
      if (i != axis)
        order.push_back(i);
    for (size_t i = 0; i < order.size(); ++i)
      back[order[i]] = static_cast<int64_t>(i);
    size = dims[axis];
    x = n.transpose(x, order);
    int64_t keys = size ? reference::elementCount(dims) / size : 0;
    if (size < 1 || keys < 1 || keys > kMaxKeys)
      return n.refuse("no elements, or entries of many numbers");
    rows = n.reshape(x, {size, keys});
    sort(keys);
    number();
    Value first = firstOfGroups(), group = ordered();
    Value values = n.op("Gather", {x, first}, {{"axis", int64_t{0}}});
    Dims unsorted = n.shape(x);
    out(0, n.transpose(n.reshape(values, unsorted), back),
        static_cast<int>(axis));
    out(1, first, 0);
    // The number of the group of each element in the order of the input.
    Value numbers = n.op("ScatterElements", {zeros(), places, group},
                         {{"axis", int64_t{0}}});
    n.out(2, numbers);
    Value ones = n.op("Expand", {integer(1)}, {{"shape", Dims{size}}});
    out(3,
        n.op("ScatterElements", {zeros(), group, ones},
             {{"axis", int64_t{0}}, {"reduction", "add"}}),
        0);
  }

private:
  Value integer(int64_t value) {
    return n.scalar(static_cast<double>(value), DType::s64);
  }
  Value zeros() {
    return n.op("Expand", {integer(0)}, {{"shape", Dims{size}}});
  }
  void out(size_t i, Value value, int axis) {
    if (n.wants(i))
      n.outCounted(i, value, count, axis);
  }
  Value rowsAt(Value which) {
    return n.op("Gather", {rows, which}, {{"axis", int64_t{0}}});
  }

  /// `places`: which row is at each place of the order. Equal rows stay in the
  /// order that they have, so that rows are sorted by the last number first.
  void sort(int64_t keys) {
    places = kNone;
    for (int64_t key = keys - 1; key >= 0; --key) {
      Value now = places == kNone ? rows : rowsAt(places);
      Value column = n.slice(now, 1, key, key + 1);
      Values sorted =
          n.ops("TopK", {n.reshape(column, {size})},
                {{"k", size}, {"axis", int64_t{0}}, {"largest", false}},
                {n.type(rows), DType::s64});
      places = places == kNone ? sorted[1]
                               : n.op("Gather", {places, sorted[1]},
                                      {{"axis", int64_t{0}}});
    }
  }

  /// `groups`: the number of the group at each place, and how many there are.
  void number() {
    Value sorted = rowsAt(places);
    auto part = [&](int64_t begin, int64_t end) {
      return n.slice(sorted, 0, begin, end);
    };
    Value same = n.cast(n.equal(part(1, size), part(0, size - 1)), DType::s32);
    same = n.reduce("ReduceMin", same, {1}, false);
    Value differs = n.op("Subtract", {n.scalar(1, DType::s32), same});
    differs = n.op("Pad", {n.cast(differs, DType::s64)},
                   {{"pads_begin", Dims{1}}, {"pads_end", Dims{0}}});
    groups = n.op("CumSum", {differs}, {{"axis", int64_t{0}}});
    count =
        n.op("Add", {n.reduce("ReduceSum", differs, {0}, false), integer(1)});
  }

  /// The first row of each group: sorted, or in the order of those.
  Value firstOfGroups() {
    Value limit = n.op("Expand", {integer(size)}, {{"shape", Dims{size}}});
    Value first = n.op("ScatterElements", {limit, groups, places},
                       {{"axis", int64_t{0}}, {"reduction", "min"}});
    if (!n.integer("sorted", 1)) {
      Values again =
          n.ops("TopK", {first},
                {{"k", size}, {"axis", int64_t{0}}, {"largest", false}},
                {DType::s64, DType::s64});
      first = again[0];
      // Group again[1][i] gets the number i.
      Value counting = n.indexAlong(first, 0);
      renumbered = n.op("ScatterElements", {zeros(), again[1], counting},
                        {{"axis", int64_t{0}}});
    }
    return n.op("Minimum", {first, integer(size - 1)});
  }

  /// The number of the group at each place, in the order of the results.
  Value ordered() {
    return renumbered == kNone
               ? groups
               : n.op("Gather", {renumbered, groups}, {{"axis", int64_t{0}}});
  }

  NodeContext &n;
  int64_t size = 0;
  Value rows = kNone, places = kNone, groups = kNone, count = kNone;
  Value renumbered = kNone;
};

} // namespace

static void unique(NodeContext &n) { Unique(n).run(); }

std::span<const OpConversion> uniqueConversions() {
  static constexpr OpConversion table[] = {{"Unique", 11, unique}};
  return table;
}

} // namespace tenon::onnx
