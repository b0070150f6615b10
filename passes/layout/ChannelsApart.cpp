#include "passes/layout/ChannelsApart.h"

#include "passes/support/GraphAttrs.h"
#include "passes/support/Orders.h"
#include "passes/tiling/Items.h"

#include <numeric>

using namespace mlir;

namespace tenon {

/// Lines of which each begins `bytes` behind the one before that L1 holds: of
/// 64 sets, 8 lines each, as x86-64 has at least.
static int64_t linesInL1(int64_t bytes) {
  constexpr int64_t kSets = 64, kWays = 8;
  if (bytes % tiling::kLineBytes)
    return kSets * kWays;
  return kSets / std::gcd(bytes / tiling::kLineBytes, kSets) * kWays;
}

/// Lines, on average, in which a block of rows of a kernel finds one channel.
static double linesOfBlock(int64_t bytesBetweenRows) {
  constexpr int64_t kRows = 6;
  return 1 + static_cast<double>((kRows - 1) * bytesBetweenRows) /
                 tiling::kLineBytes;
}

bool waitsForChannels(Value src, RankedTensorType weights, RankedTensorType dst,
                      const WindowAttrs &w, const Packing &packing) {
  constexpr int64_t kMinPositions = 256, kMinReads = 8;
  constexpr double kShareOfL1 = 0.75; // panels of weights pass by
  auto type = rankedType(src);
  ArrayRef<int64_t> from = type.getShape().drop_front(),
                    to = dst.getShape().drop_front().drop_back();
  if (orderOf(src).empty() || !type.getElementType().isF32() ||
      w.groups.getInt() != 1 || ShapedType::isDynamicShape(from) ||
      ShapedType::isDynamicShape(to) ||
      ShapedType::isDynamicShape(weights.getShape()))
    return false;
  auto strides = callerStrides(behindTransposes(src));
  int64_t apart = strides.empty() ? ShapedType::getNumElements(from.drop_back())
                                  : strides.back();
  apart *= sizeof(float);
  int64_t taps = 1, steps = 1;
  bool overlap = false;
  for (auto [kernel, stride] :
       llvm::zip(weights.getShape(), w.strides.asArrayRef())) {
    taps *= kernel;
    steps *= stride;
    overlap |= kernel > stride;
  }
  if (overlap && apart % tiling::kBadStride == 0 &&
      ShapedType::getNumElements(to) >= kMinPositions)
    return true;
  if (taps * steps == 1) // a product, which copies blocks of rows itself
    return false;
  int64_t n = weights.getShape().back();
  int64_t panels = llvm::divideCeil(n, packing.panelFor(to.back(), n));
  // A copy reads every position once, a panel every `steps`-th for each tap.
  double lines = static_cast<double>(from.back()) *
                 linesOfBlock(w.strides.asArrayRef().back() *
                              static_cast<int64_t>(sizeof(float)));
  return panels * taps >= kMinReads * steps &&
         lines > kShareOfL1 * static_cast<double>(linesInL1(apart));
}

} // namespace tenon
