// SPDX-License-Identifier: Apache-2.0
// Windows over images of any size: compiled once, against the evaluator.
#include "runtime/tenon_model.h"
#include "tests/ops/UnknownSizes.h"

using namespace tenon;
using namespace tenon::test;

namespace {

/// `text` with `height` and `width` for H and W.
std::string sized(std::string text, const std::string &height,
                  const std::string &width) {
  for (const auto &[name, size] : {std::pair('H', height), {'W', width}})
    for (size_t at;
         (at = text.find(std::string("x") + name)) != std::string::npos;)
      text.replace(at + 1, 1, size);
  return text;
}

struct Image {
  int height, width;
};

/// `text`, of sizes xH and xW, compiled once and executed with all `images`.
void checkImages(const std::string &text, const std::vector<Image> &images) {
  std::vector<std::string> texts;
  for (auto [height, width] : images)
    texts.push_back(sized(text, std::to_string(height), std::to_string(width)));
  SCOPED_TRACE(text);
  checkShapes(sized(text, "?", "?"), texts);
}

const std::vector<Image> kImages = {{1, 1},   {2, 3},   {7, 7},
                                    {13, 31}, {23, 16}, {40, 53}};

TEST(UnknownWindows, Poolings) {
  for (const char *text :
       {"MaxPool 2xHxWx20 kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1",
        "MaxPool 2x5xHxW kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1 "
        "data_format=NCX",
        "MaxPool 2xHxWx7 kernel=3,2 strides=2,3 pads_begin=1,1 pads_end=1,1 "
        "rounding_type=ceil",
        "MaxPool 2xHxWx7 kernel=2,3 strides=1,1 dilations=2,1 pads_begin=2,1 "
        "pads_end=1,1 propagate_nan=true",
        "AvgPool 2xHxWx20 kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1 "
        "exclude_pad=false",
        "AvgPool 1x3xHxW kernel=3,3 strides=1,1 pads_begin=1,1 pads_end=1,1 "
        "exclude_pad=true data_format=NCX",
        "AvgPool 1x3xHxW kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1 "
        "exclude_pad=false data_format=NCX",
        "AvgPool 2xHxWx9 kernel=3,3 strides=2,2 pads_begin=1,1 pads_end=1,1 "
        "exclude_pad=false rounding_type=ceil divisor=clipped",
        "AvgPool 2xHxWx9 kernel=3,3 strides=2,2 pads_begin=0,0 pads_end=0,0 "
        "auto_pad=SAME_UPPER "
        "exclude_pad=true",
        "MaxPool 2xHxWx9 kernel=2,5 strides=3,2 pads_begin=0,0 pads_end=0,0 "
        "auto_pad=SAME_LOWER",
        "y = MaxPool 2xHxWx20 kernel=3,3 strides=1,1 pads_begin=1,1 "
        "pads_end=1,1; z = Add y 2xHxWx20; ReLU z"})
    checkImages(text, kImages);
  checkImages(
      "MaxPool 2xHxWx8 kernel=2,2 strides=2,2 pads_begin=0,0 pads_end=0,0",
      {{2, 2}, {3, 5}, {16, 30}});
  checkImages("AvgPool 2x8xHxW kernel=2,2 strides=2,2 pads_begin=0,0 "
              "pads_end=0,0 exclude_pad=true data_format=NCX",
              {{2, 2}, {3, 5}, {16, 30}});
}

TEST(UnknownWindows, EmptyImages) {
  const std::string pads = " strides=2,2 pads_begin=1,1 pads_end=1,1 ";
  for (const std::string &text :
       {"AvgPool 2xHxWx8 kernel=2,2 exclude_pad=false" + pads,
        "AvgPool 2x8xHxW kernel=2,2 exclude_pad=false data_format=NCX" + pads,
        "Convolution 1xHxWx8 2x2x8x12c dilations=1,1" + pads,
        "Convolution 1xHxWx8 2x2x1x8c groups=8 dilations=1,1" + pads})
    checkImages(text, {{0, 5}, {5, 0}, {0, 0}, {4, 4}});
}

TEST(UnknownWindows, PoolingsOfOtherRanks) {
  checkImages("MaxPool 2xWx20 kernel=3 strides=2 pads_begin=1 pads_end=1",
              {{1, 1}, {1, 2}, {1, 31}});
  checkImages("AvgPool 1xHx5xWx6 kernel=3,3,3 strides=2,1,2 pads_begin=1,1,1 "
              "pads_end=1,1,1 exclude_pad=true",
              {{1, 1}, {4, 7}, {9, 11}});
  // One of both is known.
  checkImages("AvgPool 1x14xWx20 kernel=3,3 strides=1,1 pads_begin=1,1 "
              "pads_end=1,1 exclude_pad=true",
              {{1, 1}, {1, 14}, {1, 29}});
  checkImages("AvgPool 1xHx14x20 kernel=3,3 strides=2,2 pads_begin=0,0 "
              "pads_end=0,0 auto_pad=SAME_UPPER exclude_pad=true",
              {{1, 1}, {14, 1}, {29, 1}});
}

TEST(UnknownWindows, MeansOfImages) {
  checkImages("ReduceMean 2xHxWx20 axes=1,2 keep_dims=true",
              {{1, 1}, {7, 7}, {13, 31}});
  checkImages("ReduceMean 2x20xHxW axes=2,3", {{1, 1}, {7, 7}, {13, 31}});
}

TEST(UnknownWindows, Convolutions) {
  auto window = [](const std::string &strides, const std::string &pads,
                   const std::string &rest = " dilations=1,1") {
    return " strides=" + strides + " pads_begin=" + pads + " pads_end=" + pads +
           rest;
  };
  const std::string same = window("1,1", "1,1"), point = window("1,1", "0,0");
  const std::string planes = " data_format=NCX weights_format=OIX";
  auto automatic = [](const std::string &how) {
    return " auto_pad=" + how + " dilations=1,1";
  };
  const std::vector<std::string> texts = {
      "Convolution 2xHxWx20 3x3x20x40c" + same,
      "y = Convolution 1xHxWx20 3x3x20x40c 40c" + same + "; ReLU y",
      "y = Convolution 1xHxWx64 3x3x64x64c 64c" + same +
          "; z = Add y 1xHxWx64; ReLU z",
      "Convolution 2x20xHxW 24x20x3x3c" + window("2,2", "1,1") + planes,
      "Convolution 2xHx1x20 5x1x20x40c" + window("1,1", "2,0"),
      "Convolution 2xHxWx3 7x7x3x16c" + window("2,2", "3,3"),
      "Convolution 1xHxWx20 1x1x20x40c" + point,
      "Convolution 1xHxWx20 1x1x20x40c" + window("2,2", "0,0"),
      "Convolution 1xHxWx8 3x3x8x9c" + window("1,2", "2,4", " dilations=2,3"),
      "Convolution 1xHxWx8 3x3x8x9c" +
          window("2,3", "0,0", automatic("SAME_UPPER")),
      "Convolution 1xHxWx8 4x2x8x9c" +
          window("3,1", "0,0", automatic("SAME_LOWER")),
      "y = Convolution 1x20xHxW 40x20x1x1c 40c" + point + planes +
          "; z = Add y 1x40xHxW; ReLU z",
      "Convolution 2x20xHxW 8x20x1x1c" + point + planes,
      "Convolution 1x64xHxW 70x64x3x3c" + same + planes,
      "Convolution 1xHxWx24 3x3x8x12c groups=3" + same,
      "Convolution 1xHxWx32 3x3x2x32c groups=16" + same};
  for (const std::string &text : texts)
    checkImages(text, kImages);
  checkImages("Convolution 1xHxWx8 3x3x8x9c strides=1,1 pads_begin=0,0 "
              "pads_end=0,0 dilations=1,1",
              {{3, 3}, {4, 9}, {20, 31}});
  // One of both sizes is known.
  checkImages("Convolution 1x14xWx8 3x3x8x9c strides=2,2 pads_begin=0,0 "
              "pads_end=0,0 auto_pad=SAME_UPPER dilations=1,1",
              {{1, 1}, {1, 14}, {1, 31}});
}

TEST(UnknownWindows, DepthwiseConvolutions) {
  for (const char *text :
       {"Convolution 2xHxWx40 3x3x1x40c groups=40 strides=1,1 pads_begin=1,1 "
        "pads_end=1,1 dilations=1,1",
        "y = Convolution 2xHxWx40 3x3x1x40c 40c groups=40 strides=2,2 "
        "pads_begin=1,1 pads_end=1,1 dilations=1,1; HardSwish y",
        "Convolution 2x9xHxW 9x1x5x5c groups=9 strides=1,1 pads_begin=2,2 "
        "pads_end=2,2 dilations=1,1 data_format=NCX weights_format=OIX",
        "Convolution 1xHxWx24 5x5x1x24c groups=24 strides=1,1 pads_begin=2,2 "
        "pads_end=2,2 dilations=1,1",
        "Convolution 1xHxWx24 5x3x1x24c groups=24 strides=2,1 pads_begin=4,2 "
        "pads_end=4,1 dilations=2,1",
        "Convolution 1xHxWx40 7x7x1x40c groups=40 strides=1,1 "
        "pads_begin=0,0 pads_end=0,0 auto_pad=SAME_UPPER dilations=1,1"})
    checkImages(text, kImages);
}

TEST(UnknownWindows, ConvolutionsOfOtherRanksAndTypes) {
  checkImages("Convolution 2xWx20 5x20x24c strides=2 pads_begin=2 pads_end=2 "
              "dilations=1",
              {{1, 1}, {1, 2}, {1, 31}});
  checkImages("Convolution 1xHx4xWx6 3x3x3x6x10c strides=1,2,1 "
              "pads_begin=1,1,1 pads_end=1,1,1 dilations=1,1,1",
              {{1, 1}, {4, 7}, {9, 11}});
  checkImages("y = Convolution 1xHxWx32/bf16 3x3x32x48c/bf16 strides=1,1 "
              "pads_begin=1,1 pads_end=1,1 dilations=1,1; ReLU y",
              kImages);
  checkImages("x/f32 = Dequantize 1xHxWx16/u8 scales=0.02 zps=3; "
              "w/f32 = Dequantize 3x3x16x24/s8c scales=0.01; "
              "y = Convolution x w strides=1,1 pads_begin=1,1 pads_end=1,1 "
              "dilations=1,1; z = ReLU y; r/u8 = Quantize z scales=0.05 zps=0",
              kImages);
}

TEST(UnknownWindows, TransposedConvolutions) {
  for (const char *text :
       {"ConvTranspose 1xHxWx20 3x3x12x20c strides=2,2 pads_begin=1,1 "
        "pads_end=1,1 dilations=1,1 output_padding=1,1",
        "ConvTranspose 1xHxWx20 3x3x12x20c strides=1,1 pads_begin=1,1 "
        "pads_end=1,1 dilations=1,1",
        "ConvTranspose 1xHxWx20 1x1x12x20c strides=1,1 pads_begin=0,0 "
        "pads_end=0,0 dilations=1,1",
        "y = ConvTranspose 1x8xHxW 8x12x4x4c 12c strides=2,2 pads_begin=1,1 "
        "pads_end=1,1 dilations=1,1 data_format=NCX weights_format=IOX; "
        "ReLU y",
        "ConvTranspose 1xHxWx20 3x3x1x20c groups=20 strides=2,2 "
        "pads_begin=0,0 pads_end=0,0 dilations=1,1"})
    checkImages(text, {{1, 1}, {2, 3}, {7, 7}, {13, 31}, {0, 7}});
  // Flipped, of channels as lanes: the padding alone would give elements.
  checkImages("ConvTranspose 1xHxWx20 3x3x1x20c groups=20 strides=1,1 "
              "pads_begin=0,0 pads_end=0,0 dilations=1,1",
              {{2, 3}, {0, 7}, {7, 0}});
}

TEST(UnknownWindows, Interpolations) {
  for (const char *text :
       {"Interpolate 2xHxWx20 mode=nearest ratio=scales scales=2,2",
        "Interpolate 1x6xHxW mode=nearest ratio=scales scales=2,2 "
        "data_format=NCX",
        "Interpolate 1x6xHxW mode=linear ratio=scales scales=2,2 "
        "data_format=NCX",
        "Interpolate 1x6xHxW mode=cubic ratio=scales scales=1.5,1.25 "
        "coordinate_transformation_mode=align_corners data_format=NCX",
        "Interpolate 2xHxWx5 mode=linear ratio=scales scales=1.5,3 "
        "coordinate_transformation_mode=align_corners",
        "Interpolate 2xHxWx5 mode=cubic ratio=scales scales=3,1.25 "
        "coordinate_transformation_mode=pytorch_half_pixel",
        "Interpolate 2xHxWx5 mode=linear ratio=scales scales=1.5,1.25 "
        "coordinate_transformation_mode=half_pixel_symmetric",
        "Interpolate 2xHxWx5 mode=nearest ratio=scales scales=3,2 "
        "coordinate_transformation_mode=asymmetric nearest_mode=floor"})
    checkImages(text, {{1, 1}, {2, 3}, {7, 7}, {13, 31}});
  checkImages("Interpolate 2xHxWx5 mode=linear ratio=scales scales=0.5,0.75",
              {{2, 2}, {3, 7}, {16, 31}});
  // More rows than a band has, and rows that are too long for one.
  checkImages("Interpolate 1x2xHxW mode=linear ratio=scales scales=2,0.5 "
              "data_format=NCX",
              {{33, 4}, {70, 9}, {3, 6000}});
  checkImages("Interpolate 1x2xHxW mode=cubic ratio=scales scales=0.5,1.5 "
              "data_format=NCX",
              {{33, 4}, {71, 9}, {130, 2}});
  checkImages("Interpolate 2xHxWx5 mode=linear sizes=6,9",
              {{1, 1}, {2, 3}, {6, 9}, {13, 31}});
  checkImages("Interpolate 1x6xHxW mode=nearest sizes=6,9 data_format=NCX",
              {{1, 1}, {2, 3}, {6, 9}, {13, 31}});
  checkImages("Interpolate 2xHxWx5 mode=linear ratio=scales scales=2,2",
              {{0, 5}, {5, 0}, {4, 4}});
}

TEST(UnknownWindows, ResponseNorms) {
  checkImages("LRN 2xHxWx20 alpha=0.1 beta=0.75 k=1 size=5",
              {{1, 1}, {7, 13}, {20, 31}});
  checkImages("LRN 2xHxWx20 alpha=0.5 beta=0.75 k=1 size=5 "
              "algorithm=within_channel",
              {{1, 1}, {2, 9}, {13, 40}});
  checkImages("LRN 2x20xHxW alpha=0.1 beta=0.75 k=1 size=5 data_format=NCX",
              {{1, 1}, {7, 13}, {20, 31}});
}

/// Items and blocks follow from sizes, not from the number of threads.
TEST(UnknownWindows, AnyNumberOfThreads) {
  const std::string same = " strides=1,1 pads_begin=1,1 pads_end=1,1 ";
  for (const std::string &text :
       {"Convolution 2xHxWx20 3x3x20x40c dilations=1,1" + same,
        "Convolution 1xHxWx40 3x3x1x40c groups=40 dilations=1,1" + same,
        "AvgPool 2x5xHxW kernel=3,3 exclude_pad=true data_format=NCX" + same,
        "LRN 2xHxWx20 alpha=0.1 beta=0.75 k=1 size=5" + std::string()}) {
    auto graph = parseGraph(sized(text, "?", "?"));
    ASSERT_TRUE(graph) << str(graph.errors());
    RunConfig c;
    auto model = tenon::Compiled::compile(*graph, c.options);
    ASSERT_TRUE(model) << text << ": " << str(model.errors());
    for (const char *size : {"1", "13", "40"}) {
      auto concrete = parseGraph(sized(text, size, "31"));
      ASSERT_TRUE(concrete) << str(concrete.errors());
      auto oracle = Oracle::unjudged(*concrete);
      ASSERT_TRUE(oracle) << str(oracle.errors());
      std::map<uint64_t, std::vector<uint64_t>> first;
      for (c.threads = 1; c.threads <= 3; ++c.threads) {
        auto results = execute(**model, *oracle, c);
        ASSERT_TRUE(results) << text << ": " << str(results.errors());
        auto bits = bitsOf(*results);
        if (c.threads == 1)
          first = bits;
        EXPECT_EQ(bits, first) << text << ", " << size;
      }
    }
  }
}

/// A residual block, of a few channels.
TEST(UnknownWindows, ResidualBlock) {
  checkImages("x = MaxPool 2xHxWx32 kernel=3,3 strides=2,2 pads_begin=1,1 "
              "pads_end=1,1; "
              "a = Convolution x 1x1x32x16c 16c strides=1,1 pads_begin=0,0 "
              "pads_end=0,0 dilations=1,1; b = ReLU a; "
              "c = Convolution b 3x3x16x16c 16c strides=1,1 pads_begin=1,1 "
              "pads_end=1,1 dilations=1,1; d = ReLU c; "
              "e = Convolution d 1x1x16x32c 32c strides=1,1 pads_begin=0,0 "
              "pads_end=0,0 dilations=1,1; f = Add e x; g = ReLU f; "
              "h = ReduceMean g axes=1,2; MatMul h 32x10c 10c",
              {{1, 1}, {7, 13}, {32, 32}, {57, 40}});
}

/// Compiled files have no inference that refuses images smaller than a window.
TEST(UnknownWindows, CodeRefusesSmallImages) {
  const std::string one = " strides=1,1 pads_begin=0,1 pads_end=0,1";
  for (const std::string &text :
       {"MaxPool 1x?x?x3 kernel=3,3" + one,
        "AvgPool 1x?x?x3 kernel=3,3" + one + " exclude_pad=true",
        "Convolution 1x?x?x3 3x3x3x3 dilations=1,1" + one,
        "Convolution 1x?x?x3 3x3x1x3 groups=3 dilations=1,1" + one}) {
    SCOPED_TRACE(text);
    auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << str(graph.errors());
    auto model = Compiled::compile(*graph, {});
    ASSERT_TRUE(model) << str(model.errors());
    auto executor = Executor::create({});
    ASSERT_TRUE(executor) << str(executor.errors());
    for (int64_t height : {0, 1, 2, 3, 4}) {
      std::vector<float> x(256), w(256), y(256);
      std::vector<void *> tensors{x.data(), w.data(), y.data()};
      std::vector<int64_t> dims{1, height, 5, 3};
      if (text.starts_with("Convolution"))
        for (int64_t size : *graph->tensor(graph->inputPorts[1]).shape)
          dims.push_back(size);
      else
        tensors.erase(tensors.begin() + 1);
      for (int64_t size : {int64_t{1}, std::max<int64_t>(height - 2, 0),
                           int64_t{5}, int64_t{3}})
        dims.push_back(size);
      EXPECT_EQ(tenon_model_run((*model)->model(), (*executor)->handle(),
                                nullptr, tensors.data(), dims.data(), nullptr),
                height < 3 ? TENON_RT_BAD_VALUE : TENON_RT_OK)
          << height;
    }
  }
}

} // namespace
