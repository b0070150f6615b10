// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/WindowGeometry.h"

#include "passes/support/GraphAttrs.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace tenon::passes {

template <class Size> Size WindowOf<Size>::paddedSize() const {
  using std::max;
  return max(out - 1, Size(0)) * stride + ((kernel - 1) * dilation + 1);
}

template <class Size> std::pair<Size, Size> WindowOf<Size>::interior() const {
  using std::max, std::min;
  Size zero = 0, step = stride, first = min(out, ceilDiv(pad, step));
  if (pad == zero)
    first = zero;
  // Where the last tap is no further than the last element.
  Size room = max(in + pad + (stride - 1 - (kernel - 1) * dilation), zero);
  Size past = min(out, room / step);
  return {first, max(past, first)};
}

template <class Size>
std::pair<Index, Index> WindowOf<Size>::validTaps(Index start) const {
  // lo = ceil((pad - start) / dilation), hi = ceil((in + pad - start) / dil).
  Index before = max(pad - start, 0);
  Index lo = min(ceilDiv(before, dilation), kernel);
  Index room = max(in + pad - start, 0);
  Index hi = min(ceilDiv(room, dilation), kernel);
  return {lo, max(lo, hi)};
}

template <class Size> Index WindowOf<Size>::paddedTaps(Index start) const {
  assert(dilation == 1 && "averages have no dilation");
  Index room = in + pad + max(Index(padEnd), 0) - start;
  return min(max(room, 0), kernel);
}

template <class Size>
std::pair<Index, Index> WindowOf<Size>::validPositions(Index k) const {
  Index reach = k * dilation, step = stride;
  Index before = max(pad - reach, 0);
  Index from = min(ceilDiv(before, step), out);
  Index room = max(in + pad - reach, 0);
  Index past = min(ceilDiv(room, step), out);
  return {from, max(past, from)};
}

template struct WindowOf<int64_t>;
template struct WindowOf<Index>;

std::pair<int64_t, int64_t> WindowDim::tapsAt(int64_t position) const {
  int64_t start = position * stride;
  auto reach = [&](int64_t distance) {
    int64_t taps = ceilDiv(std::max<int64_t>(distance, 0), dilation);
    return std::min(taps, kernel);
  };
  int64_t lo = reach(pad - start);
  return {lo, std::max(lo, reach(in + pad - start))};
}

std::optional<WindowDim> known(const SizedWindow &w) {
  auto in = w.in.constant(), out = w.out.constant(), pad = w.pad.constant(),
       end = w.padEnd.constant();
  if (!in || !out || !pad || !end)
    return std::nullopt;
  return WindowDim{{*in, *out, w.kernel, w.stride, *pad, w.dilation, *end}};
}

std::optional<SmallVector<WindowDim>> known(ArrayRef<SizedWindow> windows) {
  SmallVector<WindowDim> all;
  for (const SizedWindow &w : windows)
    if (auto dim = known(w))
      all.push_back(*dim);
  return all.size() == windows.size() ? std::optional(std::move(all))
                                      : std::nullopt;
}

TransposedDim::TransposedDim(Index in, Index out, int64_t kernel,
                             int64_t stride, int64_t pad, int64_t dilation)
    : in(in), out(out), kernel(kernel), stride(stride), pad(pad),
      dilation(dilation) {
  divisor = std::gcd(stride, dilation);
  step = stride / divisor;
  back = dilation / divisor;
  // Euclid: x * (back mod step) = r (mod step) holds for both pairs.
  int64_t r0 = step, r1 = back % step, x0 = 0, x1 = 1;
  while (r1 != 0) {
    int64_t q = r0 / r1;
    std::tie(r0, r1) = std::pair(r1, r0 - q * r1);
    std::tie(x0, x1) = std::pair(x1, x0 - q * x1);
  }
  inverse = step == 1 ? 0 : (x0 % step + step) % step;
}

TransposedDim::Class TransposedDim::classOf(Index c) const {
  // The first tap k solves k * dilation = t (mod stride) with t = c + pad. It
  // exists where the divisor divides t.
  Index t = c + pad;
  Index rest = t % stride;
  Class result;
  result.first = rest / divisor * inverse % step;
  Index left = max(kernel - result.first, 0);
  Index none = min(rest % divisor, 1);
  result.taps = ceilDiv(left, step) * (1 - none);
  Index reach = result.first * dilation - rest;
  result.shift = t / stride - max(reach, 0) / stride;
  result.count = ceilDiv(max(out - c, 0), stride);
  return result;
}

std::pair<Index, Index> TransposedDim::interior(const Class &c) const {
  Index reach = (c.taps - 1) * back;
  Index first = min(max(reach - c.shift, 0), c.count);
  Index past = min(in - c.shift, c.count);
  return {first, max(past, first)};
}

std::pair<Index, Index> TransposedDim::validTaps(const Class &c,
                                                 Index q) const {
  // Tap j meets at - j * back.
  Index at = c.shift + q;
  Index before = max(at + 1, 0);
  Index hi = min(ceilDiv(before, back), c.taps);
  Index beyond = max(at - (in - 1), 0);
  Index lo = min(ceilDiv(beyond, back), hi);
  return {lo, hi};
}

TransposedRow::TransposedRow(ArrayRef<TransposedDim> outer,
                             ArrayRef<Index> row) {
  for (auto [d, position] : llvm::zip(outer, row)) {
    Index stride = d.stride;
    classes.push_back(d.classOf(position % stride));
    taps.push_back(d.validTaps(classes.back(), position / stride));
  }
}

bool isNcx(Operation *op, int64_t rank) {
  return rank > 2 && stringAttr(op, "data_format") == "NCX";
}

bool hasSamePads(Operation *op) {
  return StringRef(stringAttr(op, "auto_pad")).starts_with("SAME");
}

SmallVector<WindowDim> windowDims(Operation *op, Type big, Type small, bool ncx,
                                  ArrayRef<int64_t> kernel) {
  auto bigType = cast<RankedTensorType>(big);
  auto smallType = cast<RankedTensorType>(small);
  SmallVector<int64_t> strides = intsAttr(op, "strides");
  SmallVector<int64_t> pads = intsAttr(op, "pads_begin");
  SmallVector<int64_t> ends = intsAttr(op, "pads_end");
  SmallVector<int64_t> dilations = intsAttr(op, "dilations");
  int64_t spatial = bigType.getRank() - 2;
  if (hasSamePads(op)) { // what was given beside it does not count
    pads.clear();
    ends.clear();
  }
  pads.resize(spatial, 0);
  ends.resize(spatial, 0);
  dilations.resize(spatial, 1);
  SmallVector<WindowDim> dims;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t d = ncx ? i + 2 : i + 1;
    dims.push_back({{bigType.getDimSize(d), smallType.getDimSize(d), kernel[i],
                     strides[i], pads[i], dilations[i], ends[i]}});
    // Where rounding up lets windows reach what a negative padding cuts off.
    WindowDim &dim = dims.back();
    if (ends[i] < 0 && dim.isKnown() &&
        dim.paddedSize() - dim.pad > dim.in + ends[i])
      dim.in += ends[i];
  }
  return dims;
}

SmallVector<WindowDim> windowDims(tile::ConvOp op) {
  auto src = rankedType(op.getSrc()), dst = rankedType(op.getDst());
  SmallVector<int64_t> kernel;
  for (int64_t i = 0; i < src.getRank() - 2; ++i)
    kernel.push_back(op.getTaps(i));
  return windowDims(op, src, dst, /*ncx=*/false, kernel);
}

std::pair<Index, Index> samePads(Index in, int64_t kernel, int64_t stride,
                                 int64_t dilation, bool upper) {
  // What is left of the last step, all of it where there is no rest.
  Index step = stride, rest = (in + (stride - 1)) % step + 1;
  Index total = max((kernel - 1) * dilation + 1 - rest, 0);
  Index less = total / 2, more = total - less;
  return upper ? std::pair(less, more) : std::pair(more, less);
}

SmallVector<SizedWindow> withSizes(Operation *op, ArrayRef<WindowDim> windows,
                                   ArrayRef<Index> in, ArrayRef<Index> out) {
  bool same = hasSamePads(op),
       upper = stringAttr(op, "auto_pad") == "SAME_UPPER";
  SmallVector<SizedWindow> sized;
  for (auto [i, d] : llvm::enumerate(windows)) {
    SizedWindow w{d.in, d.out, d.kernel, d.stride, d.pad, d.dilation, d.padEnd};
    if (ShapedType::isDynamic(d.out))
      w.out = out[i + 1];
    if (same)
      std::tie(w.pad, w.padEnd) =
          samePads(in[i + 1], d.kernel, d.stride, d.dilation, upper);
    // What a negative padding cuts off is not read.
    if (ShapedType::isDynamic(d.in))
      w.in = in[i + 1] + std::min<int64_t>(d.padEnd, 0);
    sized.push_back(w);
  }
  return sized;
}

bool staysInside(Operation *op, ArrayRef<SizedWindow> dims) {
  return !hasSamePads(op) && stringAttr(op, "rounding_type") != "ceil" &&
         llvm::all_of(dims, [](const SizedWindow &d) {
           return d.pad.isConstant(0) && *d.padEnd.constant() <= 0;
         });
}

bool isPointwise(tile::ConvOp op) {
  SmallVector<int64_t> taps;
  for (int64_t i = 0, e = op.getStrides().size(); i < e; ++i)
    taps.push_back(op.getTaps(i));
  return !op.getDepthwise() &&
         isPointwise(taps, op.getStrides(), op.getPadsBegin(), op.getPadsEnd(),
                     op.getGroups());
}

std::pair<int64_t, int64_t> usefulTaps(const WindowDim &d) {
  // Tap k of position p reads p * stride - pad + k * dilation.
  int64_t before = std::max<int64_t>(d.pad - (d.out - 1) * d.stride, 0);
  int64_t first = ceilDiv(before, d.dilation);
  int64_t past = ceilDiv(d.in + d.pad, d.dilation);
  past = std::min(past, d.kernel);
  return {std::min(first, past), past};
}

SmallVector<WindowSegment> segmentsOf(const WindowDim &d) {
  SmallVector<WindowSegment> segments;
  auto [first, past] = d.interior();
  for (int64_t p = 0; p < d.out; ++p) {
    auto taps = d.tapsAt(p);
    if (segments.empty() || segments.back().taps != taps)
      segments.push_back({p, 0, taps});
    int64_t next = p == first && past > first ? past : p + 1;
    segments.back().count += next - p;
    p = next - 1;
  }
  return segments;
}

bool meetSrc(ArrayRef<WindowDim> dims, bool whole) {
  return llvm::all_of(dims, [&](const WindowDim &d) {
    return llvm::all_of(segmentsOf(d), [&](const WindowSegment &s) {
      return s.taps.second - s.taps.first >= (whole ? d.kernel : 1);
    });
  });
}

} // namespace tenon::passes
