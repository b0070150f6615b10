//===- Strided_test.cpp - views of buffers as sizes and strides -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Views are compared by the addresses they visit: a reshape exists exactly
// where some strides visit the elements in the same order, and merging
// dimensions never changes that order.
//
//===----------------------------------------------------------------------===//
#include "passes/tile/core/Strided.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tenon::passes;

namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kDynamic = ShapedType::kDynamic;

Ints ints(ArrayRef<Index> values) {
  Ints result;
  for (Index v : values)
    result.push_back(v.constant().value_or(kDynamic));
  return result;
}

/// Offsets of all elements in row-major order.
Ints addresses(const Ints &sizes, const Ints &strides) {
  Ints result{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    Ints next;
    for (int64_t base : result)
      for (int64_t i = 0; i < sizes[d]; ++i)
        next.push_back(base + i * strides[d]);
    result = std::move(next);
  }
  return result;
}

Ints denseStrides(const Ints &sizes) {
  Ints strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

/// The strides of a view of `sizes` that visits `order`, if there are any.
std::optional<Ints> stridesVisiting(const Ints &order, const Ints &sizes) {
  Ints dense = denseStrides(sizes), strides;
  for (size_t d = 0; d < sizes.size(); ++d)
    strides.push_back(sizes[d] > 1 ? order[dense[d]] - order[0] : 0);
  if (addresses(sizes, strides) != order)
    return std::nullopt;
  return strides;
}

class StridedTest : public testing::Test {
protected:
  StridedTest() : builder(&context) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        memref::MemRefDialect>();
  }

  /// The arguments of a function on these types; code goes into its body.
  Block::BlockArgListType arguments(const std::string &types) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(" + types + ") { return }", &context);
    Block &body = (*module->getOps<func::FuncOp>().begin()).getBody().front();
    builder.setInsertionPoint(body.getTerminator());
    math.emplace(builder, builder.getUnknownLoc());
    return body.getArguments();
  }
  /// Where only constants are needed.
  void start() { (void)arguments(""); }
  SmallVector<Index> attrs(const Ints &values) {
    return SmallVector<Index>(values.begin(), values.end());
  }
  /// A view without a buffer: enough where no code is written.
  Strided strided(const Ints &sizes, const Ints &strides) {
    Strided s;
    s.sizes = attrs(sizes);
    s.strides = attrs(strides);
    return s;
  }
  std::optional<Strided> reshaped(const Strided &s, const Ints &sizes) {
    return reshape(s, attrs(sizes));
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  std::optional<IndexMath> math;
};

TEST_F(StridedTest, ofDenseMemref) {
  Value x = arguments("%x: memref<2x3x4xf32>")[0];
  Strided s = stridedOf(*math, x);
  EXPECT_TRUE(s.dense);
  EXPECT_EQ(ints(s.sizes), (Ints{2, 3, 4}));
  EXPECT_EQ(ints(s.strides), (Ints{12, 4, 1}));
  EXPECT_TRUE(s.elementType().isF32());
  EXPECT_FALSE(s.offset);
  EXPECT_EQ(asMemref(*math, s), x) << "no cast of what is already right";
}

TEST_F(StridedTest, ofDynamicDenseMemref) {
  Strided s = stridedOf(*math, arguments("%x: memref<?x3x?xf32>")[0]);
  EXPECT_TRUE(s.dense);
  EXPECT_EQ(ints(s.sizes), (Ints{kDynamic, 3, kDynamic}));
  EXPECT_EQ(ints(s.strides), (Ints{kDynamic, kDynamic, 1}));
  EXPECT_EQ(s.strides[1], s.sizes[2]) << "one value, not a copy of it";
  EXPECT_EQ(s.strides[0], 3 * s.sizes[2]) << "equal products are recognised";
}

TEST_F(StridedTest, ofStridedMemref) {
  Strided s =
      stridedOf(*math, arguments("%x: memref<4x8xf32, strided<[?, 1]>>")[0]);
  EXPECT_FALSE(s.dense);
  EXPECT_EQ(ints(s.strides), (Ints{kDynamic, 1}));
  Strided t =
      stridedOf(*math, arguments("%x: memref<4x8xf32, strided<[1, 20]>>")[0]);
  EXPECT_FALSE(t.dense);
  EXPECT_EQ(ints(t.strides), (Ints{1, 20}));
}

TEST_F(StridedTest, transpose) {
  start();
  Strided s = strided({2, 3, 4}, {12, 4, 1});
  s.dense = true;
  s.offset = 7;
  Strided t = tenon::passes::transpose(s, {2, 0, 1});
  EXPECT_EQ(ints(t.sizes), (Ints{4, 2, 3}));
  EXPECT_EQ(ints(t.strides), (Ints{1, 12, 4}));
  EXPECT_FALSE(t.dense);
  EXPECT_EQ(t.offset, s.offset);
}

TEST_F(StridedTest, broadcastTo) {
  start();
  Strided s = strided({3, 1, 5}, {5, 5, 1});
  s.offset = 7;
  Strided t = broadcastTo(s, attrs({2, 3, 4, 5}));
  EXPECT_EQ(ints(t.sizes), (Ints{2, 3, 4, 5}));
  EXPECT_EQ(ints(t.strides), (Ints{0, 5, 0, 1}));
  EXPECT_EQ(t.offset, s.offset);
  Strided scalar = broadcastTo(strided({}, {}), attrs({2, 3}));
  EXPECT_EQ(ints(scalar.strides), (Ints{0, 0}));
}

TEST_F(StridedTest, broadcastToTakesSizesOfTheSpace) {
  // Two operands with the same dynamic sizes must get the same strides, else
  // no dimensions of a loop over both would merge.
  auto args = arguments("%x: memref<2x?xf32>, %y: memref<2x?xf32>");
  Strided x = stridedOf(*math, args[0]), y = stridedOf(*math, args[1]);
  EXPECT_NE(x.strides[0], y.strides[0]);
  EXPECT_EQ(broadcastTo(y, x.sizes).strides[0], x.strides[0]);
}

TEST_F(StridedTest, reshapeOfDense) {
  start();
  Strided s = strided({2, 12}, {12, 1});
  s.dense = true;
  std::optional<Strided> t = reshaped(s, {2, 3, 1, 4});
  ASSERT_TRUE(t);
  EXPECT_TRUE(t->dense);
  EXPECT_EQ(ints(t->strides), (Ints{12, 4, 4, 1}));
  ASSERT_TRUE(reshaped(s, {24}));
  EXPECT_EQ(ints(reshaped(s, {24})->strides), (Ints{1}));
}

TEST_F(StridedTest, reshapeOfDenseDynamic) {
  Strided s = stridedOf(*math, arguments("%x: memref<?x32xf32>")[0]);
  SmallVector<Index> sizes{s.sizes[0], 4, 8};
  std::optional<Strided> t = reshape(s, sizes);
  ASSERT_TRUE(t);
  EXPECT_EQ(ints(t->strides), (Ints{32, 8, 1}));
  // Without density a size that is not known has to be the same value.
  s.dense = false;
  EXPECT_EQ(ints(reshape(s, sizes)->strides), (Ints{32, 8, 1}));
  EXPECT_FALSE(reshape(s, {s.sizes[0] * 2, 2, 8}));
}

TEST_F(StridedTest, reshapeOfTransposed) {
  start();
  Strided s = strided({8, 4}, {1, 8});
  ASSERT_TRUE(reshaped(s, {2, 4, 1, 4}));
  EXPECT_EQ(addresses({2, 4, 1, 4}, ints(reshaped(s, {2, 4, 1, 4})->strides)),
            addresses({8, 4}, {1, 8}));
  EXPECT_FALSE(reshaped(s, {32}));
  EXPECT_FALSE(reshaped(s, {4, 8})) << "a dimension across the boundary";
}

/// Sizes that are not known are the same if they are one value.
TEST_F(StridedTest, reshapeOfTransposedDynamic) {
  Strided s = stridedOf(*math, arguments("%x: memref<?x?x32x64xf32>")[0]);
  Index batch = s.sizes[0], tokens = s.sizes[1];
  Strided heads = transpose(s, {0, 2, 1, 3});
  auto groups = reshape(heads, {batch, 8, 4, tokens, 64});
  ASSERT_TRUE(groups);
  EXPECT_EQ(ints(groups->strides), (Ints{kDynamic, 256, 64, 2048, 1}));
  EXPECT_EQ(groups->strides[0], s.strides[0]);
  auto one = reshape(heads, {batch, 32, 1, tokens, 64});
  ASSERT_TRUE(one);
  EXPECT_EQ(ints(one->strides), (Ints{kDynamic, 64, kDynamic, 2048, 1}));
  EXPECT_EQ(ints(reshape(*groups, {batch, 32, tokens, 64})->strides),
            (Ints{kDynamic, 64, 2048, 1}));
  // What lies apart is no view, and other values may be other sizes.
  EXPECT_FALSE(reshape(heads, {batch, 32, tokens * 64}) &&
               reshape(heads, {batch, tokens * 32, 64}));
  EXPECT_FALSE(reshape(heads, {batch, 32, 64, tokens}));
  EXPECT_FALSE(reshape(heads, {batch, tokens, 32, 64}));
}

TEST_F(StridedTest, reshapeKeepsOffset) {
  start();
  Strided s = strided({2, 6}, {100, 1});
  s.offset = 7;
  ASSERT_TRUE(reshaped(s, {2, 2, 3}));
  EXPECT_EQ(reshaped(s, {2, 2, 3})->offset, s.offset);
}

TEST_F(StridedTest, reshapeOfEmptyAndSingle) {
  start();
  // An empty tensor that is not dense: a copy of nothing, not a view.
  EXPECT_FALSE(reshaped(strided({0, 4}, {1, 8}), {4, 0}));
  EXPECT_TRUE(reshaped(strided({1, 1}, {9, 9}), {}));
  EXPECT_TRUE(reshaped(strided({}, {}), {1, 1, 1}));
}

TEST_F(StridedTest, reshapeExistsExactlyWhereStridesDo) {
  start();
  std::mt19937 random(1);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  const std::vector<Ints> shapes{
      {24},         {2, 12},      {12, 2},    {2, 3, 4},   {4, 3, 2},
      {1, 24},      {24, 1},      {2, 1, 12}, {6, 4},      {4, 6},
      {2, 2, 2, 3}, {3, 2, 2, 2}, {8, 3},     {3, 1, 8, 1}};
  int views = 0, copies = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Ints &from = shapes[below(shapes.size())];
    const Ints &to = shapes[below(shapes.size())];
    // A permutation of dense dimensions, sometimes with gaps or broadcast.
    std::vector<size_t> order(from.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    if (below(3) == 0)
      std::shuffle(order.begin(), order.end(), random);
    Ints strides(from.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      if (below(6) == 0)
        stride += below(3);
      strides[order[i]] = below(12) == 0 ? 0 : stride;
      stride *= from[order[i]];
    }
    Ints visited = addresses(from, strides);
    std::optional<Strided> view = reshaped(strided(from, strides), to);
    std::optional<Ints> expected = stridesVisiting(visited, to);
    ASSERT_EQ(view.has_value(), expected.has_value())
        << testing::PrintToString(from) << testing::PrintToString(strides)
        << " to " << testing::PrintToString(to);
    if (view) {
      ASSERT_EQ(addresses(to, ints(view->strides)), visited);
    }
    ++(view ? views : copies);
  }
  EXPECT_GT(views, 500);
  EXPECT_GT(copies, 500);
}

TEST_F(StridedTest, memrefTypes) {
  start();
  Type f32 = builder.getF32Type();
  auto text = [&](const Ints &sizes, const Ints &strides) {
    std::string s;
    llvm::raw_string_ostream(s)
        << memrefType(f32, attrs(sizes), attrs(strides));
    return s;
  };
  EXPECT_EQ(text({4, 8}, {8, 1}), "memref<4x8xf32>");
  EXPECT_EQ(text({}, {}), "memref<f32>");
  EXPECT_EQ(text({4, 8}, {1, 4}), "memref<4x8xf32, strided<[1, 4]>>");
  EXPECT_EQ(text({4, 8}, {0, 1}), "memref<4x8xf32, strided<[0, 1]>>");
}

TEST_F(StridedTest, memrefTypesOfDynamicSizes) {
  auto args = arguments("%x: memref<?x8xf32>, %y: memref<4x?xf32>");
  Strided x = stridedOf(*math, args[0]), y = stridedOf(*math, args[1]);
  EXPECT_EQ(memrefType(x.elementType(), x.sizes, x.strides), args[0].getType());
  // Strides that depend on a size are not known to be dense from the type.
  EXPECT_NE(memrefType(y.elementType(), y.sizes, y.strides), args[1].getType());
}

TEST_F(StridedTest, asMemrefCasts) {
  Value x = arguments("%x: memref<4x8xf32>")[0];
  Strided t = tenon::passes::transpose(stridedOf(*math, x), {1, 0});
  Value v = asMemref(*math, t);
  auto cast = v.getDefiningOp<memref::ReinterpretCastOp>();
  ASSERT_TRUE(cast);
  EXPECT_EQ(cast.getSource(), x);
  EXPECT_EQ(ArrayRef<int64_t>(cast.getStaticSizes()),
            (ArrayRef<int64_t>{8, 4}));
  EXPECT_EQ(ArrayRef<int64_t>(cast.getStaticStrides()),
            (ArrayRef<int64_t>{1, 8}));
}

// Disabled: the memref type alone does not show that strides which depend on
// sizes are dense, so groups on two dynamic sizes lose what `dense` knows.
TEST_F(StridedTest, asMemrefKeepsDenseBuffers) {
  Value y = arguments("%y: memref<?x?x4xf32>")[0];
  EXPECT_EQ(asMemref(*math, stridedOf(*math, y)), y);
}

struct Coalesced {
  Ints sizes;
  std::vector<int> classes;
  std::vector<Ints> strides;
};

class CoalesceTest : public StridedTest {
protected:
  /// Coalesces and checks that every operand visits the same addresses.
  Coalesced run(const Ints &sizes, const std::vector<int> &classes,
                const std::vector<Ints> &strides) {
    start();
    std::vector<Strided> operands;
    for (const Ints &s : strides)
      operands.push_back(strided(sizes, s));
    SmallVector<Strided *> pointers;
    for (Strided &s : operands)
      pointers.push_back(&s);
    SmallVector<Index> space = attrs(sizes);
    SmallVector<int> kinds(classes.begin(), classes.end());
    coalesce(space, kinds, pointers);
    Coalesced result{ints(space), {kinds.begin(), kinds.end()}, {}};
    for (size_t i = 0; i < operands.size(); ++i) {
      result.strides.push_back(ints(operands[i].strides));
      EXPECT_EQ(ints(operands[i].sizes), result.sizes);
      EXPECT_EQ(addresses(result.sizes, result.strides[i]),
                addresses(sizes, strides[i]));
    }
    return result;
  }
};

TEST_F(CoalesceTest, denseOperandsAreOneDimension) {
  Coalesced c = run({2, 3, 4}, {0, 0, 0}, {{12, 4, 1}, {12, 4, 1}});
  EXPECT_EQ(c.sizes, (Ints{24}));
  EXPECT_EQ(c.strides[0], (Ints{1}));
}

TEST_F(CoalesceTest, broadcastKeepsItsDimension) {
  Coalesced c = run({2, 3, 4}, {0, 0, 0}, {{12, 4, 1}, {0, 0, 1}});
  EXPECT_EQ(c.sizes, (Ints{6, 4}));
  EXPECT_EQ(c.strides[1], (Ints{0, 1}));
}

TEST_F(CoalesceTest, classesDoNotMix) {
  Coalesced c = run({2, 3, 4, 5}, {0, 0, 1, 1}, {{60, 20, 5, 1}});
  EXPECT_EQ(c.sizes, (Ints{6, 20}));
  EXPECT_EQ(c.classes, (std::vector<int>{0, 1}));
}

TEST_F(CoalesceTest, onesVanish) {
  EXPECT_EQ(run({1, 3, 1}, {0, 1, 0}, {{77, 5, 99}}).sizes, (Ints{3}));
  EXPECT_EQ(run({1, 1}, {0, 1}, {{3, 5}}).sizes, (Ints{}));
  // A reduced dimension of size 1 between two others does not part them.
  EXPECT_EQ(run({2, 1, 3}, {0, 1, 0}, {{3, 3, 1}}).sizes, (Ints{6}));
}

// Disabled: x * y and y * x are two values to IndexMath, so nothing merges.
TEST_F(CoalesceTest, equalDynamicSizesMerge) {
  auto args = arguments("%x: memref<?x?x4xf32>, %y: memref<?x?x4xf32>");
  Strided x = stridedOf(*math, args[0]);
  Strided y = broadcastTo(stridedOf(*math, args[1]), x.sizes);
  SmallVector<Index> space = x.sizes;
  SmallVector<int> classes(3, 0);
  SmallVector<Strided *> operands{&x, &y};
  coalesce(space, classes, operands);
  EXPECT_EQ(ints(space), (Ints{kDynamic}));
  EXPECT_EQ(ints(y.strides), (Ints{1}));
}

TEST_F(CoalesceTest, nothingThatCouldMergeIsLeft) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    Ints sizes;
    std::vector<int> classes;
    for (int d = 0; d < 4; ++d) {
      sizes.push_back(1 + static_cast<int64_t>(random() % 3));
      classes.push_back(random() % 3 == 0);
    }
    Ints dense = denseStrides(sizes), other = dense;
    for (int64_t &s : other)
      if (random() % 4 == 0)
        s = 0;
    Coalesced c = run(sizes, classes, {dense, other});
    for (size_t d = 0; d + 1 < c.sizes.size(); ++d) {
      bool could = c.classes[d] == c.classes[d + 1];
      for (const Ints &s : c.strides)
        could &= s[d] == c.sizes[d + 1] * s[d + 1];
      EXPECT_FALSE(could) << testing::PrintToString(sizes)
                          << testing::PrintToString(other);
    }
  }
}

} // namespace
