//===- VectorizeGroups_test.cpp - groups of neighbours of the output ------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/Passes.h"
#include "codegen/vector/GenericCase.h"

#include <gtest/gtest.h>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

class VectorizeGroups : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

/// Dims are (groups, columns, members): the output has groups of neighbours.
Case groupsCase(int64_t groups, int64_t columns, const char *type) {
  int64_t members = type == std::string("i16") ? 2 : 4;
  Case test;
  test.sizes = {groups, columns, members};
  test.reduction = "ppp";
  test.output = {{0, 1, 2}, type};
  test.result = "%a";
  test.reference = [](auto &v, double) { return v[0]; };
  return test;
}

TEST_F(VectorizeGroups, GroupsOfRows) {
  // K of weights [K, N]: members of a group are rows of the input.
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {1, 3, 8, 15, 16, 48, 53})
      for (bool dynamic : {false, true})
        for (int bits : {128, 256, 512}) {
          Case test = groupsCase(3, columns, type);
          test.inputs = {{{0, 2, 1}, type}};
          test.inputs[0].padding = 1;
          test.dynamic = dynamic;
          test.bits = bits;
          run(test);
        }
}

TEST_F(VectorizeGroups, GroupsOfComputedRows) {
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {5, 16, 40}) {
      Case test = groupsCase(2, columns, type);
      // The second is the same for a column, the third for a member.
      test.inputs = {{{0, 2, 1}, type}, {{1}, type}};
      test.body = std::string("%s = arith.addi %a, %b : ") + type;
      test.result = "%s";
      test.reference = [](auto &v, double) { return v[0] + v[1]; };
      run(test);
      test.inputs[1].dims = {2};
      run(test);
    }
}

TEST_F(VectorizeGroups, GroupsThatMove) {
  // K of keys [N, K]: groups lie together on both sides.
  for (const char *type : {"i16", "i8"})
    for (int64_t columns : {1, 7, 16, 37})
      for (int64_t groups : {3, 16, 35})
        for (bool dynamic : {false, true})
          for (int bits : {128, 256, 512}) {
            Case test = groupsCase(groups, columns, type);
            test.inputs = {{{1, 0, 2}, type}};
            test.inputs[0].offset = 1;
            test.dynamic = dynamic;
            test.bits = bits;
            run(test);
          }
}

TEST_F(VectorizeGroups, GroupsOfFew) {
  // The colours of pixels, from planes; and with something computed.
  for (const char *type : {"f32", "i16", "i8"})
    for (int64_t members : {2, 3, 4})
      for (int64_t columns : {1, 4, 15, 16, 37})
        for (bool dynamic : {false, true})
          for (int bits : {128, 256, 512}) {
            Case test = groupsCase(2, columns, type);
            test.sizes[2] = members;
            test.inputs = {{{0, 2, 1}, type}};
            test.inputs[0].padding = 1;
            test.dynamic = dynamic;
            test.bits = bits;
            run(test);
            if (type != std::string("f32"))
              continue;
            test.inputs.push_back({{2}, type});
            test.body = "%s = arith.addf %a, %b : f32";
            test.result = "%s";
            test.reference = [](auto &v, double) { return v[0] + v[1]; };
            run(test);
          }
}

TEST_F(VectorizeGroups, RepeatedRows) {
  // All members of a group are one element of the input.
  for (const char *type : {"f32", "i16"})
    for (int64_t members : {2, 3, 4})
      for (int64_t columns : {1, 4, 8, 33, 100})
        for (int bits : {128, 256, 512}) {
          Case test = groupsCase(3, columns, type);
          test.sizes[2] = members;
          test.inputs = {{{0, 1}, type}};
          test.bits = bits;
          run(test);
        }
}

TEST_F(VectorizeGroups, TakenApart) {
  // Planes from pixels: elements 2 to 5 steps apart, of which the last is the
  // last that may be read.
  for (const char *type : {"f32", "i16", "i8"})
    for (int64_t members : {2, 3, 4, 5})
      for (int64_t columns : {1, 4, 8, 16, 33, 100})
        for (bool dynamic : {false, true})
          for (int bits : {128, 256, 512}) {
            Case test = groupsCase(2, columns, type);
            test.sizes = {2, members, columns};
            test.inputs = {{{0, 2, 1}, type}};
            test.inputs[0].offset = 3;
            test.dynamic = dynamic;
            test.bits = bits;
            run(test);
          }
}

TEST_F(VectorizeGroups, OtherGroups) {
  // Eight bytes; and pairs that are added to what the output holds.
  Case test = groupsCase(4, 20, "i8");
  test.sizes[2] = 8;
  test.inputs = {{{0, 2, 1}, "i8"}};
  run(test);
  test = groupsCase(4, 20, "i16");
  test.inputs = {{{0, 2, 1}, "i16"}};
  test.body = "%s = arith.addi %a, %out : i16";
  test.result = "%s";
  test.reference = [](auto &v, double out) { return v[0] + out; };
  run(test);
}

} // namespace
