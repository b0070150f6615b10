//===- GraphSearch.td - positions of extremes, orders, running sums ------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_SEARCH_TD
#define TENON_GRAPH_SEARCH_TD

include "dialects/graph/GraphIndexing.td"

/// What compiles: f32 stands for bf16 and f16 as well.
defvar CompiledNumbers = !listconcat(["f32"], Integers);

class Graph_Search<string kind, int number, string cSuffix>
    : Graph_Op<kind, "search", number, cSuffix> {
  let opClass = "search";
  let rounding = "exact";
}

//===----------------------------------------------------------------------===//
// Along one dim
//===----------------------------------------------------------------------===//

/// NaN counts as greater than any number, and in ArgMin as less.
class Graph_ArgExtreme<string kind, int number, string cSuffix>
    : Graph_Search<kind, number, cSuffix> {
  let description = [{
    Of equal elements the first one counts, or with last_index the last. A NaN
    counts before all numbers. The dim must not be empty.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<DefaultValuedAttr<SI64Attr, "0">,
          "dim that is searched; negative counts from the end">:$axis,
      Arg<DefaultValuedAttr<BoolAttr, "true">,
          "keep the dim with size 1">:$keep_dims,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "which of equal elements counts: the last (true) or the first">
          :$last_index);
  let results = (outs Graph_Value<"I">:$dst);
  let typeVars = [Graph_Var<"T", Numbers>, Graph_Var<"I", IndexTypes>];
  let constraints = ["axis is within the rank of src"];
  let shapeRule = "arg_extreme";
  let compiles = CompiledNumbers;
  let grid = "index";
}

def Graph_ArgMaxOp : Graph_ArgExtreme<"ArgMax", 157, "arg_max"> {
  let summary = "dst = position of the largest element along axis";
}

def Graph_ArgMinOp : Graph_ArgExtreme<"ArgMin", 158, "arg_min"> {
  let summary = "dst = position of the smallest element along axis";
}

def Graph_TopKOp : Graph_Search<"TopK", 159, "top_k"> {
  let summary = "values, indices = the k largest elements along axis, in order";
  let description = [{
    From the largest on, or with largest = false from the smallest. Of equal
    elements the one with the lower index comes first. NaN is greater than any
    number. k is an attribute or the element of the operand k_tensor, from 0 to
    the size of the dim; a k of that size sorts.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Optional<Graph_Shape<"S">>:$k_tensor,
      Arg<OptionalAttr<SI64Attr>, "number of elements">:$k,
      Arg<DefaultValuedAttr<SI64Attr, "-1">,
          "dim that is searched; negative counts from the end">:$axis,
      Arg<DefaultValuedAttr<BoolAttr, "true">,
          "the largest (true) or the smallest">:$largest);
  let results = (outs Graph_Value<"T">:$values,
                      Optional<Graph_Value<"I">>:$indices);
  let operandCounts = [1, 2];
  let resultCounts = [1, 2];
  let typeVars = [Graph_Var<"T", Numbers>, Graph_Var<"S", IndexTypes>,
                  Graph_Var<"I", IndexTypes>];
  let constraints = ["axis is within the rank of src",
                     "k is an attribute or an operand",
                     "k is at least 0 and at most the size of the dim"];
  let shapeRule = "top_k";
  let compiles = CompiledNumbers;
}

def Graph_CumSumOp : Graph_Search<"CumSum", 160, "cum_sum"> {
  let summary = "dst = sums of src up to each element along axis";
  let description = [{
    With reverse the sum is from the element to the end. With exclusive the
    element itself is not in its sum, and the first sum is 0. Integers wrap
    around.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Arg<SI64Attr, "dim to sum along; negative counts from the end">:$axis,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "sums without the element itself">:$exclusive,
      Arg<DefaultValuedAttr<BoolAttr, "false">, "from the end">:$reverse);
  let results = (outs Graph_Value<"T">:$dst);
  let typeVars = [Graph_Var<"T", ["f32", "bf16", "f16", "s64", "s32"]>];
  let constraints = ["axis is within the rank of src"];
  let rounding = "several";
  let shapeRule = "cum_sum";
  let compiles = ["f32", "s64", "s32"];
  let grid = "reduce_sum";
}

//===----------------------------------------------------------------------===//
// As many results as the data says
//===----------------------------------------------------------------------===//

def Graph_NonZeroOp : Graph_Search<"NonZero", 161, "non_zero"> {
  let summary = "indices, count = positions of the elements that are not 0";
  let description = [{
    indices has a row for each dim of src and room for all elements; the first
    count columns are the positions, in row-major order, the others 0. count is a
    scalar. NaN is not 0.
  }];
  let arguments = (ins Graph_Value<"T">:$src);
  let results = (outs Graph_Value<"I">:$indices, Graph_Value<"I">:$count);
  let resultCounts = [2];
  let typeVars = [Graph_Var<"T", NumbersAndBoolean>,
                  Graph_Var<"I", IndexTypes>];
  let shapeRule = "non_zero";
  let compiles = !listconcat(CompiledNumbers, ["boolean"]);
  let grid = "index";
}

def Graph_NonMaxSuppressionOp
    : Graph_Search<"NonMaxSuppression", 162, "non_max_suppression"> {
  let summary = "indices, count = boxes with high scores that overlap little";
  let description = [{
    For each of the B batches and C classes: boxes are taken from the highest
    score on, of equal scores the lower number first, unless the score is at most
    score_threshold or the box overlaps one that is taken by more than
    iou_threshold, up to max_output_boxes_per_class. Overlap is the area of the
    intersection by that of the union, 0 where one of the boxes has no area.

    boxes is B, N, 4: two opposite corners y1, x1, y2, x2, or with
    center_point_box centre and size x, y, width, height. scores is B, C, N.
    indices has three columns, batch, class and box, and room for
    B * C * min(N, max_output_boxes_per_class) rows, of which the first count are
    the boxes taken, batch by batch and class by class; the others are 0. count
    is a scalar. A box whose score is NaN is not taken.
  }];
  let arguments = (ins Graph_Value<"T">:$boxes, Graph_Value<"T">:$scores,
      Arg<SI64Attr, "most boxes of a class, at least 0">
          :$max_output_boxes_per_class,
      Arg<DefaultValuedAttr<F32Attr, "0">, "from 0 to 1">:$iou_threshold,
      Arg<OptionalAttr<F32Attr>, "absent: all scores count">:$score_threshold,
      Arg<DefaultValuedAttr<BoolAttr, "false">,
          "boxes are centre and size (true) or corners">:$center_point_box);
  let results = (outs Graph_Value<"I">:$indices, Graph_Value<"I">:$count);
  let operandCounts = [2];
  let resultCounts = [2];
  let typeVars = [Graph_Var<"T", ["f32"]>, Graph_Var<"I", IndexTypes>];
  let constraints = ["boxes is B, N, 4 and scores is B, C, N"];
  let shapeRule = "non_max_suppression";
  let compiles = ["f32", "s64", "s32"];
  let vectorException =
      "takes boxes one after the other, each by what was taken before it";
  let grid = "index";
}

def Graph_RoiAlignOp : Graph_Op<"RoiAlign", "window_spatial", 163, "roi_align"> {
  let summary = "dst = regions of src, resampled to one size";
  let description = [{
    rois has R rows x1, y1, x2, y2, which spatial_scale turns into positions in
    src; batch_indices says of which image. half_pixel moves them by -0.5;
    output_half_pixel does not, and makes regions at least 1 wide and high. A
    region has output_height by output_width cells, a cell sampling_ratio^2
    samples, or, if that is 0, ceil(size of the region / size of the result) in
    each dim. A sample is the bilinear value at its position; outside -1 to the
    size it is 0. A cell is the mean of its samples, or in mode max the largest
    of the four weighted neighbours of all of them; without samples it is 0.
  }];
  let arguments = (ins Graph_Value<"T">:$src, Graph_Value<"T">:$rois,
      Graph_Value<"I", "index">:$batch_indices,
      Arg<DefaultValuedStrAttr<Graph_OneOf<["avg", "max"]>, "avg">,
          "how samples make a cell">:$mode,
      Arg<DefaultValuedAttr<SI64Attr, "1">, "at least 1">:$output_height,
      Arg<DefaultValuedAttr<SI64Attr, "1">, "at least 1">:$output_width,
      Arg<DefaultValuedAttr<SI64Attr, "0">, "at least 0; 0: as many as needed">
          :$sampling_ratio,
      Arg<DefaultValuedAttr<F32Attr, "1">, "from rois to positions in src">
          :$spatial_scale,
      Arg<DefaultValuedStrAttr<
              Graph_OneOf<["half_pixel", "output_half_pixel"]>, "half_pixel">,
          "see above">:$coordinate_transformation_mode,
      Graph_DataFormat:$data_format);
  let results = (outs Graph_Value<"T">:$dst);
  let operandCounts = [3];
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"I", IndexTypes>];
  let constraints = ["src has two spatial dims", "rois is R, 4",
                     "batch_indices has R elements"];
  let shapeRule = "roi_align";
  let compiles = ["f32", "s64", "s32"];
  let vectorException = "each sample reads at places of its own";
  let opClass = "search";
}

#endif // TENON_GRAPH_SEARCH_TD
