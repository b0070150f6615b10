//===- ChannelPlanes.cpp - one channel with margins, in scratch -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/windows/ChannelPlanes.h"

#include "codegen/vector/Attrs.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::tiling {

Value ChannelPlanes::tapOf(IndexMath &m, Value plane, int64_t tap) const {
  SmallVector<Ofr> sizes(dims.size()), steps(dims.size());
  int64_t at = 0;
  for (int64_t i = last(); i >= 0; --i) {
    const WindowDim &d = dims[i];
    int64_t k = tap % d.kernel * d.dilation;
    tap /= d.kernel;
    sizes[i] = m.attr(d.out);
    if (i < last()) {
      at += k * strides[i];
      steps[i] = m.attr(d.stride * strides[i]);
    } else {
      int64_t x = k - d.pad + margin * d.stride;
      at += x % d.stride * pitch + x / d.stride;
      steps[i] = m.attr(1);
    }
  }
  return box(m, plane, m.attr(at), sizes, steps);
}

bool ChannelPlanes::hasRows(const Strided &s) {
  return IndexMath::isConstant(s.strides[s.rank() - 2], 1);
}

Ofr ChannelPlanes::start(IndexMath &m, const Strided &s, Ofr image,
                         Ofr channel) {
  return m.add(
      s.offset.value_or(m.attr(0)),
      m.add(m.mul(image, s.strides[0]), m.mul(channel, s.strides.back())));
}

Value ChannelPlanes::windowsOf(IndexMath &m, const Strided &s,
                               Ofr start) const {
  SmallVector<Ofr> sizes, steps;
  for (auto [i, d] : llvm::enumerate(dims)) {
    sizes.push_back(m.attr(d.out));
    steps.push_back(s.strides[i + 1]);
  }
  return box(m, s.base, start, sizes, steps);
}

Value ChannelPlanes::windowsOf(IndexMath &m, Value dense) const {
  SmallVector<Ofr> sizes, steps;
  int64_t step = windows;
  for (const WindowDim &d : dims) {
    sizes.push_back(m.attr(d.out));
    steps.push_back(m.attr(step /= d.out));
  }
  return box(m, dense, m.attr(0), sizes, steps);
}

void ChannelPlanes::move(IndexMath &m, const Strided &s, Ofr start, Value plane,
                         bool back) const {
  int64_t stride = row().stride, inside = margin;
  for (int64_t i = 0; i < last(); ++i)
    inside += dims[i].pad * strides[i];
  auto part = [&](int64_t rows, int64_t columns, int64_t from) {
    SmallVector<Ofr> sizes, ours, theirs;
    for (int64_t i = 0; i < last(); ++i) {
      sizes.push_back(m.attr(dims[i].in));
      ours.push_back(m.attr(strides[i]));
      theirs.push_back(s.strides[i + 1]);
    }
    // The inner dim is the one whose elements are stored side by side.
    auto dim = [&](int64_t size, int64_t our, int64_t their) {
      sizes.push_back(m.attr(size));
      ours.push_back(m.attr(our));
      theirs.push_back(m.attr(their));
    };
    if (back && stride > 1)
      dim(columns, 1, stride);
    if (stride > 1)
      dim(rows, pitch, 1);
    if (!back || stride == 1)
      dim(columns, 1, stride);
    Value mine = box(m, plane, m.attr(inside + from), sizes, ours);
    Value other =
        box(m, s.base, m.add(start, m.attr(from * stride)), sizes, theirs);
    Operation *copy = pointwise(
        m, back ? mine : other, back ? other : mine,
        [](OpBuilder &, Location, ValueRange v) { return v.front(); });
    if (back && bytesOf(s) >= kNontemporalBytes)
      copy->setAttr(codegen::kNontemporalAttr,
                    m.builder().getDenseI64ArrayAttr({0}));
  };
  if (int64_t columns = row().in / stride)
    part(stride, columns, 0);
  if (int64_t rest = row().in % stride)
    part(rest, 1, row().in / stride);
}

void ChannelPlanes::read(IndexMath &m, const Strided &s, Ofr start,
                         Value plane) const {
  move(m, s, start, plane, /*back=*/false);
}

void ChannelPlanes::write(IndexMath &m, const Strided &s, Ofr start,
                          Value plane) const {
  move(m, s, start, plane, /*back=*/true);
}

} // namespace tenon::tiling
