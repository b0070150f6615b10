// SPDX-License-Identifier: Apache-2.0
// Products of floats with quantised weights where floats become bytes that
// share an exponent: rounding, and what floats have beside numbers. Without
// VNNI they are products of f32, for which the same holds.
#include "compiler/check/Fill.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <cmath>
#include <cstdlib>
#include <limits>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string product(const std::string &rows, const std::string &type) {
  return "w/f32 = DynamicDequantize 256x260/" + type +
         "c 8x260c qtype=per_group group_shape=32,1; MatMul x:" + rows +
         "x256 w";
}

std::string narrowProduct(const std::string &rows, const std::string &type) {
  return "w/f32 = DynamicDequantize 256x260/s4c 8x260c qtype=per_group "
         "group_shape=32,1; v/" +
         type + " = TypeCast w; MatMul " + rows + "x256/" + type + " v";
}

RunConfig onHost(int threads = 1) {
  RunConfig config;
  config.threads = threads;
  return config;
}

/// The product of `rows` rows with `change(row, k, x)` for each element.
Expected<Oracle> changed(const std::string &rows, const std::string &type,
                         double (*change)(int64_t, int64_t, double)) {
  auto graph = parseGraph(product(rows, type));
  if (!graph)
    return graph.errors();
  auto oracle = Oracle::unjudged(*graph);
  if (!oracle)
    return oracle;
  Tensors inputs = std::move(oracle->inputs);
  for (auto &[id, tensor] : inputs)
    if (tensor.shape.size() == 2 && tensor.shape[1] == 256) {
      for (int64_t i = 0; i < tensor.numElements(); ++i)
        tensor.data[i] = change(i / 256, i % 256, tensor.data[i]);
      reference::roundToDType(tensor);
    }
  return Oracle::bounded(*graph, std::move(inputs));
}

/// Fractions as inputs of `text`, judged by the bound of its graph alone.
void expectWithinBound(const std::string &text, const char *mode = "strict") {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << str(graph.errors());
  graph->fpmathMode = mode;
  auto oracle = Oracle::bounded(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(checkGraph(*oracle, onHost(2))) << text << ", " << mode;
}

TEST(Slices, RoundWithinTheBoundOfF32) {
  for (const char *type : {"s8", "u8", "s4", "u4"})
    for (const char *rows : {"1", "2", "3", "4", "5", "16", "33"})
      expectWithinBound(product(rows, type));
}

/// Two bytes for bf16.
TEST(Slices, OfNarrowFloatsRoundWithinTheirBound) {
  for (const char *type : {"bf16", "f16"})
    for (const char *rows : {"1", "5", "6", "40"})
      expectWithinBound(narrowProduct(rows, type));
}

TEST(Slices, RoundAsTheModeOfTheGraphAllows) {
  for (const char *mode : {"bf16", "tf32"})
    expectWithinBound(product("6", "s8"), mode);
}

TEST(Slices, AnElementMayBeMuchGreaterThanOthers) {
  auto oracle = changed("6", "s4", [](int64_t row, int64_t k, double x) {
    return k == 7 * row ? x * std::ldexp(1.0, static_cast<int>(3 * row)) : x;
  });
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(checkGraph(*oracle, onHost()));
}

TEST(Slices, GroupsHaveExponentsOfTheirOwn) {
  auto oracle = changed("4", "u4", [](int64_t row, int64_t k, double x) {
    // Groups of 32, each of another size; the last row is very small.
    return std::ldexp(x, static_cast<int>(row == 3 ? -90 : k / 32 * row));
  });
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(checkGraph(*oracle, onHost()));
}

TEST(Slices, PowersOfTwoAndTheirNeighboursAreGreatest) {
  // What follows 2^n, what is before it, and the greatest that three signed
  // bytes hold, above which the exponent is one more.
  auto oracle = changed("6", "s8", [](int64_t row, int64_t k, double x) {
    const double greatest[] = {1.0,
                               std::nextafter(1.0f, 2.0f),
                               std::nextafter(1.0f, 0.0f),
                               static_cast<double>(0x7f7f7f) / (1 << 23),
                               static_cast<double>(0x7f7f80) / (1 << 23),
                               -1.0};
    return k % 32 == 0 ? greatest[row] : x / 1024;
  });
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(checkGraph(*oracle, onHost()));
}

TEST(Slices, ZerosAndTheGreatestFloats) {
  auto oracle = changed("3", "s8", [](int64_t row, int64_t k, double) {
    return row == 0 ? 0.0 : row == 1 ? -0.0 : k == 5 ? 1e38 : 0.0;
  });
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(checkGraph(*oracle, onHost()));
}

/// An infinite element makes all of its row infinite, or NaN where its weight
/// is 0; NaN makes all of it NaN; other rows are as they were.
TEST(Slices, InfinityAndNaNStayInTheirRows) {
  auto oracle = changed("5", "s4", [](int64_t row, int64_t k, double x) {
    if (row == 1 && k == 40)
      return kInf;
    if (row == 2 && k == 255)
      return -kInf;
    return row == 4 && k == 3 ? std::nan("") : x;
  });
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto model = Compiled::compile(oracle->graph, {});
  ASSERT_TRUE(model) << str(model.errors());
  auto results = execute(**model, *oracle, onHost());
  ASSERT_TRUE(results) << str(results.errors());
  auto &[id, got] = *results->begin();
  const std::vector<double> &expected = oracle->expected.at(id).data;
  int64_t special = 0;
  for (int64_t i = 0; i < got.numElements(); ++i) {
    double g = got.data[i], e = expected[i];
    if (std::isfinite(e)) {
      EXPECT_NEAR(g, e, 1e-4 * (1 + std::fabs(e))) << i;
      continue;
    }
    ++special;
    EXPECT_TRUE(std::isnan(e) ? std::isnan(g) : g == e)
        << i << ": " << g << ", expected " << e;
  }
  EXPECT_EQ(special, 3 * 260);
}

/// Bytes of an element of src where `text` becomes products of bytes on `cpu`,
/// otherwise 0.
int slicesOf(const std::string &text, const char *cpu,
             const char *mode = "strict") {
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << str(graph.errors());
  graph->fpmathMode = mode;
  Options options;
  options.targetCpu = cpu;
  auto ir = lowerToPhase(*graph::prepareGraph(*graph), options, "quantize");
  EXPECT_TRUE(ir) << str(ir.errors());
  size_t op = ir ? ir->find("tile.to_int8_slices") : std::string::npos;
  const std::string word = " slices = ";
  return op == std::string::npos
             ? 0
             : std::atoi(ir->c_str() + ir->find(word, op) + word.size());
}

bool makesSlices(const std::string &text, const char *cpu) {
  return slicesOf(text, cpu) > 0;
}

TEST(Slices, AreMadeWhereBytesAreMultipliedInFours) {
  std::string text = product("4", "s4");
  EXPECT_TRUE(makesSlices(text, "znver4"));
  EXPECT_TRUE(makesSlices(text, "alderlake")); // VNNI with 256 bits
  EXPECT_FALSE(makesSlices(text, "skylake-avx512"));
  EXPECT_FALSE(makesSlices(text, "x86-64-v3"));
}

TEST(Slices, AreTwoWhereElementsHaveFewBits) {
  EXPECT_EQ(slicesOf(product("4", "s4"), "znver4"), 3);
  EXPECT_EQ(slicesOf(product("4", "s4"), "znver4", "bf16"), 2);
  EXPECT_EQ(slicesOf(product("4", "s4"), "znver4", "tf32"), 2);
  EXPECT_EQ(slicesOf(narrowProduct("4", "bf16"), "znver4"), 2);
  EXPECT_EQ(slicesOf(narrowProduct("4", "f16"), "znver4"), 3);
}

TEST(Slices, ColumnsWithOneScaleHaveGroupsToo) {
  EXPECT_TRUE(makesSlices("w/f32 = Dequantize 256x256/s8c scales=0.5 zps=-128; "
                          "MatMul 4x256 w",
                          "znver4"));
  // Groups of two; of 257; zero points that no four bits hold.
  EXPECT_FALSE(makesSlices(
      "w/f32 = DynamicDequantize 512x260/s8c 256x260c qtype=per_group "
      "group_shape=2,1; MatMul 4x512 w",
      "znver4"));
  EXPECT_FALSE(makesSlices("w/f32 = Dequantize 257x256/s8c scales=0.5; "
                           "MatMul 4x257 w",
                           "znver4"));
  auto withZeroPoints = [](const std::string &type) {
    return "w/f32 = DynamicDequantize 256x260/s4c 8x260c 8x260/" + type +
           "c qtype=per_group group_shape=32,1; MatMul 4x256 w";
  };
  EXPECT_TRUE(makesSlices(withZeroPoints("s4"), "znver4"));
  EXPECT_FALSE(makesSlices(withZeroPoints("s8"), "znver4"));
}

} // namespace
