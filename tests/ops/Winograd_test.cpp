// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd against the evaluator: sizes, paddings,
// epilogues, layouts, an unknown batch; one and several sections; tiles of 2
// and, with fast math, of 4 outputs.
#include "compiler/check/Compare.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

using namespace tenon;
using namespace tenon::test;

namespace {

Options withWinograd(const char *schedule, bool fastMath, bool fuse = true) {
  Options options;
  options.schedule = schedule;
  options.winograd = "always";
  options.fastMath = fastMath;
  options.fuse = fuse;
  return options;
}

/// Each case in all of these: a section of its own for V, or not, is a matter
/// of the schedule's caches and of the shape.
std::vector<RunConfig> configs(bool fastMath) {
  return {{withWinograd("avx2", fastMath), 1, false},
          {withWinograd("avx2", fastMath, /*fuse=*/false), 2, true},
          {withWinograd("avx512", fastMath), 2, false},
          {withWinograd("generic", fastMath), 1, false}};
}

/// Outputs per dim of the tiles by which `graph` is computed; 0: directly.
int outputsOf(const graph::Graph &graph, const Options &options) {
  auto text = lowerToPhase(*graph::prepareGraph(graph), options, "layout");
  EXPECT_TRUE(text) << str(text.errors());
  if (!text)
    return 0;
  const std::string word = " outputs ";
  size_t op = text->find("tile.winograd %");
  return op == std::string::npos
             ? 0
             : std::atoi(text->c_str() + text->find(word, op) + word.size());
}

/// A graph, and whether with fast math.
class Winograd : public testing::TestWithParam<std::tuple<std::string, bool>> {
protected:
  std::string text = std::get<0>(GetParam());
  bool fastMath = std::get<1>(GetParam());
};

TEST_P(Winograd, AgreesWithTheEvaluator) {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_EQ(outputsOf(*graph, withWinograd("avx2", fastMath)),
            fastMath ? 4 : 2);
  for (const RunConfig &c : configs(fastMath))
    EXPECT_TRUE(checkGraph(*oracle, c))
        << c.options.schedule << ", " << c.threads << " threads";
}

/// As the definition does, or, with larger tiles, within their own bound.
TEST_P(Winograd, RoundsWithinItsBound) {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::bounded(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (const RunConfig &c : configs(fastMath))
    EXPECT_TRUE(checkGraph(*oracle, c)) << c.options.schedule;
}

std::string window(int top, int left, int bottom, int right) {
  return " strides=1,1 dilations=1,1 pads_begin=" + std::to_string(top) + "," +
         std::to_string(left) + " pads_end=" + std::to_string(bottom) + "," +
         std::to_string(right);
}

const std::string kSame = window(1, 1, 1, 1);
const std::string kNcx = " data_format=NCX weights_format=OIX";

/// Sizes from 1 on, even and odd, with every padding from 0 to 2.
std::vector<std::string> shapeCases() {
  std::vector<std::string> cases;
  auto add = [&](const std::string &src, int64_t c, int64_t k,
                 const std::string &attrs) {
    cases.push_back("Convolution " + src + "x" + std::to_string(c) + " 3x3x" +
                    std::to_string(c) + "x" + std::to_string(k) + "c" + attrs);
  };
  for (const char *size : {"1x1x1", "1x2x1", "1x1x7", "1x2x2", "1x3x4", "1x4x3",
                           "2x5x6", "1x7x7", "3x8x9", "1x13x4", "16x3x3"})
    add(size, 16, 24, kSame);
  for (int p = 0; p < 81; p += 7)
    add("2x5x6", 8, 16, window(p % 3, p / 3 % 3, p / 9 % 3, p / 27));
  // Tiles that read nothing but padding.
  add("1x2x3", 8, 16, window(5, 0, 4, 6));
  // Channels that are no vectors.
  for (auto [c, k] : {std::pair(1, 1),
                      {3, 5},
                      {5, 3},
                      {17, 33},
                      {31, 47},
                      {33, 100},
                      {128, 49}})
    add("2x6x7", c, k, kSame);
  // Few tiles of many channels: blocks share V, and the last is smaller.
  add("1x14x14", 256, 256, kSame);
  add("1x21x13", 256, 72, kSame);
  // Many tiles, in one section; wide images.
  add("5x29x31", 32, 48, kSame);
  add("16x7x7", 256, 40, kSame);
  add("1x6x300", 64, 32, kSame);
  add("2x56x56", 16, 16, kSame);
  add("0x5x6", 8, 16, kSame);
  return cases;
}

std::vector<std::string> formCases() {
  const std::string conv = "Convolution 2x9x8x16 3x3x16x32c";
  std::vector<std::string> cases = {
      "Convolution 1x9x8x16 3x3x16x32c strides=1,1 dilations=1,1 pads_begin= "
      "pads_end= auto_pad=SAME_UPPER",
      "Convolution 1x9x8x16 3x3x16x32c strides=1,1 dilations=1,1 "
      "pads_begin=1,1 pads_end=1,1 auto_pad=VALID",
      "Convolution 2x16x9x8 32x16x3x3c 32c" + kSame + kNcx,
      "Convolution 2x9x8x16 32x16x3x3c" + kSame + " weights_format=OIX",
      // The caller's strides.
      "Convolution 1x5x6x16<480,1,80,16> 3x3x16x8c" + kSame,
      "Convolution 1x5x6x16<960,192,32,2> 3x3x16x8c 8c" + kSame,
      "y<240,1,5,30> = Convolution 1x5x6x16 3x3x16x8c" + kSame,
      "y<600,100,16,1> = Convolution 1x5x6x16 3x3x16x8c" + kSame,
      // Epilogues.
      conv + " 32c" + kSame, "y = " + conv + " 32" + kSame + "; ReLU y",
      "y = " + conv + " 32c" + kSame + "; r = Add y 2x9x8x32; ReLU r",
      "y = " + conv + kSame +
          "; a = Multiply y 1x1x1x32; b = Add a 9x1x1; "
          "c = Subtract b (); GELU c",
      "y = " + conv + kSame + "; a = Add y 2x1x8x1; HardSwish a",
      "y = " + conv + kSame + "; a = Add y 2x9x8x32<1,1,144,18>; ReLU a",
      "y = " + conv + " 32c" + kSame + "; z/u8 = Quantize y scales=0.5 zps=3",
      "y = " + conv + " 32c" + kSame + "; z/bf16 = TypeCast y; Abs z",
      "y = " + conv + " 32c" + kSame + "; r = ReLU y; a = Exp y; out r a",
      // One after the other, channels first outside.
      "y = Convolution x:2x16x7x9 16x16x3x3c 16c" + kSame + kNcx +
          "; r = ReLU y; z = Convolution r 16x16x3x3c 16c" + kSame + kNcx +
          "; a = Add z x; ReLU a",
      // Weights of every execution.
      "Convolution 2x9x8x16 3x3x16x33" + kSame,
      "w = Abs 32x16x3x3; Convolution 2x16x9x8 w 32c" + kSame + kNcx,
      // Transposed with stride 1: taps in the opposite order.
      "ConvTranspose 2x9x8x16 3x3x24x16c" + window(0, 1, 2, 1),
      "y = ConvTranspose 1x5x7x17 3x3x8x17 8c" + window(2, 0, 1, 0) +
          "; ReLU y",
      "ConvTranspose 2x16x9x8 16x32x3x3c 32c" + kSame +
          " data_format=NCX weights_format=IOX",
      "ConvolutionBackwardData 2x24x9x8 24x16x3x3 dst_shape=2,16,9,8" + kSame +
          kNcx,
      "ConvTransposeBackwardData 2x9x8x24 3x3x24x16" + kSame};
  return cases;
}

std::string nameOf(const testing::TestParamInfo<Winograd::ParamType> &info) {
  auto [text, fastMath] = info.param;
  return caseName(info.index, text) + (fastMath ? "_fast" : "");
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd,
                         testing::Combine(testing::ValuesIn(shapeCases()),
                                          testing::Bool()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Forms, Winograd,
                         testing::Combine(testing::ValuesIn(formCases()),
                                          testing::Bool()),
                         nameOf);

/// Bytes, where no instruction multiplies them: signs, zero points beside
/// padding, scales per channel, channels first, blocks that share V.
std::vector<std::string> byteCases() {
  std::vector<std::string> cases;
  for (const char *form :
       {"u8 scales=0.5", "s8 scales=0.25 zps=-7", "u8 scales=0.5 zps=128"}) {
    auto add = [&](const std::string &src, const std::string &weights,
                   const std::string &rest) {
      cases.push_back("a/f32 = Dequantize " + src + "/" + form +
                      "; b/f32 = Dequantize " + weights +
                      "; y = Convolution a b" + rest);
    };
    add("2x9x8x16", "3x3x16x32/s8c scales=0.25", " 32c" + kSame);
    add("1x7x5x17", "3x3x17x3/s8c qtype=per_channel axis=3 scales=1,2,0.5",
        window(2, 0, 1, 2) + "; r = ReLU y; z/u8 = Quantize r scales=64 zps=2");
    add("1x14x14x256", "3x3x256x72/s8c scales=0.25",
        kSame + "; z/s8 = Quantize y scales=512");
    add("2x16x9x8", "8x16x3x3/s8c scales=0.25", " 8c" + kSame + kNcx);
  }
  return cases;
}

class WinogradBytes : public Winograd {};

TEST_P(WinogradBytes, AgreeWithTheEvaluator) {
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  for (RunConfig c : configs(fastMath)) {
    c.options.targetCpu = "x86-64-v3";
    if (c.options.schedule == "avx512")
      continue;
    EXPECT_EQ(outputsOf(*graph, c.options), fastMath ? 4 : 2);
    EXPECT_TRUE(checkGraph(*oracle, c))
        << c.options.schedule << ", " << c.threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, WinogradBytes,
                         testing::Combine(testing::ValuesIn(byteCases()),
                                          testing::Bool()),
                         nameOf);

class WinogradBatch : public testing::TestWithParam<bool> {};

/// Compiled for an unknown batch, executed with several.
TEST_P(WinogradBatch, MayBeUnknown) {
  bool fastMath = GetParam();
  for (int batch : {0, 1, 3, 16}) {
    std::string rest = "x7x9x24 3x3x24x40c 40c" + kSame + "; ReLU y";
    auto unknown = parseGraph("y = Convolution ?" + rest);
    ASSERT_TRUE(unknown) << str(unknown.errors());
    auto known = parseGraph("y = Convolution " + std::to_string(batch) + rest);
    ASSERT_TRUE(known) << str(known.errors());
    auto oracle = Oracle::make(*known);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    EXPECT_EQ(outputsOf(*unknown, withWinograd("avx2", fastMath)),
              fastMath ? 4 : 2);
    for (const RunConfig &c : configs(fastMath)) {
      auto model = Compiled::compile(*unknown, c.options);
      ASSERT_TRUE(model) << str(model.errors());
      auto results = execute(**model, *oracle, c);
      ASSERT_TRUE(results) << str(results.errors());
      EXPECT_TRUE(agrees(*oracle, *results, fastMath)) << batch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, WinogradBatch, testing::Bool());

/// Errors of the one result of `oracle`, relative to its root mean square.
struct Errors {
  double rms = 0, largest = 0;
};
Errors errorsOf(const Oracle &oracle, const Options &options) {
  Errors errors;
  auto model = Compiled::compile(oracle.graph, options);
  EXPECT_TRUE(model) << str(model.errors());
  if (!model)
    return errors;
  auto results = execute(**model, oracle, {options});
  EXPECT_TRUE(results) << str(results.errors());
  if (!results)
    return errors;
  const std::vector<double> &got = results->begin()->second.data;
  const std::vector<double> &expected =
      oracle.expected.at(results->begin()->first).data;
  double squares = 0, errorSquares = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double error = std::fabs(got[i] - expected[i]);
    squares += expected[i] * expected[i];
    errorSquares += error * error;
    errors.largest = std::max(errors.largest, error);
  }
  errors.rms = std::sqrt(errorSquares / squares);
  errors.largest /= std::sqrt(squares / static_cast<double>(got.size()));
  return errors;
}

/// Measured (docs/cost-model.md): tiles of 2 outputs round about as much as the
/// definition does, whose sums of many channels are cut into more blocks than
/// those of a tile; tiles of 4 round three times as much as these.
TEST(WinogradErrors, AreThoseMeasured) {
  for (int channels : {4, 32, 128, 512}) {
    std::string c = std::to_string(channels);
    auto graph =
        parseGraph("Convolution 1x14x14x" + c + " 3x3x" + c + "x32c" + kSame);
    ASSERT_TRUE(graph) << str(graph.errors());
    auto oracle = Oracle::bounded(*graph);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    Options never;
    never.schedule = "avx2";
    never.winograd = "never";
    Errors direct = errorsOf(*oracle, never);
    Errors two = errorsOf(*oracle, withWinograd("avx2", false));
    Errors four = errorsOf(*oracle, withWinograd("avx2", true));
    EXPECT_GT(direct.rms, 0) << channels;
    EXPECT_LT(two.rms, 1.9 * direct.rms) << channels;
    EXPECT_GT(four.rms, two.rms) << channels;
    EXPECT_LT(four.rms, 6 * direct.rms) << channels;
    EXPECT_LT(four.largest, 8 * direct.largest) << channels;
  }
}

/// What is beyond the bound of fast math is refused; without fast math its
/// results are not those of integers.
TEST(WinogradErrors, BeyondTheBoundFail) {
  auto graph = parseGraph("y = Convolution 1x9x11x64 3x3x64x16c" + kSame);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  RunConfig fast{withWinograd("avx2", true)};
  auto model = Compiled::compile(*graph, fast.options);
  ASSERT_TRUE(model) << str(model.errors());
  auto results = execute(**model, *oracle, fast);
  ASSERT_TRUE(results) << str(results.errors());
  EXPECT_TRUE(agrees(*oracle, *results, /*fastMath=*/true));
  EXPECT_FALSE(agrees(*oracle, *results, /*fastMath=*/false));
  uint64_t id = oracle->graph.outputPorts.front();
  double bound = check::toleranceFor(oracle->graph, id, &oracle->inputs,
                                     {.fastMath = true})
                     .relative;
  // Errors of f32, not of anything narrower.
  EXPECT_LT(bound, 0x1p-14);
  std::vector<double> &data = results->at(id).data;
  auto largest = std::max_element(data.begin(), data.end());
  *largest *= 1 + 2 * bound;
  EXPECT_FALSE(agrees(*oracle, *results, /*fastMath=*/true));
}

/// What it is not for stays a convolution, whatever is asked for.
TEST(WinogradChoice, Declines) {
  const std::string ones = " strides=1,1 dilations=1,1 pads_begin=1,1 "
                           "pads_end=1,1";
  for (const std::string &text :
       {std::string("ConvTranspose 1x8x8x16 3x3x16x16c strides=2,2 "
                    "dilations=1,1 pads_begin=1,1 pads_end=1,1"),
        "Convolution 1x8x8x16 3x3x8x16c groups=2" + ones,
        "Convolution 1x8x8x16 3x3x1x16c groups=16" + ones,
        "Convolution 1x8x8x16 5x5x16x16c" + ones,
        "Convolution 1x8x8x16 1x3x16x16c" + ones,
        std::string("Convolution 1x8x8x16 3x3x16x16c strides=2,1 "
                    "dilations=1,1 pads_begin=1,1 pads_end=1,1"),
        std::string("Convolution 1x8x8x16 3x3x16x16c strides=1,1 "
                    "dilations=1,2 pads_begin=1,1 pads_end=1,1"),
        "Convolution 1x8x8x16/bf16 3x3x16x16/bf16c" + ones,
        std::string("Convolution 1x8x16 3x16x16c strides=1 dilations=1 "
                    "pads_begin=1 pads_end=1")}) {
    auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << text << str(graph.errors());
    for (bool fastMath : {false, true})
      EXPECT_EQ(outputsOf(*graph, withWinograd("avx2", fastMath)), 0) << text;
  }
  auto graph = parseGraph("Convolution 1x56x56x64 3x3x64x64c" + ones);
  ASSERT_TRUE(graph);
  Options options;
  options.winograd = "never";
  for (bool fastMath : {false, true}) {
    options.fastMath = fastMath;
    EXPECT_EQ(outputsOf(*graph, options), 0);
  }
  options.winograd = "sometimes";
  auto refused = Compiled::compile(*graph, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::BadOption);
}

/// Weights that change are transformed in every execution: worth it for many
/// positions only.
TEST(WinogradChoice, WeightsThatChange) {
  const std::string ones = " strides=1,1 dilations=1,1 pads_begin=1,1 "
                           "pads_end=1,1";
  for (auto [src, outputs] : {std::pair("8x28x28x128", 2), {"1x7x7x128", 0}}) {
    for (std::string op :
         {std::string("Convolution "), std::string("ConvTranspose ")}) {
      std::string text = op + src + " 3x3x128x128" + ones;
      auto graph = parseGraph(text);
      ASSERT_TRUE(graph) << text << str(graph.errors());
      EXPECT_EQ(outputsOf(*graph, Options()), outputs) << text;
    }
  }
}

/// Larger tiles where they cost less, and only with fast math.
TEST(WinogradChoice, LargerTilesNeedFastMath) {
  for (auto [src, channels, with, without] : {std::tuple("1x56x56", "64", 4, 2),
                                              {"16x28x28", "128", 4, 2},
                                              {"1x3x3", "512", 0, 0},
                                              {"1x56x56", "4", 0, 0}}) {
    auto graph = parseGraph("Convolution " + std::string(src) + "x" + channels +
                            " 3x3x" + channels + "x" + channels + "c" + kSame);
    ASSERT_TRUE(graph) << str(graph.errors());
    Options options;
    EXPECT_EQ(outputsOf(*graph, options), without) << src;
    options.fastMath = true;
    EXPECT_EQ(outputsOf(*graph, options), with) << src;
  }
}

} // namespace
