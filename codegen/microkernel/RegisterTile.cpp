//===- RegisterTile.cpp - rows x vectors of a microkernel -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/RegisterTile.h"

#include <algorithm>
#include <limits>

using namespace tenon::microkernel;

namespace {
// The core every choice is made for: two FMAs and two vector loads per cycle,
// a latency of 4 cycles. True of Haswell..Zen 5 within what matters here.
constexpr double fmasPerCycle = 2;
constexpr double loadsPerCycle = 2;
constexpr double fmaLatency = 4;
// Cycles to enter and leave a kernel, spread over a typical K of 256.
constexpr double entryCyclesPerStep = 40.0 / 256;

constexpr double modelError = 0.02;

// Few rows wait for B, which lower tiles read more often.
constexpr int64_t fewRows = 48;

/// Preferred first where the costs tie: fewer loads per FMA, then fewer rows.
constexpr RegisterTile candidates[] = {
    {8, 3}, {6, 4}, {12, 2}, {14, 2}, {4, 4}, {1, 4}, {4, 3}, {6, 2}, {3, 4},
    {3, 3}, {2, 3}, {1, 3},  {4, 2},  {2, 2}, {1, 2}, {8, 1}, {4, 1}, {1, 1}};

/// Cycles per step of k of one rows x vectors kernel.
double cyclesPerStep(int64_t rows, int64_t vectors) {
  double fmas = static_cast<double>(rows * vectors);
  double loads = static_cast<double>(rows + vectors);
  return std::max({fmas / fmasPerCycle, loads / loadsPerCycle, fmaLatency}) +
         entryCyclesPerStep;
}

double loadsPerFma(RegisterTile tile) {
  return static_cast<double>(tile.rows + tile.vectors) /
         static_cast<double>(tile.rows * tile.vectors);
}

int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// Cycles per step of k for all blocks of m rows x `vectors` vectors.
double cyclesOfStrip(int64_t m, int64_t vectors, int64_t maxRows) {
  BalancedSplit split = splitBalanced(m, maxRows);
  double cycles = 0;
  if (split.numTall)
    cycles += split.numTall * cyclesPerStep(split.height + 1, vectors);
  if (split.numShort)
    cycles += split.numShort * cyclesPerStep(split.height, vectors);
  return cycles;
}
} // namespace

int64_t VectorIsa::lanes(int64_t elementBits) const {
  return std::max<int64_t>(1, vectorBits / elementBits);
}

VectorIsa VectorIsa::forColumns(std::optional<int64_t> columns,
                                int64_t elementBits) const {
  constexpr int64_t halfBits = 256;
  VectorIsa narrowed = *this;
  if (columns && *columns * elementBits <= halfBits)
    narrowed.vectorBits = std::min(vectorBits, halfBits);
  return narrowed;
}

int64_t tenon::microkernel::registersNeeded(RegisterTile tile) {
  return tile.rows * tile.vectors + tile.vectors + 1;
}

BalancedSplit tenon::microkernel::splitBalanced(int64_t total, int64_t limit) {
  if (total <= 0)
    return {};
  int64_t blocks = ceilDiv(total, limit);
  return {total / blocks, total % blocks, blocks - total % blocks};
}

RegisterTile tenon::microkernel::chooseQuantizedTile(VectorIsa isa,
                                                     unsigned bits,
                                                     std::optional<int64_t> m) {
  constexpr int64_t narrow = 2;
  if (m && *m <= narrow)
    return {std::max<int64_t>(*m, 1), kQuantizedVectors};
  // Beside sums: an element of A, a row of weights, one of quantized weights
  // that has another row in it, and what is between.
  int64_t others = 2 + narrow * static_cast<int64_t>(8 / bits);
  int64_t rows = std::max<int64_t>((isa.numRegisters - others) / narrow, 1);
  return {m ? std::min(rows, *m) : rows, narrow};
}

RegisterTile tenon::microkernel::chooseSlicesTile(VectorIsa isa, unsigned bits,
                                                  int64_t slices,
                                                  std::optional<int64_t> m) {
  // Of three int8 slices, eight rows of one vector gain nothing over four of
  // two.
  const int64_t enough = 12 / slices;
  int64_t wanted = std::clamp<int64_t>(m.value_or(enough), 1, enough);
  auto fitting = [&](int64_t vectors) {
    // Beside sums: quantized weights, weights made of halves of them, a word of
    // A.
    int64_t others = vectors * static_cast<int64_t>(8 / bits) + 1;
    return (isa.numRegisters - others) / (slices * vectors);
  };
  if (fitting(kSlicesVectors) >= wanted)
    return {wanted, kSlicesVectors};
  return {std::clamp<int64_t>(fitting(1), 1, wanted), 1};
}

RegisterTile tenon::microkernel::chooseRegisterTile(VectorIsa isa,
                                                    int64_t elementBits,
                                                    std::optional<int64_t> m,
                                                    std::optional<int64_t> n,
                                                    bool wholeStrips) {
  // Large, and a multiple of every candidate: no tile is favoured by its tails.
  constexpr int64_t unknownRows = 8 * 3 * 7 * 2, unknownVectors = 12;
  int64_t rows = std::max<int64_t>(1, m.value_or(unknownRows));
  int64_t vectors =
      n ? std::max<int64_t>(1, ceilDiv(*n, isa.lanes(elementBits)))
        : unknownVectors;

  RegisterTile best;
  double bestCycles = std::numeric_limits<double>::infinity();
  for (RegisterTile tile : candidates) {
    if (registersNeeded(tile) > isa.numRegisters ||
        (wholeStrips && tile.vectors == 1 && vectors > 1))
      continue;
    double cycles =
        (vectors / tile.vectors) * cyclesOfStrip(rows, tile.vectors, tile.rows);
    if (int64_t rest = vectors % tile.vectors)
      cycles +=
          cyclesOfStrip(rows, wholeStrips ? tile.vectors : rest, tile.rows);
    // The model is not better than this: keep to the order of preference, but
    // columns left over are more kernels to compile.
    bool sparesRest = rows > fewRows && vectors % best.vectors != 0 &&
                      vectors % tile.vectors == 0 &&
                      loadsPerFma(tile) <= loadsPerFma(best) &&
                      cycles < bestCycles * (1 + modelError);
    if (sparesRest || cycles < bestCycles * (1 - modelError)) {
      best = tile;
      bestCycles = cycles;
    }
  }
  best.rows = std::min(best.rows, rows);
  return best;
}
