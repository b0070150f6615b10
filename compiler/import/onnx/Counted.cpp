// SPDX-License-Identifier: Apache-2.0
//
// What follows NonZero and NonMaxSuppression in detectors: the entries that
// count are looked up, taken apart, computed with and joined. All this is done
// for the entries behind them, too, which are zeros or what follows from them;
// no result that counts may depend on those.
#include "compiler/import/onnx/Counted.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tenon::onnx {

namespace {

constexpr int64_t kBeyond = std::numeric_limits<int32_t>::max();

class CountedNode {
public:
  CountedNode(NodeContext &n, const std::vector<Named> &given)
      : n(n), given(given), opType(n.conversion().opType) {
    auto first = std::ranges::find_if(
        given, [](const Named &each) { return each.count != kNone; });
    count = first->count;
    axis = first->axis;
    rank = n.rank(first->value);
  }

  /// Whether results are known to follow the operand entry by entry; they are
  /// then set.
  bool run() {
    if (opType == "NonMaxSuppression" || opType == "NonZero")
      return searched();
    std::optional<int64_t> along = axisOfResults();
    if (!along || n.failed())
      return n.failed();
    n.conversion().convert(n);
    for (size_t i = 0; i < n.results().size() && !n.failed(); ++i)
      if (Value value = n.results()[i].value; value != kNone) {
        int64_t place = *along < 0 ? *along + n.rank(value) : *along;
        n.outCounted(i, value, count, static_cast<int>(place));
      }
    return true;
  }

private:
  bool isCounted(size_t i) const {
    return i < given.size() && given[i].count != kNone;
  }
  bool isOnlyCounted(size_t which) const {
    for (size_t i = 0; i < given.size(); ++i)
      if (isCounted(i) != (i == which))
        return false;
    return true;
  }
  bool isIn(std::span<const OpConversion> table) const {
    return std::ranges::any_of(table, [&](const OpConversion &row) {
      return &row == &n.conversion();
    });
  }
  static bool isOneOf(std::string_view name,
                      std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  }

  /// Where the entries are in all results; below 0: from behind. Nothing: the
  /// operator is none that is known to treat each entry for itself.
  std::optional<int64_t> axisOfResults() {
    // Those of SwiGLU and BitCast are not one for each of the operand.
    if ((isIn(elementwiseConversions()) || isIn(activationConversions()) ||
         opType == "Identity") &&
        !isOneOf(opType, {"SwiGLU", "BitCast"}))
      return elementwise();
    if (opType == "Concat")
      return joined();
    if (opType == "Gather" || opType == "GatherND")
      return lookedUp();
    if (opType == "MatMul")
      return isOnlyCounted(0) && axis < rank - 1 && n.rank(n.in(1)) == 2
                 ? std::optional(axis)
                 : std::nullopt;
    if (opType == "Gemm")
      return isOnlyCounted(0) && axis == 0 && !n.integer("transA", 0)
                 ? std::optional(axis)
                 : std::nullopt;
    if (!isOnlyCounted(0))
      return std::nullopt;
    if (opType == "Transpose")
      return transposed();
    if (opType == "Squeeze" || opType == "Unsqueeze")
      return squeezed();
    if (opType == "Slice")
      return sliced();
    if (opType == "Reshape")
      return reshaped();
    if (isOneOf(opType, {"Split", "ArgMax", "ArgMin"}) ||
        (n.opset() >= 13 && isOneOf(opType, {"Softmax", "LogSoftmax"})))
      return besideAxis();
    if (isIn(reduceConversions()))
      return reduced();
    return std::nullopt;
  }

  /// The others have one entry along the dim, which is that of all.
  std::optional<int64_t> elementwise() {
    int64_t behind = rank - axis;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].value == kNone)
        continue;
      Dims dims = n.shape(given[i].value);
      auto place = static_cast<int64_t>(dims.size()) - behind;
      if (isCounted(i) ? given[i].count != count || given[i].axis != place
                       : place >= 0 && dims[place] != 1)
        return std::nullopt;
    }
    return -behind;
  }

  std::optional<int64_t> joined() {
    int64_t along = n.axisOf(n.integer("axis", 1), static_cast<int>(rank));
    for (const Named &each : given)
      if (each.count != count || each.axis != axis)
        return std::nullopt;
    return along == axis ? std::nullopt : std::optional(axis);
  }

  /// Indices whose entries that do not count are 0.
  Value rightIndices(Value indices, const Named &of) {
    Value counts = n.less(placesAlong(indices, of.axis), of.count);
    return n.select(counts, indices, n.like(indices, 0));
  }
  Value placesAlong(Value value, int64_t along) {
    return n.indexAlong(value, along);
  }

  std::optional<int64_t> lookedUp() {
    bool isNd = opType == "GatherND";
    int64_t along = isNd ? 0
                         : n.axisOf(n.integer("axis", 0),
                                    static_cast<int>(n.rank(n.in(0))));
    if (n.failed() || (isNd && n.integer("batch_dims", 0)))
      return std::nullopt;
    if (isOnlyCounted(0)) {
      if (isNd || along == axis)
        return std::nullopt;
      return axis < along ? axis : axis + n.rank(n.in(1)) - 1;
    }
    const Named &indices = given[1];
    // Each row of indices is a position.
    if (isNd && indices.axis == n.rank(indices.value) - 1)
      return std::nullopt;
    Value places = rightIndices(indices.value, indices);
    if (isCounted(0)) {
      if (isNd || given[0].axis != along)
        return std::nullopt;
      places = amongCounted(places, given[0].count);
    }
    n.setIn(1, places);
    count = indices.count;
    return along + indices.axis;
  }

  /// An index of an entry that does not count is one of none: an error when
  /// the code runs. That of entry 0, where nothing is looked up, is not.
  Value amongCounted(Value indices, Value of) {
    Value zero = n.like(indices, 0), number = n.cast(of, n.type(indices));
    Value fromFront = n.select(n.less(indices, zero),
                               n.op("Add", {indices, number}), indices);
    Value least = n.op("Maximum", {number, n.like(number, 1)});
    return n.select(n.less(fromFront, least), fromFront,
                    n.like(indices, static_cast<double>(kBeyond)));
  }

  std::optional<int64_t> transposed() {
    std::optional<Dims> order = n.integers("perm");
    if (!order)
      return rank - 1 - axis;
    auto found = std::ranges::find(*order, axis);
    if (found == order->end())
      return std::nullopt;
    return found - order->begin();
  }

  /// The operand axes, an attribute of older versions.
  std::optional<Dims> axesFrom0(int64_t ofRank) {
    std::optional<Dims> axes = n.integers("axes");
    if (!axes && n.in(1) != kNone)
      axes = n.known(n.in(1));
    if (!axes)
      return std::nullopt;
    for (int64_t &each : *axes)
      each = n.axisOf(each, static_cast<int>(ofRank));
    return axes;
  }

  std::optional<int64_t> squeezed() {
    bool more = opType == "Unsqueeze";
    std::optional<Dims> given = n.integers("axes");
    auto added = static_cast<int64_t>(
        (given ? *given : n.known(n.in(1)).value_or(Dims{})).size());
    std::optional<Dims> axes = axesFrom0(more ? rank + added : rank);
    if (!axes || axes->empty())
      return std::nullopt;
    std::ranges::sort(*axes);
    int64_t place = axis;
    for (int64_t each : *axes) {
      if (more && each <= place)
        ++place;
      if (!more && each == axis)
        return std::nullopt;
      if (!more && each < axis)
        --place;
    }
    return place;
  }

  std::optional<int64_t> sliced() {
    auto numbers = [&](const char *name, size_t i) {
      std::optional<Dims> attribute = n.integers(name);
      if (!attribute && n.in(i) != kNone)
        attribute = n.known(n.in(i));
      return attribute.value_or(Dims{});
    };
    Dims begins = numbers("starts", 1), ends = numbers("ends", 2),
         axes = numbers("axes", 3), steps = numbers("steps", 4);
    if (axes.empty()) {
      axes.resize(begins.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    if (begins.empty() || ends.size() != begins.size() ||
        axes.size() != begins.size())
      return std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (n.axisOf(axes[i], static_cast<int>(rank)) != axis)
        continue;
      // The first few at the most.
      if (begins[i] != 0 || ends[i] < 0 || (i < steps.size() && steps[i] != 1))
        return std::nullopt;
      if (ends[i] < kBeyond)
        count = n.op("Minimum",
                     {count, n.like(count, static_cast<double>(ends[i]))});
    }
    return axis;
  }

  /// Entries along dim 0 stay there, whatever the dims of each become.
  std::optional<int64_t> reshaped() {
    std::optional<Dims> to = n.integers("shape");
    if (!to && n.in(1) != kNone)
      to = n.known(n.in(1));
    Dims from = n.shape(n.in(0));
    if (!to || to->empty() || axis != 0 || to->front() > 0 ||
        (to->front() == 0 && n.integer("allowzero", 0)))
      return std::nullopt;
    Dims rest(from.begin() + 1, from.end());
    int64_t left = reference::elementCount(rest), product = 1;
    int open = 0;
    for (size_t i = 1; i < to->size(); ++i) {
      int64_t size = (*to)[i];
      if (size == 0 && i < from.size())
        size = from[i];
      if (size == -1 && to->front() == 0)
        ++open;
      else if (size < 1 || product > kBeyond / size)
        return std::nullopt;
      else
        product *= size;
    }
    // With one that is left to find, the others divide.
    bool fits = open == 0   ? product == left
                : open == 1 ? left > 0 && left % product == 0
                            : false;
    return left >= 0 && fits ? std::optional<int64_t>(0) : std::nullopt;
  }

  /// Along another dim than that of the attribute axis.
  std::optional<int64_t> besideAxis() {
    int64_t fallback = opType == "Softmax" || opType == "LogSoftmax" ? -1 : 0;
    int64_t along =
        n.axisOf(n.integer("axis", fallback), static_cast<int>(rank));
    if (n.failed() || along == axis)
      return std::nullopt;
    bool isGone = opType.starts_with("Arg") && !n.integer("keepdims", 1);
    return isGone && along < axis ? axis - 1 : axis;
  }

  std::optional<int64_t> reduced() {
    std::optional<Dims> axes = axesFrom0(rank);
    if (!axes || axes->empty() || std::ranges::count(*axes, axis))
      return std::nullopt;
    if (n.integer("keepdims", 1))
      return axis;
    return axis - std::ranges::count_if(
                      *axes, [&](int64_t each) { return each < axis; });
  }

  /// Entries that do not count are none to be found: scores of NaN, and 0.
  bool searched() {
    size_t searchedIn = opType == "NonZero" ? 0 : 1;
    if (!isCounted(searchedIn))
      return false;
    for (size_t i = 0; i < given.size(); ++i)
      if (isCounted(i) && (given[i].count != count || i > 1))
        return false;
    const Named &in = given[searchedIn];
    if (searchedIn == 1 && (in.axis != 2 || (isCounted(0) && axis != 1)))
      return false;
    double none =
        searchedIn == 1 ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    Value counts = n.less(placesAlong(in.value, in.axis), count);
    n.setIn(searchedIn, n.select(counts, in.value, n.like(in.value, none)));
    n.conversion().convert(n);
    return true;
  }

  NodeContext &n;
  const std::vector<Named> &given;
  std::string_view opType;
  Value count = kNone;
  int64_t axis = 0, rank = 0;
};

} // namespace

void convertCounted(NodeContext &n, const std::vector<Named> &given,
                    const std::vector<std::string_view> &names) {
  if (CountedNode(n, given).run())
    return;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].count != kNone)
      n.refuse("\"" + std::string(names[i]) +
               "\" has as many entries as the data says");
}

} // namespace tenon::onnx
