//===- OpContext.cpp - one operation under evaluation ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See OpContext.h.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/OpContext.h"
#include "dialects/graph/OpTable.h"

#include <atomic>
#include <thread>

namespace tenon::reference {

OpContext::OpContext(const graph::Graph &graph, const graph::Op &op,
                     int threads, int64_t maxElements)
    : op(op), threads(threads), graph(graph), maxElements(maxElements) {}

bool OpContext::fail(ErrorCode code, std::string message, std::string hint) {
  errors.push_back(
      graph::errorAbout(op, code, std::move(message), std::move(hint)));
  return false;
}

double OpContext::f32(std::string_view name, float fallback) const {
  return op.attrOr<float>(name, fallback);
}
int64_t OpContext::s64(std::string_view name, int64_t fallback) const {
  return op.attrOr<int64_t>(name, fallback);
}
bool OpContext::flag(std::string_view name, bool fallback) const {
  return op.attrOr<bool>(name, fallback);
}
std::string OpContext::text(std::string_view name, std::string fallback) const {
  return op.attrOr<std::string>(name, std::move(fallback));
}
Dims OpContext::list(std::string_view name) const {
  return op.attrOr<Dims>(name, {});
}

int OpContext::channelDim(int rank) const {
  return rank <= 2 || !channelLast() ? 1 : rank - 1;
}

std::optional<int> OpContext::axis(std::string_view name, int64_t fallback,
                                   int rank) {
  int64_t value = s64(name, fallback);
  if (value < -rank || value >= rank) {
    fail(ErrorCode::AttrValue,
         std::string(name) + " is " + std::to_string(value) + ", rank is " +
             std::to_string(rank),
         "use a value in [-rank, rank-1]");
    return std::nullopt;
  }
  return static_cast<int>(value < 0 ? value + rank : value);
}

std::vector<OpContext::Reader> OpContext::readersOf(uint64_t tensor) const {
  std::vector<Reader> readers;
  const std::vector<uint64_t> &outputs = graph.outputPorts;
  if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end())
    return readers;
  for (const graph::Op &reader : graph.ops)
    for (size_t i = 0; i < reader.inputs.size(); ++i)
      if (reader.inputs[i] == tensor)
        readers.push_back({&reader, i});
  return readers;
}

std::optional<Dims> OpContext::spatialList(std::string_view name, int spatial,
                                           int64_t fallback) {
  Dims values = list(name);
  auto isFallback = [&](int64_t v) { return v == fallback; };
  bool placeholder = values.size() == graph::kMaxRank &&
                     std::all_of(values.begin(), values.end(), isFallback);
  if (values.empty() || placeholder)
    return Dims(spatial, fallback);
  if (values.size() != static_cast<size_t>(spatial)) {
    fail(ErrorCode::AttrValue, std::string(name) + " has " +
                                   std::to_string(values.size()) +
                                   " entries, there are " +
                                   std::to_string(spatial) + " spatial dims");
    return std::nullopt;
  }
  // Windows beyond 2^31 cannot be meant and would overflow index arithmetic.
  bool positive = name == "strides" || name == "dilations" || name == "kernel";
  bool crops = name == "pads_end" &&
               graph::factsOf(op.kind).opClass == graph::OpClass::window;
  int64_t least = positive ? 1 : crops ? -INT32_MAX : 0;
  for (int64_t value : values)
    if (value < least || value > INT32_MAX) {
      fail(ErrorCode::AttrValue,
           std::string(name) + " has the entry " + std::to_string(value));
      return std::nullopt;
    }
  return values;
}

const Dims *OpContext::declaredShape(size_t output) const {
  const graph::LogicalTensor &tensor = graph.tensor(*op.outputAt(output));
  return tensor.hasStaticShape() ? &*tensor.shape : nullptr;
}

bool withinLimit(const Dims &shape, int64_t maxElements) {
  Dims counted = shape;
  std::replace(counted.begin(), counted.end(), int64_t{0}, int64_t{1});
  int64_t count = elementCount(counted);
  return count >= 0 && count <= maxElements;
}

bool OpContext::checkSize(const Dims &shape) {
  if (withinLimit(shape, maxElements))
    return true;
  return fail(ErrorCode::TooLarge,
              "a tensor of " + shapeText(shape) + " exceeds the limit of " +
                  std::to_string(maxElements) + " elements");
}

bool OpContext::setShape(size_t output, const Dims &shape) {
  if (!hasOut(output))
    return true;
  if (!checkSize(shape))
    return false;
  if (const Dims *declared = declaredShape(output);
      declared && *declared != shape)
    return fail(ErrorCode::ShapeMismatch, "result " + std::to_string(output) +
                                              " has shape " + shapeText(shape) +
                                              ", the graph says " +
                                              shapeText(*declared));
  DType dtype = outputs[output].dtype;
  outputs[output] = zeros(dtype, shape);
  return true;
}

bool OpContext::requireRank(size_t input, int least) {
  if (in(input).rank() >= least)
    return true;
  return fail(ErrorCode::BadRank,
              "operand " + std::to_string(input) + " has rank " +
                  std::to_string(in(input).rank()) + ", at least " +
                  std::to_string(least) + " is needed");
}

bool OpContext::requireShape(size_t input, const Dims &shape) {
  if (in(input).shape == shape)
    return true;
  return fail(ErrorCode::ShapeMismatch, "operand " + std::to_string(input) +
                                            " has shape " +
                                            shapeText(in(input).shape) +
                                            ", needed is " + shapeText(shape));
}

bool OpContext::requireLength(size_t input, int64_t length) {
  if (in(input).numElements() == length)
    return true;
  return fail(ErrorCode::ShapeMismatch,
              "operand " + std::to_string(input) + " " +
                  shapeText(in(input).shape) + " must have " +
                  std::to_string(length) + " elements");
}

std::vector<int64_t> integersOf(const Tensor &tensor) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    all.push_back(integerAt(tensor, i));
  return all;
}

std::string shapeText(const Dims &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t dim : shape)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

std::optional<Dims> broadcastShapes(const Dims &a, const Dims &b) {
  const Dims &longer = a.size() >= b.size() ? a : b;
  const Dims &shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  size_t lead = longer.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); ++d) {
    int64_t &dim = result[lead + d];
    if (dim == 1)
      dim = shorter[d];
    else if (shorter[d] != 1 && shorter[d] != dim)
      return std::nullopt;
  }
  return result;
}

std::optional<Dims> broadcastStrides(const Dims &shape, const Dims &result) {
  if (shape.size() > result.size())
    return std::nullopt;
  Dims strides(result.size(), 0);
  int64_t stride = 1;
  size_t lead = result.size() - shape.size();
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && shape[d] != result[lead + d])
      return std::nullopt;
    strides[lead + d] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return strides;
}

void parallelFor(int threads, int64_t count, int64_t grain,
                 const std::function<void(int64_t, int64_t)> &body) {
  if (count <= 0)
    return;
  // Four pieces per thread even out pieces of unequal cost.
  int64_t workers = std::clamp(threads, 1, 256);
  int64_t piece = std::max({grain, int64_t{1}, count / (workers * 4)});
  int64_t pieces = (count + piece - 1) / piece;
  workers = std::min(workers, pieces);
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t p; (p = next.fetch_add(1)) < pieces;)
      body(p * piece, std::min(count, (p + 1) * piece));
  };
  std::vector<std::thread> pool;
  for (int64_t w = 1; w < workers; ++w)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
}

AxisSplit splitAt(const Dims &shape, int axis) {
  AxisSplit split;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    (d < axis    ? split.outer
     : d == axis ? split.length
                 : split.inner) *= shape[d];
  return split;
}

} // namespace tenon::reference
