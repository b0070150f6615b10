//===- IndexMath_test.cpp - index arithmetic that folds constants ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/support/IndexMath.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon::passes;

namespace {

class IndexMathTest : public testing::Test {
protected:
  IndexMathTest() : builder(&context) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: index, %y: index) { return }", &context);
    body = &(*module->getOps<func::FuncOp>().begin()).getBody().front();
    builder.setInsertionPoint(body->getTerminator());
    math.emplace(builder, builder.getUnknownLoc());
    x = (*math)(body->getArgument(0));
    y = (*math)(body->getArgument(1));
  }
  size_t written() { return body->getOperations().size() - 1; }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Block *body;
  std::optional<IndexMath> math;
  Index x, y;
};

TEST_F(IndexMathTest, constantsFold) {
  Index six = 6, seven = 7;
  EXPECT_EQ(six * 7, 42);
  EXPECT_EQ(6 + seven, 13);
  EXPECT_EQ(six - seven, -1);
  EXPECT_EQ(ceilDiv(seven, 3), 3);
  EXPECT_EQ(ceilDiv(six, 3), 2);
  EXPECT_EQ(seven / 3, 2);
  EXPECT_EQ(seven % 3, 1);
  EXPECT_EQ(min(seven, 3), 3);
  EXPECT_EQ(max(3, seven), 7);
  EXPECT_EQ(product({2, 3, 4}), 24);
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(Index(), 0);
  EXPECT_EQ(six.constant(), 6);
  EXPECT_TRUE(six.isConstant(6));
  EXPECT_FALSE(six.isConstant(7));
  EXPECT_EQ(written(), 0u);
}

TEST_F(IndexMathTest, neutralElementsWriteNothing) {
  EXPECT_EQ(x * 1, x);
  EXPECT_EQ(1 * x, x);
  EXPECT_EQ(x * 0, 0);
  EXPECT_EQ(0 + x, x);
  EXPECT_EQ(x - 0, x);
  EXPECT_EQ(ceilDiv(x, 1), x);
  EXPECT_EQ(x / 1, x);
  EXPECT_EQ(x % 1, 0);
  EXPECT_EQ(written(), 0u);
}

TEST_F(IndexMathTest, zeroDivisorsDoNotTrap) {
  EXPECT_EQ(Index(4) / 0, 0);
  EXPECT_EQ(ceilDiv(Index(4), 0), 0);
  EXPECT_EQ(Index(4) % 0, 0);
}

TEST_F(IndexMathTest, whatIsNotConstantHasAValue) {
  EXPECT_EQ(x.constant(), std::nullopt);
  EXPECT_FALSE(x.isConstant(0));
  EXPECT_EQ(x.dynamic(), body->getArgument(0));
  EXPECT_NE(x, y);
  EXPECT_NE(x, 0);
}

TEST_F(IndexMathTest, whatIsDeclaredFollowsArithmetic) {
  x.learn({8, 64, 8});
  auto expect = [](Index index, int64_t min, int64_t max, int64_t multiple) {
    IndexFacts facts = index.facts();
    EXPECT_EQ(facts.min, min);
    EXPECT_EQ(facts.max, max);
    EXPECT_EQ(facts.multipleOf, multiple);
  };
  expect(x, 8, 64, 8);
  expect(x * 3, 24, 192, 24);
  expect(x + 4, 12, 68, 4);
  expect(x - 16, -8, 48, 8);
  expect(100 - x, 36, 92, 4);
  expect(x / 4, 2, 16, 2);
  expect(ceilDiv(x, 5), 2, 13, 1);
  expect(x % 48, 0, 47, 8);
  expect(min(x, 12), 8, 12, 4);
  expect(max(x, 12), 12, 64, 4);
  expect(x * y, IndexFacts::kLeast, IndexFacts::kMost, 8);
  expect(min(x, y), IndexFacts::kLeast, 64, 1);
  // Nothing is known of others.
  EXPECT_TRUE((y * 8).facts().empty());
  EXPECT_TRUE(min(y, 8).facts().empty());
  y.learn({0, IndexFacts::kMost, 1});
  expect(x * y, 0, IndexFacts::kMost, 8);
  expect(x + y, 8, IndexFacts::kMost, 1);
  expect(y - x, -64, IndexFacts::kMost, 1);
}

TEST_F(IndexMathTest, whatIsDeclaredDecides) {
  x.learn({8, 64, 8});
  size_t before = written();
  EXPECT_EQ(ceilDiv(x, 64), 1);
  EXPECT_EQ(x / 65, 0);
  EXPECT_EQ(x % 4, 0);
  EXPECT_EQ(x % 65, x);
  EXPECT_EQ(min(x, 64), x);
  EXPECT_EQ(min(x, 8), 8);
  EXPECT_EQ(max(x, 8), x);
  EXPECT_EQ(max(x, 64), 64);
  EXPECT_EQ(written(), before);
  EXPECT_FALSE(ceilDiv(x, 63).constant());
  EXPECT_FALSE(min(x, 63).constant());
  EXPECT_FALSE((x % 16).constant());
}

TEST(IndexFacts, boundsThatDoNotFitAreNone) {
  constexpr int64_t kMost = IndexFacts::kMost, kLeast = IndexFacts::kLeast;
  IndexFacts large{1, kMost - 1, kMost / 2};
  EXPECT_EQ((large * large).max, kMost);
  EXPECT_EQ((large * large).min, 1);
  EXPECT_EQ((large + large).max, kMost);
  EXPECT_EQ((large - IndexFacts::of(-5)).max, kMost);
  EXPECT_EQ((IndexFacts() - large).min, kLeast);
  EXPECT_TRUE((IndexFacts() + large).empty());
  EXPECT_EQ(IndexFacts::of(0).meet({0, 9, 4}).multipleOf, 0);
  EXPECT_EQ((IndexFacts{0, 90, 6}).meet({5, kMost, 4}).str(), "5..90*12");
  // What may be negative is not divided.
  EXPECT_TRUE((IndexFacts{-8, 8, 8}).floorDiv(IndexFacts::of(4)).empty());
  EXPECT_TRUE((IndexFacts{8, 8, 8}).rem(IndexFacts{0, 4, 1}).empty());
}

/// Operands come before what needs them, from left to right.
TEST_F(IndexMathTest, operationsFollowTheExpression) {
  Index first = x * 3 + y % 5 - 7;
  std::string kinds;
  for (Operation &op : body->without_terminator())
    if (!isa<arith::ConstantOp>(op))
      kinds += op.getName().stripDialect().str() + " ";
  EXPECT_EQ(kinds, "muli remui addi subi ");
  EXPECT_EQ(first.dynamic(),
            body->getTerminator()->getPrevNode()->getResult(0));
  size_t n = written();
  first += 0;
  first *= 1;
  first -= 0;
  EXPECT_EQ(written(), n);
}

TEST_F(IndexMathTest, equalResultsAreOneValue) {
  Index p = x * y;
  size_t n = written();
  EXPECT_EQ(x * y, p);
  EXPECT_EQ(y * x, p) << "in any order";
  EXPECT_EQ(written(), n);
  EXPECT_NE(x + y, p);
  EXPECT_NE(x - y, y - x);
}

TEST_F(IndexMathTest, anotherBlockIsAnotherValue) {
  Index p = x * y;
  Block other;
  builder.setInsertionPointToStart(&other);
  Index q = x * y;
  EXPECT_NE(p, q) << "the first need not dominate the second";
  EXPECT_EQ(q.dynamic().getParentBlock(), &other);
  // Back again: values of the other block must not be used.
  builder.setInsertionPoint(body->getTerminator());
  EXPECT_EQ(x * y, p);
}

TEST_F(IndexMathTest, valuesAndAttributesComeAndGo) {
  IndexMath &m = *math;
  Value four = m.value(4);
  EXPECT_EQ(m(four), 4) << "a constant is known again";
  EXPECT_EQ(m.value(x), x.dynamic());
  EXPECT_EQ(m.folded(4), OpFoldResult(builder.getIndexAttr(4)));
  EXPECT_EQ(m.folded(x), OpFoldResult(x.dynamic()));
  SmallVector<Index> list{x, 4};
  EXPECT_EQ(m(m.folded(list)), list);
}

} // namespace
