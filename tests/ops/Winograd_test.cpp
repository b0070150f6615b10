// Convolutions by minimal filtering against the evaluator: sizes, paddings,
// epilogues, layouts, an unknown batch; one and several sections.
#include "compiler/check/Fill.h"
#include "dialects/graph/reference/Evaluator.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <bit>
#include <cctype>

using namespace tenon;
using namespace tenon::test;

namespace {

Options withWinograd(const char *schedule, bool fuse = true) {
  Options options;
  options.schedule = schedule;
  options.winograd = "always";
  options.fuse = fuse;
  return options;
}

/// Each case in all of these: a section of its own for V, or not, is a matter
/// of the schedule's caches and of the shape.
std::vector<RunConfig> configs() {
  return {{withWinograd("avx2"), 1, false},
          {withWinograd("avx2", /*fuse=*/false), 2, true},
          {withWinograd("avx512"), 2, false},
          {withWinograd("generic"), 1, false}};
}

bool isFiltered(const graph::Graph &graph, const Options &options) {
  auto text = lowerToPhase(graph, options, "layout");
  EXPECT_TRUE(text) << str(text.errors());
  return text && text->find("tile.winograd %") != std::string::npos;
}

class Winograd : public testing::TestWithParam<std::string> {};

TEST_P(Winograd, AgreesWithTheEvaluator) {
  auto graph = parseGraph(GetParam());
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  EXPECT_TRUE(isFiltered(*graph, withWinograd("avx2")));
  for (const RunConfig &c : configs())
    EXPECT_TRUE(checkGraph(*oracle, c))
        << c.options.schedule << ", " << c.threads << " threads";
}

/// With fractions, which are rounded.
TEST_P(Winograd, RoundsAsTheDefinitionDoes) {
  auto graph = parseGraph(GetParam());
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto inputs = check::fillInputs(*graph, 1, check::FillMode::real);
  ASSERT_TRUE(inputs) << str(inputs.errors());
  oracle->inputs = *inputs;
  reference::EvalOptions exact;
  exact.roundOutputs = false;
  auto expected = reference::evaluate(oracle->graph, oracle->inputs, exact);
  ASSERT_TRUE(expected) << str(expected.errors());
  // Nothing of a plain evaluation: the bound of the graph alone must hold.
  oracle->expected = oracle->plain = *expected;
  for (const RunConfig &c : configs())
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
          "; a = Add z x; ReLU a"};
  return cases;
}

std::string nameOf(const testing::TestParamInfo<std::string> &info) {
  std::string name = std::to_string(info.index) + "_";
  for (char c : info.param.substr(0, 60))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd, testing::ValuesIn(shapeCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Forms, Winograd, testing::ValuesIn(formCases()),
                         nameOf);

/// Compiled for an unknown batch, executed with several.
TEST(Winograd, BatchMayBeUnknown) {
  for (int batch : {0, 1, 3, 16}) {
    std::string rest = "x7x9x24 3x3x24x40c 40c" + kSame + "; ReLU y";
    auto unknown = parseGraph("y = Convolution ?" + rest);
    ASSERT_TRUE(unknown) << str(unknown.errors());
    auto known = parseGraph("y = Convolution " + std::to_string(batch) + rest);
    ASSERT_TRUE(known) << str(known.errors());
    auto oracle = Oracle::make(*known);
    ASSERT_TRUE(oracle) << str(oracle.errors());
    EXPECT_TRUE(isFiltered(*unknown, withWinograd("avx2")));
    for (const RunConfig &c : configs()) {
      auto model = Compiled::compile(*unknown, c.options);
      ASSERT_TRUE(model) << str(model.errors());
      auto results = execute(**model, *oracle, c);
      ASSERT_TRUE(results) << str(results.errors());
      EXPECT_TRUE(agrees(*oracle, *results)) << batch;
    }
  }
}

/// What it is not for stays a convolution, whatever is asked for.
TEST(Winograd, Declines) {
  const std::string ones = " strides=1,1 dilations=1,1 pads_begin=1,1 "
                           "pads_end=1,1";
  for (const std::string &text :
       {"Convolution 1x8x8x16 3x3x16x16" + ones, // weights that change
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
    EXPECT_FALSE(isFiltered(*graph, withWinograd("avx2"))) << text;
  }
  auto graph = parseGraph("Convolution 1x56x56x64 3x3x64x64c" + ones);
  ASSERT_TRUE(graph);
  Options options;
  EXPECT_TRUE(isFiltered(*graph, options));
  options.winograd = "never";
  EXPECT_FALSE(isFiltered(*graph, options));
  options.winograd = "sometimes";
  auto refused = Compiled::compile(*graph, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::BadOption);
}

} // namespace
