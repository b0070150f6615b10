// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

static Cases concatCases() {
  std::string many = "Concat", wide = "Concat";
  for (int i = 0; i < 64; ++i) {
    many += " 2x" + std::to_string(i % 3 + 1);
    wide += " 1x4";
  }
  Cases cases = {many + " axis=1", wide + " axis=0"};
  for (std::string text :
       {"5x3 5x4 axis=1", "5x3 2x3 axis=0", "5x3 5x4c axis=-1", "3 4 axis=0",
        "5x3 axis=0", "1 1 1 axis=0", "0x3 2x3 axis=0", "2x0 2x3 axis=1",
        "2x0 2x0 axis=1", "2x3x5x7 2x4x5x7 axis=1", "2x3x5x7 2x3x5x1 axis=3",
        "2x3x5x7x2 2x3x1x7x2 axis=-3", "64x128 64x128 axis=1",
        "13x17<1,13> 13x3 axis=1", "13x17<40,2> 2x17 axis=0",
        "300x401 300x300 axis=1", "300x401 5x401 axis=0", "x:5x3 x axis=1",
        "5x3c 5x4c axis=1"})
    cases.push_back("Concat " + text);
  cases.push_back("y<1,5> = Concat 5x3 5x4 axis=1");
  cases.push_back("y<20,1> = Concat 5x3 5x4 axis=1");
  return cases;
}

Cases movementCases() {
  Cases cases = concatCases();
  for (const char *text : {
           // End: a result that is read, one that is not, an input.
           "y = Sqrt 5x7; End y; Abs y",
           "y = Sqrt 5x7; End y",
           "x = Abs 5x7; End x; End x; Sqrt x",
           "Abs x:5x7; End x",
           "q/u8 = Quantize x:5x7 scales=0.1; End q; Abs x",
           "i/s32 = GenIndex 5x7 axis=0; End i",
           "y/bf16 = Sqrt 5x7/bf16; End y; Abs y",
           // Strides are the point of a Reorder.
           "Reorder 5x7",
           "y<1,5> = Reorder 5x7",
           "Reorder 5x7<1,5>",
           "y<1,13> = Reorder 13x17<40,2>",
           "y<105,1,21,3> = Reorder 2x3x5x7",
           "Reorder 2x3x5x7<105,1,21,3>",
           "Reorder ()",
           "Reorder 0x3",
           "Reorder 1",
           "y<1,64> = Reorder 64x96",
           "Reorder 64x96c",
           "y<120,1,24,6,2> = Reorder 2x2x5x4x3",
           "StaticReshape 4x6 shape=24 special_zero=false",
           "StaticReshape 4x6 shape=3,-1 special_zero=false",
           "StaticReshape 4x6 shape=0,2,-1 special_zero=true",
           "StaticReshape 4x6 shape=2,2,2,3,1 special_zero=false",
           "StaticReshape 24 shape=2,3,4 special_zero=false",
           "StaticReshape 1 shape= special_zero=false",
           "StaticReshape () shape=1,1 special_zero=false",
           "StaticReshape 0x6 shape=3,0 special_zero=false",
           "StaticReshape 2x0 shape=0,0 special_zero=true",
           "StaticReshape 13x17<1,13> shape=221 special_zero=false",
           "StaticReshape 13x17<40,2> shape=17,13 special_zero=false",
           "y<1,17> = StaticReshape 13x17 shape=17,13 special_zero=false",
           "StaticReshape 4x6c shape=24 special_zero=false",
           "StaticTranspose 5x7 order=1,0",
           "StaticTranspose 5x7 order=0,1",
           "StaticTranspose 5x7 order=",
           "StaticTranspose 5x7 order=-1,-2",
           "StaticTranspose 64x96 order=1,0",
           "StaticTranspose 61x97 order=1,0",
           "StaticTranspose 301x703 order=1,0",
           // In blocks: large, and single rows that take parts of lines; parts
           // of blocks and of tiles, runs of two dimensions, other operands.
           "StaticTranspose 2051x2090 order=1,0",
           "StaticTranspose 7x19x31x33 order=3,2,1,0",
           "StaticTranspose 11x17x64x24 order=3,0,1,2",
           "StaticTranspose 9x23x5x37 order=3,2,0,1",
           "StaticTranspose 64x12x40x40/bf16 order=3,1,2,0",
           "StaticTranspose 33x12x40x47/u8 order=3,1,2,0",
           "t = StaticTranspose 16x16x16x16x16 order=4,3,2,1,0; "
           "a = Add t 16x16x16x16x16; b = Multiply a 16; ReLU b",
           "StaticTranspose 8x50x12x16 order=0,2,1,3",
           "StaticTranspose 2x3x5x7 order=0,2,1,3",
           "StaticTranspose 2x3x5x7 order=0,3,1,2",
           "StaticTranspose 2x3x5x7 order=3,2,1,0",
           "StaticTranspose 2x3x5x7 order=",
           "StaticTranspose 2x3x5x7x2 order=4,0,3,1,2",
           "StaticTranspose 7 order=0",
           "StaticTranspose () order=",
           "StaticTranspose 1x1 order=1,0",
           "StaticTranspose 0x3 order=1,0",
           "StaticTranspose 3x1x5 order=2,1,0",
           "StaticTranspose 13x17<1,13> order=1,0",
           "StaticTranspose 13x17<40,2> order=1,0",
           "y<1,17> = StaticTranspose 13x17 order=1,0",
           "y<40,2> = StaticTranspose 13x17 order=1,0",
           "StaticTranspose 5x7c order=1,0",
           "y/bf16 = TypeCast 5x37",
           "y/f16 = TypeCast 5x37",
           "y/f32 = TypeCast 5x37/bf16",
           "y/f32 = TypeCast 5x37/f16",
           "y/bf16 = TypeCast ()",
           "y/f16 = TypeCast 0x3",
           "y/f32 = TypeCast 1/bf16",
           "y/f32 = TypeCast 2x3x5x7x2/f16",
           "y/f32 = TypeCast 13x17/bf16<1,13>",
           "y/bf16<1,13> = TypeCast 13x17",
           "y/f16<40,2> = TypeCast 13x17<18,1>",
           "y/f32 = TypeCast 1031/f16c",
           "h/bf16 = TypeCast 5x37; y/f32 = TypeCast h; ReLU y",
           "h/f16 = TypeCast 5x37; y/f32 = TypeCast h; out h y",
           "x/f32 = TypeCast 5x7/bf16; y = MatMul x 7x11c; h/bf16 = TypeCast y",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
