// SPDX-License-Identifier: Apache-2.0
#include "passes/ops/PlaneShape.h"
#include "dialects/support/Rounding.h"

using namespace mlir;

namespace tenon::passes {

namespace {

/// Of a plane: 1024x1024 positions, which pay from whatever cache.
constexpr int64_t kMaxBytes = 5 << 20;
constexpr int64_t kMaxTaps = 64;
/// Strides that loads and stores of vectors take apart and put together.
constexpr int64_t kMaxStride = 4;

/// Positions of src up to the last one that a window meets.
int64_t reach(const WindowDim &d) {
  return (d.out - 1) * d.stride + (d.kernel - 1) * d.dilation + 1 - d.pad;
}

} // namespace

PlaneShape::PlaneShape(llvm::ArrayRef<WindowDim> dims) : dims(dims) {
  const WindowDim &r = row();
  auto folded = [&](int64_t size) { return ceilDiv(size, r.stride); };
  margin = folded(r.pad);
  pitch = margin + folded(std::max(r.in, reach(r)));
  elements = pitch * r.stride;
  strides.assign(last(), 0);
  for (int64_t i = last() - 1; i >= 0; --i) {
    strides[i] = elements;
    elements *= dims[i].pad + std::max(dims[i].in, reach(dims[i]));
  }
  for (const WindowDim &d : dims) {
    windows *= d.out;
    taps *= d.kernel;
  }
}

bool PlaneShape::fit() const {
  constexpr int64_t kBytes = 4;
  return windows > 0 && taps > 0 && taps <= kMaxTaps &&
         row().stride <= kMaxStride && kBytes * elements <= kMaxBytes;
}

} // namespace tenon::passes
