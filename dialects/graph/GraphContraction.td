//===- GraphContraction.td - matrix products and convolutions ------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_CONTRACTION_TD
#define TENON_GRAPH_CONTRACTION_TD

include "dialects/graph/GraphBase.td"

defvar Factors = !listconcat(Floats, ["s32", "s8", "u8"]);
defvar ProductTypes = [Graph_Var<"T", Factors>, Graph_Var<"T1", FloatsAndS32>,
                       Graph_Var<"T2", Factors>, Graph_Var<"T3", FloatsAndS32>];
defvar ProductTypesThatCompile = ["f32", "s32", "s8", "u8"];

def Graph_MatMulOp : Graph_Op<"MatMul", "contraction", 39, "matmul"> {
  let summary = "dst = src x weights + bias";
  let description = [{
    Leading dims are broadcast like those of Add.  A src of rank 1 acts as
    [1, K], weights of rank 1 as [K, 1]; the added dim is dropped from dst, so
    that two vectors give a scalar.  transpose_a and transpose_b do not change
    a tensor of rank below 2.

    bias is broadcast one-way to dst from the right; every shape that fits is
    accepted, whatever the ranks of src and weights.  f8 products are written as
    Dequantize or DynamicDequantize in front of a MatMul.

    Integers may be of different types; bias and dst are s32 then, and hold the
    low 32 bits of the exact sum.  Zero points are taken off before: MatMul of
    Subtract(TypeCast(src), zero_point), in s32, is a product of the bytes.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T2">:$weights,
      Optional<Graph_Value<"T3">>:$bias,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "swap the last two dims of src">:$transpose_a,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "swap the last two dims of weights">:$transpose_b,
      Arg<DefaultValuedStrAttr<
              Graph_OneOf<["strict", "relaxed", "any", "f32", "s32", "f16"]>,
              "strict">,
          "type of the running sum: strict is f32 or s32, relaxed may round to "
          "the type of src or dst, any is whatever is fastest">
          :$accumulation_mode);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [2, 3];
  let typeVars = ProductTypes;
  let constraints = ["floats: weights and bias have the element type of src, dst "
                     "too, or f32",
                     "integers: bias and dst are s32"];
  let shapeRule = "matmul";
  let compiles = ProductTypesThatCompile;
  let opClass = "contraction";
  let grid = "contraction";
  let typeRule = "product";
}

def Graph_ConvolutionOp
    : Graph_Op<"Convolution", "contraction", 13, "convolution"> {
  let summary = "dst = cross-correlation of src and weights, plus bias";
  let description = [{
    The size of a spatial dim is
    (in + pads_begin + pads_end - dilated) / stride + 1, rounded down, with
    dilated = dilation * (kernel - 1) + 1.  A padded src smaller than the
    dilated kernel is an error, not a size of 1 that a division rounding
    towards zero would give.  bias has one element per channel of dst.  Empty
    pads mean zeros.  Integers are multiplied as MatMul does.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T2">:$weights,
      Optional<Graph_Value<"T3">>:$bias,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_ConvWeights:$weights_format);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [2, 3];
  let typeVars = ProductTypes;
  let constraints = ["floats: weights, bias and dst have the element type of src",
                     "integers: bias and dst are s32",
                     "pads are at least 0",
                     "channels of src are groups * I of weights",
                     "O of weights is a multiple of groups"];
  let shapeRule = "conv";
  let compiles = ProductTypesThatCompile;
  let opClass = "contraction";
  let grid = "contraction";
  let typeRule = "product_of_type";
}

def Graph_ConvTransposeOp
    : Graph_Op<"ConvTranspose", "contraction", 16, "conv_transpose"> {
  let summary = "dst = transposed convolution of src with weights, plus bias";
  let description = [{
    The gradient of Convolution with respect to its src, as a forward
    operation.  A spatial dim has the size
    stride * (in - 1) + dilation * (kernel - 1) + 1 - pads_begin - pads_end +
    output_padding.  Positions that output_padding adds receive what the
    scatter reaches, otherwise only the bias.  With auto_pad SAME the pads sum
    up to max(dilated - stride, 0), so that dst has in * stride elements.

    weights_format is XOI or IOX: I is the full number of channels of src, and
    dst has groups * O channels.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$weights,
      Optional<Graph_Value<"T">>:$bias,
      Graph_OutputPadding:$output_padding,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PadsEnd:$pads_end, Graph_Dilations:$dilations,
      Graph_AutoPad:$auto_pad, Graph_Groups:$groups,
      Graph_DataFormat:$data_format, Graph_DeconvWeights:$weights_format);
  let results = (outs Graph_Value<"T">:$dst);
  let operandCounts = [2, 3];
  let constraints = ["pads are at least 0",
                     "channels of src equal I of weights",
                     "I of weights is a multiple of groups"];
  let shapeRule = "conv_transpose";
  let compiles = ["f32"];
  let opClass = "contraction";
  let grid = "contraction";
}

#endif // TENON_GRAPH_CONTRACTION_TD
