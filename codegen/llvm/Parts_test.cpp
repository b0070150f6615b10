// SPDX-License-Identifier: Apache-2.0
// A module goes to parts and back: each part stands alone, nothing is lost, and
// the same module makes the same parts.
#include "codegen/llvm/Parts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon::codegen;

namespace {

/// `count` internal functions of `length` additions, each with a constant of
/// its own, called by @main.
std::string moduleText(int count, int length) {
  std::string text, calls;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "llvm.mlir.global internal constant @c" + n + "(\"text" + n +
            "\")\n"
            "llvm.func internal @f" +
            n +
            "(%x: i64) -> i64 {\n"
            "  %p = llvm.mlir.addressof @c" +
            n + " : !llvm.ptr\n  %v0 = llvm.ptrtoint %p : !llvm.ptr to i64\n";
    for (int j = 0; j < length; ++j)
      text += "  %v" + std::to_string(j + 1) + " = llvm.add %v" +
              std::to_string(j) + ", %x : i64\n";
    text += "  llvm.return %v" + std::to_string(length) + " : i64\n}\n";
    calls += "  %r" + n + " = llvm.call @f" + n + "(%x) : (i64) -> i64\n";
  }
  return "llvm.func @main(%x: i64) {\n" + calls + "  llvm.return\n}\n" + text;
}

class PartsTest : public testing::Test {
protected:
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    context.loadDialect<LLVM::LLVMDialect>();
    return parseSourceString<ModuleOp>(text, &context);
  }
  std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(PartsTest, SmallModulesAreOnePart) {
  EXPECT_EQ(countParts(*parse(moduleText(4, 10))), 1);
  EXPECT_GT(countParts(*parse(moduleText(8, 1000))), 4);
  // No more parts than functions, main among them.
  EXPECT_LE(countParts(*parse(moduleText(1, 20000))), 2);
}

TEST_F(PartsTest, WhatCannotBeCopiedStaysWhole) {
  std::string text = moduleText(8, 1000);
  for (const char *global :
       {"llvm.mlir.global internal @state(0 : i64) : i64\n",
        "llvm.mlir.global external constant @name(\"x\")\n"})
    EXPECT_EQ(countParts(*parse(text + global)), 1) << global;
}

TEST_F(PartsTest, EachPartStandsAlone) {
  auto module = parse(moduleText(6, 300));
  std::string before = print(*module);
  splitIntoParts(*module, 3);
  ASSERT_TRUE(succeeded(verify(*module)));
  SmallVector<ModuleOp> parts(module->getOps<ModuleOp>());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(std::distance(module->begin(), module->end()), 3);
  int definitions = 0;
  for (ModuleOp part : parts) {
    int own = 0;
    for (auto f : part.getOps<LLVM::LLVMFuncOp>())
      own += !f.isExternal();
    EXPECT_EQ(own, part == parts[0] ? 3 : 2);
    definitions += own;
    // With the constants of its functions and no others.
    EXPECT_EQ(llvm::range_size(part.getOps<LLVM::GlobalOp>()), 2);
  }
  EXPECT_EQ(definitions, 7);
  auto main = parts[0].lookupSymbol<LLVM::LLVMFuncOp>("main");
  ASSERT_TRUE(main);
  EXPECT_FALSE(main.isExternal());
  for (auto f : parts[1].getOps<LLVM::LLVMFuncOp>())
    EXPECT_EQ(f.getLinkage(), LLVM::Linkage::External) << f.getName().str();

  ASSERT_TRUE(succeeded(joinParts(*module)));
  ASSERT_TRUE(succeeded(verify(*module)));
  // But for the linkage of what another part calls.
  for (auto f : module->getOps<LLVM::LLVMFuncOp>())
    if (f.getName() != "main")
      f.setLinkage(LLVM::Linkage::Internal);
  EXPECT_EQ(print(*module), before);
}

TEST_F(PartsTest, OnePartIsTheModuleItself) {
  auto module = parse(moduleText(3, 20));
  std::string before = print(*module);
  splitIntoParts(*module, 1);
  EXPECT_EQ(llvm::range_size(module->getOps<ModuleOp>()), 1);
  ASSERT_TRUE(succeeded(joinParts(*module)));
  EXPECT_EQ(print(*module), before);
}

TEST_F(PartsTest, EqualModulesMakeEqualParts) {
  auto a = parse(moduleText(9, 400)), b = parse(moduleText(9, 400));
  splitIntoParts(*a, 4);
  splitIntoParts(*b, 4);
  EXPECT_EQ(print(*a), print(*b));
}

TEST_F(PartsTest, WhatPartsHaveAddedIsKeptOnce) {
  auto module = parse(moduleText(6, 10));
  splitIntoParts(*module, 2);
  std::string text = "llvm.func @malloc(i64) -> !llvm.ptr";
  for (ModuleOp part : module->getOps<ModuleOp>()) {
    auto added = parse(text);
    part.push_back(added->getBody()->front().clone());
  }
  ASSERT_TRUE(succeeded(joinParts(*module)));
  ASSERT_TRUE(succeeded(verify(*module)));
  EXPECT_TRUE(module->lookupSymbol("malloc"));
}

TEST_F(PartsTest, ContradictionsAreRefused) {
  auto module = parse(moduleText(6, 10));
  splitIntoParts(*module, 2);
  int n = 0;
  for (ModuleOp part : module->getOps<ModuleOp>()) {
    auto added = parse("llvm.mlir.global internal constant @same(\"" +
                       std::to_string(n++) + "\")");
    part.push_back(added->getBody()->front().clone());
  }
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    message = d.str();
    return success();
  });
  EXPECT_TRUE(failed(joinParts(*module)));
  EXPECT_NE(message.find("differ"), std::string::npos) << message;
}

} // namespace
