// SPDX-License-Identifier: Apache-2.0
// Every operation, compiled at 10^6 elements, has an inner loop that loads
// whole vectors and computes with them.  For data movement an exception in the
// table of operations (vectorException) means that it may copy memory instead,
// and for searches that one element decides about the next.
#include "compiler/driver/Session.h"
#include "dialects/graph/OpTable.h"
#include "tests/ops/GraphText.h"
#include "tests/vectorcode/Loops.h"
#include "tests/vectorcode/Million.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

using namespace tenon;
using namespace tenon::test;

namespace {

class VectorCode : public testing::TestWithParam<std::string> {};

/// The most vectorised loop, for the table.
const Loop *bestLoop(const std::vector<Loop> &loops) {
  auto best = std::max_element(
      loops.begin(), loops.end(), [](const Loop &a, const Loop &b) {
        return std::min(a.vectorLoads, a.vectorArithmetic) <
               std::min(b.vectorLoads, b.vectorArithmetic);
      });
  return best == loops.end() ? nullptr : &*best;
}

TEST_P(VectorCode, HotLoopLoadsAndComputesWithVectors) {
  auto g = parseGraph(GetParam());
  ASSERT_TRUE(g) << str(g.errors());
  const graph::OpInfo *info = graph::lookupOp(g->ops[0].kind);
  ASSERT_TRUE(info);
  for (const char *schedule : {"avx2", "avx512"}) {
    Options options;
    options.schedule = schedule;
    if (std::string_view(schedule) == "avx512")
      options.targetCpu = "x86-64-v4"; // need not run here
    auto assembly = assemblyOf(*graph::prepareGraph(*g), options);
    ASSERT_TRUE(assembly) << str(assembly.errors());
    std::vector<Loop> loops = innermostLoops(*assembly);
    const Loop *best = bestLoop(loops);
    bool vector = best && best->vectorLoads > 0 && best->vectorArithmetic > 0;
    std::printf("%-20s %-7s %3d vector loads, %3d vector operations of %3d "
                "instructions in %s\n",
                g->ops[0].kind.c_str(), schedule, best ? best->vectorLoads : 0,
                best ? best->vectorArithmetic : 0,
                best ? best->instructions : 0,
                best ? best->function.c_str() : "no loop");
    bool mayBeExcused = info->category == "data_movement" ||
                        info->opClass == graph::OpClass::search;
    bool excused = mayBeExcused && !info->vectorException.empty();
    EXPECT_TRUE(vector || excused) << GetParam() << ", " << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(All, VectorCode, testing::ValuesIn(millionCases()),
                         [](const auto &info) {
                           auto g = parseGraphOnly(info.param);
                           return g ? g->ops[0].kind : info.param;
                         });

/// Casts between all types but those AVX2 has no instructions for (64-bit
/// integers and f32) and those that change no bits.
std::vector<std::string> castCases() {
  std::vector<std::string> cases;
  const std::string types[] = {"f32", "s64", "s32", "s8", "u8", "boolean"};
  for (const std::string &from : types)
    for (const std::string &to : types) {
      bool wide =
          (from == "s64" && to == "f32") || (from == "f32" && to == "s64");
      bool sameBits =
          (from == "s8" && to == "u8") || (from == "u8" && to == "s8");
      if (from != to && !wide && !sameBits)
        cases.push_back("y/" + to + " = TypeCast 1000000/" + from);
    }
  return cases;
}

/// No instruction divides integers, and those of 64 bits are not multiplied by
/// AVX2.
std::vector<std::string> integerCases() {
  std::vector<std::string> cases;
  for (std::string type : {"s64", "s32", "s8", "u8"}) {
    std::string operands = " 1000000/" + type + " 1000000/" + type;
    for (std::string kind : {"Add", "Maximum", "Divide", "Multiply"})
      if (type != "s64" || kind == "Add" || kind == "Maximum")
        cases.push_back("y/" + type + " = " + kind + operands);
    for (std::string kind : {"Equal", "Greater"})
      cases.push_back("y/boolean = " + kind + operands);
    cases.push_back("y/" + type + " = Select 1000000/boolean" + operands);
    cases.push_back("y/" + type + " = ReduceSum 1000x1000/" + type + " axes=1");
  }
  return cases;
}

std::string textAsName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Casts, VectorCode, testing::ValuesIn(castCases()),
                         textAsName);
INSTANTIATE_TEST_SUITE_P(Integers, VectorCode,
                         testing::ValuesIn(integerCases()), textAsName);

/// Between the products of an attention group stand two loops per row: score
/// and maximum, exponential and sum.
TEST(Attention, RowsAreVectors) {
  auto g = parseGraph("s = MatMul 96x64 384x64 transpose_b=true; "
                      "d = Divide s (); c = Tanh d; m = Add c 384; "
                      "p = SoftMax m axis=-1; MatMul p 384x64");
  ASSERT_TRUE(g) << str(g.errors());
  for (const char *schedule : {"avx2", "avx512"}) {
    Options options;
    options.schedule = schedule;
    if (std::string_view(schedule) == "avx512")
      options.targetCpu = "x86-64-v4"; // need not run here
    auto assembly = assemblyOf(*graph::prepareGraph(*g), options);
    ASSERT_TRUE(assembly) << str(assembly.errors());
    // tanh and exp are at least ten operations each.
    int loops = 0;
    for (const Loop &loop : innermostLoops(*assembly))
      loops += loop.vectorLoads > 0 && loop.vectorStores > 0 &&
               loop.vectorArithmetic >= 10;
    EXPECT_GE(loops, 2) << schedule;
  }
}

/// Winograd: the transforms of src and dst load, compute and store
/// whole vectors, and no scalar f32 arithmetic is left anywhere.
TEST(Winograd, TransformsAreVectors) {
  auto g = parseGraph("y = Convolution 1x28x27x64 3x3x64x96c 96 strides=1,1 "
                      "dilations=1,1 pads_begin=1,1 pads_end=1,1; "
                      "r = Add y 1x28x27x96; ReLU r");
  ASSERT_TRUE(g) << str(g.errors());
  for (auto [schedule, fastMath] : {std::pair("avx2", false),
                                    {"avx512", false},
                                    {"avx2", true},
                                    {"avx512", true}}) {
    Options options;
    options.schedule = schedule;
    options.winograd = "always";
    options.fastMath = fastMath;
    // 32 operations from 16 elements to 16 points, 144 from 36 to 36; back from
    // two rows of points at least, and the epilogue.
    int points = fastMath ? 36 : 16, operations = fastMath ? 144 : 32;
    int stored = fastMath ? 16 : 4, back = fastMath ? 60 : 12;
    // The same code on every machine; it need not run here.
    options.targetCpu =
        std::string_view(schedule) == "avx512" ? "x86-64-v4" : "x86-64-v3";
    auto assembly = assemblyOf(*graph::prepareGraph(*g), options);
    ASSERT_TRUE(assembly) << str(assembly.errors());
    int fromSrc = 0, toDst = 0;
    for (const Loop &loop : innermostLoops(*assembly)) {
      fromSrc +=
          loop.vectorStores >= points && loop.vectorArithmetic >= operations;
      toDst += loop.vectorStores >= 2 && loop.vectorStores <= stored &&
               loop.vectorArithmetic >= back;
    }
    for (const char *scalar : {"addss", "subss", "mulss", "addsd", "subsd"})
      EXPECT_EQ(assembly->find(scalar), std::string::npos)
          << schedule << ": " << scalar;
    EXPECT_GE(fromSrc, 2) << schedule;
    EXPECT_GE(toDst, 2) << schedule;
  }
}

TEST(Loops, CountsVectorsOfInnermostLoops) {
  const char *text = "f:\n"
                     "\tvmovups (%rax), %ymm9\n"
                     ".LBB0_1:\n"
                     "\taddq $1, %rcx\n"
                     ".LBB0_2:\n"
                     "\tvmovups 32(%rdi,%rcx,4), %ymm0\n"
                     "\tvaddps -8(%rsi), %ymm0, %ymm1\n"
                     "\tvaddss %xmm0, %xmm1, %xmm1\n"
                     "\tvmovups %ymm1, (%rdx,%rcx,4)\n"
                     "\tvmovups %ymm2, 32(%rsp)\n"
                     "\tjl\t.LBB0_2\n"
                     "\tjl .LBB0_1\n"
                     "g:\n"
                     ".LBB1_1:\n"
                     "\tvaddss (%rax), %xmm1, %xmm1\n"
                     "\tjne .LBB1_1\n"
                     "\tjmp .LBB1_3\n"
                     ".LBB1_3:\n"
                     "\tretq\n";
  std::vector<Loop> loops = innermostLoops(text);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].function, "f");
  EXPECT_EQ(loops[0].instructions, 6);
  EXPECT_EQ(loops[0].vectorLoads, 2);
  EXPECT_EQ(loops[0].vectorStores, 1);
  EXPECT_EQ(loops[0].vectorArithmetic, 1);
  EXPECT_EQ(loops[1].function, "g");
  EXPECT_EQ(loops[1].vectorLoads + loops[1].vectorArithmetic, 0);
}

/// Unvectorised code of the same compiler must not pass.
TEST(Loops, NarrowCodeIsNotVectorCode) {
  auto g = parseGraph("ReLU 1000000");
  ASSERT_TRUE(g);
  Options options;
  options.schedule = "generic";
  options.targetCpu = "x86-64-v2";
  auto assembly = assemblyOf(*graph::prepareGraph(*g), options);
  ASSERT_TRUE(assembly) << str(assembly.errors());
  std::vector<Loop> loops = innermostLoops(*assembly);
  ASSERT_FALSE(loops.empty());
  for (const Loop &loop : loops)
    EXPECT_EQ(loop.vectorArithmetic, 0);
}

} // namespace
