// Strides behind reshapes, against the places of all elements.
#include "passes/support/Orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

using namespace tenon;
using testing::ElementsAre;

namespace {

using Sizes = std::vector<int64_t>;

/// Where elements lie, in row-major order.
Sizes placesOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides) {
  Sizes places{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    Sizes next;
    for (int64_t place : places)
      for (int64_t i = 0; i < shape[d]; ++i)
        next.push_back(place + i * strides[d]);
    places = std::move(next);
  }
  return places;
}

/// The only strides that a dimension of more than one element can have.
Sizes stridesFrom(llvm::ArrayRef<int64_t> shape, const Sizes &places) {
  Sizes strides(shape.size(), 1);
  int64_t step = 1; // elements between neighbours
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    if (shape[d] > 1)
      strides[d] = places[step] - places[0];
  return strides;
}

TEST(ReshapedStrides, AreFoundWhereThereAreAny) {
  const std::vector<std::pair<Sizes, Sizes>> tensors = {
      {{2, 3, 4}, {12, 4, 1}}, {{2, 3, 4}, {4, 8, 1}}, {{6, 4}, {1, 6}},
      {{6, 4}, {8, 1}},        {{1, 24}, {7, 1}},      {{24}, {3}},
      {{2, 1, 12}, {99, 5, 2}}};
  const std::vector<Sizes> targets = {
      {24}, {2, 12}, {6, 4}, {4, 6}, {2, 3, 4}, {3, 2, 4}, {1, 2, 3, 1, 4, 1}};
  int found = 0, none = 0;
  for (const auto &[shape, strides] : tensors)
    for (const Sizes &to : targets) {
      Sizes places = placesOf(shape, strides);
      bool any = placesOf(to, stridesFrom(to, places)) == places;
      auto result = reshapedStrides(shape, strides, to);
      ASSERT_EQ(result.has_value(), any);
      ++(any ? found : none);
      if (any)
        EXPECT_EQ(placesOf(to, *result), places);
    }
  EXPECT_GT(found, 10);
  EXPECT_GT(none, 10);
}

TEST(ReshapedStrides, OfNothingKnown) {
  const int64_t any = mlir::ShapedType::kDynamic;
  EXPECT_FALSE(reshapedStrides({any, 4}, {4, 1}, {any, 2, 2}));
  EXPECT_FALSE(reshapedStrides({2, 4}, {any, 1}, {8}));
  EXPECT_FALSE(reshapedStrides({0, 4}, {4, 1}, {4, 0}));
  EXPECT_THAT(*reshapedStrides({1, 4}, {any, 1}, {2, 2}), ElementsAre(2, 1));
  EXPECT_TRUE(reshapedStrides({}, {}, {1, 1}));
}

} // namespace
