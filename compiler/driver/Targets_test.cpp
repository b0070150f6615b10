//===- Targets_test.cpp - every target that a user may name ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All CPUs that LLVM has names for, and triples there is no code for, through
// the driver: code, or an error with a code; nothing is printed.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Aot.h"
#include "compiler/driver/Session.h"
#include "compiler/import/json/Json.h"

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

#include <gtest/gtest.h>

using namespace tenon;

namespace {

/// Sums of f16, and a product of bf16.
graph::Graph model() {
  auto tensor = [](int id, const char *dtype) {
    return R"({"id": )" + std::to_string(id) + R"(, "dtype": ")" + dtype +
           R"(", "shape": [4, 4], "stride": [4, 1], )"
           R"("layout_type": "strided"})";
  };
  auto op = [&](int id, const char *kind, const char *dtype) {
    return R"({"id": )" + std::to_string(id) + R"(, "name": "op)" +
           std::to_string(id) + R"(", "kind": ")" + kind +
           R"(", "attrs": {}, "inputs": [)" + tensor(10 * id, dtype) + ", " +
           tensor(10 * id + 1, dtype) + R"(], "outputs": [)" +
           tensor(10 * id + 2, dtype) + "]}";
  };
  auto graph = json::readJson(R"({"graph": [)" + op(0, "Add", "f16") + ", " +
                                  op(1, "MatMul", "bf16") + "]}",
                              "test");
  EXPECT_TRUE(graph);
  return *graph;
}

AotRequest requestFor(const std::string &cpu, const std::string &triple) {
  AotRequest request;
  request.options.targetCpu = cpu;
  request.triple = triple;
  request.prefix = "model";
  request.nameOf = [](const graph::Graph &, uint64_t id) {
    return "t" + std::to_string(id);
  };
  return request;
}

std::vector<std::string> cpusOf(const char *name) {
  // Names the targets to LLVM.
  EXPECT_TRUE(Target::resolve({}));
  EXPECT_TRUE(codegen::checkTarget(codegen::TargetSpec::host()));
  std::string message;
  llvm::Triple triple(name);
  const auto *target = llvm::TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  std::vector<std::string> names;
  for (const auto &cpu : info->getAllProcessorDescriptions())
    names.push_back(cpu.Key);
  return names;
}

class Targets : public testing::Test {
protected:
  void SetUp() override { testing::internal::CaptureStderr(); }
  void TearDown() override {
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
};

TEST_F(Targets, EveryCpuOfX86) {
  graph::Graph graph = model();
  int64_t compiled = 0, narrow = 0;
  for (const std::string &cpu : cpusOf("x86_64-linux-gnu")) {
    auto files = compileAhead(*graph::prepareGraph(graph), requestFor(cpu, ""));
    compiled += bool(files);
    if (files)
      continue;
    EXPECT_EQ(files.errors().front().code, ErrorCode::UnsupportedTarget)
        << cpu << ": " << str(files.errors());
    narrow += files.errors().front().message.find("no 64-bit mode") !=
              std::string::npos;
    // Nor in this process.
    Options options;
    options.targetCpu = cpu;
    auto here = Compiled::compile(graph, options);
    ASSERT_FALSE(here) << cpu;
    EXPECT_EQ(here.errors().front().code, ErrorCode::UnsupportedTarget);
  }
  EXPECT_GT(compiled, 50);
  EXPECT_GT(narrow, 20);
}

TEST_F(Targets, EveryCpuOfAArch64) {
  graph::Graph graph = model();
  int64_t compiled = 0;
  for (const std::string &cpu : cpusOf("aarch64-linux-gnu")) {
    auto files = compileAhead(*graph::prepareGraph(graph),
                              requestFor(cpu, "aarch64-linux-gnu"));
    compiled += bool(files);
    if (!files)
      EXPECT_EQ(files.errors().front().code, ErrorCode::UnsupportedTarget)
          << cpu << ": " << str(files.errors());
  }
  EXPECT_EQ(compiled, 1); // generic
}

TEST_F(Targets, OtherMachines) {
  graph::Graph graph = model();
  for (const char *triple :
       {"aarch64-apple-darwin", "x86_64-apple-macosx", "x86_64-pc-windows-msvc",
        "x86_64-linux-gnux32", "x86_64-linux-musl", "x86_64-linux-gnu-coff",
        "aarch64-linux-android", "aarch64-linux-gnu_ilp32",
        "aarch64_be-linux-gnu", "aarch64_32-linux-gnu", "arm64ec-linux-gnu",
        "i386-linux-gnu", "riscv64-linux-gnu", "wasm32", "nonsense", "-",
        "linux-gnu"}) {
    auto files =
        compileAhead(*graph::prepareGraph(graph), requestFor("host", triple));
    ASSERT_FALSE(files) << triple;
    EXPECT_EQ(files.errors().front().code, ErrorCode::UnsupportedTarget)
        << triple << ": " << str(files.errors());
  }
}

TEST_F(Targets, WhatTheMachineLacksIsNamed) {
  Options options;
  options.targetCpu = "graniterapids";
  auto target = Target::resolve(options);
  ASSERT_TRUE(target);
  if (target->executable)
    GTEST_SKIP() << "this machine has all of them";
  auto compiled = Compiled::compile(model(), options);
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.errors().front().message.find(target->missingFeature),
            std::string::npos);
  EXPECT_NE(target->missingFeature, "");
}

} // namespace
