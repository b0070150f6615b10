// SPDX-License-Identifier: Apache-2.0
// What LLVM would end the process for, or print, is an error: fatal errors, all
// targets and CPUs it has names for, errors of its code generator and its JIT.
#include "codegen/jit/Compile.h"
#include "codegen/jit/Guard.h"
#include "codegen/jit/Jit.h"
#include "codegen/jit/TargetMachine.h"
#include "codegen/llvm/LowerToLLVM.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Triple.h"

#include <gtest/gtest.h>

#include <thread>

using namespace tenon;
using namespace tenon::codegen;

namespace {

constexpr const char *kX86 = "x86_64-unknown-linux-gnu";
constexpr const char *kArm = "aarch64-unknown-linux-gnu";

/// Fails the test if anything is written to stderr while it lives.
class Silence {
public:
  Silence() { testing::internal::CaptureStderr(); }
  ~Silence() { EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); }
};

Expected<std::unique_ptr<llvm::MemoryBuffer>>
compile(const std::string &text, const TargetSpec &target) {
  mlir::DialectRegistry registry;
  registerLLVMTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  CompileOptions options;
  options.inParts = true;
  return compileToObject(*module, target, options);
}

#define EXPECT_ERROR(result, expectedCode, text)                               \
  do {                                                                         \
    const auto &found = (result);                                              \
    ASSERT_FALSE(found);                                                       \
    EXPECT_EQ(found.errors().front().code, ErrorCode::expectedCode);           \
    EXPECT_NE(str(found.errors()).find(text), std::string::npos)               \
        << str(found.errors());                                                \
  } while (false)

//===----------------------------------------------------------------------===//
// The guard
//===----------------------------------------------------------------------===//

TEST(Guard, FatalErrorsComeBack) {
  Silence silence;
  for (int i = 0; i < 3; ++i) {
    auto error = runGuarded([] { llvm::report_fatal_error("no such luck"); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::Internal);
    EXPECT_NE(error->message.find("no such luck"), std::string::npos);
    int calls = 0;
    EXPECT_FALSE(runGuarded([&] { ++calls; }));
    EXPECT_EQ(calls, 1);
  }
}

TEST(Guard, TheInnermostCatches) {
  Silence silence;
  bool continued = false;
  auto outer = runGuarded([&] {
    auto inner = runGuarded([] { llvm::report_fatal_error("inner"); });
    EXPECT_TRUE(inner);
    continued = true;
    llvm::report_fatal_error("outer");
  });
  EXPECT_TRUE(continued);
  ASSERT_TRUE(outer);
  EXPECT_NE(outer->message.find("outer"), std::string::npos);
}

TEST(Guard, ThreadsAreOnTheirOwn) {
  Silence silence;
  std::vector<std::thread> threads;
  std::vector<std::optional<Error>> errors(8);
  for (size_t i = 0; i < errors.size(); ++i)
    threads.emplace_back([&, i] {
      std::string reason = "number " + std::to_string(i);
      errors[i] = runGuarded(
          [&] { llvm::report_fatal_error(llvm::StringRef(reason)); });
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < errors.size(); ++i) {
    ASSERT_TRUE(errors[i]);
    EXPECT_NE(errors[i]->message.find("number " + std::to_string(i)),
              std::string::npos);
  }
}

TEST(Guard, ExceptionsPass) {
  EXPECT_THROW((void)runGuarded([] { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_FALSE(runGuarded([] {}));
}

TEST(Guard, FailedAllocationsComeBack) {
  Silence silence;
  // What LLVM calls when malloc fails.
  auto error = runGuarded([] { llvm::report_bad_alloc_error("malloc"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::OutOfMemory);
  EXPECT_THROW(llvm::report_bad_alloc_error("malloc"), std::bad_alloc);
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

constexpr const char *kPlain =
    "llvm.func @f(%x: vector<16xf32>, %p: !llvm.ptr) {\n"
    "  %y = llvm.fmul %x, %x : vector<16xf32>\n"
    "  llvm.store %y, %p : vector<16xf32>, !llvm.ptr\n  llvm.return\n}\n";

/// An instruction of AVX-512, whatever the target.
constexpr const char *kWide =
    "llvm.func @f(%x: vector<16xf32>, %p: !llvm.ptr) {\n"
    "  %m = llvm.mlir.constant(-1 : i16) : i16\n"
    "  %r = llvm.mlir.constant(4 : i32) : i32\n"
    "  %y = llvm.call_intrinsic \"llvm.x86.avx512.rcp14.ps.512\"(%x, %x, %m) : "
    "(vector<16xf32>, vector<16xf32>, i16) -> vector<16xf32>\n"
    "  llvm.store %y, %p : vector<16xf32>, !llvm.ptr\n  llvm.return\n}\n";

TEST(CodeGenerator, WhatACpuLacksIsAnError) {
  Silence silence;
  for (int i = 0; i < 2; ++i) {
    auto object = compile(kWide, {kX86, "x86-64-v2", ""});
    EXPECT_ERROR(object, Internal, "LLVM cannot go on: ");
  }
  EXPECT_TRUE(compile(kWide, {kX86, "x86-64-v4", ""}));
}

TEST(CodeGenerator, ErrorsOfTheAssemblerAreErrors) {
  Silence silence;
  auto object = compile("llvm.func @f() {\n  llvm.inline_asm has_side_effects "
                        "\"nonsense\", \"\" : () -> ()\n  llvm.return\n}\n",
                        TargetSpec::host());
  EXPECT_ERROR(object, Internal, "invalid instruction mnemonic");
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

TEST(Targets, OnlyThoseThereIsCodeFor) {
  Silence silence;
  for (const char *triple :
       {kX86, kArm, "x86_64-linux-gnu", "x86_64-pc-linux-gnu", "x86_64-linux",
        "aarch64-linux-gnu", "arm64-linux-gnu"}) {
    auto ok = checkTarget({llvm::Triple::normalize(triple),
                           triple[0] == 'a' ? "generic" : "x86-64", ""});
    EXPECT_TRUE(ok) << triple << ": " << str(ok.errors());
  }
  struct Refused {
    const char *triple, *why;
  };
  for (auto [triple, why] : std::vector<Refused>{
           {"aarch64-apple-darwin", "the operating system 'darwin'"},
           {"arm64-apple-ios", "the operating system 'ios'"},
           {"x86_64-apple-macosx", "the operating system 'macosx'"},
           {"x86_64-pc-windows-msvc", "the operating system 'windows'"},
           {"x86_64-w64-windows-gnu", "the operating system 'windows'"},
           {"x86_64-unknown-freebsd", "the operating system 'freebsd'"},
           {"x86_64-none-elf", "the operating system"},
           {"x86_64", "the operating system"},
           {"x86_64-linux-gnux32", "the environment 'gnux32'"},
           {"x86_64-linux-musl", "the environment 'musl'"},
           {"aarch64-linux-android", "the environment 'android'"},
           {"aarch64-linux-gnu_ilp32", "the environment 'gnu_ilp32'"},
           {"x86_64-linux-gnu-coff", "the object format 'coff'"},
           {"aarch64-linux-gnu-macho", "the object format 'macho'"},
           {"i386-linux-gnu", "the architecture 'i386'"},
           {"aarch64_be-linux-gnu", "the architecture 'aarch64_be'"},
           {"aarch64_32-linux-gnu", "the architecture 'aarch64_32'"},
           {"arm64ec-linux-gnu", "the architecture 'arm64ec'"},
           {"armv7-linux-gnueabihf", "the architecture 'armv7'"},
           {"riscv64-linux-gnu", "the architecture 'riscv64'"},
           {"nonsense", "the architecture 'nonsense'"},
           {"", "the architecture 'unknown'"}}) {
    TargetSpec target = {llvm::Triple::normalize(triple), "generic", ""};
    auto ok = checkTarget(target);
    ASSERT_FALSE(ok) << triple;
    EXPECT_ERROR(ok, UnsupportedTarget, why);
    EXPECT_ERROR(compile(kPlain, target), UnsupportedTarget, why);
  }
}

std::vector<std::string> cpusOf(const char *triple) {
  initialiseTargets();
  std::string message;
  llvm::Triple parsed(triple);
  const auto *target = llvm::TargetRegistry::lookupTarget(parsed, message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(parsed, "", ""));
  std::vector<std::string> names;
  for (const auto &cpu : info->getAllProcessorDescriptions())
    names.push_back(cpu.Key);
  return names;
}

TEST(Targets, EveryCpuThatLlvmNames) {
  Silence silence;
  size_t compiled = 0, narrow = 0;
  for (const char *triple : {kX86, kArm})
    for (const std::string &cpu : cpusOf(triple)) {
      auto object = compile(kPlain, {triple, cpu, ""});
      compiled += bool(object);
      if (object)
        continue;
      ++narrow;
      EXPECT_ERROR(object, UnsupportedTarget, "has no 64-bit mode");
      EXPECT_STREQ(triple, kX86);
    }
  EXPECT_GT(compiled, 150u);
  EXPECT_GT(narrow, 20u);
}

TEST(Targets, UnknownNames) {
  Silence silence;
  for (const char *cpu : {"", "help", "znver99", "cortex-a53", "native"}) {
    auto object = compile(kPlain, {kX86, cpu, ""});
    EXPECT_ERROR(object, UnsupportedTarget, "unknown CPU");
  }
  for (const char *features :
       {"+nonsense", "+help", "+cpuhelp", "avx2", "+avx2,-neon", "+", "help",
        "+avx2,,-sse4a", "+avx2,"}) {
    auto object = compile(kPlain, {kX86, "x86-64", features});
    EXPECT_ERROR(object, UnsupportedTarget, "unknown CPU feature");
  }
  auto object = compile(kPlain, {kX86, "x86-64", "-64bit"});
  EXPECT_ERROR(object, UnsupportedTarget, "no 64-bit mode");
  object = compile(kPlain, {kX86, "x86-64", "+avx2,-sse4a"});
  EXPECT_TRUE(object) << str(object.errors());
}

//===----------------------------------------------------------------------===//
// The JIT
//===----------------------------------------------------------------------===//

TEST(JitErrors, AreNotPrinted) {
  Silence silence;
  auto object = compile("llvm.func @tenon_is_nowhere()\n"
                        "llvm.func @f() {\n  llvm.call @tenon_is_nowhere() : "
                        "() -> ()\n  llvm.return\n}\n",
                        TargetSpec::host());
  ASSERT_TRUE(object) << str(object.errors());
  auto jit = Jit::create();
  ASSERT_TRUE(jit);
  ASSERT_TRUE((*jit)->addObject(std::move(*object)));
  EXPECT_ERROR((*jit)->lookup("f"), Internal, "tenon_is_nowhere");
  EXPECT_ERROR((*jit)->lookup("g"), Internal, "g");
}

TEST(JitErrors, DamagedObjects) {
  Silence silence;
  auto object = compile(kPlain, TargetSpec::host());
  ASSERT_TRUE(object);
  std::string bytes = (*object)->getBuffer().str();
  for (size_t length : {size_t(0), size_t(3), size_t(64), bytes.size() / 2}) {
    auto jit = Jit::create();
    ASSERT_TRUE(jit);
    auto added = (*jit)->addObject(
        llvm::MemoryBuffer::getMemBufferCopy(bytes.substr(0, length), "x.o"));
    EXPECT_FALSE(added && (*jit)->lookup("f")) << length;
  }
}

} // namespace
