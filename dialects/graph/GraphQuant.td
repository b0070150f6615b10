//===- GraphQuant.td - quantisation --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_QUANT_TD
#define TENON_GRAPH_QUANT_TD

include "dialects/graph/GraphBase.td"

class Graph_Quantization<string kind, int number, string cSuffix>
    : Graph_Op<kind, "quantization", number, cSuffix> {
  let opClass = "quantization";
}

defvar QuantizeConstraints = [
  "per_tensor has exactly one scale",
  "per_channel has one for each index of axis, or groups times as many",
  "zps, when given, has as many entries as scales",
  "zps is not given when src or dst is f8"
];

defvar Quantized = ["u8", "s8", "f8_e5m2", "f8_e4m3", "s4", "u4"];
defvar QuantizedThatCompile = !listconcat(["f32"], Quantized);
defvar ZeroPoints = ["u4", "s4", "u8", "s8", "s32"];
defvar DynamicConstraints = [
  "per_tensor has exactly one scale",
  "zps has one element or as many as scales",
  "zps is not given when src or dst is f8",
  "per_group: zps and scales have the same shape, and "
  "group_shape one entry per dim of src"
];
def Graph_QuantTypeOrGroup
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["per_tensor", "per_channel", "per_group"]>,
              "per_tensor">,
          "what one scale is shared by">;
def Graph_QuantGroup
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "neighbouring indices per dim of src that share a scale; needed by "
          "per_group, absent otherwise">;

def Graph_QuantizeOp : Graph_Quantization<"Quantize", 49, "quantize"> {
  let summary = "dst = saturate(round(src / scale + zp))";
  let description = [{
    Integers round to nearest even after zp was added and saturate; NaN gives
    0.  f8 takes no zero points and does not saturate: an f8_e4m3 beyond 464
    becomes NaN, an f8_e5m2 from 61440 on infinity.
  }];
  let arguments = (ins Graph_Value<"T1", "quantized">:$src, Graph_QuantType:$qtype,
      Graph_QuantAxis:$axis, Graph_QuantScales:$scales, Graph_QuantZps:$zps);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", ["f32"]>,
                  Graph_Var<"T2", Quantized>];
  let constraints = !listconcat(QuantizeConstraints, ["no scale is 0"]);
  let compiles = QuantizedThatCompile;
  let typeRule = "zps_of_integers";
  let shapeRule = "quantize";
  let grid = "quantize";
  let rounding = "quantizes";
}

def Graph_DequantizeOp : Graph_Quantization<"Dequantize", 19, "dequantize"> {
  let summary = "dst = (src - zp) * scale";
  let description = [{
    Nothing is rounded but the product, to f32.  Weights of a convolution in
    groups may have a scale for each channel of each group: along the dim of
    channels per group (O of ConvTranspose) groups times as many as that is
    large, those of the first group first.  Only such convolutions may read the
    result then, if need be through casts.
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_QuantType:$qtype,
      Graph_QuantAxis:$axis, Graph_QuantScales:$scales, Graph_QuantZps:$zps);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", Quantized>, Graph_Var<"T2", ["f32"]>];
  let constraints = QuantizeConstraints;
  let compiles = QuantizedThatCompile;
  let typeRule = "zps_of_integers";
  let shapeRule = "quantize";
  let grid = "dequantize";
  let rounding = "once";
}

def Graph_DynamicQuantizeOp
    : Graph_Quantization<"DynamicQuantize", 22, "dynamic_quantize"> {
  let summary = "dst = saturate(round(src / scale + zp))";
  let description = [{
    Quantize with scales and zero points computed at run time, both of rank 1
    (or scalars) but for per_group, whose scales are those of DynamicDequantize.
    Integers round to nearest even after zp was added and saturate; NaN gives
    0, as does 0 / 0.  f8 saturates if attribute saturate says so: what is
    beyond the largest number, and infinity, becomes that number, NaN stays NaN.

    Scales of f8_e8m0 are powers of two.  With group_shape [1, 32] and f8 these
    are the MX formats of the Open Compute Project.
  }];
  let arguments = (ins Graph_Value<"T1", "quantized">:$src,
      Graph_Value<"T4", "scale">:$scales,
      Optional<Graph_Value<"T2", "zeroPoint">>:$zps,
      Graph_QuantTypeOrGroup:$qtype, Graph_QuantAxis:$axis,
      Graph_QuantGroup:$group_shape,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "whether f8 saturates; integers do">:$saturate);
  let results = (outs Graph_Value<"T3">:$dst);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T1", ["f32"]>, Graph_Var<"T2", ZeroPoints>,
                  Graph_Var<"T3", Quantized>,
                  Graph_Var<"T4", ["f32", "f8_e8m0"]>];
  let constraints = DynamicConstraints;
  let compiles = !listconcat(QuantizedThatCompile, ["s32", "f8_e8m0"]);
  let typeRule = "dynamic_scales";
  let shapeRule = "dynamic_quantize";
  let rounding = "quantizes";
}

def Graph_DynamicDequantizeOp
    : Graph_Quantization<"DynamicDequantize", 21, "dynamic_dequantize"> {
  let summary = "dst = (src - zp) * scale";
  let description = [{
    Dequantize with scales and zero points computed at run time.  per_group
    shares a scale between group_shape[i] neighbouring indices of each dim i of
    src; scales and zps then have dim i of src / group_shape[i].
  }];
  let arguments = (ins Graph_Value<"T1">:$src, Graph_Value<"T4", "scale">:$scales,
      Optional<Graph_Value<"T3", "zeroPoint">>:$zps,
      Graph_QuantTypeOrGroup:$qtype, Graph_QuantAxis:$axis,
      Graph_QuantGroup:$group_shape);
  let results = (outs Graph_Value<"T2">:$dst);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T1", Quantized>, Graph_Var<"T2", Floats>,
                  Graph_Var<"T3", ZeroPoints>,
                  Graph_Var<"T4", !listconcat(Floats, ["f8_e8m0"])>];
  let constraints = !listconcat(DynamicConstraints, [
      "scales have the element type of dst, or f8_e8m0"]);
  let compiles = !listconcat(QuantizedThatCompile, ["s32", "f8_e8m0"]);
  let typeRule = "dynamic_scales";
  let shapeRule = "dynamic_quantize";
  let rounding = "once";
}

#endif // TENON_GRAPH_QUANT_TD
