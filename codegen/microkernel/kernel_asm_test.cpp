//===- kernel_asm_test.cpp - what LLVM makes of the inner loops -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of a kernel must hold exactly its fused multiply-adds, on
// registers of the full width, and touch no stack. Compiled for CPUs that need
// not be this one.
//
//===----------------------------------------------------------------------===//
#include "codegen/microkernel/BrgemmHarness.h"
#include "codegen/microkernel/RegisterTile.h"

#include "gtest/gtest.h"

using namespace tenon::microkernel;
using namespace tenon::microkernel::testing;

namespace {

int64_t count(const std::string &text, const std::string &what) {
  int64_t result = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++result;
  return result;
}

/// The basic block with the most FMAs.
std::string innerLoop(const std::string &assembly) {
  std::string best;
  for (size_t at = assembly.find("\n.LBB"); at != std::string::npos;) {
    size_t next = assembly.find("\n.LBB", at + 1);
    std::string block = assembly.substr(at, next - at);
    if (count(block, "vfmadd") > count(best, "vfmadd"))
      best = block;
    at = next;
  }
  return best;
}

/// `k` steps, of which kernels of tiles that have the registers take two at
/// once, or, for "?", one.
void expectCleanLoop(const HarnessOptions &options, RegisterTile tile,
                     const char *registerName, bool unitK, bool prefetch,
                     const std::string &k = "?") {
  int64_t n = tile.vectors * options.vectorBits / 32;
  std::string a = unitK ? "memref<3x?x?xf32, strided<[?, ?, 1]>>"
                        : "memref<3x?x?xf32, strided<[?, ?, ?]>>";
  std::string b = "memref<3x64x" + std::to_string(n) + "xf32>";
  std::string c = "memref<" + std::to_string(tile.rows) + "x" +
                  std::to_string(n) + "xf32, strided<[?, 1]>>";
  a.replace(a.find("x?x?xf32"), 8,
            "x" + std::to_string(tile.rows) + "x" + k + "xf32");
  Compiled code = compileBrgemm(
      "func.func @f(%a: " + a + ", %b: " + b + ", %c: " + c +
          ") {\ntile.brgemm ins(%a, %b : " + a + ", " + b + ") outs(%c : " + c +
          ") " + (prefetch ? "prefetch_next " : "") + "register_tile [" +
          std::to_string(tile.rows) + ", " + std::to_string(tile.vectors) +
          "]\nreturn\n}\n",
      options, /*link=*/false);
  ASSERT_EQ(code.error, "");
  std::string loop = innerLoop(code.assembly);
  SCOPED_TRACE(std::to_string(tile.rows) + "x" + std::to_string(tile.vectors) +
               loop);
  EXPECT_EQ(count(loop, "vfmadd"), tile.rows * tile.vectors);
  EXPECT_GE(count(loop, registerName), 2 * tile.rows * tile.vectors);
  // One block of rows: each step prefetches all that the panel has for it.
  EXPECT_EQ(count(loop, "prefetch"), prefetch ? (n * 4 + 63) / 64 : 0);
  // Neither spilled accumulators nor reloaded addresses.
  EXPECT_EQ(count(loop, "(%rsp"), 0);
  EXPECT_EQ(count(loop, "(%rbp"), 0);
  EXPECT_EQ(count(loop, "vmovaps\t%"), 0); // Copies between registers.
}

TEST(KernelAsm, avx512) {
  HarnessOptions options;
  options.vectorBits = 512;
  options.numVectorRegisters = 32;
  options.cpu = "x86-64-v4";
  for (RegisterTile tile :
       {RegisterTile{8, 3}, RegisterTile{6, 4}, RegisterTile{12, 2},
        RegisterTile{14, 2}, RegisterTile{4, 4}, RegisterTile{1, 4}})
    for (bool unitK : {true, false})
      for (bool prefetch : {false, tile.rows >= 4})
        expectCleanLoop(options, tile, "%zmm", unitK, prefetch);
}

TEST(KernelAsm, avx2) {
  HarnessOptions options;
  options.cpu = "x86-64-v3";
  for (RegisterTile tile :
       {RegisterTile{4, 3}, RegisterTile{6, 2}, RegisterTile{3, 3},
        RegisterTile{1, 3}, RegisterTile{8, 1}})
    for (bool unitK : {true, false})
      for (bool prefetch : {false, tile.rows >= 4})
        expectCleanLoop(options, tile, "%ymm", unitK, prefetch);
  // Unrolled, eight rows of one vector would spill: they are not.
  expectCleanLoop(options, {8, 1}, "%ymm", true, false, "64");
}

} // namespace
