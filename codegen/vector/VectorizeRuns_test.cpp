//===- VectorizeRuns_test.cpp - neighbours that read the same element -----===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/Passes.h"
#include "codegen/vector/GenericCase.h"

#include <gtest/gtest.h>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

class VectorizeRuns : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

/// Sums over taps of x[column, tap, run of c] * w[tap, c]: (column, c, tap).
Case groupsCase(int64_t columns, int64_t channels, int64_t run, int64_t phase) {
  Case test;
  test.sizes = {columns, channels, 3};
  test.reduction = "ppr";
  test.inputs = {{{0, 2, 1}}, {{2, 1}}};
  test.inputs[0].run = run;
  test.inputs[0].phase = phase;
  test.output = {{0, 1}};
  test.body = "%p = arith.mulf %a, %b : f32\n%s = arith.addf %out, %p : f32";
  test.result = "%s";
  test.reference = [](auto &v, double out) { return out + v[0] * v[1]; };
  return test;
}

TEST_F(VectorizeRuns, AreTheLanes) {
  // Vectors of each width, masked ends, and as many columns as share loads.
  for (int64_t length : {2, 4, 8})
    for (int64_t channels :
         {length, 3 * length, 5 * length, int64_t(32), int64_t(72)})
      for (int64_t columns : {1, 5, 27})
        for (int bits : {128, 256, 512}) {
          Case test = groupsCase(columns, channels, length, length - 1);
          test.bits = bits;
          run(test);
        }
}

TEST_F(VectorizeRuns, SizesAtRunTime) {
  for (int64_t length : {2, 4, 8})
    for (int64_t phase : {int64_t(0), length / 2})
      for (int bits : {128, 512}) {
        Case test = groupsCase(7, 24, length, phase);
        test.dynamic = true;
        test.bits = bits;
        run(test);
      }
}

TEST_F(VectorizeRuns, AreNoLanes) {
  // Columns lie together: elements within runs are found one by one.
  for (int64_t length : {2, 3, 4})
    for (int bits : {256, 512}) {
      Case test = groupsCase(33, 2 * length, length, 1);
      test.inputs[0].order = {2, 1, 0};
      test.output.order = {1, 0};
      test.bits = bits;
      run(test);
    }
}

TEST_F(VectorizeRuns, OfNoPowerOfTwo) {
  for (int64_t channels : {3, 12, 48})
    for (bool dynamic : {false, true}) {
      Case test = groupsCase(5, channels, 3, 2);
      test.dynamic = dynamic;
      run(test);
    }
}

TEST_F(VectorizeRuns, LongerThanVectors) {
  for (int64_t length : {8, 16, 32})
    for (bool dynamic : {false, true}) {
      Case test = groupsCase(3, 2 * length, length, 5);
      test.dynamic = dynamic;
      test.bits = 128;
      run(test);
    }
}

TEST_F(VectorizeRuns, OfAReduction) {
  // Neighbours that are summed.
  for (int64_t length : {4, 16})
    for (int bits : {256, 512}) {
      Case test;
      test.sizes = {3, 5 * length};
      test.reduction = "pr";
      test.inputs = {{{0, 1}}, {{1}}};
      test.inputs[0].run = length;
      test.inputs[0].phase = 1;
      test.output = {{0}};
      test.body =
          "%p = arith.mulf %a, %b : f32\n%s = arith.addf %out, %p : f32";
      test.result = "%s";
      test.reference = [](auto &v, double out) { return out + v[0] * v[1]; };
      test.bits = bits;
      run(test);
    }
}

TEST_F(VectorizeRuns, WithoutSums) {
  for (int64_t columns : {1, 16, 19})
    for (int bits : {128, 256, 512}) {
      Case test;
      test.sizes = {columns, 20};
      test.reduction = "pp";
      test.inputs = {{{0, 1}}, {{1}}};
      test.inputs[0].run = 4;
      test.inputs[0].phase = 3;
      test.output = {{0, 1}};
      test.body = "%s = arith.subf %a, %b : f32";
      test.result = "%s";
      test.reference = [](auto &v, double) { return v[0] - v[1]; };
      test.bits = bits;
      run(test);
    }
}

} // namespace
