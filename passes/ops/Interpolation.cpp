// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/Interpolation.h"

#include "dialects/graph/OpFacts.h"
#include "passes/ops/WindowGeometry.h"
#include "passes/support/GraphAttrs.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;

namespace tenon::passes {

Sampling samplingOf(Operation *op) {
  std::string mode = stringAttr(op, "mode");
  Sampling s;
  s.mode = mode == "nearest" ? Sampling::Mode::nearest
           : mode == "cubic" ? Sampling::Mode::cubic
                             : Sampling::Mode::linear;
  s.coordinates = stringAttr(op, "coordinate_transformation_mode");
  s.nearestMode = stringAttr(op, "nearest_mode");
  s.cubicCoeff = floatAttr(op, "cubic_coeff_a");
  s.excludesOutside = boolAttr(op, "exclude_outside");
  s.antialias = boolAttr(op, "antialias");
  return s;
}

double SampledDim::step() const {
  if (isCopied)
    return 1;
  double step = std::max(static_cast<double>(in) / static_cast<double>(out),
                         static_cast<double>(in - 1) /
                             std::max(static_cast<double>(out) - 1, 1.0));
  return scale ? std::max(step, 1 / static_cast<double>(*scale)) : step;
}

double SampledDim::unit(const Sampling &sampling) const {
  if (!sampling.antialias || sampling.isNearest() || isCopied || in <= 0 ||
      out <= 0)
    return 1;
  double ratio = scale ? static_cast<double>(*scale)
                       : static_cast<double>(out) / static_cast<double>(in);
  return std::min(ratio, 1.0);
}

int64_t SampledDim::taps(const Sampling &sampling) const {
  if (sampling.isNearest() || isCopied)
    return 1;
  // So many integers at most are less than radius / unit from a number.
  constexpr double most = 1e9;
  double length = 2 * static_cast<double>(sampling.radius()) / unit(sampling);
  return static_cast<int64_t>(std::min(std::ceil(length), most));
}

std::optional<Fraction> fractionOf(float scale) {
  // Inference multiplies such scales without rounding.
  constexpr int64_t kOver = 256, kMost = int64_t(1) << 16;
  float times = scale * kOver;
  if (!(times > 0) || times > kMost || times != std::floor(times))
    return std::nullopt;
  Fraction f{static_cast<int64_t>(times), kOver};
  int64_t divisor = std::gcd(f.times, f.over);
  return Fraction{f.times / divisor, f.over / divisor};
}

SmallVector<Fraction> fractionsOf(Operation *op) {
  SmallVector<Fraction> fractions;
  auto scales = op->getAttrOfType<DenseF32ArrayAttr>("scales");
  for (float scale : scales ? scales.asArrayRef() : ArrayRef<float>()) {
    std::optional<Fraction> f = fractionOf(scale);
    if (!f)
      return {};
    fractions.push_back(*f);
  }
  return fractions;
}

int64_t SampledDim::repeats(const Sampling &sampling,
                            std::optional<Fraction> size) const {
  if (!sampling.isNearest() || in == 0 || out == 0)
    return 0;
  if (isCopied)
    return 1;
  // Quotients by a scale are rounded to f32, but not to another integer if
  // they are no larger than this, nor by a power of two.
  constexpr int64_t maxSize = int64_t(1) << 22;
  bool follows = !isKnown() && size && size->over == 1 &&
                 (!scale || llvm::isPowerOf2_64(size->times));
  if (!follows && (!isKnown() || out % in != 0))
    return 0;
  int64_t times = follows ? size->times : out / in;
  if (scale && (*scale != static_cast<float>(times) || out > maxSize))
    return 0;
  StringRef mode = sampling.nearestMode;
  bool whole = sampling.coordinates == "asymmetric" ||
               sampling.coordinates == "tf_half_pixel_for_nn";
  bool repeats = whole ? mode == "floor"
                       : mode.starts_with("round") &&
                             sampling.coordinates != "align_corners";
  return repeats ? times : 0;
}

SmallVector<SampledDim> sampledDims(Operation *op) {
  auto small = rankedType(op->getOperand(0));
  auto big =
      rankedType(graph::isBackward(op) ? op->getOperand(1) : op->getResult(0));
  ArrayRef<float> scales;
  if (stringAttr(op, "ratio") == "scales")
    scales = op->getAttrOfType<DenseF32ArrayAttr>("scales").asArrayRef();
  bool ncx = isNcx(op, small.getRank());
  SmallVector<SampledDim> dims;
  for (int64_t i = 0; i < small.getRank() - 2; ++i) {
    int64_t d = ncx ? i + 2 : i + 1;
    dims.push_back({small.getDimSize(d), big.getDimSize(d),
                    scales.empty() ? std::nullopt : std::optional(scales[i])});
  }
  return dims;
}

bool blendsTooMany(Operation *op) {
  Sampling sampling = samplingOf(op);
  int64_t all = 1, most = 1;
  for (const SampledDim &d : sampledDims(op)) {
    most = std::max(most, d.taps(sampling));
    all *= std::min(d.taps(sampling), kMaxBlended + 1);
  }
  return most > 2 && all > kMaxBlended;
}

} // namespace tenon::passes
