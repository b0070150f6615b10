//===-- devinfo_test.cpp - plausibility of what is measured ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "tools/devinfo/DevInfo.h"
#include "tools/devinfo/Kernels.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

using namespace tenon::devinfo;

namespace {

TEST(DevInfo, describesTheCpu) {
  DevInfo info = describeMachine();
  EXPECT_FALSE(info.cpuName.empty());
  EXPECT_GE(info.allowedCpus, 1);
#if defined(__x86_64__)
  EXPECT_TRUE(info.hasIsa("sse2"));
#endif
  EXPECT_FALSE(info.hasIsa("avx1024"));
  EXPECT_EQ(info.cacheBytes(9), 0);
}

// The kernel's own list is an independent witness.
TEST(DevInfo, isaAgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0)
    ;
  if (!file)
    GTEST_SKIP() << "no /proc/cpuinfo";
  line += " ";
  DevInfo info = describeMachine();
  for (const char *name :
       {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl",
        "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile", "amx_bf16"})
    EXPECT_EQ(info.hasIsa(name),
              line.find(" " + std::string(name) + " ") != std::string::npos)
        << name;
}

TEST(DevInfo, cachesArePlausible) {
  DevInfo info = describeMachine();
  if (info.caches.empty())
    GTEST_SKIP() << "the system describes no caches";
  for (const CacheInfo &cache : info.caches) {
    EXPECT_GE(cache.level, 1);
    EXPECT_GE(cache.bytes, 1024);
    EXPECT_LE(cache.bytes, int64_t(8) << 30);
    EXPECT_GE(cache.sharedBy, 1);
    EXPECT_TRUE(cache.type == "data" || cache.type == "instruction" ||
                cache.type == "unified")
        << cache.type;
  }
  if (info.cacheBytes(2))
    EXPECT_GT(info.cacheBytes(2), info.cacheBytes(1));
}

TEST(DevInfo, kernelsTouchExactlyTheirBytes) {
  DevInfo info = describeMachine();
  std::vector<Width> widths = {Width::Plain};
  if (info.hasIsa("avx2"))
    widths.push_back(Width::Ymm);
  if (info.hasIsa("avx512f"))
    widths.push_back(Width::Zmm);
  constexpr int kBytes = 1024;
  for (Width width : widths) {
    alignas(64) char from[kBytes], to[kBytes + 64];
    for (int i = 0; i < kBytes; ++i)
      from[i] = char(i * 7);
    std::fill(std::begin(to), std::end(to), char(99));
    copyAll(width, to, from, kBytes);
    EXPECT_TRUE(std::equal(from, from + kBytes, to));
    EXPECT_EQ(to[kBytes], 99);
    writeAll(width, to, kBytes);
    EXPECT_FALSE(std::equal(from, from + kBytes, to));
    EXPECT_EQ(to[kBytes - 4] | to[kBytes - 8], 1);
    EXPECT_EQ(to[kBytes], 99);
    readAll(width, from, kBytes);
  }
}

TEST(DevInfo, measurementsArePlausible) {
  DevInfo info = measureMachine(/*quick=*/true);
  // Wide limits: sanitizers and busy machines measure too.
  EXPECT_LT(info.seconds, 20);
  if (info.hasIsa("avx2") && info.hasIsa("fma")) {
    EXPECT_GT(info.fmaGflopsYmm, 0.1);
    EXPECT_LT(info.fmaGflopsYmm, 1000);
  }
  EXPECT_EQ(info.fmaGflopsZmm > 0, info.hasIsa("avx512f"));
  ASSERT_FALSE(info.bandwidths.empty());
  for (const LevelBandwidth &entry : info.bandwidths) {
    SCOPED_TRACE(entry.level);
    EXPECT_GT(entry.bytes, 0);
    for (double rate : {entry.gbPerSecond.read, entry.gbPerSecond.write,
                        entry.gbPerSecond.copy}) {
      EXPECT_GT(rate, 0.01);
      EXPECT_LT(rate, 20000);
    }
  }
  EXPECT_EQ(info.bandwidths.back().level, "DRAM");
  EXPECT_EQ(info.bandwidths.back().threads, info.allowedCpus);
}

TEST(DevInfo, printsTextAndJson) {
  DevInfo info;
  info.cpuName = "Quote \" and bad \xff byte";
  info.isa = {"avx2"};
  info.caches = {{1, "data", 32768, 64, 8, 2}};
  info.allowedCpus = 2;
  info.fmaGflopsYmm = 97.5;
  info.bandwidths = {{"DRAM", 64 << 20, 2, {10.5, 5.25, 8}}};
  std::ostringstream text;
  info.printText(text);
  for (const char *piece :
       {"cpu:      Quote", "2 allowed", " avx2",
        "L1 data, 32 KiB, 8 ways, 64-byte lines, shared by 2",
        "97.5 GFLOP/s, 1 thread, 256 bits", "10.5 read", "5.2 write",
        "64 MiB, 2 threads"})
    EXPECT_NE(text.str().find(piece), std::string::npos) << piece << " in\n"
                                                         << text.str();
  EXPECT_EQ(text.str().find("512 bits"), std::string::npos);

  auto json = nlohmann::json::parse(info.toJson(), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["isa"][0], "avx2");
  EXPECT_EQ(json["caches"][0]["bytes"], 32768);
  EXPECT_EQ(json["fmaGflopsYmm"], 97.5);
  EXPECT_EQ(json["bandwidths"][0]["gbPerSecond"]["write"], 5.25);
}

} // namespace
