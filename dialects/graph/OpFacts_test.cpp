//===- OpFacts_test.cpp - facts about operations of MLIR ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/graph/OpFacts.h"

#include "dialects/graph/GraphDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {
class OpFactsTest : public testing::Test {
protected:
  OpFactsTest() {
    context.loadDialect<graph::GraphDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(R"(
      func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>)
          -> tensor<8xf32> {
        %0 = graph.MatMul %x, %w
            : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
        %1 = graph.StaticTranspose %0 {order = [1, 0]}
            : (tensor<2x4xf32>) -> tensor<4x2xf32>
        %2 = graph.StaticReshape %1 {shape = [8], special_zero = false}
            : (tensor<4x2xf32>) -> tensor<8xf32>
        %3 = graph.Exp %2 : (tensor<8xf32>) -> tensor<8xf32>
        %4 = graph.SoftMax %3 {axis = 0} : (tensor<8xf32>) -> tensor<8xf32>
        return %4 : tensor<8xf32>
      })",
                                         &context);
  }

  /// The first operation of the type `Op`.
  template <typename Op> Operation *find() {
    Operation *found = nullptr;
    module->walk([&](Op op) { found = op; });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(OpFactsTest, ReadTheRowOfTheOperation) {
  ASSERT_TRUE(module);
  Operation *product = find<graph::MatMulOp>();
  EXPECT_EQ(&graph::factsOf(product), graph::lookupOp("MatMul"));
  EXPECT_TRUE(graph::isContraction(product));
  EXPECT_FALSE(graph::isConvolution(product));
  EXPECT_FALSE(graph::isBackward(product));
  Operation *exp = find<graph::ExpOp>();
  EXPECT_TRUE(graph::isElementwise(exp));
  EXPECT_TRUE(graph::isTranscendental(exp));
  EXPECT_FALSE(graph::isCheap(exp));
  Operation *softmax = find<graph::SoftMaxOp>();
  EXPECT_TRUE(graph::isReductionLike(softmax));
  EXPECT_EQ(graph::factsOf(softmax).reducedDims, graph::ReducedDims::axis);
  Operation *reshape = find<graph::StaticReshapeOp>();
  EXPECT_TRUE(graph::isView(reshape));
  EXPECT_TRUE(graph::isMovement(reshape));
  EXPECT_FALSE(graph::isCast(reshape));
}

TEST_F(OpFactsTest, AnswerNoForOtherDialects) {
  ASSERT_TRUE(module);
  Operation *ret = find<func::ReturnOp>();
  EXPECT_EQ(graph::classOf(ret), graph::OpClass::unknown);
  EXPECT_FALSE(graph::isElementwise(ret) || graph::isIndexed(ret) ||
               graph::isMovement(ret) || graph::isCast(ret) ||
               graph::isContraction(ret) || graph::isConvolution(ret) ||
               graph::isWeightsGradient(ret) || graph::isPooling(ret) ||
               graph::isBackward(ret) || graph::isReductionLike(ret) ||
               graph::isWindow(ret) || graph::isQuantization(ret) ||
               graph::isCheap(ret) || graph::isTranscendental(ret));
}

TEST_F(OpFactsTest, SkipViews) {
  ASSERT_TRUE(module);
  Value product = find<graph::MatMulOp>()->getResult(0);
  EXPECT_EQ(graph::skipViews(find<graph::StaticReshapeOp>()->getResult(0)),
            product);
  EXPECT_EQ(graph::skipViews(product), product);
  Value exp = find<graph::ExpOp>()->getResult(0);
  EXPECT_EQ(graph::skipViews(exp), exp);
}
