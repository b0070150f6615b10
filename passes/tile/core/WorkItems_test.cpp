//===- WorkItems_test.cpp - sliding windows and shares of work ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/core/WorkItems.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace mlir;
using namespace tenon::passes;

namespace {

/// Position `at` of tap `t` in src, from the definition.
bool inside(const WindowDim &d, int64_t start, int64_t t) {
  int64_t at = start + t * d.dilation - d.pad;
  return at >= 0 && at < d.in;
}

/// Calls `body` with all small windows.
void forWindows(llvm::function_ref<void(const WindowDim &)> body) {
  for (int64_t in = 1; in <= 6; ++in)
    for (int64_t kernel = 1; kernel <= 4; ++kernel)
      for (int64_t stride = 1; stride <= 3; ++stride)
        for (int64_t pad = 0; pad <= 5; ++pad)
          for (int64_t dilation = 1; dilation <= 3; ++dilation)
            for (int64_t out = 1; out <= 7; ++out)
              body({in, out, kernel, stride, pad, dilation});
}

TEST(SlidingWindow, interiorIsWhereAllTapsAreInside) {
  forWindows([](const WindowDim &d) {
    auto [first, past] = d.interior();
    ASSERT_LE(0, first);
    ASSERT_LE(first, past);
    ASSERT_LE(past, d.out);
    for (int64_t i = 0; i < d.out; ++i) {
      bool all = true;
      for (int64_t t = 0; t < d.kernel; ++t)
        all &= inside(d, i * d.stride, t);
      ASSERT_EQ(i >= first && i < past, all)
          << "in " << d.in << " out " << d.out << " kernel " << d.kernel
          << " stride " << d.stride << " pad " << d.pad << " dilation "
          << d.dilation << " at " << i;
    }
  });
}

TEST(SlidingWindow, validTapsAreThoseInside) {
  forWindows([&](const WindowDim &d) {
    for (int64_t i = 0; i < d.out; ++i) {
      auto [lo, hi] = d.validTaps(i * d.stride);
      int64_t l = *lo.constant(), h = *hi.constant();
      ASSERT_LE(0, l);
      ASSERT_LE(l, h);
      ASSERT_LE(h, d.kernel);
      for (int64_t t = 0; t < d.kernel; ++t)
        ASSERT_EQ(t >= l && t < h, inside(d, i * d.stride, t))
            << "in " << d.in << " kernel " << d.kernel << " pad " << d.pad
            << " dilation " << d.dilation << " start " << i * d.stride
            << " tap " << t;
    }
  });
}

int64_t number(Index i) { return *i.constant(); }

/// Every position of dst and tap meets the position of src that the definition
/// says, for all small windows: strides and dilations with and without common
/// divisors, more and less padding than taps.
TEST(SlidingWindow, spreadDimFindsAllTaps) {
  for (int64_t code = 0; code < 5 * 6 * 6 * 4 * 3; ++code) {
    int64_t rest = code;
    auto pick = [&](int64_t n) {
      int64_t v = rest % n;
      rest /= n;
      return v;
    };
    int64_t kernel = pick(5) + 1, stride = pick(6) + 1, dilation = pick(6) + 1;
    int64_t pad = pick(4), in = pick(3) * 2 + 1;
    int64_t out = std::max<int64_t>(
        0, stride * (in - 1) + dilation * (kernel - 1) + 3 - 2 * pad);
    TransposedDim d(in, out, kernel, stride, pad, dilation);
    SCOPED_TRACE("kernel " + std::to_string(kernel) + " stride " +
                 std::to_string(stride) + " dilation " +
                 std::to_string(dilation) + " pad " + std::to_string(pad) +
                 " in " + std::to_string(in));
    int64_t positions = 0;
    for (int64_t c = 0; c < std::min(stride, out); ++c) {
      TransposedDim::Class k = d.classOf(c);
      auto [first, past] = d.interior(k);
      for (int64_t q = 0; q < number(k.count); ++q, ++positions) {
        auto [lo, hi] = d.validTaps(k, q);
        std::set<std::pair<int64_t, int64_t>> expected, actual;
        for (int64_t tap = 0; tap < kernel; ++tap) {
          int64_t at = c + q * stride + pad - tap * dilation;
          if (at >= 0 && at % stride == 0 && at / stride < in)
            expected.insert({tap, at / stride});
        }
        for (int64_t j = number(lo); j < number(hi); ++j)
          actual.insert(
              {number(k.first) + j * d.step, q + number(k.shift) - j * d.back});
        EXPECT_EQ(actual, expected) << "position " << c + q * stride;
        if (q >= number(first) && q < number(past)) {
          EXPECT_EQ(number(lo), 0);
          EXPECT_EQ(number(hi), number(k.taps));
        }
      }
    }
    EXPECT_EQ(positions, out);
  }
}

/// A tap's positions are those whose window finds the tap inside src.
TEST(SlidingWindow, validPositionsMatchValidTaps) {
  for (const WindowDim &d :
       std::initializer_list<WindowDim>{{9, 9, 3, 1, 1, 1},
                                        {9, 5, 3, 2, 1, 1},
                                        {11, 4, 3, 3, 2, 2},
                                        {2, 2, 5, 1, 2, 1},
                                        {3, 9, 2, 1, 4, 1},
                                        {1, 0, 3, 1, 0, 1}})
    for (int64_t tap = 0; tap < d.kernel; ++tap) {
      auto [from, past] = d.validPositions(tap);
      for (int64_t o = 0; o < d.out; ++o) {
        auto [lo, hi] = d.validTaps(o * d.stride);
        EXPECT_EQ(o >= number(from) && o < number(past),
                  tap >= number(lo) && tap < number(hi))
            << "tap " << tap << " position " << o;
      }
    }
}

TEST(Grid, PositionsHaveNames) {
  Grid grid{{"image", 4}, {"group", 1}};
  grid.add("row", 3);
  grid.add("row", {2, 5});
  EXPECT_EQ(grid.size(), 120);
  Grid::Item item(grid, 2 * 30 + 1 * 10 + 1 * 5 + 3);
  EXPECT_EQ(item.number, 78);
  EXPECT_EQ(item["image"], 2);
  EXPECT_EQ(item["group"], 0);
  EXPECT_EQ(item.all("row"), ArrayRef<Index>({1, 1, 3}));
  EXPECT_TRUE(item.all("tap").empty());
  EXPECT_EQ(Grid().size(), 1);
}

TEST(ShareRows, MakesItemsEnough) {
  // Eight items, of blocks as high as each other; of panels, fewer blocks.
  EXPECT_EQ(shareRows(196, 196, 1, 24), 25);
  EXPECT_EQ(shareRows(196, 196, 4, 24), 98);
  EXPECT_EQ(shareRows(512, 384, 3, 24), 171);
  // There are enough, or rows too few.
  EXPECT_EQ(shareRows(512, 384, 8, 24), 384);
  EXPECT_EQ(shareRows(4096, 384, 1, 24), 384);
  EXPECT_EQ(shareRows(16, 16, 1, 24), 16);
  EXPECT_EQ(shareRows(47, 47, 1, 24), 47);
  EXPECT_EQ(shareRows(50, 50, 1, 24), 25);
  EXPECT_EQ(shareRows(0, 1, 1, 24), 1);
  EXPECT_EQ(shareRows(7, 7, 0, 24), 7);
}

TEST(EvenItems, TwoThreadsHaveEqualShares) {
  EXPECT_EQ(evenItems(127, 127, 21), 64); // 42 items
  EXPECT_EQ(evenItems(333, 111, 3), 84);  // 12, not 9
  // An even number, many items, or few rows.
  EXPECT_EQ(evenItems(127, 127, 22), 127);
  EXPECT_EQ(evenItems(254, 127, 21), 127);
  EXPECT_EQ(evenItems(127, 127, 33), 127);
  EXPECT_EQ(evenItems(63, 63, 21), 63);
  EXPECT_EQ(evenItems(0, 1, 1), 1);
  EXPECT_EQ(evenItems(64, 64, 0), 64);
}

TEST(EvenRows, NoLowBlockAtTheEnd) {
  EXPECT_EQ(evenRows(128, 120), 128); // an eighth more than 120 is 135
  EXPECT_EQ(evenRows(135, 120), 135);
  EXPECT_EQ(evenRows(136, 120), 68);
  EXPECT_EQ(evenRows(1024, 120), 128);
  EXPECT_EQ(evenRows(1, 24), 1);
  for (int64_t rows = 1; rows < 1000; ++rows) {
    int64_t block = evenRows(rows, 24), blocks = (rows + block - 1) / block;
    EXPECT_LE(block, 27);
    EXPECT_LT(block * blocks - rows, blocks) << rows;
  }
}

} // namespace
