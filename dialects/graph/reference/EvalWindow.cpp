//===- EvalWindow.cpp - pooling and its gradients -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decisions.  MaxPool starts from the lowest finite number of the dtype and
// takes an element only when it is greater: NaN is skipped, and a window of
// nothing but -inf, NaN or padding gives that number (and no gradient).  With
// propagate_nan it starts from -inf, and the first NaN wins.  Of equal elements
// the first in window order wins.  A window that covers no real element
// (possible with rounding up) gives 0 for AvgPool.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

#include <cmath>
#include <limits>

namespace tenon::reference {
namespace {

/// Elements of a pooling window.
constexpr int64_t kMaxWindow = int64_t{1} << 24;

struct Pooling {
  Window window;
  bool channelLast = true;
  int64_t batch = 0, channels = 0;
};

/// Reads the attributes for a pooling whose input has shape `srcShape`.
std::optional<Pooling> readPooling(OpContext &c, const Dims &srcShape,
                                   bool dilated) {
  Dims kernel = c.list("kernel");
  if (srcShape.size() < 3 || kernel.size() + 2 != srcShape.size()) {
    c.fail(ErrorCode::BadRank,
           "src " + shapeText(srcShape) + " does not fit a kernel of " +
               std::to_string(kernel.size()) + " dims",
           "src has the spatial dims and two more");
    return std::nullopt;
  }
  // Padding can make room for a window of any size; time cannot.
  if (!withinLimit(kernel, kMaxWindow)) {
    c.fail(ErrorCode::TooLarge, "the window has shape " + shapeText(kernel));
    return std::nullopt;
  }
  auto window = readWindow(c, std::move(kernel), dilated);
  if (!window)
    return std::nullopt;
  Pooling p;
  p.window = std::move(*window);
  p.channelLast = c.channelLast();
  p.batch = srcShape[0];
  p.channels = srcShape[p.channelLast ? srcShape.size() - 1 : 1];
  p.window.big = spatialOf(srcShape, p.channelLast);
  resolveAutoPad(c, p.window, p.window.big);
  return p;
}

Dims smallShape(const Pooling &p) {
  return dataShape(p.batch, p.channels, p.window.small, p.channelLast);
}

/// Calls `visit(linear source position)` for the real elements of a window, in
/// window order.
template <typename Visit>
void forEachSource(const Window &w, const Dims &at, Visit visit) {
  forEachPosition(w.kernel, [&](const Dims &k, int64_t) {
    int64_t linear = 0;
    for (int d = 0; d < w.spatial(); ++d) {
      int64_t x = w.source(d, at[d], k[d]);
      if (x < 0 || x >= w.present(d))
        return;
      linear = linear * w.big[d] + x;
    }
    visit(linear);
  });
}

/// Calls `visit(position, index of its first channel in the small data, index
/// of the first channel of the batch entry in the big data)`.
template <typename Visit>
void forEachWindow(OpContext &c, const Pooling &p, Visit visit) {
  int64_t smallCount = elementCount(p.window.small);
  int64_t bigCount = elementCount(p.window.big);
  parallelFor(c.threads, p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      forEachPosition(p.window.small, [&](const Dims &at, int64_t i) {
        visit(at, (n * smallCount + i) * p.channels, n * bigCount * p.channels);
      });
  });
}

/// The greatest element of a window, and where it is.
struct Winner {
  double value;
  int64_t position = -1; // none
};

/// A search for the winner among elements that come in window order.
class Search {
public:
  Search(OpContext &c)
      : propagates(c.flag("propagate_nan", false)),
        start(propagates ? -std::numeric_limits<double>::infinity()
                         : rangeOf(c.in(0).dtype).min) {}

  Winner begin() const { return {start}; }
  void see(Winner &w, double value, int64_t position) const {
    bool wins = value > w.value;
    if (propagates)
      wins =
          !std::isnan(w.value) && (wins || std::isnan(value) || w.position < 0);
    if (wins)
      w = {value, position};
  }

private:
  bool propagates;
  double start;
};

bool evalMaxPool(OpContext &c) {
  auto p = readPooling(c, c.in(0).shape, /*dilated=*/true);
  if (!p ||
      !computeSmall(c, p->window, c.text("rounding_type", "floor") == "ceil") ||
      !c.setShape(0, smallShape(*p)) ||
      (c.hasOut(1) && !c.setShape(1, smallShape(*p))))
    return false;
  auto src = toChannelLast(c.in(0), p->channelLast);
  Search search(c);
  std::vector<Winner> winners(c.out().data.size(), search.begin());
  std::vector<int64_t> first(winners.size(), 0);
  forEachWindow(c, *p, [&](const Dims &at, int64_t to, int64_t from) {
    bool isFirst = true;
    forEachSource(p->window, at, [&](int64_t x) {
      for (int64_t ch = 0; ch < p->channels; ++ch) {
        search.see(winners[to + ch], src[from + x * p->channels + ch], x);
        if (isFirst)
          first[to + ch] = x;
      }
      isFirst = false;
    });
  });
  std::vector<double> dst(winners.size()), indices(winners.size());
  for (size_t i = 0; i < winners.size(); ++i) {
    dst[i] = winners[i].value;
    indices[i] = static_cast<double>(
        winners[i].position < 0 ? first[i] : winners[i].position);
  }
  fromChannelLast(dst, c.out(), p->channelLast);
  if (!c.hasOut(1))
    return true;
  // Positions are exact as doubles: src would not fit memory otherwise.
  Tensor ordered;
  ordered.shape = c.out().shape;
  ordered.data.resize(indices.size());
  fromChannelLast(indices, ordered, p->channelLast);
  for (size_t i = 0; i < indices.size(); ++i)
    setInteger(c.out(1), static_cast<int64_t>(i),
               static_cast<int64_t>(ordered.data[i]));
  return true;
}

/// What the sum over a window of an average is divided by.
struct Divisor {
  bool excludePad, clipped;

  Divisor(OpContext &c)
      : excludePad(c.flag("exclude_pad", false)),
        clipped(c.text("divisor", "window") == "clipped") {}

  /// Of the window at `at`; never 0.
  double of(const Window &w, const Dims &at) const {
    int64_t count = excludePad ? 0 : 1;
    if (excludePad)
      forEachSource(w, at, [&](int64_t) { ++count; });
    for (int d = 0; !excludePad && d < w.spatial(); ++d) {
      int64_t start = w.source(d, at[d], 0);
      int64_t left = w.big[d] + w.padsEnd[d] - start;
      count *=
          clipped ? std::clamp<int64_t>(left, 0, w.kernel[d]) : w.kernel[d];
    }
    return static_cast<double>(std::max<int64_t>(count, 1));
  }
};

bool evalAvgPool(OpContext &c) {
  auto p = readPooling(c, c.in(0).shape, /*dilated=*/false);
  if (!p ||
      !computeSmall(c, p->window, c.text("rounding_type", "floor") == "ceil") ||
      !c.setShape(0, smallShape(*p)))
    return false;
  Divisor divisor(c);
  auto src = toChannelLast(c.in(0), p->channelLast);
  std::vector<double> dst(c.out().data.size(), 0);
  forEachWindow(c, *p, [&](const Dims &at, int64_t to, int64_t from) {
    forEachSource(p->window, at, [&](int64_t x) {
      for (int64_t ch = 0; ch < p->channels; ++ch)
        dst[to + ch] += src[from + x * p->channels + ch];
    });
    double denominator = divisor.of(p->window, at);
    for (int64_t ch = 0; ch < p->channels; ++ch)
      dst[to + ch] /= denominator;
  });
  fromChannelLast(dst, c.out(), p->channelLast);
  return true;
}

/// Sets window.small from the gradient operand and checks that it fits, with
/// either rounding unless rounding_type says which.
bool takeSmall(OpContext &c, Pooling &p, size_t input) {
  const Dims &shape = c.in(input).shape;
  std::string rounding = c.text("rounding_type", "");
  for (bool ceil : {false, true}) {
    if (rounding == (ceil ? "floor" : "ceil"))
      continue;
    if (!computeSmall(c, p.window, ceil))
      return false;
    if (smallShape(p) == shape)
      return true;
  }
  return c.fail(ErrorCode::ShapeMismatch,
                "diff_dst " + shapeText(shape) +
                    " is not what a pooling of spatial dims " +
                    shapeText(p.window.big) + " gives");
}

bool evalMaxPoolBackward(OpContext &c) {
  auto p = readPooling(c, c.in(0).shape, /*dilated=*/true);
  if (!p || !takeSmall(c, *p, 1) || !c.setShape(0, c.in(0).shape))
    return false;
  auto src = toChannelLast(c.in(0), p->channelLast);
  Search search(c);
  auto diffDst = toChannelLast(c.in(1), p->channelLast);
  std::vector<double> diffSrc(src.size(), 0);
  forEachWindow(c, *p, [&](const Dims &at, int64_t to, int64_t from) {
    for (int64_t ch = 0; ch < p->channels; ++ch) {
      Winner best = search.begin();
      forEachSource(p->window, at, [&](int64_t x) {
        int64_t i = from + x * p->channels + ch;
        search.see(best, src[i], i);
      });
      if (best.position >= 0)
        diffSrc[best.position] += diffDst[to + ch];
    }
  });
  fromChannelLast(diffSrc, c.out(), p->channelLast);
  return true;
}

bool evalAvgPoolBackward(OpContext &c) {
  Dims shape;
  if (c.hasIn(1))
    for (double value : c.in(1).data)
      shape.push_back(static_cast<int64_t>(value));
  else if (const Dims *declared = c.declaredShape(0))
    shape = *declared;
  else
    shape = c.list("src_shape");
  if (shape.size() != c.in(0).shape.size() || elementCount(shape) < 0)
    return c.fail(ErrorCode::UnknownShape,
                  "the shape of diff_src cannot be told from its inputs",
                  "give attribute src_shape");
  auto p = readPooling(c, shape, /*dilated=*/false);
  if (!p || !takeSmall(c, *p, 0) || !c.setShape(0, shape))
    return false;
  Divisor divisor(c);
  auto diffDst = toChannelLast(c.in(0), p->channelLast);
  std::vector<double> diffSrc(c.out().data.size(), 0);
  forEachWindow(c, *p, [&](const Dims &at, int64_t to, int64_t from) {
    double denominator = divisor.of(p->window, at);
    forEachSource(p->window, at, [&](int64_t x) {
      for (int64_t ch = 0; ch < p->channels; ++ch)
        diffSrc[from + x * p->channels + ch] += diffDst[to + ch] / denominator;
    });
  });
  fromChannelLast(diffSrc, c.out(), p->channelLast);
  return true;
}

} // namespace

std::span<const OpEntry> windowOps() {
  static constexpr OpEntry entries[] = {
      {"AvgPool", evalAvgPool},
      {"AvgPoolBackward", evalAvgPoolBackward},
      {"MaxPool", evalMaxPool, S64Use::any},
      {"MaxPoolBackward", evalMaxPoolBackward},
  };
  return entries;
}

} // namespace tenon::reference
