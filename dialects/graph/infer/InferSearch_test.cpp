//===- InferSearch_test.cpp - searches and random numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferSearch, ArgExtreme) {
  runCases({{
      {"ArgMax", "", "2x3x4", "1x3x4"},
      {"ArgMax", "axis=-1 keep_dims=false last_index=true", "s64:2x3x4", "2x3"},
      {"ArgMin", "axis=1", "2x?x4", "2x1x4"},
      {"ArgMin", "axis=1 keep_dims=false", "?x3", "?"},
      {"ArgMin", "keep_dims=false", "u8:7", "[]"},
      {"ArgMax", "axis=5", "*", "*"},
      {"ArgMax", "", "*", "1x3", "1x3"},
      {"ArgMax", "axis=1", "0x3", "0x1"},
      {"ArgMax", "axis=1", "3x0", "E1209 dim 1 is empty"},
      {"ArgMax", "", "[]", "E1208 dim 0 of a scalar"},
      {"ArgMin", "axis=-3", "2x3", "E1208 outside of [-2, 1] for rank 2"},
      {"ArgMax", "", "2x3", "E1203 dst is 2x3, the operation gives 1x3", "2x3"},
      {"ArgMax", "", "boolean:2x3", "E1204 src is boolean"},
      {"ArgMax", "", "2x3", "E1204 dst is f32", "f32:*"},
  }});
}

TEST(InferSearch, TopK) {
  runCases({{
      {"TopK", "k=2", "2x5", "2x2"},
      {"TopK", "k=2 axis=0", "2x5", "2x5 2x5"},
      {"TopK", "k=0 axis=-2 largest=false", "2x5", "0x5 0x5"},
      {"TopK", "k=3", "2x?", "2x3 2x3"},
      {"TopK", "k=3", "*", "* *"},
      {"TopK", "", "2x5 s64:1", "2x? 2x?"},
      {"TopK", "", "2x5 s32:[]", "2x4 2x4", "2x? 2x4"},
      {"TopK", "", "2x5 *", "2x4 2x4", "2x4 *"},
      {"TopK", "", "2x5 1", "E1203 values is 2x6", "2x6 *"},
      {"TopK", "", "2x5", "E1206 neither attribute k nor operand k_tensor"},
      {"TopK", "k=2", "2x5 1", "E1208 k is given twice: attribute k is 2"},
      {"TopK", "k=6", "2x5", "E1208 k is 6, dim 1 of src has 5 elements"},
      {"TopK", "k=-1", "2x5", "E1208 attribute k is -1; the least value is 0"},
      {"TopK", "", "2x5 2", "E1203 k_tensor is 2, expected is one element"},
      {"TopK", "", "2x5 f32:1", "E1204 k_tensor is f32"},
      {"TopK", "k=1", "[]", "E1208 of a scalar"},
      {"TopK", "k=1 axis=2", "2x5", "E1208 axis is 2"},
      {"TopK", "k=1", "s64:2x5", "E1204 both are T", "s32:*"},
  }});
}

TEST(InferSearch, CumSum) {
  runCases({{
      {"CumSum", "axis=1", "2x3", "2x3"},
      {"CumSum", "axis=-2 exclusive=true reverse=true", "0x3", "0x3"},
      {"CumSum", "axis=0", "?x3", "?x3"},
      {"CumSum", "axis=3", "*", "*"},
      {"CumSum", "axis=0", "s64:4", "4", "s64:*"},
      {"CumSum", "", "4", "E1206 attribute axis is missing"},
      {"CumSum", "axis=1", "4", "E1208 axis is 1"},
      {"CumSum", "axis=0", "[]", "E1208 of a scalar"},
      {"CumSum", "axis=0", "u8:4", "E1204 src is u8"},
  }});
}

TEST(InferSearch, NonZero) {
  runCases({{
      {"NonZero", "", "2x3", "2x6 []"},
      {"NonZero", "", "boolean:2x?x4", "3x? []"},
      {"NonZero", "", "s64:2x0x?", "3x0 []"},
      {"NonZero", "", "[]", "0x1 []"},
      {"NonZero", "", "*", "?x? []"},
      {"NonZero", "", "2x3", "E1203 count is 1", "* 1"},
      {"NonZero", "", "2x3", "E1203 indices is 2x5", "2x5 *"},
      {"NonZero", "", "2x3", "E1201 has 1 results", "*"},
      {"NonZero", "", "2x3", "E1204 both are I", "s64:* s32:*"},
  }});
}

TEST(InferSearch, NonMaxSuppression) {
  constexpr const char *three = "max_output_boxes_per_class=3";
  runCases({{
      {"NonMaxSuppression", three, "2x6x4 2x5x6", "30x3 []"},
      {"NonMaxSuppression", "max_output_boxes_per_class=9 score_threshold=0.5",
       "2x6x4 2x5x6", "60x3 []"},
      {"NonMaxSuppression", "max_output_boxes_per_class=0", "2x?x4 2x5x?",
       "0x3 []"},
      {"NonMaxSuppression", three, "?x6x4 2x5x?", "30x3 []"},
      {"NonMaxSuppression", three, "2x?x4 2x5x?", "?x3 []"},
      {"NonMaxSuppression", three, "* 0x5x6", "0x3 []"},
      {"NonMaxSuppression", three, "* *", "?x3 []"},
      {"NonMaxSuppression", three, "2x6x5 2x5x6", "E1203 four coordinates",
       "* *"},
      {"NonMaxSuppression", three, "6x4 2x5x6", "E1203 four coordinates",
       "* *"},
      {"NonMaxSuppression", three, "2x6x4 5x6",
       "E1203 scores is 5x6, expected is ?x?x?", "* *"},
      {"NonMaxSuppression", three, "2x6x4 2x5x7",
       "E1203 boxes is 2x6x4, expected is 2x7x4", "* *"},
      {"NonMaxSuppression", three, "2x6x4 3x5x6",
       "E1203 boxes is 2x6x4, expected is 3x6x4", "* *"},
      {"NonMaxSuppression", "max_output_boxes_per_class=-1", "* *",
       "E1208 is -1; the least value is 0", "* *"},
      {"NonMaxSuppression", "max_output_boxes_per_class=1 iou_threshold=1.5",
       "* *", "E1208 1.5, outside of 0 to 1", "* *"},
      {"NonMaxSuppression", "max_output_boxes_per_class=1 iou_threshold=nan",
       "* *", "E1208 not a number", "* *"},
      {"NonMaxSuppression", "", "* *", "E1206 max_output_boxes_per_class",
       "* *"},
  }});
}

TEST(InferSearch, RoiAlign) {
  constexpr const char *cells = "output_height=2 output_width=3";
  runCases({{
      {"RoiAlign", "", "2x8x9x5 7x4 7", "7x1x1x5"},
      {"RoiAlign", cells, "2x8x9x5 7x4 s32:7", "7x2x3x5"},
      {"RoiAlign", "output_height=2 output_width=3 data_format=NCX",
       "2x5x8x9 ?x4 7", "7x5x2x3"},
      {"RoiAlign", cells, "* * *", "?x2x3x?"},
      {"RoiAlign", cells, "?x?x?x5 0x4 *", "0x2x3x5"},
      {"RoiAlign", cells, "2x8x9 7x4 7", "E1202 needed is rank 4"},
      {"RoiAlign", cells, "2x8x9x5 7x5 7", "E1203 rois is 7x5"},
      {"RoiAlign", cells, "2x8x9x5 4 7", "E1203 rois is 4"},
      {"RoiAlign", cells, "2x8x9x5 7x4 6",
       "E1203 batch_indices is 6, expected is 7"},
      {"RoiAlign", "output_height=0", "* * *", "E1208 output_height is 0"},
      {"RoiAlign", "output_width=-2", "* * *", "E1208 output_width is -2"},
      {"RoiAlign", "sampling_ratio=-1", "* * *", "E1208 sampling_ratio is -1"},
      {"RoiAlign", "mode=min", "* * *", "E1208 allowed is avg, max"},
      {"RoiAlign", "", "2x8x9x5 f16:7x4 7", "E1204 both are T"},
      {"RoiAlign", "", "2x8x9x5 7x4 f32:7", "E1204 batch_indices is f32"},
  }});
}

TEST(InferSearch, RandomUniform) {
  runCases({{
      {"RandomUniform", "shape=[2,3]", "1 []", "2x3"},
      {"RandomUniform", "shape=[]", "* ?", "[]"},
      {"RandomUniform", "shape=[0]", "1x1 1", "0"},
      {"RandomUniform", "", "1 1 3", "?x?x?"},
      {"RandomUniform", "", "1 1 s32:3", "2x3x4", "2x3x4"},
      {"RandomUniform", "", "1 1 ?", "*"},
      {"RandomUniform", "", "1 1 *", "*"},
      {"RandomUniform", "", "1 1", "E1206 neither attribute shape"},
      {"RandomUniform", "shape=[2,3]", "1 1 2",
       "E1208 attribute shape is [2, 3]"},
      {"RandomUniform", "shape=[2,-1]", "1 1", "E1208 the least size is 0"},
      {"RandomUniform", "", "1 1 2x1", "E1202 shape_tensor is 2x1 of rank 2"},
      {"RandomUniform", "", "1 1 13", "E1202 the limit is 12"},
      {"RandomUniform", "", "1 1 3", "E1203 dst is 2x3", "2x3"},
      {"RandomUniform", "shape=[2]", "2 1", "E1203 seed is 2"},
      {"RandomUniform", "shape=[2]", "1 0", "E1203 offset is 0"},
      {"RandomUniform", "shape=[2]", "s32:1 1", "E1204 seed is s32"},
  }});
}

} // namespace
} // namespace tenon::graph::test
