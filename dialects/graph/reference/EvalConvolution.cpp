//===- EvalConvolution.cpp - the convolution family -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Convolution, ConvTranspose, and their gradients.  All six relate two data
// tensors through one window: the `big` one (src of Convolution, dst of
// ConvTranspose) and the `small` one.
//
//   big -> small:   Convolution, ConvTransposeBackwardData
//   small -> big:   ConvTranspose, ConvolutionBackwardData
//   both -> weights: ConvolutionBackwardWeights, ConvTransposeBackwardWeights
//
// Weights have a `full` channel dim (all groups: O of Convolution, I of
// ConvTranspose) that belongs to `small`, and a `part` dim (per group) that
// belongs to `big`.  OIX and IOX are (full, part, spatial...), XIO and XOI are
// (spatial..., part, full).
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/reference/Gemm.h"
#include "dialects/graph/reference/IntegerProduct.h"
#include "dialects/graph/reference/Window.h"

namespace tenon::reference {
namespace {

/// Output positions whose gathered inputs are multiplied together: at most
/// kPositions of them, and about kGathered elements (32 MiB).
constexpr int64_t kPositions = 128;
constexpr int64_t kGathered = int64_t{1} << 22;

/// Where the dims of a weights tensor are.
struct WeightsLayout {
  Dims kernel;
  int64_t full = 0, part = 0;
  int64_t fullStride = 0, partStride = 0, kernelStride = 0;
};

WeightsLayout layoutOf(const Dims &shape, bool spatialFirst) {
  WeightsLayout layout;
  size_t rank = shape.size();
  if (spatialFirst) {
    layout.kernel.assign(shape.begin(), shape.end() - 2);
    layout.part = shape[rank - 2];
    layout.full = shape[rank - 1];
    layout.fullStride = 1;
    layout.partStride = layout.full;
    layout.kernelStride = layout.full * layout.part;
    return layout;
  }
  layout.kernel.assign(shape.begin() + 2, shape.end());
  layout.full = shape[0];
  layout.part = shape[1];
  layout.kernelStride = 1;
  layout.partStride = elementCount(layout.kernel);
  layout.fullStride = layout.partStride * layout.part;
  return layout;
}

/// Everything the computations need besides the data.
struct Problem {
  Window window;
  WeightsLayout weights;
  int64_t groups = 1, batch = 0;
  bool channelLast = true;

  int64_t fullPerGroup() const { return weights.full / groups; }
  int64_t bigChannels() const { return weights.part * groups; }
};

bool isTransposedOp(const OpContext &c) {
  return c.op.kind.starts_with("ConvTranspose");
}

/// Reads attributes; `data` is the operand that gives batch and rank.
std::optional<Problem> readProblem(OpContext &c, const Tensor &data,
                                   const Dims &weightsShape) {
  if (data.rank() < 3 || weightsShape.size() != data.shape.size()) {
    c.fail(ErrorCode::BadRank,
           "data of rank " + std::to_string(data.rank()) +
               " and weights of rank " + std::to_string(weightsShape.size()),
           "both have the spatial dims and two more");
    return std::nullopt;
  }
  Problem problem;
  std::string format =
      c.text("weights_format", isTransposedOp(c) ? "XOI" : "XIO");
  problem.weights = layoutOf(weightsShape, format[0] == 'X');
  problem.groups = c.s64("groups", 1);
  problem.channelLast = c.channelLast();
  problem.batch = data.shape[0];
  if (problem.groups < 1 || problem.weights.full % problem.groups != 0) {
    c.fail(ErrorCode::AttrValue, "groups " + std::to_string(problem.groups) +
                                     " does not divide the weights' " +
                                     std::to_string(problem.weights.full) +
                                     " channels");
    return std::nullopt;
  }
  auto window = readWindow(c, problem.weights.kernel, true);
  if (!window)
    return std::nullopt;
  problem.window = std::move(*window);
  return problem;
}

/// Fails unless `tensor` has this many channels (and the batch of the problem).
bool checkData(OpContext &c, size_t input, const Problem &problem,
               int64_t channels) {
  const Dims &shape = c.in(input).shape;
  if (shape.size() != problem.window.kernel.size() + 2)
    return c.fail(ErrorCode::BadRank, "operand " + std::to_string(input) +
                                          " has rank " +
                                          std::to_string(shape.size()));
  int64_t actual = shape[problem.channelLast ? shape.size() - 1 : 1];
  if (actual == channels && shape[0] == problem.batch)
    return true;
  return c.fail(ErrorCode::ShapeMismatch,
                "operand " + std::to_string(input) + " " + shapeText(shape) +
                    " has batch " + std::to_string(shape[0]) + " and " +
                    std::to_string(actual) + " channels, needed are " +
                    std::to_string(problem.batch) + " and " +
                    std::to_string(channels),
                "check groups, data_format and weights_format");
}

/// From which element of the other side position `at` reads through window
/// element `k`; -1 when it reads nothing.
int64_t sourceOf(const Window &window, bool toBig, const Dims &at,
                 const Dims &k) {
  const Dims &from = toBig ? window.small : window.big;
  int64_t linear = 0;
  for (int d = 0; d < window.spatial(); ++d) {
    int64_t x = window.source(d, at[d], k[d]);
    if (toBig) {
      int64_t scaled = at[d] + window.padsBegin[d] - k[d] * window.dilations[d];
      if (scaled < 0 || scaled % window.strides[d] != 0)
        return -1;
      x = scaled / window.strides[d];
    }
    if (x < 0 || x >= from[d])
      return -1;
    linear = linear * from[d] + x;
  }
  return linear;
}

/// Moves data through the window: channel-last `source` (the small side when
/// `toBig`) into the returned channel-last other side.
std::vector<double> propagate(OpContext &c, const Problem &p, bool toBig,
                              const std::vector<double> &source,
                              const double *weights) {
  const Window &w = p.window;
  const WeightsLayout &layout = p.weights;
  int64_t inPerGroup = toBig ? p.fullPerGroup() : layout.part;
  int64_t outPerGroup = toBig ? layout.part : p.fullPerGroup();
  int64_t inChannels = inPerGroup * p.groups;
  int64_t outChannels = outPerGroup * p.groups;
  const Dims &outDims = toBig ? w.big : w.small;
  int64_t outCount = elementCount(outDims);
  int64_t inCount = elementCount(toBig ? w.small : w.big);
  int64_t kernelCount = elementCount(w.kernel);
  int64_t depth = kernelCount * inPerGroup;
  int64_t piece = std::clamp<int64_t>(kGathered / std::max<int64_t>(depth, 1),
                                      1, kPositions);
  std::vector<double> result(p.batch * outCount * outChannels, 0);
  for (int64_t g = 0; g < p.groups; ++g) {
    // Matrix of depth (window element, input channel) x output channels.
    std::vector<double> matrix(depth * outPerGroup);
    for (int64_t k = 0; k < kernelCount; ++k)
      for (int64_t i = 0; i < inPerGroup; ++i)
        for (int64_t o = 0; o < outPerGroup; ++o) {
          int64_t full = g * p.fullPerGroup() + (toBig ? i : o);
          matrix[(k * inPerGroup + i) * outPerGroup + o] =
              weights[full * layout.fullStride +
                      (toBig ? o : i) * layout.partStride +
                      k * layout.kernelStride];
        }
    PackedMatrix packed(matrix.data(), depth, outPerGroup, outPerGroup, 1);
    int64_t blocks = (outCount + piece - 1) / piece;
    auto runBlocks = [&](int64_t begin, int64_t end) {
      std::vector<double> gathered(piece * depth);
      for (int64_t b = begin; b < end; ++b) {
        int64_t n = b / blocks, first = b % blocks * piece;
        int64_t count = std::min(piece, outCount - first);
        std::fill(gathered.begin(), gathered.end(), 0);
        for (int64_t x = 0; x < count; ++x) {
          Dims at = unravel(first + x, outDims);
          forEachPosition(w.kernel, [&](const Dims &k, int64_t kLinear) {
            int64_t from = sourceOf(w, toBig, at, k);
            if (from >= 0)
              std::copy_n(source.data() + (n * inCount + from) * inChannels +
                              g * inPerGroup,
                          inPerGroup,
                          gathered.data() + x * depth + kLinear * inPerGroup);
          });
        }
        gemm(gathered.data(), depth, count, packed,
             result.data() + (n * outCount + first) * outChannels +
                 g * outPerGroup,
             outChannels);
      }
    };
    parallelFor(c.threads, p.batch * blocks, 1, runBlocks);
  }
  return result;
}

/// The gradient of the weights: for every window element the correlation of
/// `big` and `small` over batch and positions.  Both are channel-last.
void correlate(OpContext &c, const Problem &p, const std::vector<double> &big,
               const std::vector<double> &small, double *weights) {
  const Window &w = p.window;
  const WeightsLayout &layout = p.weights;
  int64_t bigCount = elementCount(w.big), smallCount = elementCount(w.small);
  int64_t perGroup = p.fullPerGroup();
  int64_t items = p.groups * elementCount(w.kernel);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      int64_t g = item % p.groups, kLinear = item / p.groups;
      Dims k = unravel(kLinear, w.kernel);
      std::vector<double> sums(layout.part * perGroup, 0);
      for (int64_t n = 0; n < p.batch; ++n)
        forEachPosition(w.small, [&](const Dims &at, int64_t position) {
          int64_t from = sourceOf(w, /*toBig=*/false, at, k);
          if (from < 0)
            return;
          const double *bigRow = big.data() +
                                 (n * bigCount + from) * p.bigChannels() +
                                 g * layout.part;
          const double *smallRow = small.data() +
                                   (n * smallCount + position) * layout.full +
                                   g * perGroup;
          for (int64_t i = 0; i < layout.part; ++i)
            for (int64_t o = 0; o < perGroup; ++o)
              sums[i * perGroup + o] += bigRow[i] * smallRow[o];
        });
      for (int64_t i = 0; i < layout.part; ++i)
        for (int64_t o = 0; o < perGroup; ++o)
          weights[(g * perGroup + o) * layout.fullStride +
                  i * layout.partStride + kLinear * layout.kernelStride] =
              sums[i * perGroup + o];
    }
  };
  parallelFor(c.threads, items, 1, run);
}

bool addBias(OpContext &c, int64_t channels, std::vector<double> &data) {
  if (!c.hasIn(2))
    return true;
  const Tensor &bias = c.in(2);
  if (bias.numElements() != channels)
    return c.fail(ErrorCode::ShapeMismatch,
                  "bias " + shapeText(bias.shape) + " does not fit " +
                      std::to_string(channels) + " channels");
  for (size_t i = 0; i < data.size(); ++i)
    data[i] += bias.data[i % channels];
  return true;
}

/// big -> small: Convolution and ConvTransposeBackwardData.
bool evalToSmall(OpContext &c) {
  auto p = readProblem(c, c.in(0), c.in(1).shape);
  if (!p || !checkData(c, 0, *p, p->bigChannels()))
    return false;
  p->window.big = spatialOf(c.in(0).shape, p->channelLast);
  resolveAutoPad(c, p->window, p->window.big);
  if (!computeSmall(c, p->window) ||
      !c.setShape(0, dataShape(p->batch, p->weights.full, p->window.small,
                               p->channelLast)))
    return false;
  auto multiply = [&](const std::vector<double> &src,
                      const std::vector<double> &weights) {
    return propagate(c, *p, /*toBig=*/false, src, weights.data());
  };
  auto src = toChannelLast(c.in(0), p->channelLast);
  bool isInteger = c.out().dtype == DType::s32;
  auto result = isInteger ? integerProduct(src, c.in(1).data, multiply)
                          : multiply(src, c.in(1).data);
  if (!addBias(c, p->weights.full, result))
    return false;
  if (isInteger)
    for (double &sum : result)
      sum = wrapTo(DType::s32, sum);
  fromChannelLast(result, c.out(), p->channelLast);
  return true;
}

/// Common end of the operations small -> big, once window.big is known.
bool finishToBig(OpContext &c, Problem &p, bool withBias) {
  if (!c.setShape(
          0, dataShape(p.batch, p.bigChannels(), p.window.big, p.channelLast)))
    return false;
  auto result =
      propagate(c, p, /*toBig=*/true, toChannelLast(c.in(0), p.channelLast),
                c.in(1).data.data());
  if (withBias && !addBias(c, p.bigChannels(), result))
    return false;
  fromChannelLast(result, c.out(), p.channelLast);
  return true;
}

bool evalConvTranspose(OpContext &c) {
  auto p = readProblem(c, c.in(0), c.in(1).shape);
  if (!p || !checkData(c, 0, *p, p->weights.full))
    return false;
  Window &w = p->window;
  auto extra = c.spatialList("output_padding", w.spatial(), 0);
  if (!extra)
    return false;
  w.small = spatialOf(c.in(0).shape, p->channelLast);
  resolveAutoPad(c, w, w.small, /*transposed=*/true);
  for (int d = 0; d < w.spatial(); ++d) {
    // An empty src has an empty dst, whatever the formula says.
    int64_t size = w.small[d] == 0
                       ? 0
                       : w.strides[d] * (w.small[d] - 1) + w.extent(d) -
                             w.padsBegin[d] - w.padsEnd[d] + (*extra)[d];
    if (size < 0)
      return c.fail(ErrorCode::ShapeMismatch,
                    "spatial dim " + std::to_string(d) + " of dst would be " +
                        std::to_string(size),
                    "the pads exceed the result");
    w.big.push_back(size);
  }
  return finishToBig(c, *p, /*withBias=*/true);
}

/// The shape a gradient must have: as declared, as the attribute says, or as
/// the values of the optional operand say.
std::optional<Dims> gradientShape(OpContext &c, std::string_view attribute,
                                  size_t rank) {
  Dims shape;
  if (c.hasIn(2))
    for (double value : c.in(2).data)
      shape.push_back(static_cast<int64_t>(value));
  else if (const Dims *declared = c.declaredShape(0))
    shape = *declared;
  else
    shape = c.list(attribute);
  if (shape.size() == rank && elementCount(shape) >= 0)
    return shape;
  c.fail(ErrorCode::UnknownShape,
         "the shape of the result cannot be told from its inputs",
         "give attribute " + std::string(attribute) + " with " +
             std::to_string(rank) + " entries");
  return std::nullopt;
}

bool evalConvolutionBackwardData(OpContext &c) {
  auto p = readProblem(c, c.in(0), c.in(1).shape);
  if (!p || !checkData(c, 0, *p, p->weights.full))
    return false;
  auto shape = gradientShape(c, "dst_shape", c.in(0).shape.size());
  if (!shape)
    return false;
  Window &w = p->window;
  w.big = spatialOf(*shape, p->channelLast);
  resolveAutoPad(c, w, w.big);
  if (!computeSmall(c, w))
    return false;
  Dims actual = spatialOf(c.in(0).shape, p->channelLast);
  if (w.small != actual ||
      *shape != dataShape(p->batch, p->bigChannels(), w.big, p->channelLast))
    return c.fail(ErrorCode::ShapeMismatch,
                  "diff_dst " + shapeText(c.in(0).shape) +
                      " is not what a convolution of " + shapeText(*shape) +
                      " gives");
  return finishToBig(c, *p, /*withBias=*/false);
}

/// ConvolutionBackwardWeights and ConvTransposeBackwardWeights; operand
/// `bigInput` is on the big side of the window.
bool backwardWeights(OpContext &c, size_t bigInput) {
  auto shape = gradientShape(c, "weights_shape", c.in(0).shape.size());
  if (!shape)
    return false;
  auto p = readProblem(c, c.in(0), *shape);
  if (!p || !checkData(c, bigInput, *p, p->bigChannels()) ||
      !checkData(c, 1 - bigInput, *p, p->weights.full))
    return false;
  Window &w = p->window;
  const Tensor &big = c.in(bigInput), &small = c.in(1 - bigInput);
  w.big = spatialOf(big.shape, p->channelLast);
  resolveAutoPad(c, w, w.big);
  if (!computeSmall(c, w))
    return false;
  if (w.small != spatialOf(small.shape, p->channelLast))
    return c.fail(ErrorCode::ShapeMismatch,
                  "spatial dims " + shapeText(w.big) + " and weights " +
                      shapeText(*shape) + " do not give " +
                      shapeText(small.shape));
  if (!c.setShape(0, *shape))
    return false;
  correlate(c, *p, toChannelLast(big, p->channelLast),
            toChannelLast(small, p->channelLast), c.out().data.data());
  return true;
}

bool evalConvolutionBackwardWeights(OpContext &c) {
  return backwardWeights(c, 0);
}

bool evalConvTransposeBackwardWeights(OpContext &c) {
  return backwardWeights(c, 1);
}

} // namespace

std::span<const OpEntry> convolutionOps() {
  static constexpr OpEntry entries[] = {
      {"ConvTranspose", evalConvTranspose},
      {"ConvTransposeBackwardData", evalToSmall},
      {"ConvTransposeBackwardWeights", evalConvTransposeBackwardWeights},
      {"Convolution", evalToSmall},
      {"ConvolutionBackwardData", evalConvolutionBackwardData},
      {"ConvolutionBackwardWeights", evalConvolutionBackwardWeights},
  };
  return entries;
}

} // namespace tenon::reference
