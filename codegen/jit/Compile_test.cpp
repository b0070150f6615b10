// SPDX-License-Identifier: Apache-2.0
// Modules compiled in parts: one archive, the same bytes for any number of
// threads, functions that call each other across parts, errors of any part.
// What the optimiser makes of addresses.
#include "codegen/jit/Compile.h"
#include "codegen/jit/Jit.h"
#include "codegen/llvm/LowerToLLVM.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Memory.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/mman.h>

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::codegen;

namespace {

/// @f0 calls @f1, and so on; each multiplies and adds `length` times, so that
/// nothing folds, and reads a table of its own.
std::string chainText(int count, int length) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "llvm.mlir.global internal constant @t" + n + "(" + n +
            " : i64) : i64\nllvm.func " + (i ? "internal " : "") + "@f" + n +
            "(%x: i64) -> i64 {\n  %p = llvm.mlir.addressof @t" + n +
            " : !llvm.ptr\n  %v0 = llvm.load volatile %p : !llvm.ptr -> i64\n";
    for (int j = 0; j < length; ++j)
      text += "  %m" + std::to_string(j) + " = llvm.mul %v" +
              std::to_string(j) + ", %x : i64\n  %v" + std::to_string(j + 1) +
              " = llvm.add %m" + std::to_string(j) + ", %x : i64\n";
    std::string last = "%v" + std::to_string(length);
    if (i + 1 < count) {
      text += "  %r = llvm.call @f" + std::to_string(i + 1) + "(" + last +
              ") : (i64) -> i64\n";
      last = "%r";
    }
    text += "  llvm.return " + last + " : i64\n}\n";
  }
  return text;
}

uint64_t chain(int count, int length, uint64_t x) {
  for (int i = 0; i < count; ++i) {
    uint64_t v = i;
    for (int j = 0; j < length; ++j)
      v = v * x + x;
    x = v;
  }
  return x;
}

class InParts : public testing::Test {
protected:
  Expected<std::unique_ptr<llvm::MemoryBuffer>>
  compile(const std::string &text, bool threads,
          const TargetSpec &target = TargetSpec::host(),
          CompileTimes *times = nullptr) {
    mlir::DialectRegistry registry;
    registerLLVMTranslations(registry);
    mlir::MLIRContext context(registry,
                              threads ? mlir::MLIRContext::Threading::ENABLED
                                      : mlir::MLIRContext::Threading::DISABLED);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    options.inParts = true;
    return compileToObject(*module, target, options, times);
  }
  CompileOptions options;
};

constexpr int kCount = 7, kLength = 400;

TEST_F(InParts, CallsReachOtherParts) {
  CompileTimes times;
  auto object =
      compile(chainText(kCount, kLength), true, TargetSpec::host(), &times);
  ASSERT_TRUE(object) << str(object.errors());
  EXPECT_TRUE((*object)->getBuffer().starts_with("!<arch>\n"));
  EXPECT_GT(times.translate, 0);
  EXPECT_GT(times.optimize, 0);
  EXPECT_GT(times.emit, 0);
  auto jit = Jit::create();
  ASSERT_TRUE(jit);
  ASSERT_TRUE((*jit)->addObject(std::move(*object)));
  auto address = (*jit)->lookup("f0");
  ASSERT_TRUE(address) << str(address.errors());
  auto f0 = reinterpret_cast<uint64_t (*)(uint64_t)>(*address);
  for (uint64_t x : {3, 1234567})
    EXPECT_EQ(f0(x), chain(kCount, kLength, x));
}

/// Each block 8 GiB after the last, as in a process full of other memory.
class FarApart : public llvm::SectionMemoryManager::MemoryMapper {
public:
  llvm::sys::MemoryBlock
  allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose,
                       size_t bytes, const llvm::sys::MemoryBlock *, unsigned,
                       std::error_code &error) override {
    constexpr uintptr_t kFirst = uintptr_t(1) << 45, kStep = uintptr_t(1) << 33,
                        kPage = 4096;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void *wanted = reinterpret_cast<void *>(kFirst + blocks++ * kStep);
    void *memory =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) {
      error = std::error_code(errno, std::generic_category());
      return {};
    }
    return {memory, bytes};
  }
  std::error_code protectMappedMemory(const llvm::sys::MemoryBlock &block,
                                      unsigned flags) override {
    return llvm::sys::Memory::protectMappedMemory(block, flags);
  }
  std::error_code releaseMappedMemory(llvm::sys::MemoryBlock &block) override {
    return munmap(block.base(), block.allocatedSize())
               ? std::error_code(errno, std::generic_category())
               : std::error_code();
  }
  uintptr_t blocks = 0;
};

// Bug: addresses that calls jump through lay in a block of their own.
TEST_F(InParts, CallsReachPartsFarAway) {
  FarApart memory;
  auto object = compile(chainText(kCount, kLength), true);
  ASSERT_TRUE(object) << str(object.errors());
  JitOptions options;
  options.mapper = &memory;
  auto jit = Jit::create(options);
  ASSERT_TRUE(jit);
  ASSERT_TRUE((*jit)->addObject(std::move(*object)));
  auto address = (*jit)->lookup("f0");
  ASSERT_TRUE(address) << str(address.errors());
  EXPECT_GT(memory.blocks, 1u) << "one block: nothing is far away";
  auto f0 = reinterpret_cast<uint64_t (*)(uint64_t)>(*address);
  EXPECT_EQ(f0(3), chain(kCount, kLength, 3));
}

TEST_F(InParts, ThreadsDoNotChangeTheBytes) {
  auto one = compile(chainText(kCount, kLength), false);
  auto many = compile(chainText(kCount, kLength), true);
  ASSERT_TRUE(one) << str(one.errors());
  ASSERT_TRUE(many) << str(many.errors());
  EXPECT_TRUE((*one)->getBuffer() == (*many)->getBuffer());
}

TEST_F(InParts, EntriesAreWhereMoreIsAdded) {
  int calls = 0;
  options.finish = [&](llvm::Module &module) {
    ++calls;
    llvm::Function *entry = module.getFunction("f0");
    EXPECT_TRUE(entry && !entry->isDeclaration());
  };
  ASSERT_TRUE(compile(chainText(kCount, kLength), true));
  EXPECT_EQ(calls, 1);
}

TEST_F(InParts, TextIsOfTheWholeModule) {
  std::string assembly;
  options.assembly = &assembly;
  auto object = compile(chainText(kCount, kLength), true);
  ASSERT_TRUE(object) << str(object.errors());
  EXPECT_FALSE((*object)->getBuffer().starts_with("!<arch>\n"));
  for (int i = 0; i < kCount; ++i)
    EXPECT_NE(assembly.find("f" + std::to_string(i) + ":"), std::string::npos);
}

TEST_F(InParts, ErrorsKeepTheirCodes) {
  auto object = compile(chainText(kCount, kLength), true,
                        {"x86_64-pc-linux-gnu", "no-such-cpu", ""});
  ASSERT_FALSE(object);
  EXPECT_EQ(object.errors().front().code, ErrorCode::UnsupportedTarget);
  // One function of one part does not translate.
  std::string bad = chainText(kCount, kLength) +
                    "llvm.func @bad(%x: i64) -> i64 {\n"
                    "  %y = builtin.unrealized_conversion_cast %x : i64 to "
                    "index\n"
                    "  %z = builtin.unrealized_conversion_cast %y : index to "
                    "i64\n"
                    "  llvm.return %z : i64\n}\n";
  object = compile(bad, true);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.errors().front().code, ErrorCode::Internal);
}

/// One loop sums `loads` rows of @x, 1000 `element`s apart.
std::string rowsText(int loads, const std::string &element) {
  std::string type = ", i64) -> !llvm.ptr, " + element + "\n",
              rows = "llvm.func @sum(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64) {\n"
                     "  %zero = llvm.mlir.constant(0 : i64) : i64\n"
                     "  %step = llvm.mlir.constant(8 : i64) : i64\n"
                     "  llvm.br ^loop(%zero : i64)\n^loop(%i: i64):\n";
  for (int r = 0; r < loads; ++r) {
    std::string n = std::to_string(r);
    // The distance first, as it is in a view of the row.
    rows += "  %r" + n + " = llvm.getelementptr %x[" + n +
            "000] : (!llvm.ptr) -> !llvm.ptr, " + element + "\n  %a" + n +
            " = llvm.getelementptr %r" + n + "[%i] : (!llvm.ptr" + type +
            "  %v" + n + " = llvm.load %a" + n +
            " : !llvm.ptr -> vector<8xf32>\n";
    rows += r == 0 ? "  %s0 = llvm.fadd %v0, %v0 : vector<8xf32>\n"
                   : "  %s" + n + " = llvm.fadd %s" + std::to_string(r - 1) +
                         ", %v" + n + " : vector<8xf32>\n";
  }
  return rows + "  %a = llvm.getelementptr %y[%i] : (!llvm.ptr" + type +
         "  llvm.store %s" + std::to_string(loads - 1) +
         ", %a : vector<8xf32>, !llvm.ptr\n"
         "  %next = llvm.add %i, %step : i64\n"
         "  %more = llvm.icmp \"slt\" %next, %n : i64\n"
         "  llvm.cond_br %more, ^loop(%next : i64), ^end\n^end:\n"
         "  llvm.return\n}\n";
}

class Addresses : public InParts {
protected:
  std::string optimised(int loads, const std::string &element) {
    std::string text = rowsText(loads, element), ir;
    options.llvmIR = &ir;
    auto object = compile(text, false);
    EXPECT_TRUE(object) << str(object.errors());
    return ir;
  }

  static int count(const std::string &text, const std::string &part) {
    int found = 0;
    for (size_t i = text.find(part); i != std::string::npos;
         i = text.find(part, i + 1))
      ++found;
    return found;
  }
};

TEST_F(Addresses, ManyAtConstantDistancesShareOneAndAreLeft) {
  // One of x by the loop's variable, one of y, and constants. Strength
  // reduction would write them anew.
  EXPECT_EQ(count(optimised(24, "f32"), "getelementptr float"), 2);
}

TEST_F(Addresses, OthersAreReduced) {
  // Instructions multiply by 8 at most.
  EXPECT_GT(count(optimised(24, "vector<8xf32>"), "lsr.iv"), 0);
  EXPECT_GT(count(optimised(4, "vector<8xf32>"), "lsr.iv"), 0);
}

} // namespace
