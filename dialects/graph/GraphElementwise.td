//===- GraphElementwise.td - one, two and three operands, same shape -----===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_ELEMENTWISE_TD
#define TENON_GRAPH_ELEMENTWISE_TD

include "dialects/graph/GraphBase.td"

/// Booleans, and integers bit by bit.
defvar BitTypes = !listconcat(Integers, ["boolean"]);

class Graph_Unary<string kind, int number, string cSuffix>
    : Graph_Op<kind, "elementwise_unary", number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src);
  let results = (outs Graph_Value<"T">:$dst);
  let compiles = ["f32"];
  let opClass = "elementwise";
}

def Graph_AbsOp : Graph_Unary<"Abs", 0, "abs"> {
  let summary = "dst = |src|";
  let description = [{
    Of an integer without a positive counterpart it is that integer.
  }];
  let typeVars = [Graph_Var<"T", Numbers>];
  let rounding = "exact";
  let cheap = 1;
  let grid = "first";
  let compiles = !listconcat(["f32"], Integers);
}

def Graph_ClampOp : Graph_Unary<"Clamp", 10, "clamp"> {
  let summary = "dst = min(max(src, min), max)";
  let description = [{
    min above max is an error, found as soon as the operation is added.
    A NaN element stays NaN.  For integers a bound is the nearest integer between
    both bounds, saturated to the type.
  }];
  let typeVars = [Graph_Var<"T", Numbers>];
  let arguments = (ins Graph_Value<"T">:$src,
                       Arg<F32Attr, "lower bound">:$min,
                       Arg<F32Attr, "upper bound">:$max);
  let constraints = ["min is at most max"];
  let rounding = "exact";
  let cheap = 1;
  let grid = "clamp";
  let attrRules = ["min_at_most_max"];
  let compiles = !listconcat(["f32"], Integers);
}

def Graph_CosOp : Graph_Unary<"Cos", 139, "cos"> {
  let summary = "dst = cos(src)";
  let description = [{
    What is said of Sin holds here too.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 60 operations per vector, "
      "most of them on f64";
  let rounding = "once";
  let transcendental = 1;
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

def Graph_Expm1Op : Graph_Unary<"Expm1", 138, "expm1"> {
  let summary = "dst = exp(src) - 1";
  let description = [{
    Exact up to its rounding near 0 as well.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 25 operations per vector";
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

def Graph_Log1pOp : Graph_Unary<"Log1p", 137, "log1p"> {
  let summary = "dst = ln(1 + src)";
  let description = [{
    Exact up to its rounding near 0 as well. -1 gives -inf, a smaller number NaN.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 40 operations per vector";
  let arguments = (ins Graph_Value<"T", "positive">:$src);
  let rounding = "once";
  let transcendental = 1;
}

def Graph_MishOp : Graph_Unary<"Mish", 44, "mish"> {
  let summary = "dst = src * tanh(ln(1 + exp(src)))";
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 99 operations per vector, "
      "most of them in one dependent chain";
  let transcendental = 1;
}

def Graph_NotOp : Graph_Unary<"Not", 146, "not"> {
  let summary = "dst = not src";
  let description = [{
    Of a boolean 1 for 0 and 0 for any other byte; of an integer each bit.
  }];
  let typeVars = [Graph_Var<"T", BitTypes>];
  let rounding = "exact";
  let cheap = 1;
  let compiles = BitTypes;
  let grid = "boolean";
}

def Graph_PowOp : Graph_Unary<"Pow", 82, "pow"> {
  let summary = "dst = src ^ exponent";
  let description = [{
    The exponent is attribute beta, or each element of the operand, as numpy
    broadcasts it.  Special cases are those of IEEE 754: exponent 0 gives 1, also
    of NaN; a negative number to a power that is no integer gives NaN, to an odd
    one a negative number, to an even one a positive; 0 to a negative power is
    infinite.
  }];
  let arguments = (ins Graph_Value<"T", "positive">:$src,
                       Optional<Graph_Value<"T">>:$exponent,
                       Arg<OptionalAttr<F32Attr>,
                           "exponent, the same for all elements; absent: the "
                           "operand is given">:$beta,
                       Graph_AutoBroadcast:$auto_broadcast);
  let operandCounts = [1, 2];
  let constraints = ["exactly one of beta and the operand exponent is given"];
  let shapeRule = "pow";
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

/// Of floats all three types may differ: f32 with bf16 gives f32, for instance.
class Graph_MixedBinary<string kind, int number, string cSuffix,
                        list<string> types = Floats>
    : Graph_Elementwise<kind, number, cSuffix> {
  let arguments = (ins Graph_Value<"T1">:$src_0, Graph_Value<"T2">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T3">:$dst);
  let typeVars = [Graph_Var<"T1", types>, Graph_Var<"T2", types>,
                  Graph_Var<"T3", types>];
  let shapeRule = "broadcast";
  let typeRule = "mixed";
  let constraints = ["types differ among floats and s32 only"];
  let description = [{
    Floats and s32 may be mixed, three types as they like: the computation is
    exact in the wider of them and rounded once, to the type of dst.  Integers of
    one type wrap around.  An integer quotient is rounded towards 0, and is 0 for
    a divisor of 0.  A sum of booleans is 1 if one of them is, a product if both
    are.
  }];
}

class Graph_SameBinary<string kind, int number, string cSuffix>
    : Graph_Elementwise<kind, number, cSuffix> {
  let arguments = (ins Graph_Value<"T">:$src_0, Graph_Value<"T">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T">:$dst);
  let shapeRule = "broadcast";
}

def Graph_AddOp : Graph_MixedBinary<"Add", 2, "add", NumbersAndBoolean> {
  let summary = "dst = src_0 + src_1";
  let commutative = 1;
  let rounding = "once";
  let cheap = 1;
  let grid = "sum";
  let compiles = !listconcat(["f32"], BitTypes);
}

def Graph_DivideOp : Graph_MixedBinary<"Divide", 20, "divide", Numbers> {
  let summary = "dst = src_0 / src_1";
  let rounding = "once";
  let transcendental = 1;
  let arguments = (ins Graph_Value<"T1">:$src_0,
                       Graph_Value<"T2", "divisor">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let compiles = !listconcat(["f32"], Integers);
}

def Graph_MultiplyOp
    : Graph_MixedBinary<"Multiply", 46, "multiply", NumbersAndBoolean> {
  let summary = "dst = src_0 * src_1";
  let commutative = 1;
  let rounding = "once";
  let cheap = 1;
  let grid = "product";
  let compiles = !listconcat(["f32"], BitTypes);
}

def Graph_SubtractOp
    : Graph_MixedBinary<"Subtract", 74, "subtract", Numbers> {
  let summary = "dst = src_0 - src_1";
  let rounding = "once";
  let cheap = 1;
  let grid = "sum";
  let compiles = !listconcat(["f32"], Integers);
}

def Graph_MaximumOp : Graph_SameBinary<"Maximum", 40, "maximum"> {
  let summary = "dst = max(src_0, src_1)";
  let typeVars = [Graph_Var<"T", NumbersAndBoolean>];
  let commutative = 1;
  let rounding = "exact";
  let cheap = 1;
  let grid = "union";
  let compiles = !listconcat(["f32"], BitTypes);
}

def Graph_MinimumOp : Graph_SameBinary<"Minimum", 43, "minimum"> {
  let summary = "dst = min(src_0, src_1)";
  let typeVars = [Graph_Var<"T", NumbersAndBoolean>];
  let commutative = 1;
  let rounding = "exact";
  let cheap = 1;
  let grid = "union";
  let compiles = !listconcat(["f32"], BitTypes);
}

def Graph_SquaredDifferenceOp
    : Graph_SameBinary<"SquaredDifference", 71, "squared_difference"> {
  let summary = "dst = (src_0 - src_1)^2";
  let commutative = 1;
  let rounding = "once";
  let grid = "squared_difference";
}

class Graph_Comparison<string kind, int number, string cSuffix>
    : Graph_Elementwise<kind, number, cSuffix> {
  let description = [{
    The result is boolean: one byte, 0 or 1.  A NaN on either side gives 0. Of
    operands that are boolean any byte but 0 is 1.
  }];
  let arguments = (ins Graph_Value<"T1">:$src_0, Graph_Value<"T1">:$src_1,
                       Graph_AutoBroadcast:$auto_broadcast);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", NumbersAndBoolean>,
                  Graph_Var<"T2", ["boolean"]>];
  let shapeRule = "broadcast";
  let compiles = !listconcat(["f32"], BitTypes);
  let rounding = "exact";
  let grid = "boolean";
}

def Graph_EqualOp : Graph_Comparison<"Equal", 142, "equal"> {
  let summary = "dst = src_0 == src_1";
  let commutative = 1;
}

def Graph_GreaterOp : Graph_Comparison<"Greater", 143, "greater"> {
  let summary = "dst = src_0 > src_1";
}

def Graph_GreaterEqualOp
    : Graph_Comparison<"GreaterEqual", 85, "greater_equal"> {
  let summary = "dst = src_0 >= src_1";
}

class Graph_Bitwise<string kind, int number, string cSuffix>
    : Graph_SameBinary<kind, number, cSuffix> {
  let description = [{
    Of booleans, where any byte but 0 is 1, the result is 0 or 1; of integers it
    is bit by bit.
  }];
  let typeVars = [Graph_Var<"T", BitTypes>];
  let commutative = 1;
  let rounding = "exact";
  let cheap = 1;
  let compiles = BitTypes;
  let grid = "boolean";
}

def Graph_AndOp : Graph_Bitwise<"And", 144, "and"> {
  let summary = "dst = src_0 and src_1";
}

def Graph_OrOp : Graph_Bitwise<"Or", 145, "or"> {
  let summary = "dst = src_0 or src_1";
}

def Graph_Atan2Op : Graph_SameBinary<"Atan2", 140, "atan2"> {
  let summary = "dst = angle of the point (src_1, src_0), from -pi to pi";
  let description = [{
    src_0 is the coordinate y, src_1 is x. Zeros have signs: for y = 0 and x below
    0, or x = -0, the result is pi or, for y = -0, -pi.
  }];
  let vectorException =
      "bounded by arithmetic, not bandwidth: about 35 operations per vector";
  let transcendental = 1;
}

def Graph_RemainderOp : Graph_SameBinary<"Remainder", 141, "remainder"> {
  let summary = "dst = src_0 - src_1 * (src_0 / src_1, rounded to an integer)";
  let description = [{
    In mode floor the quotient is rounded down, and the result has the sign of
    src_1; in mode trunc it is rounded towards 0, and the result has the sign of
    src_0. A float of 0 as src_1 gives NaN, an integer of 0 gives src_0.
  }];
  let arguments = (ins Graph_Value<"T">:$src_0, Graph_Value<"T", "divisor">:$src_1,
      Arg<DefaultValuedStrAttr<Graph_OneOf<["floor", "trunc"]>, "floor">,
          "how the quotient is rounded">:$mode,
      Graph_AutoBroadcast:$auto_broadcast);
  let typeVars = [Graph_Var<"T", Numbers>];
  let vectorException = "bounded by arithmetic, not bandwidth: six quotients of "
                        "f64 per element";
  let compiles = !listconcat(["f32"], Integers);
  let rounding = "once";
  let transcendental = 1;
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
  let typeVars = [Graph_Var<"T1", ["boolean"]>,
                  Graph_Var<"T2", NumbersAndBoolean>];
  let constraints = ["cond broadcasts one-way to dst"];
  let shapeRule = "select";
  let rounding = "copies";
  let cheap = 1;
  let grid = "select";
  let compiles = !listconcat(["f32"], BitTypes);
}

#endif // TENON_GRAPH_ELEMENTWISE_TD
