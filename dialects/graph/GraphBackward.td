//===- GraphBackward.td - gradients of the other operations --------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_BACKWARD_TD
#define TENON_GRAPH_BACKWARD_TD

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphNorm.td"

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Reads the operand of the forward operation.
class Graph_UnaryBackward<string forward, int number, string cSuffix>
    : Graph_BackwardOp<forward, forward # "Backward", number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [2];
  let compiles = ["f32"];
  let opClass = "elementwise";
  let shapeRule = "all_same";
}

/// Reads the operand or the result of the forward operation: use_dst.
class Graph_UnaryBackwardDst<string forward, int number, string cSuffix>
    : Graph_UnaryBackward<forward, number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src_or_dst, Graph_Value<"T">:$diff_dst,
                       Graph_UseDst:$use_dst);
}

def Graph_AbsBackwardOp
    : Graph_UnaryBackward<"Abs", 1, "abs_backward"> {
  let summary = "diff_src = diff_dst * sign(src)";
  let description = [{
    The sign of 0 is 0.
  }];
  let rounding = "exact";
  let grid = "second";
}

def Graph_ClampBackwardOp
    : Graph_UnaryBackwardDst<"Clamp", 11, "clamp_backward"> {
  let summary = "diff_src = min < src < max ? diff_dst : 0";
  let description = [{
    With use_dst the test is on dst.  The gradient is 0 at both bounds.
  }];
  let arguments = (ins Graph_Value<"T">:$src_or_dst, Graph_Value<"T">:$diff_dst,
                       Arg<F32Attr, "lower bound">:$min,
                       Arg<F32Attr, "upper bound">:$max,
                       Graph_UseDst:$use_dst);
  let rounding = "exact";
  let grid = "second";
  let attrRules = ["min_at_most_max"];
}

def Graph_EluBackwardOp
    : Graph_UnaryBackwardDst<"Elu", 24, "elu_backward"> {
  let summary = "diff_src = src > 0 ? diff_dst : diff_dst * alpha * exp(src)";
  let description = [{
    With use_dst: dst > 0 ? diff_dst : diff_dst * (dst + alpha), which needs an
    alpha of at least 0.
  }];
  let arguments = (ins Graph_Value<"T">:$src_or_dst, Graph_Value<"T">:$diff_dst,
                       Arg<F32Attr, "as for Elu">:$alpha,
                       Graph_UseDst:$use_dst);
  let transcendental = 1;
  let attrRules = ["alpha_of_dst"];
}

def Graph_GELUBackwardOp
    : Graph_UnaryBackward<"GELU", 28, "gelu_backward"> {
  let summary = "diff_src = diff_dst * (derivative of GELU at src)";
  let description = [{
    gelu_erf: Phi(src) + src * phi(src) with phi the normal density.  gelu_tanh:
    0.5 * (1 + v) * (1 + src * (1 - v) * c * (1 + 3 * 0.044715 * src^2)) with
    c = sqrt(2 / pi) and v = tanh(c * (src + 0.044715 * src^3)).
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst,
                       Graph_GeluMode:$mode);
  let transcendental = 1;
}

def Graph_HardSigmoidBackwardOp
    : Graph_UnaryBackward<"HardSigmoid", 80, "hard_sigmoid_backward"> {
  let summary = "diff_src = 0 < alpha * src + beta < 1 ? alpha * diff_dst : 0";
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst,
                       Arg<F32Attr, "slope">:$alpha,
                       Arg<F32Attr, "offset">:$beta);
}

def Graph_HardSwishBackwardOp
    : Graph_UnaryBackward<"HardSwish", 30, "hard_swish_backward"> {
  let summary = "diff_src = diff_dst * (derivative of HardSwish at src)";
  let description = [{
    The derivative is 0 up to -3, 1 from 3 on, (2 * src + 3) / 6 between.
  }];
}

def Graph_MishBackwardOp
    : Graph_UnaryBackward<"Mish", 45, "mish_backward"> {
  let summary = "diff_src = diff_dst * (derivative of Mish at src)";
  let description = [{
    With t = tanh(ln(1 + exp(src))) the derivative is
    t + src * sigmoid(src) * (1 - t^2), computed without overflow.
  }];
  let transcendental = 1;
}

def Graph_ReLUBackwardOp
    : Graph_UnaryBackwardDst<"ReLU", 59, "relu_backward"> {
  let summary = "diff_src = src > 0 ? diff_dst : 0";
  let description = [{
    The test is the same on dst.  A NaN gives 0, or with propagate_nan diff_dst.
  }];
  let arguments = (ins Graph_Value<"T">:$src_or_dst, Graph_Value<"T">:$diff_dst,
      Graph_UseDst:$use_dst,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "whether a NaN passes on diff_dst">:$propagate_nan);
  let rounding = "exact";
  let grid = "second";
}

def Graph_SigmoidBackwardOp
    : Graph_UnaryBackwardDst<"Sigmoid", 63, "sigmoid_backward"> {
  let summary = "diff_src = diff_dst * dst * (1 - dst)";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "probability">:$src_or_dst,
                       Graph_Value<"T">:$diff_dst, Graph_UseDst:$use_dst);
}

def Graph_SoftPlusBackwardOp
    : Graph_UnaryBackward<"SoftPlus", 67, "softplus_backward"> {
  let summary = "diff_src = diff_dst * sigmoid(beta * src)";
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst,
                       Arg<DefaultValuedAttr<F32Attr, "1.0">,
                           "as for SoftPlus">:$beta);
  let transcendental = 1;
  let attrRules = ["beta_is_not_0"];
}

def Graph_SqrtBackwardOp
    : Graph_UnaryBackwardDst<"Sqrt", 69, "sqrt_backward"> {
  let summary = "diff_src = diff_dst / (2 * dst)";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "divisor">:$src_or_dst,
                       Graph_Value<"T">:$diff_dst, Graph_UseDst:$use_dst);
}

def Graph_TanhBackwardOp
    : Graph_UnaryBackwardDst<"Tanh", 76, "tanh_backward"> {
  let summary = "diff_src = diff_dst * (1 - dst^2)";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "openUnit">:$src_or_dst,
                       Graph_Value<"T">:$diff_dst, Graph_UseDst:$use_dst);
}

def Graph_PReLUBackwardOp
    : Graph_BackwardOp<"PReLU", "PReLUBackward", 48, "prelu_backward"> {
  let summary = "diff_src = src > 0 ? diff_dst : slope * diff_dst";
  let description = [{
    diff_slope is the sum of diff_dst * src over all broadcast dims where src is
    not positive.  A slope of rank 1 has one element for all, or one per
    channel; there is no per_channel_broadcast.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$slope,
                       Graph_Value<"T">:$diff_dst,
                       Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$diff_src, Graph_Value<"T">:$diff_slope);
  let operandCounts = [3];
  let resultCounts = [2];
  let constraints = ["slope broadcasts one-way to src"];
  let shapeRule = "prelu_backward";
  let reducedDims = "slope";
  let compiles = ["f32"];
  let opClass = "reduction";
}

def Graph_BiasAddBackwardOp
    : Graph_BackwardOp<"BiasAdd", "BiasAddBackward", 9, "bias_add_backward"> {
  let summary = "diff_bias = sum of diff_dst over all dims but the channels";
  let description = [{
    Any rank from 2 on, like BiasAdd.
  }];
  let arguments = (ins Graph_Value<"T">:$diff_dst,
                       Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$diff_bias);
  let constraints = ["diff_dst has rank 2 or more"];
  let shapeRule = "bias_add_backward";
  let reducedDims = "allButChannels";
  let compiles = ["f32"];
  let opClass = "reduction";
  let grid = "reduce_sum";
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

def Graph_ConvolutionBackwardDataOp
    : Graph_BackwardOp<"Convolution", "ConvolutionBackwardData", 14,
                       "convolution_backward_data"> {
  let summary = "diff_src = gradient of Convolution with respect to src";
  let description = [{
    Every element of diff_dst, times the filter, is added to the positions of
    src it was computed from; positions never read get 0.  The shape of diff_src
    is that of its type when known, else dst_shape (named after the result of
    this operation).  output_padding is accepted and has no effect.  auto_pad is
    resolved as in the forward operation, from the spatial dims of diff_src.
  }];
  let arguments = (ins Graph_Value<"T1">:$diff_dst, Graph_Value<"T1">:$weights,
      Optional<Graph_Shape<"T2">>:$dst_shape_tensor,
      Graph_OutputPadding:$output_padding,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "all dims of diff_src, in the order of data_format; absent: the type "
          "of the result says it">:$dst_shape,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_ConvWeights:$weights_format);
  let results = (outs Graph_Value<"T1">:$diff_src);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", ["s32"]>];
  let constraints = ["pads are at least 0",
                     "a forward Convolution of diff_src gives the shape of "
                     "diff_dst"];
  let shapeRule = "conv_backward_data";
  let compiles = ["f32"];
  let opClass = "contraction";
  let grid = "contraction";
}

class Graph_WeightsGradient<string forward, string kind, int number,
                            string cSuffix>
    : Graph_BackwardOp<forward, kind, number, cSuffix> {
  let results = (outs Graph_Value<"T1">:$diff_weights);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", ["s32"]>];
  let constraints = ["pads are at least 0",
                     "a forward " # forward # " with diff_weights gives the "
                     "shape of diff_dst"];
  let opClass = "contraction";
  let grid = "contraction";
}

def Graph_ConvolutionBackwardWeightsOp
    : Graph_WeightsGradient<"Convolution", "ConvolutionBackwardWeights", 15,
                            "convolution_backward_weights"> {
  let summary =
      "diff_weights = gradient of Convolution with respect to weights";
  let description = [{
    The shape of diff_weights is that of its type when known, else
    weights_shape.  auto_pad is resolved from the spatial dims of src.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Optional<Graph_Shape<"T2">>:$weights_shape_tensor,
      Graph_WeightsShape:$weights_shape,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_ConvWeights:$weights_format);
  let shapeRule = "conv_backward_weights";
  let compiles = ["f32"];
}

def Graph_ConvTransposeBackwardDataOp
    : Graph_BackwardOp<"ConvTranspose", "ConvTransposeBackwardData", 17,
                       "conv_transpose_backward_data"> {
  let summary = "diff_src = gradient of ConvTranspose with respect to src";
  let description = [{
    A forward convolution of diff_dst; auto_pad too is resolved by the rule of
    Convolution, from the spatial dims of diff_dst.  There is no output_padding:
    the size of diff_dst contains it.
  }];
  let arguments = (ins Graph_Value<"T">:$diff_dst, Graph_Value<"T">:$weights,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_DeconvWeights:$weights_format);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [2];
  let constraints = ["pads are at least 0",
                     "channels of diff_dst are groups * O of weights"];
  let shapeRule = "conv_transpose_backward_data";
  let compiles = ["f32"];
  let opClass = "contraction";
  let grid = "contraction";
}

def Graph_ConvTransposeBackwardWeightsOp
    : Graph_WeightsGradient<"ConvTranspose", "ConvTransposeBackwardWeights", 18,
                            "conv_transpose_backward_weights"> {
  let summary =
      "diff_weights = gradient of ConvTranspose with respect to weights";
  let description = [{
    The shape of diff_weights is that of its type when known, else
    weights_shape.  auto_pad is resolved by the rule of Convolution, from the
    spatial dims of diff_dst.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Optional<Graph_Shape<"T2">>:$weights_shape_tensor,
      Graph_WeightsShape:$weights_shape,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_DeconvWeights:$weights_format);
  let shapeRule = "conv_transpose_backward_weights";
  let compiles = ["f32"];
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

def Graph_AvgPoolBackwardOp
    : Graph_BackwardOp<"AvgPool", "AvgPoolBackward", 4, "avg_pool_backward"> {
  let summary = "diff_src = each diff_dst, divided as in AvgPool, spread out";
  let description = [{
    exclude_pad, divisor and auto_pad repeat those of the forward operation.
    The sizes of diff_dst may be rounded either way unless rounding_type is
    given.  The shape
    of diff_src is that of its type when known, else src_shape; with neither it
    is an error.  The values of src are not read, so the gradient of a window
    with infinite or NaN elements is as any other.  An infinite or NaN diff_dst
    reaches every element of its window, and no element outside.
  }];
  let arguments = (ins Graph_Value<"T">:$diff_dst,
      Optional<Graph_Shape<"T1">>:$src_shape_tensor,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PoolPadsEnd:$pads_end, Graph_ExcludePad:$exclude_pad,
      Graph_Kernel:$kernel, Graph_AutoPad:$auto_pad,
      Graph_DataFormat:$data_format,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "all dims of diff_src, in the order of data_format; absent: the type "
          "of the result says it">:$src_shape,
      Graph_OptionalRoundingType:$rounding_type, Graph_Divisor:$divisor);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [1, 2];
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"T1", ["s32"]>];
  let constraints = ["pads_begin is at least 0"];
  let shapeRule = "avg_pool_backward";
  let compiles = ["f32"];
  let opClass = "window";
}

def Graph_MaxPoolBackwardOp
    : Graph_BackwardOp<"MaxPool", "MaxPoolBackward", 42, "max_pool_backward"> {
  let summary = "diff_src = each diff_dst at the maximum of its window";
  let description = [{
    The position of the maximum is found again from src, as in MaxPool; of equal
    elements the first of the window wins.  NaN elements are skipped.  A window
    in which no element is greater than the lowest finite number, such as one of
    nothing but -inf, NaN or padding, passes on no gradient.  With propagate_nan
    the first NaN of a window wins, and the first of its elements if all are
    -inf.  The sizes of diff_dst may be rounded either way.  diff_dst is added
    to one element of the window and to no other, also where it is infinite or
    NaN.  An element that is the maximum of no window gets 0.  Without dilations
    they are all 1.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PoolPadsEnd:$pads_end, Graph_Kernel:$kernel, Graph_AutoPad:$auto_pad,
      Graph_OptionalDilations:$dilations, Graph_DataFormat:$data_format,
      Graph_PropagateNan:$propagate_nan);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [2];
  let constraints = ["pads_begin is at least 0"];
  let shapeRule = "max_pool_backward";
  let compiles = ["f32"];
  let opClass = "window";
}

def Graph_InterpolateBackwardOp
    : Graph_BackwardOp<"Interpolate", "InterpolateBackward", 32,
                       "interpolate_backward"> {
  let summary = "diff_src = adjoint of Interpolate applied to diff_dst";
  let description = [{
    Every element of diff_dst is added to the positions of src it was read from,
    with the same weights.  The values of src are not read, only its shape.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Optional<Graph_Shape<"T2">>:$sizes_tensor,
      Graph_InterpolateMode:$mode,
      Graph_Coordinates:$coordinate_transformation_mode,
      Graph_Sizes:$sizes, Graph_InterpolateScales:$scales,
      Graph_DataFormat:$data_format,
      Graph_NearestMode:$nearest_mode, Graph_CubicCoeff:$cubic_coeff_a,
      Graph_ExcludeOutside:$exclude_outside, Graph_InterpolateRatio:$ratio,
      Graph_Antialias:$antialias);
  let results = (outs Graph_Value<"T1">:$diff_src);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", ["s32"]>];
  let constraints = ["exactly one of sizes, scales and sizes_tensor is given",
                     "sizes and scales have one entry per spatial dim",
                     "ratio scales needs the attribute scales"];
  let shapeRule = "interpolate_backward";
  let compiles = ["f32"];
  let opClass = "window";
}

//===----------------------------------------------------------------------===//
// Normalisation and softmax
//===----------------------------------------------------------------------===//

class Graph_NormBackward<string forward, string kind, int number,
                         string cSuffix, list<Trait> traits>
    : Graph_BackwardOp<forward, kind, number, cSuffix, traits> {
  let results = (outs Graph_Value<"T1">:$diff_src,
                      Optional<Graph_Value<"T2">>:$diff_gamma,
                      Optional<Graph_Value<"T2">>:$diff_beta);
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", StatTypes>];
  let opClass = "normalization";
  let transcendental = 1;
}

def Graph_BatchNormTrainingBackwardOp
    : Graph_NormBackward<"BatchNormForwardTraining",
                         "BatchNormTrainingBackward", 5, "batch_norm_backward",
                         [Pure, AttrSizedResultSegments]> {
  let summary = "gradients of BatchNormForwardTraining";
  let description = [{
    mean and variance are the statistics of the batch from the forward
    operation.  With x = (src - mean) / sqrt(variance + epsilon) and M elements
    per channel, the form with three results computes
    diff_gamma = sum(diff_dst * x), diff_beta = sum(diff_dst) and
    diff_src = gamma / sqrt(variance + epsilon) *
    (diff_dst - diff_beta / M - x * diff_gamma / M).

    The form with one result is another function: the statistics count as
    constants and gamma, if given, is ignored, so that
    diff_src = diff_dst / sqrt(variance + epsilon).  It is kept because graphs
    use it; for the gradient ask for three results.  Two results are accepted
    only as part of an unfinished graph.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Graph_Value<"T2">:$mean, Graph_Value<"T2", "variance">:$variance,
      Optional<Graph_Value<"T2">>:$gamma,
      Graph_RequiredEpsilon:$epsilon, Graph_DataFormat:$data_format);
  let operandCounts = [4, 5];
  let resultCounts = [1, 2, 3];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "3 results need gamma"];
  let shapeRule = "batch_norm_backward";
  let reducedDims = "allButChannels";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_LayerNormBackwardOp
    : Graph_NormBackward<"LayerNorm", "LayerNormBackward", 34,
                         "layer_norm_backward",
                         [Pure, AttrSizedOperandSegments,
                          AttrSizedResultSegments]> {
  let summary = "gradients of LayerNorm";
  let description = [{
    With r = 1 / sqrt(variance + epsilon), x = (src - mean) * r and
    g = diff_dst * gamma (gamma is 1 without use_affine):
    diff_src = r * (g - mean(g) - x * mean(g * x)), the means over the
    normalised dims; diff_gamma = sum(diff_dst * x) and
    diff_beta = sum(diff_dst) over the leading dims.  beta is not read.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Graph_Value<"T2">:$mean, Graph_Value<"T2", "variance">:$variance,
      Optional<Graph_Value<"T2">>:$gamma, Optional<Graph_Value<"T2">>:$beta,
      Graph_BeginNormAxis:$begin_norm_axis, Graph_UseAffine:$use_affine,
      Graph_Epsilon:$epsilon);
  let operandCounts = [4, 5, 6];
  let resultCounts = [1, 3];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "use_affine needs gamma and 3 results"];
  let shapeRule = "layer_norm_backward";
  let reducedDims = "fromBeginNormAxis";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_GroupNormBackwardOp
    : Graph_NormBackward<"GroupNorm", "GroupNormBackward", 165,
                         "group_norm_backward",
                         [Pure, AttrSizedResultSegments]> {
  let summary = "gradients of GroupNorm";
  let description = [{
    The formulas of LayerNormBackward, with the means over the channels of one
    group and all spatial dims: diff_gamma and diff_beta are sums over the batch
    and the spatial dims. mean and variance are N, groups, as GroupNorm gives
    them. gamma is 1 if it is left out.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Graph_Value<"T2">:$mean, Graph_Value<"T2", "variance">:$variance,
      Optional<Graph_Value<"T2">>:$gamma,
      Arg<SI64Attr, "number of channel groups">:$groups,
      Graph_Epsilon:$epsilon, Graph_DataFormat:$data_format);
  let operandCounts = [4, 5];
  let resultCounts = [1, 2, 3];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "channels of src are a multiple of groups"];
  let shapeRule = "group_norm_backward";
  let reducedDims = "channelGroups";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_RMSNormBackwardOp
    : Graph_NormBackward<"RMSNorm", "RMSNormBackward", 166,
                         "rms_norm_backward", [Pure]> {
  let summary = "gradients of RMSNorm";
  let description = [{
    With r = 1 / sqrt(mean(src^2) + epsilon) and g = diff_dst * gamma (gamma is 1
    if it is left out): diff_src = r * (g - src * r^2 * mean(g * src)), the means
    over the normalised dims; diff_gamma = sum(diff_dst * src * r) over the
    leading dims.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T1">:$diff_dst,
      Optional<Graph_Value<"T2">>:$gamma,
      Graph_BeginNormAxis:$begin_norm_axis, Graph_Epsilon:$epsilon);
  let results = (outs Graph_Value<"T1">:$diff_src,
                      Optional<Graph_Value<"T2">>:$diff_gamma);
  let operandCounts = [2, 3];
  let resultCounts = [1, 2];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", Floats>];
  let constraints = ["gamma is f32 or has the element type of src"];
  let shapeRule = "rms_norm_backward";
  let reducedDims = "fromBeginNormAxis";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_SoftMaxBackwardOp
    : Graph_BackwardOp<"SoftMax", "SoftMaxBackward", 65, "softmax_backward"> {
  let summary =
      "diff_src = dst * (diff_dst - sum of diff_dst * dst along axis)";
  let description = [{
    diff_dst comes first.  axis is 1 when absent, as in SoftMax.
  }];
  let arguments = (ins Graph_Value<"T1">:$diff_dst,
      Graph_Value<"T1", "probability">:$dst,
      Arg<DefaultValuedAttr<SI64Attr, "1">, "as for SoftMax">:$axis);
  let results = (outs Graph_Value<"T2">:$diff_src);
  let operandCounts = [2];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", Floats>];
  let constraints = ["diff_src is f32 or has the element type of diff_dst"];
  let shapeRule = "softmax_backward";
  let reducedDims = "axis";
  let compiles = ["f32"];
  let opClass = "normalization";
  let transcendental = 1;
  let typeRule = "same_or_f32";
}

def Graph_LogSoftmaxBackwardOp
    : Graph_BackwardOp<"LogSoftmax", "LogSoftmaxBackward", 38,
                       "log_softmax_backward"> {
  let summary = "diff_src = diff_dst - exp(dst) * sum of diff_dst along axis";
  let description = [{
    diff_dst comes first.  axis is -1 when absent.
  }];
  let arguments = (ins Graph_Value<"T">:$diff_dst,
      Graph_Value<"T", "negative">:$dst,
      Arg<DefaultValuedAttr<SI64Attr, "-1">, "as for LogSoftmax">:$axis);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [2];
  let shapeRule = "log_softmax_backward";
  let reducedDims = "axis";
  let compiles = ["f32"];
  let opClass = "normalization";
  let transcendental = 1;
}

def Graph_LRNBackwardOp
    : Graph_BackwardOp<"LRN", "LRNBackward", 102, "lrn_backward"> {
  let summary = "diff_src = gradient of LRN with respect to src";
  let description = [{
    With w as in LRN and d the divisor of its window:
    diff_src = diff_dst * w^-beta - 2 * alpha * beta / d * src *
    (sum of src * diff_dst * w^(-beta - 1) over the window).
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$diff_dst,
      Graph_LrnAlgorithm:$algorithm, Graph_LrnSize:$size,
      Graph_LrnAlpha:$alpha, Graph_LrnBeta:$beta, Graph_LrnK:$k,
      Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$diff_src);
  let operandCounts = [2];
  let constraints = ["src has rank 2 or more"];
  let shapeRule = "lrn_backward";
  let compiles = ["f32"];
  let opClass = "window";
  let transcendental = 1;
  let squares = 1;
}

#endif // TENON_GRAPH_BACKWARD_TD
