//===- VectorizeJam_test.cpp - iterations that pass together --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/Passes.h"
#include "codegen/vector/GenericCase.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

class VectorizeJam : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

/// Rows times weights of columns.
Case weighted(int64_t rows, int64_t columns) {
  Case test;
  test.sizes = {rows, columns};
  test.reduction = "pp";
  test.inputs = {{{0, 1}}, {{1}}};
  test.output = {{0, 1}};
  test.body = "%p = arith.mulf %a, %b : f32";
  test.result = "%p";
  test.attributes = "codegen.jam = 0 : i64";
  test.reference = [](auto &v, double) { return v[0] * v[1]; };
  return test;
}

TEST_F(VectorizeJam, SharesColumns) {
  for (int64_t rows : {0, 1, 2, 6, 7, 13, 26})
    for (int64_t columns : {1, 8, 33, 112})
      for (bool dynamic : {false, true}) {
        Case test = weighted(rows, columns);
        test.dynamic = dynamic;
        run(test);
      }
}

TEST_F(VectorizeJam, InStrips) {
  // Vectors of 16, 13 and more: strips of one length, of two, and a rest.
  for (int64_t vectors : {13, 15, 16, 19, 30})
    for (int64_t rest : {0, 5})
      for (int64_t rows : {1, 8}) {
        Case test = weighted(rows, vectors * 16 + rest);
        test.inputs[0].padding = 3;
        test.bits = 512;
        run(test);
      }
}

TEST_F(VectorizeJam, InFewSets) {
  for (int bits : {256, 512}) {
    Case test = weighted(9, 512);
    test.bits = bits;
    run(test);
  }
}

/// Sums of products of rows with one row of weights.
Case sums(int64_t rows, int64_t columns) {
  Case test;
  test.sizes = {rows, columns};
  test.reduction = "pr";
  test.inputs = {{{0, 1}}, {{1}}};
  test.output = {{0}};
  test.body = "%p = arith.mulf %a, %b : f32\n"
              "%s = arith.addf %out, %p : f32";
  test.result = "%s";
  test.attributes = "codegen.jam = 0 : i64";
  test.reference = [](auto &v, double old) { return old + v[0] * v[1]; };
  return test;
}

TEST_F(VectorizeJam, FoldsRowsTogether) {
  for (int64_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11})
    for (int64_t columns : {1, 5, 16, 33, 70, 144})
      for (bool dynamic : {false, true})
        for (int bits : {128, 256, 512}) {
          Case test = sums(rows, columns);
          test.dynamic = dynamic;
          test.bits = bits;
          run(test);
        }
}

TEST_F(VectorizeJam, FoldsRowsWithRestsWithoutMasks) {
  // Elements of 16 bits have no masked moves.
  for (int64_t rows : {3, 4, 9})
    for (int64_t columns : {15, 32, 77})
      for (int bits : {256, 512}) {
        Case test = sums(rows, columns);
        test.inputs[1].type = "i16";
        test.body = "%w = arith.sitofp %b : i16 to f32\n"
                    "%p = arith.mulf %a, %w : f32\n"
                    "%s = arith.addf %out, %p : f32";
        test.bits = bits;
        run(test);
      }
}

TEST_F(VectorizeJam, FoldsLargestOfRows) {
  for (int64_t rows : {2, 4, 7}) {
    Case test = sums(rows, 100);
    test.body = "%p = arith.mulf %a, %b : f32\n"
                "%c = arith.cmpf ogt, %out, %p : f32\n"
                "%s = arith.select %c, %out, %p : f32";
    test.reference = [](auto &v, double old) {
      return std::max(old, v[0] * v[1]);
    };
    test.bits = 512;
    run(test);
  }
}

TEST_F(VectorizeJam, FetchesEachRow) {
  Case test = weighted(7, 256);
  test.attributes += ", codegen.prefetch = array<i64: 512, 0>";
  run(test);
}

} // namespace
