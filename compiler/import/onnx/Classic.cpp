// SPDX-License-Identifier: Apache-2.0
//
// Operators of classic machine learning that are compositions of others:
// counts of n-grams, some of ai.onnx.ml, and determinants.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>

namespace tenon::onnx {

//===----------------------------------------------------------------------===//
// N-grams
//===----------------------------------------------------------------------===//

/// More comparisons are not written out.
static constexpr int64_t kMaxMatches = int64_t{1} << 26;

namespace {

/// Counts how often each n-gram of a list of integers is in a sequence, L, or
/// in each of B sequences, B, L. Neighbours may be up to max_skip_count further
/// apart.
class Grams {
public:
  explicit Grams(NodeContext &n)
      : n(n), pool(n.integers("pool_int64s").value_or(Dims{})),
        starts(n.integers("ngram_counts").value_or(Dims{})),
        columns(n.integers("ngram_indexes").value_or(Dims{})) {}

  void run() {
    Dims dims = n.knownShape(n.in(0));
    if (n.failed())
      return;
    if (n.has("pool_strings") || dims.empty() || dims.size() > 2)
      return n.refuse("n-grams of strings, or other than one or two dims");
    length = dims.back();
    batch = dims.size() == 2 ? dims[0] : 1;
    for (int64_t column : columns)
      width = std::max(width, std::min<int64_t>(column, 1 << 24) + 1);
    if (width > (1 << 24) || batch < 1 || batch > (1 << 20) ||
        length > (1 << 24) || pool.size() > (1 << 20))
      return n.refuse("n-grams with strange numbers");
    sequences = n.reshape(n.cast(n.in(0), DType::s64), {batch, length});
    counts = n.op("Expand", {n.scalar(0, DType::f32)},
                  {{"shape", Dims{batch, width}}});
    int64_t most = n.integer("max_gram_length", 1);
    int64_t least = n.integer("min_gram_length", 1);
    auto lengths = static_cast<int64_t>(starts.size());
    size_t before = 0;
    for (int64_t size = 1; size <= lengths && !n.failed(); ++size) {
      int64_t end =
          size < lengths ? starts[size] : static_cast<int64_t>(pool.size());
      int64_t begin = starts[size - 1];
      if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) ||
          (end - begin) % size)
        return n.refuse("a list of n-grams that is not one");
      auto count = static_cast<size_t>((end - begin) / size);
      if (before + count > columns.size())
        return n.refuse("n-grams without a place in the result");
      if (size >= least && size <= most && count)
        addSize(size, begin, before, static_cast<int64_t>(count));
      before += count;
    }
    finish(dims.size() == 2);
  }

private:
  /// Adds the counts of `count` n-grams of `size` numbers.
  void addSize(int64_t size, int64_t begin, size_t first, int64_t count) {
    Value grams = n.constant(reference::Tensor{
        DType::s64,
        {count, size},
        {},
        Dims(pool.begin() + begin, pool.begin() + begin + count * size)});
    auto places = n.table(DType::f32, {count, width});
    if (!places)
      return;
    for (int64_t i = 0; i < count; ++i) {
      int64_t column = columns[first + static_cast<size_t>(i)];
      if (column < 0)
        return n.refuse("n-grams without a place in the result");
      places->data[i * width + column] = 1;
    }
    Value matrix = n.constant(std::move(*places));
    int64_t skips = size == 1 ? 0 : n.integer("max_skip_count", 0);
    for (int64_t skip = 0; skip <= skips; ++skip) {
      int64_t windows = length - (size - 1) * (skip + 1);
      if (windows < 1)
        break;
      if (windows > kMaxMatches / (batch * count * size))
        return n.refuse("more comparisons than are written out");
      auto at = n.table(DType::s64, {windows, size});
      if (!at)
        return;
      for (int64_t i = 0; i < windows * size; ++i)
        at->integers[i] = i / size + i % size * (skip + 1);
      Value taken = n.op("Gather", {sequences, n.constant(std::move(*at))},
                         {{"axis", int64_t{1}}}); // B, windows, size
      Value same = n.equal(n.unsqueeze(taken, {2}), grams);
      Value all = n.reduce("ReduceMin", n.cast(same, DType::f32), {3}, false);
      Value found = n.reduce("ReduceSum", all, {1}, false);
      counts = n.op("Add", {counts, n.op("MatMul", {found, matrix})});
    }
  }

  void finish(bool hasBatch) {
    std::string mode = n.text("mode", "TF");
    if (mode == "IDF")
      counts = n.op("Minimum", {counts, n.like(counts, 1)});
    std::optional<std::vector<float>> weights = n.numbers("weights");
    if (mode != "TF" && weights) {
      // Weights are those of n-grams, in the order of the list.
      reference::Tensor ofColumns = reference::zeros(DType::f32, {width});
      for (size_t i = 0; i < std::min(weights->size(), columns.size()); ++i)
        if (columns[i] >= 0)
          ofColumns.data[columns[i]] = (*weights)[i];
      counts = n.op("Multiply", {counts, n.constant(std::move(ofColumns))});
    }
    n.out(0, hasBatch ? counts : n.reshape(counts, {width}));
  }

  NodeContext &n;
  Dims pool, starts, columns;
  int64_t length = 0, batch = 1, width = 0;
  Value sequences = kNone, counts = kNone;
};

} // namespace

static void tfIdf(NodeContext &n) { Grams(n).run(); }

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

/// Of the rows from `row` on and these columns, by the first of the rows. An
/// element is a tensor of its own.
static Value minorOf(NodeContext &n, const std::vector<Values> &rows,
                     size_t row, const std::vector<size_t> &columns) {
  if (columns.size() == 1)
    return rows[row][columns[0]];
  Value sum = kNone;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> others = columns;
    others.erase(others.begin() + static_cast<int64_t>(i));
    Value term = n.op(
        "Multiply", {rows[row][columns[i]], minorOf(n, rows, row + 1, others)});
    sum = sum == kNone ? term : n.op(i % 2 ? "Subtract" : "Add", {sum, term});
  }
  return sum;
}

static void determinant(NodeContext &n) {
  Dims dims = n.shape(n.in(0));
  if (dims.size() < 2 || dims.back() != dims[dims.size() - 2] ||
      dims.back() < 1 || dims.back() > 4)
    return n.refuse("a determinant of more than 4 rows");
  auto size = static_cast<size_t>(dims.back());
  auto rank = static_cast<int64_t>(dims.size());
  Dims rest(dims.begin(), dims.end() - 2);
  std::vector<Values> rows(size);
  std::vector<size_t> columns;
  for (size_t i = 0; i < size; ++i) {
    columns.push_back(i);
    for (size_t k = 0; k < size; ++k) {
      auto row = static_cast<int64_t>(i), column = static_cast<int64_t>(k);
      Value one = n.op("Slice", {n.in(0)},
                       {{"axes", Dims{rank - 2, rank - 1}},
                        {"begins", Dims{row, column}},
                        {"ends", Dims{row + 1, column + 1}}});
      rows[i].push_back(n.reshape(one, rest));
    }
  }
  n.out(0, minorOf(n, rows, 0, columns));
}

//===----------------------------------------------------------------------===//
// ai.onnx.ml
//===----------------------------------------------------------------------===//

static void binarizer(NodeContext &n) {
  Value x = n.in(0);
  Value above = n.greater(x, n.like(x, n.number("threshold", 0)));
  n.out(0, n.cast(above, n.type(x)));
}

static void featureExtractor(NodeContext &n) {
  n.out(0, n.op("Gather", {n.in(0), n.reshape(n.in(1), {-1})},
                {{"axis", int64_t{-1}}}));
}

std::span<const OpConversion> classicConversions() {
  static constexpr std::string_view kMl = "ai.onnx.ml";
  static constexpr OpConversion table[] = {
      {"ArrayFeatureExtractor", 1, featureExtractor, {}, kMl},
      {"Binarizer", 1, binarizer, {}, kMl},
      {"Det", 11, determinant},
      {"TfIdfVectorizer", 9, tfIdf},
  };
  return table;
}

} // namespace tenon::onnx
