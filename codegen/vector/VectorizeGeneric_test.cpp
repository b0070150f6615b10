//===- VectorizeGeneric_test.cpp - loops that become vectors --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "codegen/Passes.h"
#include "codegen/vector/GenericCase.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace tenon::codegen;
using namespace tenon::codegen::testing;

namespace {

class VectorizeGeneric : public ::testing::Test {
public:
  static void SetUpTestSuite() { registerCodegenPasses(); }
};

const int64_t kSizes[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,
                          17, 31, 32, 33, 63, 64, 65, 100, 127, 1000};

Case addCase(int64_t n) {
  Case test;
  test.sizes = {n};
  test.reduction = "p";
  test.inputs = {{{0}}, {{0}}};
  test.output = {{0}};
  test.body = "%r = arith.addf %a, %b : f32";
  test.result = "%r";
  test.reference = [](auto &v, double) { return v[0] + v[1]; };
  return test;
}

TEST_F(VectorizeGeneric, AddOfEverySize) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true})
      for (int bits : {128, 256}) {
        Case test = addCase(n);
        test.dynamic = dynamic;
        test.bits = bits;
        run(test);
      }
}

TEST_F(VectorizeGeneric, ReadsTheOutput) {
  Case test = addCase(37);
  test.body = "%s = arith.addf %a, %b : f32\n%r = arith.addf %s, %out : f32";
  test.reference = [](auto &v, double out) { return v[0] + v[1] + out; };
  run(test);
}

TEST_F(VectorizeGeneric, Broadcasts) {
  for (int64_t n : {1, 5, 8, 33})
    for (bool dynamic : {false, true})
      for (const std::vector<int> &dims :
           {std::vector<int>{1}, {0}, {-1, 1}, {0, -1}, {}}) {
        Case test = addCase(0);
        test.sizes = {6, n};
        test.reduction = "pp";
        test.dynamic = dynamic;
        test.inputs = {{{0, 1}}, {dims}};
        test.output = {{0, 1}};
        test.output.padding = 3;
        test.output.offset = 2;
        run(test);
      }
}

TEST_F(VectorizeGeneric, Transposes) {
  for (int64_t m : {1, 3, 7, 8, 9, 16, 23, 33})
    for (int64_t n : {1, 2, 8, 15, 24, 40})
      for (bool dynamic : {false, true}) {
        Case test = addCase(0);
        test.sizes = {m, n};
        test.reduction = "pp";
        test.dynamic = dynamic;
        test.inputs = {{{1, 0}}, {{0, 1}}};
        test.inputs[0].padding = 1;
        test.output = {{0, 1}};
        run(test);
      }
}

TEST_F(VectorizeGeneric, TransposesOfFourDims) {
  std::vector<int> permutation = {0, 1, 2, 3};
  do {
    for (const char *type : {"f32", "i8"}) {
      Case test;
      test.sizes = {3, 9, 10, 17};
      test.reduction = "pppp";
      test.inputs = {{permutation, type}};
      test.output = {{0, 1, 2, 3}, type};
      test.result = "%a";
      test.reference = [](auto &v, double) { return v[0]; };
      run(test);
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

Case sumCase(const Dims &sizes, unsigned mask) {
  Case test;
  test.sizes = sizes;
  OperandSpec in;
  for (size_t d = 0; d < sizes.size(); ++d) {
    bool reduced = mask >> d & 1;
    test.reduction += reduced ? 'r' : 'p';
    in.dims.push_back(d);
    if (!reduced)
      test.output.dims.push_back(d);
  }
  test.inputs = {in};
  test.body = "%r = arith.addf %a, %out : f32";
  test.result = "%r";
  test.reference = [](auto &v, double out) { return v[0] + out; };
  return test;
}

TEST_F(VectorizeGeneric, SumsOverEverySubset) {
  for (const Dims &sizes : {Dims{5, 3, 4, 9}, Dims{2, 17, 3, 33},
                            Dims{3, 1, 40, 1}, Dims{2, 0, 3, 8}})
    for (unsigned mask = 1; mask < 16; ++mask)
      for (bool dynamic : {false, true}) {
        Case test = sumCase(sizes, mask);
        test.dynamic = dynamic;
        run(test);
      }
}

TEST_F(VectorizeGeneric, SumsOfEverySize) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true}) {
      Case all = sumCase({n}, 1);
      all.dynamic = dynamic;
      run(all);
      Case columns = sumCase({6, n}, 1);
      columns.dynamic = dynamic;
      run(columns);
    }
}

TEST_F(VectorizeGeneric, OtherCombiners) {
  struct Combiner {
    const char *op;
    std::function<double(double, double)> apply;
  };
  for (const Combiner &combiner :
       {Combiner{"arith.maximumf",
                 [](double x, double y) { return std::max(x, y); }},
        {"arith.minimumf", [](double x, double y) { return std::min(x, y); }},
        {"arith.maxnumf", [](double x, double y) { return std::max(x, y); }},
        {"arith.mulf", [](double x, double y) { return x * y; }}})
    for (int64_t n : {3, 8, 29, 100}) {
      Case test = sumCase({4, n}, 2);
      test.body = std::string("%r = ") + combiner.op + " %a, %out : f32";
      test.reference = [&](auto &v, double out) {
        return combiner.apply(v[0], out);
      };
      run(test);
    }
}

TEST_F(VectorizeGeneric, IntegerSums) {
  for (int64_t n : {1, 7, 8, 13, 64, 100})
    for (unsigned mask : {1u, 2u, 3u}) {
      Case test = sumCase({5, n}, mask);
      test.inputs[0].type = "i8";
      test.output.type = "i32";
      test.body = "%e = arith.extsi %a : i8 to i32\n"
                  "%r = arith.addi %e, %out : i32";
      run(test);
    }
}

TEST_F(VectorizeGeneric, Contraction) {
  for (bool transposed : {false, true})
    for (bool dynamic : {false, true}) {
      Case test;
      test.sizes = {5, 19, 11};
      test.reduction = "ppr";
      test.dynamic = dynamic;
      test.inputs = {
          {{0, 2}},
          {transposed ? std::vector<int>{1, 2} : std::vector<int>{2, 1}}};
      test.output = {{0, 1}};
      test.body = "%m = arith.mulf %a, %b : f32\n"
                  "%r = arith.addf %m, %out : f32";
      test.result = "%r";
      test.reference = [](auto &v, double out) { return out + v[0] * v[1]; };
      run(test);
    }
}

// Rows that share weights, several at a time; some are left over.
TEST_F(VectorizeGeneric, Windows) {
  for (int64_t rows : {1, 5, 13})
    for (int64_t channels : {8, 16, 21, 35, 100})
      for (bool dynamic : {false, true}) {
        Case test;
        test.sizes = {rows, channels, 5};
        test.reduction = "ppr";
        test.dynamic = dynamic;
        test.inputs = {{{0, 1, 2}, "f32", {0, 2, 1}}, {{1, 2}, "f32", {1, 0}}};
        test.output = {{0, 1}};
        test.body = "%m = arith.mulf %a, %b : f32\n"
                    "%r = arith.addf %m, %out : f32";
        test.result = "%r";
        test.reference = [](auto &v, double out) { return out + v[0] * v[1]; };
        run(test);
      }
}

TEST_F(VectorizeGeneric, IndexValues) {
  for (int64_t n : {1, 8, 21})
    for (bool dynamic : {false, true}) {
      Case test = addCase(0);
      test.sizes = {3, n};
      test.reduction = "pp";
      test.dynamic = dynamic;
      test.inputs = {};
      test.output = {{0, 1}, "i32"};
      test.body = "%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n"
                  "%c = arith.constant 100 : index\n"
                  "%p = arith.muli %i, %c : index\n"
                  "%q = arith.addi %p, %j : index\n"
                  "%r = arith.index_cast %q : index to i32";
      test.reference = [](auto &v, double) { return 100 * v[0] + v[1]; };
      run(test);
    }
}

TEST_F(VectorizeGeneric, MixedWidths) {
  for (int64_t n : kSizes)
    for (bool dynamic : {false, true}) {
      Case test = addCase(n);
      test.dynamic = dynamic;
      test.inputs = {{{0}, "i8"}, {{0}}};
      test.body = "%z = arith.constant 0 : i8\n%h = arith.constant 0.5 : f32\n"
                  "%t = arith.cmpi ne, %a, %z : i8\n"
                  "%r = arith.select %t, %b, %h : f32";
      test.reference = [](auto &v, double) { return v[0] ? v[1] : 0.5; };
      run(test);
    }
}

TEST_F(VectorizeGeneric, IntegerDivisionNeverTraps) {
  for (int64_t n : {1, 5, 8, 11}) {
    Case test = addCase(n);
    for (OperandSpec *o : {&test.inputs[0], &test.inputs[1], &test.output})
      o->type = "i32";
    test.body = "%c = arith.constant 100 : i32\n%d = arith.addi %b, %c : i32\n"
                "%r = arith.divsi %a, %d : i32";
    test.reference = [](auto &v, double) {
      return std::trunc(v[0] / (v[1] + 100));
    };
    run(test);
  }
}

TEST_F(VectorizeGeneric, StridedOperands) {
  for (bool dynamic : {false, true})
    for (const std::vector<int> &order :
         {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}}) {
      Case test = addCase(0);
      test.sizes = {4, 9, 12};
      test.reduction = "ppp";
      test.dynamic = dynamic;
      test.inputs = {{{0, 1, 2}, "f32", order, 2, 5}, {{0, 1, 2}}};
      test.output = {{0, 1, 2}, "f32", {0, 2, 1}, 1, 3};
      run(test);
      std::swap(test.inputs[0].order, test.output.order);
      run(test);
    }
}

TEST_F(VectorizeGeneric, RankZero) {
  Case test = addCase(0);
  test.sizes = {};
  test.reduction = "";
  test.inputs = {{{}}, {{}}};
  test.output = {{}};
  run(test);
}

/// Compiles `body` as @f over `arguments` and calls it with two descriptors or
/// three.
void runText(const std::string &arguments, const std::string &body,
             std::vector<std::vector<int64_t>> descriptors) {
  auto jit = compileText("func.func @f(" + arguments +
                             ") attributes {llvm.emit_c_interface} {\n" + body +
                             "\nreturn\n}\n",
                         "tenon-vectorize-generic");
  ASSERT_TRUE(bool(jit)) << tenon::str(jit.errors());
  auto function = (*jit)->lookup("_mlir_ciface_f");
  ASSERT_TRUE(bool(function)) << tenon::str(function.errors());
  using P = void *;
  if (descriptors.size() == 2)
    reinterpret_cast<void (*)(P, P)>(*function)(descriptors[0].data(),
                                                descriptors[1].data());
  else
    reinterpret_cast<void (*)(P, P, P)>(*function)(
        descriptors[0].data(), descriptors[1].data(), descriptors[2].data());
}

TEST_F(VectorizeGeneric, ElementsAndTheirRowSum) {
  for (int64_t n : {3, 8, 50, 77}) {
    std::string matrix = "memref<4x" + std::to_string(n) + "xf32>";
    std::vector<float> x(4 * n), y(4 * n), sums(4, 1);
    for (int64_t i = 0; i < 4 * n; ++i)
      x[i] = float(i % 13);
    runText("%x: " + matrix + ", %y: " + matrix + ", %s: memref<4xf32>",
            "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
            "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], "
            "iterator_types = [\"parallel\", \"reduction\"]} ins(%x : " +
                matrix + ") outs(%y, %s : " + matrix +
                ", memref<4xf32>) {\n^bb0(%a: f32, %b: f32, %c: f32):\n"
                "%p = arith.addf %a, %a : f32\n%q = arith.addf %p, %c : f32\n"
                "linalg.yield %p, %q : f32, f32\n}",
            {makeDescriptor(x.data(), 0, {4, n}, {n, 1}),
             makeDescriptor(y.data(), 0, {4, n}, {n, 1}),
             makeDescriptor(sums.data(), 0, {4}, {1})});
    for (int64_t i = 0; i < 4; ++i) {
      float sum = 1;
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(y[i * n + j], 2 * x[i * n + j]);
        sum += y[i * n + j];
      }
      EXPECT_EQ(sums[i], sum) << n;
    }
  }
}

TEST_F(VectorizeGeneric, MapsWithSums) {
  // A one-dimensional convolution: x[2 i + k] summed over k.
  std::vector<float> x(2 * 20 + 3), y(20, 0);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * i % 17);
  runText("%x: memref<43xf32>, %y: memref<20xf32>",
          "%w = memref.alloca() : memref<3xf32>\n"
          "linalg.generic {indexing_maps = [affine_map<(i, k) -> (i * 2 + k)>,"
          " affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], "
          "iterator_types = [\"parallel\", \"reduction\"]} ins(%x, %w : "
          "memref<43xf32>, memref<3xf32>) outs(%y : memref<20xf32>) {\n"
          "^bb0(%a: f32, %b: f32, %o: f32):\n%r = arith.addf %a, %o : f32\n"
          "linalg.yield %r : f32\n}",
          {makeDescriptor(x.data(), 0, {43}, {1}),
           makeDescriptor(y.data(), 0, {20}, {1})});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(y[i], x[2 * i] + x[2 * i + 1] + x[2 * i + 2]);
}

TEST_F(VectorizeGeneric, FillAndCopy) {
  std::vector<float> x(45), y(45);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  runText("%x: memref<45xf32>, %y: memref<45xf32>",
          "linalg.copy ins(%x : memref<45xf32>) outs(%y : memref<45xf32>)\n"
          "%c = arith.constant 2.5 : f32\n"
          "linalg.fill ins(%c : f32) outs(%x : memref<45xf32>)",
          {makeDescriptor(x.data(), 0, {45}, {1}),
           makeDescriptor(y.data(), 0, {45}, {1})});
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i], 2.5f);
    EXPECT_EQ(y[i], float(i));
  }
}

TEST_F(VectorizeGeneric, Booleans) {
  // One byte per element, whatever vectors of i1 look like.
  std::vector<float> x(21);
  std::vector<uint8_t> y(21, 9);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 3) - 1;
  runText("%x: memref<21xf32>, %y: memref<21xi1>",
          "%z = arith.constant 0.0 : f32\n"
          "linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
          "affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} ins(%x :"
          " memref<21xf32>) outs(%y : memref<21xi1>) {\n^bb0(%a: f32, %o: i1):"
          "\n%r = arith.cmpf ogt, %a, %z : f32\nlinalg.yield %r : i1\n}",
          {makeDescriptor(x.data(), 0, {21}, {1}),
           makeDescriptor(y.data(), 0, {21}, {1})});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], x[i] > 0 ? 1 : 0);
}

TEST_F(VectorizeGeneric, LoadsInTheBody) {
  // y[i, j] = x[n - 1 - i, perm(j)], perm a reversal or nothing: gathers and
  // vector loads.
  for (bool reverse : {false, true})
    for (int64_t n : {1, 5, 8, 19}) {
      std::vector<float> x(n * n), y(n * n);
      for (int64_t i = 0; i < n * n; ++i)
        x[i] = float(i);
      std::string size = std::to_string(n);
      std::string type = "memref<" + size + "x" + size + "xf32>";
      runText("%x: " + type + ", %y: " + type,
              "%n = arith.constant " + std::to_string(n - 1) +
                  " : index\nlinalg.generic {indexing_maps = [affine_map<(i, "
                  "j) -> (i, j)>], iterator_types = [\"parallel\", "
                  "\"parallel\"]} outs(%y : " +
                  type +
                  ") {\n^bb0(%o: f32):\n%i = linalg.index 0 : index\n"
                  "%j = linalg.index 1 : index\n"
                  "%p = arith.subi %n, %i : index\n"
                  "%q = arith.subi %n, %j : index\n"
                  "%r = memref.load %x[%p, " +
                  (reverse ? "%q" : "%j") + "] : " + type +
                  "\nlinalg.yield %r : f32\n}",
              {makeDescriptor(x.data(), 0, {n, n}, {n, 1}),
               makeDescriptor(y.data(), 0, {n, n}, {n, 1})});
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          ASSERT_EQ(y[i * n + j],
                    x[(n - 1 - i) * n + (reverse ? n - 1 - j : j)]);
    }
}

} // namespace
