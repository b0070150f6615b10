//===- tile_test.cpp - round trip and verifier of the tile dialect --------===//
// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tenon::tile;

namespace {

class TileTest : public testing::Test {
protected:
  TileTest() {
    context.loadDialect<TileDialect, arith::ArithDialect, func::FuncDialect,
                        memref::MemRefDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    return parseSourceString<ModuleOp>(text, &context);
  }

  /// A brgemm with the given pieces in a function.
  static std::string brgemm(const std::string &a, const std::string &b,
                            const std::string &c, const std::string &rest = "",
                            const std::string &epilogueOperands = "",
                            const std::string &epilogueArgs = "") {
    return "func.func @f(%a: " + a + ", %b: " + b + ", %c: " + c +
           epilogueArgs + ") {\n  tile.brgemm ins(%a, %b : " + a + ", " + b +
           ") " + epilogueOperands + " outs(%c : " + c + ") " + rest +
           "\n  return\n}\n";
  }

  void expectRefused(const std::string &text,
                     std::initializer_list<const char *> needles) {
    messages.clear();
    EXPECT_FALSE(parse(text)) << text;
    for (const char *needle : needles)
      EXPECT_NE(messages.find(needle), std::string::npos)
          << "wanted: " << needle << "\ngot: " << messages;
  }

  void expectRoundTrip(const std::string &text) {
    messages.clear();
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module) << text << messages;
    std::string once, twice;
    llvm::raw_string_ostream(once) << *module;
    OwningOpRef<ModuleOp> again = parse(once);
    ASSERT_TRUE(again) << once << messages;
    llvm::raw_string_ostream(twice) << *again;
    EXPECT_EQ(once, twice);
    EXPECT_NE(once.find("tile.brgemm ins("), std::string::npos) << once;
  }

  MLIRContext context;
  std::string messages;
};

const char *biasRelu = R"( epilogue {
  ^bb0(%acc: f32, %x: f32):
    %zero = arith.constant 0.0 : f32
    %0 = arith.addf %acc, %x : f32
    %1 = arith.maximumf %0, %zero : f32
    tile.yield %1 : f32
  })";
const char *biasOperand = "epilogue_operands(%s : memref<24xf32>) maps "
                          "[affine_map<(d0, d1) -> (d1)>]";

TEST_F(TileTest, roundTrip) {
  expectRoundTrip(
      brgemm("memref<8x64xf32>", "memref<64x24xf32>", "memref<8x24xf32>"));
  expectRoundTrip(brgemm("memref<9x?x64xf32, strided<[?, ?, 3], offset: ?>>",
                         "memref<9x64x24xf32>", "memref<?x?xf32>",
                         "accumulate prefetch_next register_tile [4, 3]"));
  expectRoundTrip(brgemm("memref<3x8x64xf32>", "memref<3x64x24xf32>",
                         "memref<8x24xf32>", "prefetch(%f : memref<512xf32>)",
                         "", ", %f: memref<512xf32>"));
  expectRoundTrip(brgemm("memref<8x64xf32>",
                         "memref<64x?xf32, strided<[768, 1]>>",
                         "memref<8x20xf32>", "attributes {packed = false}"));
  expectRoundTrip(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                         "memref<8x24xf32>", biasRelu, biasOperand,
                         ", %s: memref<24xf32>"));
}

TEST_F(TileTest, builderMakesAValidOp) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  auto matrix = MemRefType::get({24, 24}, builder.getF32Type());
  auto bias = MemRefType::get({24}, builder.getF32Type());
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  builder.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(
      builder, loc, "f", builder.getFunctionType({matrix, matrix, bias}, {}));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Value x = entry->getArgument(0), y = entry->getArgument(1);
  AffineMap map = getEpilogueMapOf(EpilogueBroadcast::PerRow, &context);
  auto op = BrgemmOp::create(
      builder, loc, x, x, y, ValueRange{entry->getArgument(2)}, map,
      /*accumulate=*/true, /*packed=*/true,
      [](OpBuilder &b, Location l, ValueRange args) -> Value {
        return arith::AddFOp::create(b, l, args[0], args[1]);
      });
  auto plain = BrgemmOp::create(builder, loc, x, x, y);
  func::ReturnOp::create(builder, loc);
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_TRUE(op.getAccumulate());
  EXPECT_TRUE(op.hasEpilogue());
  EXPECT_EQ(op.getNumBatchDims(), 0);
  EXPECT_FALSE(plain.hasEpilogue());
  EXPECT_FALSE(plain.getAccumulate());
}

TEST_F(TileTest, effects) {
  OwningOpRef<ModuleOp> module =
      parse(brgemm("memref<8x64xf32>", "memref<64x24xf32>", "memref<8x24xf32>",
                   biasRelu, biasOperand, ", %s: memref<24xf32>"));
  ASSERT_TRUE(module);
  module->walk([](BrgemmOp op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    EXPECT_EQ(effects.size(), 4u); // a, b, side read; c written.
    for (const MemoryEffects::EffectInstance &effect : effects)
      EXPECT_EQ(isa<MemoryEffects::Write>(effect.getEffect()),
                effect.getValue() == op.getC());
  });
}

TEST_F(TileTest, epilogueBroadcast) {
  for (EpilogueBroadcast kind :
       {EpilogueBroadcast::Scalar, EpilogueBroadcast::PerRow,
        EpilogueBroadcast::PerColumn, EpilogueBroadcast::PerElement})
    EXPECT_EQ(getEpilogueBroadcast(getEpilogueMapOf(kind, &context)), kind);
  EXPECT_FALSE(
      getEpilogueBroadcast(AffineMap::getMultiDimIdentityMap(3, &context)));
}

TEST_F(TileTest, refusesShapes) {
  expectRefused(
      brgemm("memref<64xf32>", "memref<64x24xf32>", "memref<8x24xf32>"),
      {"a must have rank 2 or more"});
  expectRefused(
      brgemm("memref<2x8x64xf32>", "memref<64x24xf32>", "memref<8x24xf32>"),
      {"has ranks 3, 2, 2"});
  expectRefused(
      brgemm("memref<3x8x64xf32>", "memref<2x63x24xf32>", "memref<7x25xf32>"),
      {"batch dimension 0 of a and b differ: 3 and 2",
       "rows of a and c differ: 8 and 7", "K of a and b differ: 64 and 63",
       "c has 25 columns, b only 24"});
  expectRefused(
      brgemm("memref<8x64xf32>", "memref<64x?xf32>", "memref<8x24xf32>"),
      {"packed b needs a static last dimension", "hint: packed = false"});
  expectRefused(
      brgemm("memref<8x64xf32>", "memref<64x24xf32, strided<[24, 2]>>",
             "memref<8x24xf32, strided<[48, ?]>>"),
      {"b must have unit stride along n", "c must have unit stride along n"});
}

TEST_F(TileTest, refusesTypesAndTiles) {
  expectRefused(
      brgemm("memref<8x64xf64>", "memref<64x24xf32>", "memref<8x24xf32>"),
      {"a has elements of type 'f64', b of type 'f32'",
       "supports f32, bf16, f16, i8, i16 and i32 elements, has "
       "'f64'"});
  expectRefused(
      brgemm("memref<8x64xi64>", "memref<64x24xi64>", "memref<8x24xi64>"),
      {"i16 and i32 elements, has 'i64'"});
  expectRefused(
      brgemm("memref<8x64xf32>", "memref<64x24xf32>", "memref<8x24xbf16>"),
      {"c holds sums of type 'f32', has elements of type 'bf16'"});
  expectRefused(
      brgemm("memref<8x64xbf16>", "memref<31x24x2xbf16>", "memref<8x24xf32>"),
      {"K / v of a and b differ: 32 and 31"});
  expectRefused(
      brgemm("memref<8x64xbf16>", "memref<16x24x4xbf16>", "memref<8x24xf32>"),
      {"interleaves 4 elements of type 'bf16'"});
  expectRefused(
      brgemm("memref<8x64xf16>", "memref<32x24x2xf16>", "memref<8x24xf32>"),
      {"interleaves 2 elements of type 'f16'; must be 2 of bf16 or i16, 2 "
       "or 4 of i8"});
  expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                       "memref<8x24xf32>", "unsigned_a"),
                {"only bytes can be unsigned_a"});
  for (std::string type :
       {"memref<?xf32>", "memref<8x8xf32>", "memref<64xf32, strided<[2]>>"})
    expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                         "memref<8x24xf32>", "prefetch(%f : " + type + ")", "",
                         ", %f: " + type),
                  {"prefetch must be one piece of known size"});
  for (const char *fact : {"max_rows 0", "row_multiple 0", "row_multiple -8"})
    expectRefused(brgemm("memref<?x64xf32>", "memref<64x24xf32>",
                         "memref<?x24xf32>", fact),
                  {"max_rows and row_multiple must be positive"});
  expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                       "memref<8x24xf32>", "register_tile [4]"),
                {"register_tile must be [MR, NV]"});
  expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                       "memref<8x24xf32>", "matrix_unit register_tile [4, 3]"),
                {"matrix_unit and register_tile, may have one"});
  expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                       "memref<8x24xf32>", "register_tile [4000000000, 9]"),
                {"has more than 64 accumulators"});
}

TEST_F(TileTest, refusesEpilogueOperands) {
  auto operand = [](const char *type, const char *map, const char *argument) {
    return brgemm("memref<8x64xf32>", "memref<64x24xf32>", "memref<8x24xf32>",
                  std::string("epilogue {\n^bb0(%acc: f32, %x: ") + argument +
                      "):\n tile.yield %acc : f32\n}",
                  std::string("epilogue_operands(%s : ") + type +
                      ") maps [affine_map<" + map + ">]",
                  std::string(", %s: ") + type);
  };
  expectRefused(operand("memref<24xf32>", "(d0, d1) -> (d1, d0)", "f32"),
                {"epilogue operand 0 has map"});
  expectRefused(operand("memref<24xf32>", "(d0, d1) -> (d0, d1)", "f32"),
                {"epilogue operand 0 has rank 1, its map has 2 results"});
  expectRefused(operand("memref<23xf32>", "(d0, d1) -> (d1)", "f32"),
                {"epilogue operand 0 has 23 columns, c 24"});
  expectRefused(operand("memref<9xf32>", "(d0, d1) -> (d0)", "f32"),
                {"rows of epilogue operand 0 and c differ: 9 and 8"});
  expectRefused(operand("memref<24xi1>", "(d0, d1) -> (d1)", "i1"),
                {"must be floats or integers of whole bytes"});
  expectRefused(operand("memref<24xf32>", "(d0, d1) -> (d1)", "i8"),
                {"epilogue arguments must be"});
  expectRefused(brgemm("memref<8x64xf32>", "memref<64x24xf32>",
                       "memref<8x24xf32>", "", biasOperand,
                       ", %s: memref<24xf32>"),
                {"has epilogue operands but no epilogue"});
}

TEST_F(TileTest, refusesEpilogues) {
  auto body = [](const char *text) {
    return brgemm("memref<8x64xf32>", "memref<64x24xf32>", "memref<8x24xf32>",
                  std::string("epilogue {\n^bb0(%acc: f32):\n") + text + "}");
  };
  expectRefused(body("%one = arith.constant 1 : i32\n tile.yield %one : i32\n"),
                {"epilogue yields 'i32'"});
  expectRefused(body("%m = memref.alloc() : memref<f32>\n"
                     "tile.yield %acc : f32\n"),
                {"elementwise operations only, not memref.alloc"});
  expectRefused(body("%i = arith.fptosi %acc : f32 to i32\n"
                     "%d = arith.divsi %i, %i : i32\n"
                     "%f = arith.sitofp %d : i32 to f32\n"
                     "tile.yield %f : f32\n"),
                {"arith.divsi has effects or may fail"});
  expectRefused(body("%v = arith.constant dense<1.0> : vector<4xf32>\n"
                     "tile.yield %acc : f32\n"),
                {"epilogue may hold elementwise operations only"});
}

} // namespace
