//===- GraphWindow.td - pooling and resampling ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENON_GRAPH_WINDOW_TD
#define TENON_GRAPH_WINDOW_TD

include "dialects/graph/GraphBase.td"

class Graph_Pool<string kind, int number, string cSuffix>
    : Graph_Op<kind, "window_spatial", number, cSuffix> {
  let results = (outs Graph_Value<"T">:$dst);
  let constraints = ["pads_begin is at least 0"];
  let shapeRule = "pool";
  let compiles = ["f32"];
  let opClass = "window";
}

def Graph_AvgPoolOp : Graph_Pool<"AvgPool", 3, "avg_pool"> {
  let summary = "dst = sum of the window / number of its elements";
  let description = [{
    With rounding_type ceil a window may reach beyond the end padding, or even
    start there.  With exclude_pad only elements of src count.  Without it the
    divisor is the full window, or with divisor clipped the part of the window
    that lies on src and its padding, which is less where rounding up lets it
    reach further.  A window with no element of src gives 0.  There is no
    dilation.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PoolPadsEnd:$pads_end, Graph_ExcludePad:$exclude_pad,
      Graph_Kernel:$kernel, Graph_DataFormat:$data_format,
      Graph_RoundingType:$rounding_type, Graph_AutoPad:$auto_pad,
      Graph_Divisor:$divisor);
}

def Graph_MaxPoolOp : Graph_Pool<"MaxPool", 41, "max_pool"> {
  let summary = "dst = maximum of the window";
  let description = [{
    Padding never wins.  The search starts from the lowest finite number and
    replaces it only by a greater element: NaN elements are skipped, and a
    window of nothing but -inf (or NaN, or padding) gives the lowest finite
    number.  With propagate_nan the search starts from -inf, a window of which
    one element is NaN gives NaN, and the first NaN wins.  Neighbouring taps are
    `dilation` elements apart.  With rounding_type ceil a window may start in
    the end padding.

    indices are positions of the winners within the spatial dims of src, counted
    row by row as if these were one dim.  Of equal elements the first of the
    window wins.  Where none does, the position is that of the first element of
    src in the window, and 0 if there is none.
  }];
  let arguments = (ins Graph_Value<"T">:$src,
      Graph_Strides:$strides, Graph_PadsBegin:$pads_begin,
      Graph_PoolPadsEnd:$pads_end, Graph_Kernel:$kernel,
      Graph_OptionalDilations:$dilations, Graph_DataFormat:$data_format,
      Graph_RoundingType:$rounding_type, Graph_AutoPad:$auto_pad,
      Graph_PropagateNan:$propagate_nan);
  let results = (outs Graph_Value<"T">:$dst, Optional<Graph_Value<"I">>:$indices);
  let resultCounts = [1, 2];
  let typeVars = [Graph_Var<"T", Floats>, Graph_Var<"I", ["s64", "s32"]>];
  let compiles = ["f32", "s64", "s32"];
  let rounding = "exact";
  let grid = "first";
}

def Graph_InterpolateOp
    : Graph_Op<"Interpolate", "window_spatial", 31, "interpolate"> {
  let summary = "dst = src resampled to other spatial sizes";
  let description = [{
    With s = out / in, the ratio of the sizes of a spatial dim, position x_dst
    of dst lies in src at

    * half_pixel: x_src = (x_dst + 0.5) / s - 0.5
    * pytorch_half_pixel: the same, but 0 when out is 1
    * half_pixel_symmetric: the same as half_pixel; with ratio scales plus
      in / 2 * (1 - out / (in * s)), so that the middles of both meet
    * align_corners: x_src = x_dst * (in - 1) / (out - 1), 0 when out is 1
    * asymmetric: x_src = x_dst / s
    * tf_half_pixel_for_nn: x_src = (x_dst + 0.5) / s

    With ratio scales s is the entry of attribute scales, and the quotient by it
    is rounded to f32, so that 3 / 0.6 is 5.  The sizes stay as they are.

    nearest takes the element at x_src made an integer by nearest_mode.  The
    linear modes blend floor(x_src) and the next element in each spatial dim;
    cubic blends four elements, from floor(x_src) - 1 on, with the weights
    w(i - x_src), w(t) = (a + 2) |t|^3 - (a + 3) t^2 + 1 for |t| <= 1 and
    a (|t|^3 - 5 t^2 + 8 |t| - 4) for |t| < 2.  With antialias and s < 1 the
    weights are w(s * (i - x_src)), or for the linear modes 1 - |s * (i - x_src)|,
    of all i where that is not 0, divided by their sum.  Taps outside src read
    its nearest element; with exclude_outside they do not count, and the weights
    of the others are divided by their sum.  Elements with weight 0 are not read,
    be they infinite.

    Exactly one of the attributes sizes and scales and the operand sizes_tensor
    is given.  Attributes that the mode does not use are ignored.
  }];
  let arguments = (ins Graph_Value<"T1">:$src,
      Optional<Graph_Shape<"T2">>:$sizes_tensor,
      Graph_InterpolateMode:$mode, Graph_Sizes:$sizes,
      Graph_InterpolateScales:$scales,
      Graph_Coordinates:$coordinate_transformation_mode,
      Graph_DataFormat:$data_format,
      Graph_NearestMode:$nearest_mode, Graph_CubicCoeff:$cubic_coeff_a,
      Graph_ExcludeOutside:$exclude_outside, Graph_InterpolateRatio:$ratio,
      Graph_Antialias:$antialias);
  let results = (outs Graph_Value<"T1">:$dst);
  let operandCounts = [1, 2];
  let typeVars = [Graph_Var<"T1", Floats>, Graph_Var<"T2", ["s32"]>];
  let constraints = ["exactly one of sizes, scales and sizes_tensor is given",
                     "sizes and scales have one entry per spatial dim",
                     "ratio scales needs the attribute scales"];
  let shapeRule = "interpolate";
  let samples = [Graph_Samples<"cubic_coeff_a", ["-0.75", "-0.5", "-1"]>];
  let compiles = ["f32"];
  let opClass = "window";
}

#endif // TENON_GRAPH_WINDOW_TD
