// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

Cases poolCases() {
  static const char *const windows[] = {
      "1x6x6x4 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2",
      "2x9x8x5 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3",
      "1x9x8x17 strides=1,2 pads_begin=0,1 pads_end=2,0 kernel=3,2",
      "1x9x8x3 strides=2,3 pads_begin=1,0 pads_end=0,1 kernel=3,2 "
      "rounding_type=ceil",
      "1x9x8x3 strides=2,3 pads_begin=1,0 pads_end=0,1 kernel=3,2 "
      "rounding_type=floor",
      "1x7x7x3 strides=3,3 pads_begin=1,1 pads_end=1,1 kernel=2,2 "
      "rounding_type=ceil",
      "1x9x8x3 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=3,3 "
      "auto_pad=SAME_UPPER",
      "1x9x8x3 strides=2,2 pads_begin= pads_end= kernel=2,3 "
      "auto_pad=SAME_LOWER",
      "1x9x8x3 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
      "auto_pad=VALID",
      "1x9x8x3 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
      "auto_pad=None",
      "2x16x9x8 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
      "data_format=NCX",
      "1x3x33x64 strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=3,3 "
      "data_format=NCX",
      "1x7x7x32 strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=7,7",
      "1x1x1x1 strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=1,1",
      "0x6x6x4 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2",
      "2x11x5 strides=2 pads_begin=1 pads_end=0 kernel=3",
      "2x5x11 strides=2 pads_begin=1 pads_end=0 kernel=3 data_format=NCX",
      "1x5x6x7x3 strides=2,1,2 pads_begin=1,0,1 pads_end=0,1,1 kernel=2,3,3",
      "1x3x5x6x7 strides=2,1,2 pads_begin=1,0,1 pads_end=0,1,1 kernel=2,3,3 "
      "data_format=NCX",
      "1x6x6x4<144,1,24,6> strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=2,2",
      "1x6x6x4<400,60,8,2> strides=2,2 pads_begin=1,0 pads_end=0,1 kernel=2,2",
      // Windows end before src does; rounded up they reach what is cut off.
      "2x9x8x5 strides=2,2 pads_begin=0,0 pads_end=-1,-1 kernel=3,3",
      "2x9x8x17 strides=2,3 pads_begin=1,0 pads_end=-2,-3 kernel=3,2 "
      "rounding_type=ceil",
      "2x5x9x8 strides=2,2 pads_begin=1,0 pads_end=-1,-1 kernel=2,2 "
      "data_format=NCX",
      "2x5x9x8 strides=2,2 pads_begin=0,1 pads_end=-1,-2 kernel=2,2 "
      "rounding_type=ceil data_format=NCX",
      "2x3x9x40 strides=2,2 pads_begin=1,1 pads_end=-1,-1 kernel=3,3 "
      "rounding_type=ceil data_format=NCX",
      "2x11x5 strides=2 pads_begin=0 pads_end=-7 kernel=3",
      "1x3x6x7x8 strides=2,2,3 pads_begin=0,1,0 pads_end=-1,0,-1 kernel=2,3,3 "
      "rounding_type=ceil data_format=NCX",
      "2x4x1 strides=1 pads_begin=6 pads_end=-5 kernel=2",
      // Rows of src that are folded first.
      "2x3x9x27 strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
      "data_format=NCX",
      "1x2x12x40 strides=1,3 pads_begin=0,2 pads_end=1,1 kernel=2,4 "
      "rounding_type=ceil data_format=NCX",
      "1x2x4x6x26 strides=1,2,2 pads_begin=1,0,0 pads_end=0,1,0 kernel=2,3,2 "
      "data_format=NCX",
      "1x2x7x31 strides=2,2 pads_begin=0,0 pads_end=0,0 kernel=3,4 "
      "auto_pad=SAME_UPPER data_format=NCX",
      "2x3x8x26<1500,400,40,1> strides=2,2 pads_begin=0,0 pads_end=0,0 "
      "kernel=2,2 data_format=NCX",
  };
  Cases cases;
  for (std::string window : windows) {
    cases.push_back("MaxPool " + window);
    cases.push_back("MaxPool " + window + " propagate_nan=true");
    cases.push_back("y,i/s64 = MaxPool " + window);
    cases.push_back("y,i/s32 = MaxPool " + window +
                    " propagate_nan=true; out i");
    cases.push_back("AvgPool " + window + " exclude_pad=false divisor=clipped");
    cases.push_back("AvgPool " + window + " exclude_pad=true");
    cases.push_back("AvgPool " + window + " exclude_pad=false");
  }
  for (const char *text : {
           "MaxPool 1x9x8x3 strides=1,1 pads_begin=0,0 pads_end=0,0 "
           "kernel=3,2 dilations=2,3",
           "MaxPool 1x9x8x3 strides=2,1 pads_begin=2,1 pads_end=1,2 "
           "kernel=3,2 dilations=2,2 rounding_type=ceil",
           "MaxPool 1x9x8x3 strides=2,2 pads_begin=0,0 pads_end=0,0 "
           "kernel=2,2 dilations=2,2 auto_pad=SAME_UPPER",
           "y<36,1,12,3> = MaxPool 1x6x6x4 strides=2,2 pads_begin=0,0 "
           "pads_end=0,0 kernel=2,2",
           "y<100,1,30,8> = AvgPool 1x4x6x6 strides=2,2 pads_begin=0,0 "
           "pads_end=0,0 kernel=2,2 exclude_pad=false data_format=NCX",
           "MaxPool 1x3x9x40 strides=2,2 pads_begin=2,2 pads_end=2,2 "
           "kernel=3,3 dilations=2,2 data_format=NCX",
           // Ties, indices in strides, in other types and in a group.
           "r = Round 2x9x8x40; c = Clamp r min=0 max=1; y,i/s64 = MaxPool c "
           "strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3",
           "r = Round 2x5x9x40; c = Clamp r min=0 max=1; y,i/s64 = MaxPool c "
           "strides=1,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
           "data_format=NCX; z/s32 = TypeCast i; out y z",
           "y<36,1,12,3>,i/s64<36,1,12,3> = MaxPool 1x6x6x4 strides=2,2 "
           "pads_begin=0,0 pads_end=0,0 kernel=2,2",
           "y/bf16,i/s64 = MaxPool 1x6x8x40/bf16 strides=2,2 pads_begin=1,1 "
           "pads_end=0,0 kernel=3,3",
           // Nobody reads the indices.
           "y,i/s64 = MaxPool 2x9x8x40 strides=2,2 pads_begin=1,1 "
           "pads_end=1,1 kernel=3,3; out y",
           "y,i/s64 = MaxPool 1x9x8x3 strides=2,1 pads_begin=2,1 pads_end=1,2 "
           "kernel=3,2 dilations=2,2 rounding_type=ceil",
           "y,i/s64 = MaxPool 1x3x9x40 strides=2,2 pads_begin=2,2 "
           "pads_end=2,2 kernel=3,3 dilations=2,2 data_format=NCX",
           // More taps than are written out, and all there are.
           "y,i/s64 = MaxPool 2x5x9x40 strides=1,2 pads_begin=1,6 "
           "pads_end=1,6 kernel=3,13 data_format=NCX",
           "y,i/s64 = MaxPool 2x14x14x20 strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 kernel=14,14",
           // Clipped in the middle of several ranges of columns, and windows
           // of nothing but end padding.
           "AvgPool 1x2x9x14 strides=2,2 pads_begin=1,1 pads_end=1,1 "
           "kernel=5,13 rounding_type=ceil exclude_pad=false divisor=clipped "
           "data_format=NCX",
           "AvgPool 1x4x5x3 strides=4,5 pads_begin=0,0 pads_end=1,1 "
           "kernel=1,1 rounding_type=ceil exclude_pad=false divisor=clipped",
       })
    cases.push_back(text);
  // A third of the elements is NaN, or -inf.
  for (const char *format : {"4x9x8x6", "4x6x9x26"})
    for (const char *special : {"Divide c c", "Log c"})
      for (const char *propagates : {"true", "false"})
        cases.push_back(std::string("r = Round ") + format +
                        "; c = Clamp r min=0 max=1; y = " + special +
                        "; MaxPool y strides=2,2 pads_begin=1,1 pads_end=1,1 "
                        "kernel=3,2 propagate_nan=" +
                        propagates +
                        (format[2] == '6' ? " data_format=NCX" : ""));
  std::vector<std::string> withIndices;
  for (const std::string &text : cases)
    if (size_t at = text.find("; MaxPool y strides"); at != text.npos)
      withIndices.push_back(text.substr(0, at) +
                            "; z,i/s64 =" + text.substr(at + 1));
  cases.insert(cases.end(), withIndices.begin(), withIndices.end());
  return cases;
}

} // namespace tenon::test
