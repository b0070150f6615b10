// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

namespace {

const char *const kNumbers[] = {"f32", "bf16", "f16", "s64", "s32", "s8", "u8"};

/// Shapes and an axis of each: first, middle, last, of one line and of many.
struct Form {
  std::string shape, axis;
};
const Form kForms[] = {
    {"7", "0"},           {"1", "0"},
    {"5x37", "0"},        {"5x37", "1"},
    {"37x5", "-1"},       {"3x11x13", "1"},
    {"2x3x5x7x2", "2"},   {"2x1x5", "1"},
    {"3x1031", "1"},      {"1031x3", "0"},
    {"131x600", "0"},     {"70003", "0"},
    {"13x17<1,13>", "0"}, {"13x17<1,13>", "1"},
    {"13x17<40,2>", "1"}, {"200x2<1,200>", "0"},
};

/// "5x37/s8", of a shape that may have strides.
std::string typed(const std::string &shape, const std::string &type) {
  size_t at = shape.find('<');
  return shape.substr(0, at) + "/" + type +
         (at == shape.npos ? "" : shape.substr(at));
}

void addArgExtremes(Cases &cases) {
  int i = 0;
  for (std::string kind : {"ArgMax", "ArgMin"}) {
    for (const Form &form : kForms)
      for (std::string type : {"f32", "s8"}) {
        std::string index = i % 3 ? "s64" : "s32";
        std::string flags = i % 2 ? " keep_dims=false" : "";
        flags += i % 4 < 2 ? " last_index=true" : "";
        cases.push_back("y/" + index + " = " + kind + " " +
                        typed(form.shape, type) + " axis=" + form.axis + flags);
        ++i;
      }
    for (std::string type : kNumbers)
      for (std::string rest :
           {"5x37/T axis=1", "37x19/T axis=0", "300/T axis=0 last_index=true"})
        cases.push_back("y/s64 = " + kind + " " +
                        rest.replace(rest.find("/T") + 1, 1, type));
    // Equal elements, in vectors and behind them.
    for (std::string rest : {" axis=0", " axis=1", " axis=1 last_index=true",
                             " axis=0 last_index=true keep_dims=false"})
      for (std::string shape : {"5x1031", "1031x5", "129x129"})
        cases.push_back("f = Floor " + shape + "; y/s32 = " + kind + " f" +
                        rest);
    cases.push_back("y/s64 = " + kind + " 0x5 axis=1");
    cases.push_back("y/s64<1,13> = " + kind +
                    " 13x5x17 axis=1 "
                    "keep_dims=false");
  }
  cases.push_back("e = Exp 5x37; y/s64 = ArgMax e axis=1; z/f32 = TypeCast y; "
                  "Add z 5x37");
}

void addTopK(Cases &cases) {
  int i = 0;
  for (const Form &form : kForms)
    for (std::string type : {"f32", "s32", "s64"}) {
      std::string largest = i % 2 ? "" : " largest=false";
      cases.push_back("v,i/s64 = TopK " + typed(form.shape, type) +
                      " k=1 axis=" + form.axis + largest);
      ++i;
    }
  for (std::string type : kNumbers)
    for (std::string k : {"0", "2", "18", "19", "37"})
      cases.push_back("v,i/s32 = TopK 5x37/" + type + " k=" + k +
                      (i++ % 2 ? "" : " largest=false"));
  for (std::string text :
       {"70003 k=50", "70003 k=70003", "70003 k=1000 largest=false",
        "3x1031 k=64", "3x1031 k=65", "3x1024 k=1024 largest=false",
        "1031x3 k=100 axis=0", "13x17<1,13> k=9 axis=1", "2x3x5x7 k=4 axis=2",
        "0x5 k=3", "5x0 k=0", "1 k=1"})
    cases.push_back("v,i/s64 = TopK " + text);
  // Equal elements in the order of their numbers.
  for (std::string rest : {"k=5", "k=129", "k=60 axis=0 largest=false",
                           "k=129 axis=0 largest=false"})
    cases.push_back("f = Floor 129x129; v,i/s64 = TopK f " + rest);
  cases.push_back("v = TopK 5x37 k=3");
  cases.push_back("v,i/s32 = TopK 5x37 k=3; out i");
  cases.push_back("v,i/s32 = TopK 5x37 k=3; j/s32 = Add i 5x3/s32; out j");
  cases.push_back("v<1,5>,i/s32<7,2> = TopK 5x37 k=3");
  cases.push_back("e = Exp 5x37; v,i/s64 = TopK e k=4; s = SoftMax v axis=-1; "
                  "out s i");
}

void addCumSums(Cases &cases) {
  static const char *const kinds[] = {"", " exclusive=true", " reverse=true",
                                      " exclusive=true reverse=true"};
  int i = 0;
  for (const Form &form : kForms)
    for (std::string type : {"f32", "s32"})
      for (int k : {0, 1})
        cases.push_back("y/" + type + " = CumSum " + typed(form.shape, type) +
                        " axis=" + form.axis +
                        kinds[(i++ / 4 * 2 + k) % std::size(kinds)]);
  for (std::string type : {"f32", "bf16", "f16", "s64", "s32"})
    for (std::string kind : kinds) {
      cases.push_back("y/" + type + " = CumSum 5x37/" + type + " axis=1" +
                      kind);
      cases.push_back("y/" + type + " = CumSum 37x19/" + type + " axis=0" +
                      kind);
    }
  for (std::string kind : kinds) {
    cases.push_back("CumSum 2x70003 axis=1" + kind);
    cases.push_back("CumSum 70003x2 axis=0" + kind);
    cases.push_back("CumSum 0x5 axis=0" + kind);
    cases.push_back("CumSum 5x0 axis=0" + kind);
  }
  cases.push_back("y<1,13> = CumSum 13x17 axis=1");
  cases.push_back("y<40,2> = CumSum 13x17 axis=0 reverse=true");
  cases.push_back("e = Sigmoid 5x37; c = CumSum e axis=1; Multiply c e");
}

void addNonZeros(Cases &cases) {
  for (std::string type :
       {"f32", "bf16", "f16", "s64", "s32", "s8", "u8", "boolean"})
    for (std::string shape : {"5x37", "()", "1", "0x3", "2x3x5x7x2", "9000",
                              "13x17<1,13>", "13x17<40,2>"})
      cases.push_back("i/s64,n/s64 = NonZero " + typed(shape, type));
  for (std::string text :
       {"m/boolean = Greater 131x150 131x150; i/s32,n/s32 = NonZero m",
        "r = ReLU 70003; i/s64,n/s64 = NonZero r",
        "r = ReLU 5x37; i/s64,n/s64 = NonZero r; out n",
        "r = ReLU 5x37; i/s64,n/s64 = NonZero r; out i",
        "i/s32<1,2>,n/s32 = NonZero 13x17/s8"})
    cases.push_back(text);
}

void addDetections(Cases &cases) {
  for (std::string rest :
       {"2x7x4 2x3x7 max_output_boxes_per_class=3",
        "2x7x4 2x3x7 max_output_boxes_per_class=3 iou_threshold=0.5",
        "2x7x4 2x3x7 max_output_boxes_per_class=9 iou_threshold=0.25 "
        "score_threshold=0",
        "1x200x4 1x1x200 max_output_boxes_per_class=20 iou_threshold=0.5 "
        "center_point_box=true",
        "2x33x4 2x5x33 max_output_boxes_per_class=33 iou_threshold=1",
        "1x7x4 1x1x7 max_output_boxes_per_class=0",
        "0x7x4 0x1x7 max_output_boxes_per_class=3",
        "1x0x4 1x1x0 max_output_boxes_per_class=3",
        "1x1x4 1x1x1 max_output_boxes_per_class=1"}) {
    cases.push_back("i/s64,n/s64 = NonMaxSuppression " + rest);
    cases.push_back("i/s32,n/s32 = NonMaxSuppression " + rest);
  }
  cases.push_back("s = Floor 2x3x65; i/s64,n/s64 = NonMaxSuppression 2x65x4 s "
                  "max_output_boxes_per_class=40 iou_threshold=0.3");
  cases.push_back("s = Sigmoid 1x1x65; i/s64,n/s64 = NonMaxSuppression 1x65x4 "
                  "s max_output_boxes_per_class=40 iou_threshold=0.3; out n");
  for (std::string rest :
       {"", " mode=max", " sampling_ratio=2", " sampling_ratio=2 mode=max",
        " spatial_scale=0.5 coordinate_transformation_mode=output_half_pixel",
        " coordinate_transformation_mode=output_half_pixel sampling_ratio=3"}) {
    cases.push_back("RoiAlign 2x9x8x5 4x4 4/s64 output_height=3 "
                    "output_width=2" +
                    rest);
    cases.push_back("RoiAlign 2x5x9x8 4x4 4/s32 output_height=2 "
                    "output_width=3 data_format=NCX" +
                    rest);
    cases.push_back("y/bf16 = RoiAlign 2x9x8x5/bf16 4x4/bf16 4/s64" + rest);
  }
  cases.push_back("RoiAlign 2x9x8x5 0x4 0/s64");
  cases.push_back("RoiAlign 2x0x8x5 3x4 3/s64");
  cases.push_back("RoiAlign 2x9x8x0 3x4 3/s64");
  cases.push_back("r = ReLU 2x9x8x64; y = RoiAlign r 5x4 5/s64 output_height=7 "
                  "output_width=7; ReLU y");
}

} // namespace

Cases searchCases() {
  Cases cases;
  addArgExtremes(cases);
  addTopK(cases);
  addCumSums(cases);
  addNonZeros(cases);
  addDetections(cases);
  return cases;
}

} // namespace tenon::test
