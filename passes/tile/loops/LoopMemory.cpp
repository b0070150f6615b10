//===- LoopMemory.cpp - what loops prefetch ahead and store past caches
// SPDX-License-Identifier: Apache-2.0
//------===//
//
// Thresholds: docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/LoopProgram.h"

using namespace mlir;

namespace tenon::tiling {

namespace {
/// Inputs of so many bytes do not stay in L2 between one group and the next.
constexpr int64_t kPrefetchedBytes = 4 << 20;
/// Of a tile that is transposed; rows from which the next one is prefetched
/// meanwhile, and bytes, where both tiles meet few sets of the cache
/// (docs/cost-model.md).
constexpr int64_t kTileRows = 16, kRowsAcross = 64, kPrefetchedAcross = 2 << 20;
/// How far ahead what comes from memory is read.
constexpr int64_t kBytesAhead = 2048;
} // namespace

/// What all elements of `tensor` that are read take, at least.
int64_t LoopProgram::bytesOf(const Strided &tensor) const {
  int64_t bytes = tensor.elementType().getIntOrFloatBitWidth() / 8;
  for (auto [size, stride] : llvm::zip(sizes, tensor.strides))
    if (!stride.isConstant(0))
      bytes *= size.constant().value_or(0);
  return bytes;
}

/// Elements from those of this item to those of the next, in a tensor so large
/// that they are in no cache; otherwise 0.
int64_t LoopProgram::distanceToNext(const Place &place,
                                    ArrayRef<Index> extent) const {
  if (place.scratch || itemDims.empty() ||
      bytesOf(place.tensor) < kPrefetchedBytes)
    return 0;
  int64_t last = itemDims.back();
  auto stride = place.tensor.strides[last].constant();
  auto rows = extent[last].constant();
  return stride && rows ? *stride * *rows : 0;
}

/// Elements between those that are read and those that are prefetched
/// meanwhile, of a tensor that no cache holds, where there is nothing but
/// reading; otherwise 0.
int64_t LoopProgram::distanceAhead(const Place &place) const {
  if (place.scratch)
    return 0;
  if (!llvm::is_contained(classes, 1))
    return distanceAcross(place.tensor);
  if (!readsOnce() || bytesOf(place.tensor) < kFromMemoryBytes)
    return 0;
  if (stepDim >= 0) {
    auto stride = place.tensor.strides[stepDim].constant();
    return stride.value_or(0) * kStepRows;
  }
  return kBytesAhead * 8 / place.tensor.elementType().getIntOrFloatBitWidth();
}

/// The same for one that is read across and written along: from a tile of 16
/// lanes that is transposed to the next, where there are several that L2 does
/// not hold.
int64_t LoopProgram::distanceAcross(const Strided &tensor) const {
  auto writesAlong = [](const NodeInfo &n) {
    return llvm::all_of(n.outputs, [](const Strided &out) {
      return out.strides.back().isConstant(1);
    });
  };
  if (sizes.size() < 2 || !llvm::all_of(nodes, writesAlong))
    return 0;
  auto step = tensor.strides.back().constant();
  int64_t run = lastRun(), rows = 1;
  for (Index size : ArrayRef(sizes).drop_front(run))
    rows *= size.constant().value_or(0);
  bool across = false;
  for (int64_t d = 0; d < run; ++d)
    across |= tensor.strides[d].isConstant(1);
  if (!across || step.value_or(0) <= 1 || rows < kRowsAcross ||
      bytesOf(tensor) <= l2Bytes)
    return 0;
  int64_t apart = *step * tensor.elementType().getIntOrFloatBitWidth() / 8;
  if (apart % kBadStride == 0 && bytesOf(tensor) < kPrefetchedAcross)
    return 0;
  return *step * kTileRows;
}

/// Whether the result `node` goes to a tensor that no cache will hold, and is
/// not read here.
bool LoopProgram::storesNontemporally(Node node,
                                      const Place &destination) const {
  if (destination.scratch || nodes[node].kind != Kind::compute)
    return false;
  return bytesOf(destination.tensor) >= kNontemporalBytes &&
         llvm::none_of(nodes, [&](auto &other) {
           return llvm::is_contained(other.operands, node);
         });
}

} // namespace tenon::tiling
