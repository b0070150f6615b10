//===- GraphReduce.td - reductions along dims ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_REDUCE_TD
#define TENON_GRAPH_REDUCE_TD

include "dialects/graph/GraphBase.td"

class Graph_Reduce<string kind, int number, string cSuffix,
                   list<string> types = Floats>
    : Graph_Op<kind, "reduction", number, cSuffix> {
  let description = [{
    The dims come from the attribute axes or from the operand axes_tensor, never
    from both.  Naming no dim at all reduces nothing: dst = src.  Without
    keep_dims exactly the reduced dims vanish (a dim of size 0 that is not
    reduced stays), and reducing all of them gives a scalar.  Integers wrap around; the maximum of
    no elements is the least number of the type, the minimum the largest.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Optional<Graph_Value<"T2">>:$axes_tensor,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "dims to reduce, each once; negative counts from the end">:$axes,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "keep a reduced dim with size 1">:$keep_dims);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [1, 2];
  let typeVars = [Graph_Var<"T1", types>, Graph_Var<"T2", ["s32", "s64"]>];
  let constraints = ["axes and axes_tensor are not both given",
                     "axes are distinct and within the rank of src"];
  let shapeRule = "reduce";
  let compiles = ["f32"];
  let opClass = "reduction";
  let reducedDims = "axes";
}

def Graph_ReduceL1Op
    : Graph_Reduce<"ReduceL1", 51, "reduce_l1", Numbers> {
  let summary = "dst = sum of |src| along axes";
  let grid = "reduce_sum";
  let compiles = Numbers;
}

def Graph_ReduceL2Op : Graph_Reduce<"ReduceL2", 52, "reduce_l2"> {
  let summary = "dst = sqrt(sum of src^2 along axes)";
  let transcendental = 1;
  let squares = 1;
}

def Graph_ReduceMaxOp
    : Graph_Reduce<"ReduceMax", 53, "reduce_max", NumbersAndBoolean> {
  let summary = "dst = maximum of src along axes";
  let rounding = "exact";
  let grid = "first";
  let compiles = NumbersAndBoolean;
}

def Graph_ReduceMeanOp : Graph_Reduce<"ReduceMean", 54, "reduce_mean"> {
  let summary = "dst = mean of src along axes";
  let grid = "mean";
}

def Graph_ReduceMinOp
    : Graph_Reduce<"ReduceMin", 55, "reduce_min", NumbersAndBoolean> {
  let summary = "dst = minimum of src along axes";
  let rounding = "exact";
  let grid = "first";
  let compiles = NumbersAndBoolean;
}

def Graph_ReduceProdOp
    : Graph_Reduce<"ReduceProd", 56, "reduce_prod", Numbers> {
  let summary = "dst = product of src along axes";
  let compiles = Numbers;
}

def Graph_ReduceSumOp
    : Graph_Reduce<"ReduceSum", 57, "reduce_sum", Numbers> {
  let summary = "dst = sum of src along axes";
  let grid = "reduce_sum";
  let compiles = Numbers;
}

#endif // TENON_GRAPH_REDUCE_TD
