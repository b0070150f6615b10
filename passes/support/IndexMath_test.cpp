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
