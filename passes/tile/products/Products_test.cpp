//===- Products_test.cpp - how sums are cut into parts --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/products/Products.h"

#include "passes/ops/Costs.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tenon::passes;

namespace {

TEST(PartsOfSum, FitL2) {
  constexpr int64_t l2 = 2 << 20, panel = 48;
  auto parts = [&](int64_t k, std::optional<int64_t> rows) {
    return partsOfSum(k, rows, panel, l2);
  };
  using List = llvm::SmallVector<int64_t>;
  EXPECT_EQ(parts(0, 16), List({0}));
  EXPECT_EQ(parts(768, 512), List({768}));
  EXPECT_EQ(parts(1536, 384), List({1536}));
  // Of a large L2 they take no more than of one of kMostOfL2.
  for (int64_t size : {l2, kMostOfL2})
    EXPECT_EQ(partsOfSum(4096, 512, panel, size), List({1376, 1376, 1344}));
  // Few rows, or unknown ones: panels of 256 KiB.
  EXPECT_EQ(parts(4096, 16), List({1024, 1024, 1024, 1024}));
  EXPECT_EQ(parts(4096, std::nullopt), List({1024, 1024, 1024, 1024}));
  // Whole steps of kernels; the rest is the last.
  EXPECT_EQ(parts(2701, 16), List({1360, 1341}));
  for (int64_t rows : {1, 4, 8})
    EXPECT_EQ(parts(100000, rows), List({100000}));
  for (int64_t k : {1, 15, 17, 4099, 11008, 1000003})
    for (int64_t rows : {9, 64, 65, 100000}) {
      List list = parts(k, rows);
      EXPECT_EQ(std::accumulate(list.begin(), list.end(), int64_t(0)), k);
      for (int64_t part : list)
        EXPECT_LE(2 * part * panel * 4, l2);
    }
}

} // namespace
