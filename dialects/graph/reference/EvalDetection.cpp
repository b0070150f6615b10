//===- EvalDetection.cpp - boxes and regions of detectors -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NonMaxSuppression, RoiAlign. Both have the formulas of ONNX.
//
// Decisions. A box whose score is NaN is not taken; one with a NaN in it
// overlaps none. A region with a NaN in it has no sample inside src.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

#include <cmath>

namespace tenon::reference {
namespace {

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

struct Box {
  double low[2], high[2]; // of y and x

  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
  bool isEmpty() const { return high[0] <= low[0] || high[1] <= low[1]; }
};

/// The box of four numbers: corners y1, x1, y2, x2, or x, y, width, height.
Box boxOf(const double *numbers, bool isCentre) {
  Box box;
  for (int d = 0; d < 2; ++d) {
    if (isCentre) {
      double middle = numbers[1 - d], half = numbers[3 - d] / 2;
      box.low[d] = middle - half;
      box.high[d] = middle + half;
    } else {
      box.low[d] = std::min(numbers[d], numbers[d + 2]);
      box.high[d] = std::max(numbers[d], numbers[d + 2]);
    }
  }
  return box;
}

/// Area of the intersection by that of the union, in f32: two boxes with 7
/// tenths in common are within a threshold of 0.7f, which is a bit less.
float overlapOf(const Box &a, const Box &b) {
  Box both;
  for (int d = 0; d < 2; ++d) {
    both.low[d] = std::max(a.low[d], b.low[d]);
    both.high[d] = std::min(a.high[d], b.high[d]);
  }
  if (a.isEmpty() || b.isEmpty() || both.isEmpty())
    return 0;
  double common = both.area();
  return static_cast<float>(common / (a.area() + b.area() - common));
}

/// The numbers of the boxes of one class that are taken, in order.
Dims takeBoxes(const OpContext &c, std::span<const Box> boxes,
               const double *scores) {
  auto most = static_cast<size_t>(c.s64("max_output_boxes_per_class", 0));
  auto limit = static_cast<float>(c.f32("iou_threshold", 0));
  bool isLimited = c.op.attr("score_threshold");
  double least = c.f32("score_threshold", 0);
  Dims order, taken;
  for (size_t i = 0; i < boxes.size(); ++i)
    if (!std::isnan(scores[i]) && (!isLimited || scores[i] > least))
      order.push_back(static_cast<int64_t>(i));
  std::ranges::sort(order, [&](int64_t a, int64_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  for (int64_t i : order) {
    if (taken.size() == most)
      break;
    bool overlaps = std::ranges::any_of(taken, [&](int64_t other) {
      return overlapOf(boxes[i], boxes[other]) > limit;
    });
    if (!overlaps)
      taken.push_back(i);
  }
  return taken;
}

bool evalNonMaxSuppression(OpContext &c) {
  const Tensor &boxes = c.in(0), &scores = c.in(1);
  if (!c.requireRank(0, 3) || !c.requireRank(1, 3))
    return false;
  int64_t batches = scores.shape[0], classes = scores.shape[1],
          count = scores.shape[2];
  int64_t most = c.s64("max_output_boxes_per_class", 0);
  if (!c.requireShape(0, {batches, count, 4}) ||
      !c.requireShape(1, {batches, classes, count}))
    return false;
  if (most < 0)
    return c.fail(ErrorCode::AttrValue, "max_output_boxes_per_class is " +
                                            std::to_string(most) +
                                            "; the least value is 0");
  int64_t perClass = std::min(most, count);
  if (!c.checkSize({batches, classes, perClass}) ||
      !c.setShape(0, {batches * classes * perClass, 3}) || !c.setShape(1, {}))
    return false;
  bool isCentre = c.flag("center_point_box", false);
  int64_t row = 0;
  for (int64_t n = 0; n < batches; ++n) {
    std::vector<Box> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(boxOf(boxes.data.data() + (n * count + i) * 4, isCentre));
    for (int64_t k = 0; k < classes; ++k)
      for (int64_t box :
           takeBoxes(c, all, scores.data.data() + (n * classes + k) * count)) {
        setInteger(c.out(), row * 3, n);
        setInteger(c.out(), row * 3 + 1, k);
        setInteger(c.out(), row * 3 + 2, box);
        ++row;
      }
  }
  setInteger(c.out(1), 0, row);
  return true;
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// The samples of a region along one dim.
struct Samples {
  double start = 0, step = 0; // of cells
  int64_t perCell = 0;

  double at(int64_t cell, int64_t sample) const {
    return start + step * (static_cast<double>(cell) +
                           (static_cast<double>(sample) + 0.5) /
                               static_cast<double>(perCell));
  }
};

/// The samples from `begin` to `end`, numbers of rois, in `cells` cells.
Samples samplesOf(const OpContext &c, double begin, double end, int64_t cells) {
  double scale = c.f32("spatial_scale", 1);
  bool half =
      c.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  double size = (end - begin) * scale;
  if (!half)
    size = std::max(size, 1.0);
  Samples samples;
  samples.start = begin * scale - (half ? 0.5 : 0);
  samples.step = size / static_cast<double>(cells);
  samples.perCell = c.s64("sampling_ratio", 0);
  if (samples.perCell == 0 && samples.step > 0) // NaN: none
    samples.perCell = nearestS64(std::ceil(samples.step));
  return samples;
}

/// Two neighbours of a position along one dim, and their weights; of one
/// outside src the weights are 0.
struct Neighbours {
  int64_t index[2] = {0, 0};
  double weight[2] = {0, 0};
};

Neighbours neighboursOf(double position, int64_t size) {
  Neighbours result;
  if (!(position >= -1 && position <= static_cast<double>(size)) || size == 0)
    return result;
  position = std::clamp(position, 0.0, static_cast<double>(size - 1));
  result.index[0] = static_cast<int64_t>(position);
  result.index[1] = std::min(result.index[0] + 1, size - 1);
  result.weight[1] = position - static_cast<double>(result.index[0]);
  result.weight[0] = 1 - result.weight[1];
  return result;
}

/// src with the channel last, and its sizes.
struct Image {
  std::vector<double> data;
  int64_t height, width, channels;
};

/// Adds the samples of one cell to `cell`, one number per channel, or takes
/// the largest of what they are made of.
void addSamples(const Image &image, int64_t n, const Samples &y, int64_t row,
                const Samples &x, int64_t column, bool isMax, double *cell) {
  bool first = true;
  for (int64_t i = 0; i < y.perCell; ++i) {
    Neighbours down = neighboursOf(y.at(row, i), image.height);
    for (int64_t j = 0; j < x.perCell; ++j) {
      Neighbours along = neighboursOf(x.at(column, j), image.width);
      for (int corner = 0; corner < 4; ++corner) {
        int a = corner / 2, b = corner % 2;
        double weight = down.weight[a] * along.weight[b];
        // What a weight of 0 is for is not read: it may be infinite.
        const double *from = image.data.data() +
                             ((n * image.height + down.index[a]) * image.width +
                              along.index[b]) *
                                 image.channels;
        for (int64_t ch = 0; ch < image.channels; ++ch) {
          double part = weight == 0 ? 0 : weight * from[ch];
          if (!isMax)
            cell[ch] += part;
          else if (first || part > cell[ch] || std::isnan(part))
            cell[ch] = part;
        }
        first = false;
      }
    }
  }
}

bool checkRegions(OpContext &c, int64_t images) {
  int64_t regions = c.in(1).shape.empty() ? 0 : c.in(1).shape[0];
  if (!c.requireShape(1, {regions, 4}) || !c.requireShape(2, {regions}))
    return false;
  for (int64_t r = 0; r < regions; ++r)
    if (int64_t n = integerAt(c.in(2), r); n < 0 || n >= images)
      return c.fail(ErrorCode::BadTensorData,
                    "batch_indices has " + std::to_string(n) + " for region " +
                        std::to_string(r) + ", there are " +
                        std::to_string(images) + " images");
  return true;
}

bool evalRoiAlign(OpContext &c) {
  const Tensor &src = c.in(0), &rois = c.in(1);
  if (src.rank() != 4)
    return c.fail(ErrorCode::BadRank,
                  "src " + shapeText(src.shape) + " has no two spatial dims");
  if (!checkRegions(c, src.shape[0]))
    return false;
  bool last = c.channelLast();
  Dims sizes = spatialOf(src.shape, last);
  int64_t channels = src.shape[c.channelDim(4)], regions = rois.shape[0];
  int64_t rows = c.s64("output_height", 1), columns = c.s64("output_width", 1);
  if (rows < 1 || columns < 1 || c.s64("sampling_ratio", 0) < 0)
    return c.fail(ErrorCode::AttrValue,
                  "output_height and output_width are at least 1, "
                  "sampling_ratio at least 0");
  if (!c.setShape(0, dataShape(regions, channels, {rows, columns}, last)))
    return false;
  bool isMax = c.text("mode", "avg") == "max";
  Image image{toChannelLast(src, last), sizes[0], sizes[1], channels};
  std::vector<double> dst(c.out().data.size(), 0);
  for (int64_t r = 0; r < regions; ++r) {
    const double *roi = rois.data.data() + r * 4;
    Samples x = samplesOf(c, roi[0], roi[2], columns);
    Samples y = samplesOf(c, roi[1], roi[3], rows);
    if (!c.checkSize({rows, columns, y.perCell, x.perCell}))
      return false;
    for (int64_t i = 0; i < rows * columns; ++i) {
      double *cell = dst.data() + (r * rows * columns + i) * channels;
      addSamples(image, integerAt(c.in(2), r), y, i / columns, x, i % columns,
                 isMax, cell);
      auto count = static_cast<double>(y.perCell * x.perCell);
      for (int64_t ch = 0; !isMax && count > 0 && ch < channels; ++ch)
        cell[ch] /= count;
    }
  }
  fromChannelLast(dst, c.out(), last);
  return true;
}

} // namespace

std::span<const OpEntry> detectionOps() {
  static constexpr OpEntry entries[] = {
      {"NonMaxSuppression", evalNonMaxSuppression, S64Use::any},
      {"RoiAlign", evalRoiAlign, S64Use::any},
  };
  return entries;
}

} // namespace tenon::reference
