// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/Cases.h"

namespace tenon::test {

/// `count` elementwise operations, one behind the other.
static std::string chain(int count) {
  static const char *const steps[] = {"Abs", "Square", "Sigmoid", "ReLU",
                                      "Tanh"};
  std::string text = "t0 = Abs 5x37";
  for (int i = 1; i < count; ++i)
    text += "; t" + std::to_string(i) + " = " + steps[i % 5] + " t" +
            std::to_string(i - 1);
  return text;
}

/// Adds the result of every step to the one before: no value is short-lived.
static std::string residuals(int count) {
  std::string text = "t0 = Abs 5x37; t1 = Tanh t0";
  for (int i = 2; i < count; ++i)
    text += "; s" + std::to_string(i) + " = Add t" + std::to_string(i - 1) +
            " t" + std::to_string(i - 2) + "; t" + std::to_string(i) +
            " = Tanh s" + std::to_string(i);
  return text;
}

static Cases matmulFusions() {
  return {
      "y = MatMul 33x64 64x96c 96c; GELU y",
      "y = MatMul 33x64 64x96c; z = BiasAdd y 96c; GELU z mode=gelu_tanh",
      "y = MatMul 33x64 64x96c 96c; z = Add y 33x96; ReLU z",
      // One layout along a chain of channels-first convolutions.
      "y = Convolution 2x8x9x9 16x8x3x3c 16c strides=1,1 pads_begin=1,1 "
      "pads_end=1,1 dilations=1,1 data_format=NCX weights_format=OIX; r = ReLU "
      "y; p = MaxPool r strides=2,2 pads_begin=1,1 pads_end=1,1 kernel=3,3 "
      "data_format=NCX; c = Convolution p 16x16x1x1c strides=1,1 "
      "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
      "weights_format=OIX; b = BatchNormInference c 16c 16c 16c 16c "
      "epsilon=0.001 data_format=NCX; s = Add b p; t = ReLU s; AvgPool t "
      "strides=5,5 pads_begin=0,0 pads_end=0,0 kernel=5,5 exclude_pad=true "
      "data_format=NCX",
      "y = Convolution 2x8x5x5 16x8x1x1c strides=1,1 pads_begin=0,0 "
      "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; z = Add "
      "y 16x1x1; w = Multiply z 2x16x5x5; Abs w",
      "y = MatMul x:33x64 64x64c 64c; z = Add y x; ReLU z",
      "y = MatMul 33x64 64x96c; z = Multiply y 33x1; w = Add z 96c; Tanh w",
      "y = MatMul 33x64 64x96c; z = Add 2x33x96 y; Sigmoid z",
      "y = MatMul 33x64 64x96c; z = ReLU y; out y z",
      "y = MatMul 33x64 64x96c; z = ReLU y; w = Sigmoid y; Add z w",
      "y = MatMul x:33x64 64x64c; z = MatMul x 64x64c; Add y z",
      "a = Abs 33x64; MatMul a 64x96c",
      "a = Abs 33x64; y = MatMul a 64x96c; b = ReLU a; out y b",
      "a = Square 64x96c; MatMul 33x64 a",
      "a = Square 64x96; MatMul 33x64 a",
      "a = MatMul 17x32 32x64c 64c; b = ReLU a; c = MatMul b 64x48c 48c; "
      "d = ReLU c; MatMul d 48x10c 10c",
      "y = MatMul 3x33x64 64x96c 96c; z = Add y 3x33x96; LayerNorm z 96c 96c "
      "keep_stats=false",
      "y = MatMul 33x64 64x96c; SoftMax y axis=-1",
      "y = MatMul 33x64 64x96c; ReduceSum y axes=1",
      "y = MatMul 33x64 64x96c; ReduceMax y axes=0 keep_dims=true",
      "y = MatMul 33x64 64x96c; StaticReshape y shape=3,11,4,24 "
      "special_zero=false",
      "y = MatMul 33x64 64x96c; z = StaticTranspose y order=1,0; ReLU z",
      "y = MatMul 33x64 64x96c; h/bf16 = TypeCast y",
      "y = MatMul 33x64 64x96c; c = GreaterEqual y 96c; Select c y 33x96",
      // Multiplications of one size share a kernel, not a bias.
      "a = MatMul 16x32 32x32c 32c; b = MatMul a 32x32c; c = MatMul b 32x32c "
      "32c; Add a c",
  };
}

static Cases attention() {
  std::string head = "q = StaticReshape xq:2x16x24 shape=2,16,3,8 "
                     "special_zero=false; "
                     "k = StaticReshape xk:2x16x24 shape=2,16,3,8 "
                     "special_zero=false; "
                     "v = StaticReshape xv:2x16x24 shape=2,16,3,8 "
                     "special_zero=false; "
                     "qt = StaticTranspose q order=0,2,1,3; "
                     "vt = StaticTranspose v order=0,2,1,3; ";
  std::string tail = "; o = MatMul p vt; ot = StaticTranspose o order=0,2,1,3; "
                     "StaticReshape ot shape=2,16,24 special_zero=false";
  return {
      // The keys transposed by the product, and by the transpose.
      head +
          "kt = StaticTranspose k order=0,2,1,3; "
          "s = MatMul qt kt transpose_b=true; d = Divide s 1c; "
          "m = Add d 2x1x1x16; p = SoftMax m axis=-1" +
          tail,
      head +
          "kt = StaticTranspose k order=0,2,3,1; s = MatMul qt kt; "
          "d = Multiply s ()c; m = Add d 16x16; p = SoftMax m axis=-1 "
          "mode=inf_as_zero" +
          tail,
      "s = MatMul 2x3x16x8 2x3x16x8 transpose_b=true; c = Select "
      "16x16/boolean s ()c; p = SoftMax c axis=-1; MatMul p 2x3x16x8",
  };
}

static Cases rowFusions() {
  return {
      "m = Add 2x3x16x16 2x1x1x16; SoftMax m axis=-1",
      "d = Multiply 5x37 1c; m = Add d 37; s = SoftMax m axis=-1; ReLU s",
      "x = Add 5x64 5x64; y = LayerNorm x 64c 64c keep_stats=false; out x y",
      // LayerNorm and RMSNorm in primitives.
      "m = ReduceMean x:5x64 axes=-1 keep_dims=true; d = Subtract x m; "
      "q = Square d; v = ReduceMean q axes=-1 keep_dims=true; "
      "e = Add v 1c; s = Sqrt e; n = Divide d s; g = Multiply n 64c; "
      "Add g 64c",
      "m = ReduceMean x:5x64 axes=-1 keep_dims=true; q = SquaredDifference x "
      "m; v = ReduceMean q axes=1 keep_dims=true; d = Subtract x m; "
      "e = Add v ()c; s = Pow e beta=-0.5; n = Multiply d s; out m n",
      "q = Square x:3x4x97; v = ReduceMean q axes=2 keep_dims=true; e = Add v "
      "1c; s = Sqrt e; d = Divide x s; Multiply d 97c",
      // Softmax in primitives.
      "m = ReduceMax x:5x37 axes=1 keep_dims=true; d = Subtract x m; "
      "e = Exp d; s = ReduceSum e axes=1 keep_dims=true; Divide e s",
      "r = ReduceSum x:5x37 axes=1; s = ReduceMax x axes=1; t = ReduceMin x "
      "axes=0; out r s t",
      "r = ReduceSum 13x17 axes=1; s = Sqrt r; ReduceSum s axes=0",
      "a = Abs 3x5x7; r = ReduceSum a axes=0,2; ReLU r",
      "y,s = SoftMax 5x37 axis=-1; z = Add y 37; Exp s",
      "y,m,v = LayerNorm 5x37 37c 37c; s = Sqrt v; z = Multiply y 5x37; "
      "out m s z",
  };
}

static Cases convolutionFusions() {
  static const std::string kWindow = " strides=1,1 pads_begin=1,1 "
                                     "pads_end=1,1 dilations=1,1";
  static const std::string kNcx = " data_format=NCX weights_format=OIX";
  std::string bn = "; b = BatchNormInference y 16c 16c 16c 16c epsilon=0.001";
  return {
      "y = Convolution 2x8x7x9 16x8x3x3c" + kWindow + kNcx + bn +
          " data_format=NCX; ReLU b",
      "y = Convolution 2x7x9x8 3x3x8x16c" + kWindow + bn + "; ReLU b",
      "y = Convolution x:2x16x7x9 16x16x3x3c 16c" + kWindow + kNcx +
          "; s = Add y x; ReLU s",
      "y = Convolution 1x8x7x7 16x8x3x3c" + kWindow + kNcx +
          "; r = ReLU y; MaxPool r strides=2,2 pads_begin=1,1 pads_end=1,1 "
          "kernel=3,3 data_format=NCX",
      "y = Convolution 1x8x7x7 16x8x3x3c" + kWindow + kNcx +
          "; z = Convolution y 16x1x3x3c groups=16" + kWindow + kNcx +
          "; out y z",
      "a = Abs 1x8x7x7; y = Convolution a 16x8x3x3c" + kWindow + kNcx +
          "; BiasAdd y 16c data_format=NCX",
      "p = AvgPool 2x7x7x16 strides=7,7 pads_begin=0,0 pads_end=0,0 "
      "kernel=7,7 exclude_pad=false; f = StaticReshape p shape=2,16 "
      "special_zero=false; MatMul f 16x10c 10c",
      "y = Convolution 1x8x7x7 16x8x1x1c strides=2,2 pads_begin=0,0 "
      "pads_end=0,0 dilations=1,1" +
          kNcx + "; PReLU y 16c data_format=NCX",
  };
}

/// What follows a pooling or a depthwise convolution.
static Cases windowFusions() {
  const std::string pool = " strides=2,2 pads_begin=1,1 pads_end=0,0 "
                           "kernel=3,3",
                    window = " strides=1,1 pads_begin=1,1 pads_end=1,1 "
                             "dilations=1,1";
  return {
      "y = Convolution 2x7x9x20 3x3x1x20c 20c groups=20" + window +
          "; Clamp y min=0.0 max=6.0",
      "y = Convolution 2x7x9x20 3x3x1x20c groups=20" + window +
          "; a = Add y 2x7x9x20; s = Multiply a 7x1x1; t = Multiply s ()c; "
          "GELU t",
      "y = Convolution 1x16x9x8 16x1x5x5c groups=16 strides=1,1 "
      "pads_begin=2,2 pads_end=2,2 dilations=1,1 data_format=NCX "
      "weights_format=OIX; b = BiasAdd y 16c data_format=NCX; r = ReLU b; "
      "Add r 1x16x9x8",
      "y = MaxPool 2x9x8x12" + pool + "; m = Multiply y 2x4x4x12; ReLU m",
      "y = MaxPool 2x12x9x8 data_format=NCX" + pool +
          "; b = BiasAdd y 12c data_format=NCX; Tanh b",
      "y = AvgPool 2x9x8x12 exclude_pad=true" + pool +
          "; c = GreaterEqual y 12c; s = Select c y ()c; Add s 1x4x12",
      "y = AvgPool 2x9x8x12 exclude_pad=false" + pool + "; r = ReLU y; out y r",
      "y = MaxPool 2x9x8x12" + pool + "; h/bf16 = TypeCast y",
      // Bytes behind sums in registers, also where channels lie apart.
      "y = Convolution 2x7x9x20 3x3x1x20c groups=20" + window +
          "; q/u8 = Quantize y scales=2 zps=3",
      "y = Convolution 2x7x9x20 3x3x1x20c groups=20" + window +
          "; q/u8<1260,9,1,63> = Quantize y scales=2 zps=3",
      "y = Convolution 2x7x9x20/bf16 3x3x1x20/bf16c groups=20" + window +
          "; Clamp y min=0.0 max=6.0",
  };
}

Cases fusionCases() {
  Cases cases = matmulFusions();
  for (const Cases &more :
       {attention(), rowFusions(), convolutionFusions(), windowFusions()})
    cases.insert(cases.end(), more.begin(), more.end());
  cases.push_back(chain(120));
  cases.push_back(residuals(40));
  for (const char *text : {
           // Ports: inputs that are outputs, outputs named twice, copies.
           "y = ReLU x:5x7; out x y",
           "y = ReLU x:5x7; out y y",
           "y = ReLU x:5x7; z = Abs y; out y z y x",
           "y = Add x:5x7 c:7c; out c y",
           "y = StaticReshape x:5x7 shape=35 special_zero=false; out x y",
           "y = StaticReshape x:5x7 shape=35 special_zero=false; z = ReLU y; "
           "out y z",
           "y = Reorder x:5x7; z<1,5> = Reorder x; out y z",
           "a = ReLU 5x7; y<1,5> = Reorder a; z = Abs a; out y z",
           // Constants only: everything is folded.
           "y = Add 5x7c 7c; ReLU y",
           "y = Add 5x7c 7c; z = Add y 5x7; out y z",
           "w = StaticTranspose 96x64c order=1,0; MatMul 33x64 w",
           "w = Multiply 64x96c 96c; b = Add 96c 96c; MatMul 33x64 w b",
           // One value, many readers; two results of different shapes.
           "a = Exp 5x37; b = ReLU a; c = Abs a; d = Add b c; e = Add d a; "
           "out a e",
           "a = Tanh 5x37; b = ReLU a; c = StaticTranspose a order=1,0; "
           "d = ReduceSum a axes=1; out b c d",
           "a = Add 5x1 1x37; b = Add a 3x5x37; ReLU b",
           "a = ReLU 37; b = Add a 5x37; c = Add a 3x5x37; out b c",
           "a = ReLU 5x3; b = Abs 5x4; c = Concat a b axis=1; Tanh c",
           "a = ReLU x:5x3; c = Concat a x a axis=0; out c a",
           "a = Concat 2x3x4 2x5x4 axis=1; b = StaticTranspose a order=0,2,1; "
           "ReLU b",
           "a = StaticTranspose 61x97 order=1,0; b = ReLU a; "
           "c = StaticTranspose b order=1,0; Add c 61x97",
           "a = ReLU 0x7; b = Add a 7; ReduceSum b axes=0",
           "a = ReLU (); b = Add a 5x7; c = ReduceSum b axes=0,1; Add c a",
           "a = Add 6/s32 6/s32; b = Add a 6/s32; c = Subtract b a; out a c",
           // Copies of what is not f32: a folded result, one returned twice.
           "GreaterEqual 5x7c 5x7c",
           "Add 6/s32c 6/s32c",
           // Nothing varies along a dim: inputs whose elements share memory.
           "ReduceMax 5x16<16,0> axes=1",
           // Its gradient of statistics is not asked for: the product is read
           // by none.
           "a = ConvTransposeBackwardData 1x9x4 3x4x8 strides=1 pads_begin=0 "
           "pads_end=0 dilations=1; BatchNormTrainingBackward a 1x7x8 8 8 8 "
           "epsilon=0.125",
           "s = Log 3x4; d,e = PReLUBackward 3x4 s 3x4",
           "s = Log 1x1; d,e = PReLUBackward 1x1 s 1x1",
           "a = Clamp 5x16<16,0> min=-2 max=6; LayerNorm a 16 16 "
           "keep_stats=false",
           "a = ReLU 5x16<0,0>; SoftMax a axis=1",
           "ReduceSum 3x5x7<0,1,0> axes=0,2",
           "a = Sqrt 5x16<1,0>; b = Sigmoid a; SoftMax b axis=1",
           "Log 8x7<7,0>",
           // A value and a view of it, in one operation.
           "a = ReLU 5x5; b = StaticTranspose a order=1,0; Add a b",
           "a = ReLU 7; b = StaticReshape a shape=7 special_zero=false; "
           "c = Abs a; Multiply c b",
           "a = MatMul 8x5 5x8c; b = StaticTranspose a order=1,0; Add a b",
           "a = Abs 6x6; b = StaticTranspose a order=1,0; c = SoftMax a; "
           "Add c b",
           // One column, and a stride of it that means nothing.
           "y<1,1,64> = MatMul 64x64x1 64x1 transpose_a=true",
           "y<1,33> = MatMul 33x7 7x1; ReLU y",
           "y = MatMul 33x7 7x1; z<1,33> = Add y 33x1<1,40>; out z",
           // Two parts that have nothing to do with each other.
           "a = ReLU 5x7; b = MatMul 5x7 7x11c; out a b",
           // Results behind views, written as they are computed or copied.
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "StaticReshape t shape=2,7,24 special_zero=false",
           "y = MatMul 6x8 8x10c; StaticReshape y shape=2,3,10 "
           "special_zero=false",
           "y = MatMul 6x8 8x10c; r = StaticReshape y shape=2,3,2,5 "
           "special_zero=false; StaticTranspose r order=0,2,1,3",
           "y = MatMul 6x8 8x10c; r = StaticReshape y shape=2,3,2,5 "
           "special_zero=false; t = StaticTranspose r order=0,2,1,3; "
           "StaticReshape t shape=4,3,5 special_zero=false",
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "r<400,28,1> = StaticReshape t shape=2,7,24 special_zero=false; "
           "out r",
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "r<1,60,2> = StaticReshape t shape=2,7,24 special_zero=false; "
           "out r",
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "r = StaticReshape t shape=2,7,24 special_zero=false; out r y",
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "r = StaticReshape t shape=2,7,24 special_zero=false; out t r y",
           "y = MatMul 2x6x7x5 2x6x5x4c; t = StaticTranspose y order=0,2,1,3; "
           "r = StaticReshape t shape=2,7,24 special_zero=false; u = MatMul "
           "r 24x5c; v = StaticReshape y shape=84,4 special_zero=false; "
           "w = Exp v; out r u w",
           "y = MatMul 0x6 6x10c; r = StaticReshape y shape=0,2,5 "
           "special_zero=false; StaticTranspose r order=1,0,2",
           "r = StaticReshape 6x35 shape=2,3,5,7 special_zero=false; t = "
           "StaticTranspose r order=2,0,1,3; StaticReshape t shape=30,7 "
           "special_zero=false",
           "a = ReLU 1; b = StaticReshape a shape= special_zero=false; Exp b",
           // Elementwise operations behind views of one reader.
           "y = MatMul 12x8 8x10c; r = StaticReshape y shape=2,6,10 "
           "special_zero=false; a = Add r 2x6x10; b = Multiply a 10c; Exp b",
           "y = MatMul 12x8 8x10c; r = StaticReshape y shape=2,6,2,5 "
           "special_zero=false; t = StaticTranspose r order=0,2,1,3; "
           "a = Add t 2x2x6x5; b = Multiply a 5c; Exp b",
           "y = MatMul 2x6x8 8x10c; t = StaticTranspose y order=1,0,2; "
           "a = Add t 6x2x10; b = Multiply a 6x1x1; c = Maximum b 1c; "
           "Add c 2x1",
           "y = MatMul 6x8 8x10c; t = StaticTranspose y order=1,0; a = Add t "
           "10x1c; b = Add a ()c; q/u8 = Quantize b scales=0.5 zps=3",
           "y = MatMul 6x8 8x10c; t = StaticTranspose y order=1,0; q/s8 = "
           "Quantize t scales=0.5,0.25,1,2,1,1,1,1,1,1 zps=0,0,0,0,0,0,0,0,0,0 "
           "qtype=per_channel axis=0",
           "y = MatMul 12x8 8x10c; r = StaticReshape y shape=2,6,10 "
           "special_zero=false; q/s8 = Quantize r scales=0.5,0.25 zps=0,0 "
           "qtype=per_channel axis=0",
           "y = MatMul 6x8 8x10c; t = StaticTranspose y order=1,0; a = ReLU t; "
           "MatMul 3x10 a",
           "y = MatMul 1x8 8x10c; r = StaticReshape y shape=10 "
           "special_zero=false; a = Multiply r 10 auto_broadcast=none; "
           "b = Add a 10; out b",
           "y = MatMul 1x8 8x1c; r = StaticReshape y shape=1,1,1 "
           "special_zero=false; a = Multiply r 1x1x1 auto_broadcast=none; "
           "b = Add a 1x1x1c auto_broadcast=none; out b",
           "y = MatMul 1x8 8x1c; r = StaticReshape y shape=1 "
           "special_zero=false; a = Multiply r 1 auto_broadcast=none; "
           "b = Add a ()c; c = Add b 1x1x1c; out c",
           "y = LayerNorm 12x10 10c 10c keep_stats=false; r = StaticReshape y "
           "shape=3,4,10 special_zero=false; g = GELU r; q/u8 = Quantize g "
           "scales=0.05 zps=9",
           "y = MatMul 12x8 8x10c; e = Exp y; r = StaticReshape e shape=2,6,10 "
           "special_zero=false; a = Add r 2x6x10; b = Tanh a; out b",
           "y = MatMul 12x8 8x10c; r = StaticReshape y shape=2,6,10 "
           "special_zero=false; a = Add r 2x6x10; b = Tanh r; out a b",
           "y/bf16 = MatMul 12x8/bf16 8x10/bf16c; r/bf16 = StaticReshape y "
           "shape=2,60 special_zero=false; f/f32 = TypeCast r; q/u8 = Quantize "
           "f scales=0.25 zps=100",
           "y = Convolution 1x6x6x3 3x3x3x8c strides=1,1 pads_begin=1,1 "
           "pads_end=1,1 dilations=1,1 data_format=NXC weights_format=XIO; "
           "r = StaticReshape y shape=1,36,8 special_zero=false; t = "
           "StaticTranspose r order=0,2,1; a = ReLU t; b = Add a 8x1c; Exp b",
           // Operands that a product computes and packs itself.
           "d/f32 = Dequantize 40x70/u8 scales=0.1 zps=3; m = Multiply d 40x1; "
           "MatMul m 70x150c",
           "w = Multiply 70x150 1x150; e = ReLU 40x70; y = MatMul e w; Add y "
           "150",
           "e = Add 40x70 70; y = MatMul e 203x70 transpose_b=true; Tanh y",
           "e = Add 3x20x33 33; MatMul e 3x33x140",
           "e = Multiply 2x1x20x33 20x1; w = Exp 3x33x140; MatMul e w",
           "e = Multiply 3x1x33 1x1x33; MatMul e 3x33x140c",
           "e = ReLU 300x33; MatMul e 33x20",
           "e = ReLU 20x5000; MatMul e 5000x40c",
           "e = ReLU 20x3000; MatMul e 3000x140",
           "e = ReLU 20x3000; MatMul e 3000x240c",
           "e = ReLU 20x3000; w = Abs 3000x240; MatMul e w",
           "e = Tanh 40x70; MatMul e 70x240c",
           "e = ReLU 100x655; w = Abs 655x200; MatMul e w",
           "e = ReLU 700x300; MatMul e 300x17c",
           "e = Abs 40x70; MatMul e e transpose_b=true",
           "q/u8 = Quantize 40x70 scales=0.02 zps=128; d/f32 = Dequantize q "
           "scales=0.02 zps=128; w/f32 = Dequantize 70x150/s8c scales=0.1 "
           "zps=0; "
           "MatMul d w",
           "d/f32 = Dequantize 40x71/u8 scales=0.1 zps=3; w/f32 = Dequantize "
           "71x151/s8 scales=0.1 zps=0; MatMul d w",
           "d/f32 = Dequantize 3x40x70/s8 scales=0.1 zps=0; w/f32 = Dequantize "
           "3x33x70/s8 scales=0.1 zps=0; y = MatMul d w transpose_b=true; "
           "q/u8 = Quantize y scales=0.5 zps=7",
           "e/bf16 = ReLU 40x70/bf16; MatMul e 70x150/bf16",
           "e = ReLU 24x0; MatMul e 0x140",
           "e = ReLU 0x24; MatMul e 24x140",
           "e = ReLU 0x24; MatMul e 24x240",
           "e = ReLU 2x0x24; MatMul e 2x24x240",
       })
    cases.push_back(text);
  // Pooling of narrow elements, which are widened where they are read.
  const std::string pool = " strides=2,2 pads_begin=1,1 pads_end=0,0 "
                           "kernel=3,3",
                    wide = " strides=1,1 pads_begin=5,5 pads_end=6,6 "
                           "kernel=12,12";
  const std::string u8 = "d/f32 = Dequantize 2x9x8x12/u8 scales=0.1 zps=3; ",
                    s8 = "d/f32 = Dequantize 2x9x8x37/s8 scales=0.5 zps=-7; ",
                    ncx = "d/f32 = Dequantize 2x12x9x8/s8 scales=0.5 zps=0; ",
                    max = "p = MaxPool d", avg = "p = AvgPool d exclude_pad=";
  for (const std::string &text : {
           // Of one scale: bytes throughout.
           u8 + max + pool + "; q/u8 = Quantize p scales=0.1 zps=3",
           s8 + max + pool + "; q/s8 = Quantize p scales=0.5 zps=-7",
           s8 + max + wide + "; q/s8 = Quantize p scales=0.5 zps=-7",
           ncx + max + pool +
               " data_format=NCX; q/s8 = Quantize p scales=0.5 "
               "zps=0",
           // Of another, or with more behind it: bytes in scratch memory.
           u8 + max + pool + "; q/u8 = Quantize p scales=0.2 zps=30",
           s8 + max + pool + "; q/u8 = Quantize p scales=0.5 zps=-7",
           s8 + max + wide + "; r = ReLU p; q/s8 = Quantize r scales=1 zps=0",
           ncx + max + pool +
               " data_format=NCX; a/f32 = Add p 12x1x1; "
               "h/bf16 = TypeCast a",
           u8 + max + pool,
           s8 + max + pool + "; out d p",
           // Windows of padding alone, whose maximum is no byte.
           std::string("d/f32 = TypeCast 1x4x4x8/u8; ") + max +
               " strides=2,2 pads_begin=2,2 pads_end=2,2 kernel=2,2",
           // Averages, with padding that counts and without.
           u8 + avg + "true" + pool + "; q/u8 = Quantize p scales=0.1 zps=3",
           u8 + avg + "false" + pool + "; q/u8 = Quantize p scales=0.1 zps=3",
           ncx + avg + "false" + pool + " data_format=NCX",
           u8 + "r/f32 = Dequantize 2x4x4x12/u8 scales=0.2 zps=0; " + avg +
               "true" + pool +
               "; a/f32 = Add p r; q/u8 = Quantize a "
               "scales=0.1 zps=3",
           // Channels with scales of their own.
           "d/f32 = Dequantize 2x9x8x3/s8 qtype=per_channel axis=3 "
           "scales=0.1,1,0.5 zps=1,-2,3; " +
               max + pool,
           "d/f32 = Dequantize 2x9x8x3/s8 qtype=per_channel axis=3 "
           "scales=0.1,-1,0.5 zps=0,0,0; " +
               avg + "false" + pool,
           "d/f32 = Dequantize 2x9x8x3/s8 scales=-0.1 zps=0; " + max + pool,
           std::string("p/bf16 = MaxPool 2x9x8x12/bf16") + pool,
           std::string("p/f16 = AvgPool 2x9x8x37/f16 exclude_pad=true") + wide,
           "c = Convolution 2x9x8x5/bf16 1x1x5x12/bf16c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1; r/bf16 = ReLU c; "
           "p/bf16 = MaxPool r" +
               pool,
           // Rows with channels first, folded.
           "d/f32 = Dequantize 2x3x9x30/u8 scales=0.1 zps=3; " + max + pool +
               " data_format=NCX; q/u8 = Quantize p scales=0.1 zps=3",
           "d/f32 = Dequantize 2x3x9x30/s8 scales=0.1 zps=3; " + max + pool +
               " data_format=NCX; a/f32 = Add p 3x1x1; h/bf16 = TypeCast a",
           "p/bf16 = AvgPool 2x3x9x30/bf16 exclude_pad=true data_format=NCX" +
               pool + "; r/bf16 = Add p 2x3x4x15/bf16",
           "y = MaxPool 2x3x9x30 data_format=NCX" + pool +
               "; m = Multiply y 2x3x4x15; ReLU m",
           // Squares that are infinite in f32, times a slope of 0.
           std::string("l = LeakyReLU 5x37 alpha=-1e20; "
                       "GELUBackward mode=gelu_tanh l 5x37"),
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
