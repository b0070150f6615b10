//===- Values_test.cpp - values that the command takes and gives ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Integers with all their digits, inputs of the user's, and results of graphs
// that make much of rounding errors.
//
//===----------------------------------------------------------------------===//
#include "tools/tenon/TestSupport.h"

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tenon::test {
namespace {

/// One operation from a tensor of `src` to one of `dst`, of two elements.
std::string oneOp(const std::string &kind, const std::string &src,
                  const std::string &dst, const std::string &attrs = "") {
  auto tensor = [](int id, const std::string &dtype) {
    return R"({"id": )" + std::to_string(id) + R"(, "dtype": ")" + dtype +
           R"(", "shape": [2], "stride": [1], "layout_type": "strided"})";
  };
  return R"({"version": "3.14.0", "graph": [{"id": 0, "name": "op", "kind": ")" +
         kind + R"(", "attrs": {)" + attrs + R"(}, "inputs": [)" +
         tensor(0, src) + R"(], "outputs": [)" + tensor(1, dst) + "]}]}";
}

/// An .npy file with two elements of 8 bytes.
template <typename T> void writePair(const std::string &path, T a, T b) {
  std::string header = std::string("{'descr': '") +
                       (std::is_integral_v<T> ? "<i8" : "<f8") +
                       "', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
  bytes += header + "\n";
  for (T value : {a, b})
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  writeTo(path, bytes);
}

TEST(Run, IntegersKeepAllDigits) {
  std::string model = scratch("s64.json"), in = scratch("s64_in.npy"),
              out = scratch("s64_out.npy");
  writeTo(model, oneOp("Reorder", "s64", "s64"));
  writePair<int64_t>(in, 9007199254740993, -9223372036854775807);
  std::string run = "run --repeat=1 --input=0=@" + in + " " + model;
  EXPECT_RESULT(tenon(run + " --output=1=@" + out), 0,
                "2xs64 [9007199254740993, -9223372036854775807] min "
                "-9223372036854775807 max 9007199254740993 mean");
  EXPECT_RESULT(tenon(run), 0, "check: passed");
  std::string wrote = contentOf(out), gave = contentOf(in);
  ASSERT_EQ(wrote.size(), gave.size());
  EXPECT_EQ(wrote.substr(128), gave.substr(128));
  EXPECT_RESULT(tenon(run + " --expect=1=@" + in), 0, "expected: as in");
  writePair<int64_t>(out, 9007199254740992, -9223372036854775807);
  EXPECT_RESULT(tenon(run + " --expect=1=@" + out), 3,
                "got 9007199254740993, expected 9007199254740992");
  // Floats for integers, where that is asked for: what the type holds.
  std::string cast = "run --repeat=1 --input=0=cast:@" + in + " " + model;
  writePair<double>(in, 0x1p62, -3);
  EXPECT_RESULT(tenon(cast), 0, "[4611686018427387904, -3]");
  writePair<double>(in, 0x1p63, -3);
  EXPECT_RESULT(tenon(cast), 1, "which s64 cannot hold");
}

TEST(Check, InputsAreGiven) {
  std::string model = scratch("exp.json"), in = scratch("exp_in.npy");
  writeTo(model, oneOp("Exp", "f32", "f32"));
  std::string check = "check --schedules=avx2,generic " + model;
  std::string input = " --input=op.src=cast:@" + in;
  for (auto [a, b] : {std::pair(double(NAN), double(INFINITY)),
                      {-double(INFINITY), -0.0},
                      {1e-45, 88.5}}) {
    writePair(in, a, b);
    EXPECT_RESULT(tenon(check + input), 0, "1 passed, 0 failed");
  }
  EXPECT_RESULT(tenon(check + " --input=0=rand:3"), 0, "1 passed, 0 failed");
  // What is given is what is checked, and repeated.
  writeTo(model, oneOp("TypeCast", "s8", "f32"));
  writePair(in, 1.0, 300.0);
  Result result = tenon(check + input);
  EXPECT_RESULT(result, 1, "element 1 is 300, which s8 cannot hold");
  EXPECT_RESULT(result, 1, "repeat: tenon check " + model + input);
  EXPECT_RESULT(tenon(check + " --input=1=ones"), 1, "no input of the graph");
  EXPECT_RESULT(tenon(std::string("check --input=fc1=3x512xf32 ") + kDynamic),
                1, "E1");
  EXPECT_RESULT(tenon(std::string("check --input=0=3x13xf32=iota ") + kDynamic),
                0, "1 passed, 0 failed");
}

/// LayerNorm leaves rounding errors of some elements, Reciprocal makes much of
/// them.
TEST(Check, IllConditionedGraphs) {
  std::string model = scratch("ill.json");
  std::string text = chainOf({"LayerNorm", "Abs", "Log", "Reciprocal"});
  for (size_t at; (at = text.find("[64]")) != text.npos;)
    text.replace(at, 4, "[64, 64]");
  for (size_t at; (at = text.find("\"stride\": [1]")) != text.npos;)
    text.replace(at, 13, "\"stride\": [64, 1]");
  std::string attrs = "\"kind\": \"LayerNorm\", \"attrs\": {";
  std::string said =
      R"("keep_stats": {"type": "bool", "value": 0},
         "use_affine": {"type": "bool", "value": 0})";
  text.insert(text.find(attrs) + attrs.size(), said);
  writeTo(model, text);
  for (const char *input : {"", " --input=0=iota", " --input=0=rand:5"}) {
    EXPECT_RESULT(tenon("check --schedules=avx2,generic " + model + input), 0,
                  "1 passed, 0 failed");
    EXPECT_RESULT(tenon("run --repeat=1 " + model + input), 0, "check: passed");
  }
}

} // namespace
} // namespace tenon::test
