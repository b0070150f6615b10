// SPDX-License-Identifier: Apache-2.0
//
// Windows that are sums over patches of an image, and patches put together.
#include "compiler/import/onnx/Conversions.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx {

namespace {

/// A window over the spatial dims of N, C, ...
struct Patch {
  Dims kernel, strides, dilations, begins, ends;
  /// Elements of pads that count, at the end; the rest of `ends` does not.
  Dims counted;
};

} // namespace

/// A tensor of ones.
static Value ones(NodeContext &n, Dims shape, DType dtype) {
  return n.op("Expand", {n.scalar(1, dtype)}, {{"shape", std::move(shape)}});
}

/// From 1 to what no product of two is too large for.
static bool isSmall(int64_t number) {
  return number >= 1 && number <= (1 << 24);
}

/// The window that the attributes say, with end pads for all windows there are.
static Patch patchOf(NodeContext &n, const Dims &sizes) {
  size_t spatial = sizes.size();
  Patch p;
  p.kernel = n.integers("kernel_shape").value_or(Dims(spatial, 1));
  p.strides = n.integers("strides").value_or(Dims(spatial, 1));
  p.dilations = n.integers("dilations").value_or(Dims(spatial, 1));
  Dims pads = n.integers("pads").value_or(Dims(2 * spatial, 0));
  std::string automatic = n.text("auto_pad", "NOTSET");
  if (p.kernel.size() != spatial || p.strides.size() != spatial ||
      p.dilations.size() != spatial || pads.size() != 2 * spatial) {
    n.refuse("an entry for each spatial dim is needed");
    return p;
  }
  for (size_t i = 0; i < spatial; ++i) {
    if (!isSmall(p.kernel[i]) || !isSmall(p.strides[i]) ||
        !isSmall(p.dilations[i]) || !isSmall(sizes[i]) ||
        !isSmall(pads[i] + 1) || !isSmall(pads[spatial + i] + 1)) {
      n.refuse("a window of this form");
      return p;
    }
    int64_t window = p.dilations[i] * (p.kernel[i] - 1) + 1,
            step = p.strides[i];
    int64_t begin = pads[i], end = pads[spatial + i];
    if (automatic.starts_with("SAME")) {
      int64_t total = std::max<int64_t>(
          ((sizes[i] - 1) / step) * step + window - sizes[i], 0);
      begin = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    } else if (automatic == "VALID") {
      begin = end = 0;
    }
    int64_t room = sizes[i] + begin + end - window;
    p.begins.push_back(begin);
    p.counted.push_back(end);
    int64_t count = std::max<int64_t>(room, 0) / step + 1;
    // One more window, if it begins on what is not an end pad.
    if (n.integer("ceil_mode", 0) && room % step &&
        count * step < sizes[i] + begin)
      ++count;
    p.ends.push_back(
        std::max<int64_t>((count - 1) * step + window - sizes[i] - begin, 0));
  }
  return p;
}

/// Sums over the windows of each channel.
static Value windowSums(NodeContext &n, Value x, const Patch &p, Dims begins,
                        Dims ends) {
  Dims dims = n.knownShape(x);
  if (n.failed())
    return kNone;
  Dims weights{dims[1], 1};
  weights.insert(weights.end(), p.kernel.begin(), p.kernel.end());
  return n.op("Convolution", {x, ones(n, weights, n.type(x))},
              {{"data_format", "NCX"},
               {"weights_format", "OIX"},
               {"groups", dims[1]},
               {"strides", p.strides},
               {"dilations", p.dilations},
               {"pads_begin", std::move(begins)},
               {"pads_end", std::move(ends)}});
}

static Dims spatialSizes(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  if (dims.size() < 3) {
    n.refuse("a tensor without spatial dims");
    return {};
  }
  return Dims(dims.begin() + 2, dims.end());
}

/// Sums by the number of elements, for what AvgPool is not: windows with gaps.
void dilatedAveragePool(NodeContext &n) {
  Dims sizes = spatialSizes(n);
  Patch p = patchOf(n, sizes);
  if (n.failed())
    return;
  Value sums = windowSums(n, n.in(0), p, p.begins, p.ends);
  bool padsCount = n.integer("count_include_pad", 0) != 0;
  Dims counted{1, 1}, begins = p.begins, ends = p.ends;
  for (size_t i = 0; i < sizes.size(); ++i) {
    counted.push_back(sizes[i] + (padsCount ? p.begins[i] + p.counted[i] : 0));
    if (padsCount) {
      begins[i] = 0;
      ends[i] = std::max<int64_t>(ends[i] - p.counted[i], 0);
    }
  }
  Value counts = windowSums(n, ones(n, counted, n.type(sums)), p, begins, ends);
  n.out(0, n.op("Divide", {sums, counts}));
}

/// The p-th root of the sum of |x|^p.
static void lpPool(NodeContext &n) {
  Value x = n.in(0);
  Patch p = patchOf(n, spatialSizes(n));
  if (n.failed())
    return;
  auto power = static_cast<double>(n.integer("p", 2));
  Value powers = n.op("Pow", {n.op("Abs", {x}), n.like(x, power)});
  Value sums = windowSums(n, powers, p, p.begins, p.ends);
  n.out(0, n.op("Pow", {sums, n.like(sums, 1 / power)}));
}

/// Operands N, C * K, blocks; the sizes of the image; those of a block with K
/// elements. Elements that meet are added: a transposed convolution whose
/// weights put each element at its place.
static void col2Im(NodeContext &n) {
  Dims dims = n.knownShape(n.in(0));
  Dims image = n.needed(1, "the operand image_shape");
  Dims kernel = n.needed(2, "the operand block_shape");
  if (n.failed())
    return;
  size_t spatial = image.size();
  int64_t taps = reference::elementCount(kernel);
  Dims strides = n.integers("strides").value_or(Dims(spatial, 1));
  Dims dilations = n.integers("dilations").value_or(Dims(spatial, 1));
  Dims pads = n.integers("pads").value_or(Dims(2 * spatial, 0));
  if (dims.size() != 3 || kernel.size() != spatial ||
      strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial || taps < 1 || taps > 1024 || dims[1] % taps)
    return n.refuse("blocks of this form");
  Dims apart{dims[0], dims[1]}, extra, begins, ends;
  for (size_t i = 0; i < spatial; ++i) {
    if (!isSmall(image[i]) || !isSmall(strides[i]) || !isSmall(dilations[i]) ||
        !isSmall(pads[i] + 1) || !isSmall(pads[spatial + i] + 1))
      return n.refuse("blocks of this form");
    int64_t window = dilations[i] * (kernel[i] - 1) + 1;
    int64_t room = image[i] + pads[i] + pads[spatial + i] - window;
    if (room < 0)
      return n.refuse("blocks of this form");
    apart.push_back(room / strides[i] + 1);
    extra.push_back(room % strides[i]);
    begins.push_back(pads[i]);
    ends.push_back(pads[spatial + i]);
  }
  reference::Tensor places = reference::zeros(DType::f32, {taps, 1, taps});
  for (int64_t i = 0; i < taps; ++i)
    places.data[i * taps + i] = 1;
  int64_t channels = dims[1] / taps;
  Value weights = n.cast(n.constant(std::move(places)), n.type(n.in(0)));
  weights = n.op("Expand", {n.unsqueeze(weights, {0})},
                 {{"shape", Dims{channels, taps, 1, taps}}});
  Dims shape{dims[1], 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  n.out(0, n.op("ConvTranspose",
                {n.reshape(n.in(0), apart), n.reshape(weights, shape)},
                {{"data_format", "NCX"},
                 {"weights_format", "IOX"},
                 {"groups", channels},
                 {"strides", strides},
                 {"dilations", dilations},
                 {"pads_begin", begins},
                 {"pads_end", ends},
                 {"output_padding", extra}}));
}

/// The positions of all elements of images of these spatial sizes, from -1 to
/// 1, the last dim first, and 1 behind them: elements, D + 1.
static Value knownPositions(NodeContext &n, const Dims &sizes) {
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t count = reference::elementCount(sizes);
  if (count < 1 || count > (1 << 22)) {
    n.refuse("impossible sizes");
    return kNone;
  }
  bool corners = n.integer("align_corners", 0) != 0;
  reference::Tensor grid = reference::zeros(DType::f32, {count, rank + 1});
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    grid.data[i * (rank + 1) + rank] = 1;
    // x first, which is the last dim.
    for (int64_t d = 0; d < rank; ++d) {
      int64_t size = sizes[rank - 1 - d];
      auto at = static_cast<double>(rest % size);
      rest /= size;
      double place = corners ? 2 * at / static_cast<double>(size - 1) - 1
                             : (2 * at + 1) / static_cast<double>(size) - 1;
      grid.data[i * (rank + 1) + d] = corners && size == 1 ? -1 : place;
    }
  }
  reference::roundToDType(grid);
  return n.constant(std::move(grid));
}

/// The same for sizes that the code computes: expressions, and the elements of
/// operand 1 from 2 on.
static Value computedPositions(NodeContext &n, const Sizes &sizes) {
  auto rank = static_cast<int64_t>(sizes.size());
  bool corners = n.integer("align_corners", 0) != 0;
  Value one = n.scalar(1, DType::f32), two = n.scalar(2, DType::f32);
  Values columns;
  for (int64_t d = rank - 1; d >= 0; --d) {
    Value zeros = n.expandTo(n.scalar(0, DType::s64), {sizes[d]});
    Value at = n.cast(n.indexAlong(zeros, 0), DType::f32);
    Value size = n.reshape(n.slice(n.in(1), 0, d + 2, d + 3), {});
    size = n.cast(size, DType::f32);
    at = n.op("Multiply", {at, two});
    if (corners)
      // One element is at 0 / 1 - 1.
      size = n.op("Maximum", {n.op("Subtract", {size, one}), one});
    else
      at = n.op("Add", {at, one});
    at = n.op("Subtract", {n.op("Divide", {at, size}), one});
    Dims behind;
    for (int64_t i = d + 1; i <= rank; ++i)
      behind.push_back(i - d);
    columns.push_back(n.unsqueeze(at, behind));
  }
  columns.push_back(one);
  Sizes each = sizes;
  each.push_back({1, ""});
  for (Value &column : columns)
    column = n.expandTo(column, each);
  Value all = n.op("Concat", columns, {{"axis", rank}});
  return n.reshapeTo(all, {productOf(sizes, 0, rank), Size{rank + 1, ""}});
}

/// Operands matrices N, D, D + 1, and the sizes of the images.
static void affineGrid(NodeContext &n) {
  Value theta = n.in(0);
  std::optional<Sizes> sizes = n.elementsAsSizes(n.in(1));
  if (!sizes)
    return n.refuse("the operand size is not made of sizes");
  if (sizes->size() < 3 || sizes->size() > 5 || n.rank(theta) != 3)
    return n.refuse("images of this number of dims");
  sizes->erase(sizes->begin(), sizes->begin() + 2);
  Dims numbers;
  for (const Size &size : *sizes)
    numbers.push_back(size.number);
  bool isKnown = std::ranges::all_of(*sizes, &Size::isKnown);
  Value places =
      isKnown ? knownPositions(n, numbers) : computedPositions(n, *sizes);
  if (n.failed())
    return;
  places = n.cast(places, n.type(theta));
  Value result = n.op("MatMul", {places, theta}, {{"transpose_b", true}});
  Sizes shape = *sizes;
  shape.insert(shape.begin(), n.sizesOf(theta)->front());
  shape.push_back({static_cast<int64_t>(sizes->size()), ""});
  n.out(0, n.reshapeTo(result, shape));
}

std::span<const OpConversion> patchConversions() {
  static constexpr OpConversion table[] = {
      {"AffineGrid", 20, affineGrid},
      {"Col2Im", 18, col2Im},
      {"LpPool", 1, lpPool},
  };
  return table;
}

} // namespace tenon::onnx
