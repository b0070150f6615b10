// What strides behind reshapes are not known; known ones are compared with the
// places of all elements in passes/tiling/Strided_test.cpp.
#include "passes/support/Orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tenon;
using testing::ElementsAre;

namespace {

TEST(ReshapedStrides, OfNothingKnown) {
  const int64_t any = mlir::ShapedType::kDynamic;
  EXPECT_FALSE(reshapedStrides({any, 4}, {4, 1}, {any, 2, 2}));
  EXPECT_FALSE(reshapedStrides({2, 4}, {any, 1}, {8}));
  EXPECT_FALSE(reshapedStrides({0, 4}, {4, 1}, {4, 0}));
  EXPECT_THAT(*reshapedStrides({1, 4}, {any, 1}, {2, 2}), ElementsAre(2, 1));
  EXPECT_TRUE(reshapedStrides({}, {}, {1, 1}));
}

} // namespace
