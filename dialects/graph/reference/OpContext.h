//===- OpContext.h - one operation under evaluation ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What an evaluation function sees: operands, attributes with their defaults,
// results to fill, and a way to fail.  Internal to the evaluator.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/reference/Tensor.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::reference {

using graph::Dims;
using graph::DType;

class OpContext {
public:
  OpContext(const graph::Graph &graph, const graph::Op &op, int threads,
            int64_t maxElements);

  const graph::Op &op;
  int threads;
  // By their number in the table, up to the last that is given; an operand
  // that is left out before it is null.
  std::vector<const Tensor *> inputs;
  std::vector<Tensor> outputs; // dtype is set, shape by setShape()
  std::vector<Error> errors;
  // Plain evaluation (Evaluator.h), of what an operation keeps inside, too.
  bool roundsEdges = false;

  const Tensor &in(size_t i) const { return *inputs[i]; }
  Tensor &out(size_t i = 0) { return outputs[i]; }
  bool hasIn(size_t i) const { return i < inputs.size() && inputs[i]; }
  bool hasOut(size_t i) const { return op.outputAt(i).has_value(); }

  /// Records an error about this operation; returns false.
  bool fail(ErrorCode code, std::string message, std::string hint = "");

  double f32(std::string_view name, float fallback) const;
  int64_t s64(std::string_view name, int64_t fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  std::string text(std::string_view name, std::string fallback) const;
  Dims list(std::string_view name) const;

  /// Whether `data_format` says channel last (the default) or second.
  bool channelLast() const { return text("data_format", "NXC") == "NXC"; }
  /// The dim of the channel of a tensor of this rank (1 for rank <= 2).
  int channelDim(int rank) const;
  /// Attribute `name` as a dim number, negative counts from the end.
  std::optional<int> axis(std::string_view name, int64_t fallback, int rank);
  /// A list with one entry per spatial dim.  Absent, empty, or the 12-entry
  /// placeholder that old files carry: all `fallback`.
  std::optional<Dims> spatialList(std::string_view name, int spatial,
                                  int64_t fallback);

  /// An operation that reads a tensor, and as which operand.
  struct Reader {
    const graph::Op *op;
    size_t operand;
  };
  /// Who reads `tensor`; empty, too, if it is an output of the graph.
  std::vector<Reader> readersOf(uint64_t tensor) const;

  /// The shape the graph declares for a given result; null while not all known.
  const Dims *declaredShape(size_t output) const;
  /// Allocates a zeroed result; fails when the graph declares another shape or
  /// the tensor is too large. Nothing to do for a result that is left out.
  bool setShape(size_t output, const Dims &shape);
  /// Whether that many elements (any temporary) are within the limit.
  bool checkSize(const Dims &shape);
  bool requireRank(size_t input, int least);
  /// Fails unless operand `input` has exactly this shape.
  bool requireShape(size_t input, const Dims &shape);
  /// Fails unless operand `input` has this many elements.
  bool requireLength(size_t input, int64_t length);

private:
  const graph::Graph &graph;
  int64_t maxElements;
};

/// Where an operation takes s64, whose tensors hold integers, not doubles.
enum class S64Use {
  none,
  moved, // all operands and results, or none of them
  any,   // wherever the table allows it, alike for one type variable
  seed   // operands 1 and 2
};

/// How an operation of the table is evaluated.  The function returns false
/// after recording an error.  The numbers of operands and results are those of
/// the table; these, and that tensors are s64 only where it takes them, are
/// checked before it is called.
struct OpEntry {
  std::string_view kind;
  bool (*evaluate)(OpContext &);
  S64Use s64 = S64Use::none;
};

/// Calls `copy(elements of src, elements of dst)`, vectors of integers for s64
/// and else of doubles.  For operations with S64Use::moved.
template <typename Copy>
void moveElements(const Tensor &src, Tensor &dst, Copy copy) {
  if (dst.isS64())
    copy(src.integers, dst.integers);
  else
    copy(src.data, dst.data);
}

/// All elements of a tensor of integers.
std::vector<int64_t> integersOf(const Tensor &tensor);

/// Calls `use(elements)` with the integers of s64 or the doubles of others.
template <typename Use> void visitElements(const Tensor &tensor, Use use) {
  if (tensor.isS64())
    use(tensor.integers);
  else
    use(tensor.data);
}

// The families; each is defined in the file of that name.
std::span<const OpEntry> elementwiseOps();
std::span<const OpEntry> binaryOps();
std::span<const OpEntry> contractionOps();
std::span<const OpEntry> convolutionOps();
std::span<const OpEntry> windowOps();
std::span<const OpEntry> interpolateOps();
std::span<const OpEntry> normOps();
std::span<const OpEntry> recurrentOps();
std::span<const OpEntry> reduceOps();
std::span<const OpEntry> dataMovementOps();
std::span<const OpEntry> indexingOps();
std::span<const OpEntry> quantOps();
std::span<const OpEntry> backwardOps();
std::span<const OpEntry> normBackwardOps();
std::span<const OpEntry> lrnOps();
std::span<const OpEntry> searchOps();
std::span<const OpEntry> detectionOps();

/// Whether a tensor of this shape may be handled: its dims multiply to at most
/// `maxElements`, dims of 0 counting as 1, so that no loop over part of the
/// dims of an empty tensor can run for ages either.
bool withinLimit(const Dims &shape, int64_t maxElements);

/// "2x3x4", "scalar" for rank 0.
std::string shapeText(const Dims &shape);

/// Numpy broadcast of two shapes; nullopt when they do not fit.
std::optional<Dims> broadcastShapes(const Dims &a, const Dims &b);
/// Row-major strides of `shape` seen as right-aligned part of `result`:
/// 0 for broadcast dims.  nullopt unless `shape` broadcasts one-way to it.
std::optional<Dims> broadcastStrides(const Dims &shape, const Dims &result);

/// Runs `body(begin, end)` over pieces of [0, count) on up to `threads`
/// threads.  A piece has at least `grain` items.
void parallelFor(int threads, int64_t count, int64_t grain,
                 const std::function<void(int64_t, int64_t)> &body);

/// Visits every element of `shape` in row-major order:
/// `visit(linear index, offsets)` with one offset per stride vector.
template <size_t N, typename Visit>
void forEachIndex(const Dims &shape, const std::array<Dims, N> &strides,
                  Visit visit) {
  int64_t count = elementCount(shape);
  Dims index(shape.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offsets);
    for (size_t d = shape.size(); d-- > 0;) {
      for (size_t n = 0; n < N; ++n)
        offsets[n] += strides[n][d];
      if (++index[d] < shape[d])
        break;
      for (size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][d] * shape[d];
      index[d] = 0;
    }
  }
}

/// A tensor split at one dim: outer x length x inner, row-major.
struct AxisSplit {
  int64_t outer = 1, length = 1, inner = 1;
};
AxisSplit splitAt(const Dims &shape, int axis);

} // namespace tenon::reference
