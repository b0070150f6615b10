//===- GraphStructural.td - markers, random numbers ----------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_STRUCTURAL_TD
#define TENON_GRAPH_STRUCTURAL_TD

include "dialects/graph/GraphBase.td"

def Graph_EndOp : Graph_Op<"End", "structural", 25, "end", []> {
  let summary = "marks src as observed";
  let description = [{
    Has no result and computes nothing: src, when an operation of the graph
    writes it, becomes a result of the graph even when others read it too.
  }];
  let arguments = (ins Graph_Value<"T">:$src);
  let resultCounts = [0];
  let typeVars = [Graph_Var<"T", ["f32", "f16", "bf16", "s8", "u8", "s32",
                                  "undef"]>];
  let shapeRule = "none";
  let compiles = ["f32", "f16", "bf16", "s8", "u8", "s32"];
  let vectorException = "marks a tensor: nothing to compute";
  let opClass = "structural";
  let rounding = "exact";
}

def Graph_WildcardOp : Graph_Op<"Wildcard", "structural", 78, "wildcard", []> {
  let summary = "stands for an operation of a framework that is not known here";
  let description = [{
    Any number of operands and results of any element type.  Keeps the graph
    connected; it is neither evaluated nor compiled, and shapes of its results
    are not inferred.
  }];
  let arguments = (ins Variadic<Graph_Value<"">>:$src);
  let results = (outs Variadic<Graph_Value<"">>:$dst);
  let operandCounts = [];
  let resultCounts = [];
  let typeVars = [];
  let shapeRule = "none";
  let opClass = "structural";
  let shapeRule = "wildcard";
}

def Graph_DropoutOp : Graph_Op<"Dropout", "random", 87, "dropout"> {
  let summary = "dst = mask * src / (1 - probability)";
  let description = [{
    Deterministic: element i (row-major) is kept when its 32-bit random number
    exceeds probability * (2^32 - 1), computed in double with probability
    clamped to [0, 1].  A probability of 1 gives zeros.

    The random numbers are Philox4x32-10.  Element i takes lane i mod 4 of the
    block with j = i - i mod 4, counter (offset low, offset high, j low,
    j high) and key (seed low, seed high).  offset 0 selects an older rule:
    counter (j, j + 1, j, j + 3), key (seed, seed) as 32-bit words, and lane 2
    for all four elements, which are thus kept or dropped together.

    seed and offset are s64.  The optional second result is the mask, one byte
    per element.  The gradient is another Dropout of diff_dst with the same seed
    and offset.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"Tseed">:$seed,
                       Graph_Value<"Toffset">:$offset,
                       Graph_Value<"Tp", "half">:$probability);
  let results = (outs Graph_Value<"T">:$dst,
                      Optional<Graph_Value<"Tmask">>:$mask);
  let operandCounts = [4];
  let resultCounts = [1, 2];
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"Tseed", ["s64"]>,
                  Graph_Var<"Toffset", ["s64"]>, Graph_Var<"Tp", ["f32"]>,
                  Graph_Var<"Tmask", ["u8"]>];
  let constraints = ["seed, offset and probability have one element each"];
  let shapeRule = "dropout";
  let compiles = ["f32", "s64", "u8"];
  let vectorException = "bounded by arithmetic, not bandwidth: ten rounds of "
                        "two 32x32-bit products per element";
  let opClass = "indexed";
  let rounding = "once";
}

def Graph_RandomUniformOp
    : Graph_Op<"RandomUniform", "random", 164, "random_uniform"> {
  let summary = "dst = random numbers from 0 to 1, without 1";
  let description = [{
    Element i (row-major) is r / 2^24 for the upper 24 bits r of the 32-bit random
    number of element i of Dropout, by the rule for an offset that is not 0. The
    numbers depend on seed, offset and i alone. The shape is an attribute or the
    operand shape_tensor.
  }];
  let arguments = (ins Graph_Value<"Tseed">:$seed,
      Graph_Value<"Toffset">:$offset, Optional<Graph_Shape<"I">>:$shape_tensor,
      Arg<OptionalAttr<DenseI64ArrayAttr>, "dims of dst">:$shape);
  let results = (outs Graph_Value<"T">:$dst);
  let operandCounts = [2, 3];
  let typeVars = [Graph_Var<"T", ["f32"]>, Graph_Var<"Tseed", ["s64"]>,
                  Graph_Var<"Toffset", ["s64"]>,
                  Graph_Var<"I", ["s64", "s32"]>];
  let constraints = ["seed and offset have one element each",
                     "shape is an attribute or an operand"];
  let shapeRule = "random_uniform";
  let compiles = ["f32", "s64"];
  let vectorException = "reads nothing: numbers are computed and stored";
  let opClass = "indexed";
  let rounding = "exact";
}

#endif // TENON_GRAPH_STRUCTURAL_TD
