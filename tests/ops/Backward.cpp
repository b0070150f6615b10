// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

static void addElementwise(Cases &cases) {
  static const char *const kinds[] = {
      "AbsBackward",
      "ClampBackward min=-1 max=2",
      "ClampBackward min=-1 max=2 use_dst=false",
      "EluBackward alpha=0.5",
      "EluBackward alpha=1 use_dst=true",
      "EluBackward alpha=2 use_dst=false",
      "EluBackward alpha=-0.5 use_dst=false",
      "GELUBackward",
      "GELUBackward mode=gelu_erf",
      "GELUBackward mode=gelu_tanh",
      "HardSigmoidBackward alpha=0.2 beta=0.5",
      "HardSigmoidBackward alpha=-1 beta=0",
      "HardSwishBackward",
      "MishBackward",
      "ReLUBackward",
      "ReLUBackward use_dst=false",
      "ReLUBackward propagate_nan=true",
      "SigmoidBackward",
      "SigmoidBackward use_dst=false",
      "SoftPlusBackward",
      "SoftPlusBackward beta=0.5",
      "SoftPlusBackward beta=-20",
      "SqrtBackward",
      "SqrtBackward use_dst=false",
      "TanhBackward",
      "TanhBackward use_dst=false",
  };
  static const char *const odd[] = {
      "() ()",
      "0 0",
      "1 1",
      "2x0x3 2x0x3",
      "7x5<1,7> 7x5",
      "3x5 3x5<40,2>",
      "2x3x1x5x7 2x3x1x5x7",
      "17c 17",
      "100003 100003",
  };
  int i = 0;
  for (std::string kind : kinds) {
    // A size with a rest behind the vectors for each, one odd shape in turn.
    cases.push_back(kind + " 5x37 5x37");
    cases.push_back(kind + " " + odd[i++ % std::size(odd)]);
  }
  cases.push_back("y<1,13> = TanhBackward 13x17<1,13> 13x17");
  cases.push_back("y<40,2> = ReLUBackward 13x17 13x17");
  for (const char *propagates : {"true", "false"})
    cases.push_back(std::string("r = Round 5x37; c = Clamp r min=0 max=1; "
                                "y = Divide c c; ReLUBackward y 5x37 "
                                "use_dst=false propagate_nan=") +
                    propagates);
  cases.push_back("y = Sigmoid 5x37; SigmoidBackward y 5x37; out y");
  // Arguments so far from 0 that exponentials are 0 or infinite, or that what
  // is left of 1 is a few bits.
  for (const char *op :
       {"EluBackward alpha=1 use_dst=false", "GELUBackward",
        "GELUBackward mode=gelu_tanh", "MishBackward",
        "SigmoidBackward use_dst=false", "SoftPlusBackward",
        "SoftPlusBackward beta=-1", "TanhBackward use_dst=false"})
    for (auto [slope, shape] :
         {std::pair("9", "40x97"), std::pair("-9", "40x97"),
          std::pair("400", "5x37"), std::pair("-400", "5x37")})
      cases.push_back(std::string("l = LeakyReLU ") + shape +
                      " alpha=" + slope + "; " + op + " l " + shape);
}

/// Gradients that sum over rows or channels.
static void addRows(Cases &cases) {
  for (std::string text :
       {"5x37 5x37 axis=1", "5x37 5x37", "5x37 5x37 axis=0",
        "5x37 5x37 axis=-1", "3x4x97 3x4x97 axis=-2", "7 7 axis=0",
        "1 1 axis=0", "5x1 5x1", "0x5 0x5", "5x0 5x0", "2x3x5x7 2x3x5x7 axis=2",
        "13x17<1,13> 13x17", "13x17 13x17<40,2> axis=0", "3x1031 3x1031"}) {
    cases.push_back("SoftMaxBackward " + text);
    cases.push_back("LogSoftmaxBackward " + text);
  }
  cases.push_back("LogSoftmaxBackward 5x37 5x37");
  cases.push_back("d = SoftMax 5x37; SoftMaxBackward 5x37 d; out d");
  cases.push_back("y<1,13> = SoftMaxBackward 13x17 13x17");
  for (std::string text :
       {"5x37", "5x37 data_format=NCX", "3x5x7", "3x5x7 data_format=NCX",
        "2x3x5x7 data_format=NXC", "2x3x5x7 data_format=NCX", "1x1", "0x5",
        "5x0", "2x3x2x5x7 data_format=NCX", "13x17<1,13>",
        "2x3x5x7<105,1,21,3> data_format=NCX", "100003x3",
        "16x8x1024 "
        "data_format=NCX"})
    cases.push_back("BiasAddBackward " + text);
  for (std::string text :
       {"4x5x7x16 4x5x7x16 16 16 16 epsilon=0.01",
        "4x16x5x7 4x16x5x7 16 16 16 epsilon=0.01 data_format=NCX",
        "4x3x5x7 4x3x5x7 7 7 7c epsilon=0.1 data_format=NXC",
        "37x5 37x5 5 5 5 epsilon=0.01", "1x1 1x1 1 1 1 epsilon=1",
        "2x3x4x5x6 2x3x4x5x6 3 3 3 epsilon=1 data_format=NCX",
        "5x0x3 5x0x3 3 3 3 epsilon=1",
        "2x3x5x7<105,1,21,3> 2x3x5x7 3<2> 3 3 epsilon=1 data_format=NCX",
        "2x64x64x32 2x64x64x32 32 32 32 epsilon=0.01"})
    cases.push_back("x,g,b = BatchNormTrainingBackward " + text);
  for (std::string text : {"4x5x7x16 4x5x7x16 16 16 epsilon=0.01",
                           "4x3x5x7 4x3x5x7 3 3 epsilon=0.01 data_format=NCX",
                           "4x3x5x7 4x3x5x7 3 3 3 epsilon=0.01 data_format=NCX",
                           "0x3 0x3 3 3 epsilon=1"})
    cases.push_back("BatchNormTrainingBackward " + text);
  for (std::string text :
       {"5x37 5x37 5 5 37", "5x37 5x37 5 5 37c 37c epsilon=0.1",
        "2x3x5x7 2x3x5x7 2x3 2x3 5x7 begin_norm_axis=2",
        "2x3x5x7 2x3x5x7 2 2 3x5x7 begin_norm_axis=-3",
        "2x3x5x7 2x3x5x7 () () 2x3x5x7 begin_norm_axis=0", "1 1 () () 1",
        "0x5 0x5 0 0 5", "13x17<1,13> 13x17 13<2> 13 17",
        "1031x97 1031x97 1031 1031 97"})
    cases.push_back("x,g,b = LayerNormBackward " + text);
  for (std::string text :
       {"5x37 5x37 5 5 use_affine=false", "5x37 5x37 5 5 37 use_affine=false",
        "2x3x5x7 2x3x5x7 2x3 2x3 use_affine=false begin_norm_axis=2"})
    cases.push_back("LayerNormBackward " + text);
  for (std::string text :
       {"2x5x7x12 2x5x7x12 2x3 2x3 12 groups=3",
        "2x12x5x7 2x12x5x7 2x3 2x3 12 groups=3 data_format=NCX epsilon=0.1",
        "3x8 3x8 3x4 3x4 8c groups=4",
        "2x6x5 2x6x5 2x1 2x1 6 groups=1 "
        "data_format=NCX",
        "1x33x31x64 1x33x31x64 1x32 1x32 64 groups=32",
        "0x4x6 0x4x6 0x2 0x2 6 groups=2", "1x1 1x1 1x1 1x1 1 groups=1",
        "2x6x5x7<210,1,42,6> 2x6x5x7 2x3<1,2> 2x3 6 groups=3 "
        "data_format=NCX"}) {
    cases.push_back("x,g,b = GroupNormBackward " + text);
    cases.push_back("x = GroupNormBackward " + text);
  }
  cases.push_back("GroupNormBackward 2x5x12 2x5x12 2x3 2x3 groups=3");
  cases.push_back("x,g = GroupNormBackward 2x5x12 2x5x12 2x3 2x3 groups=3");
  cases.push_back("x,_,b = GroupNormBackward 2x5x12 2x5x12 2x3 2x3 groups=3");
  cases.push_back("x/bf16,g/f32,b/f32 = GroupNormBackward 2x5x12/bf16 "
                  "2x5x12/bf16 2x3 2x3 12 groups=3");
  for (std::string text :
       {"5x37 5x37 37", "5x37 5x37 37c epsilon=0.1",
        "2x3x5x7 2x3x5x7 5x7 begin_norm_axis=2",
        "2x3x5x7 2x3x5x7 3x5x7 begin_norm_axis=-3",
        "2x3x5x7 2x3x5x7 2x3x5x7 begin_norm_axis=0", "1 1 1", "0x5 0x5 5",
        "13x17<1,13> 13x17 17", "1031x97 1031x97 97"}) {
    cases.push_back("x,g = RMSNormBackward " + text);
    cases.push_back("x = RMSNormBackward " + text);
  }
  cases.push_back("RMSNormBackward 5x37 5x37");
  cases.push_back("x,g = RMSNormBackward 5x37 5x37");
  cases.push_back("x/f16,g/f32 = RMSNormBackward 5x37/f16 5x37/f16 37");
  cases.push_back("n = RMSNorm 5x37; d = Multiply n 5x37; x,g = "
                  "RMSNormBackward 5x37 d 37; ReLU x");
  for (std::string text :
       {"5x37 37 5x37", "5x37 1 5x37", "2x3x5x7 7 2x3x5x7",
        "2x3x5x7 3 2x3x5x7 data_format=NCX",
        "2x3x5x7 1 2x3x5x7 data_format=NCX", "2x3x5x7 3x1x1 2x3x5x7",
        "2x3x5x7 1x3x1x7 2x3x5x7", "2x3x5x7 2x3x5x7 2x3x5x7", "7 7 7", "7 1 7",
        "1 1 1", "0x3 3 0x3", "13x17<1,13> 17c 13x17", "100003x3 3 100003x3"})
    cases.push_back("x,s = PReLUBackward " + text);
}

Cases backwardCases() {
  Cases cases;
  addElementwise(cases);
  addRows(cases);
  // Zeros of either sign, told apart.
  for (const char *text :
       {"a = Add x:5x37 x; b = Add a a; d = HardSwishBackward b 5x37",
        "d = ReLUBackward 5x37 5x37",
        "d = HardSigmoidBackward 5x37 5x37 alpha=0.2 beta=0.5",
        "d = ClampBackward 5x37 5x37 min=-1 max=2"})
    cases.push_back(std::string(text) + "; Reciprocal d");
  return cases;
}

} // namespace tenon::test
