// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

#include <cstdint>

namespace tenon::test {

namespace {

using Dims = std::vector<int64_t>;

std::string join(const Dims &dims, const char *between) {
  std::string text;
  for (int64_t d : dims)
    text += (text.empty() ? "" : between) + std::to_string(d);
  return text;
}

/// One window between a big and a small tensor; all five operations that
/// compute one of big, small and weights from the others follow from it.
struct Relation {
  int64_t batch;
  Dims big;
  int64_t part, full, groups; // channels: big has part * groups, small full
  Dims kernel, strides, begin, end, dilations;

  Dims small() const {
    Dims sizes;
    for (size_t i = 0; i < big.size(); ++i)
      sizes.push_back(
          (big[i] + begin[i] + end[i] - dilations[i] * (kernel[i] - 1) - 1) /
              strides[i] +
          1);
    return sizes;
  }

  /// What a transposed convolution has to append to reach `big`.
  Dims outputPadding() const {
    Dims padding, sizes = small();
    for (size_t i = 0; i < big.size(); ++i)
      padding.push_back(big[i] - (strides[i] * (sizes[i] - 1) +
                                  dilations[i] * (kernel[i] - 1) + 1 -
                                  begin[i] - end[i]));
    return padding;
  }

  Dims data(Dims spatial, int64_t channels, bool ncx) const {
    spatial.insert(spatial.begin(), batch);
    spatial.insert(ncx ? spatial.begin() + 1 : spatial.end(), channels);
    return spatial;
  }

  Dims weights(bool tapsLast) const {
    Dims shape = kernel;
    shape.insert(tapsLast ? shape.begin() : shape.end(), part);
    shape.insert(tapsLast ? shape.begin() : shape.end(), full);
    return shape;
  }

  std::string attrs(bool ncx, const char *format) const {
    return " strides=" + join(strides, ",") +
           " pads_begin=" + join(begin, ",") + " pads_end=" + join(end, ",") +
           " dilations=" + join(dilations, ",") +
           " groups=" + std::to_string(groups) +
           " data_format=" + (ncx ? "NCX" : "NXC") +
           " weights_format=" + format;
  }

  void add(Cases &cases, bool ncx, bool tapsLast) const {
    std::string forward = attrs(ncx, tapsLast ? "OIX" : "XIO");
    std::string transposed = attrs(ncx, tapsLast ? "IOX" : "XOI");
    Dims wide = data(big, part * groups, ncx), w = weights(tapsLast);
    std::string bigText = join(wide, "x"), weightsText = join(w, "x");
    std::string smallText = join(data(small(), full, ncx), "x");
    std::string shape = " weights_shape=" + join(w, ",");
    cases.push_back("ConvTranspose " + smallText + " " + weightsText + "c " +
                    std::to_string(part * groups) + transposed +
                    " output_padding=" + join(outputPadding(), ","));
    cases.push_back("ConvolutionBackwardData " + smallText + " " + weightsText +
                    forward + " dst_shape=" + join(wide, ","));
    cases.push_back("ConvolutionBackwardWeights " + bigText + " " + smallText +
                    forward + shape);
    cases.push_back("ConvTransposeBackwardData " + bigText + " " + weightsText +
                    transposed);
    cases.push_back("ConvTransposeBackwardWeights " + smallText + " " +
                    bigText + transposed + shape);
  }
};

} // namespace

Cases convGradientCases() {
  Cases cases;
  int form = 0;
  for (const Relation &r : std::initializer_list<Relation>{
           // One window position, one channel; nothing at all.
           {1, {1}, 1, 1, 1, {1}, {1}, {0}, {0}, {1}},
           {0, {5}, 3, 4, 1, {3}, {1}, {1}, {1}, {1}},
           {2, {5, 7}, 0, 4, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
           {2, {5, 7}, 3, 0, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
           // Strides 1 to 4, with taps left over and taps missing.
           {2, {9, 8}, 3, 5, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
           {2, {9, 8}, 3, 5, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
           {1, {11, 13}, 7, 5, 1, {3, 2}, {3, 2}, {0, 1}, {2, 0}, {1, 1}},
           {1, {23, 27}, 3, 17, 1, {11, 11}, {4, 4}, {0, 2}, {0, 2}, {1, 1}},
           {2, {8, 8}, 5, 6, 1, {1, 1}, {2, 3}, {0, 0}, {0, 0}, {1, 1}},
           {2, {8, 6}, 16, 32, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
           {1, {8, 6}, 16, 8, 1, {1, 1}, {1, 1}, {1, 1}, {0, 2}, {1, 1}},
           {2, {12, 10}, 4, 6, 1, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},
           // Dilations that share a divisor with the stride, or do not.
           {1, {13, 14}, 3, 4, 1, {3, 3}, {2, 2}, {1, 2}, {1, 2}, {2, 3}},
           {1, {17, 19}, 2, 9, 1, {3, 4}, {3, 4}, {2, 3}, {1, 3}, {2, 2}},
           {2, {15, 11}, 5, 3, 1, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
           {1, {19, 23}, 5, 3, 1, {3, 3}, {6, 4}, {4, 1}, {5, 6}, {4, 6}},
           // A window larger than the tensor; padding beyond it.
           {1, {2, 3}, 3, 4, 1, {5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}},
           {1, {3, 3}, 3, 4, 1, {2, 2}, {2, 2}, {5, 4}, {4, 5}, {1, 1}},
           // Groups, depthwise, more outputs than groups.
           {2, {9, 8}, 3, 8, 2, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}},
           {1, {7, 9}, 2, 9, 3, {3, 2}, {1, 2}, {1, 0}, {1, 1}, {2, 1}},
           {2, {9, 11}, 1, 40, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
           {2, {9, 11}, 1, 13, 13, {3, 5}, {2, 3}, {1, 2}, {1, 2}, {1, 2}},
           {1, {9, 11}, 1, 24, 8, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
           // One and three spatial dimensions.
           {2, {31}, 16, 24, 1, {4}, {3}, {2}, {1}, {2}},
           {3, {29}, 1, 6, 6, {5}, {2}, {2}, {2}, {1}},
           {1,
            {5, 6, 7},
            4,
            6,
            2,
            {3, 2, 3},
            {2, 1, 2},
            {1, 0, 1},
            {0, 1, 2},
            {1, 2, 1}},
           {2,
            {4, 5, 6},
            3,
            5,
            1,
            {2, 3, 3},
            {1, 2, 1},
            {0, 1, 1},
            {1, 1, 1},
            {1, 1, 1}},
           // More than a panel of columns, several blocks and pieces.
           {2, {14, 14}, 37, 61, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
           {3, {28, 30}, 48, 50, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
           {9, {7, 7}, 64, 96, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
           // Few channels: parts of the images, all taps at once.
           {8, {17, 19}, 3, 70, 1, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}},
           {10, {33}, 2, 9, 1, {5}, {2}, {2}, {1}, {1}},
           {4,
            {5, 6, 7},
            3,
            6,
            1,
            {3, 2, 3},
            {2, 1, 1},
            {1, 0, 1},
            {0, 1, 2},
            {1, 2, 1}},
           {6, {3, 4}, 1, 5, 1, {5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}},
           // Products whose columns are positions.
           {2, {16, 14}, 24, 40, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
           {1, {301}, 5, 3, 1, {1}, {1}, {0}, {0}, {1}}}) {
    // Formats in turn; channels last twice.
    r.add(cases, false, form % 2 == 0);
    r.add(cases, true, form % 3 == 0);
    ++form;
  }
  const std::string ones = " strides=1,1 pads_begin=0,0 pads_end=0,0"
                           " dilations=1,1";
  const std::string twos = " strides=2,2 pads_begin= pads_end= dilations=1,1";
  for (std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID", "None"}) {
    std::string pad = " auto_pad=" + mode;
    bool same = mode.starts_with("SAME");
    std::string small = same ? "1x5x4x5" : "1x4x3x5";
    cases.push_back("ConvTranspose 1x5x4x5 3x3x3x5c 3" + twos + pad);
    cases.push_back("ConvTranspose 1x5x4x5 3x2x3x5c" + ones + pad);
    cases.push_back("ConvolutionBackwardData " + small + " 3x3x3x5" + twos +
                    pad + " dst_shape=1,9,8,3");
    cases.push_back("ConvolutionBackwardWeights 1x9x8x3 " + small + twos + pad +
                    " weights_shape=3,3,3,5");
    cases.push_back("ConvTransposeBackwardData 1x9x8x3 3x3x3x5" + twos + pad);
    cases.push_back("ConvTransposeBackwardWeights " + small + " 1x9x8x3" +
                    twos + pad + " weights_shape=3,3,3,5");
  }
  // Depthwise by weights with channels apart, one at a time: strides, taps that
  // are summed in several passes or are too many, dilations, one dim and three.
  const std::string ncx = " data_format=NCX weights_format=OIX";
  for (const char *text :
       {"2x6x9x11 2x6x9x11 weights_shape=6,1,3,3 groups=6 strides=1,1 "
        "pads_begin=1,1 pads_end=1,1 dilations=1,1",
        "3x5x9x12 3x5x5x6 weights_shape=5,1,3,3 groups=5 strides=2,2 "
        "pads_begin=1,0 pads_end=1,1 dilations=1,1",
        "1x40x14x14 1x40x14x14 weights_shape=40,1,5,5 groups=40 strides=1,1 "
        "pads_begin=2,2 pads_end=2,2 dilations=1,1",
        "1x3x4x40 1x3x4x40 weights_shape=3,1,1,13 groups=3 strides=1,1 "
        "pads_begin=0,6 pads_end=0,6 dilations=1,1",
        "1x3x70 1x3x70 weights_shape=3,1,65 groups=3 strides=1 pads_begin=32 "
        "pads_end=32 dilations=1",
        "2x3x9x29 2x3x7x5 weights_shape=3,1,2,3 groups=3 strides=1,5 "
        "pads_begin=0,1 pads_end=0,0 dilations=2,3",
        "2x4x5x6x7 2x4x5x3x4 weights_shape=4,1,3,2,3 groups=4 strides=1,2,2 "
        "pads_begin=1,0,1 pads_end=1,0,1 dilations=1,1,1",
        "2x7x50 2x7x25 weights_shape=7,1,4 groups=7 strides=2 pads_begin=1 "
        "pads_end=1 dilations=1",
        "0x4x5x5 0x4x5x5 weights_shape=4,1,3,3 groups=4 strides=1,1 "
        "pads_begin=1,1 pads_end=1,1 dilations=1,1",
        "2x3x6x8<200,60,10,1> 2x3x6x8 weights_shape=3,1,3,3 groups=3 "
        "strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1",
        // One tap: the smaller of both is packed.
        "2x3x5x6 2x7x5x6 weights_shape=7,3,1,1 strides=1,1 pads_begin=0,0 "
        "pads_end=0,0 dilations=1,1",
        "3x17x40 3x50x40 weights_shape=50,17,1 strides=1 pads_begin=0 "
        "pads_end=0 dilations=1",
        "2x50x5x6 2x17x5x6 weights_shape=17,50,1,1 strides=1,1 pads_begin=0,0 "
        "pads_end=0,0 dilations=1,1"})
    cases.push_back(std::string("ConvolutionBackwardWeights ") + text + ncx);
  // Weights of narrow floats are flipped and packed in groups of K.
  for (std::string type : {"bf16", "f16"})
    for (std::string window :
         {" strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1",
          " strides=1,1 pads_begin=0,2 pads_end=0,2 dilations=1,2"})
      cases.push_back("ConvTranspose 2x5x9x33/" + type + " 3x3x20x33/" + type +
                      window);
  for (const char *text : {
           // Memory not row-major.
           "ConvTranspose 1x5x5x3<75,1,15,5> 3x3x4x3c",
           "ConvTranspose 1x5x5x3<150,30,6,2> 3x3x4x3<1,3,36,9>",
           "y<200,1,28,7> = ConvTranspose 1x5x5x3 3x3x4x3c",
           "y<600,80,10,2> = ConvTranspose 1x5x5x3 3x3x4x3c 4c",
           "y<3,1,9,36> = ConvolutionBackwardWeights 1x7x7x4 1x5x5x3 "
           "weights_shape=3,3,4,3",
           "y<144,40,5,1> = ConvolutionBackwardWeights 1x7x7x4 1x5x5x3 "
           "weights_shape=3,3,4,3",
           "ConvolutionBackwardWeights 1x7x7x4<196,1,28,7> "
           "1x5x5x3<150,30,6,2> weights_shape=3,3,4,3",
           "y<250,50,7,1> = ConvTransposeBackwardData 1x7x7x4<400,1,28,7> "
           "3x3x4x3",
           "y<6,2,1,1> = ConvolutionBackwardWeights 1x9x9x2 1x7x7x2 "
           "weights_shape=3,3,1,2 groups=2",
       })
    cases.push_back(text + ones);
  return cases;
}

Cases convGradientFusionCases() {
  Cases cases;
  const std::string spread = " strides=2,2 pads_begin=1,1 pads_end=0,0"
                             " dilations=1,1";
  // Epilogues: bias, activation, residual, one per position, a scalar.
  for (std::string tail : {
           "z = ReLU y",
           "z = Add y 1x9x11x29; w = Sigmoid z",
           "z = Multiply y 1x9x11x1; w = Add z ()",
           "z = Add y 29c; w = ReLU z; v = StaticTranspose w order=0,3,1,2",
       })
    cases.push_back("y = ConvTranspose 1x5x6x5 2x2x29x5c 29c" + spread + "; " +
                    tail);
  const std::string window = " strides=1,1 pads_begin=1,1 pads_end=1,1"
                             " dilations=1,1";
  // A training step: both gradients of one layer, and what follows them.
  cases.push_back(
      "d = Multiply 2x8x8x5 2x8x8x5; x = "
      "ConvolutionBackwardData d 3x3x3x5 dst_shape=2,8,8,3" +
      window +
      "; w = ConvolutionBackwardWeights 2x8x8x3 d weights_shape=3,3,3,5" +
      window + "; out x w");
  cases.push_back("w = ConvolutionBackwardWeights 2x8x8x3 2x8x8x5"
                  " weights_shape=3,3,3,5" +
                  window + "; u = Multiply w (); v = Subtract 3x3x3x5 u");
  cases.push_back("w = ConvolutionBackwardWeights 2x8x8x16 2x8x8x16 groups=16"
                  " weights_shape=3,3,1,16" +
                  window + "; ReLU w");
  cases.push_back("y = ConvTranspose 2x8x8x16 3x3x1x16c 16c groups=16" +
                  window + "; ReLU y");
  // Nothing, of which the kernel makes nothing.
  cases.push_back("ConvTranspose 1x0x3x1 1x1x2x1 1 strides=1,1 pads_begin=0,0 "
                  "pads_end=0,0 dilations=1,1 data_format=NXC "
                  "weights_format=IOX");
  // Nothing, of which padding made something.
  cases.push_back("x = ConvolutionBackwardData 3x3x1x8 8x1x1x3 "
                  "dst_shape=3,5,0,8 strides=2,1 pads_begin=0,2 pads_end=0,1 "
                  "dilations=1,1 groups=8 weights_format=OIX");
  cases.push_back("x = ConvolutionBackwardData 2x3x1 3x4x3 dst_shape=2,4,0 "
                  "strides=1 pads_begin=2 pads_end=1 dilations=1 "
                  "data_format=NCX weights_format=OIX; ReLU x");
  return cases;
}

} // namespace tenon::test
