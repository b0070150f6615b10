// SPDX-License-Identifier: Apache-2.0
//
// Elements by index.
#include "compiler/import/onnx/Conversions.h"

namespace tenon::onnx {

static void gather(NodeContext &n) {
  n.out(0,
        n.op("Gather", {n.in(0), n.in(1)}, {{"axis", n.integer("axis", 0)}}));
}

static void gatherElements(NodeContext &n) {
  n.out(0, n.op("GatherElements", {n.in(0), n.in(1)},
                {{"axis", n.integer("axis", 0)}}));
}

static void gatherNd(NodeContext &n) {
  n.out(0, n.op("GatherND", {n.in(0), n.in(1)},
                {{"batch_dims", n.integer("batch_dims", 0)}}));
}

static void scatterElements(NodeContext &n) {
  n.out(0, n.op("ScatterElements", {n.in(0), n.in(1), n.in(2)},
                {{"axis", n.integer("axis", 0)},
                 {"reduction", n.text("reduction", "none")}}));
}

static void scatterNd(NodeContext &n) {
  n.out(0, n.op("ScatterND", {n.in(0), n.in(1), n.in(2)},
                {{"reduction", n.text("reduction", "none")}}));
}

/// Which entries stay must be known: there are as many as it says.
static void compress(NodeContext &n) {
  Value x = n.in(0);
  Dims condition = n.needed(1, "the operand condition");
  if (!n.has("axis"))
    x = n.reshape(x, {-1});
  Dims kept;
  for (size_t i = 0; i < condition.size(); ++i)
    if (condition[i])
      kept.push_back(static_cast<int64_t>(i));
  n.out(0, n.op("Gather", {x, n.integersConstant(kept)},
                {{"axis", n.integer("axis", 0)}}));
}

/// The first `length` steps of each entry of the batch, in reverse.
static void reverseSequence(NodeContext &n) {
  Value x = n.in(0);
  int rank = n.rank(x);
  int64_t batch = n.axisOf(n.integer("batch_axis", 1), rank);
  int64_t time = n.axisOf(n.integer("time_axis", 0), rank);
  Dims around;
  for (int64_t i = 0; i < rank; ++i)
    if (i != batch)
      around.push_back(i);
  Value length = n.unsqueeze(n.cast(n.in(1), DType::s64), around);
  Value step = n.indexAlong(x, time);
  Value last = n.op("Subtract", {length, n.like(length, 1)});
  Value mirrored = n.op("Subtract", {last, step});
  Value source = n.select(n.less(step, length), mirrored, step);
  n.out(0, n.op("GatherElements", {x, source}, {{"axis", time}}));
}

std::span<const OpConversion> indexingConversions() {
  static constexpr OpConversion table[] = {
      {"Compress", 9, compress},
      {"Gather", 1, gather},
      {"GatherElements", 11, gatherElements},
      {"GatherND", 11, gatherNd},
      {"ReverseSequence", 10, reverseSequence},
      {"Scatter", 9, scatterElements},
      {"ScatterElements", 11, scatterElements},
      {"ScatterND", 11, scatterNd},
  };
  return table;
}

} // namespace tenon::onnx
