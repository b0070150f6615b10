//===- SiteChoice.cpp - the kernel that a product is made with ------------===//
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
// A few rows are bound by the memory that weights come from, and vectors read
// it in order.
constexpr int64_t kMinTileRows = 4;

std::optional<int64_t> known(int64_t size) {
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}
} // namespace

int64_t tenon::microkernel::panelWidth(BrgemmOp op) {
  return op.getBType().getDimSize(op.getNumBatchDims() + 1);
}

SiteChoice::SiteChoice(BrgemmOp op, KernelCache &cache,
                       const KernelTarget &target) {
  VectorIsa isa = target.isa;
  spec.element = op.getAType().getElementType();
  spec.sum = op.getAccumulatorType();
  spec.stored = op.getCType().getElementType();
  spec.sign = op.getUnsignedA() ? ByteSign::Unsigned : ByteSign::Signed;
  spec.interleave = op.getInterleave();
  if (std::optional<tenon::tile::LevelsAttr> levels = op.getLevels())
    spec.levels = {levels->getBits(), levels->getIsSigned(),
                   levels->hasScales(), levels->getZeroPoints(),
                   levels->getDigits()};
  int64_t k = op.getAType().getShape().back();
  spec.partialGroup = ShapedType::isDynamic(k) || k % spec.interleave != 0;
  spec.numBatchDims = op.getNumBatchDims();
  spec.accumulate = op.getAccumulate();
  // 128 bits and less stand for any machine; there llvm.fma may be a call.
  spec.fusedMultiplyAdd = isa.vectorBits > 128;
  auto [strides, offset] = op.getAType().getStridesAndOffset();
  spec.unitStrideK = strides.back() == 1;
  for (unsigned i = 0, e = op.getSides().size(); i < e; ++i)
    spec.sides.push_back(*tenon::tile::getSideKind(op.getSideMap(i)));
  cache.setEpilogue(spec, op.getEpilogue());
  // Registers for the flipped bits and the sums of B.
  if (spec.correctsSign())
    isa.numRegisters -= 4;
  isa.numRegisters -= registersForProducts(spec.interleave);
  staticM = known(op.getCType().getDimSize(0));
  staticN = known(op.getCType().getDimSize(1));
  int64_t sumBits = spec.sum.getIntOrFloatBitWidth();
  spec.lanes = isa.lanes(sumBits);
  if (target.matrixUnit && fitsMatrixUnit(op)) {
    chooseMatrixTile(op);
  } else {
    isa = isa.forColumns(staticN, sumBits);
    spec.lanes = isa.lanes(sumBits);
    chooseTile(op, isa);
  }
  chooseTotals(op);
  shapeLoop(op, isa, target.unroll);
  assert(full.rows > 0 && full.vectors > 0 && spec.lanes > 0);
  LDBG() << "tile of " << full.rows << " rows and " << full.vectors
         << " vectors of " << spec.lanes << ", unrolled " << spec.unroll
         << (spec.fromPartial ? " times, by the matrix unit" : " times");
}

/// As many as the longest sum that the operation may have needs. Sums of
/// integers do not round, those of a matrix unit are not cut.
void SiteChoice::chooseTotals(BrgemmOp op) {
  if (!isa<FloatType>(spec.sum) || spec.fromPartial)
    return;
  // All dimensions of A but the rows.
  ArrayRef<int64_t> shape = op.getAType().getShape();
  SmallVector<int64_t> summed(shape.take_front(spec.numBatchDims));
  summed.push_back(shape.back());
  std::optional<int64_t> terms = op.getMaxTerms();
  if (ShapedType::isStaticShape(summed)) {
    terms = ShapedType::getNumElements(summed);
    if (std::optional<tenon::tile::LevelsAttr> levels = op.getLevels()) {
      terms = levels->kOf(*terms);
      if (levels->getDigits())
        terms = *terms / levels->groupOf(*terms);
    }
  }
  spec.totals = 0;
  for (int64_t most = kSumBlock;
       spec.totals < kMostTotals && !(terms && *terms <= most);
       most *= kBlocksPerTotal)
    ++spec.totals;
}

/// Groups of B are as tiles have them, and fill some.
bool SiteChoice::fitsMatrixUnit(BrgemmOp op) const {
  int64_t groups = op.getBType().getDimSize(spec.numBatchDims);
  return spec.interleave > 1 && spec.lanes == kTileColumns &&
         spec.interleave * spec.element.getIntOrFloatBitWidth() == 32 &&
         spec.unitStrideK && !spec.accumulate && op.getPacked() &&
         staticM.value_or(kMinTileRows) >= kMinTileRows &&
         !ShapedType::isDynamic(groups) && groups >= 2 * kTileGroups && staticN;
}

/// Strips as wide as the sums of the unit; the kernels that take them from
/// there keep a few rows of them in registers.
void SiteChoice::chooseMatrixTile(BrgemmOp op) {
  spec.fromPartial = true;
  full = {8, kTilesPerSide};
  int64_t k = op.getAType().getShape().back();
  sumsGoToC = op.getEpilogue().empty() && spec.stored == spec.sum &&
              !ShapedType::isDynamic(k) &&
              k % (kTileGroups * spec.interleave) == 0 &&
              *staticN % kTileColumns == 0;
}

void SiteChoice::chooseTile(BrgemmOp op, VectorIsa isa) {
  // B has at least the columns of C.
  std::optional<int64_t> widest = staticN ? staticN : known(panelWidth(op));
  if (std::optional<ArrayRef<int64_t>> given = op.getRegisterTile())
    full = {(*given)[0], (*given)[1]};
  else if (spec.levels)
    full = spec.levels->digits
               ? chooseDigitsTile(isa, spec.levels->bits, spec.levels->digits,
                                  staticM)
               : chooseLevelsTile(isa, spec.levels->bits, staticM);
  else
    full =
        ofWholeLines(op,
                     chooseRegisterTile(isa, spec.sum.getIntOrFloatBitWidth(),
                                        staticM, widest),
                     isa.numRegisters);
  if (widest)
    full.vectors = std::max<int64_t>(
        1,
        std::min<int64_t>(full.vectors, llvm::divideCeil(*widest, spec.lanes)));
}

/// Where rows of B lie in their own place and begin with lines of the cache, a
/// tile that ends within a line would leave the rest of it to the next tile,
/// for which it has left L1: six rows of whole lines instead of more columns.
RegisterTile SiteChoice::ofWholeLines(BrgemmOp op, RegisterTile tile,
                                      int64_t registers) const {
  int64_t bytes = spec.element.getIntOrFloatBitWidth() / 8;
  auto row =
      known(op.getBType().getStridesAndOffset().first[spec.numBatchDims]);
  int64_t perLine = kLineBytes / (spec.lanes * bytes);
  RegisterTile whole{6, tile.vectors / std::max<int64_t>(perLine, 1) * perLine};
  bool fits = whole.vectors > 0 && whole.vectors < tile.vectors &&
              registersNeeded(whole) <= registers;
  return fits && !op.getPacked() && row && *row * bytes % kLineBytes == 0 &&
                 staticM.value_or(whole.rows) >= whole.rows
             ? whole
             : tile;
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
  if (op.getLevels())
    k = op.getLevels()->groupOf(op.getLevels()->kOf(k));
  int64_t steps = ShapedType::isDynamic(k) ? 0 : k / spec.perRowOfB();
  auto divides = [&](int64_t count) {
    return !ShapedType::isDynamic(k) && steps % count == 0;
  };
  // A rest of k is a second loop to compile: not for a few steps.
  bool pays = divides(kUnroll) || steps >= kStepsForRest;
  // LLVM would load A and B for both steps of a tile of one vector first: where
  // registers are too few an accumulator went through memory at each step.
  bool spills = full.vectors == 1 && 2 * full.rows + 2 > isa.numRegisters;
  spills |= spec.levels && spec.levels->digits && full.rows > 1;
  if (unroll)
    spec.unroll = unroll;
  else if (!spec.fromPartial && pays && !spills)
    spec.unroll = kUnroll;
  spec.wholeIterations = divides(spec.unroll);
}
