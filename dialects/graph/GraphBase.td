//===- GraphBase.td - what all operations of the graph dialect share -----===//
// SPDX-License-Identifier: Apache-2.0
//
// An operation is an ordinary ODS operation with extra fields.  mlir-tblgen
// ignores the extra fields; tools/tenon-tblgen writes them, together with the
// ordinary ones, into the plain table (OpTable.h) and into docs/ops.md.
//
//===----------------------------------------------------------------------===//
#ifndef TENON_GRAPH_BASE_TD
#define TENON_GRAPH_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tenon::graph";
  let summary = "deep-learning operations on tensors, as users write them";
  let description = [{
    One operation per node of the user's graph, with the names, defaults and
    decisions of docs/ops.md.  Shapes may be unknown.  Nothing here says how an
    operation is computed.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def Graph_UndefType : TypeDef<Graph_Dialect, "Undef"> {
  let mnemonic = "undef";
  let summary = "element type of a tensor whose dtype is not known";
}

def Graph_LayoutKind : I32EnumAttr<"LayoutKind", "how a tensor is stored", [
    I32EnumAttrCase<"strided", 0>,
    I32EnumAttrCase<"any", 1>,
    I32EnumAttrCase<"opaque", 2>,
    I32EnumAttrCase<"undef", 3>]> {
  let cppNamespace = "::tenon::graph";
  let genSpecializedAttr = 0;
}

def Graph_LayoutAttr : AttrDef<Graph_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "layout of a tensor that is not dense row-major";
  let description = [{
    `#graph.layout<strided, [16, 1]>` gives strides in elements, one per dim;
    `#graph.layout<any>` leaves the layout to the compiler.  A dense row-major
    tensor carries no encoding, so that most types stay plain.
  }];
  let parameters = (ins EnumParameter<Graph_LayoutKind>:$kind,
                        OptionalArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` $kind (`,` `[` $strides^ `]`)? `>`";
}

/// A string attribute with a closed list of values.  The plain checker, not
/// ODS, rejects others: its message can name the allowed ones.
class Graph_OneOf<list<string> allowedValues>
    : StringBasedAttr<StrAttrPred, "string attribute"> {
  list<string> values = allowedValues;
}

//===----------------------------------------------------------------------===//
// Operands, results, type variables
//===----------------------------------------------------------------------===//

def Graph_TensorPred : CPred<"::tenon::graph::isGraphTensor($_self)">;

/// A tensor whose element type is bound to a type variable; "" binds nothing.
/// Which element types the variable allows is checked by the plain checker.
/// `values` names a Domain of OpTable.h: which numbers are worth testing with.
/// That of an operand `src_or_dst` is for dst; src has that of the forward
/// operation.
class Graph_Value<string var, string values = "any">
    : Type<Graph_TensorPred, "tensor of a graph element type",
           "::mlir::TensorType"> {
  string typeVar = var;
  string domain = values;
  bit isShape = 0;
}

/// An operand whose elements are sizes of a result, which shape inference reads
/// and nothing else.
class Graph_Shape<string var> : Graph_Value<var> {
  let isShape = 1;
}

class Graph_Var<string var, list<string> types> {
  string typeVar = var;
  list<string> allowed = types;
}

defvar Floats = ["f32", "bf16", "f16"];
defvar FloatsAndS32 = ["f32", "bf16", "f16", "s32"];
defvar Integers = ["s64", "s32", "s8", "u8"];
defvar Numbers = !listconcat(Floats, Integers);
defvar NumbersAndBoolean = !listconcat(Numbers, ["boolean"]);
defvar StatTypes = ["f32", "bf16"];

/// Numbers that random tests choose from for the f32 attribute `attribute`,
/// where any others would be useless: a gradient has those of the forward
/// operation.
class Graph_Samples<string attribute, list<string> numbers> {
  string attr = attribute;
  list<string> values = numbers;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def Graph_OpInterface : OpInterface<"GraphOpInterface"> {
  let cppNamespace = "::tenon::graph";
  let description = [{
    Implemented by every operation of the graph dialect.  Verification converts
    the operation to its plain form and asks the one checker of plain
    operations, so JSON, C and MLIR users get the same messages.
  }];
  let methods = [
    InterfaceMethod<"The row of the operation table.",
        "const ::tenon::graph::OpInfo &", "getInfo", (ins), "",
        [{ return ::tenon::graph::infoOf($_op); }]>
  ];
  let verify = [{ return ::tenon::graph::verifyGraphOp($_op); }];
}

class Graph_Op<string kind, string cat, int number, string cSuffix,
               list<Trait> traits = [Pure]>
    : Op<Graph_Dialect, kind, !listconcat(traits, [Graph_OpInterface])> {
  // Read by tools/tenon-tblgen.
  string category = cat;
  string cName = cSuffix;
  int cValue = number;
  string backwardOf = "";
  list<int> operandCounts = [1]; // allowed numbers; empty: any
  list<int> resultCounts = [1];
  list<Graph_Var> typeVars = [Graph_Var<"T", Floats>];
  list<string> constraints = [];
  // Names of rules, which are looked up where the rules are: of shapes
  // (infer/Rules.h), of element types beside typeVars and of attributes
  // (infer/Verify.cpp).
  string shapeRule = "identity";
  string typeRule = "";
  list<string> attrRules = [];
  bit commutative = 0;
  // What the operation is to a compiler: an enumerator of OpClass (OpTable.h).
  // There is no default.
  string opClass = "";
  // Along which dims of operand 0 a reduction or a normalization sums: an
  // enumerator of ReducedDims (OpTable.h).
  string reducedDims = "none";
  bit cheap = 0;          // few instructions: may be computed several times
  bit transcendental = 0; // has functions or quotients, not exact when rounded
  bit squares = 0;        // squares its operand on the way to its result
  string rounding = "several"; // an enumerator of Rounding (OpTable.h)
  // How results of exact numbers are exact: a rule of check/Exactness.cpp.
  // Empty: they are rounded.
  string grid = "";
  list<Graph_Samples> samples = [];
  // Element types that compile, for operands and results alike; empty: the
  // operation is evaluated only.
  list<string> compiles = [];
  string vectorException = "";

  // One assembly form for all: `graph.Kind operands {attributes} : type`.
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return ::tenon::graph::parseGraphOp(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      ::tenon::graph::printGraphOp(*this, printer);
    }
  }];
}

class Graph_BackwardOp<string forward, string kind, int number, string cSuffix,
                       list<Trait> traits = [Pure]>
    : Graph_Op<kind, "backward", number, cSuffix, traits> {
  let backwardOf = forward;
}

//===----------------------------------------------------------------------===//
// Attributes that several operations have
//===----------------------------------------------------------------------===//

def Graph_AutoBroadcast
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["none", "numpy"]>, "numpy">,
          "none: equal shapes; numpy: dims are paired from the right, and a "
          "dim of 1 broadcasts">;
def Graph_DataFormat
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["NXC", "NCX"]>, "NXC">,
          "where the channel dim is: last (NXC) or second (NCX)">;
def Graph_ConvWeights
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["XIO", "OIX"]>, "XIO">,
          "order of the dims of weights; I is counted per group">;
def Graph_DeconvWeights
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["XOI", "IOX"]>, "XOI">,
          "order of the dims of weights; O is counted per group, I is the "
          "full number of channels of src">;
def Graph_Strides
    : Arg<DenseI64ArrayAttr, "step per spatial dim, at least 1">;
def Graph_PadsBegin
    : Arg<DenseI64ArrayAttr, "leading padding per spatial dim, at least 0; "
                             "replaced when auto_pad is not None">;
def Graph_PadsEnd
    : Arg<DenseI64ArrayAttr, "trailing padding per spatial dim, at least 0; "
                             "replaced when auto_pad is not None">;
def Graph_PoolPadsEnd
    : Arg<DenseI64ArrayAttr,
          "trailing padding per spatial dim, replaced when auto_pad is not "
          "None; negative: so many elements at the end of src are cut off">;
def Graph_Dilations
    : Arg<DenseI64ArrayAttr,
          "distance of neighbouring taps per spatial dim; 1 is dense">;
def Graph_OptionalDilations
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "distance of neighbouring taps per spatial dim; absent: all 1">;
def Graph_Kernel
    : Arg<DenseI64ArrayAttr, "size of the window per spatial dim">;
def Graph_AutoPad
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["None", "SAME_UPPER", "SAME_LOWER", "VALID"]>,
              "None">,
          "None: pads as given; VALID: no pads; SAME_UPPER and SAME_LOWER: "
          "pads such that the result has ceil(size / stride) elements, the odd "
          "one at the end or at the beginning">;
def Graph_RoundingType
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["floor", "ceil"]>, "floor">,
          "rounding of the size of the result">;
def Graph_OptionalRoundingType
    : Arg<OptionalAttr<Graph_OneOf<["floor", "ceil"]>>,
          "rounding of the size of the forward result; absent: either">;
def Graph_PropagateNan
    : Arg<DefaultValuedAttr<BoolAttr, "false">,
          "whether NaN elements win, and -inf against padding">;
def Graph_Divisor
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["window", "clipped"]>, "window">,
          "what a sum is divided by without exclude_pad: the size of the window, "
          "or of the part of it that lies on src and its padding">;
def Graph_Groups
    : Arg<DefaultValuedAttr<SI64Attr, "1">, "number of channel groups">;
def Graph_OutputPadding
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "extra size at the end of each spatial dim of dst; absent: all 0">;
def Graph_ExcludePad
    : Arg<BoolAttr, "divide by the number of elements of src under the window "
                    "(true) or by the size of the window (false)">;
def Graph_WeightsShape
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "all dims of diff_weights, in the order of weights_format; absent: "
          "the type of the result says it">;
def Graph_UseDst
    : Arg<DefaultValuedAttr<BoolAttr, "true">,
          "operand 0 is the result of the forward operation (true) or its "
          "operand (false)">;
def Graph_Epsilon
    : Arg<DefaultValuedAttr<F32Attr, "1e-05">,
          "added before the square root">;
def Graph_RequiredEpsilon
    : Arg<F32Attr, "added to the variance before the square root">;
def Graph_BeginNormAxis
    : Arg<DefaultValuedAttr<SI64Attr, "-1">,
          "first normalised dim; all later dims are normalised too; negative "
          "counts from the end">;
def Graph_KeepStats
    : Arg<DefaultValuedAttr<BoolAttr, "true">,
          "whether mean and variance are results">;
def Graph_UseAffine
    : Arg<DefaultValuedAttr<BoolAttr, "true">,
          "whether gamma and beta are operands">;
def Graph_InterpolateMode
    : Arg<Graph_OneOf<["nearest", "linear", "bilinear", "trilinear", "cubic"]>,
          "the three linear words mean the same: linear in every spatial dim">;
def Graph_Coordinates
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["half_pixel", "align_corners", "asymmetric",
                           "pytorch_half_pixel", "half_pixel_symmetric",
                           "tf_half_pixel_for_nn"]>,
              "half_pixel">,
          "where position x_dst of dst lies in src; see below">;
def Graph_NearestMode
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["round", "round_prefer_floor", "round_prefer_ceil",
                           "floor", "ceil"]>,
              "round">,
          "which integer mode nearest makes of x_src; round: halves away from "
          "zero">;
def Graph_CubicCoeff
    : Arg<DefaultValuedAttr<F32Attr, "-0.75">, "a of mode cubic">;
def Graph_ExcludeOutside
    : Arg<DefaultValuedAttr<BoolAttr, "false">,
          "whether taps outside src have no weight (true) or read its edge">;
def Graph_InterpolateRatio
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["sizes", "scales"]>, "sizes">,
          "what coordinates are scaled by: the ratio of the sizes, or the "
          "attribute scales, which must be given">;
def Graph_Antialias
    : Arg<DefaultValuedAttr<BoolAttr, "false">,
          "whether the filter is as wide as the distance of two positions of "
          "dst where dst is smaller than src; not in mode nearest">;
def Graph_Sizes
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "spatial sizes of the forward result">;
def Graph_InterpolateScales
    : Arg<OptionalAttr<DenseF32ArrayAttr>,
          "factor per spatial dim; sets the sizes, floor(in * scale), and with "
          "ratio scales the coordinates">;
def Graph_GeluMode
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["gelu_erf", "gelu_tanh"]>,
                               "gelu_erf">,
          "exact (gelu_erf) or tanh approximation (gelu_tanh)">;
def Graph_QuantType
    : Arg<DefaultValuedStrAttr<Graph_OneOf<["per_tensor", "per_channel"]>,
                               "per_tensor">,
          "what one scale is shared by">;
def Graph_QuantAxis
    : Arg<DefaultValuedAttr<SI64Attr, "1">,
          "channel dim of per_channel; negative counts from the end">;
def Graph_QuantScales
    : Arg<DenseF32ArrayAttr,
          "one scale (per_tensor) or one per channel (per_channel)">;
def Graph_QuantZps
    : Arg<OptionalAttr<DenseI64ArrayAttr>,
          "zero points, as many as scales; absent: all 0">;

#endif // TENON_GRAPH_BASE_TD
