//===- TileChoice.cpp - how a product is cut for the registers ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/TileChoice.h"
#include "codegen/microkernel/Kernel.h"
#include "codegen/microkernel/MatrixKernel.h"

using namespace mlir;
using namespace tenon::microkernel;
using tenon::tile::BrgemmOp;
using tenon::tile::TargetAttr;

namespace {

std::optional<int64_t> known(int64_t size) {
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

int64_t sumBits(BrgemmOp op) {
  return op.getAccumulatorType().getIntOrFloatBitWidth();
}

int64_t elementBits(BrgemmOp op) {
  return op.getAType().getElementTypeBitWidth();
}

/// The rows of C, or the most there may be where that is declared.
std::optional<int64_t> mostRows(BrgemmOp op) {
  auto rows = known(op.getCType().getDimSize(0));
  std::optional<uint64_t> most = op.getMaxRows();
  return rows || !most ? rows : std::optional<int64_t>(*most);
}

/// Whether groups of B are as tiles of the matrix unit have them, and fill
/// some.
bool fitsMatrixUnit(BrgemmOp op, TargetAttr target) {
  // A few rows are bound by the memory that weights come from, and vectors read
  // it in order.
  constexpr int64_t kMinTileRows = 4;
  int64_t groups = op.getBType().getDimSize(op.getNumBatchDims());
  return target.multipliesInTiles(op.getInterleave()) &&
         isaOf(target).lanes(sumBits(op)) == kTileColumns &&
         op.getInterleave() * elementBits(op) == 32 &&
         !op.getAType().getElementType().isInteger(16) &&
         op.getAType().getStridesAndOffset().first.back() == 1 &&
         !op.getAccumulate() && op.getPacked() &&
         mostRows(op).value_or(kMinTileRows) >= kMinTileRows &&
         !ShapedType::isDynamic(groups) && groups >= 2 * kTileGroups &&
         !op.getCType().isDynamicDim(1);
}

/// Where rows of B lie in their own place and begin with lines of the cache, a
/// tile that ends within a line would leave the rest of it to the next tile,
/// for which it has left L1: six rows of whole lines instead of more columns.
RegisterTile ofWholeLines(BrgemmOp op, RegisterTile tile, VectorIsa isa) {
  int64_t bytes = elementBits(op) / 8;
  auto row =
      known(op.getBType().getStridesAndOffset().first[op.getNumBatchDims()]);
  int64_t perLine = kLineBytes / (isa.lanes(sumBits(op)) * bytes);
  RegisterTile whole{6, tile.vectors / std::max<int64_t>(perLine, 1) * perLine};
  bool fits = whole.vectors > 0 && whole.vectors < tile.vectors &&
              registersNeeded(whole) <= isa.numRegisters;
  return fits && !op.getPacked() && row && *row * bytes % kLineBytes == 0 &&
                 known(op.getCType().getDimSize(0)).value_or(whole.rows) >=
                     whole.rows
             ? whole
             : tile;
}

RegisterTile bestTile(BrgemmOp op, VectorIsa isa,
                      std::optional<int64_t> widest) {
  auto m = known(op.getCType().getDimSize(0));
  // A bound that takes many tiles tells no more than that there are rows.
  constexpr int64_t kFewRows = 16;
  if (auto most = mostRows(op); !m && most && *most <= kFewRows)
    m = most;
  if (std::optional<tenon::tile::QuantizedWeightsAttr> quantized =
          op.getQuantized())
    return quantized->getSlices()
               ? chooseSlicesTile(isa, quantized->getBits(),
                                  quantized->getSlices(), m)
               : chooseQuantizedTile(isa, quantized->getBits(), m);
  return ofWholeLines(op, chooseRegisterTile(isa, sumBits(op), m, widest), isa);
}

/// Whether the choice is written in `op`.
bool isDecided(BrgemmOp op) {
  return op.getMatrixUnit() || op.getRegisterTile();
}

} // namespace

int64_t tenon::microkernel::panelWidth(BrgemmOp op) {
  return op.getBType().getDimSize(op.getNumBatchDims() + 1);
}

TileChoice tenon::microkernel::chooseTile(BrgemmOp op, TargetAttr target) {
  TileChoice choice;
  choice.isa = isaOf(target);
  ByteSign sign = op.getUnsignedA() ? ByteSign::Unsigned : ByteSign::Signed;
  // Registers for the flipped bits and the sums of B.
  if (correctsSign(op.getAType().getElementType(), op.getInterleave(), sign))
    choice.isa.numRegisters -= 4;
  choice.isa.numRegisters -= registersForProducts(op.getInterleave());
  choice.matrixUnit =
      isDecided(op) ? op.getMatrixUnit() : fitsMatrixUnit(op, target);
  if (choice.matrixUnit) {
    // Strips as wide as the sums of the unit; the kernels that take them from
    // there keep a few rows of them in registers.
    choice.tile = {8, kTilesPerSide};
    return choice;
  }
  auto n = known(op.getCType().getDimSize(1));
  choice.isa = choice.isa.forColumns(n, sumBits(op));
  // B has at least the columns of C.
  std::optional<int64_t> widest = n ? n : known(panelWidth(op));
  if (std::optional<ArrayRef<int64_t>> given = op.getRegisterTile())
    choice.tile = {(*given)[0], (*given)[1]};
  else
    choice.tile = bestTile(op, choice.isa, widest);
  if (widest)
    choice.tile.vectors = std::clamp<int64_t>(
        llvm::divideCeil(*widest, choice.isa.lanes(sumBits(op))), 1,
        choice.tile.vectors);
  return choice;
}

void tenon::microkernel::writeTile(BrgemmOp op, TargetAttr target) {
  TileChoice choice = chooseTile(op, target);
  if (choice.matrixUnit)
    op.setMatrixUnit(true);
  else
    op.setRegisterTile(ArrayRef{choice.tile.rows, choice.tile.vectors});
}

std::string tenon::microkernel::whyNoSuchTile(BrgemmOp op, TargetAttr target) {
  if (op.getMatrixUnit() && !fitsMatrixUnit(op, target))
    return "matrix_unit is set, but the target has none or the product does "
           "not fill its tiles";
  std::optional<ArrayRef<int64_t>> given = op.getRegisterTile();
  if (!given)
    return "";
  int64_t needed = registersNeeded({(*given)[0], (*given)[1]});
  if (needed <= target.getNumVectorRegisters())
    return "";
  return "register_tile takes " + std::to_string(needed) +
         " registers, the target has " +
         std::to_string(target.getNumVectorRegisters());
}
