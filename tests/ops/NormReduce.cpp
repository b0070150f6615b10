// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

/// RMSNorm and LogSoftmax.
static void addRows(Cases &cases) {
  for (std::string text :
       {"5x37 37c", "5x37", "5x37 37 epsilon=0.1", "3x4x128 128c",
        "2x3x5x7 5x7c begin_norm_axis=-2", "2x3x5x7 3x5x7 begin_norm_axis=1",
        "2x3x5x7 2x3x5x7 begin_norm_axis=0", "2x3x5x7 begin_norm_axis=-4",
        "2x3x5x7x3 3 begin_norm_axis=4", "7 7", "1", "5x1 1c", "0x5 5", "5x0",
        "13x17<1,13> 17c", "13x17<40,2> 17<2>c", "1024x16 16c", "3x1031 1031c"})
    cases.push_back("RMSNorm " + text);
  cases.push_back("y<1,13> = RMSNorm 13x17 17c");
  for (std::string text :
       {"5x37", "5x37 axis=0", "5x37 axis=1", "5x37 axis=-2", "3x4x97 axis=1",
        "7 axis=0", "1", "5x1", "0x5", "5x0", "0x5 axis=0",
        "2x3x5x7x11 axis=-2", "13x17<1,13>", "13x17<40,2> axis=0",
        "3x1031 axis=1", "2x12x32x32"})
    cases.push_back("LogSoftmax " + text);
  cases.push_back("y<1,13> = LogSoftmax 13x17 axis=1");
}

/// GroupNorm and BatchNormForwardTraining.
static void addChannelNorms(Cases &cases) {
  for (std::string text :
       {"2x5x8 8c 8c groups=2", "2x8x5 8c 8c groups=2 data_format=NCX",
        "2x3x5x12 12 12 groups=3 data_format=NXC",
        "2x12x3x5 12 12 groups=3 data_format=NCX epsilon=0.1",
        "2x12x3x5 groups=4 use_affine=false data_format=NCX",
        "2x3x5x12 groups=4 use_affine=false",
        "2x5x3x12 12c 12c groups=4 use_affine=false",
        "2x6x3x5 6c 6c groups=1 data_format=NCX",
        "2x6x3x5 6c 6c groups=6 data_format=NCX", "2x3x5x6 6c 6c groups=6",
        "2x3x5x6 6c 6c groups=1", "3x8 8c 8c groups=2", "3x8 8c 8c groups=8",
        "2x4x3x2x5 4 4 groups=2 data_format=NCX", "1x1x1 1 1 groups=1",
        "0x5x4 4 4 groups=2", "2x0x4 4 4 groups=2",
        "2x8x3x5<120,1,40,8> 8c 8c groups=4 data_format=NCX",
        "2x32x14x14 32c 32c groups=8 data_format=NCX",
        "2x14x14x32 32c 32c groups=8",
        // By channels: short rows, large groups, a number of parts of a prime.
        "2x33x31x64 64c 64c groups=32", "1x40x40x64 64 64 groups=4",
        "1x31x37x32/bf16 32 32 groups=16",
        "1x1025x32/f16 groups=16 use_affine=false",
        "1x16x97x101 16c 16c groups=2 "
        "data_format=NCX"})
    cases.push_back("GroupNorm " + text + " keep_stats=false");
  for (const char *text : {
           "y,m,v = GroupNorm 2x5x8 8c 8c groups=2",
           "y,m,v = GroupNorm 2x8x5x3 8c 8c groups=4 data_format=NCX",
           "y,m,v = GroupNorm 2x8x5x3 groups=4 data_format=NCX "
           "use_affine=false keep_stats=true",
           "y,m,v = GroupNorm 3x8 8c 8c groups=8; Add y m; out y v",
           "y,m<1,2>,v = GroupNorm 2x5x8 8c 8c groups=2",
           "y,m,v = GroupNorm 2x33x31x64 64c 64c groups=32",
           "y,m,v<1,2> = GroupNorm 2x1056x33 33 33 groups=11",
           "y<120,1,24,8> = GroupNorm 2x8x5x3 groups=2 data_format=NCX "
           "use_affine=false keep_stats=false",
           "y = GroupNorm 2x8x5x3 8c 8c groups=2 data_format=NCX "
           "keep_stats=false; ReLU y",
           // A mean that is large beside deviations.
           "c = Clamp 1x64x65x6 min=1 max=1.0078125; GroupNorm c groups=6 "
           "use_affine=false keep_stats=false",
           "c = Clamp 2x16x17x7 min=1 max=1.0078125; y,a,b,m,v = "
           "BatchNormForwardTraining c 7 7 epsilon=0.000001",
           "c = Clamp 3x4160 min=1 max=1.0078125; LayerNorm c use_affine=false "
           "keep_stats=false",
           "c = Clamp 3x41600 min=1 max=1.0078125; LayerNorm c "
           "use_affine=false keep_stats=false",
           "c = Clamp 1x63x65x64 min=1 max=1.0078125; GroupNorm c groups=4 "
           "use_affine=false keep_stats=false",
       })
    cases.push_back(text);
  for (std::string text :
       {"4x5x7x16 16 16 epsilon=0.001", "4x5x7x16 16 16 16 16 epsilon=0.001",
        "4x16x5x7 16 16 epsilon=0.001 data_format=NCX",
        "4x3x5x7 3 3 3c 3c epsilon=0.1 momentum=0.9 data_format=NCX",
        "4x3x5x7 7 7 7c 7c epsilon=0.1 momentum=0 data_format=NXC",
        "37x5 5 5 5 5 epsilon=0.01 momentum=1",
        "37x5 5 5 epsilon=0.01 data_format=NCX",
        "3x5x7 7 7 7 7 epsilon=0.01 momentum=0.1",
        "2x3x4x5x6 3 3 3 3 epsilon=1 data_format=NCX", "1x1 1 1 1 1 epsilon=1",
        "1x7 7 7 epsilon=0.5", "0x3 3 3 epsilon=1", "5x0x3 3 3 epsilon=1",
        "5x0 0 0 epsilon=1",
        "2x3x5x7<105,1,21,3> 3 3<2> 3 3 epsilon=1 data_format=NCX",
        "2x64x64x32 32 32 32 32 epsilon=0.001",
        "8x2x101x103 2 2 2 2 epsilon=0.001 data_format=NCX"})
    cases.push_back("y,rm,rv,m,v = BatchNormForwardTraining " + text);
  cases.push_back("y<105,1,21,3>,rm<2>,rv,m,v = BatchNormForwardTraining "
                  "2x3x5x7 3 3 3 3 epsilon=1 data_format=NCX");
  cases.push_back("y,a,b,c,d = BatchNormForwardTraining 4x5x7 7 7 7 7 "
                  "epsilon=0.01; z = ReLU y; out z a b c d");
  cases.push_back("x = ReLU 4x5x7; y,a,b,c,d = BatchNormForwardTraining x 7 7 "
                  "epsilon=0.01; out y a b c d");
}

Cases normCases() {
  Cases cases;
  for (const char *text : {
           "BatchNormInference 2x5x7x16 16c 16c 16c 16c epsilon=0.001",
           "BatchNormInference 2x16x5x7 16c 16c 16c 16c epsilon=0.001 "
           "data_format=NCX",
           "BatchNormInference 2x3x5x7 7 7 7 7 epsilon=0.1 data_format=NXC",
           "BatchNormInference 2x3x5x7 3 3c 3 3c epsilon=0.1 data_format=NCX",
           "BatchNormInference 5x37 37c 37c 37c 37c epsilon=0",
           "BatchNormInference 2x3x4x5x6 3c 3c 3c 3c epsilon=1 "
           "data_format=NCX",
           "BatchNormInference 0x5x3 3c 3c 3c 3c epsilon=1",
           "BatchNormInference 1x1x1 1c 1c 1c 1c epsilon=1",
           "BatchNormInference 2x3x5x7<105,1,21,3> 3c 3c 3c 3c epsilon=1 "
           "data_format=NCX",
           "y<105,1,21,3> = BatchNormInference 2x3x5x7 3<2> 3c 3c 3c "
           "epsilon=1 data_format=NCX",
       })
    cases.push_back(text);
  for (std::string text : {
           "5x37 37c 37c",
           "5x37 37 37 epsilon=0.1",
           "3x4x128 128c 128c",
           "3x4x97 97c 97c begin_norm_axis=-1",
           "2x3x5x7 5x7c 5x7c begin_norm_axis=-2",
           "2x3x5x7 3x5x7c 3x5x7c begin_norm_axis=1",
           "2x3x5x7 2x3x5x7 2x3x5x7 begin_norm_axis=0",
           "2x3x5x7x3 3 3 begin_norm_axis=4",
           "7 7 7",
           "1 1 1",
           "5x1 1c 1c",
           "0x5 5 5",
           "5x37 use_affine=false",
           "2x3x64 use_affine=false begin_norm_axis=1",
           "13x17<1,13> 17c 17c",
           "13x17<40,2> 17<2>c 17c",
           "1024x16 16c 16c",
           "300x701 701c 701c",
           "3x1031 1031c 1031c",
       })
    cases.push_back("LayerNorm " + text + " keep_stats=false");
  for (const char *text : {
           "y,m,v = LayerNorm 5x37 37c 37c",
           "y,m,v = LayerNorm 5x37 37c 37c keep_stats=true use_affine=true",
           "y,m,v = LayerNorm 2x3x5x7 5x7c 5x7c begin_norm_axis=2",
           "y,m,v = LayerNorm 2x3x5x7 use_affine=false begin_norm_axis=-3",
           "y,m,v = LayerNorm 7 7 7",
           "y,m<2>,v = LayerNorm 5x7 7 7",
           "y,m,v = LayerNorm 5x7 7 7; ReLU m; out y v",
           "y<1,13> = LayerNorm 13x17 17c 17c keep_stats=false",
       })
    cases.push_back(text);
  for (std::string text : {"5x37",
                           "5x37 axis=1",
                           "5x37 axis=0",
                           "5x37 axis=-1",
                           "5x37 axis=-2",
                           "3x4x128 axis=-1",
                           "3x4x97 axis=2",
                           "3x4x97 axis=1",
                           "7 axis=0",
                           "1 axis=0",
                           "5x1 axis=1",
                           "0x5 axis=1",
                           "5x0 axis=1",
                           "0x5 axis=0",
                           "2x3x5x7 axis=2",
                           "2x3x5x7 axis=0",
                           "2x3x5x7x11 axis=-2",
                           "13x17<1,13> axis=1",
                           "13x17<40,2> axis=0",
                           "5x37 axis=-1 mode=inf_as_zero",
                           "5x37 axis=0 mode=inf_as_zero",
                           "5x37 axis=-1 mode=none",
                           "3x1031 axis=1",
                           "2x12x32x32 axis=-1"})
    cases.push_back("SoftMax " + text);
  addRows(cases);
  addChannelNorms(cases);
  for (const char *text : {
           "y<1,13> = SoftMax 13x17 axis=1",
           "y,s = SoftMax 5x37 axis=-1",
           "y,s = SoftMax 2x3x5 axis=1",
           "y,s = SoftMax 5x37 axis=-1 mode=inf_as_zero",
           "m = Add 2x3x5x7 2x1x1x7; SoftMax m axis=-1 mode=inf_as_zero",
           "m = Add 2x3x5x7 2x1x1x7; SoftMax m axis=-1 mode=none",
       })
    cases.push_back(text);
  return cases;
}

Cases reduceCases() {
  static const char *const kinds[] = {"ReduceL1",   "ReduceL2",  "ReduceMax",
                                      "ReduceMean", "ReduceMin", "ReduceProd",
                                      "ReduceSum"};
  static const char *const forms[] = {
      "5x37 axes=1",   "5x37 axes=0",      "5x37 axes=-1 keep_dims=true",
      "5x37 axes=0,1", "2x3x5x7 axes=1,3", "2x3x5x7 axes=0,2 keep_dims=true",
  };
  Cases cases;
  for (std::string kind : kinds)
    for (std::string form : forms)
      cases.push_back(kind + " " + form);
  static const char *const odd[] = {
      "5x37 axes=0,1 keep_dims=true",
      "5x37 axes=-2 keep_dims=false",
      "2x3x5x7 axes=-1,-3",
      "2x3x5x7 axes=3,1",
      "2x3x5x7 axes=0,1,2,3",
      "2x3x5x7x3 axes=1,2",
      "2x3x5x7x3 axes=0,4 keep_dims=true",
      "2x3x5x7 axes=",
      "2x3x5x7",
      "7 axes=0",
      "1 axes=0",
      "()",
      "0x5 axes=1",
      "0x5 axes=0",
      "5x0 axes=1 keep_dims=true",
      "1x1x1 axes=1",
      "1031 axes=0",
      "3x1031 axes=1",
      "1031x3 axes=0",
      "13x17<1,13> axes=1",
      "13x17<1,13> axes=0",
      "13x17<40,2> axes=1",
      "64x128 axes=0",
      "64x128 axes=1",
      "128x7x7x16 axes=1,2",
      "300x701 axes=0",
      "300x701 axes=1",
      "100003 axes=0",
      "7x100x103 axes=0,2",
  };
  for (std::string form : odd)
    cases.push_back("ReduceSum " + form);
  int i = 0;
  for (std::string form : odd)
    cases.push_back(std::string(kinds[i++ % 6]) + " " + form);
  // Divided into pieces: few long rows, with and without a shorter last piece.
  for (std::string form :
       {"1000003 axes=0", "1048576 axes=0", "3x100003 axes=1",
        "100003x5 axes=0", "1024x1024 axes=0,1", "7x131x211 axes=0,2",
        "3x5x100003 axes=0,2"})
    for (std::string kind : {"ReduceSum ", "ReduceMax ", "ReduceL2 "})
      cases.push_back(kind + form);
  cases.push_back("ReduceMean 7x191x211 axes=0,1 keep_dims=true");
  cases.push_back("ReduceProd 1000003 axes=0");
  cases.push_back("SoftMax 200003 axis=0");
  cases.push_back("y,s = SoftMax 2x200003 axis=1 mode=inf_as_zero");
  cases.push_back("LogSoftmax 100003x3 axis=0");
  cases.push_back("y,m,v = LayerNorm 2x100x1001 begin_norm_axis=1 "
                  "use_affine=false");
  cases.push_back("x = Add 400x401 401; y = ReduceSum x axes=0,1 "
                  "keep_dims=true; z = Divide x y; out x z");
  cases.push_back("y<2> = ReduceSum 13x17 axes=1");
  cases.push_back("y<1,5> = ReduceMax 5x3x7 axes=1");
  // Some rows at a time: rest of rows, several blocks of columns, two sums.
  for (const char *text : {
           "ReduceMax 77x4099 axes=0",
           "ReduceSum 3x50x2100 axes=1",
           "a = Multiply 70x300 70x300; y = ReduceSum a axes=0; z = Sqrt y; "
           "w = ReduceMin a axes=0; out z w",
           "ReduceMean 16x7x300 axes=0 keep_dims=true",
           // More readers of exponentials than one pass has.
           "y = SoftMax 32x4096 axis=1; a = Multiply y 1; b = ReduceMax y "
           "axes=1; c = ReduceMin y axes=1; d = ReduceSum y axes=1; e = "
           "ReduceL2 y axes=1; out a b c d e",
           "y = SoftMax 32x4096 axis=1; a = Multiply y 1; b = Sigmoid y; c = "
           "Tanh y; d = ReduceMax y axes=1; out a b c d",
           "m = ReduceMax x:32x4096 axes=1 keep_dims=true; d = Subtract x m; "
           "e = Exp d; s = ReduceSum e axes=1 keep_dims=true; f = Multiply e "
           "s; g = ReduceMax f axes=1 keep_dims=true; z = Multiply e g; y = "
           "Divide e s; out z y",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
