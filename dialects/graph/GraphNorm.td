//===- GraphNorm.td - normalisation and softmax --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_NORM_TD
#define TENON_GRAPH_NORM_TD

include "dialects/graph/GraphBase.td"

class Graph_Norm<string kind, int number, string cSuffix,
                 list<Trait> traits = [Pure]>
    : Graph_Op<kind, "normalization_softmax", number, cSuffix, traits> {
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", StatTypes>];
  let opClass = "normalization";
  let transcendental = 1;
}

def Graph_BatchNormInferenceOp
    : Graph_Norm<"BatchNormInference", 7, "batch_norm_inference"> {
  let summary = "dst = gamma * (src - mean) / sqrt(variance + epsilon) + beta";
  let description = [{
    All four small tensors have one element per channel.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T2">:$gamma,
      Graph_Value<"T2">:$beta, Graph_Value<"T2">:$mean,
      Graph_Value<"T2", "variance">:$variance,
      Graph_RequiredEpsilon:$epsilon, Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [5];
  let constraints = ["the other tensors are bf16 only when src is bf16"];
  let shapeRule = "batch_norm_inference";
  let compiles = ["f32"];
  let opClass = "elementwise";
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_BatchNormForwardTrainingOp
    : Graph_Norm<"BatchNormForwardTraining", 6, "batch_norm_forward_training",
                 [Pure, AttrSizedOperandSegments]> {
  let summary = "dst = src normalised by the statistics of the batch";
  let description = [{
    mean and variance are the old running statistics; they do not influence
    dst.  The batch variance is the biased one, also in
    running = momentum * old + (1 - momentum) * batch: momentum weighs the old
    value.  BatchNormTrainingBackward reads batch_mean and batch_variance,
    which is the variance itself, not 1 / sqrt of it.  gamma and beta come both
    or not at all (then 1 and 0).  The order of operands is not that of
    BatchNormInference.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T2">:$mean,
      Graph_Value<"T2", "variance">:$variance, Optional<Graph_Value<"T2">>:$gamma,
      Optional<Graph_Value<"T2">>:$beta,
      Graph_RequiredEpsilon:$epsilon,
      Arg<OptionalAttr<F32Attr>,
          "weight of the old running statistics; absent: 0.5">:$momentum,
      Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T1">:$dst,
      Graph_Value<"T2">:$running_mean, Graph_Value<"T2">:$running_variance,
      Graph_Value<"T2">:$batch_mean, Graph_Value<"T2">:$batch_variance);
  let operandCounts = [3, 4, 5];
  let resultCounts = [5];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "src has rank 2 or more"];
  let shapeRule = "batch_norm_training";
  let reducedDims = "allButChannels";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_GroupNormOp
    : Graph_Norm<"GroupNorm", 83, "group_norm",
                 [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "dst = src normalised per sample and channel group";
  let description = [{
    Statistics cover the channels of one group and all spatial dims; the
    variance is the biased one.  gamma and beta have one element per channel,
    mean and variance the shape [N, groups].  keep_stats is true by default: a
    graph for inference sets it to false to have one result.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Optional<Graph_Value<"T2">>:$gamma, Optional<Graph_Value<"T2">>:$beta,
      Graph_KeepStats:$keep_stats,
      Arg<SI64Attr, "number of channel groups">:$groups,
      Graph_UseAffine:$use_affine, Graph_Epsilon:$epsilon,
      Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T1">:$dst,
      Optional<Graph_Value<"T2">>:$mean, Optional<Graph_Value<"T2">>:$variance);
  let operandCounts = [1, 3];
  let resultCounts = [1, 3];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "channels of src are a multiple of groups",
                     "3 results if and only if keep_stats",
                     "3 operands if use_affine"];
  let shapeRule = "group_norm";
  let reducedDims = "channelGroups";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_LayerNormOp
    : Graph_Norm<"LayerNorm", 33, "layer_norm",
                 [Pure, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "dst = gamma * (src - mean) / sqrt(variance + epsilon) + beta";
  let description = [{
    mean and variance (biased, not inverted) cover the dims from
    begin_norm_axis on; as results they have the leading dims only.  gamma and
    beta have the shape of the normalised dims.  keep_stats is true by default:
    a graph for inference sets it to false to have one result.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Optional<Graph_Value<"T2">>:$gamma, Optional<Graph_Value<"T2">>:$beta,
      Graph_KeepStats:$keep_stats, Graph_BeginNormAxis:$begin_norm_axis,
      Graph_UseAffine:$use_affine, Graph_Epsilon:$epsilon);
  let results = (outs Graph_Value<"T1">:$dst,
      Optional<Graph_Value<"T2">>:$mean, Optional<Graph_Value<"T2">>:$variance);
  let operandCounts = [1, 3];
  let resultCounts = [1, 3];
  let constraints = ["the other tensors are bf16 only when src is bf16",
                     "3 results if and only if keep_stats",
                     "3 operands if use_affine"];
  let shapeRule = "layer_norm";
  let reducedDims = "fromBeginNormAxis";
  let compiles = ["f32"];
  let vectorException =
      "three passes over a row, of which two meet the L1 cache: 40 % of the "
      "bandwidth of a copy";
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_RMSNormOp : Graph_Norm<"RMSNorm", 86, "rms_norm"> {
  let summary = "dst = gamma * src / sqrt(mean(src^2) + epsilon)";
  let description = [{
    One square root only.  The mean covers the dims from begin_norm_axis on;
    gamma has their shape.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Optional<Graph_Value<"T2">>:$gamma,
      Graph_BeginNormAxis:$begin_norm_axis, Graph_Epsilon:$epsilon);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [1, 2];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", Floats>];
  let constraints = ["gamma is f32 or has the element type of src"];
  let shapeRule = "rms_norm";
  let reducedDims = "fromBeginNormAxis";
  let compiles = ["f32"];
  let typeRule = "statistics";
  let squares = 1;
}

def Graph_SoftMaxOp : Graph_Norm<"SoftMax", 64, "softmax"> {
  let summary = "dst = exp(src - max) / sum of exp(src - max) along axis";
  let description = [{
    axis is 1 when absent, not -1 as in most frameworks and as in LogSoftmax.
    A row of nothing but -inf gives NaN in mode none and zeros in mode
    inf_as_zero; any other row is the same in both.  stats is
    max + ln(sum of exp(src - max)) in f32, for a fully masked row NaN in mode
    none and 0 in mode inf_as_zero.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Arg<DefaultValuedAttr<SI64Attr, "1">,
          "dim to normalise; negative counts from the end">:$axis,
      Arg<DefaultValuedStrAttr<Graph_OneOf<["none", "inf_as_zero"]>, "none">,
          "what a row of nothing but -inf gives: NaN or zeros">:$mode);
  let results = (outs Graph_Value<"T2">:$dst,
                      Optional<Graph_Value<"T3">>:$stats);
  let resultCounts = [1, 2];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", Floats>,
                  Graph_Var<"T3", ["f32"]>];
  let constraints = ["src and dst have the same element type, or one is f32"];
  let shapeRule = "softmax";
  let reducedDims = "axis";
  let compiles = ["f32"];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 30 operations per vector";
  let typeRule = "via_f32";
}

def Graph_LogSoftmaxOp : Graph_Norm<"LogSoftmax", 37, "log_softmax"> {
  let summary = "dst = src - max - ln(sum of exp(src - max)) along axis";
  let description = [{
    axis is -1 when absent, unlike that of SoftMax.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<DefaultValuedAttr<SI64Attr, "-1">,
          "dim to normalise; negative counts from the end">:$axis);
  let results = (outs Graph_Value<"T">:$dst);
  let typeVars = [Graph_Var<"T", Floats>];
  let shapeRule = "log_softmax";
  let reducedDims = "axis";
  let compiles = ["f32"];
}

/// Attributes of LRN, which LRNBackward repeats.
def Graph_LrnAlgorithm
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["across_channels", "within_channel"]>,
              "across_channels">,
          "the window covers neighbouring channels at one position, or "
          "neighbouring positions of one channel in all spatial dims">;
def Graph_LrnSize
    : Arg<DefaultValuedAttr<SI64Attr, "5">,
          "width n of the window, at least 1; an even n is n - 1 wide, but "
          "still divides by n">;
def Graph_LrnAlpha
    : Arg<DefaultValuedAttr<F32Attr, "0.0001">, "factor of the mean square">;
def Graph_LrnBeta : Arg<DefaultValuedAttr<F32Attr, "0.75">, "exponent">;
def Graph_LrnK
    : Arg<DefaultValuedAttr<F32Attr, "1.0">, "added to the mean square">;

def Graph_LRNOp : Graph_Op<"LRN", "normalization_softmax", 101, "lrn"> {
  let summary = "dst = src * w^-beta, w = k + alpha / n * (sum of squares near)";
  let description = [{
    Local response normalisation.  The window reaches (n - 1) / 2, rounded down,
    to either side and is cut at the ends of the tensor; the divisor stays n
    (across_channels) or n to the power of the number of spatial dims
    (within_channel) all the same.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_LrnAlgorithm:$algorithm,
      Graph_LrnSize:$size, Graph_LrnAlpha:$alpha, Graph_LrnBeta:$beta,
      Graph_LrnK:$k, Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$dst);
  let constraints = ["src has rank 2 or more"];
  let shapeRule = "lrn";
  let compiles = ["f32"];
  let opClass = "window";
  let transcendental = 1;
  let squares = 1;
  let samples = [Graph_Samples<"alpha", ["0.25", "0", "1", "1.5"]>];
}

#endif // TENON_GRAPH_NORM_TD
