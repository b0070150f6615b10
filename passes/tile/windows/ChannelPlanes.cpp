//===- ChannelPlanes.cpp - one channel with margins, in scratch -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/windows/ChannelPlanes.h"

#include "codegen/vector/Attrs.h"
#include "passes/tile/windows/Windows.h"

using namespace mlir;

namespace tenon::passes {

Value ChannelPlanes::tapOf(IndexMath &m, Value plane, int64_t tap) const {
  SmallVector<Index> sizes(dims.size()), steps(dims.size());
  int64_t at = 0;
  for (int64_t i = last(); i >= 0; --i) {
    const WindowDim &d = dims[i];
    int64_t k = tap % d.kernel * d.dilation;
    tap /= d.kernel;
    sizes[i] = d.out;
    if (i < last()) {
      at += k * strides[i];
      steps[i] = d.stride * strides[i];
    } else {
      int64_t x = k - d.pad + margin * d.stride;
      at += x % d.stride * pitch + x / d.stride;
      steps[i] = 1;
    }
  }
  return box(m, plane, at, sizes, steps);
}

bool ChannelPlanes::hasRows(const Strided &s) {
  return s.strides[s.rank() - 2].isConstant(1);
}

Index ChannelPlanes::start(const Strided &s, Index image, Index channel) {
  return s.offset.value_or(0) +
         (image * s.strides[0] + channel * s.strides.back());
}

Value ChannelPlanes::windowsOf(IndexMath &m, const Strided &s,
                               Index start) const {
  SmallVector<Index> sizes, steps;
  for (auto [i, d] : llvm::enumerate(dims)) {
    sizes.push_back(d.out);
    steps.push_back(s.strides[i + 1]);
  }
  return box(m, s.base, start, sizes, steps);
}

Value ChannelPlanes::windowsOf(IndexMath &m, Value dense) const {
  SmallVector<Index> sizes, steps;
  int64_t step = windows;
  for (const WindowDim &d : dims) {
    sizes.push_back(d.out);
    steps.push_back(step /= d.out);
  }
  return box(m, dense, 0, sizes, steps);
}

void ChannelPlanes::move(IndexMath &m, const Strided &s, Index start,
                         Value plane, bool back) const {
  int64_t stride = row().stride, inside = margin;
  for (int64_t i = 0; i < last(); ++i)
    inside += dims[i].pad * strides[i];
  auto part = [&](int64_t rows, int64_t columns, int64_t from) {
    SmallVector<Index> sizes, ours, theirs;
    for (int64_t i = 0; i < last(); ++i) {
      sizes.push_back(dims[i].in);
      ours.push_back(strides[i]);
      theirs.push_back(s.strides[i + 1]);
    }
    // The inner dim is the one whose elements are stored side by side.
    auto dim = [&](int64_t size, int64_t our, int64_t their) {
      sizes.push_back(size);
      ours.push_back(our);
      theirs.push_back(their);
    };
    if (back && stride > 1)
      dim(columns, 1, stride);
    if (stride > 1)
      dim(rows, pitch, 1);
    if (!back || stride == 1)
      dim(columns, 1, stride);
    Value mine = box(m, plane, inside + from, sizes, ours);
    Value other = box(m, s.base, start + from * stride, sizes, theirs);
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

void ChannelPlanes::read(IndexMath &m, const Strided &s, Index start,
                         Value plane) const {
  move(m, s, start, plane, /*back=*/false);
}

void ChannelPlanes::write(IndexMath &m, const Strided &s, Index start,
                          Value plane) const {
  move(m, s, start, plane, /*back=*/true);
}

} // namespace tenon::passes
