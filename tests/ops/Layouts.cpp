// SPDX-License-Identifier: Apache-2.0
// Images with channels first between convolutions, which compute with channels
// last: what can be computed either way is, by cost.
#include "tests/ops/Cases.h"

namespace tenon::test {

/// `to` = a convolution of `from`, with channels first and a tap.
static std::string conv(const std::string &to, const std::string &from,
                        const std::string &weights) {
  return to + " = Convolution " + from + " " + weights +
         "c strides=1,1 pads_begin=0,0 pads_end=0,0 dilations=1,1 "
         "data_format=NCX weights_format=OIX";
}

/// What stands between two convolutions, from `a` to `b`.
static Cases between() {
  const std::string pool = "strides=2,2 kernel=3,2 pads_begin=1,0 "
                           "pads_end=1,1 data_format=NCX; ";
  const std::string norm = "epsilon=0.25 data_format=NCX; ";
  return {
      "b = ReLU a; ",
      "b = MaxPool a " + pool,
      "b = AvgPool a exclude_pad=true " + pool,
      "c = AvgPool a exclude_pad=false " + pool + "d = MaxPool a " + pool +
          "b = Concat c d axis=1; ",
      "b = Concat a x a axis=1; ",
      "b = Concat a x axis=-2; ",
      "b = Concat a x axis=0; ",
      "b = SoftMax a axis=1; ",
      "b = LogSoftmax a axis=-1; ",
      "c = ReduceMean a axes=2,3 keep_dims=true; d = Sigmoid c; "
      "b = Multiply a d; ",
      "c = ReduceMax a axes=1 keep_dims=true; b = Subtract a c; ",
      "c = ReduceSum a axes=-1,0 keep_dims=true; b = Multiply a c; ",
      "b = Interpolate a mode=nearest sizes=5,11 data_format=NCX "
      "coordinate_transformation_mode=half_pixel; ",
      "b = Interpolate a mode=bilinear sizes=9,4 data_format=NCX "
      "coordinate_transformation_mode=half_pixel; ",
      "b,m,v,n,u = BatchNormForwardTraining a 6 6 6 6 momentum=0.5 " + norm,
      "b = BatchNormInference a 6 6 6 6 " + norm,
      "b,g,h = BatchNormTrainingBackward a x 6 6 6 " + norm,
      "b = GroupNorm a 6c 6c groups=3 keep_stats=false " + norm,
      "b = BiasAdd a 6 data_format=NCX; ",
      "b = PReLU a 6 data_format=NCX per_channel_broadcast=true; ",
      "b = PReLU a 1 data_format=NCX per_channel_broadcast=false; ",
      "b = MaxPoolBackward a 2x6x4x4 " + pool,
      // Operands that broadcast: of rows, of pictures without a batch, of a
      // batch, of nothing; constants of each.
      "b = Add a 8; ",
      "b = Add a 7x8; ",
      "b = Add a 6x7x8; ",
      "b = Add a 2x1x7x1; ",
      "b = Multiply a 6x1x1c; ",
      "b = Multiply a 6x7x8c; ",
      "c = Multiply a 2x6x1x1; b = Add c 1; ",
      "c = GreaterEqual a x; b = Select c a x; ",
      "b = Add a x; ",
      "c = StaticReshape a shape=2,6,56 special_zero=false; d = SoftMax c "
      "axis=1; b = StaticReshape d shape=2,6,7,8 special_zero=false; ",
      "c = StaticReshape a shape=2,2,3,7,8 special_zero=false; "
      "d = StaticTranspose c order=0,2,1,3,4; "
      "b = StaticReshape d shape=2,6,7,8 special_zero=false; ",
      "c = StaticTranspose a order=0,2,3,1; d = LayerNorm c 6c 6c "
      "keep_stats=false; "
      "b = StaticTranspose d order=0,3,1,2; ",
      "c = StaticTranspose a order=0,2,3,1; d = ReLU c; "
      "e = StaticTranspose d order=0,3,1,2; b = Add e x; ",
      "c/bf16 = TypeCast a; d/f32 = TypeCast c; b = Abs d; ",
      "c/u8 = Quantize a scales=0.5 zps=3; b/f32 = Dequantize c scales=0.5 "
      "zps=3; ",
      "b,s = PReLUBackward a 6 x data_format=NCX; ",
      "b,s = PReLUBackward a 6x1x1 x data_format=NCX; ",
      "b,s = PReLUBackward a 1x6x1x1 x data_format=NCX; ",
      "b,s = PReLUBackward a 1 x data_format=NCX; ",
      "c = AvgPool a exclude_pad=false strides=2,2 kernel=3,2 pads_begin=1,0 "
      "pads_end=1,1 data_format=NCX; b = AvgPoolBackward c src_shape=2,6,7,8 "
      "exclude_pad=false " +
          pool,
      "b = LRN a data_format=NCX; ",
      "b = LRNBackward a x size=3 algorithm=within_channel data_format=NCX; ",
      "b = InterpolateBackward x:2x6x7x8 a mode=nearest sizes=7,8 "
      "data_format=NCX coordinate_transformation_mode=half_pixel; ",
      "b = SoftMaxBackward a x axis=1; ",
      "b = LogSoftmaxBackward x a axis=-3; ",
      "c = ReduceL2 a axes=1 keep_dims=false; d = Exp c; "
      "e = StaticReshape d shape=2,1,7,8 special_zero=false; b = Divide a e; ",
      "c = ReduceMean a axes=1,2,3 keep_dims=true; b = Subtract a c; ",
      "c/u8 = Quantize a qtype=per_channel axis=1 scales=0.5,1,2,1,0.5,1 "
      "zps=0,1,2,3,4,5; b/f32 = Dequantize c qtype=per_channel axis=1 "
      "scales=0.5,1,2,1,0.5,1 zps=0,1,2,3,4,5; ",
  };
}

Cases layoutCases() {
  Cases cases;
  for (const std::string &work : between()) {
    std::string channels = work.find("a x a axis") != work.npos ? "18"
                           : work.find("c d axis") != work.npos ? "12"
                                                                : "6";
    cases.push_back(conv("a", "x:2x6x7x8", "6x6x1x1") + "; " + work +
                    conv("y", "b", "5x" + channels + "x1x1"));
  }
  for (const char *text : {
           // One channel, which is the last dim before the layout changes.
           "p = PReLU 1x2x1x1 1; ConvTransposeBackwardWeights p 1x1x1x1 "
           "strides=1,1 pads_begin=0,1 pads_end=0,0 dilations=1,1 "
           "data_format=NCX weights_format=IOX weights_shape=2,1,1,2",
           // Buffers of the caller in either order.
           "a = Convolution 2x6x7x8<336,1,48,6> 5x6x1x1c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX; y<280,1,40,5> = Add a 2x5x7x8<280,1,40,5>",
           "a = Convolution 2x6x7x8<336,1,48,6> 5x6x1x1c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX; y = Add a 2x5x7x8<280,1,40,5>",
           "a = Convolution 2x6x7x8 5x6x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "y<560,2,80,10> = Add a 2x5x7x8",
           "a = Convolution 2x7x8x6 1x1x6x5c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1; b = ReLU a; y<280,8,1,56> = Add b "
           "2x7x8x5",
           // So many channels, so far apart, that rows are copied.
           "a = Convolution 2x300x5x7 160x300x1x1c 160c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX; ReLU a",
           // So many positions that channels stay first.
           "a = Convolution 2x7x23x29 13x7x1x1c 13c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX; b = Sigmoid a; c = Multiply a b; "
           "d = Add c 2x13x23x29; Multiply d 2x13x1x1",
           "Convolution 1x7x600 1x7x5c strides=1 pads_begin=0 pads_end=0 "
           "dilations=1 data_format=NCX weights_format=XIO",
           "Convolution 1x270x9x7 160x270x3x3c strides=2,2 pads_begin=1,1 "
           "pads_end=1,1 dilations=1,1 data_format=NCX weights_format=OIX",
           "Convolution 1x600x7x6 800x600x1x1c strides=2,2 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX",
           // A norm between convolutions, of few elements and by channels.
           "a = Convolution 2x16x33x31 16x16x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "b = GroupNorm a 16c 16c groups=8 keep_stats=false "
           "data_format=NCX; c = Sigmoid b; d = Multiply b c; "
           "y = Convolution d 5x16x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX",
           "a = Convolution 2x64x33x31 64x64x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "b = GroupNorm a 64c 64c groups=32 keep_stats=false "
           "data_format=NCX; c = Sigmoid b; d = Multiply b c; "
           "y = Convolution d 5x64x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX",
           // A residual that the product reads, too, and others.
           "a = Convolution x:2x6x7x8 6x6x1x1c strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "b = Add a x; y = Convolution b 5x6x1x1c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX; out b y",
           // Sequences and volumes; sizes unknown but for the channels.
           "a = Convolution 2x6x9 6x6x3c strides=1 pads_begin=1 pads_end=1 "
           "dilations=1 data_format=NCX weights_format=OIX; b = ReLU a; "
           "c = Convolution b 5x6x1c strides=1 pads_begin=0 pads_end=0 "
           "dilations=1 data_format=NCX weights_format=OIX; "
           "SoftMax c axis=1",
           "a = Convolution 1x3x4x5x6 8x3x1x1x1c strides=1,1,1 "
           "pads_begin=0,0,0 pads_end=0,0,0 dilations=1,1,1 data_format=NCX "
           "weights_format=OIX; b = MaxPool a strides=2,2,2 kernel=2,2,2 "
           "pads_begin=0,0,0 pads_end=0,0,0 data_format=NCX; "
           "c = ReduceMean b axes=2,3,4 keep_dims=false; MatMul c 8x3c",
           "a = ConvTranspose 1x6x4x5 6x4x2x2c strides=2,2 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=IOX; "
           "b = Concat a 1x3x8x10 axis=1; Convolution b 5x7x1x1c strides=1,1 "
           "pads_begin=0,0 pads_end=0,0 dilations=1,1 data_format=NCX "
           "weights_format=OIX",
           // Gradients: of src, of weights, through an activation.
           "d = ReLUBackward x:2x5x6x7 2x5x6x7; g = ConvolutionBackwardData d "
           "5x4x1x1 dst_shape=2,4,6,7 strides=1,1 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "h = ReLUBackward z:2x4x6x7 g; w = ConvolutionBackwardWeights z h "
           "weights_shape=4,4,1,1 strides=1,1 pads_begin=0,0 pads_end=0,0 "
           "dilations=1,1 data_format=NCX weights_format=OIX; out h w",
           // Pictures in pieces, as transformers take them.
           "a = Convolution 2x3x8x8 10x3x4x4c strides=4,4 pads_begin=0,0 "
           "pads_end=0,0 dilations=1,1 data_format=NCX weights_format=OIX; "
           "b = StaticReshape a shape=2,10,4 special_zero=false; "
           "c = StaticTranspose b order=0,2,1; d = Add c 1x4x10c; "
           "LayerNorm d 10c 10c keep_stats=false",
       })
    cases.push_back(text);
  return cases;
}

} // namespace tenon::test
