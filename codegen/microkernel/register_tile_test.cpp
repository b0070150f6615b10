//===- register_tile_test.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/microkernel/RegisterTile.h"

#include "gtest/gtest.h"

using namespace tenon::microkernel;

namespace {

constexpr VectorIsa avx2{256, 16}, avx512{512, 32}, sse{128, 16};

void expectTile(RegisterTile tile, int64_t rows, int64_t vectors) {
  EXPECT_EQ(tile.rows, rows);
  EXPECT_EQ(tile.vectors, vectors);
}

TEST(RegisterTile, largeProducts) {
  expectTile(chooseRegisterTile(avx2, 32, {}, {}), 4, 3);
  expectTile(chooseRegisterTile(avx2, 32, 128, 768), 4, 3);
  expectTile(chooseRegisterTile(avx512, 32, {}, {}), 8, 3);
  expectTile(chooseRegisterTile(avx512, 32, 128, 768), 8, 3);
}

TEST(RegisterTile, alwaysFitsTheRegisters) {
  for (VectorIsa isa : {avx2, avx512, sse, VectorIsa{128, 8}, {32, 16}})
    for (int64_t m = 0; m <= 40; ++m)
      for (int64_t n = 0; n <= 200; ++n) {
        RegisterTile tile = chooseRegisterTile(isa, 32, m, n);
        EXPECT_LE(registersNeeded(tile), isa.numRegisters);
        EXPECT_GE(tile.rows, 1);
        EXPECT_GE(tile.vectors, 1);
      }
}

TEST(RegisterTile, fewRowsTakeWideTiles) {
  // A low block needs many columns to hide the latency of an FMA.
  expectTile(chooseRegisterTile(avx512, 32, 1, 4096), 1, 4);
  RegisterTile four = chooseRegisterTile(avx512, 32, 4, 4096);
  EXPECT_EQ(four.rows, 4); // No more than there are.
  EXPECT_GE(four.rows * four.vectors, 8);
  EXPECT_GE(chooseRegisterTile(avx2, 32, 1, 4096).vectors, 3);
}

TEST(RegisterTile, narrowProductsTakeTallTiles) {
  RegisterTile tile = chooseRegisterTile(avx512, 32, 128, 32);
  EXPECT_GE(tile.rows * tile.vectors, 16);
  EXPECT_GE(chooseRegisterTile(avx2, 32, 128, 16).rows, 4);
}

TEST(RegisterTile, sparesKernelsForColumnsLeftOver) {
  // 64 vectors: strips of 4, or of 3 and one more.
  expectTile(chooseRegisterTile(avx512, 32, 1024, 1024), 6, 4);
  // Of few rows each strip of B would be read more often.
  expectTile(chooseRegisterTile(avx512, 32, 8, 1024), 8, 3);
  // With AVX2 the tile that divides them has more loads per FMA.
  expectTile(chooseRegisterTile(avx2, 32, 1024, 1024), 4, 3);
}

TEST(RegisterTile, slicesHaveThreeSums) {
  for (unsigned bits : {4, 8}) {
    expectTile(chooseSlicesTile(avx512, bits, 3, {}), 4, 2);
    expectTile(chooseSlicesTile(avx512, bits, 3, 100), 4, 2);
    expectTile(chooseSlicesTile(avx512, bits, 3, 1), 1, 2);
    expectTile(chooseSlicesTile(avx512, bits, 2, 100), 6, 2);
    // One vector where two would be a row each.
    expectTile(chooseSlicesTile(avx2, bits, 3, 100), 4, 1);
    expectTile(chooseSlicesTile(avx2, bits, 3, 1), 1, 2);
  }
}

TEST(RegisterTile, wholeStripsDivideTheColumns) {
  // 8 vectors are two strips of 4, or three of 3 with one of padding.
  expectTile(chooseRegisterTile(avx512, 32, 24, 128), 8, 3);
  expectTile(chooseRegisterTile(avx512, 32, 24, 128, /*wholeStrips=*/true), 6,
             4);
  EXPECT_GE(chooseRegisterTile(avx512, 32, {}, 77, true).vectors, 2);
  expectTile(chooseRegisterTile(avx512, 32, {}, 384, /*wholeStrips=*/true), 8,
             3);
}

TEST(RegisterTile, fewColumnsTakeHalfVectors) {
  EXPECT_EQ(avx512.forColumns(8, 32).lanes(32), 8);
  EXPECT_EQ(avx512.forColumns(8, 32).numRegisters, 32);
  EXPECT_EQ(avx512.forColumns(9, 32).lanes(32), 16);
  EXPECT_EQ(avx512.forColumns({}, 32).lanes(32), 16);
  EXPECT_EQ(avx2.forColumns(1, 32).lanes(32), 8);
  EXPECT_EQ(sse.forColumns(1, 32).lanes(32), 4);
}

TEST(RegisterTile, lanes) {
  EXPECT_EQ(avx2.lanes(32), 8);
  EXPECT_EQ(avx512.lanes(16), 32);
  EXPECT_EQ((VectorIsa{32, 16}.lanes(32)), 1);
  EXPECT_EQ((VectorIsa{32, 16}.lanes(64)), 1);
}

TEST(SplitBalanced, coversAllRowsInFewestBlocks) {
  for (int64_t limit = 1; limit <= 14; ++limit)
    for (int64_t total = 0; total <= 100; ++total) {
      BalancedSplit s = splitBalanced(total, limit);
      EXPECT_EQ(s.numTall * (s.height + 1) + s.numShort * s.height, total);
      EXPECT_EQ(s.numTall + s.numShort, (total + limit - 1) / limit);
      EXPECT_LE(s.height + (s.numTall > 0), limit);
    }
}

} // namespace
