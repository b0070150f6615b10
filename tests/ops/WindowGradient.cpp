// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

Cases poolGradientCases() {
  // src, then diff_dst, then attributes.
  struct Form {
    const char *src, *dst, *attrs;
  };
  static const Form forms[] = {
      {"1x6x6x4", "1x3x3x4", "strides=2,2 kernel=2,2"},
      {"2x9x8x5", "2x5x4x5",
       "strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3"},
      {"1x9x8x17", "1x9x4x17",
       "strides=1,2 pads_begin=0,1 pads_end=2,0 kernel=3,2"},
      // diff_dst of rounding up.
      {"1x9x8x3", "1x5x4x3",
       "strides=2,3 pads_begin=1,0 pads_end=0,1 kernel=3,2"},
      {"1x7x7x3", "1x4x4x3",
       "strides=3,3 pads_begin=1,1 pads_end=1,1 kernel=2,2"},
      {"1x9x8x3", "1x5x4x3", "strides=2,2 kernel=3,3 auto_pad=SAME_UPPER"},
      {"1x9x8x3", "1x5x4x3", "strides=2,2 kernel=2,3 auto_pad=SAME_LOWER"},
      {"1x9x8x3", "1x4x3x3",
       "strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 auto_pad=VALID"},
      {"1x9x8x3", "1x5x4x3",
       "strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 auto_pad=None"},
      {"2x16x9x8", "2x16x5x4",
       "strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 data_format=NCX"},
      {"1x3x33x64", "1x3x31x62", "strides=1,1 kernel=3,3 data_format=NCX"},
      {"1x7x7x32", "1x1x1x32", "strides=1,1 kernel=7,7"},
      {"2x32x7x7", "2x32x1x1", "strides=1,1 kernel=7,7 data_format=NCX"},
      {"2x5x6x9", "2x5x2x3", "strides=3,3 kernel=3,3 data_format=NCX"},
      {"2x5x9x14", "2x5x3x4",
       "strides=3,4 pads_begin=1,2 pads_end=0,1 kernel=3,3 data_format=NCX"},
      {"1x2x17x19", "1x2x5x6", "strides=2,2 kernel=9,9 data_format=NCX"},
      // Many taps, too many above, and too long steps, for planes of a channel.
      {"1x3x11x13", "1x3x4x5",
       "strides=2,2 pads_begin=1,0 pads_end=0,0 kernel=5,5 data_format=NCX"},
      {"1x3x11x26", "1x3x6x6",
       "strides=2,5 pads_begin=1,1 pads_end=1,1 kernel=2,3 data_format=NCX"},
      {"1x1x1x1", "1x1x1x1", "strides=1,1 kernel=1,1"},
      {"0x6x6x4", "0x3x3x4", "strides=2,2 kernel=2,2"},
      {"1x6x6x0", "1x3x3x0", "strides=2,2 kernel=2,2"},
      {"2x11x5", "2x5x5", "strides=2 pads_begin=1 pads_end=0 kernel=3"},
      {"2x5x11", "2x5x5",
       "strides=2 pads_begin=1 pads_end=0 kernel=3 data_format=NCX"},
      // Windows end before src does; rounded up they reach what is cut off.
      {"2x9x8x5", "2x3x3x5",
       "strides=2,2 pads_begin=0,0 pads_end=-1,-1 kernel=3,3"},
      {"2x9x8x17", "2x4x3x17",
       "strides=2,3 pads_begin=1,0 pads_end=-2,-1 kernel=3,2"},
      {"2x5x9x8", "2x5x4x3",
       "strides=2,2 pads_begin=0,0 pads_end=-1,-1 kernel=2,2 data_format=NCX"},
      {"2x5x9x8", "2x5x4x4",
       "strides=2,2 pads_begin=0,0 pads_end=-2,-1 kernel=2,2 data_format=NCX"},
      {"2x11x5", "2x1x5", "strides=2 pads_begin=0 pads_end=-7 kernel=3"},
      {"1x6x6x4", "1x3x3x4",
       "strides=2,2 pads_begin=0,0 pads_end=-1,-1 kernel=2,2"},
      // Windows apart, and one that is mostly padding.
      {"1x13x11x4", "1x3x3x4", "strides=5,5 kernel=2,1"},
      {"1x3x4x2", "1x9x8x2",
       "strides=1,1 pads_begin=5,4 pads_end=5,4 kernel=5,5"},
      // Several column chunks and channel blocks, with rests.
      {"1x4x300x3", "1x2x149x3", "strides=2,2 kernel=2,3"},
      {"1x5x5x131", "1x2x2x131", "strides=2,2 kernel=3,3"},
      {"1x5x6x7x3", "1x3x5x4x3",
       "strides=2,1,2 pads_begin=1,0,1 pads_end=0,1,1 kernel=2,3,3"},
      {"1x3x5x6x7", "1x3x3x5x4",
       "strides=2,1,2 pads_begin=1,0,1 pads_end=0,1,1 kernel=2,3,3 "
       "data_format=NCX"},
      {"1x6x6x4<144,1,24,6>", "1x3x3x4", "strides=2,2 kernel=2,2"},
      {"1x6x6x4<400,60,8,2>", "1x3x3x4<300,50,9,2>", "strides=2,2 kernel=2,2"},
  };
  Cases cases;
  for (const Form &f : forms) {
    std::string attrs = f.attrs, src = f.src;
    if (attrs.find("pads_begin") == std::string::npos)
      attrs += " pads_begin= pads_end=";
    cases.push_back("MaxPoolBackward " + src + " " + f.dst + " " + attrs);
    cases.push_back("MaxPoolBackward " + src + " " + f.dst + " " + attrs +
                    " propagate_nan=true");
    std::string shape = src.substr(0, src.find('<'));
    for (char &c : shape)
      c = c == 'x' ? ',' : c;
    for (const char *exclude : {"true", "false", "false divisor=clipped"})
      cases.push_back(std::string("AvgPoolBackward ") + f.dst + " " + attrs +
                      " src_shape=" + shape + " exclude_pad=" + exclude);
  }
  for (const char *text : {
           "MaxPoolBackward 1x9x8x3 1x5x2x3 strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 kernel=3,3 dilations=2,3",
           "MaxPoolBackward 1x9x8x3 1x4x9x3 strides=2,1 pads_begin=2,1 "
           "pads_end=1,2 kernel=3,2 dilations=2,2",
           "MaxPoolBackward 1x9x8x3 1x5x4x3 strides=2,2 pads_begin= pads_end= "
           "kernel=2,2 dilations=2,2 auto_pad=SAME_UPPER",
           "y<144,1,24,6> = MaxPoolBackward 1x6x6x4 1x3x3x4 strides=2,2 "
           "pads_begin=0,0 pads_end=0,0 kernel=2,2",
           "y<200,50,7,1> = AvgPoolBackward 1x4x3x3 strides=2,2 pads_begin=0,0 "
           "pads_end=0,0 kernel=2,2 exclude_pad=false data_format=NCX "
           "src_shape=1,4,6,6",
           "MaxPoolBackward 2x3x9x17 2x3x8x4 strides=1,3 pads_begin=2,1 "
           "pads_end=1,0 kernel=3,3 dilations=2,4 data_format=NCX",
           "AvgPoolBackward 1x4x4x3 strides=3,2 pads_begin=1,1 pads_end=0,0 "
           "kernel=2,3 rounding_type=ceil exclude_pad=false divisor=clipped "
           "src_shape=1,8,7,3",
           "AvgPoolBackward 1x2x4x30 strides=2,3 pads_begin=1,1 pads_end=1,1 "
           "kernel=3,3 exclude_pad=false divisor=clipped "
           "src_shape=1,2,7,89 data_format=NCX",
           "AvgPoolBackward 1x3x3x5 strides=2,2 pads_begin=0,0 pads_end=0,0 "
           "kernel=2,2 rounding_type=floor exclude_pad=true "
           "src_shape=1,7,6,5",
           "y<576,1,72,8> = MaxPoolBackward 1x8x8x9 1x8x4x4 strides=2,2 "
           "pads_begin=0,0 pads_end=0,0 kernel=2,2 data_format=NCX",
           "y = Round 1x4x8x8; z = Clamp y min=0 max=1; MaxPoolBackward z "
           "1x4x4x4 strides=2,2 pads_begin=1,1 pads_end=0,0 kernel=3,3 "
           "data_format=NCX",
           // Equal elements: the first of a window wins.
           "y = Round 1x8x8x4; z = Clamp y min=0 max=1; MaxPoolBackward z "
           "1x3x3x4 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=3,3",
       })
    cases.push_back(text);
  // A third of src is NaN, or -inf.
  for (const char *special : {"Divide c c", "Log c"})
    for (const char *propagates : {"true", "false"})
      for (const char *form :
           {"2x8x8x4 2x4x4x4", "2x5x8x8 2x5x4x4 data_format=NCX"})
        for (const char *pads : {"0", "1"}) {
          std::string text = form, dst = text.substr(8);
          cases.push_back("r = Round " + text.substr(0, 7) +
                          "; c = Clamp r min=0 max=1; y = " + special +
                          "; MaxPoolBackward y " + dst +
                          " strides=2,2 kernel=2,2 pads_begin=" + pads + "," +
                          pads + " pads_end=-" + pads + ",-" + pads +
                          " propagate_nan=" + propagates);
        }
  return cases;
}

/// LRN and LRNBackward, Interpolate and InterpolateBackward.
Cases lrnCases() {
  Cases cases;
  for (std::string shape :
       {"1x1", "7x5", "3x131", "2x9x8x17", "1x5x6x7x3", "2x3x40", "0x6x6x4",
        "2x0x3", "1x6x6x0", "1x13x13x96", "2x6x7x8<512,64,8,1>",
        "1x6x6x4<400,60,8,2>", "1x2x3x5000"})
    for (std::string attrs :
         {"", "size=3 alpha=0.5 beta=0.5 k=2", "size=4 alpha=1 data_format=NCX",
          "size=1 alpha=2 beta=1 k=0.5",
          "size=13 alpha=3 beta=0.3 data_format=NXC",
          "size=5 alpha=2 algorithm=across_channels data_format=NCX",
          "size=3 alpha=2 algorithm=within_channel data_format=NXC",
          "size=5 alpha=2 beta=0.6 algorithm=within_channel data_format=NCX",
          "size=9223372036854775807 alpha=1 beta=0"}) {
      // Windows of all channels: too slow for the evaluator.
      if (shape.ends_with("5000") && attrs.starts_with("size=9"))
        continue;
      cases.push_back("LRN " + shape + " " + attrs);
      cases.push_back("LRNBackward " + shape + " " +
                      shape.substr(0, shape.find('<')) + " " + attrs);
    }
  cases.push_back("y<400,60,8,2> = LRN 1x6x6x4");
  cases.push_back("y<1,5,30> = LRNBackward 4x5x6 4x5x6 data_format=NCX");
  cases.push_back("x = ReLU 2x5x5x32; y = LRN x alpha=1; MaxPool y "
                  "strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=3,3");
  return cases;
}

/// Each coordinate mode with each way to read src there.
static void addSampling(Cases &cases) {
  struct Form {
    const char *src, *dst, *sizes, *scales;
  };
  static const Form forms[] = {
      {"1x5x7x6", "1x12x4x6", "12,4", "2.5,0.6"},
      {"2x3x13x9", "2x3x29x4", "29,4", "2.25,0.5 data_format=NCX"},
      {"1x9x8", "1x9x16", "16", "2 data_format=NCX"},
      {"1x2x4x3", "1x1x9x3", "1,9", "0.6,2.25"},
  };
  std::vector<std::string> reads = {"mode=linear", "mode=cubic",
                                    "mode=cubic cubic_coeff_a=-0.5 "
                                    "exclude_outside=true"};
  for (const char *nearest :
       {"round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    reads.push_back(std::string("mode=nearest nearest_mode=") + nearest);
  for (const Form &f : forms)
    for (std::string coordinates :
         {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
          "half_pixel_symmetric", "tf_half_pixel_for_nn"})
      for (const std::string &read : reads) {
        std::string attrs =
            " " + read + " coordinate_transformation_mode=" + coordinates;
        std::string format = f.scales;
        format = format.substr(std::min(format.find(' '), format.size()));
        std::string dst = std::string(f.src) + " " + f.dst;
        for (const std::string &ratio :
             {" sizes=" + std::string(f.sizes) + format,
              " ratio=scales scales=" + std::string(f.scales)}) {
          cases.push_back("Interpolate " + std::string(f.src) + attrs + ratio);
          cases.push_back("InterpolateBackward " + dst + attrs + ratio);
        }
      }
  for (const char *text : {
           "1x12x9x3 mode=linear antialias=true sizes=5,4",
           "1x12x9x3 mode=cubic antialias=true sizes=8,18",
           "1x12x9x3 mode=cubic antialias=true sizes=7,7 exclude_outside=true",
           "2x3x30x20 mode=linear antialias=true exclude_outside=true "
           "sizes=20,9 data_format=NCX",
           "2x7x30 mode=cubic antialias=true ratio=scales scales=0.3 "
           "data_format=NCX",
           "2x30x7 mode=linear antialias=true sizes=40 "
           "coordinate_transformation_mode=asymmetric",
       })
    cases.push_back(std::string("Interpolate ") + text);
  cases.push_back("InterpolateBackward 1x12x9x3 1x5x4x3 mode=linear "
                  "antialias=true sizes=5,4");
}

Cases interpolateCases() {
  // src, dst, sizes or scales.
  struct Form {
    const char *src, *dst, *sizes;
  };
  static const Form forms[] = {
      {"1x3x3x4", "1x6x6x4", "sizes=6,6"},
      {"2x5x7x17", "2x3x11x17", "sizes=3,11"},
      {"1x4x5x3", "1x8x10x3", "scales=2,2"},
      {"1x9x9x2", "1x4x4x2", "scales=0.5,0.5"},
      {"2x5x3", "2x13x3", "sizes=13"},
      {"1x3x4x5x2", "1x5x3x7x2", "sizes=5,3,7"},
      {"1x1x1x8", "1x3x1x8", "sizes=3,1"},
      {"1x7x7x70", "1x1x1x70", "sizes=1,1"},
      {"0x3x3x4", "0x6x6x4", "sizes=6,6"},
      {"1x3x3x0", "1x6x6x0", "sizes=6,6"},
      {"1x3x3x4<60,20,6,1>", "1x6x6x4", "sizes=6,6"},
      {"1x3x3x4<100,30,9,2>", "1x6x6x4<400,60,9,2>", "sizes=6,6"},
  };
  static const Form planar[] = {
      {"1x4x3x3", "1x4x6x6", "sizes=6,6"},
      {"2x17x5x7", "2x17x3x31", "sizes=3,31"},
      {"2x3x5", "2x3x13", "sizes=13"},
      {"1x2x3x4x5", "1x2x5x3x7", "sizes=5,3,7"},
      {"1x3x4x70", "1x3x8x140", "scales=2,2"},
      {"1x2x1x1", "1x2x3x1", "sizes=3,1"},
      // Bands: one, several that overlap, one channel's shared by threads, of
      // blended outer rows, of channels; and rows that dst skips.
      {"2x3x13x9", "2x3x29x20", "sizes=29,20"},
      {"1x2x150x70", "1x2x190x61", "sizes=190,61"},
      {"1x1x90x8", "1x1x46x30", "sizes=46,30"},
      {"2x1x3x12x6", "2x1x5x18x11", "sizes=5,18,11"},
      {"2x40x9", "2x40x31", "sizes=31"},
      {"1x2x40x7", "1x2x15x9", "sizes=15,9"},
      {"2x2x6x5<400,100,10,2>", "2x2x9x11<1000,300,30,2>", "sizes=9,11"},
  };
  Cases cases;
  auto add = [&](const Form &f, const std::string &format) {
    // Each word in some case of either format.
    for (std::string attrs : {"mode=nearest",
                              "mode=nearest "
                              "coordinate_transformation_mode=align_corners",
                              "mode=linear "
                              "coordinate_transformation_mode=half_pixel",
                              "mode=bilinear "
                              "coordinate_transformation_mode=align_corners",
                              "mode=trilinear"}) {
      attrs += std::string(" ") + f.sizes + format;
      std::string dst = f.dst;
      size_t strided = dst.find('<');
      cases.push_back((strided == std::string::npos
                           ? ""
                           : "y" + dst.substr(strided) + " = ") +
                      "Interpolate " + f.src + " " + attrs);
      cases.push_back(std::string("InterpolateBackward ") + f.src + " " +
                      f.dst + " " + attrs);
    }
  };
  for (const Form &f : forms)
    add(f, "");
  for (const Form &f : planar)
    add(f, " data_format=NCX");
  addSampling(cases);
  return cases;
}

} // namespace tenon::test
