//===- GraphDataMovement.td - moving and converting elements -------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_DATAMOVEMENT_TD
#define TENON_GRAPH_DATAMOVEMENT_TD

include "dialects/graph/GraphBase.td"

defvar MovedTypes = ["f32", "bf16", "f16", "s64", "s32", "s8", "u8",
                     "boolean", "f8_e5m2", "f8_e4m3"];
/// Those that TypeCast makes others of, too.
defvar CastTypes = !listconcat(MovedTypes, ["f8_e8m0", "f64"]);

/// Values are copied, whatever they are.
class Graph_Movement<string kind, int number, string cSuffix,
                     list<Trait> traits = [Pure]>
    : Graph_Op<kind, "data_movement", number, cSuffix, traits> {
  let results = (outs Graph_Value<"T">:$dst);
  let typeVars = [Graph_Var<"T", MovedTypes>];
  let compiles = ["f32", "s64", "s32", "s8", "u8", "boolean", "f8_e5m2",
                  "f8_e4m3"];
  let opClass = "movement";
  let rounding = "copies";
}

def Graph_ConcatOp : Graph_Movement<"Concat", 12, "concat"> {
  let summary = "dst = operands one after the other along axis";
  let description = [{
    Takes any number of operands of one rank, at least one; all dims but axis
    agree.
  }];
  let arguments = (ins Variadic<Graph_Value<"T">>:$src_i,
      Arg<SI64Attr, "dim to join; negative counts from the end">:$axis);
  let operandCounts = [];
  let constraints = ["axis is within the rank of the operands",
                     "all dims but axis are equal"];
  let shapeRule = "concat";
  let vectorException = "copies blocks; left to the memory copy of the target";
  let grid = "union";
}

def Graph_ReorderOp : Graph_Movement<"Reorder", 60, "reorder"> {
  let summary = "dst = src in the layout of dst";
  let description = [{
    Same shape, same element type, same values; the type of dst says how they
    are stored.
  }];
  let arguments = (ins Graph_Value<"T">:$src);
  let typeVars = [Graph_Var<"T", CastTypes>];
  let compiles = CastTypes;
  let vectorException =
      "copies elements; left to the memory copy of the target";
  let grid = "first";
}

def Graph_StaticReshapeOp
    : Graph_Movement<"StaticReshape", 72, "static_reshape"> {
  let summary = "dst = elements of src, in row-major order, in another shape";
  let description = [{
    At most one entry of shape is -1 and then follows from the others, which
    must not multiply to 0.  With special_zero an entry of 0 repeats the dim of
    src with the same index; without it the dim is empty.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<DenseI64ArrayAttr, "dims of dst; see above for -1 and 0">:$shape,
      Arg<BoolAttr, "whether an entry of 0 repeats the dim of src">
          :$special_zero);
  let constraints = ["at most one entry of shape is -1, none is below",
                     "src and dst have equally many elements"];
  let shapeRule = "static_reshape";
  let vectorException = "same elements in the same order: nothing to compute";
  let opClass = "view";
  let grid = "first";
}

def Graph_StaticTransposeOp
    : Graph_Movement<"StaticTranspose", 73, "static_transpose"> {
  let summary = "dst = src with its dims reordered";
  let description = [{
    Dim i of dst is dim order[i] of src.  An empty order reverses all dims.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<DenseI64ArrayAttr,
          "permutation of the dims of src; negative counts from the end">
          :$order);
  let constraints = ["order is a permutation of the dims of src, or empty"];
  let shapeRule = "static_transpose";
  let opClass = "view";
  let grid = "first";
}

def Graph_TypeCastOp : Graph_Movement<"TypeCast", 77, "type_cast"> {
  let summary = "dst = src in the element type of dst";
  let description = [{
    What becomes of a value, for every pair of types:

    | from | to | in range | out of range | infinity | NaN |
    |---|---|---|---|---|---|
    | float | narrower float but the next two | rounded to nearest even | infinity | infinity | NaN |
    | float | f8_e4m3 | rounded to nearest even | NaN | NaN | NaN |
    | float | f8_e8m0 | the nearest power of two, of two as near the greater one | see below | NaN | NaN |
    | float | wider float | the same number | - | infinity | NaN |
    | float | s64, s32, s8, u8 | the fraction is dropped | the nearest bound | the nearest bound | 0 |
    | s64, s32, s8, u8, boolean | float | rounded to nearest even | as above | - | - |
    | s64, s32, s8, u8 | s64, s32, s8, u8 | the same number | the low bits | - | - |
    | any but boolean | boolean | 1, or 0 for 0 and -0 | - | 1 | 1 |
    | boolean | s64, s32, s8, u8 | 0 or 1 | - | - | - |

    Of bf16 and f16, each is narrower than the other: numbers may be rounded, and
    out of range.  A float is out of range when it rounds to more than the largest number: from
    65520 on in f16, from 61440 on in f8_e5m2, above 464 in f8_e4m3.  Denormal
    numbers are numbers like others, and none is taken for 0.  The low bits of
    an integer are read in two's complement: 200 becomes -56 in s8, and -1
    becomes 255 in u8.  Any byte but 0 is a boolean of 1.

    f8_e8m0 has the powers of two from 2^-127 to 2^127 and NaN, and no sign: 0
    and what is less than the least one becomes 2^-127, what is negative or
    greater NaN.  Of floats it is as wide as f32.  f64 is for the edges of a graph:
    no other operation computes with it.

    Every cast rounds once, and an s64 to f32 directly, not by way of a wider
    float.  Casts in a row are what each of them says: 1e38 becomes 2^63 - 1 in
    s64, and that -1 in s32.
  }];
  let arguments = (ins Graph_Value<"T1">:$src);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", CastTypes>, Graph_Var<"T2", CastTypes>];
  let constraints = ["element types differ"];
  let compiles = CastTypes;
  let typeRule = "cast";
  let grid = "cast";
  let cheap = 1;
}

def Graph_GenIndexOp : Graph_Movement<"GenIndex", 84, "gen_index"> {
  let summary = "dst = index along axis";
  let description = [{
    Every element of dst is its own index along axis; the values of src are not
    read.  Causal masks are built from it.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Arg<SI64Attr, "dim whose index is taken; negative counts from the end">
          :$axis);
  let results = (outs Graph_Value<"T2">:$dst);
  let typeVars = [Graph_Var<"T1", MovedTypes>, Graph_Var<"T2", ["s32", "s64"]>];
  let constraints = ["axis is within the rank of src"];
  let compiles = MovedTypes; // src is not read
  let vectorException = "reads nothing: indices are computed and stored";
  let opClass = "indexed";
  let shapeRule = "gen_index";
  let rounding = "exact";
  let grid = "index";
}

#endif // TENON_GRAPH_DATAMOVEMENT_TD
