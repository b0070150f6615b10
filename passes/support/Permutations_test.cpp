// SPDX-License-Identifier: Apache-2.0
// What strides under reshapes are not known, and orders of dimensions in
// memory; known strides are compared with the places of all elements in
// passes/tile/core/Strided_test.cpp.
#include "passes/support/Permutations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::passes;
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

TEST(OrderInMemory, OfElementsSideBySide) {
  EXPECT_THAT(*orderInMemory({2, 3, 4}, {12, 4, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(*orderInMemory({2, 3, 4}, {1, 8, 2}), ElementsAre(1, 2, 0));
  // One element along a dimension: any stride will do.
  EXPECT_THAT(*orderInMemory({1, 3, 4}, {99, 1, 3}), ElementsAre(0, 2, 1));
  EXPECT_TRUE(orderInMemory({}, {}));
}

TEST(OrderInMemory, NotOfGapsAndOverlaps) {
  EXPECT_FALSE(orderInMemory({2, 3}, {4, 1}));
  EXPECT_FALSE(orderInMemory({2, 3}, {1, 1}));
  EXPECT_FALSE(orderInMemory({2, 3}, {6, 2}));
}

} // namespace
