// SPDX-License-Identifier: Apache-2.0
//
// Scan: as many steps as its inputs have entries.
#include "compiler/import/onnx/Conversions.h"
#include "compiler/import/onnx/Steps.h"

#include <algorithm>

namespace tenon::onnx {

namespace {

/// Operands are the carried values, and tensors of which each step gets an
/// entry; in version 8 the lengths of the sequences before them.
class Scan {
public:
  Scan(NodeContext &n, const GraphProto &body, size_t first)
      : n(n), body(body), first(first) {
    int64_t given = n.integer("num_scan_inputs", 0);
    if (given < 1 || static_cast<uint64_t>(given) + first > n.numInputs())
      n.fail(ErrorCode::AttrValue,
             "num_scan_inputs is " + std::to_string(given) + " of " +
                 std::to_string(n.numInputs()) + " operands");
    else
      numInputs = static_cast<size_t>(given);
    numCarried = n.numInputs() - std::min(n.numInputs(), first + numInputs);
  }

  void run() {
    if (n.failed())
      return;
    size_t numOutputs =
        body.outputs.size() - std::min(body.outputs.size(), numCarried);
    axes = list("scan_input_axes", numInputs);
    reversed = list("scan_input_directions", numInputs);
    Dims outAxes = list("scan_output_axes", numOutputs),
         outReversed = list("scan_output_directions", numOutputs);
    int64_t length = lengthOf();
    Steps steps(n, body, 0, operands(first, numCarried));
    for (int64_t t = 0; t < length && !n.failed(); ++t)
      steps.add({},
                entriesAt(t, length, operands(first + numCarried, numInputs)));
    if (length == 0 && !n.failed())
      steps.measure({}, emptyEntries());
    for (size_t i = 0; i < numCarried && !n.failed(); ++i)
      n.out(i, steps.carriedValue(i));
    for (size_t j = 0; j < steps.numEntries() && !n.failed(); ++j)
      if (n.wants(numCarried + j))
        n.out(numCarried + j, steps.stacked(j, outAxes[j], outReversed[j]));
  }

  /// Version 8: a batch of sequences.
  void runBatch() {
    if (n.failed())
      return;
    axes.assign(numInputs, 1);
    reversed = list("directions", numInputs);
    int64_t length = lengthOf(), batch = batchOf();
    std::optional<Dims> lengths = n.known(n.in(0));
    if (n.in(0) != kNone && !n.failed()) {
      if (!lengths && std::ranges::count(reversed, 1))
        n.refuse("sequences of unknown lengths that begin at their end",
                 kKnownSizes);
      Dims dims = n.shape(n.in(0));
      if (dims != Dims{batch} ||
          (lengths && std::ranges::any_of(*lengths, [&](int64_t each) {
             return each < 0 || each > length;
           })))
        n.fail(ErrorCode::BadTensorData,
               "sequence_lens does not fit " + std::to_string(batch) +
                   " sequences of " + std::to_string(length) + " entries");
    }
    std::vector<Values> results(n.numOutputs());
    for (int64_t b = 0; b < batch && !n.failed(); ++b)
      runSequence(b, lengths ? (*lengths)[b] : length, length, results);
    for (size_t i = 0; i < results.size() && !n.failed(); ++i)
      if (n.wants(i))
        n.out(i, stack(n, results[i], 0, "result " + std::to_string(i)));
  }

private:
  Values operands(size_t begin, size_t count) const {
    Values values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(n.in(begin + i));
    return values;
  }

  /// An attribute with a number for each of `count`; of zeros if left out.
  Dims list(std::string_view attribute, size_t count) {
    Dims numbers = n.integers(attribute).value_or(Dims(count, 0));
    if (numbers.size() != count)
      n.fail(ErrorCode::AttrValue,
             std::string(attribute) + " has " + std::to_string(numbers.size()) +
                 " numbers, not " + std::to_string(count));
    numbers.resize(count, 0);
    return numbers;
  }

  /// The number of entries of all scan inputs.
  int64_t lengthOf() {
    std::optional<int64_t> length;
    for (size_t i = 0; i < numInputs && !n.failed(); ++i) {
      Value x = n.in(first + numCarried + i);
      int64_t axis = axes[i] = n.axisOf(axes[i], n.rank(x));
      if (n.failed())
        break;
      int64_t size = n.dim(x, static_cast<size_t>(axis));
      if (size == graph::kUnknownDim)
        n.refuse("the number of steps, dim " + std::to_string(axis) +
                     " of scan input " + std::to_string(i) +
                     ", is not known when the model is read",
                 kKnownSizes);
      else if (length.value_or(size) != size)
        n.fail(ErrorCode::ShapeMismatch, "scan inputs have " +
                                             std::to_string(*length) + " and " +
                                             std::to_string(size) + " entries");
      length = size;
    }
    if (!n.failed() && *length > kMaxSteps)
      n.refuse("runs " + std::to_string(*length) + " steps, and at most " +
                   std::to_string(kMaxSteps) + " are written out",
               "a shorter sequence, by --input");
    return n.failed() ? 0 : *length;
  }

  int64_t batchOf() {
    std::optional<int64_t> batch;
    for (size_t i = first; i < n.numInputs() && !n.failed(); ++i) {
      Dims dims = n.shape(n.in(i));
      if (dims.empty() || dims[0] == graph::kUnknownDim || dims[0] < 1 ||
          dims[0] > kMaxSteps || batch.value_or(dims[0]) != dims[0])
        n.refuse("a batch that is not known, not the same in all operands, or "
                 "not from 1 to " +
                     std::to_string(kMaxSteps),
                 kKnownSizes);
      else
        batch = dims[0];
    }
    return batch.value_or(0);
  }

  Value entryOf(Value x, int64_t axis, int64_t at) {
    Value one = n.slice(x, axis, at, at + 1);
    Sizes sizes = n.sizesOf(one).value_or(Sizes{});
    if (axis < static_cast<int64_t>(sizes.size()))
      sizes.erase(sizes.begin() + axis);
    return n.failed() ? kNone : n.reshapeTo(one, std::move(sizes));
  }

  /// What step `t` of `length` gets.
  Values entriesAt(int64_t t, int64_t length, Values inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = entryOf(inputs[i], axes[i], reversed[i] ? length - 1 - t : t);
    return inputs;
  }

  Values emptyEntries() {
    Values entries;
    for (size_t i = 0; i < numInputs; ++i) {
      Value x = n.in(first + numCarried + i);
      Dims dims = n.knownShape(x);
      if (n.failed())
        return entries;
      dims.erase(dims.begin(), dims.begin() + static_cast<int64_t>(first));
      dims.erase(dims.begin() + axes[i]);
      entries.push_back(
          n.op("Expand", {n.like(x, 0)}, {{"shape", std::move(dims)}}));
    }
    return entries;
  }

  /// Steps of sequence `b`, of which `length` of `padded` entries count.
  void runSequence(int64_t b, int64_t length, int64_t padded,
                   std::vector<Values> &results) {
    auto ofSequence = [&](Values values) {
      for (Value &value : values)
        value = entryOf(value, 0, b);
      return values;
    };
    Values inputs = ofSequence(operands(first + numCarried, numInputs));
    Steps steps(n, body, 0, ofSequence(operands(first, numCarried)));
    Value count = kNone;
    if (n.in(0) != kNone && !n.known(n.in(0)))
      count = n.cast(entryOf(n.in(0), 0, b), DType::s64);
    std::ranges::fill(axes, 0);
    for (int64_t t = 0; t < length && !n.failed(); ++t) {
      if (count != kNone)
        steps.countWhere(
            n.greater(count, n.scalar(static_cast<double>(t), DType::s64)));
      steps.add({}, entriesAt(t, length, inputs));
    }
    if (length == 0 && !n.failed())
      steps.measure({}, padded ? entriesAt(0, 1, inputs) : emptyEntries());
    for (size_t i = 0; i < results.size() && !n.failed(); ++i) {
      if (!n.wants(i))
        continue;
      results[i].push_back(
          i < numCarried
              ? steps.carriedValue(i)
              : withZeros(steps.stacked(i - numCarried, 0), padded - length));
    }
  }

  /// With so many entries of zeros behind it.
  Value withZeros(Value x, int64_t count) {
    Dims none(n.shape(x).size(), 0), some = none;
    if (count == 0 || some.empty())
      return x;
    some[0] = count;
    return n.op("Pad", {x}, {{"pads_begin", none}, {"pads_end", some}});
  }

  NodeContext &n;
  const GraphProto &body;
  size_t first, numCarried = 0, numInputs = 0;
  Dims axes, reversed; // of each scan input
};

} // namespace

static void scan(NodeContext &n) {
  if (const GraphProto *body = n.graph("body"))
    Scan(n, *body, 0).run();
}

static void scanOfBatch(NodeContext &n) {
  if (const GraphProto *body = n.graph("body"))
    Scan(n, *body, 1).runBatch();
}

std::span<const OpConversion> scanConversions() {
  static constexpr OpConversion table[] = {
      {"Scan", 8, scanOfBatch},
      {"Scan", 9, scan},
  };
  return table;
}

} // namespace tenon::onnx
