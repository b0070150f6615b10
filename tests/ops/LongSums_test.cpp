// SPDX-License-Identifier: Apache-2.0
// Sums of up to 2^24 products of one sign, where each way to compute them has
// its own order of additions. One chain of f32 would be off by 1 %: sums are
// trees (docs/testing.md states the bound).
#include "compiler/check/Fill.h"
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

/// Half a unit in the last place of f32, relative.
constexpr double kRounding = 0x1p-24;

/// What docs/testing.md promises of a sum of `terms` products of one sign.
double promised(double terms) {
  double chain = std::min(terms, 256.0), levels = 0;
  for (double left = terms / 256; left > 1; left /= 256)
    ++levels;
  return (chain + 256 * levels + 8) * kRounding;
}

/// Values that are all positive: `same` for all or, 0, between 1/2 and 3/2.
void makePositive(reference::Tensor &tensor, double same) {
  uint64_t state = 1;
  for (double &x : tensor.data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = same != 0 ? same : 0.5 + static_cast<double>(state >> 40) * 0x1p-24;
  }
  reference::roundToDType(tensor);
}

struct Case {
  const char *text;
  double terms; // products of each element of the result
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.text; }

class LongSums : public testing::TestWithParam<Case> {};

/// Executes the graph with inputs of one sign, all equal or not; `setup` too.
void expectPromised(const Case &c, double same, const RunConfig &setup) {
  auto graph = parseGraph(c.text);
  ASSERT_TRUE(graph) << str(graph.errors());
  auto oracle = Oracle::unjudged(*graph);
  ASSERT_TRUE(oracle) << str(oracle.errors());
  bool first = true;
  for (auto &[id, tensor] : oracle->inputs) {
    makePositive(tensor, same == 0 ? 0 : first ? 1 : same);
    first = false;
  }
  auto judged = Oracle::bounded(*graph, std::move(oracle->inputs));
  ASSERT_TRUE(judged) << str(judged.errors());
  auto compiled = Compiled::compile(judged->graph, setup.options);
  ASSERT_TRUE(compiled) << str(compiled.errors());
  auto results = execute(**compiled, *judged, setup);
  ASSERT_TRUE(results) << str(results.errors());
  for (const auto &[id, expected] : judged->expected) {
    double worst = 0;
    for (int64_t i = 0; i < expected.numElements(); ++i)
      worst = std::max(
          worst, std::abs(results->at(id).data[i] / expected.data[i] - 1));
    EXPECT_LE(worst, promised(c.terms))
        << c.text << ", " << worst / kRounding << " roundings";
  }
}

TEST_P(LongSums, AreWithinWhatIsPromised) {
  for (const char *schedule : {"auto", "avx2", "generic"})
    for (double same : {0.0, double(0.1f)}) {
      RunConfig setup;
      setup.options.schedule = schedule;
      expectPromised(GetParam(), same, setup);
    }
}

/// Products with the largest K that tests have memory for.
TEST(LongestSums, AreWithinWhatIsPromised) {
  for (const char *text : {"MatMul 1x16777216 16777216x1",
                           "MatMul 16777216x1 16777216x1 transpose_a=true"})
    for (double same : {0.0, double(0.1f)})
      expectPromised({text, 0x1p24}, same, RunConfig());
}

INSTANTIATE_TEST_SUITE_P(
    MatMul, LongSums,
    testing::Values(Case{"MatMul 1x262144 262144x1", 0x1p18},
                    Case{"MatMul 3x300001 300001x2", 300001},
                    // Streams of rows, dots, panels, parts of K.
                    Case{"MatMul 2x100003 100003x24", 100003},
                    Case{"MatMul 2x100003 24x100003 transpose_b=true", 100003},
                    Case{"MatMul 20x65536 65536x24", 65536},
                    Case{"MatMul 40x65537 65537x24c", 65537},
                    Case{"y = MatMul 20x65536 65536x24c 24c; ReLU y", 65536},
                    Case{"MatMul 3x5x40000 3x40000x24", 40000}));

INSTANTIATE_TEST_SUITE_P(
    Narrow, LongSums,
    testing::Values(Case{"y/f32 = MatMul 20x65536/bf16 65536x24/bf16c", 65536},
                    Case{"y/f32 = MatMul 20x65536/f16 65536x24/f16c", 65536}));

INSTANTIATE_TEST_SUITE_P(
    Convolution, LongSums,
    testing::Values(
        Case{"Convolution 1x3x3x16384 3x3x16384x8c strides=1,1 pads_begin=1,1 "
             "pads_end=1,1 dilations=1,1 data_format=NXC weights_format=XIO "
             "auto_pad=None groups=1",
             9 * 16384},
        Case{"ConvolutionBackwardWeights 4x256x256x8 4x256x256x16 strides=1,1 "
             "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NXC "
             "weights_format=XIO weights_shape=1,1,8,16 auto_pad=None groups=1",
             0x1p18},
        Case{"ConvolutionBackwardWeights 4x258x258x4 4x256x256x16 strides=1,1 "
             "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NXC "
             "weights_format=XIO weights_shape=3,3,4,16 auto_pad=None groups=1",
             0x1p18},
        Case{"ConvolutionBackwardWeights 4x256x256x8 4x256x256x8 strides=1,1 "
             "pads_begin=1,1 pads_end=1,1 dilations=1,1 data_format=NXC "
             "weights_format=XIO weights_shape=3,3,1,8 auto_pad=None groups=8",
             0x1p18},
        Case{"ConvolutionBackwardWeights 2x8x256x256 2x8x256x256 strides=1,1 "
             "pads_begin=1,1 pads_end=1,1 dilations=1,1 data_format=NCX "
             "weights_format=OIX weights_shape=8,1,3,3 auto_pad=None groups=8",
             0x1p17},
        Case{"ConvolutionBackwardWeights 1x200003x8 1x200001x8 strides=1 "
             "pads_begin=0 pads_end=0 dilations=1 data_format=NXC "
             "weights_format=XIO weights_shape=3,1,8 auto_pad=None groups=8",
             200001}));

INSTANTIATE_TEST_SUITE_P(
    AvgPool, LongSums,
    testing::Values(
        Case{"AvgPool 1x256x256x16 kernel=256,256 strides=1,1 pads_begin=0,0 "
             "pads_end=0,0 exclude_pad=false data_format=NXC",
             0x1p16},
        Case{"AvgPool 1x40x41x40x7 kernel=40,40,40 strides=1,1,1 "
             "pads_begin=0,0,0 pads_end=0,0,0 exclude_pad=true "
             "data_format=NXC",
             64000},
        Case{"AvgPool 1x60001x3 kernel=60000 strides=1 pads_begin=0 "
             "pads_end=0 exclude_pad=false data_format=NXC",
             60000},
        Case{"AvgPool 1x3x256x256 kernel=256,256 strides=1,1 pads_begin=0,0 "
             "pads_end=0,0 exclude_pad=false data_format=NCX",
             0x1p16},
        Case{"AvgPool 1x2x300x300 kernel=256,256 strides=2,2 pads_begin=0,0 "
             "pads_end=0,0 exclude_pad=false data_format=NCX",
             0x1p16}));

/// Values of 30000 keys, all with the same weight.
INSTANTIATE_TEST_SUITE_P(Attention, LongSums,
                         testing::Values(Case{
                             "s = MatMul 1x2x9x8 1x2x30000x8 transpose_b=true; "
                             "p = SoftMax s axis=-1; MatMul p 1x2x30000x8",
                             30000 * 3}));

} // namespace
