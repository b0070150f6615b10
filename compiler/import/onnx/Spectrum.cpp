// SPDX-License-Identifier: Apache-2.0
//
// Fourier transforms as products with constant matrices, and tensors that go
// with them.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon::onnx {

/// Longer signals have a matrix of more than 64 MB.
static constexpr int64_t kMaxLength = 4096;

namespace {

/// A transform of `length` samples.
struct Transform {
  int64_t length;
  bool inverse, oneSided;
  int64_t frequencies() const { return oneSided ? length / 2 + 1 : length; }

  /// cos or sin of 2 pi i k / length, in row i and column k.
  Value matrix(NodeContext &n, double (*function)(double), DType dtype) const {
    auto table = n.table(DType::f32, {length, frequencies()});
    if (!table)
      return kNone;
    reference::Tensor &result = *table;
    for (int64_t i = 0; i < length; ++i)
      for (int64_t k = 0; k < frequencies(); ++k) {
        auto turn =
            static_cast<double>(i * k % length) / static_cast<double>(length);
        result.data[i * frequencies() + k] =
            function(2 * std::numbers::pi * turn) /
            (inverse ? static_cast<double>(length) : 1.0);
      }
    reference::setDType(result, dtype);
    reference::roundToDType(result);
    return n.constant(std::move(result));
  }
};

} // namespace

/// The last dim of `x` has real and imaginary parts, or real ones only; the dim
/// `axis` is transformed. Samples beyond its end are 0.
static Value transformed(NodeContext &n, Value x, int64_t axis,
                         const Transform &transform) {
  Dims dims = n.knownShape(x);
  auto last = static_cast<int64_t>(dims.size()) - 1;
  if (n.failed())
    return kNone;
  if (last < 1 || axis == last || dims[last] < 1 || dims[last] > 2 ||
      transform.length < 1 || transform.length > kMaxLength) {
    n.refuse("a signal of this shape");
    return kNone;
  }
  if (dims[axis] > transform.length) {
    x = n.slice(x, axis, 0, transform.length);
  } else if (dims[axis] < transform.length) {
    Dims none(dims.size(), 0), behind = none;
    behind[axis] = transform.length - dims[axis];
    x = n.op("Pad", {x}, {{"pads_begin", none}, {"pads_end", behind}});
  }
  // Samples last, before them what else there is.
  Dims order, back;
  for (int64_t i = 0; i < last; ++i)
    if (i != axis)
      order.push_back(i);
  order.push_back(axis);
  auto component = [&](int64_t i) {
    Dims shape = n.shape(x);
    shape.pop_back();
    return n.transpose(n.reshape(n.slice(x, last, i, i + 1), shape), order);
  };
  DType type = n.type(x);
  Value cosines = transform.matrix(n, std::cos, type);
  Value sines = transform.matrix(n, std::sin, type);
  // The exponent is -i times the angle, of the inverse +i.
  Value re = component(0), sum = n.op("MatMul", {re, cosines});
  Value difference = n.op("MatMul", {re, sines});
  if (!transform.inverse)
    difference = n.op("Multiply", {difference, n.like(difference, -1)});
  if (dims[last] == 2) {
    Value im = component(1), crossed = n.op("MatMul", {im, sines});
    sum = n.op(transform.inverse ? "Subtract" : "Add", {sum, crossed});
    difference = n.op("Add", {difference, n.op("MatMul", {im, cosines})});
  }
  back.assign(last + 1, last);
  for (int64_t i = 0; i < last; ++i)
    back[order[i]] = i;
  Value both = n.op("Concat",
                    {n.unsqueeze(sum, {last}), n.unsqueeze(difference, {last})},
                    {{"axis", last}});
  return n.transpose(both, back);
}

/// Real samples from the frequencies of one half, `x`: each that has a
/// counterpart in the other one counts twice.
static Value realSamples(NodeContext &n, Value x, int64_t axis,
                         int64_t length) {
  Dims dims = n.knownShape(x);
  auto last = static_cast<int64_t>(dims.size()) - 1;
  int64_t count = length / 2 + 1;
  if (n.failed() || last < 1 || axis == last || dims[last] != 2 || length < 1 ||
      length > kMaxLength || dims[axis] < count) {
    n.refuse("frequencies of this shape");
    return kNone;
  }
  reference::Tensor cosines = reference::zeros(DType::f32, {count, length});
  reference::Tensor sines = cosines;
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < length; ++i) {
      double angle = 2 * std::numbers::pi *
                     static_cast<double>(i * k % length) /
                     static_cast<double>(length);
      double factor =
          (k == 0 || 2 * k == length ? 1.0 : 2.0) / static_cast<double>(length);
      cosines.data[k * length + i] = factor * std::cos(angle);
      sines.data[k * length + i] = -factor * std::sin(angle);
    }
  auto [order, back] = NodeContext::ordersWithLast(axis, last);
  auto product = [&](int64_t i, reference::Tensor &matrix) {
    reference::roundToDType(matrix);
    Value one = n.slice(n.slice(x, axis, 0, count), last, i, i + 1);
    if (n.failed())
      return kNone;
    Dims shape = n.shape(one);
    shape.pop_back();
    one = n.transpose(n.reshape(one, shape), order);
    Value weights = n.cast(n.constant(std::move(matrix)), n.type(x));
    return n.op("MatMul", {one, weights});
  };
  Value sum = n.op("Add", {product(0, cosines), product(1, sines)});
  return n.unsqueeze(n.transpose(sum, back), {last});
}

/// The axis is an attribute, or since version 20 operand 2.
static void dft(NodeContext &n) {
  Value x = n.in(0);
  Dims dims = n.knownShape(x);
  int64_t axis =
      n.opset() < 20
          ? n.integer("axis", 1)
          : static_cast<int64_t>(n.neededNumber(2, "the operand axis", -2));
  axis = n.axisOf(axis, static_cast<int>(dims.size()));
  if (n.failed())
    return;
  if (n.integer("inverse", 0) && n.integer("onesided", 0)) {
    auto samples = static_cast<int64_t>(
        n.neededNumber(1, "the operand dft_length",
                       static_cast<double>(2 * (dims[axis] - 1))));
    return n.out(0, realSamples(n, x, axis, samples));
  }
  auto length = static_cast<int64_t>(n.neededNumber(
      1, "the operand dft_length", static_cast<double>(dims[axis])));
  n.out(0, transformed(n, x, axis,
                       {length, n.integer("inverse", 0) != 0,
                        n.integer("onesided", 0) != 0}));
}

/// Frames of real signals N, samples whose number is not known: a convolution
/// finds how many there are. Its channels are real, then imaginary parts.
static Value framesOf(NodeContext &n, Value x, int64_t step, Value window,
                      const Transform &transform) {
  x = n.unsqueeze(x, {1});
  DType type = n.type(x);
  Value cosines = transform.matrix(n, std::cos, type);
  Value sines = transform.matrix(n, std::sin, type);
  Value both =
      n.op("Concat", {cosines, n.op("Multiply", {sines, n.like(x, -1)})},
           {{"axis", int64_t{1}}});
  if (window != kNone)
    both = n.op("Multiply", {both, n.unsqueeze(window, {1})});
  Value weights = n.unsqueeze(n.transpose(both, {1, 0}), {1});
  Value parts = n.op("Convolution", {x, weights},
                     {{"strides", Dims{step}},
                      {"pads_begin", Dims{0}},
                      {"pads_end", Dims{0}},
                      {"dilations", Dims{1}},
                      {"data_format", "NCX"},
                      {"weights_format", "OIX"}});
  if (n.failed())
    return kNone;
  Sizes sizes = *n.sizesOf(parts);
  Value apart = n.reshapeTo(
      parts, {sizes[0], {2, ""}, {transform.frequencies(), ""}, sizes[2]});
  return n.transpose(apart, {0, 3, 2, 1});
}

/// Operands are a signal N, samples, 1 or 2, the step from frame to frame, a
/// window and the length of frames; of the last two one may be left out.
static void stft(NodeContext &n) {
  Value x = n.in(0), window = n.in(2);
  Dims dims = n.shape(x);
  auto step =
      static_cast<int64_t>(n.neededNumber(1, "the operand frame_step", 1));
  Dims samples = window == kNone ? Dims{0} : n.knownShape(window);
  auto length = static_cast<int64_t>(
      n.neededNumber(3, "the operand frame_length",
                     samples.empty() ? 0.0 : static_cast<double>(samples[0])));
  if (n.failed())
    return;
  // Exporters leave out the dim of 1 of real signals, too.
  bool isReal = dims.size() == 2 || (dims.size() == 3 && dims[2] == 1);
  if (isReal && std::ranges::count(dims, graph::kUnknownDim) && step >= 1 &&
      length >= 1 && length <= kMaxLength) {
    Sizes sizes = *n.sizesOf(x);
    sizes.resize(2);
    if (dims.size() == 3)
      x = n.reshapeTo(x, sizes);
    return n.out(0, framesOf(n, x, step, window,
                             {length, false, n.integer("onesided", 1) != 0}));
  }
  if (dims.size() == 2) {
    x = n.unsqueeze(x, {2});
    dims.push_back(1);
  }
  dims = n.knownShape(x);
  if (n.failed())
    return;
  if (dims.size() != 3 || step < 1 || length < 1 || length > dims[1] ||
      length > kMaxLength)
    return n.refuse("a signal of this shape");
  int64_t frames = 1 + (dims[1] - length) / step;
  auto places = n.table(DType::s64, {frames, length});
  if (!places)
    return;
  for (int64_t i = 0; i < frames * length; ++i)
    places->integers[i] = i / length * step + i % length;
  x = n.op("Gather", {x, n.constant(std::move(*places))},
           {{"axis", int64_t{1}}}); // N, frames, length, 1 or 2
  if (window != kNone)
    x = n.op("Multiply", {x, n.unsqueeze(window, {1})});
  n.out(0,
        transformed(n, x, 2, {length, false, n.integer("onesided", 1) != 0}));
}

/// a + b cos + c cos of twice the angle: windows of `size` samples, of which
/// periodic ones leave out the last of size + 1.
static void window(NodeContext &n, double a, double b, double c) {
  auto size = static_cast<int64_t>(n.neededNumber(0, "the operand size", 0));
  auto type = static_cast<DataType>(n.integer("output_datatype", 1));
  DType dtype = n.dtypeOf(type);
  if (n.failed())
    return;
  auto table = n.table(DType::f32, {size});
  if (!table)
    return;
  reference::Tensor &result = *table;
  double period = n.integer("periodic", 1) ? static_cast<double>(size)
                                           : static_cast<double>(size - 1);
  for (int64_t i = 0; i < size; ++i) {
    double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    result.data[i] = a + b * std::cos(angle) + c * std::cos(2 * angle);
  }
  reference::setDType(result, dtype);
  reference::roundToDType(result);
  n.out(0, n.constant(std::move(result)));
}

static void blackmanWindow(NodeContext &n) { window(n, 0.42, -0.5, 0.08); }
static void hammingWindow(NodeContext &n) {
  window(n, 25.0 / 46, -21.0 / 46, 0);
}
static void hannWindow(NodeContext &n) { window(n, 0.5, -0.5, 0); }

/// Operands are the number of bins, the length of transforms, samples in a
/// second, and the lowest and highest frequency. Each bin is a triangle over
/// frequencies; bins are equally far apart on the mel scale.
static void melWeights(NodeContext &n) {
  auto integer = [&](size_t i, const char *what) {
    return static_cast<int64_t>(n.neededNumber(i, what, 0));
  };
  int64_t bins = integer(0, "the operand num_mel_bins");
  int64_t length = integer(1, "the operand dft_length");
  int64_t rate = integer(2, "the operand sample_rate");
  double lowest = n.neededNumber(3, "the operand lower_edge_hertz", 0);
  double highest = n.neededNumber(4, "the operand upper_edge_hertz", 0);
  DType dtype =
      n.dtypeOf(static_cast<DataType>(n.integer("output_datatype", 1)));
  if (n.failed())
    return;
  if (bins < 1 || bins > kMaxLength || length < 1 || length > (1 << 20) ||
      rate < 1 || lowest < 0 || lowest > highest || highest * 2 > rate)
    return n.refuse("these frequencies");
  auto melOf = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = melOf(lowest), high = melOf(highest);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double mel = low + static_cast<double>(i) * (high - low) /
                           static_cast<double>(bins + 2);
    double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(
        static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  int64_t frequencies = length / 2 + 1;
  auto table = n.table(DType::f32, {frequencies, bins});
  if (!table)
    return;
  reference::Tensor &result = *table;
  for (int64_t i = 0; i < bins; ++i) {
    int64_t left = edges[i], top = edges[i + 1], right = edges[i + 2];
    for (int64_t k = left; k < std::min(std::max(right, top + 1), frequencies);
         ++k)
      result.data[k * bins + i] =
          k == top ? 1
          : k < top
              ? static_cast<double>(k - left) / static_cast<double>(top - left)
              : static_cast<double>(right - k) /
                    static_cast<double>(right - top);
  }
  reference::setDType(result, dtype);
  reference::roundToDType(result);
  n.out(0, n.constant(std::move(result)));
}

std::span<const OpConversion> spectrumConversions() {
  static constexpr OpConversion table[] = {
      {"BlackmanWindow", 17, blackmanWindow}, {"DFT", 17, dft},
      {"HammingWindow", 17, hammingWindow},   {"HannWindow", 17, hannWindow},
      {"MelWeightMatrix", 17, melWeights},    {"STFT", 17, stft},
  };
  return table;
}

} // namespace tenon::onnx
