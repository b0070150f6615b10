//===- EvalLrn.cpp - local response normalisation -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Windows are sums along one dim after the other: the channel, or each spatial
// dim.  They are cut at the ends of the tensor, the divisor is not.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Window.h"

#include <cmath>

namespace tenon::reference {
namespace {

struct Lrn {
  Dims shape; // batch, spatial dims, channels
  bool across = true, channelLast = true;
  int64_t reach = 0; // to either side
  double divisor = 1, alpha = 0, beta = 0, k = 0;
};

std::optional<Lrn> readLrn(OpContext &c) {
  if (!c.requireRank(0, 2))
    return std::nullopt;
  Lrn lrn;
  const Dims &shape = c.in(0).shape;
  lrn.channelLast = shape.size() == 2 || c.channelLast();
  lrn.shape = dataShape(shape[0], shape[lrn.channelLast ? shape.size() - 1 : 1],
                        spatialOf(shape, lrn.channelLast), true);
  lrn.across = c.text("algorithm", "across_channels") == "across_channels";
  int64_t size = c.s64("size", 5);
  if (size < 1) {
    c.fail(ErrorCode::AttrValue, "attribute size is " + std::to_string(size),
           "the window has at least one element");
    return std::nullopt;
  }
  lrn.reach = (size - 1) / 2;
  lrn.divisor = lrn.across ? static_cast<double>(size)
                           : std::pow(static_cast<double>(size),
                                      static_cast<double>(shape.size() - 2));
  lrn.alpha = c.f32("alpha", 1e-4f);
  lrn.beta = c.f32("beta", 0.75f);
  lrn.k = c.f32("k", 1.0f);
  return lrn;
}

/// Replaces every element by the sum of those at most `reach` away along `dim`.
void sumAlong(std::vector<double> &values, const Dims &shape, int dim,
              int64_t reach) {
  AxisSplit split = splitAt(shape, dim);
  std::vector<double> line(split.length);
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      double *at = values.data() + o * split.length * split.inner + i;
      for (int64_t x = 0; x < split.length; ++x)
        line[x] = at[x * split.inner];
      int64_t width = std::min(reach, split.length);
      for (int64_t x = 0; x < split.length; ++x) {
        double sum = 0;
        int64_t end = std::min(x + width + 1, split.length);
        for (int64_t y = std::max<int64_t>(x - width, 0); y < end; ++y)
          sum += line[y];
        at[x * split.inner] = sum;
      }
    }
}

std::vector<double> windowSums(const Lrn &lrn, std::vector<double> values) {
  int channel = static_cast<int>(lrn.shape.size()) - 1;
  if (values.empty())
    return values;
  for (int d = lrn.across ? channel : 1; d < channel + lrn.across; ++d)
    sumAlong(values, lrn.shape, d, lrn.reach);
  return values;
}

/// w = k + alpha / divisor * (sum of squares).
std::vector<double> weights(const Lrn &lrn, const std::vector<double> &src) {
  std::vector<double> squares;
  for (double x : src)
    squares.push_back(x * x);
  squares = windowSums(lrn, std::move(squares));
  for (double &x : squares)
    x = lrn.k + lrn.alpha / lrn.divisor * x;
  return squares;
}

bool evalLrn(OpContext &c) {
  auto lrn = readLrn(c);
  if (!lrn || !c.setShape(0, c.in(0).shape))
    return false;
  auto src = toChannelLast(c.in(0), lrn->channelLast);
  auto w = weights(*lrn, src);
  for (size_t i = 0; i < src.size(); ++i)
    src[i] *= std::pow(w[i], -lrn->beta);
  fromChannelLast(src, c.out(), lrn->channelLast);
  return true;
}

bool evalLrnBackward(OpContext &c) {
  auto lrn = readLrn(c);
  if (!lrn || !c.requireShape(1, c.in(0).shape) ||
      !c.setShape(0, c.in(0).shape))
    return false;
  auto src = toChannelLast(c.in(0), lrn->channelLast);
  auto diffDst = toChannelLast(c.in(1), lrn->channelLast);
  auto w = weights(*lrn, src);
  std::vector<double> shares(src.size());
  for (size_t i = 0; i < src.size(); ++i)
    shares[i] = src[i] * diffDst[i] * std::pow(w[i], -lrn->beta - 1);
  shares = windowSums(*lrn, std::move(shares));
  double factor = 2 * lrn->alpha * lrn->beta / lrn->divisor;
  for (size_t i = 0; i < src.size(); ++i)
    diffDst[i] =
        diffDst[i] * std::pow(w[i], -lrn->beta) - factor * src[i] * shares[i];
  fromChannelLast(diffDst, c.out(), lrn->channelLast);
  return true;
}

} // namespace

std::span<const OpEntry> lrnOps() {
  static constexpr OpEntry entries[] = {
      {"LRN", evalLrn},
      {"LRNBackward", evalLrnBackward},
  };
  return entries;
}

} // namespace tenon::reference
