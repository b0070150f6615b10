//===- GraphElementwise.td - one, two and three operands, same shape -----===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_ELEMENTWISE_TD
#define TENON_GRAPH_ELEMENTWISE_TD

include "dialects/graph/GraphBase.td"

class Graph_Unary<string kind, int number, string cSuffix>
    : Graph_Op<kind, "elementwise_unary", number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src);
  let results = (outs Graph_Value<"T">:$dst);
  let compiles = ["f32"];
  let opClass = "elementwise";
}

def Graph_AbsOp : Graph_Unary<"Abs", 0, "abs"> {
  let summary = "dst = |src|";
  let rounding = "exact";
  let cheap = 1;
  let grid = "first";
}

def Graph_ClampOp : Graph_Unary<"Clamp", 10, "clamp"> {
  let summary = "dst = min(max(src, min), max)";
  let description = [{
    min above max is an error, found as soon as the operation is added.
    A NaN element stays NaN.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<F32Attr, "lower bound">:$min,
                       Arg<F32Attr, "upper bound">:$max);
  let constraints = ["min is at most max"];
  let rounding = "exact";
  let cheap = 1;
  let grid = "clamp";
  let attrRules = ["min_at_most_max"];
}

def Graph_EluOp : Graph_Unary<"Elu", 23, "elu"> {
  let summary = "dst = src > 0 ? src : alpha * (exp(src) - 1)";
  let description = [{
    A negative alpha is accepted here, but EluBackward with use_dst cannot then
    tell the branches apart.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<F32Attr, "scale of the negative branch">:$alpha);
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 21 operations per vector";
  let transcendental = 1;
}

def Graph_ErfOp : Graph_Unary<"Erf", 121, "erf"> {
  let summary = "dst = erf(src)";
  let description = [{
    The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to
    src.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 70 operations per vector";
  let rounding = "once";
  let transcendental = 1;
}

def Graph_ExpOp : Graph_Unary<"Exp", 26, "exp"> {
  let summary = "dst = exp(src)";
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 22 operations per vector";
  let rounding = "once";
  let transcendental = 1;
}

def Graph_FloorOp : Graph_Unary<"Floor", 120, "floor"> {
  let summary = "dst = largest integer that is at most src";
  let rounding = "exact";
  let cheap = 1;
  let grid = "floor";
}

def Graph_GELUOp : Graph_Unary<"GELU", 27, "gelu"> {
  let summary = "dst = src * Phi(src)";
  let description = [{
    Phi is the normal distribution function, (1 + erf(src / sqrt(2))) / 2, in
    mode gelu_erf.  Mode gelu_tanh approximates it by
    (1 + tanh(sqrt(2 / pi) * (src + 0.044715 * src^3))) / 2.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
                       Graph_GeluMode:$mode);
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 41 operations per vector";
  let transcendental = 1;
}

def Graph_HardSigmoidOp : Graph_Unary<"HardSigmoid", 79, "hard_sigmoid"> {
  let summary = "dst = max(0, min(1, alpha * src + beta))";
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<F32Attr, "slope">:$alpha,
                       Arg<F32Attr, "offset">:$beta);
  let samples = [Graph_Samples<"beta", ["0.5", "0", "-0.25"]>];
}

def Graph_HardSwishOp : Graph_Unary<"HardSwish", 29, "hard_swish"> {
  let summary = "dst = src * min(max(src + 3, 0), 6) / 6";
}

def Graph_LeakyReLUOp : Graph_Unary<"LeakyReLU", 35, "leaky_relu"> {
  let summary = "dst = src >= 0 ? src : alpha * src";
  let description = [{
    The operation set has no backward operation for it.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<F32Attr, "slope of the negative branch">:$alpha);
  let rounding = "once";
  let cheap = 1;
  let grid = "leaky_relu";
}

def Graph_LogOp : Graph_Unary<"Log", 36, "log"> {
  let summary = "dst = ln(src)";
  let description = [{
    0 gives -inf, a negative number NaN.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 33 operations per vector";
  let rounding = "once";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "positive">:$src);
}

def Graph_MishOp : Graph_Unary<"Mish", 44, "mish"> {
  let summary = "dst = src * tanh(ln(1 + exp(src)))";
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 99 operations per vector, "
      "most of them in one dependent chain";
  let transcendental = 1;
}

def Graph_PowOp : Graph_Unary<"Pow", 82, "pow"> {
  let summary = "dst = src ^ beta";
  let arguments = (ins Graph_Value<"T", "positive">:$src,
                       Arg<F32Attr,
                           "exponent, the same for all elements">:$beta);
  let rounding = "once";
  let transcendental = 1;
  let samples = [Graph_Samples<"beta", ["0", "1", "2", "3", "0.5", "-1", "-0.5"]>];
}

def Graph_ReLUOp : Graph_Unary<"ReLU", 58, "relu"> {
  let summary = "dst = max(src, 0)";
  let rounding = "exact";
  let cheap = 1;
  let grid = "first";
}

def Graph_ReciprocalOp : Graph_Unary<"Reciprocal", 50, "reciprocal"> {
  let summary = "dst = 1 / src";
  let description = [{
    0 gives an infinity of the same sign.
  }];
  let rounding = "once";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "divisor">:$src);
}

def Graph_RoundOp : Graph_Unary<"Round", 61, "round"> {
  let summary = "dst = nearest integer of src";
  let description = [{
    Ties go to the even neighbour.
  }];
  let rounding = "exact";
  let cheap = 1;
  let grid = "integer";
}

def Graph_SigmoidOp : Graph_Unary<"Sigmoid", 62, "sigmoid"> {
  let summary = "dst = 1 / (1 + exp(-src))";
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 25 operations per vector";
  let rounding = "once";
  let transcendental = 1;
}

def Graph_SinOp : Graph_Unary<"Sin", 122, "sin"> {
  let summary = "dst = sin(src)";
  let description = [{
    src is in radians, and may be any number: pi is taken with as many digits as
    the largest one needs. An infinity gives NaN.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 60 operations per vector, "
      "most of them on f64";
  let rounding = "once";
  let transcendental = 1;
}

def Graph_SoftPlusOp : Graph_Unary<"SoftPlus", 66, "softplus"> {
  let summary = "dst = ln(1 + exp(beta * src)) / beta";
  let description = [{
    Large beta * src must not overflow: the result is then src itself.  A
    negative beta is allowed: -1 gives ln(sigmoid(src)).
  }];
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<DefaultValuedAttr<F32Attr, "1.0">,
                           "sharpness, not 0">:$beta);
  let constraints = ["beta is not 0"];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 76 operations per vector";
  let transcendental = 1;
  let attrRules = ["beta_is_not_0"];
  let samples = [Graph_Samples<"beta", ["1", "2", "0.5", "-1"]>];
}

def Graph_SqrtOp : Graph_Unary<"Sqrt", 68, "sqrt"> {
  let summary = "dst = sqrt(src)";
  let description = [{
    A negative number gives NaN.
  }];
  let rounding = "once";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T", "positive">:$src);
}

def Graph_SquareOp : Graph_Unary<"Square", 70, "square"> {
  let summary = "dst = src * src";
  let rounding = "once";
  let cheap = 1;
  let grid = "square";
}

def Graph_TanhOp : Graph_Unary<"Tanh", 75, "tanh"> {
  let summary = "dst = tanh(src)";
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 22 operations per vector";
  let rounding = "once";
  let transcendental = 1;
}

//===----------------------------------------------------------------------===//
// Two and three operands
//===----------------------------------------------------------------------===//

class Graph_Elementwise<string kind, int number, string cSuffix>
    : Graph_Op<kind, "elementwise_binary_ternary", number, cSuffix> {
  let operandCounts = [2];
  let compiles = ["f32"];
  let opClass = "elementwise";
}

/// All three types may differ: f32 with bf16 gives f32, for instance.
class Graph_MixedBinary<string kind, int number, string cSuffix,
                        list<string> types = Floats>
    : Graph_Elementwise<kind, number, cSuffix> {
  let arguments = (ins Graph_Value<"T1">:$src_0, Graph_Value<"T2">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T3">:$dst);
  let typeVars = [Graph_Var<"T1", types>, Graph_Var<"T2", types>,
                  Graph_Var<"T3", types>];
  let shapeRule = "broadcast";
  let description = [{
    The three element types are bound independently.  The computation is exact
    in the wider of them and rounded once, to the type of dst.
  }];
}

class Graph_SameBinary<string kind, int number, string cSuffix>
    : Graph_Elementwise<kind, number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src_0, Graph_Value<"T">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T">:$dst);
  let shapeRule = "broadcast";
}

def Graph_AddOp : Graph_MixedBinary<"Add", 2, "add", FloatsAndS32> {
  let summary = "dst = src_0 + src_1";
  let compiles = ["f32", "s32"];
  let commutative = 1;
  let rounding = "once";
  let cheap = 1;
  let grid = "sum";
}

def Graph_DivideOp : Graph_MixedBinary<"Divide", 20, "divide"> {
  let summary = "dst = src_0 / src_1";
  let rounding = "once";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T1">:$src_0,
                       Graph_Value<"T2", "divisor">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
}

def Graph_MultiplyOp
    : Graph_MixedBinary<"Multiply", 46, "multiply", FloatsAndS32> {
  let summary = "dst = src_0 * src_1";
  let compiles = ["f32", "s32"];
  let commutative = 1;
  let rounding = "once";
  let cheap = 1;
  let grid = "product";
}

def Graph_SubtractOp
    : Graph_MixedBinary<"Subtract", 74, "subtract", FloatsAndS32> {
  let summary = "dst = src_0 - src_1";
  let compiles = ["f32", "s32"];
  let rounding = "once";
  let cheap = 1;
  let grid = "sum";
}

def Graph_MaximumOp : Graph_SameBinary<"Maximum", 40, "maximum"> {
  let summary = "dst = max(src_0, src_1)";
  let commutative = 1;
  let rounding = "exact";
  let cheap = 1;
  let grid = "union";
}

def Graph_MinimumOp : Graph_SameBinary<"Minimum", 43, "minimum"> {
  let summary = "dst = min(src_0, src_1)";
  let commutative = 1;
  let rounding = "exact";
  let cheap = 1;
  let grid = "union";
}

def Graph_SquaredDifferenceOp
    : Graph_SameBinary<"SquaredDifference", 71, "squared_difference"> {
  let summary = "dst = (src_0 - src_1)^2";
  let commutative = 1;
  let rounding = "once";
  let grid = "squared_difference";
}

def Graph_GreaterEqualOp
    : Graph_Elementwise<"GreaterEqual", 85, "greater_equal"> {
  let summary = "dst = src_0 >= src_1";
  let description = [{
    The result is boolean: one byte, 0 or 1.  A NaN on either side gives 0.
  }];
  let arguments = (ins Graph_Value<"T1">:$src_0, Graph_Value<"T1">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", FloatsAndS32>, Graph_Var<"T2", ["boolean"]>];
  let shapeRule = "broadcast";
  let compiles = ["f32", "s32", "boolean"];
  let rounding = "exact";
  let grid = "boolean";
}

def Graph_BiasAddOp : Graph_Elementwise<"BiasAdd", 8, "bias_add"> {
  let summary = "dst = src + bias[channel]";
  let description = [{
    src has at least two dims; for two of them both data formats mean (N, C).
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$bias,
                       Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$dst);
  let constraints = ["src has rank 2 or more",
                     "bias has rank 1 and one element per channel"];
  let shapeRule = "bias_add";
  let rounding = "once";
  let grid = "sum";
}

def Graph_PReLUOp : Graph_Elementwise<"PReLU", 47, "prelu"> {
  let summary = "dst = src >= 0 ? src : slope * src";
  let description = [{
    slope is broadcast to src, never the other way.  Of rank 1 it follows
    per_channel_broadcast; of a higher rank its dims are paired with those of
    src from the right and equal them or 1, whatever the attributes say.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$slope,
      Graph_DataFormat:$data_format,
      Arg<DefaultValuedAttr<BoolAttr, "true">,
          "meaning of a slope of rank 1 when src has more dims: one value per "
          "channel (true), or per index of the last dim, or a single value "
          "(false)">:$per_channel_broadcast);
  let results = (outs Graph_Value<"T">:$dst);
  let constraints = ["slope broadcasts one-way to src"];
  let shapeRule = "prelu";
  let rounding = "once";
  let grid = "prelu";
}

def Graph_SelectOp : Graph_Elementwise<"Select", 81, "select"> {
  let summary = "dst = cond ? src_0 : src_1";
  let description = [{
    Any byte but 0 in cond counts as true.  src_0 and src_1 decide the shape;
    cond is broadcast to it and cannot enlarge it.
  }];
  let arguments = (ins Graph_Value<"T1">:$cond, Graph_Value<"T2">:$src_0,
                       Graph_Value<"T2">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T2">:$dst);
  let operandCounts = [3];
  let typeVars = [Graph_Var<"T1", ["boolean"]>, Graph_Var<"T2", Floats>];
  let constraints = ["cond broadcasts one-way to dst"];
  let shapeRule = "select";
  let compiles = ["f32", "boolean"];
  let rounding = "copies";
  let cheap = 1;
  let grid = "select";
}

#endif // TENON_GRAPH_ELEMENTWISE_TD
