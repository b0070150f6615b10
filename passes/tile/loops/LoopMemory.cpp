//===- LoopMemory.cpp - prefetches and non-temporal stores of loops -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Thresholds: docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/WorkItems.h"
#include "passes/tile/loops/SectionEmitter.h"

#include "codegen/vector/Attrs.h"

using namespace mlir;

namespace tenon::passes {

namespace {
/// Inputs of so many bytes do not stay in L2 between one group and the next.
constexpr int64_t kPrefetchedBytes = 4 << 20;
/// Rows of a tile that is transposed. From kRowsAcross rows on the next tile is
/// prefetched; if the lines of both tiles share few sets of the cache, the
/// tensor must also have kPrefetchedAcross bytes (docs/cost-model.md).
constexpr int64_t kTileRows = 16, kRowsAcross = 64, kPrefetchedAcross = 2 << 20;
/// The distance from a load to its prefetch where data come from memory.
constexpr int64_t kBytesAhead = 2048;
} // namespace

void SectionEmitter::addMemoryHints(const Item &item, const Generic &g,
                                    linalg::GenericOp generic) const {
  Builder b(generic.getContext());
  SmallVector<int64_t> streams;
  for (auto [i, n] : llvm::enumerate(g.results.nodes))
    if (storesNontemporally(n, g.results.places[i]))
      streams.push_back(static_cast<int64_t>(i));
  if (!streams.empty())
    generic->setAttr(codegen::kNontemporalAttr,
                     b.getDenseI64ArrayAttr(streams));
  if (!g.full && program.hasReduced())
    return; // once per row
  // A pass that needs the sums of one before reads what that left in a cache.
  bool again = llvm::any_of(
      g.leaves, [&](Node n) { return nodes[n].kind == Kind::reduce; });
  SmallVector<int64_t> prefetches;
  for (const Place &place : g.sources)
    prefetches.push_back(!again       ? distanceAhead(place)
                         : g.reducing ? distanceToNext(place, item.extent)
                                      : 0);
  if (llvm::any_of(prefetches, [](int64_t d) { return d != 0; }))
    generic->setAttr(codegen::kPrefetchAttr,
                     b.getDenseI64ArrayAttr(prefetches));
}

/// The distance, in elements, from what this item reads of a tensor to what the
/// next item reads, if the tensor is too large for the caches; otherwise 0.
int64_t SectionEmitter::distanceToNext(const Place &place,
                                       ArrayRef<Index> extent) const {
  if (place.scratch || schedule.getItemDims().empty() ||
      program.bytesOf(place.tensor) < kPrefetchedBytes)
    return 0;
  int64_t last = schedule.getItemDims().back();
  auto stride = place.tensor.strides[last].constant();
  auto rows = extent[last].constant();
  return stride && rows ? *stride * *rows : 0;
}

/// The distance, in elements, from a load of a tensor to the prefetch beside
/// it, if no cache holds the tensor and its elements are read once; otherwise
/// 0.
int64_t SectionEmitter::distanceAhead(const Place &place) const {
  if (place.scratch)
    return 0;
  if (!program.hasReduced())
    return distanceAcross(place.tensor);
  if (!schedule.readsOnce() || program.bytesOf(place.tensor) < kFromMemoryBytes)
    return 0;
  int64_t stepDim = schedule.getStepDim();
  if (stepDim >= 0) {
    auto stride = place.tensor.strides[stepDim].constant();
    return stride.value_or(0) * kStepRows;
  }
  return kBytesAhead * 8 / place.tensor.elementType().getIntOrFloatBitWidth();
}

/// The same for a tensor that is transposed on the way to the results: from one
/// transposed tile of 16 lanes to the next, if there are several and L2 does
/// not hold the tensor.
int64_t SectionEmitter::distanceAcross(const Strided &tensor) const {
  auto writesAlong = [](const NodeInfo &n) {
    return llvm::all_of(n.outputs, [](const Strided &out) {
      return out.strides.back().isConstant(1);
    });
  };
  if (sizes.size() < 2 || !llvm::all_of(nodes, writesAlong))
    return 0;
  auto step = tensor.strides.back().constant();
  int64_t run = program.lastRun(), rows = 1;
  for (Index size : sizes.drop_front(run))
    rows *= size.constant().value_or(0);
  bool across = false;
  for (int64_t d = 0; d < run; ++d)
    across |= tensor.strides[d].isConstant(1);
  if (!across || step.value_or(0) <= 1 || rows < kRowsAcross ||
      program.bytesOf(tensor) <= program.getL2Bytes())
    return 0;
  int64_t apart = *step * tensor.elementType().getIntOrFloatBitWidth() / 8;
  if (apart % kBadStride == 0 && program.bytesOf(tensor) < kPrefetchedAcross)
    return 0;
  return *step * kTileRows;
}

/// Whether the result `node` is written with non-temporal stores: to a tensor
/// that no cache will hold, if the program does not read it.
bool SectionEmitter::storesNontemporally(Node node,
                                         const Place &destination) const {
  if (destination.scratch || nodes[node].kind != Kind::compute)
    return false;
  return program.bytesOf(destination.tensor) >= kNontemporalBytes &&
         llvm::none_of(nodes, [&](auto &other) {
           return llvm::is_contained(other.operands, node);
         });
}

} // namespace tenon::passes
