//===- GraphAttrs_test.cpp - reading graph operations generically ---------===//
// SPDX-License-Identifier: Apache-2.0
#include "passes/support/GraphAttrs.h"

#include "dialects/graph/GraphDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::passes;

namespace {

class GraphAttrsTest : public testing::Test {
protected:
  GraphAttrsTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        graph::GraphDialect>();
  }

  /// The first operation of a function on %x, %w.
  Operation *parse(const std::string &op) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {\n" + op +
            "\n return\n}",
        &context);
    return module ? &(*module->getOps<func::FuncOp>().begin())
                         .getBody()
                         .front()
                         .front()
                  : nullptr;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(GraphAttrsTest, kinds) {
  Operation *op = parse("%0 = graph.ReLU %x : (tensor<4x8xf32>) -> "
                        "tensor<4x8xf32>");
  ASSERT_TRUE(op);
  EXPECT_EQ(kindOf(op), "ReLU");
  EXPECT_EQ(kindOf(op), "ReLU");
  op = parse("%0 = arith.constant 1 : index");
  ASSERT_TRUE(op);
  EXPECT_EQ(kindOf(op), "");
  EXPECT_EQ(kindOf(op), "");
}

TEST_F(GraphAttrsTest, givenAttributes) {
  Operation *op =
      parse("%0 = graph.MatMul %x, %w {transpose_b = true, "
            "accumulation_mode = \"any\"} : "
            "(tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>");
  ASSERT_TRUE(op);
  EXPECT_TRUE(boolAttr(op, "transpose_b"));
  EXPECT_EQ(stringAttr(op, "accumulation_mode"), "any");
  op = parse("%0 = graph.SoftMax %x {axis = -1} : (tensor<4x8xf32>) -> "
             "tensor<4x8xf32>");
  ASSERT_TRUE(op);
  EXPECT_EQ(intAttr(op, "axis", 5), -1);
  op = parse("%0 = graph.StaticTranspose %x {order = [1, 0]} : "
             "(tensor<4x8xf32>) -> tensor<8x4xf32>");
  ASSERT_TRUE(op);
  EXPECT_EQ(intsAttr(op, "order"), (SmallVector<int64_t>{1, 0}));
}

TEST_F(GraphAttrsTest, defaultsComeFromTheTable) {
  Operation *op = parse("%0 = graph.MatMul %x, %w : (tensor<4x8xf32>, "
                        "tensor<8x8xf32>) -> tensor<4x8xf32>");
  ASSERT_TRUE(op);
  // The fallback is for attributes without a default, not for absent ones.
  EXPECT_FALSE(boolAttr(op, "transpose_b", true));
  EXPECT_EQ(stringAttr(op, "accumulation_mode"), "strict");
  op = parse("%0 = graph.LayerNorm %x {keep_stats = false, use_affine = "
             "false} : (tensor<4x8xf32>) -> tensor<4x8xf32>");
  ASSERT_TRUE(op);
  EXPECT_EQ(intAttr(op, "begin_norm_axis", 7), -1);
  EXPECT_FLOAT_EQ(floatAttr(op, "epsilon", 7), 1e-5f);
}

TEST_F(GraphAttrsTest, unknownNamesGiveTheFallback) {
  Operation *op = parse("%0 = graph.ReLU %x : (tensor<4x8xf32>) -> "
                        "tensor<4x8xf32>");
  ASSERT_TRUE(op);
  EXPECT_EQ(intAttr(op, "groups", 3), 3);
  EXPECT_EQ(floatAttr(op, "epsilon", 0.5), 0.5);
  EXPECT_TRUE(boolAttr(op, "no_such", true));
  EXPECT_EQ(stringAttr(op, "no_such"), "");
  EXPECT_TRUE(intsAttr(op, "no_such").empty());
}

TEST_F(GraphAttrsTest, axes) {
  EXPECT_EQ(normalizedAxis(-1, 3), 2);
  EXPECT_EQ(normalizedAxis(-3, 3), 0);
  EXPECT_EQ(normalizedAxis(2, 3), 2);
}

TEST_F(GraphAttrsTest, storageTypes) {
  auto integer = [&](unsigned width, IntegerType::SignednessSemantics s =
                                         IntegerType::Signless) {
    return Type(IntegerType::get(&context, width, s));
  };
  EXPECT_EQ(storageType(integer(32, IntegerType::Signed)), integer(32));
  EXPECT_EQ(storageType(integer(8, IntegerType::Unsigned)), integer(8));
  EXPECT_EQ(storageType(integer(1)), integer(8)) << "a boolean is a byte";
  Type bf16 = BFloat16Type::get(&context);
  EXPECT_EQ(storageType(bf16), bf16);
  EXPECT_EQ(storageType(Float8E5M2Type::get(&context)), integer(8));
}

TEST_F(GraphAttrsTest, namesOfLocations) {
  Location unknown = UnknownLoc::get(&context);
  auto named = [&](StringRef n, Location child) {
    return Location(NameLoc::get(StringAttr::get(&context, n), child));
  };
  EXPECT_EQ(nameOf(unknown), "");
  EXPECT_EQ(nameOf(named("fc1", unknown)), "fc1");
  EXPECT_EQ(nameOf(FusedLoc::get(&context, {unknown, named("fc1", unknown),
                                            named("relu1", unknown)})),
            "fc1");
  EXPECT_EQ(nameOf(FusedLoc::get(&context, {unknown, unknown})), "");
}

} // namespace
