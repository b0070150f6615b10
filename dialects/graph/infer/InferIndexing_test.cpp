//===- InferIndexing_test.cpp - parts of tensors --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/graph/Slice.h"
#include "dialects/graph/infer/RuleTest.h"

namespace tenon::graph::test {
namespace {

TEST(InferIndexing, SliceRange) {
  struct Range {
    int64_t size, begin, end, step, first, count;
  };
  for (auto [size, begin, end, step, first, count] : std::vector<Range>{
           {5, 1, 4, 1, 1, 3},
           {5, 1, 4, 2, 1, 2},
           {5, 0, 5, 2, 0, 3},
           {5, -2, INT64_MAX, 1, 3, 2},
           {5, INT64_MIN, INT64_MAX, INT64_MAX, 0, 1},
           {5, 3, 1, 1, 3, 0},
           {5, 4, 1, -1, 4, 3},
           {5, -1, -1, -1, 4, 0}, // an end of -1 is the last element
           {5, -1, -6, -1, 4, 5},
           {5, 7, INT64_MIN, -2, 4, 3},
           {5, INT64_MAX, INT64_MIN, INT64_MIN, 4, 1},
           {0, 0, 5, 1, 0, 0},
           {0, -1, INT64_MIN, -1, -1, 0}}) {
    SliceRange range = sliceRange(size, begin, end, step);
    EXPECT_EQ(range.count, count) << begin << ":" << end << ":" << step;
    if (count > 0)
      EXPECT_EQ(range.first, first) << begin << ":" << end << ":" << step;
  }
}

TEST(InferIndexing, Slice) {
  runCases({{
      {"Slice", "begins=[1,0] ends=[2,2]", "2x3x4", "1x2x4"},
      {"Slice", "begins=[-2] ends=[100] axes=[-1]", "2x3x4", "2x3x2"},
      {"Slice", "begins=[3] ends=[-5] axes=[2] steps=[-1]", "2x3x4", "2x3x4"},
      {"Slice", "begins=[2] ends=[1]", "3", "0"},
      {"Slice", "begins=[] ends=[]", "2x3", "2x3"},
      // A bound that follows from the size of the result.
      {"Slice", "begins=[1] ends=[-9223372036854775808]", "9x4", "3x4", "3x4"},
      {"Slice", "begins=[-9223372036854775808] ends=[99]", "9x4", "3x4", "3x4"},
      {"Slice", "begins=[-9223372036854775808] ends=[99]", "9x4", "0x4", "0x4"},
      {"Slice", "begins=[-2] ends=[-9223372036854775808]", "?x4", "2x4", "2x4"},
      {"Slice", "begins=[0] ends=[-9223372036854775808]", "9x4", "?x4"},
      {"Slice", "begins=[1] ends=[-9223372036854775808]", "9x4",
       "E1203 dst is 9x4, the operation gives 8x4", "9x4"},
      {"Slice", "begins=[-9223372036854775808] ends=[2]", "9x4",
       "E1203 src is 9x4 has no 3 elements before 2, each 1th", "3x4"},
      {"Slice", "begins=[-9223372036854775808] ends=[-9223372036854775808]",
       "9x4", "E1208 neither the begin nor the end of a dim is known", "3x4"},
      {"Slice", "begins=[-9223372036854775808] ends=[1] steps=[-1]", "9x4",
       "E1208 a bound is not known, and the step is -1", "3x4"},
      {"Slice", "begins=[] ends=[]", "[]", "[]"},
      {"Slice", "begins=[0] ends=[1]", "*", "*"},
      {"Slice", "begins=[0,0] ends=[1,1]", "?x3", "?x1"},
      {"Slice", "begins=[0] ends=[1] axes=[1]", "s64:?x0", "?x0", "s64:*"},
      // What operands hold is not known.
      {"Slice", "", "2x3x4 2 2", "?x?x4"},
      {"Slice", "axes=[-1] steps=[2]", "2x3x4 1 ?", "2x3x?"},
      {"Slice", "", "2x3x4 ? *", "?x?x?"},
      {"Slice", "", "2x3x4 s32:1 s32:1", "1x3x4", "1x?x?"},
      {"Slice", "begins=[1]", "2x3", "E1206 attribute ends is missing"},
      {"Slice", "", "2x3", "E1206 attribute begins is missing"},
      {"Slice", "begins=[1]", "2x3 1 1", "E1208 attribute begins and the"},
      {"Slice", "", "2x3 - 1", "E1201 begins_tensor is left out"},
      {"Slice", "", "2x3 1x1 1", "E1202 begins_tensor is 1x1 of rank 2"},
      {"Slice", "", "2x3 1 []", "E1202 ends_tensor is scalar of rank 0"},
      {"Slice", "", "2x3 1 2", "E1203 begins_tensor is 1, ends_tensor is 2"},
      {"Slice", "", "2x3 99 99", "E1202 begins_tensor has 99 elements"},
      {"Slice", "axes=[0]", "2x3 2 2", "E1208 axes is [0] with 1 entries"},
      {"Slice", "begins=[0] ends=[1,2]", "2x3", "E1208 ends is [1, 2] with 2"},
      {"Slice", "begins=[0] ends=[1] steps=[1,2]", "2x3", "E1208 steps is"},
      {"Slice", "begins=[0] ends=[1] steps=[0]", "2x3", "E1208 no step is 0"},
      {"Slice", "begins=[0] ends=[1] axes=[2]", "2x3", "E1208 axes is 2"},
      {"Slice", "begins=[0,0] ends=[1,1] axes=[1,-1]", "2x3",
       "E1208 names dim 1 twice"},
      {"Slice", "begins=[0,0,0] ends=[1,1,1]", "2x3", "E1208 3 begins"},
      {"Slice", "begins=[0] ends=[1]", "2", "E1204 same type", "s32:1"},
      {"Slice", "", "2 s64:1 s32:1", "E1204 same type"},
  }});
}

TEST(InferIndexing, Pad) {
  runCases({{
      {"Pad", "pads_begin=[1,0] pads_end=[2,-1]", "2x3", "5x2"},
      {"Pad", "pads_begin=[1] pads_end=[0] interior=[2]", "3", "8"},
      {"Pad", "pads_begin=[1] pads_end=[1] interior=[2]", "0 []", "2"},
      {"Pad", "pads_begin=[-5] pads_end=[3] value=2", "3 1", "1"},
      {"Pad", "pads_begin=[] pads_end=[]", "[]", "[]"},
      {"Pad", "pads_begin=[1,1] pads_end=[1,1]", "?x2", "?x4"},
      {"Pad", "pads_begin=[1,1] pads_end=[1,1]", "* *", "?x?"},
      {"Pad", "pads_begin=[2] pads_end=[2] mode=reflect", "3", "7"},
      {"Pad", "pads_begin=[3] pads_end=[0] mode=wrap", "3", "6"},
      {"Pad", "pads_begin=[9] pads_end=[9] mode=edge", "1", "19"},
      {"Pad", "pads_begin=[0] pads_end=[0] mode=reflect", "0", "0"},
      {"Pad", "pads_begin=[1] pads_end=[1,1]", "2x3",
       "E1208 pads_begin is [1] with 1 entries, needed are 2"},
      {"Pad", "pads_begin=[1,1] pads_end=[1]", "*", "E1208 pads_end is [1]"},
      {"Pad", "pads_begin=[1] pads_end=[1] interior=[1,1]", "2",
       "E1208 interior is [1, 1] with 2"},
      {"Pad", "pads_begin=[1] pads_end=[1] interior=[-1]", "2",
       "E1208 interior is [-1] in mode constant"},
      {"Pad", "pads_begin=[1] pads_end=[1] interior=[1] mode=edge", "2",
       "E1208 interior is [1] in mode edge"},
      {"Pad", "pads_begin=[0] pads_end=[3] mode=reflect", "3",
       "E1208 entry 0 of attribute pads_end is 3 and src is 3: mode reflect"},
      {"Pad", "pads_begin=[4] pads_end=[0] mode=wrap", "3",
       "E1208 needs pads of at most"},
      {"Pad", "pads_begin=[1] pads_end=[0] mode=edge", "0",
       "E1208 needs a dim that is not empty"},
      {"Pad", "pads_begin=[-2] pads_end=[-2]", "3",
       "E1209 dim 0, -2 and -2, cut off"},
      {"Pad", "pads_begin=[1] pads_end=[1] interior=[9223372036854775807]", "3",
       "E1209 does not fit 64 bits"},
      {"Pad", "pads_begin=[1] pads_end=[1]", "2 2",
       "E1203 pad_value is 2, expected is one element"},
      {"Pad", "pads_begin=[1]", "2", "E1206 pads_end"},
  }});
}

TEST(InferIndexing, Expand) {
  runCases({{
      {"Expand", "shape=[4,2,3]", "2x1", "4x2x3"},
      {"Expand", "shape=[1,-1]", "s64:2x3", "2x3", "s64:*"},
      {"Expand", "shape=[3]", "2x1", "2x3"},
      {"Expand", "shape=[0]", "1", "0"},
      {"Expand", "shape=[]", "[]", "[]"},
      {"Expand", "shape=[2,3]", "?x3", "2x3"},
      {"Expand", "shape=[2,3]", "*", "*"},
      {"Expand", "", "2x1 3", "?x2x?"},
      {"Expand", "", "2x1 s32:1", "2x7", "?x7"},
      {"Expand", "", "2x1 ?", "*"},
      {"Expand", "shape=[3,2]", "2x3",
       "E1203 src is 2x3, attribute shape is [3, 2]"},
      {"Expand", "shape=[0]", "3", "E1203 shape is [0]"},
      {"Expand", "shape=[-2]", "3", "E1208 shape is [-2]"},
      {"Expand", "", "3", "E1206 attribute shape is missing"},
      {"Expand", "shape=[3]", "3 1", "E1208 keep one of them"},
      {"Expand", "", "3 []", "E1202 shape_tensor is scalar"},
      {"Expand", "", "2x1 2", "E1203 the operation gives 2x?", "3x4"},
  }});
}

TEST(InferIndexing, Reshape) {
  runCases({{
      {"Reshape", "", "2x3 2", "?x?"},
      {"Reshape", "", "2x3 s32:2", "3x2", "3x2"},
      {"Reshape", "", "2x3 ?", "3x2", "3x?"},
      {"Reshape", "", "2x3 *", "*"},
      {"Reshape", "", "1x1 0", "[]"},
      {"Reshape", "allow_zero=true", "0x3 2", "0x?", "0x?"},
      {"Reshape", "", "?x3 2", "4x?", "4x?"},
      {"Reshape", "", "* 1", "?"},
      {"Reshape", "", "2x3 1x2", "E1202 shape is 1x2 of rank 2"},
      {"Reshape", "", "2x3 13", "E1202 the limit is 12"},
      {"Reshape", "", "2x3 2", "E1203 numbers of elements differ", "4x2"},
      {"Reshape", "", "2x3 2", "E1203 4 does not divide 6", "4x?"},
      {"Reshape", "", "2x3 2", "E1203 the operation gives ?x?", "6"},
      {"Reshape", "", "2x3", "E1201 needed are 2"},
      {"Reshape", "", "2x3 f32:2", "E1204 shape is f32"},
  }});
}

TEST(InferIndexing, Shape) {
  runCases({{
      {"Shape", "", "2x?x4", "3"},
      {"Shape", "start=1", "2x3x4", "2"},
      {"Shape", "start=-2 end=-1", "2x3x4", "1"},
      {"Shape", "start=-9 end=9", "2x3x4", "3"},
      {"Shape", "start=2 end=1", "2x3x4", "0"},
      {"Shape", "", "[]", "0"},
      {"Shape", "", "*", "?"},
      {"Shape", "", "2x3", "2", "s32:*"},
      {"Shape", "", "2x3", "E1204 dst is f32", "f32:*"},
      {"Shape", "", "2x3", "E1203 dst is 3", "3"},
  }});
}

TEST(InferIndexing, Gather) {
  runCases({{
      {"Gather", "", "5x3 2x4", "2x4x3"},
      {"Gather", "axis=-1", "5x3 []", "5"},
      {"Gather", "axis=1", "u8:5x3 s32:7", "5x7", "u8:*"},
      {"Gather", "axis=1 batch_dims=1", "5x3x2 5x7", "5x7x2"},
      {"Gather", "axis=2 batch_dims=1", "?x3x4 5x7", "5x3x7"},
      {"Gather", "", "5x3 0", "0x3"},
      {"Gather", "", "* 2", "*"},
      {"Gather", "", "5x3 *", "*"},
      {"Gather", "", "[] 2", "E1208 of a scalar"},
      {"Gather", "axis=2", "5x3 2", "E1208 axis is 2"},
      {"Gather", "batch_dims=-1", "5x3 2", "E1208 batch_dims is -1"},
      {"Gather", "batch_dims=1", "5x3 5", "E1208 batch_dims is 1"},
      {"Gather", "axis=1 batch_dims=1", "5x3 []", "E1208 the rank of indices"},
      {"Gather", "axis=1 batch_dims=1", "5x3 4x2",
       "E1203 the first 1 dims differ: src is 5x3, indices is 4x2"},
      {"Gather", "", "5x3 f32:2", "E1204 indices is f32, allowed is s64, s32"},
      {"Gather", "", "1x1x1x1x1x1x1 1x1x1x1x1x1x1", "E1202 the limit is 12"},
  }});
}

TEST(InferIndexing, GatherElements) {
  runCases({{
      {"GatherElements", "axis=1", "2x3 2x7", "2x7"},
      {"GatherElements", "axis=-1", "2x3 s32:1x0", "1x0"},
      {"GatherElements", "", "2x? ?x3", "?x3"},
      {"GatherElements", "", "2x3 *", "?x?"},
      {"GatherElements", "", "* 2x3", "2x3"},
      {"GatherElements", "", "* *", "*"},
      {"GatherElements", "axis=2", "2x3 2x3", "E1208 axis is 2"},
      {"GatherElements", "axis=2", "* 2x3", "E1208 axis is 2"},
      {"GatherElements", "", "2x3 2", "E1202 ranks differ"},
      {"GatherElements", "axis=1", "2x3 3x1",
       "E1203 indices is 3x1, src is 2x3: dim 0 is 3, above 2"},
  }});
}

TEST(InferIndexing, GatherNd) {
  runCases({{
      {"GatherND", "", "2x3x4 5x2", "5x4"},
      {"GatherND", "", "2x3x4 3", "[]"},
      {"GatherND", "", "2x3x4 5x0", "5x2x3x4"},
      {"GatherND", "batch_dims=1", "2x3x4 2x5x1", "2x5x4"},
      {"GatherND", "batch_dims=1", "2x3x4 ?x2", "2"},
      {"GatherND", "", "2x3x4 5x?", "*"},
      {"GatherND", "", "* 5x2", "*"},
      {"GatherND", "", "2x3 []", "E1202 indices is scalar"},
      {"GatherND", "", "2x3 5x3", "E1203 is 3, but src is 2x3 has 2 dims"},
      {"GatherND", "batch_dims=1", "2x3 2x2",
       "E1203 has 1 dims behind batch_dims"},
      {"GatherND", "batch_dims=1", "2x3 1", "E1208 batch_dims is 1"},
      {"GatherND", "batch_dims=1", "2x3 5x1", "E1203 the first 1 dims differ"},
  }});
}

TEST(InferIndexing, Scatter) {
  runCases({{
      {"ScatterElements", "axis=1", "2x3 1x7 1x7", "2x3"},
      {"ScatterElements", "reduction=add", "s64:2x? s32:2x3 s64:*", "2x?",
       "s64:*"},
      {"ScatterElements", "", "* 2 2", "*"},
      {"ScatterElements", "", "2x3 2x3 2x2",
       "E1203 shapes differ: indices is 2x3, updates is 2x2"},
      {"ScatterElements", "", "2x3 2 2", "E1202 ranks differ"},
      {"ScatterElements", "axis=1", "2x3 3x3 3x3", "E1203 above 2"},
      {"ScatterElements", "axis=-3", "2x3 2x3 2x3", "E1208 axis is -3"},
      {"ScatterElements", "reduction=sub", "2 2 2", "E1208 reduction is"},
      {"ScatterElements", "", "2 2 s32:2", "E1204 same type"},
      {"ScatterElements", "reduction=max", "boolean:2 2 boolean:2",
       "E1204 src is boolean and attribute reduction is max", "boolean:*"},
      {"ScatterElements", "", "boolean:2 2 boolean:2", "2", "boolean:*"},
      {"ScatterND", "", "2x3x4 5x2 5x4", "2x3x4"},
      {"ScatterND", "", "2x3x4 3 []", "2x3x4"},
      {"ScatterND", "", "2x3x4 5x? *", "2x3x4"},
      {"ScatterND", "", "* 5x2 5", "*"},
      {"ScatterND", "", "2x3 [] 2", "E1202 indices is scalar"},
      {"ScatterND", "", "2x3 5x3 5", "E1203 has 2 dims"},
      {"ScatterND", "", "2x3 5x1 5x4", "E1203 updates is 5x4, expected is 5x3"},
      {"ScatterND", "reduction=add", "f8_e5m2:2 1x1 f8_e5m2:1",
       "E1204 src is f8_e5m2", "f8_e5m2:*"},
  }});
}

} // namespace
} // namespace tenon::graph::test
