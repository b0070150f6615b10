// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

static const char *const kMoved[] = {"f32", "bf16", "f16",     "s64",    "s32",
                                     "s8",  "u8",   "boolean", "f8_e5m2"};

static void addSlices(Cases &cases) {
  for (std::string type : kMoved) {
    cases.push_back("y/" + type + " = Slice 13x17/" + type +
                    " begins=2,3 ends=11,16");
    cases.push_back("y/" + type + " = Slice 13x17/" + type +
                    " begins=-1,-2 ends=-20,3 steps=-2,-3");
  }
  for (const char *form :
       {"37 begins=5 ends=30", "37 begins=-7 ends=1000", "37 begins=3 ends=3",
        "37 begins=36 ends=0 steps=-1", "5x37 begins=3 ends=30 axes=1 steps=4",
        "5x37 begins=1 ends=4 axes=-2", "2x3x5x7 begins=1,2 ends=3,6 axes=1,3",
        "2x3x5x7 begins=0,0 ends=2,5 axes=0,2 steps=1,2",
        "13x17<1,13> begins=2,3 ends=11,16", "1x1 begins=0 ends=1",
        "0x3 begins=0 ends=2 axes=1", "5x37c begins=3 ends=30 axes=1",
        "()  begins= ends="})
    cases.push_back(std::string("Slice ") + form);
  for (const char *text : {
           "y<40,2> = Slice 13x17 begins=2,3 ends=11,16",
           // In groups: views of inputs, of results, of views.
           "s = Slice 5x37 begins=3 ends=30 axes=1; ReLU s",
           "a = ReLU 5x37; s = Slice a begins=3 ends=30 axes=1; ReLU s; out a",
           "s = Slice 5x74 begins=0 ends=37 axes=1; "
           "t = Slice 5x74 begins=37 ends=74 axes=1; Multiply s t",
           "p = MatMul 16x32 32x96c; g = Slice p begins=0 ends=48 axes=1; "
           "u = Slice p begins=48 ends=96 axes=1; s = Sigmoid g; "
           "t = Multiply g s; Multiply t u",
           "s = Slice 13x17 begins=2 ends=9 steps=2; t = StaticTranspose s "
           "order=1,0; Slice t begins=3 ends=9",
           "s = Slice 9x8x4 begins=1 ends=8 steps=3; t = StaticReshape s "
           "shape=3,32 special_zero=0; MatMul t 32x5c",
           "s = Slice 64x96 begins=32 ends=64 axes=1; MatMul 16x64 s",
           "s = Slice 64x96 begins=1 ends=65 axes=1 steps=2; MatMul s 32x16",
           "s = Slice 5x37 begins=3 ends=30 axes=1; ReduceSum s axes=1",
           "s = Slice 5x37 begins=3 ends=30 axes=1; SoftMax s axis=1",
           "s = Slice 8x32x9 begins=4 ends=20 axes=1; "
           "LayerNorm s 9c 9c keep_stats=false",
           "s = Slice 2x9x9x8 begins=1,1 ends=8,8 axes=1,2; MaxPool s "
           "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=2,2",
           "s = Slice 2x9x9x16 begins=8 ends=16 axes=3; Convolution s "
           "3x3x8x16c strides=1,1 pads_begin=1,1 pads_end=1,1 dilations=1,1",
           "a = ReLU 5x37; s = Slice a begins=3 ends=30 axes=1; "
           "t = Slice a begins=0 ends=10 axes=1; Concat s t axis=1",
           // The rotation of a rotary embedding.
           "l = Slice x:2x3x16x8 begins=0 ends=4 axes=3; "
           "h = Slice x begins=4 ends=8 axes=3; n = Multiply h ()c; "
           "r = Concat n l axis=3; s = Multiply r 16x8; c = Multiply x 16x8; "
           "Add c s",
       })
    cases.push_back(text);
}

static void addRepetitions(Cases &cases) {
  for (std::string type : kMoved)
    cases.push_back("y/" + type + " = Expand 3x1/" + type + " shape=2,3,37");
  for (const char *text : {
           "Expand () shape=5,7",
           "Expand 37 shape=5,37",
           "Expand 1 shape=0,3",
           "Expand 5x1 shape=1,37",
           "Expand 5x37 shape=1",
           "Expand 5x1c shape=5,9",
           "y<1,5> = Expand 5x1 shape=5,9",
           "e = Expand 5x1 shape=5,37; Add e 5x37",
           "e = Expand 37 shape=5,37; f = Expand 5x1 shape=5,37; Add e f",
           "e = Expand 5x1 shape=5,37; ReLU e",
           "e = Expand 4x1x32 shape=4,6,32; MatMul e 32x5c",
           "e = Expand 2x1x9x16 shape=2,3,9,16; f = StaticReshape e "
           "shape=6,9,16 special_zero=0; MatMul f 16x7c",
           "e = Expand 5x1 shape=5,37; ReduceSum e axes=1",
           "e = Expand 5x1 shape=5,3; f = Expand 5x2 shape=5,2; "
           "Concat e f axis=1",
           "e = Expand 16x1 shape=16,32; p = MatMul 16x8 8x32c; Multiply p e",
           // Results that show an expansion: repeated along, and across.
           "e = Expand 5x1x37 shape=5,4,37; StaticReshape e shape=20,37 "
           "special_zero=0",
           "e = Expand 5x37x1 shape=5,37,3; StaticReshape e shape=5,111 "
           "special_zero=0",
           "e = Expand 5x1x37 shape=5,4,37; StaticTranspose e order=2,0,1",
           "e = Expand 5x1x37 shape=5,4,37; t = StaticTranspose e order=1,0,2; "
           "StaticReshape t shape=20,37 special_zero=0",
           "s = Slice 5x9x37 begins=2 ends=6 axes=1; StaticReshape s "
           "shape=20,37 special_zero=0",
           "e = Expand 5x1x37 shape=5,4,37; r = StaticReshape e shape=20,37 "
           "special_zero=0; Concat r 3x37 axis=0",
           // The condition of Select does not broadcast what it chooses from.
           "e = Expand () shape=5,37; c/boolean = Greater 5x37 (); "
           "Select c e ()",
           "e = Expand 1x37 shape=5,37; c/boolean = Greater 5x1 (); "
           "Select c () e",
       })
    cases.push_back(text);
}

static void addPads(Cases &cases) {
  for (std::string type : kMoved)
    cases.push_back("y/" + type + " = Pad 5x37/" + type +
                    " pads_begin=1,2 pads_end=0,3 value=2.75");
  for (std::string mode : {"constant", "edge", "reflect", "wrap"})
    for (const char *form :
         {"37 pads_begin=3 pads_end=5", "5x37 pads_begin=1,2 pads_end=2,30",
          "2x3x5x7 pads_begin=1,0,2,3 pads_end=0,2,1,4",
          "13x17<1,13> pads_begin=2,3 pads_end=1,0",
          "5x37 pads_begin=0,0 pads_end=0,0"})
      cases.push_back("Pad " + std::string(form) + " mode=" + mode);
  for (const char *text : {
           "Pad 5x37 () pads_begin=1,2 pads_end=0,3",
           "y/s64 = Pad 5x37/s64 1/s64 pads_begin=1,2 pads_end=0,3",
           "Pad 5x37 pads_begin=-1,-2 pads_end=-1,5",
           "Pad 5x37 pads_begin=-3,0 pads_end=-2,0",
           "Pad 5x7 pads_begin=1,2 pads_end=0,3 interior=1,2 value=-1",
           "Pad 5x7 pads_begin=-2,-3 pads_end=1,-4 interior=1,2",
           "Pad () pads_begin= pads_end=",
           "Pad 0x3 pads_begin=1,1 pads_end=0,1 value=7",
           "y<1,8> = Pad 5x37 pads_begin=1,2 pads_end=2,3",
           "a = ReLU 5x37; p = Pad a pads_begin=1,2 pads_end=2,3; ReLU p",
           "p = Pad 1x8x8x4 pads_begin=0,1,1,0 pads_end=0,1,1,0; MaxPool p "
           "strides=1,1 pads_begin=0,0 pads_end=0,0 kernel=2,2",
       })
    cases.push_back(text);
}

static void addGathers(Cases &cases) {
  for (std::string type : kMoved)
    cases.push_back("y/" + type + " = Gather 13x17/" + type + " 5/s64");
  for (std::string index : {"s32", "s64"})
    for (std::string form :
         {"Gather 13x64 7", "Gather 13x64 2x3 axis=1", "Gather 13x5x7 4 axis=1",
          "Gather 37 ()", "Gather 2x13x8 2x5 axis=1 batch_dims=1",
          "Gather 2x3x13 2x3x4 axis=2 batch_dims=2", "Gather 13x64 0",
          "Gather 13x17<1,13> 5", "GatherElements 13x17 5x17",
          "GatherElements 13x17 13x5 axis=1", "GatherElements 5x9x7 4x9x7",
          "GatherElements 37 9", "GatherND 13x17x5 4x2", "GatherND 13x17 4x3x1",
          "GatherND 13x17 2", "GatherND 2x13x17 2x4x1 batch_dims=1",
          "GatherND 13x5 7x0"}) {
      size_t end = form.find(' ', form.find(' ', form.find(' ') + 1) + 1);
      end = std::min(end, form.size());
      cases.push_back(form.substr(0, end) + "/" + index + form.substr(end));
    }
  for (const char *text : {
           "y<1,7> = Gather 13x64 7/s64",
           "GatherND 2x5x3 0x3/s64<0,1>",
           "Gather 1000x64c 300/s64",
           "e = Gather 100x64c 7/s64; LayerNorm e 64c 64c keep_stats=false",
           "a = ReLU 13x64; g = Gather a 7/s64; ReLU g; out a",
           "Gather 13x64 7/s64c",
           "GatherElements 300x70 300x70/s64 axis=1",
       })
    cases.push_back(text);
}

static void addScatters(Cases &cases) {
  for (std::string type : {"f32", "bf16", "s64", "s32", "s8", "u8"})
    for (std::string how : {"none", "add", "mul", "min", "max"}) {
      cases.push_back("y/" + type + " = ScatterElements 13x17/" + type +
                      " 40x17/s64 40x17/" + type + " reduction=" + how);
      cases.push_back("y/" + type + " = ScatterND 13x17/" + type +
                      " 40x1/s64 40x17/" + type + " reduction=" + how);
    }
  cases.push_back("y/boolean = ScatterElements 13x17/boolean 3x17/s64 "
                  "3x17/boolean");
  for (const char *form :
       {"ScatterElements 13x17 13x40/s32 13x40 axis=1",
        "ScatterElements 37 90/s64 90 reduction=add",
        "ScatterElements 5x9x7 5x30x6/s64 5x30x6 axis=1 reduction=add",
        "ScatterElements 13x17<1,13> 3x17/s64 3x17",
        "ScatterElements 13x17 0x17/s64 0x17",
        "ScatterND 13x17x5 40x2/s64 40x5",
        "ScatterND 13x17 6x2/s64 6 reduction=add", "ScatterND 13x17 2/s32 ()",
        "ScatterND 13x17 3x0/s64 3x13x17",
        "ScatterND 300x64 2000x1/s64 2000x64 reduction=add",
        "ScatterND 300x20 2000x1/s64 2000x20 reduction=mul",
        "ScatterElements 70003 70003/s64 70003 reduction=add",
        "ScatterElements 130x90 130x100/s64 130x100 axis=1 reduction=add",
        "ScatterElements 70x300 90x200/s32 90x200",
        "ScatterElements 3x9x400 3x30x399/s64 3x30x399 axis=1 reduction=max",
        "ScatterElements 130x90<1,130> 99x100/s64 99x100 axis=1",
        "y<1,13> = ScatterND 13x17 4x1/s64 4x17",
        "a = ReLU 13x17; s = ScatterND a 4x1/s64 4x17; ReLU s; out a"})
    cases.push_back(form);
}

Cases indexingCases() {
  Cases cases;
  addSlices(cases);
  addRepetitions(cases);
  addPads(cases);
  addGathers(cases);
  addScatters(cases);
  for (const char *text : {"y/s64 = Shape 5x37", "y/s32 = Shape 2x3x5 start=1",
                           "y/s64 = Shape 2x3x5/u8 start=-1 end=1000"})
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
