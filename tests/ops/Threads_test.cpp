// SPDX-License-Identifier: Apache-2.0
// Results have the same bits for any number of threads: work items follow from
// shapes, and each sum is made in one order. Inputs are fractions, so that
// another order of summation would round differently.
#include "tests/e2e/Harness.h"
#include "tests/ops/GraphText.h"

#include <algorithm>
#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

class Threads : public testing::TestWithParam<const char *> {
protected:
  void isIndependent(bool fastMath);
};
class FastThreads : public Threads {};

/// Without fractions in them, results do not tell orders of summation apart,
/// unless they are integers.
bool areFractions(const Tensors &results) {
  return std::all_of(results.begin(), results.end(), [](auto &result) {
    return !graph::isFloat(result.second.dtype) ||
           std::any_of(
               result.second.data.begin(), result.second.data.end(),
               [](double x) { return std::isfinite(x) && x != std::trunc(x); });
  });
}

void Threads::isIndependent(bool fastMath) {
  auto graph = parseGraph(GetParam());
  ASSERT_TRUE(graph) << str(graph.errors());
  auto made = Oracle::unjudged(*graph);
  ASSERT_TRUE(made) << str(made.errors());
  const Oracle &oracle = *made;
  for (const char *schedule : {"avx2", "avx512"}) {
    RunConfig setup;
    setup.options.schedule = schedule;
    setup.options.fastMath = fastMath;
    auto model = Compiled::compile(*graph, setup.options);
    ASSERT_TRUE(model) << str(model.errors());
    auto alone = execute(**model, oracle, setup);
    ASSERT_TRUE(alone) << str(alone.errors());
    EXPECT_TRUE(areFractions(*alone));
    for (int threads : {2, 3})
      for (bool pool : {false, true}) {
        setup.threads = threads;
        setup.pool = pool;
        auto shared = execute(**model, oracle, setup);
        ASSERT_TRUE(shared) << str(shared.errors());
        EXPECT_TRUE(bitsOf(*alone) == bitsOf(*shared))
            << schedule << ", " << threads << " threads"
            << (pool ? ", caller's pool" : "");
      }
  }
}

TEST_P(Threads, DoNotChangeBits) { isIndependent(false); }
TEST_P(FastThreads, DoNotChangeBits) { isIndependent(true); }

std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  return caseName(info.index, info.param);
}

#define WINDOW " strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1"
#define SPREAD " strides=2,2 pads_begin=1,1 pads_end=1,1 dilations=1,1"

INSTANTIATE_TEST_SUITE_P(
    ConvGradient, Threads,
    testing::Values(
        // Panels of the gradient in scratch, packed, and read in place.
        "ConvolutionBackwardWeights 9x14x14x37 9x14x14x61 "
        "weights_shape=3,3,37,61" WINDOW,
        "ConvolutionBackwardWeights 3x28x28x64 3x28x28x128 "
        "weights_shape=3,3,64,128" WINDOW,
        "ConvolutionBackwardWeights 9x14x13x256 9x14x13x64 "
        "weights_shape=1,1,256,64 strides=1,1 pads_begin=0,0 pads_end=0,0 "
        "dilations=1,1",
        "ConvolutionBackwardWeights 5x19x23x13 5x10x12x40 "
        "weights_shape=3,3,13,40" SPREAD,
        "ConvolutionBackwardWeights 5x24x17x21 5x36x17x21 data_format=NCX "
        "weights_format=OIX weights_shape=36,24,3,3" WINDOW,
        // Groups, depthwise with few and with many channels.
        "ConvolutionBackwardWeights 5x17x17x24 5x17x17x32 groups=4 "
        "weights_shape=3,3,6,32" WINDOW,
        "ConvolutionBackwardWeights 7x31x29x24 7x31x29x24 groups=24 "
        "weights_shape=3,3,1,24" WINDOW,
        "ConvolutionBackwardWeights 3x14x14x320 3x14x14x320 groups=320 "
        "weights_shape=3,3,1,320" WINDOW,
        "ConvTransposeBackwardWeights 5x10x12x40 5x19x23x13 "
        "weights_shape=3,3,13,40" SPREAD,
        "ConvTransposeBackwardData 5x19x23x13 3x3x13x40" SPREAD,
        "ConvolutionBackwardData 5x10x12x40 3x3x13x40 "
        "dst_shape=5,19,23,13" SPREAD,
        "Convolution 5x19x23x13 3x3x13x40" SPREAD,
        "ConvTranspose 5x10x12x40 3x3x13x40 13" SPREAD),
    nameOf);

/// By Winograd: blocks of tiles that share V, in two sections, and
/// many blocks.
const auto kFiltered =
    testing::Values("Convolution 1x14x14x256 3x3x256x256c 256" WINDOW,
                    "y = Convolution 1x55x57x64 3x3x64x96c 96" WINDOW
                    "; r = Add y 1x55x57x96; ReLU r",
                    "Convolution 2x28x28x128 3x3x128x128c" WINDOW,
                    "Convolution 16x29x27x64 3x3x64x64c 64" WINDOW);
INSTANTIATE_TEST_SUITE_P(Winograd, Threads, kFiltered, nameOf);
INSTANTIATE_TEST_SUITE_P(Winograd, FastThreads, kFiltered, nameOf);

INSTANTIATE_TEST_SUITE_P(
    Products, Threads,
    testing::Values("MatMul 129x1031 1031x67", "MatMul 3x4099 4099x5",
                    "y = MatMul 7x65x130 7x130x67 67; GELU y",
                    "MatMul 100003 100003x1", "MatMul 40x65537 65537x24c",
                    "MatMul 3x70001 70001x200",
                    "s = MatMul 2x3x65x16 2x3x77x16 transpose_b=true; "
                    "t = Multiply s (); p = SoftMax t axis=-1; "
                    "MatMul p 2x3x77x16"),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Reductions, Threads,
    testing::Values(
        "SoftMax 257x1013 axis=-1", "SoftMax 1x300007 axis=-1",
        "SoftMax 1013x257 axis=0", "LogSoftmax 1x300007 axis=-1",
        "SoftMaxBackward 1x300007 1x300007 axis=-1", "ReduceSum 200003 axes=0",
        "ReduceSum 3001x257 axes=0", "ReduceSum 257x3001 axes=1",
        "ReduceSum 37x41x43x7 axes=0,2", "ReduceMean 200003 axes=0",
        "ReduceL2 3001x257 axes=0", "y,m,v = LayerNorm 131x517 517 517",
        "y,m,v = LayerNorm 1x300007 300007 300007",
        "x,g,b = LayerNormBackward 1031x97 1031x97 1031 1031 97",
        "RMSNorm 131x517 517", "y,m,v = GroupNorm 2x64x61x16 16 16 groups=2",
        "y,rm,rv,m,v = BatchNormForwardTraining 4x33x31x16 16 16 16 16 "
        "epsilon=0.01",
        "x,g,b = BatchNormTrainingBackward 2x64x64x32 2x64x64x32 32 32 32 "
        "epsilon=0.01",
        "BiasAddBackward 100003x3", "BiasAddBackward 64x33x31x8",
        "x,s = PReLUBackward 100003x3 3 100003x3",
        "x,s = PReLUBackward 100003x3 1 100003x3",
        "x,g,b = GroupNormBackward 2x64x61x16 2x64x61x16 2x2 2x2 16 groups=2",
        "x,g = RMSNormBackward 1031x97 1031x97 97"),
    nameOf);

INSTANTIATE_TEST_SUITE_P(
    Searches, Threads,
    testing::Values("y/s64 = ArgMax 1031x97 axis=1",
                    "y/s64 = ArgMin 97x1031 axis=0", "CumSum 200003 axis=0",
                    "CumSum 3x70001 axis=1 reverse=true",
                    "CumSum 1031x257 axis=0",
                    "s = Sigmoid 131x1031; v,i/s64 = TopK s k=40",
                    "s = Sigmoid 131x1031; v,i/s64 = TopK s k=1031",
                    "r = ReLU 131x1031; i/s64,n/s64 = NonZero r",
                    "y/f32 = RandomUniform 1/s64 1/s64 shape=131,1031",
                    "i/s64,n/s64 = NonMaxSuppression 2x129x4 2x7x129 "
                    "max_output_boxes_per_class=20 iou_threshold=0.5",
                    "RoiAlign 2x19x18x65 9x4 9/s64 output_height=7 "
                    "output_width=7"),
    nameOf);

} // namespace
