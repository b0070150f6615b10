//===- GraphIndexing.td - parts of tensors, by position or by index ------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_INDEXING_TD
#define TENON_GRAPH_INDEXING_TD

include "dialects/graph/GraphDataMovement.td"

defvar IndexTypes = ["s64", "s32"];

//===----------------------------------------------------------------------===//
// Parts and shapes, by position
//===----------------------------------------------------------------------===//

def Graph_SliceOp : Graph_Movement<"Slice", 152, "slice",
                                   [Pure, AttrSizedOperandSegments]> {
  let summary = "dst = every steps-th element of src from begins to ends";
  let description = [{
    Entry i of the lists is about dim axes[i]; a dim that axes do not name is
    taken whole. A negative begin or end counts from the end of the dim; then
    both are clamped: with a step above 0 to 0 and the size, with a step below 0
    to -1 and the size less 1. The elements are begin, begin + step, and so on
    up to, and without, end; there may be none. With a step below 0 an end of
    -1 means the last element, so that no number but one below -size reaches
    the first one.

    begins_tensor and ends_tensor come both or not at all, instead of the
    attributes.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Optional<Graph_Shape<"I">>:$begins_tensor,
      Optional<Graph_Shape<"I">>:$ends_tensor,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "first index, one for each entry of axes">:$begins,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "index after the last one">:$ends,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "dims, each once; negative counts from the end; absent: the first "
          "ones, as many as begins has entries">:$axes,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "distance of neighbouring elements, not 0; absent: all 1">:$steps);
  let operandCounts = [1, 3];
  let typeVars = [Graph_Var<"T", MovedTypes>, Graph_Var<"I", IndexTypes>];
  let constraints = ["begins and ends are attributes or operands",
                     "axes are distinct and within the rank of src",
                     "no step is 0"];
  let shapeRule = "slice";
  let vectorException = "shows some of the elements: nothing to compute";
  let grid = "first";
}

def Graph_PadOp : Graph_Movement<"Pad", 153, "pad"> {
  let summary = "dst = src with elements added, or cut off, at its ends";
  let description = [{
    A negative pad cuts elements off. interior puts so many elements between
    neighbours, before the pads are applied, and is for mode constant. What is
    added is value, or the operand pad_value (constant), the nearest element
    (edge), the elements mirrored at the last one, which is not repeated
    (reflect), or those from the other end (wrap). reflect needs pads below the
    size of the dim, wrap pads of at most that, edge a dim that is not empty.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Optional<Graph_Value<"T">>:$pad_value,
      Arg<DenseI64ArrayAttr, "elements to add in front, one per dim">
          :$pads_begin,
      Arg<DenseI64ArrayAttr, "elements to add at the end, one per dim">
          :$pads_end,
      Arg<OptionalAttr<DenseI64ArrayAttr>,
          "elements between neighbours, one per dim; absent: all 0">:$interior,
      Arg<DefaultValuedStrAttr<
              Graph_OneOf<["constant", "edge", "reflect", "wrap"]>, "constant">,
          "what is added">:$mode,
      Arg<DefaultValuedAttr<F32Attr, "0">,
          "mode constant without pad_value: the element; of an integer type, "
          "rounded towards 0">:$value);
  let operandCounts = [1, 2];
  let constraints = ["pads have one entry per dim",
                     "interior is not negative, and 0 but in mode constant",
                     "pad_value has one element"];
  let shapeRule = "pad";
  let vectorException = "copies blocks; left to the memory copy of the target";
  let grid = "union";
}

def Graph_ExpandOp : Graph_Movement<"Expand", 154, "expand"> {
  let summary = "dst = src broadcast with shape";
  let description = [{
    The shape of src and `shape` are paired from the right: where one of them has
    1, or no dim, dst has the other's; else both are equal. An entry of -1 is
    like 1. `shape` comes from the attribute or from the operand shape_tensor.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Optional<Graph_Shape<"I">>:$shape_tensor,
      Arg<OptionalAttr<DenseI64ArrayAttr>, "dims of dst; see above for 1 and -1">
          :$shape);
  let operandCounts = [1, 2];
  let typeVars = [Graph_Var<"T", MovedTypes>, Graph_Var<"I", IndexTypes>];
  let constraints = ["shape is an attribute or an operand",
                     "src broadcasts with shape"];
  let shapeRule = "expand";
  let vectorException = "shows the same elements again: nothing to compute";
  let grid = "first";
}

def Graph_ReshapeOp : Graph_Movement<"Reshape", 155, "reshape"> {
  let summary = "dst = elements of src, in row-major order, in the shape shape";
  let description = [{
    As StaticReshape, but that the dims are elements of an operand.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Shape<"I">:$shape,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "an entry of 0 is an empty dim (true) or repeats the dim of src with "
          "the same index (false)">:$allow_zero);
  let operandCounts = [2];
  let typeVars = [Graph_Var<"T", MovedTypes>, Graph_Var<"I", IndexTypes>];
  let constraints = ["shape has rank 1",
                     "at most one entry of shape is -1, none is below",
                     "src and dst have equally many elements"];
  let shapeRule = "reshape";
  let vectorException = "same elements in the same order: nothing to compute";
  let opClass = "view";
  let grid = "first";
}

def Graph_ShapeOp : Graph_Op<"Shape", "data_movement", 156, "shape"> {
  let summary = "dst = sizes of the dims of src";
  let description = [{
    Those from start on, before end; negative counts from the end, and both are
    clamped to the rank. Elements of src are not read.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<DefaultValuedAttr<SI64Attr, "0">, "first dim">:$start,
      Arg<OptionalAttr<SI64Attr>, "dim after the last one; absent: the rank">
          :$end);
  let results = (outs Graph_Value<"I">:$dst);
  let typeVars = [Graph_Var<"T", MovedTypes>, Graph_Var<"I", IndexTypes>];
  let shapeRule = "shape";
  let compiles = MovedTypes;
  let vectorException = "reads nothing: sizes are known when it is compiled";
  let opClass = "indexed";
  let rounding = "exact";
  let grid = "index";
}

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

/// An index is from -size to size - 1; a negative one counts from the end. Any
/// other is an error of the execution.
class Graph_Indexing<string kind, int number, string cSuffix>
    : Graph_Op<kind, "data_movement", number, cSuffix> {
  let results = (outs Graph_Value<"T">:$dst);
  let typeVars = [Graph_Var<"T", MovedTypes>, Graph_Var<"I", IndexTypes>];
  let opClass = "gather";
  let vectorException = "elements are loaded at indices, one by one";
  let compiles = MovedTypes;
  let rounding = "copies";
  let grid = "first";
}

def Graph_GatherOp : Graph_Indexing<"Gather", 147, "gather"> {
  let summary = "dst = slices of src at the indices along axis";
  let description = [{
    With i over the dims of indices:
    dst[a.., i.., b..] = src[a.., indices[i..], b..], a over the dims before axis
    and b over those behind it. The first batch_dims dims of src and indices are
    the same ones, and once in dst.

    An index is from -size to size - 1; a negative one counts from the end. Any
    other is an error of the execution.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"I", "index">:$indices,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "dim of src that is indexed; negative counts from the end">:$axis,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "number of dims that src and indices share, at most axis">:$batch_dims);
  let operandCounts = [2];
  let constraints = ["axis is within the rank of src",
                     "the first batch_dims dims are equal"];
  let shapeRule = "gather";
}

def Graph_GatherElementsOp
    : Graph_Indexing<"GatherElements", 148, "gather_elements"> {
  let summary = "dst = elements of src whose position along axis is the index";
  let description = [{
    For three dims and axis 1: dst[i, j, k] = src[i, indices[i, j, k], k]. dst has
    the shape of indices, whose dims but axis are at most those of src. Indices
    are those of Gather.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"I", "index">:$indices,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "dim that is indexed; negative counts from the end">:$axis);
  let operandCounts = [2];
  let constraints = ["src and indices have one rank",
                     "dims of indices but axis are at most those of src"];
  let shapeRule = "gather_elements";
}

def Graph_GatherNDOp : Graph_Indexing<"GatherND", 149, "gather_nd"> {
  let summary = "dst = slices of src at positions that rows of indices give";
  let description = [{
    The last dim of indices has K numbers, the position along the first K dims of
    src behind batch_dims: dst[b.., i.., r..] = src[b.., indices[b.., i..], r..].
    Indices are those of Gather.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"I", "index">:$indices,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "number of dims that src and indices share">:$batch_dims);
  let operandCounts = [2];
  let constraints = ["the first batch_dims dims are equal",
                     "the last dim of indices is at most the rank of src less "
                     "batch_dims"];
  let shapeRule = "gather_nd";
}

def Graph_ScatterReduction
    : Arg<DefaultValuedStrAttr<
              Graph_OneOf<["none", "add", "mul", "min", "max"]>, "none">,
          "what becomes of an element and its update: the update (none), or "
          "both joined">;

class Graph_Scatter<string kind, int number, string cSuffix>
    : Graph_Indexing<kind, number, cSuffix> {
  let operandCounts = [3];
  let typeRule = "scatter";
  let rounding = "several";
  let grid = "";
}

def Graph_ScatterElementsOp
    : Graph_Scatter<"ScatterElements", 150, "scatter_elements"> {
  let summary = "dst = src with updates at positions that indices give along axis";
  let description = [{
    For three dims and axis 1: dst[i, indices[i, j, k], k] = updates[i, j, k], or
    joined with it. Several updates of one element are applied in the order of
    updates, row-major, so that of `none` the last one stays. Sums and products
    of floats are rounded to the type of dst once, at the end. Indices are those
    of Gather; min and max hand on NaN.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"I", "index">:$indices,
      Graph_Value<"T">:$updates,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "dim that is indexed; negative counts from the end">:$axis,
      Graph_ScatterReduction:$reduction);
  let constraints = ["src, indices and updates have one rank",
                     "indices and updates have one shape",
                     "dims of indices but axis are at most those of src",
                     "reductions other than none are of numbers"];
  let shapeRule = "scatter_elements";
}

def Graph_ScatterNDOp : Graph_Scatter<"ScatterND", 151, "scatter_nd"> {
  let summary = "dst = src with slices updated at positions that indices give";
  let description = [{
    The last dim of indices has K numbers, the position along the first K dims of
    src: dst[indices[i..], r..] = updates[i.., r..], or joined with it. Several
    updates of one element are applied in the order of updates, as in
    ScatterElements.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"I", "index">:$indices,
      Graph_Value<"T">:$updates, Graph_ScatterReduction:$reduction);
  let constraints = ["the last dim of indices is at most the rank of src",
                     "updates have the dims of indices but the last, then those "
                     "of src that are not indexed",
                     "reductions other than none are of numbers"];
  let shapeRule = "scatter_nd";
}

#endif // TENON_GRAPH_INDEXING_TD
