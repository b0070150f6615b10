// SPDX-License-Identifier: Apache-2.0
// Groups that share one split of their rows against the evaluator, and against
// the same groups one after the other: bit by bit. Bands with and without rows
// that two of them compute, at both ends of an image, and a last one that is
// lower.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <map>

using namespace tenon;
using namespace tenon::test;

namespace {

Options withChains(const char *mode, const char *schedule = "avx2") {
  Options options;
  options.schedule = schedule;
  options.chains = mode;
  return options;
}

/// Groups of kind "chain" of which `graph` consists.
int chainsOf(const graph::Graph &graph, const Options &options) {
  auto text = lowerToPhase(*graph::prepareGraph(graph), options, "fuse");
  EXPECT_TRUE(text) << str(text.errors());
  if (!text)
    return -1;
  const std::string word = "tile.group = #tile.group<chain>";
  int count = 0;
  for (size_t at = text->find(word); at != std::string::npos;
       at = text->find(word, at + 1))
    ++count;
  return count;
}

struct Case {
  const char *text;
  int chains;
};
void PrintTo(const Case &c, std::ostream *out) { *out << c.text; }

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return caseName(info.index, info.param.text);
}

class Chain : public testing::TestWithParam<Case> {};

TEST_P(Chain, AgreesWithTheEvaluatorAndWithItsGroups) {
  auto graph = parseGraph(GetParam().text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::make(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  auto fractions = Oracle::unjudged(*graph);
  ASSERT_TRUE(fractions) << str(fractions.errors());
  EXPECT_EQ(chainsOf(*graph, withChains("always")), GetParam().chains);
  EXPECT_EQ(chainsOf(*graph, withChains("never")), 0);
  for (const char *schedule : {"avx2", "avx512", "generic"}) {
    std::map<uint64_t, std::vector<uint64_t>> first;
    for (const char *mode : {"never", "always"}) {
      RunConfig config{withChains(mode, schedule)};
      auto model = Compiled::compile(*graph, config.options);
      ASSERT_TRUE(model) << str(model.errors());
      auto judged = execute(**model, *oracle, config);
      ASSERT_TRUE(judged) << str(judged.errors());
      EXPECT_TRUE(agrees(*oracle, *judged)) << schedule << " " << mode;
      for (int threads : {1, 3}) {
        config.threads = threads;
        auto results = execute(**model, *fractions, config);
        ASSERT_TRUE(results) << str(results.errors());
        if (first.empty())
          first = bitsOf(*results);
        EXPECT_TRUE(first == bitsOf(*results))
            << schedule << " " << mode << ", " << threads << " threads";
      }
    }
  }
}

#define ONE " strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=1,1"
#define SAME " strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1"
#define HALF " strides=2,2 pads_begin=1,1 pads_end=1,1 dilations=1,1"

INSTANTIATE_TEST_SUITE_P(
    Residual, Chain,
    testing::Values(
        Case{"a = Convolution x:2x13x11x24 1x1x24x72c 72c" ONE
             "; b = Clamp a min=0 max=6; c = Convolution b 3x3x1x72c 72c "
             "groups=72" SAME "; d = Clamp c min=0 max=6; e = Convolution d "
             "1x1x72x24c 24c" ONE "; Add e x",
             1},
        Case{"a = Convolution 1x14x14x16 1x1x16x96c" ONE
             "; b = Convolution a 3x3x1x96c groups=96" HALF
             "; c = ReLU b; Convolution c 1x1x96x50c" ONE,
             1},
        // A product that makes its src itself is no part of one; nor is a
        // window that reads the member before beside it.
        Case{"a = MatMul 64x128 128x128c; h = ReLU 64x128; b = MatMul h "
             "128x128c; Add a b",
             0},
        Case{"h = ReLU 64x128; a = MatMul h 128x128c; b = MatMul 64x128 "
             "128x128c; Add a b",
             0},
        Case{"p = Convolution 2x16x16x32 1x1x32x64c" ONE
             "; d = Convolution 2x16x16x64 1x3x1x64c groups=64 strides=1,1 "
             "pads_begin=0,1 pads_end=0,1 dilations=1,1; Add d p",
             0},
        // One row of src, padding behind it.
        Case{"a = Convolution 64x1x8x16 1x1x16x64c" ONE
             "; Convolution a 1x3x1x64c groups=64 strides=1,1 pads_begin=0,1 "
             "pads_end=5,1 dilations=1,1",
             1},
        // Windows behind each other; padding on one side; holes.
        Case{"a = Convolution 1x17x9x33 3x3x1x33c groups=33" HALF
             "; b = HardSwish a; Convolution b 3x3x1x33c groups=33" SAME,
             1},
        Case{"a = Convolution 2x12x10x8 1x1x8x40c 40c" ONE
             "; Convolution a 3x3x1x40c groups=40 strides=1,1 pads_begin=2,0 "
             "pads_end=0,2 dilations=2,2",
             1},
        // Fewer rows than bands, a row per band, positions of one column.
        Case{"a = Convolution 3x2x5x16 1x1x16x32c" ONE
             "; Convolution a 1x1x32x40c" ONE,
             1},
        Case{"a = Convolution 2x9x1x16 1x1x16x32c" ONE
             "; Convolution a 1x1x32x48c 48c" ONE,
             1},
        Case{"a = Convolution 1x9x1x16 1x1x16x32c" ONE
             "; b = Convolution a 3x3x1x32c groups=32" SAME
             "; Convolution b 1x1x32x48c 48c" ONE,
             1},
        // Channels a power of two of bytes apart are not so in scratch memory.
        Case{"a = Convolution 1x6x7x16 1x1x16x256c" ONE
             "; b = Convolution a 3x3x1x256c groups=256" SAME
             "; Convolution b 1x1x256x16c" ONE,
             1},
        Case{"a = Convolution 2x9x10x24 1x1x24x48c" ONE
             "; b = Convolution a 3x3x1x48c groups=48" SAME
             "; t = StaticTranspose b order=0,3,1,2",
             1},
        Case{"a = Convolution 2x16x9x10 48x16x1x1c data_format=NCX "
             "weights_format=OIX" ONE
             "; b = Convolution a 48x1x3x3c groups=48 data_format=NCX "
             "weights_format=OIX" SAME
             "; Convolution b 20x48x1x1c 20c data_format=NCX "
             "weights_format=OIX" ONE,
             1},
        Case{"a = Convolution 1x9x10x16<2000,200,20,1> 1x1x16x48c" ONE
             "; b<5000,500,48,1> = Convolution a 3x3x1x48c groups=48" SAME,
             1}),
    nameOf);

/// First a convolution with several taps: joined ones (few channels), edges of
/// rows by themselves or between zeros, a last panel, holes, odd sizes.
INSTANTIATE_TEST_SUITE_P(
    Stems, Chain,
    testing::Values(
        Case{"a = Convolution 2x23x17x3 3x3x3x32c 32c" HALF
             "; b = Clamp a min=0 max=6; c = Convolution b 3x3x1x32c 32c "
             "groups=32" SAME "; d = Clamp c min=0 max=6; Convolution d "
             "1x1x32x16c 16c" ONE,
             1},
        Case{"a = Convolution 1x13x11x40 3x3x40x50c 50c" HALF
             "; b = ReLU a; Convolution b 1x1x50x24c" ONE,
             1},
        Case{"a = Convolution 2x9x8x16 5x5x16x48c strides=1,1 pads_begin=2,2 "
             "pads_end=2,2 dilations=1,1; Convolution a 3x3x1x48c "
             "groups=48" HALF,
             1},
        Case{"a = Convolution 1x14x15x24 3x3x24x32c strides=1,2 "
             "pads_begin=2,0 pads_end=0,1 dilations=2,1; b = HardSwish a; "
             "Convolution b 1x1x32x32c" ONE,
             1},
        Case{"a = Convolution 2x3x19x14 32x3x3x3c data_format=NCX "
             "weights_format=OIX" HALF
             "; b = ReLU a; Convolution b 24x32x1x1c data_format=NCX "
             "weights_format=OIX" ONE,
             1},
        Case{"a = Convolution 2x15x12x4/bf16 3x3x4x32/bf16c" HALF
             "; b = ReLU a; Convolution b 1x1x32x20/bf16c" ONE,
             1},
        Case{"x/f32 = Dequantize 1x15x12x3/u8 scales=0.25 zps=0; "
             "u/f32 = Dequantize 3x3x3x48/s8c scales=0.5 zps=0; "
             "v/f32 = Dequantize 3x3x1x48/s8c scales=0.5 zps=0; "
             "a = Convolution x u" HALF "; b = ReLU a; "
             "p/u8 = Quantize b scales=2 zps=0; "
             "q/f32 = Dequantize p scales=2 zps=0; "
             "c = Convolution q v groups=48" SAME "; "
             "y/u8 = Quantize c scales=4 zps=3",
             1}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Products, Chain,
    testing::Values(
        Case{"a = MatMul 70x13 13x64c 64c; b = ReLU a; c = MatMul b 64x48c "
             "48c; d = ReLU c; MatMul d 48x20c",
             1},
        Case{"a = MatMul 1x16 16x64c; b = GELU a mode=gelu_erf; MatMul b "
             "64x16c",
             1},
        Case{"a = MatMul 3x29x20 20x512c; b = Sigmoid a; c = Multiply a b; "
             "MatMul c 512x33c",
             1},
        Case{"a = MatMul x:33x24 24x40c; b = Tanh a; c = MatMul b 40x24c; "
             "Add c x",
             1},
        Case{"a = MatMul 50x32/bf16 32x64/bf16c 64/bf16c; b = ReLU a; MatMul "
             "b 64x40/bf16c",
             1},
        Case{"a = MatMul 50x32/f16 32x64/f16c; b = ReLU a; MatMul b 64x40/f16c",
             1}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Bytes, Chain,
    testing::Values(Case{"x/f32 = Dequantize 1x9x8x16/u8 scales=0.25 zps=0; "
                         "u/f32 = Dequantize 1x1x16x48/s8c scales=0.5 zps=0; "
                         "v/f32 = Dequantize 3x3x1x48/s8c scales=0.5 zps=0; "
                         "w/f32 = Dequantize 1x1x48x20/s8c scales=0.5 zps=0; "
                         "a = Convolution x u" ONE "; b = ReLU a; "
                         "p/u8 = Quantize b scales=2 zps=0; "
                         "q/f32 = Dequantize p scales=2 zps=0; "
                         "c = Convolution q v groups=48" SAME "; "
                         "r/u8 = Quantize c scales=4 zps=3; "
                         "s/f32 = Dequantize r scales=4 zps=3; "
                         "d = Convolution s w" ONE "; "
                         "y/u8 = Quantize d scales=64 zps=128",
                         1},
                    Case{"x/f32 = Dequantize 40x32/s8 scales=0.5 zps=0; "
                         "u/f32 = Dequantize 32x48/s8c scales=0.5 zps=0; "
                         "v/f32 = Dequantize 48x20/s8c scales=0.5 zps=0; "
                         "a = MatMul x u; b = ReLU a; "
                         "p/u8 = Quantize b scales=1 zps=0; "
                         "q/f32 = Dequantize p scales=1 zps=0; MatMul q v",
                         1}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Gated, Chain,
    testing::Values(
        Case{"a = MatMul x:67x33 33x40c; s = Sigmoid a; g = Multiply a s; "
             "b = MatMul x 33x40c; h = Multiply b g; MatMul h 40x21c 21c",
             1},
        Case{"a = MatMul x:67x33 33x40c; g = GELU a; b = MatMul x 33x40c 40c; "
             "Multiply g b",
             1},
        // Of another tensor; of a batch; of images; in bf16.
        Case{"a = MatMul 40x16 16x48c; t = Tanh a; b = MatMul 40x24 24x48c; "
             "h = Multiply b t; MatMul h 48x20c",
             1},
        Case{"a = MatMul x:2x31x16 16x48c; b = MatMul x 16x48c; "
             "h = Multiply b a; MatMul h 48x20c",
             1},
        Case{"a = Convolution x:2x9x8x16 1x1x16x48c" ONE
             "; s = Sigmoid a; b = Convolution x 1x1x16x48c" ONE
             "; h = Multiply b s; c = Convolution h 3x3x1x48c groups=48" SAME
             "; Convolution c 1x1x48x20c" ONE,
             1},
        Case{"a = MatMul x:40x32/bf16 32x48/bf16c; s = Sigmoid a; "
             "g = Multiply a s; b = MatMul x 32x48/bf16c; h = Multiply b g; "
             "MatMul h 48x20/bf16c",
             1}),
    nameOf);

/// A tensor that others read, complete rows, whole images, sums in memory.
INSTANTIATE_TEST_SUITE_P(
    Declined, Chain,
    testing::Values(
        Case{"a = MatMul 40x16 16x32c; b = MatMul a 32x16c; out a b", 0},
        Case{"a = MatMul 40x16 16x32c; b = MatMul a 32x16c; c = MatMul a "
             "32x24c",
             0},
        Case{"a = MatMul 40x16 16x32c; b = SoftMax a axis=-1; MatMul b 32x16c",
             0},
        Case{"a = Convolution 1x9x9x16 1x1x16x24c" ONE
             "; Convolution a 3x3x24x16c" SAME,
             0},
        Case{"a = Convolution 1x9x9x16 1x1x16x24c" ONE
             "; Convolution a 3x3x24x16c" HALF,
             0},
        Case{"a = Convolution 1x9x9x16 3x3x8x24c groups=2" HALF
             "; Convolution a 1x1x24x16c" ONE,
             0},
        Case{"a = Convolution 1x9x9x16 1x1x16x24c" ONE
             "; Convolution a 5x5x1x24c groups=24 strides=1,1 pads_begin=2,2 "
             "pads_end=2,2 dilations=1,1",
             0},
        Case{"a = MatMul 6x16 16x32c; b = StaticReshape a shape=8,24 "
             "special_zero=false; MatMul b 24x16c",
             0},
        Case{"a = MatMul 2x6x16 2x16x32; MatMul a 32x16c", 0},
        // Beside a window; beside a product that reads it as well.
        Case{"a = Convolution x:1x9x9x24 1x1x24x24c" ONE
             "; b = Convolution x 3x3x1x24c groups=24" SAME "; Add b a",
             0},
        Case{"a = MatMul 40x16 16x16c; b = MatMul a 16x16c; Add b a", 0}),
    nameOf);

} // namespace
