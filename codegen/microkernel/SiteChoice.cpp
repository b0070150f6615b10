//===- SiteChoice.cpp - the kernel that a product is made with ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/SiteChoice.h"
#include "codegen/microkernel/MatrixKernel.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tenon-lower-brgemm"

using namespace mlir;
using namespace tenon::microkernel;
using tenon::tile::BrgemmOp;

namespace {
// Four gain nothing over two, and LLVM takes longer.
constexpr int64_t kUnroll = 2;
/// Steps of k from which a last one of its own pays.
constexpr int64_t kStepsForRest = 32;

/// Products of a sum beside which it takes little time to put it into memory
/// and to read it from there.
constexpr int64_t kTermsToFinishApart = 256;

std::optional<int64_t> known(int64_t size) {
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

/// How many products the longest sum that `op` may have adds up, if that is
/// known.
std::optional<int64_t> termsOf(BrgemmOp op) {
  // All dimensions of A but the rows.
  ArrayRef<int64_t> shape = op.getAType().getShape();
  SmallVector<int64_t> summed(shape.take_front(op.getNumBatchDims()));
  summed.push_back(shape.back());
  if (!ShapedType::isStaticShape(summed))
    return op.getMaxTerms();
  int64_t terms = ShapedType::getNumElements(summed);
  return op.getQuantized() ? op.getQuantized()->kOf(terms) : terms;
}
} // namespace

SiteChoice::SiteChoice(BrgemmOp op, KernelCache &cache,
                       tenon::tile::TargetAttr target, int64_t unroll) {
  TileChoice choice = chooseTile(op, target);
  spec.element = op.getAType().getElementType();
  spec.sum = op.getAccumulatorType();
  spec.stored = op.getCType().getElementType();
  spec.sign = op.getUnsignedA() ? ByteSign::Unsigned : ByteSign::Signed;
  spec.interleave = op.getInterleave();
  if (std::optional<tenon::tile::QuantizedWeightsAttr> quantized =
          op.getQuantized())
    spec.quantized = {quantized->getBits(), quantized->getIsSigned(),
                      quantized->hasScales(), quantized->getZeroPoints(),
                      quantized->getSlices()};
  int64_t k = op.getAType().getShape().back();
  spec.partialGroup = ShapedType::isDynamic(k) || k % spec.interleave != 0;
  spec.numBatchDims = op.getNumBatchDims();
  spec.accumulate = op.getAccumulate();
  // 128 bits and less stand for any machine; there llvm.fma may be a call.
  spec.fusedMultiplyAdd = target.getVectorBits() > 128;
  auto [strides, offset] = op.getAType().getStridesAndOffset();
  spec.unitStrideK = strides.back() == 1;
  for (unsigned i = 0, e = op.getEpilogueOperands().size(); i < e; ++i)
    spec.epilogueOperands.push_back(
        *tenon::tile::getEpilogueBroadcast(op.getEpilogueMap(i)));
  cache.setEpilogue(spec, op.getEpilogue());
  staticM = known(op.getCType().getDimSize(0));
  staticN = known(op.getCType().getDimSize(1));
  full = choice.tile;
  spec.lanes = choice.isa.lanes(spec.sum.getIntOrFloatBitWidth());
  spec.fromPartial = choice.matrixUnit;
  sumsGoToC = choice.matrixUnit && op.getEpilogue().empty() &&
              spec.stored == spec.sum && !ShapedType::isDynamic(k) &&
              k % (kTileGroups * spec.interleave) == 0 &&
              *staticN % kTileColumns == 0;
  std::optional<int64_t> terms = termsOf(op);
  chooseTotals(op, terms);
  finishesApart = !spec.fromPartial && !op.getNontemporalOut() &&
                  !(terms && *terms < kTermsToFinishApart);
  shapeLoop(op, choice.isa, unroll);
  assert(full.rows > 0 && full.vectors > 0 && spec.lanes > 0);
  LDBG() << "tile of " << full.rows << " rows and " << full.vectors
         << " vectors of " << spec.lanes << ", unrolled " << spec.unroll
         << (spec.fromPartial ? " times, by the matrix unit" : " times");
}

/// As many as the longest sum that the operation may have needs. Sums of
/// integers do not round, those of a matrix unit are not cut.
void SiteChoice::chooseTotals(BrgemmOp op, std::optional<int64_t> terms) {
  if (!isa<FloatType>(spec.sum) || spec.fromPartial)
    return;
  // Groups of int8 slices add one.
  if (auto quantized = op.getQuantized();
      quantized && quantized->getSlices() && terms)
    terms = *terms / quantized->groupOf(*terms);
  spec.totals = 0;
  for (int64_t most = kSumBlock;
       spec.totals < kMostTotals && !(terms && *terms <= most);
       most *= kBlocksPerTotal)
    ++spec.totals;
}

/// Each instruction beside the products counts where another thread of the core
/// takes its share of them.
void SiteChoice::shapeLoop(BrgemmOp op, VectorIsa isa, int64_t unroll) {
  // Rows of one panel; those of wide matrices would be kernels of their own.
  auto row =
      known(op.getBType().getStridesAndOffset().first[spec.numBatchDims]);
  if (op.getPacked() && row &&
      *row <= full.vectors * spec.lanes * spec.interleave)
    spec.rowOfB = *row * spec.perColumnOfB();
  int64_t k = op.getAType().getShape().back();
  if (op.getQuantized())
    k = op.getQuantized()->groupOf(op.getQuantized()->kOf(k));
  int64_t steps = ShapedType::isDynamic(k) ? 0 : k / spec.perRowOfB();
  auto divides = [&](int64_t count) {
    return !ShapedType::isDynamic(k) && steps % count == 0;
  };
  // A rest of k is a second loop to compile: not for a few steps.
  bool pays = divides(kUnroll) || steps >= kStepsForRest;
  // LLVM would load A and B for both steps of a tile of one vector first: where
  // registers are too few an accumulator went through memory at each step.
  bool spills = full.vectors == 1 && 2 * full.rows + 2 > isa.numRegisters;
  spills |= spec.quantized && spec.quantized->slices && full.rows > 1;
  if (unroll)
    spec.unroll = unroll;
  else if (!spec.fromPartial && pays && !spills)
    spec.unroll = kUnroll;
  spec.wholeIterations = divides(spec.unroll);
}
