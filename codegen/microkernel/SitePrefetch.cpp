//===- SitePrefetch.cpp - what kernels of a site prefetch -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/SitePrefetch.h"

using namespace mlir;

namespace tenon::microkernel {

SitePrefetch::SitePrefetch(tile::BrgemmOp op, KernelCache &cache,
                           tile::TargetAttr target, int64_t unroll)
    : SiteMath(op), SiteChoice(op, cache, target, unroll), op(op),
      a(takeApart(op.getA())), b(takeApart(op.getB())), c(takeApart(op.getC())),
      fewRows(target.getFewRows()), fewRowsAhead(target.getFewRowsAhead()),
      leastRows(target.getLeastRows()) {
  panelSize = getPanelSize();
  if (spec.fromPartial)
    spec.prefetch = 0;
  else if (panelSize)
    spec.prefetch = linesPerStep(full.rows, spec.unroll);
  else if (prefetchesRows())
    spec.prefetch = llvm::divideCeil(full.rows * bytesPerRowStep(), kLineBytes);
  else if (op.getPrefetch() && staticM)
    spec.prefetch = linesOfMemory();
  spec.prefetchB =
      op.getPrefetchNext() && !op.getPacked() && spec.numBatchDims == 0;
}

void SitePrefetch::setPrefetch(KernelOperands &operands, Value row,
                               Value rows) {
  if (panelSize)
    setPanelPrefetch(operands, row, rows);
  else if (prefetchesRows())
    setRowPrefetch(operands, row, rows);
  else
    setMemoryPrefetch(operands, row, rows);
}

void SitePrefetch::setPrefetch(MatrixKernelSpec &unit,
                               MatrixKernelOperands &operands, Value row) {
  if (!panelSize || !staticM || spec.numBatchDims > 0)
    return;
  unit.prefetch = linesPerStep(kTilesPerSide * kTileRows, kTileGroups);
  unit.prefetchNear = isSmallPanel();
  operands.ahead = shareOfNextPanel(row);
}

/// Elements of one panel of B if the next may be prefetched: the panel is one
/// piece of memory, and one strip of columns.
std::optional<Value> SitePrefetch::getPanelSize() {
  MemRefType type = op.getBType();
  int64_t j = spec.numBatchDims, width = panelWidth(op);
  auto [strides, offset] = type.getStridesAndOffset();
  if (!op.getPrefetchNext() || ShapedType::isDynamic(width) ||
      width > full.vectors * spec.lanes ||
      (staticM && *staticM < minRowsToPrefetch()))
    return std::nullopt;
  int64_t expected = width * spec.interleave;
  for (int64_t i = j; i >= 0; --i) {
    if (ShapedType::isDynamic(expected) || strides[i] != expected)
      return std::nullopt;
    int64_t size = type.getDimSize(i);
    expected = ShapedType::isDynamic(size) ? size : expected * size;
  }
  Value size = integer(width * spec.interleave);
  for (int64_t i = 0; i <= j; ++i)
    size = make<arith::MulIOp>(size, b.sizes[i]);
  return size;
}

/// Whether the rows of A after those of a tile are prefetched meanwhile: they
/// are the next piece of memory.
bool SitePrefetch::prefetchesRows() {
  MemRefType type = op.getA().getType();
  auto [strides, offset] = type.getStridesAndOffset();
  return op.getPrefetchRows() && spec.numBatchDims == 0 && spec.unitStrideK &&
         !type.isDynamicDim(1) && strides[0] == type.getDimSize(1);
}

/// Bytes of a row of A that an iteration over k reads.
int64_t SitePrefetch::bytesPerRowStep() {
  int64_t elements = spec.unroll * spec.stepOfA();
  if (spec.quantized && spec.quantized->slices)
    elements *= spec.quantized->slices;
  return elements * spec.element.getIntOrFloatBitWidth() / 8;
}

/// What `rows` rows after `row` make of it: as much of the next rows as they
/// read of their own.
void SitePrefetch::setRowPrefetch(KernelOperands &operands, Value row,
                                  Value rows) {
  operands.ahead = advance(a.pointer, make<arith::AddIOp>(row, rows),
                           a.strides[0], spec.element);
  operands.aheadStep =
      make<arith::MulIOp>(toInteger(rows), integer(bytesPerRowStep()));
}

/// Bytes of the memory that the operation names.
int64_t SitePrefetch::bytesOfMemory() {
  auto type = cast<MemRefType>(op.getPrefetch().getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Lines of it that an iteration over k brings.
int64_t SitePrefetch::linesOfMemory() {
  constexpr int64_t kMost = 4;
  MemRefType type = op.getAType();
  if (!type.hasStaticShape())
    return 1;
  int64_t steps = type.getNumElements() / std::max<int64_t>(*staticM, 1) /
                  (spec.unroll * spec.interleave);
  int64_t iterations =
      std::max<int64_t>(steps * llvm::divideCeil(*staticM, full.rows), 1);
  return std::min<int64_t>(
      llvm::divideCeil(bytesOfMemory(), iterations * kLineBytes), kMost);
}

/// What `rows` rows from `row` bring of the memory named by the operation:
/// their share, or as much of it as so many lines per iteration over k are.
void SitePrefetch::setMemoryPrefetch(KernelOperands &operands, Value row,
                                     Value rows) {
  auto share = [&](Value of) {
    Value all = make<arith::MulIOp>(toInteger(of), integer(bytesOfMemory()));
    return make<arith::DivUIOp>(all, integer(*staticM));
  };
  operands.ahead = LLVM::GEPOp::create(
      builder, loc, a.pointer.getType(), builder.getI8Type(),
      takeApart(op.getPrefetch()).pointer, ValueRange{share(row)});
  Value bytes = share(rows);
  Value iterations = make<arith::DivUIOp>(
      a.sizes.back(), integer(spec.unroll * spec.interleave));
  for (unsigned i = 0; i < spec.numBatchDims; ++i)
    iterations = make<arith::MulIOp>(iterations, b.sizes[i]);
  iterations = make<arith::MaxUIOp>(iterations, integer(1));
  operands.aheadStep =
      make<arith::MinUIOp>(make<arith::CeilDivUIOp>(bytes, iterations),
                           integer(spec.prefetch * kLineBytes));
}

/// Whether L1 holds this panel and the next beside rows of A and C.
bool SitePrefetch::isSmallPanel() {
  constexpr int64_t kMostBytes = 8 << 10;
  MemRefType type = op.getBType();
  return type.hasStaticShape() &&
         type.getNumElements() * type.getElementTypeBitWidth() / 8 <=
             kMostBytes;
}

int64_t SitePrefetch::bytesOfRowOfB() {
  return panelWidth(op) * spec.interleave * spec.perColumnOfB() *
         spec.elementOfB().getIntOrFloatBitWidth() / 8;
}

/// Lines of the next panel that a step, through so many `groups` of k, of
/// each block of `rows` prefetches.
int64_t SitePrefetch::linesPerStep(int64_t rows, int64_t groups) {
  int64_t bytes = groups * bytesOfRowOfB();
  int64_t blocks = staticM ? llvm::divideCeil(*staticM, rows) : 1;
  return llvm::divideCeil(llvm::divideCeil(bytes, blocks), kLineBytes);
}

Value SitePrefetch::shareOfNextPanel(Value row) {
  Value share = make<arith::DivUIOp>(
      make<arith::MulIOp>(toInteger(row), *panelSize), c.sizes[0]);
  Value next = *panelSize;
  if (std::optional<int64_t> distance = op.getNextPanel())
    next = integer(*distance);
  else if (staticM && *staticM <= full.rows)
    next = make<arith::MinUIOp>(next, integer(elementsAhead()));
  Value start = make<arith::AddIOp>(next, share);
  return LLVM::GEPOp::create(builder, loc, b.pointer.getType(),
                             spec.elementOfB(), b.pointer, ValueRange{start});
}

/// The piece of the next panel that goes with `rows` rows from `row`: panels
/// follow each other, and each block of rows prefetches its share.
void SitePrefetch::setPanelPrefetch(KernelOperands &operands, Value row,
                                    Value rows) {
  // Rows, if their number is unknown, for which the next panel is prefetched.
  constexpr int64_t kMinRowsOfPanel = 4;
  Value m = c.sizes[0];
  operands.ahead = shareOfNextPanel(row);
  int64_t rowBytes = bytesOfRowOfB();
  operands.aheadStep = make<arith::CeilDivUIOp>(
      make<arith::MulIOp>(toInteger(rows), integer(spec.unroll * rowBytes)), m);
  if (staticM)
    return;
  // Too few rows at run time: touch one line of B again and again.
  Value few = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, m,
                                    integer(kMinRowsOfPanel));
  operands.ahead =
      arith::SelectOp::create(builder, loc, few, b.pointer, operands.ahead);
  operands.aheadStep = arith::SelectOp::create(builder, loc, few, integer(0),
                                               operands.aheadStep);
}

/// With fewer rows of narrow types B streams at its full rate as it is
/// (docs/microkernels.md).
int64_t SitePrefetch::minRowsToPrefetch() const {
  if (spec.quantized)
    return 1;
  if (spec.element.isF32())
    return leastRows;
  return spec.interleave > 1 ? 3 : 1;
}

/// How far ahead one block of rows prefetches: it reads each line once, and
/// what it prefetches a whole panel ahead does not all stay in L2. Few rows
/// wait for memory and little else, and gain most from requests that come just
/// before those of the hardware (docs/microkernels.md).
int64_t SitePrefetch::elementsAhead() {
  constexpr int64_t kSteps = 64;
  // Int8 slices of several rows take longer than their quantized weights do to
  // come.
  bool hasSlices = spec.quantized && spec.quantized->slices;
  if (*staticM <= (hasSlices ? 1 : fewRows))
    return fewRowsAhead * 8 / spec.elementOfB().getIntOrFloatBitWidth();
  return kSteps * panelWidth(op) * spec.interleave * spec.perColumnOfB();
}

} // namespace tenon::microkernel
