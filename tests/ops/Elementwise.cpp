// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

Cases unaryCases() {
  static const char *const kinds[] = {
      "Abs",
      "Clamp min=-1 max=2",
      "Clamp min=0.5 max=0.5",
      "Cos",
      "Elu alpha=1",
      "Elu alpha=0.25",
      "Elu alpha=-0.5",
      "Erf",
      "Exp",
      "Expm1",
      "Floor",
      "GELU mode=gelu_erf",
      "GELU mode=gelu_tanh",
      "GELU",
      "HardSigmoid alpha=0.2 beta=0.5",
      "HardSigmoid alpha=-1 beta=0",
      "HardSwish",
      "LeakyReLU alpha=0.01",
      "LeakyReLU alpha=-2",
      "Log",
      "Log1p",
      "Mish",
      "Pow beta=2",
      "Pow beta=0.5",
      "Pow beta=-1",
      "Pow beta=3",
      "Pow beta=0",
      "Pow beta=1.7",
      "ReLU",
      "Reciprocal",
      "Round",
      "Sigmoid",
      "Sin",
      "SoftPlus",
      "SoftPlus beta=0.5",
      "SoftPlus beta=-1",
      "SoftPlus beta=20",
      "Sqrt",
      "Square",
      "Tanh",
  };
  Cases cases;
  int i = 0;
  for (std::string kind : kinds) {
    // A size with a rest behind the vectors for each, one odd shape in turn.
    static const char *const odd[] = {"()",        "0",        "1",
                                      "2x0x3",     "7x5<1,7>", "3x5<40,2>",
                                      "2x3x1x5x7", "17c",      "3x128"};
    cases.push_back(kind + " 5x37");
    cases.push_back(kind + " " + odd[i++ % std::size(odd)]);
  }
  for (std::string kind : {"ReLU", "Exp"})
    for (std::string shape : {"()",
                              "1",
                              "0",
                              "7",
                              "8",
                              "97",
                              "1024",
                              "0x5",
                              "5x0",
                              "1x1x1x1x1",
                              "13x17",
                              "64x128",
                              "2x3x5x7",
                              "2x3x1x5x7",
                              "13x17<1,13>",
                              "13x17<40,2>",
                              "13x17<18,1>",
                              "3x5x7<1,21,3>",
                              "2x3x4x5<60,1,15,3>",
                              "1x7<99,1>",
                              "1000x3",
                              "31x257",
                              "5x0x3<1,1,1>"})
      cases.push_back(kind + " " + shape);
  for (const char *text : {
           "Abs 100003",
           "Tanh 300x701",
           "y<1,300> = Square 300x401",
           "y<1,13> = Tanh 13x17",
           "y<40,2> = Tanh 13x17",
           "y<1,13> = Tanh 13x17<1,13>",
           "y<1,21,3> = Abs 3x5x7<35,1,5>",
           "y<64> = Abs 5",
           "y<1> = Abs 1c",
       })
    cases.push_back(text);
  // Arguments so far from 0 that exponentials are 0 or infinite.
  for (const char *op : {"Sigmoid", "SoftPlus", "SoftPlus beta=-1", "Mish",
                         "Tanh", "Elu alpha=1", "GELU", "Exp"})
    for (const char *slope : {"400", "-400"})
      cases.push_back(std::string("l = LeakyReLU 5x37 alpha=") + slope + "; " +
                      op + " l");
  return cases;
}

static void addBinary(Cases &cases) {
  for (std::string kind :
       {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum",
        "SquaredDifference", "GreaterEqual", "Atan2", "Remainder", "Pow"})
    for (std::string shapes : {"5x37 5x37", "5x37 37c", "37 5x37", "5x1 1x37",
                               "() 3x5", "() ()", "2x3x5x7x2 1x5x1x2"})
      cases.push_back(kind + " " + shapes);
  for (std::string shapes : {"1 1",
                             "0 0",
                             "0 1",
                             "1 0",
                             "0x3 1x3",
                             "0x3 3",
                             "3x0 3x1",
                             "7 ()",
                             "97 97c",
                             "64x128 128c",
                             "64x128c 1x128",
                             "64x1 1x128",
                             "1x1 13x17",
                             "2x1x5x1 3x1x7",
                             "1x3x1x5x1 2x1x4x1x7",
                             "13x17<1,13> 13x17",
                             "13x17<40,2> 17<3>",
                             "13x17 13x1<5,1>",
                             "3x5x7<1,21,3> 5x7<1,5>",
                             "1024x3 1024x1",
                             "3x1000 3x1",
                             "2x3x4x5 3x1x1c",
                             "4x8 4x8 auto_broadcast=none",
                             "4x8 8 auto_broadcast=numpy",
                             "6/s32 6/s32",
                             "5x7/s32 7/s32c",
                             "()/s32 3/s32"})
    cases.push_back("Add " + shapes);
  for (const char *text : {
           "y<1,13> = Add 13x17 17",
           "y<40,2> = Subtract 13x1 13x17<1,13>",
           "Subtract 5x7/s32 7/s32",
           "Multiply 5x7/s32 7/s32",
           "y<3,1> = GreaterEqual 5x3 5x3",
           "y<1,5> = GreaterEqual 5x3 3",
           "Divide 4x8 4x8 auto_broadcast=none",
           "Subtract 4x8 4x8 auto_broadcast=none",
           "Multiply 4x8 4x8 auto_broadcast=none",
           "Maximum 4x8 4x8 auto_broadcast=none",
           "Minimum 4x8 4x8 auto_broadcast=none",
           "GreaterEqual 4x8 4x8 auto_broadcast=none",
           "SquaredDifference 4x8 4x8 auto_broadcast=none",
           "Remainder 5x37 37 mode=trunc",
           "Pow 4x8 4x8 auto_broadcast=none",
           // Negative numbers to powers that are integers, and to others.
           "r = Round 5x37; b = Add 5x37 5x37; Pow b r",
           "b = Add 5x37 5x37; Pow b 37",
           "b = Add 5x37 5x37; c = Clamp b min=0 max=1; Pow c 5x37",
           "Atan2 x:5x7 x",
           "Multiply x:5x7 x",
           "Subtract x:17 x",
       })
    cases.push_back(text);
}

Cases binaryCases() {
  Cases cases;
  addBinary(cases);
  for (const char *text : {
           "BiasAdd 5x37 37c",
           "BiasAdd 5x37 37c data_format=NCX",
           "BiasAdd 3x5x7 7",
           "BiasAdd 3x5x7 5c data_format=NCX",
           "BiasAdd 2x3x5x7 3c data_format=NCX",
           "BiasAdd 2x3x5x7 7c data_format=NXC",
           "BiasAdd 2x3x2x5x7 3 data_format=NCX",
           "BiasAdd 2x0x5 5",
           "BiasAdd 1x1 1c",
           "BiasAdd 2x3x5x7<105,1,21,3> 3c data_format=NCX",
           "y<105,1,21,3> = BiasAdd 2x3x5x7 3<2> data_format=NCX",
           "PReLU 5x37 37c",
           "PReLU 5x37 1c per_channel_broadcast=false",
           "PReLU 2x3x5x7 7c",
           "PReLU 2x3x5x7 3c data_format=NCX",
           "PReLU 2x3x5x7 3 data_format=NCX per_channel_broadcast=true",
           "PReLU 2x3x5x7 7 data_format=NCX per_channel_broadcast=false",
           "PReLU 2x3x5x7 1 data_format=NCX per_channel_broadcast=false",
           "PReLU 2x3x5x7 3x1x1 data_format=NCX",
           "PReLU 2x3x5x7 1x3x1x7",
           "PReLU 2x3x5x7x2 2c",
           "PReLU 7 7",
           "PReLU 7 1",
           "PReLU 0x3 3",
           "PReLU 13x17<1,13> 17c",
           "y<40,2> = PReLU 13x17 17c",
           "Select 5x37/boolean 5x37 5x37",
           "Select 37/boolean 5x37 5x37",
           "Select 5x1/boolean 5x37 37c",
           "Select 1/boolean 5x37 ()",
           "Select ()/boolean 5x37 5x1",
           "Select ()/boolean () ()",
           "Select 2x1x5/boolean 2x3x5 3x1",
           "Select 4x8/boolean 4x8 4x8 auto_broadcast=none",
           "Select 2x1x1x7/boolean 2x3x5x7 ()c",
           "Select 0x3/boolean 0x3 0x3",
           "Select 13x17/boolean<1,13> 13x17 13x17<40,2>",
           "y<1,13> = Select 13x17/boolean 13x17 17",
           "c = GreaterEqual a:5x37 b:37; Select c a b",
           "c = GreaterEqual 8x8 8x8; d = Select c 8x8 8x8; ReLU d; out c",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
